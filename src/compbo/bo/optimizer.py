"""Ask and tell: Algorithm 1 of the paper, one batch at a time, around the pure function `suggest`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from compbo.bo.design import design_size
from compbo.bo.history import History
from compbo.bo.model import model_of
from compbo.bo.settings import Settings, as_maximizer
from compbo.bo.suggest import suggest
from compbo.bo.telemetry import Telemetry
from compbo.bo.tell import told_evaluations
from compbo.evaluation import Evaluation, describe, saved_value
from compbo.space import Space
from compbo.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from compbo.bo.history import Point
    from compbo.surrogate.gp import GP

FORMAT = 2  # of what `to_json` writes


class Optimizer:
    """Bayesian optimisation by ask and tell.

    >>> import compbo
    >>> optimizer = compbo.Optimizer({"x": compbo.Float(0, 1)}, batch_size=2, seed=0)
    >>> points = optimizer.ask()
    >>> optimizer.tell(points, [(point["x"] - 0.5) ** 2 for point in points])
    >>> len(optimizer.evaluations), optimizer.best.failed
    (2, False)
    """

    def __init__(self, space: Space | Mapping[str, Any], **options: Any) -> None:
        """Begin with nothing known.

        Args:
            space: a `Space`, or a mapping of names to parameters.
            options: the fields of `Settings`: acquisition, maximizer, batch_size, direction, seed, noise, ...
        """
        self._space = space if isinstance(space, Space) else Space(space)
        self._settings = Settings.of("Optimizer", options)
        self._history = History()
        self._telemetry: tuple[Telemetry, ...] = ()

    @classmethod
    def resume(
        cls, space: Space, settings: Settings, history: History, telemetry: Iterable[Telemetry] = ()
    ) -> Optimizer:
        """The optimizer that has this history behind it, and the telemetry of its asks."""
        optimizer = cls(space)
        optimizer._settings, optimizer._history, optimizer._telemetry = settings, history, tuple(telemetry)
        return optimizer

    @property
    def space(self) -> Space:
        """Where the points lie."""
        return self._space

    @property
    def settings(self) -> Settings:
        """Everything else that determines a suggestion, but for the history."""
        return self._settings

    @property
    def history(self) -> History:
        """What was told and what is pending."""
        return self._history

    @property
    def evaluations(self) -> list[Evaluation]:
        """What was told, in the order of arrival; a list of the caller's own."""
        return list(self._history.evaluations)

    @property
    def pending(self) -> list[Point]:
        """Points that were asked for and neither told nor forgotten; a list of the caller's own."""
        return [dict(point) for point in self._history.pending]

    @property
    def telemetry(self) -> list[Telemetry]:
        """What every ask looked like, its verdict first of all; a list of the caller's own."""
        return list(self._telemetry)

    @property
    def best(self) -> Evaluation | None:
        """The best evaluation so far, the earliest of equals; None before the first success."""
        return self._history.best(self._settings.direction)

    @property
    def initial_points(self) -> int:
        """How many points are asked for before the first that a model suggests."""
        return design_size(self._space, self._settings)

    def ask(self, count: int | None = None) -> list[Point]:
        """The next joint batch of points; they are pending until they are told or forgotten.

        count: how many; None: the batch_size.
        """
        points, telemetry = suggest(self._space, self._settings, self._history, count)
        self._history = self._history.asked(points)
        self._telemetry = (*self._telemetry, telemetry)
        return [dict(point) for point in points]

    def tell(
        self,
        points: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        values: float | Sequence[float | None] | None,
        messages: Sequence[str] | None = None,
    ) -> None:
        """Report results, in any order, of any points, asked for or not.

        A value of None, NaN or infinity is a failed evaluation: it is recorded with its message, avoided, and ends
        nothing. Nothing changes if any point or value is not valid.
        """
        self._history = self._history.told(told_evaluations(self._space, points, values, messages))

    def forget(self, points: Sequence[Mapping[str, Any]]) -> None:
        """Withdraw pending points that will never be evaluated; nothing changes if one of them is not pending."""
        self._history = self._history.forgotten([self._space.validate(point) for point in points])

    def model(self) -> GP:
        """The surrogate of what has been told so far (values in the maximised orientation)."""
        if not self._history.has_success:
            raise ValueError("model: nothing has been evaluated successfully yet.")
        observations = self._history.observations(self._space, self._settings.direction)
        return model_of(self._space, self._settings, observations)

    def to_json(self) -> str:
        """Everything needed to go on elsewhere as if never stopped; OptionError for a part that is not registered."""
        self._settings.check_saveable()
        return json.dumps(
            {
                "version": FORMAT,
                "space": self._space.to_dict(),
                "settings": self._settings.to_dict(),
                "evaluations": self._history.evaluations,
                "pending": self._history.pending,
                "repeats_allowed": self._history.repeats_allowed,
                "telemetry": [entry.to_dict() for entry in self._telemetry],
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Optimizer:
        """The inverse of `to_json`; ValueError if the text is something else."""
        try:
            data = json.loads(text)
        except (TypeError, ValueError):
            data = None
        if not isinstance(data, dict) or data.get("version") != FORMAT:
            raise ValueError("Optimizer.from_json: this is not a saved optimizer of a known version.")
        try:
            return cls._from_data(data)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"Optimizer.from_json: this saved optimizer is damaged ({describe(error).rstrip('.')}); save it again."
            ) from error

    @classmethod
    def _from_data(cls, data: dict[str, Any]) -> Optimizer:
        space = Space.from_dict(data["space"])
        history = History(
            tuple(Evaluation(space.validate(p), saved_value(v), message) for p, v, message in data["evaluations"]),
            tuple(space.validate(point) for point in data["pending"]),
            data["repeats_allowed"],
        )
        telemetry = [Telemetry.from_dict(entry) for entry in data["telemetry"]]
        return cls.resume(space, Settings.from_dict(data["settings"]), history, telemetry)

    def __repr__(self) -> str:
        name = as_maximizer(self._settings.maximizer).name
        done = counted(len(self._history.evaluations), "evaluation")
        state = "nothing evaluated" if self.best is None else f"best {self.best.value:.6g}"
        return f"Optimizer({self._space.dim}D, {name}, {done}, {state})"
