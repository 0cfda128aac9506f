"""What a run leaves: its result, and the errors that carry one."""

from __future__ import annotations

from dataclasses import dataclass
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
    from compbo.records import Record


@dataclass(frozen=True, repr=False)
class Result:
    """What a run found."""

    optimizer: Optimizer
    records: tuple[Record, ...]

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
    def history(self) -> pd.DataFrame:
        """One row per evaluation: number, state, value, the parameters, message."""
        return to_frame(self.records, self.optimizer.space.names)

    @property
    def telemetry(self) -> list[Telemetry]:
        """What every ask looked like, its verdict first of all."""
        return self.optimizer.telemetry

    def report(self, path: str | os.PathLike[str], title: str = "compbo run") -> None:
        """Write the run as one HTML page."""
        from compbo.report import write_report

        write_report(self.optimizer, path, title=title)

    def __repr__(self) -> str:
        failed = sum(record.state == FAIL for record in self.records)
        return (
            f"Result(best_value={self.best_value!r}, best_params={self.best_params!r}, "
            f"evaluations={len(self.records)}, failed={failed})"
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
    """The run could not go on. What was evaluated is stored, and in `result`."""

    def __init__(self, template: str, /, result: Result, **values: Any) -> None:
        """template and values: as for `CompboError`."""
        super().__init__(template, **values)
        self.result = result


class TooManyFailuresError(RunError):
    """More evaluations failed than `max_failures` allows."""


class AlwaysFailsError(RunError):
    """Everything that was evaluated so far failed with the same error: it is not the points.

    Attributes:
        result: what there is.
        traceback: where the last evaluation failed, in the user's own code.
    """

    def __init__(self, template: str, /, result: Result, traceback: str, **values: Any) -> None:
        """template and values: as for `CompboError`."""
        super().__init__(template, result, **values)
        self.traceback = traceback
        if traceback:
            self.add_note(f"The last one:\n{traceback}")


class RunInterrupted(KeyboardInterrupt):
    """Ctrl-C. What was evaluated is stored, and in `result`."""

    def __init__(self, result: Result) -> None:
        super().__init__("the run was interrupted")
        self.result = result
