"""What a run leaves: its result, and the errors that carry one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from compbo.bo.history import best_evaluation
from compbo.errors import CompboError
from compbo.html_table import html_table
from compbo.records import FAIL, to_frame

if TYPE_CHECKING:
    import os

    import pandas as pd

    from compbo.bo.optimizer import Optimizer
    from compbo.bo.telemetry import Telemetry
    from compbo.records import Record, StudyFacts
    from compbo.run.stops import Stopped


@dataclass(frozen=True, repr=False)
class Result:
    """What a run found. `minimize` and `maximize` return one.

    Args:
        optimizer: as it is after the last evaluation; `optimizer.ask()` goes on from there.
        records: every evaluation, in the order of asking; what has not ended is RUNNING.
        stopped: why the run ended: "evaluations used up", "target reached", "time limit", "stopped by the callback" or
            "interrupted". None for a stored run that was loaded, and in an error, which says itself why.
        facts: what a study of another program says beyond the parameters that its trials share.

    >>> import compbo
    >>> result = compbo.minimize(lambda p: (p["n"] - 2) ** 2, {"n": compbo.Int(1, 3)}, evaluations=3)
    >>> result.best_params, result.best_value, len(result.history)
    ({'n': 2}, 0.0, 3)
    """

    optimizer: Optimizer
    records: tuple[Record, ...]
    stopped: Stopped | None = field(default=None, compare=False)
    facts: StudyFacts | None = field(default=None, compare=False)

    @property
    def best(self) -> Record | None:
        """The best evaluation, the first asked for among equals; None if all failed."""
        return best_evaluation(self.records, self.optimizer.settings.direction)

    @property
    def best_params(self) -> dict[str, Any] | None:
        """The parameters of the best evaluation; None if all failed."""
        return None if self.best is None else self.best.params

    @property
    def best_value(self) -> float | None:
        """The value of the best evaluation; None if all failed."""
        return None if self.best is None else self.best.value

    @property
    def all_failed(self) -> bool:
        """Whether something was evaluated, and nothing succeeded."""
        return self.best is None and any(record.state == FAIL for record in self.records)

    @property
    def history(self) -> pd.DataFrame:
        """One row per evaluation: number, state, value, the parameters, message."""
        return to_frame(self.records, None if self.facts is not None else self.optimizer.space.names)

    @property
    def telemetry(self) -> list[Telemetry]:
        """What every ask looked like, with its verdict."""
        return self.optimizer.telemetry

    def report(self, path: str | os.PathLike[str], title: str = "compbo run") -> None:
        """Write the run as one HTML page."""
        from compbo.report import write_report

        write_report(self.optimizer, path, title=title, facts=self.facts)

    def __repr__(self) -> str:
        failed = sum(record.state == FAIL for record in self.records)
        stopped = "" if self.stopped is None else f", stopped={str(self.stopped)!r}"
        return (
            f"Result(best_value={self.best_value!r}, best_params={self.best_params!r}, "
            f"evaluations={len(self.records)}, failed={failed}{stopped})"
        )

    def _repr_html_(self) -> str:
        failed = sum(record.state == FAIL for record in self.records)
        rows: list[tuple[Any, ...]] = [
            ("evaluations", f"{len(self.records)}" + (f" ({failed} failed)" if failed else ""))
        ]
        if self.best is not None:
            rows += [("best value", repr(self.best.value)), ("found by", f"evaluation {self.best.number}")]
            rows += [(name, repr(value)) for name, value in self.best.params.items()]
        if self.telemetry:
            rows.append(("last ask", f"{self.telemetry[-1].verdict} ({self.telemetry[-1].reason})"))
        return html_table(f"Result ({self.optimizer.settings.direction})", rows)


class RunError(CompboError, RuntimeError):
    """The run could not go on. What was evaluated is stored, and in `result`.

    >>> import compbo
    >>> issubclass(compbo.TooManyFailuresError, compbo.RunError)  # `except compbo.RunError` catches both
    True
    """

    def __init__(self, template: str, /, result: Result, **values: Any) -> None:
        """Keep the result beside the message.

        Args:
            template: as for `CompboError`.
            result: what was evaluated before the error.
            values: as for `CompboError`.
        """
        super().__init__(template, **values)
        self.result = result


class TooManyFailuresError(RunError):
    """More evaluations failed than `max_failures` allows.

    >>> import compbo
    >>> try:
    ...     compbo.minimize(lambda p: None, {"x": compbo.Float(0, 1)}, evaluations=8, max_failures=0)
    ... except compbo.TooManyFailuresError as error:
    ...     len(error.result.records)
    1
    """


class AlwaysFailsError(RunError):
    """Everything that was evaluated so far failed with the same error: it is not the points.

    Args:
        template: as for `CompboError`.
        result: what there is.
        traceback: where the last evaluation failed, in the user's own code.
        values: as for `CompboError`.

    >>> import compbo
    >>> try:
    ...     compbo.minimize(lambda p: p["y"], {"x": compbo.Float(0, 1)}, evaluations=8)
    ... except compbo.AlwaysFailsError as error:
    ...     "KeyError" in error.traceback
    True
    """

    def __init__(self, template: str, /, result: Result, traceback: str, **values: Any) -> None:
        """template and values: as for `CompboError`."""
        super().__init__(template, result, **values)
        self.traceback = traceback
        if traceback:
            self.add_note(f"The last one:\n{traceback}")
