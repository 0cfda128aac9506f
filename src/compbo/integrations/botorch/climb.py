"""One maximisation of a BoTorch acquisition function: start points to feasible candidates, valued by the caller."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from botorch.acquisition.monte_carlo import SampleReducingMCAcquisitionFunction
from botorch.acquisition.multi_objective.base import MultiObjectiveMCAcquisitionFunction
from botorch.exceptions.errors import CandidateGenerationError

from compbo.acquisition.samples import make_samples
from compbo.errors import OptionError
from compbo.integrations.botorch.evaluate import values_on_its_own_sample
from compbo.integrations.botorch.fast import fast_oracle, plain_problem
from compbo.integrations.botorch.frame import FramedOracle
from compbo.integrations.botorch.oracles import PlainOracle, UtilityOracle
from compbo.integrations.botorch.own_sample import own_sample_oracle, own_values
from compbo.integrations.botorch.samplers import NoBaseSamples, common_seed, with_fixed_samples
from compbo.integrations.botorch.slsqp import SLSQP
from compbo.maximizers import CATALOGUE, run_within
from compbo.maximizers.lbfgsb import LBFGSB
from compbo.seeds import stream
from compbo.types import DTYPE, Budget

if TYPE_CHECKING:
    from torch import Tensor

    from compbo.acquisition.oracle import AcquisitionOracle
    from compbo.acquisition.samples import Samples
    from compbo.integrations.botorch.constraints import Constraints
    from compbo.integrations.botorch.fast import PlainProblem
    from compbo.integrations.botorch.frame import Frame
    from compbo.integrations.botorch.generate import CandidateGenerator
    from compbo.maximizers import Climb, Entry, Maximizer
    from compbo.types import Box, Oracle


class Problem(NamedTuple):
    """An acquisition function with what is known of it.

    yardstick: a private copy on one fixed sample. plain: its parts if it is of the ordinary kind. own: the fast form
    of the yardstick.
    """

    acqf: Any  # as the caller made it
    yardstick: Any
    plain: PlainProblem | None
    own: AcquisitionOracle | None

    @classmethod
    def of(cls, acqf: Any, seed: int, x: Tensor) -> Problem:
        """x (B, q, d): some batches; seed: of the fixed sample, if the acquisition function has none."""
        yardstick, plain = with_fixed_samples(acqf, common_seed(seed)), plain_problem(acqf)
        return cls(acqf, yardstick, plain, plain and own_sample_oracle(yardstick, plain, x))

    def values(self, x: Tensor) -> Tensor:
        """Values (B,) on the fixed sample; -inf where there is none."""
        return values_on_its_own_sample(self.yardstick)(x) if self.own is None else own_values(self.own, x)


def climbed(
    settings: CandidateGenerator, acqf: Any, x0: Tensor, frame: Frame, constraints: Constraints, seconds: float | None
) -> tuple[Tensor, Tensor]:
    """The best of start (x0), last and best point of every restart of `acqf`, on one fixed sample, and its value there.

    settings: the maximizer with its steps and seed. seconds: the time limit; None for none.

    A point that violates a constraint has the value -inf; the start points are feasible unless that is impossible.
    """
    u0 = frame.to_u(x0)
    sound = torch.isfinite(u0).flatten(1).all(1)
    if constraints.any and not bool(sound.all()):
        return _climbed_in_part(settings, acqf, x0, frame, constraints, seconds, sound)
    problem = Problem.of(acqf, settings.seed, frame.to_x(u0))
    points = [frame.to_bounded_x(u0)]
    if len(frame.free) > 0:
        climb, oracle = _climb(settings.maximizer, constraints), oracle_for(settings, problem, frame.to_x(u0))
        trace = run_within(
            climb,
            FramedOracle(oracle, frame, projected=not isinstance(climb, SLSQP)),
            u0,
            budget=Budget(settings.steps, seconds),
            box=_searchable(frame, settings.maximizer),
            generator=stream(settings.seed, "gen_candidates", _digest(u0)),
        )
        points += [frame.to_bounded_x(torch.where(torch.isfinite(u), u, u0)) for u in (trace.final, trace.best)]
    values = torch.stack([_valid(problem.values(x), x, constraints) for x in points])
    chosen, rows, x = values.argmax(0), torch.arange(len(x0)), torch.stack(points)
    candidates = x[chosen.to(x.device), rows.to(x.device)]
    if problem.own is None:
        return candidates, values[chosen, rows]
    return candidates, _valid(values_on_its_own_sample(problem.yardstick)(candidates), candidates, constraints)


def _climbed_in_part(
    settings: CandidateGenerator,
    acqf: Any,
    x0: Tensor,
    frame: Frame,
    constraints: Constraints,
    seconds: float | None,
    sound: Tensor,
) -> tuple[Tensor, Tensor]:
    """Climb from the start points that can be made feasible; the others stay where they are, with the value -inf."""
    if not bool(sound.any()):
        raise CandidateGenerationError(
            "no start point satisfies the constraints between inputs or leads to a point that does; "
            "pass feasible batch_initial_conditions."
        )
    rows = sound.to(x0.device)
    candidates, values = x0.clone(), torch.full((len(x0),), -torch.inf, dtype=DTYPE)
    candidates[rows], values[sound] = climbed(settings, acqf, x0[rows], frame, constraints, seconds)
    return candidates, values


def _valid(values: Tensor, x: Tensor, constraints: Constraints) -> Tensor:
    """The values (B,), -inf where a batch of x violates a constraint."""
    return values.masked_fill(~constraints.feasible(x).cpu(), -torch.inf) if constraints.any else values


def _climb(maximizer: Maximizer, constraints: Constraints) -> Climb:
    """What is run: L-BFGS-B knows bounds only, and SLSQP takes its place under constraints; all others project."""
    climb = maximizer.entry.build(**maximizer.hyperparameters)
    if not constraints.any or not isinstance(climb, LBFGSB):
        return climb
    changed = [name for name in ("maxcor", "gtol") if getattr(climb, name) != maximizer.entry.defaults[name]]
    if changed:
        raise OptionError(
            changed[0],
            "{name} of {maximizer_name} has no meaning under constraints between inputs, where SLSQP takes its place; "
            "leave it out, or choose CAdam-ME.",
            name=changed[0],
            maximizer_name=maximizer.name,
        )
    return SLSQP(climb.ftol)


def _searchable(frame: Frame, maximizer: Maximizer) -> Box:
    if maximizer.entry.order == 0 and not bool(torch.isfinite(frame.box.upper - frame.box.lower).all()):
        raise ValueError(f"{maximizer.name} draws from the whole box, so it needs finite bounds.")
    return frame.box


def _digest(u: Tensor) -> str:
    """A name of the start points: chunks of one call get streams of their own, and no counter is kept."""
    return hashlib.sha256(u.contiguous().numpy().tobytes()).hexdigest()[:32]


def oracle_for(settings: CandidateGenerator, problem: Problem, x0: Tensor) -> Oracle:
    """The acquisition function at start points x0 in the form that the maximizer of the settings wants."""
    entry, acqf, yardstick = settings.maximizer.entry, problem.acqf, problem.yardstick
    if entry.form == "ERM" and entry.traits.one_draw:
        return problem.own or PlainOracle(yardstick)
    if isinstance(acqf, MultiObjectiveMCAcquisitionFunction) and entry.order > 0:
        return PlainOracle(yardstick)
    if not isinstance(acqf, SampleReducingMCAcquisitionFunction):
        return _plain(yardstick, entry, f"{type(acqf).__name__} is not a sample-reducing Monte-Carlo acquisition")

    def samples(width: int) -> Samples:
        return make_samples(entry.form, width, minibatch=settings.minibatch, steps=settings.steps)

    if problem.plain is not None:
        return fast_oracle(problem.plain, x0.shape[1], samples)
    try:
        oracle = UtilityOracle(acqf, x0, samples, tracked=entry.traits.remembers)
    except NoBaseSamples as posterior:
        return _plain(yardstick, entry, f"the model's {posterior} has no normal base samples")
    if not oracle.separable and entry.form == "Comp" and entry.traits.remembers:
        raise ValueError(
            f"{entry.name} needs a sample reduction that is a mean or a logmeanexp, which {type(acqf).__name__} "
            "does not use; choose a maximizer with fresh samples, such as CAdam-ME or Adam-ERM."
        )
    return oracle


def _plain(acqf: Any, entry: Entry, reason: str) -> PlainOracle:
    """The bare acquisition value, for the maximizers that need no samples."""
    if entry.form == "ERM":
        return PlainOracle(acqf)
    able = ", ".join(other.name for other in CATALOGUE.values() if other.form == "ERM")
    raise ValueError(f"{reason}, so {entry.name} has no samples to work on; choose one of {able}.")
