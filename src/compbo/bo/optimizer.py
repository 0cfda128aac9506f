"""Ask and tell: Algorithm 1 of the paper, one batch at a time, around the pure function `suggest`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Never

from compbo.bo.cross_validation import CrossValidation, cross_validation
from compbo.bo.design import design_size
from compbo.bo.explanation import explain_ask
from compbo.bo.history import History
from compbo.bo.model import model_of
from compbo.bo.numbered_point import NumberedPoint
from compbo.bo.prediction import predictions
from compbo.bo.settings import BUDGET, STARTS, Settings, as_maximizer, refuse_unknown
from compbo.bo.suggest import suggest
from compbo.bo.telemetry import Telemetry
from compbo.bo.tell import pending_numbers, told_evaluations
from compbo.evaluation import Evaluation, describe, saved_error, saved_value
from compbo.html_table import html_table
from compbo.inputs import whole_number
from compbo.space import Space
from compbo.strict_json import dumps, with_numbers
from compbo.words import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from compbo.acquisition.integrands import Acquisition
    from compbo.acquisition.portfolio import Portfolio
    from compbo.bo.history import Direction
    from compbo.bo.starts import StartPolicy
    from compbo.maximizers import Maximizer
    from compbo.surrogate.gp import GP
    from compbo.types import Budget

    NamedPoint = Mapping[str, Any] | int  # by its values, with its number if it carries one, or by its number alone

FORMAT = 4  # of what `to_json` writes


class Optimizer:
    """Bayesian optimisation by ask and tell, on a space, with the options of `Settings`.

    >>> import compbo
    >>> optimizer = compbo.Optimizer({"x": compbo.Float(0, 1)}, batch_size=2, seed=0)
    >>> points = optimizer.ask()
    >>> optimizer.tell(points, [(point["x"] - 0.5) ** 2 for point in points])
    >>> len(optimizer.evaluations), optimizer.best.failed
    (2, False)
    """

    def __init__(
        self,
        space: Space | Mapping[str, Any],
        *,
        acquisition: str | Acquisition | Portfolio | Sequence[str | Acquisition] = "portfolio",
        maximizer: str | Maximizer | Callable[..., Any] = "CAdam",
        hyperparameters: Mapping[str, Any] = MappingProxyType({}),
        batch_size: int = 1,
        direction: Direction = "minimize",
        seed: int = 0,
        kernel: str = "matern52",
        priors: str = "shared-choices",
        outputs: str = "auto",
        inputs: str = "none",
        noise: float | None = None,
        model_points: int | None = 1280,
        initial_design: Literal["sobol", "uniform"] = "sobol",
        initial_points: int | None = None,
        starts: StartPolicy = STARTS,
        budget: Budget = BUDGET,
        minibatch: int = 128,
        **unknown: Never,
    ) -> None:
        """Begin with nothing known.

        Args:
            space: a `Space`, or a mapping of names to parameters.
            acquisition: a name (ei, pi, sr, ucb, logei), a value such as `UCB(beta=0.5)`, a list of them that take
                turns from ask to ask, or "portfolio": UCB and SR in turn, with a larger beta for a single point among
                choices with nothing pending.
            maximizer: a name of the catalogue, a `Maximizer`, or a function with a `form` (docs/own_parts.md).
            hyperparameters: of the maximizer, where it is given by its name; the others keep their defaults.
            batch_size: points that are suggested together.
            direction: "minimize" or "maximize".
            seed: the source of everything random.
            kernel: of the Gaussian process, "matern52", "se", "linear" or "cosine".
            priors: of its hyperparameters, "shared-choices", "paper" or "dimension-scaled".
            outputs: monotone transform of the values before the fit: "auto", "none", "yeo-johnson", "log", "log-fitted"
                or "evidence", which is "auto".
            inputs: "warped" for a monotone map of every parameter that is fitted with the model, or "none".
            noise: standard deviation of the values in the units of the objective, 0 for none; None to learn it.
            model_points: observations that the model rests on, where there are more; None: all.
            initial_design: "sobol" or "uniform".
            initial_points: before the first suggestion of a model; None: two per dimension, 2 to 16, at least a batch.
            starts: raw batches and restarts of a maximisation.
            budget: steps, seconds and memory of a maximisation.
            minibatch: samples K of one step.
            unknown: an option that does not exist is refused with the names of those that do.
        """
        refuse_unknown("Optimizer", unknown, (f.name for f in fields(Settings)))
        self._space = space if isinstance(space, Space) else Space(space)
        self._settings = Settings(
            acquisition=acquisition,
            maximizer=maximizer,
            hyperparameters=hyperparameters,
            batch_size=batch_size,
            direction=direction,
            seed=seed,
            kernel=kernel,
            priors=priors,
            outputs=outputs,
            inputs=inputs,
            noise=noise,
            model_points=model_points,
            initial_design=initial_design,
            initial_points=initial_points,
            starts=starts,
            budget=budget,
            minibatch=minibatch,
        )
        self._history = History()
        self._telemetry: tuple[Telemetry, ...] = ()

    @classmethod
    def resume(
        cls, space: Space, settings: Settings, history: History, telemetry: Iterable[Telemetry] = ()
    ) -> Optimizer:
        """An optimizer that goes on from this history; telemetry: of the asks so far."""
        optimizer = cls(space)
        optimizer._settings, optimizer._history, optimizer._telemetry = settings, history, tuple(telemetry)
        return optimizer

    @property
    def space(self) -> Space:
        """Where the points lie."""
        return self._space

    @property
    def settings(self) -> Settings:
        """Everything but the space and the history that determines a suggestion."""
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
    def pending(self) -> list[NumberedPoint]:
        """Points that were asked for and neither told nor forgotten, with their numbers; a list of the caller's own."""
        return [point.copy() for point in self._history.pending]

    @property
    def telemetry(self) -> list[Telemetry]:
        """What every ask looked like, with its verdict; a list of the caller's own."""
        return list(self._telemetry)

    @property
    def best(self) -> Evaluation | None:
        """The best evaluation so far, the earliest of equals; None before the first success."""
        return self._history.best(self._settings.direction)

    @property
    def initial_points(self) -> int:
        """How many points are asked for before the first that a model suggests."""
        return design_size(self._space, self._settings)

    def ask(self, count: int | None = None) -> list[NumberedPoint]:
        """The next joint batch of points; they are pending until they are told or forgotten.

        count: how many; None: the batch_size.

        Returns:
            Dictionaries that carry the number of their trial: `point.number`.
        """
        points, telemetry = suggest(self._space, self._settings, self._history, count)
        self._history = self._history.asked(points)
        self._telemetry = (*self._telemetry, telemetry)
        return self.pending[-len(points) :]

    def tell(
        self,
        points: NamedPoint | Sequence[NamedPoint],
        values: float | Sequence[float | None] | None,
        messages: Sequence[str] | None = None,
        errors: float | Sequence[float | None] | None = None,
    ) -> None:
        """Report results, in any order, of any points, asked for or not.

        A point is named by its number, by a point of `ask`, which carries it, or by its values. A point that carries
        the number of a pending one is told under that number with the values it has now: those that were really used.

        A value of None, NaN or infinity is a failed evaluation: it is recorded with its message, avoided, and ends
        nothing. Nothing changes if any point or value is not valid.

        errors: standard deviations of the values, in their units, each its own, where they are known. They add to the
        `noise` of the model. The same point may be told again: every value counts.
        """
        told = told_evaluations(self._space, self._history, points, values, messages, errors)
        self._history = self._history.told(told)

    def forget(self, points: NamedPoint | Sequence[NamedPoint]) -> None:
        """Withdraw pending points that will never be evaluated; nothing changes if one of them is not pending."""
        self._history = self._history.forgotten(pending_numbers(self._space, self._history, points))

    def predict(self, points: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> Any:
        """What the model of what was told expects at a point, or at each of a list of points.

        Returns:
            A `Prediction`, or a list of them: `mean` and `deviation` of the objective, without noise, in its own units,
            and `improvement`, the probability to be better than the best value so far.

        >>> import compbo
        >>> optimizer = compbo.Optimizer({"x": compbo.Float(0, 1)})
        >>> optimizer.tell([{"x": 0.1}, {"x": 0.5}, {"x": 0.9}], [1.0, 0.0, 1.0])
        >>> optimizer.predict({"x": 0.1}).improvement < 0.01
        True
        """
        self._check_success("predict")
        listed = [points] if isinstance(points, Mapping) else list(points)
        found = predictions(self._space, self._settings, self._history, listed)
        return found[0] if isinstance(points, Mapping) else found

    def explain(self) -> str:
        """Why the points of the last ask: what the model expects there, how they were found, in words."""
        if not self._telemetry:
            raise ValueError("explain: nothing has been asked for yet.")
        return explain_ask(self._space, self._settings, self._history, self._telemetry[-1])

    def cross_validation(self) -> CrossValidation:
        """Leave-one-out cross-validation of the model: every value beside what it is predicted to be from the others.

        >>> import compbo
        >>> optimizer = compbo.Optimizer({"x": compbo.Float(0, 1)})
        >>> points = [{"x": i / 10} for i in range(11)]
        >>> optimizer.tell(points, [(p["x"] - 0.3) ** 2 for p in points])
        >>> optimizer.cross_validation().error < 0.05
        True
        """
        self._check_success("cross_validation")
        return cross_validation(self._space, self._settings, self._history)

    def _check_success(self, caller: str) -> None:
        if not self._history.has_success:
            raise ValueError(f"{caller}: nothing has been evaluated successfully yet.")

    def model(self) -> GP:
        """The surrogate of what has been told so far (values in the maximised orientation)."""
        self._check_success("model")
        observations = self._history.observations(self._space, self._settings.direction)
        return model_of(self._space, self._settings, observations)

    def to_json(self) -> str:
        """Everything needed to go on elsewhere as if never stopped, in JSON that every program reads.

        OptionError for an acquisition function or a maximizer that is not registered.
        """
        self._settings.check_saveable()
        return dumps(
            {
                "version": FORMAT,
                "space": self._space.to_dict(),
                "settings": self._settings.to_dict(),
                "evaluations": [evaluation._asdict() for evaluation in self._history.evaluations],
                "pending": [{"number": point.number, "params": dict(point)} for point in self._history.pending],
                "next_number": self._history.next_number,
                "repeats_allowed": self._history.repeats_allowed,
                "telemetry": [entry.to_dict() for entry in self._telemetry],
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Optimizer:
        """The optimizer that `to_json` wrote as `text`; ValueError if the text is something else."""
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
            tuple(
                Evaluation(
                    space.validate(e["params"]),
                    saved_value(e["value"]),
                    e["message"],
                    _number(e["number"]),
                    None if e["suggested"] is None else space.validate(e["suggested"]),
                    saved_error(e["error"]),
                )
                for e in data["evaluations"]
            ),
            tuple(NumberedPoint(space.validate(p["params"]), _number(p["number"])) for p in data["pending"]),
            data["repeats_allowed"],
            whole_number("next_number", data["next_number"], 0),
        )
        telemetry = [Telemetry.from_dict(with_numbers(entry)) for entry in data["telemetry"]]
        return cls.resume(space, Settings.from_dict(with_numbers(data["settings"])), history, telemetry)

    def __repr__(self) -> str:
        name = as_maximizer(self._settings.maximizer).name
        done = counted(len(self._history.evaluations), "evaluation")
        state = "nothing evaluated" if self.best is None else f"best {self.best.value:.6g}"
        return f"Optimizer({self._space.dim}D, {name}, {done}, {state})"

    def _repr_html_(self) -> str:
        failed = sum(evaluation.failed for evaluation in self._history.evaluations)
        done = f"{len(self._history.evaluations)}" + (f" ({failed} failed)" if failed else "")
        rows: list[tuple[Any, ...]] = [("evaluations", done), ("pending", len(self._history.pending))]
        if self.best is not None:
            rows += [("best value", repr(self.best.value)), ("evaluation", self.best.number)]
            rows += [(name, repr(value)) for name, value in self.best.params.items()]
        name = as_maximizer(self._settings.maximizer).name
        title = f"Optimizer ({self._settings.direction}, {name}, {counted(self._space.dim, 'dimension')})"
        return html_table(title, rows)


def _number(saved: Any) -> int:
    return whole_number("number", saved, 0)
