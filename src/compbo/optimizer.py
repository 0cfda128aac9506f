"""Ask and tell: Algorithm 1 of the paper, one batch at a time.

A suggestion is a pure function of the settings, the seed, the observations and the pending points, as sets: neither
the order of arrival nor the number of restarts of the program changes a bit of it. The user's direction is turned
into maximisation here and nowhere else.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from compbo.acquisition.integrands import get_acquisition
from compbo.checks import whole_number
from compbo.evaluation import Evaluation, describe, saved_value, told_evaluation
from compbo.maximizers import get_entry
from compbo.numerics import standardise
from compbo.propose import Problem, Telemetry, Verdict, around, propose
from compbo.seeds import next_seed, stream
from compbo.settings import Settings
from compbo.space import Space
from compbo.surrogate.gp import GP, NOISELESS, fit_gp
from compbo.surrogate.posterior import with_pending
from compbo.types import DTYPE, Box
from compbo.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor


Point = dict[str, Any]

INCUMBENTS = 8  # best observations around which raw batches are drawn
REPLACEMENTS = 256  # candidates for a point that was suggested before
DROWNED = 1e100  # noise in units of the values' spread beyond which nothing can be learnt; its square is finite
ENUMERABLE = 4096  # a space of at most so many points is searched whole for unseen ones


class Optimizer:
    """Bayesian optimisation by ask and tell.

    >>> opt = Optimizer(Space({"x": Float(0, 1)}), batch_size=2, seed=0)     # doctest: +SKIP
    >>> points = opt.ask(); opt.tell(points, [f(**point) for point in points])  # doctest: +SKIP
    """

    def __init__(self, space: Space | Mapping[str, Any], **settings: Any) -> None:
        """Settings are the fields of `Settings`: acquisition, maximizer, batch_size, direction, seed, noise, ..."""
        known = {f.name for f in fields(Settings)}
        for name in settings:
            if name not in known:
                raise ValueError(f"Optimizer: {name!r} is not an option; the options are {', '.join(sorted(known))}.")
        self.space = space if isinstance(space, Space) else Space(space)
        self.settings = Settings(**settings)
        self.evaluations: list[Evaluation] = []
        self.pending: list[Point] = []
        self.telemetry: list[Telemetry] = []
        self.may_repeat = False  # whether points may be suggested again: something else than they varies

    # -- tell -------------------------------------------------------------------------------------------------------

    def tell(
        self,
        points: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        values: float | Sequence[float | None] | None,
        messages: Sequence[str] | None = None,
    ) -> None:
        """Report results, in any order, of any points, asked for or not.

        A value of None, NaN or infinity is a failed evaluation: it is recorded, avoided, and ends nothing. Nothing
        changes if any point or value is not valid.
        """
        if isinstance(points, Mapping):
            points, values = [points], [values]  # type: ignore[list-item]
        if not isinstance(points, (list, tuple)):
            raise ValueError(
                f"tell: points must be one dictionary or a list of them, got {type(points).__name__} "
                "(of a DataFrame, pass frame.to_dict('records'))."
            )
        given: Any = values
        one = isinstance(given, str) or not hasattr(given, "__len__") or getattr(given, "shape", None) == ()
        results: list[Any] = [given] if one else list(given)
        if len(points) != len(results):
            raise ValueError(f"tell: {counted(len(points), 'point')} but {counted(len(results), 'value')}.")
        notes = [""] * len(points) if messages is None else messages
        if not isinstance(notes, (list, tuple)) or not all(isinstance(note, str) for note in notes):
            raise ValueError(f"tell: messages must be a list of strings, one per point, got {messages!r}.")
        if len(notes) != len(points):
            raise ValueError(f"tell: {counted(len(points), 'point')} but {counted(len(notes), 'message')}.")
        valid = [self.space.validate(point) for point in points]
        told = [told_evaluation(p, v, note) for p, v, note in zip(valid, results, notes, strict=True)]
        for evaluation in told:
            if evaluation.params in self.pending:
                self.pending.remove(evaluation.params)
        self.evaluations.extend(told)

    def forget(self, points: Sequence[Mapping[str, Any]]) -> None:
        """Withdraw pending points that will never be evaluated."""
        for point in points:
            valid = self.space.validate(point)
            if valid not in self.pending:
                raise ValueError(f"forget: {valid} is not pending.")
            self.pending.remove(valid)

    @property
    def best(self) -> Evaluation | None:
        """The best evaluation so far, the earliest of equals; None before the first success."""
        sign = self._sign
        done = [e for e in self.evaluations if e.value is not None]
        return max(done, key=lambda e: sign * (e.value or 0.0)) if done else None

    @property
    def _sign(self) -> float:
        return 1.0 if self.settings.direction == "maximize" else -1.0

    # -- ask --------------------------------------------------------------------------------------------------------

    def ask(self, count: int | None = None) -> list[Point]:
        """The next joint batch of points; they are pending until they are told or forgotten."""
        count = whole_number("ask: count", self.settings.batch_size if count is None else count)
        successes = sum(not e.failed for e in self.evaluations)
        if len(self.evaluations) + len(self.pending) < self.initial_points or successes == 0:
            points, telemetry = self._design(count)
        else:
            points, telemetry = self._model_based(count)
        self.pending.extend(points)
        self.telemetry.append(telemetry)
        return [dict(point) for point in points]

    @property
    def initial_points(self) -> int:
        """Size of the initial design: two per dimension, at most 16, at least one batch, unless it was given."""
        if self.settings.initial_points is not None:
            return self.settings.initial_points
        return max(self.settings.batch_size, min(2 * self.space.dim, 16), 2)

    def _design(self, count: int) -> tuple[list[Point], Telemetry]:
        """The first points of the seeded sequence that were neither evaluated nor are pending."""
        started = time.perf_counter()
        seen = {_key(point) for point in self._seen()}
        points: list[Point] = []
        misses = 0
        for point in islice(self._sequence(), len(self._seen()) if self.may_repeat else 0, None):
            fresh = self.may_repeat or _key(point) not in seen
            misses = 0 if fresh else misses + 1
            if fresh or misses > ENUMERABLE:
                seen.add(_key(point))
                points.append(point)
            if len(points) == count:
                break
        reason = f"{counted(count, 'point')} of the {self.settings.initial_design} design"
        return points, Telemetry(
            Verdict.DESIGN,
            reason,
            observations=len(self.evaluations),
            pending=len(self.pending),
            points=count,
            start_seconds=time.perf_counter() - started,
        )

    def _sequence(self) -> Iterator[Point]:
        """The initial design, without end."""
        generator = stream(self.settings.seed, "initial design", self.settings.initial_design)
        sequence: torch.quasirandom.SobolEngine | None = None
        if self.settings.initial_design == "sobol":
            if self.space.dim > torch.quasirandom.SobolEngine.MAXDIM:
                raise ValueError(
                    f"A Sobol sequence has at most {torch.quasirandom.SobolEngine.MAXDIM} dimensions, the space has "
                    f'{self.space.dim}: set initial_design="uniform".'
                )
            sequence = torch.quasirandom.SobolEngine(self.space.dim, scramble=True, seed=next_seed(generator))  # type: ignore[no-untyped-call]
        while True:
            if sequence is None:
                block = torch.rand(64, self.space.dim, dtype=DTYPE, generator=generator)
            else:
                block = sequence.draw(64, dtype=DTYPE)
            yield from self.space.from_unit(block)

    def _model_based(self, count: int) -> tuple[list[Point], Telemetry]:
        data = self._data()
        pending = self._pending_tensor()
        digest = _digest(data, pending)
        started = time.perf_counter()
        gp = self._fit(data)
        fit_seconds = time.perf_counter() - started
        generator = stream(self.settings.seed, "ask", digest, count)
        order = torch.argsort(data.y, descending=True, stable=True)[:INCUMBENTS]
        problem = Problem(gp.posterior, get_acquisition(self.settings.acquisition), gp.best, data.x[order], pending)
        budget = self.settings.budget
        if budget.seconds is not None:
            budget = replace(budget, seconds=max(budget.seconds - fit_seconds, 1e-3))
        proposal = propose(
            problem,
            count,
            maximizer=self.settings.maximizer,
            hyperparameters=dict(self.settings.hyperparameters),
            generator=generator,
            budget=budget,
            starts=self.settings.starts,
            minibatch=self.settings.minibatch,
        )
        points, replaced, note = self._distinct(proposal.batch, problem, generator)
        telemetry = replace(
            proposal.telemetry,
            observations=len(self.evaluations),
            fit_seconds=fit_seconds,
            replaced_duplicates=replaced,
            reason=proposal.telemetry.reason + note,
        )
        return points, telemetry

    def model(self) -> GP:
        """The surrogate of what has been told so far (values in the maximised orientation)."""
        data = self._data()
        if len(data.y) == 0:
            raise ValueError("model: nothing has been evaluated successfully yet.")
        return self._fit(data)

    def _fit(self, data: _Data) -> GP:
        noise = self.settings.noise
        variance = None
        if noise is not None:
            relative = min(noise / standardise(data.y).scale, DROWNED)
            variance = max(relative**2, NOISELESS)
        return fit_gp(
            data.x,
            data.y,
            kernel=self.settings.kernel,
            priors=self.settings.priors,
            noise=variance,
            rounder=self.space.rounder(),
        )

    # -- history as data --------------------------------------------------------------------------------------------

    def _seen(self) -> list[Point]:
        return [e.params for e in self.evaluations] + self.pending

    def _data(self) -> _Data:
        """Observations in canonical order; a failed one stands at the worst value seen, so that it is avoided.

        Not where the same point has a value as well: there it was tried again, with success.
        """
        values = [self._sign * e.value for e in self.evaluations if e.value is not None]
        if not values:
            return _Data(torch.empty(0, self.space.dim, dtype=DTYPE), torch.empty(0, dtype=DTYPE))
        worst = min(values)
        measured = {_key(e.params) for e in self.evaluations if not e.failed}
        known = [e for e in self.evaluations if not e.failed or _key(e.params) not in measured]
        y = [worst if e.value is None else self._sign * e.value + 0.0 for e in known]
        x = self.space.to_unit([e.params for e in known])
        order = sorted(range(len(y)), key=lambda i: (x[i].tolist(), y[i]))
        return _Data(x[order], torch.tensor([y[i] for i in order], dtype=DTYPE))

    def _pending_tensor(self) -> Tensor | None:
        if not self.pending:
            return None
        x = self.space.to_unit(self.pending)
        return x[sorted(range(len(x)), key=lambda i: x[i].tolist())]

    # -- no point twice ---------------------------------------------------------------------------------------------

    def _distinct(self, batch: Tensor, problem: Problem, generator: torch.Generator) -> tuple[list[Point], int, str]:
        """Valid points of the batch; one that was evaluated, is pending or stands twice in it is replaced.

        With declared noise repeating an evaluation is legitimate, unless it failed.
        """
        points = self.space.from_unit(batch)
        if self.may_repeat:
            return points, 0, ""
        noisy = bool(self.settings.noise)
        taken = {_key(e.params) for e in self.evaluations if e.failed or not noisy}
        if not noisy:
            taken |= {_key(point) for point in self.pending}
        replaced, exhausted = 0, 0
        for i, point in enumerate(points):
            if _key(point) in taken:
                substitute = self._substitute(i, points, taken, problem, generator)
                exhausted += substitute is None
                replaced += substitute is not None
                points[i] = point if substitute is None else substitute
            if not noisy:
                taken.add(_key(points[i]))
        note = f"; replaced {counted(replaced, 'repeated point')}" if replaced else ""
        note += f"; the space is exhausted: {counted(exhausted, 'point')} repeated" if exhausted else ""
        return points, replaced, note

    def _substitute(
        self, index: int, points: list[Point], taken: set[str], problem: Problem, generator: torch.Generator
    ) -> Point | None:
        """The unseen point with the best joint value beside the rest of the batch, or None if there is none."""
        unit = self.space.to_unit([points[index]])
        candidates = [p for p in self._candidates(unit, generator) if _key(p) not in taken]
        if not candidates:
            return None
        others = [point for i, point in enumerate(points) if i != index]
        fixed = self.space.to_unit(others) if others else None
        joint = fixed if problem.pending is None else torch.cat([problem.pending, *([] if fixed is None else [fixed])])
        from compbo.acquisition.oracle import AcquisitionOracle
        from compbo.acquisition.samples import FreshSamples

        posterior = with_pending(problem.posterior, joint)
        oracle = AcquisitionOracle(
            problem.acquisition, posterior, FreshSamples(1 + posterior.extra_points), problem.best
        )
        oracle.start(generator)
        values = oracle.value(self.space.to_unit(candidates).unsqueeze(1), oracle.draw())
        return candidates[int(values.nan_to_num(-math.inf).argmax())]

    def _candidates(self, centre: Tensor, generator: torch.Generator) -> list[Point]:
        """Points to replace one by: the whole space if it is small, otherwise neighbours and uniform ones."""
        if self.space.size is not None and self.space.size <= ENUMERABLE:
            return list(self.space.grid())
        near = around(centre, (REPLACEMENTS // 2, 1), Box.unit(self.space.dim), generator).squeeze(1)
        far = self.space.sample_unit((REPLACEMENTS // 2,), generator)
        unique = {_key(point): point for point in self.space.from_unit(torch.cat([near, far]))}
        return list(unique.values())

    # -- saving -----------------------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """Everything needed to go on elsewhere as if never stopped."""
        return json.dumps(
            {
                "version": 1,
                "space": self.space.to_dict(),
                "settings": self.settings.to_dict(),
                "evaluations": [[e.params, e.value, e.message] for e in self.evaluations],
                "pending": self.pending,
                "telemetry": [entry.to_dict() for entry in self.telemetry],
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Optimizer:
        """The inverse of `to_json`."""
        try:
            data = json.loads(text)
        except (TypeError, ValueError):
            data = None
        if not isinstance(data, dict) or data.get("version") != 1:
            raise ValueError("Optimizer.from_json: this is not a saved optimizer of a known version.")
        try:
            optimizer = cls(Space.from_dict(data["space"]))
            optimizer.settings = Settings.from_dict(data["settings"])
            validate = optimizer.space.validate
            optimizer.evaluations = [
                Evaluation(validate(p), saved_value(v), note) for p, v, note in data["evaluations"]
            ]
            optimizer.pending = [validate(point) for point in data["pending"]]
            optimizer.telemetry = [Telemetry.from_dict(entry) for entry in data["telemetry"]]
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"Optimizer.from_json: this saved optimizer is damaged ({describe(error).rstrip('.')}); save it again."
            ) from error
        return optimizer

    def __repr__(self) -> str:
        best = self.best
        state = "nothing evaluated" if best is None else f"best {best.value:.6g}"
        entry = get_entry(self.settings.maximizer)
        return f"Optimizer({self.space.dim}D, {entry.name}, {counted(len(self.evaluations), 'evaluation')}, {state})"


class _Data(NamedTuple):
    """Observations in canonical order, maximised: x (n, d) and y (n,)."""

    x: Tensor
    y: Tensor


def _key(point: Point) -> str:
    """What makes two points the same."""
    return json.dumps(point, sort_keys=True, default=str)


def _digest(data: _Data, pending: Tensor | None) -> str:
    """A short name of the history as a set."""
    parts = [data.x.numpy().tobytes(), data.y.numpy().tobytes(), b"" if pending is None else pending.numpy().tobytes()]
    return hashlib.sha256(b"|".join(parts)).hexdigest()[:32]
