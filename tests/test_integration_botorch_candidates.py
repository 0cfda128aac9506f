"""The contract between BoTorch's `optimize_acqf` and compbo's `gen_candidates`."""

from __future__ import annotations

import copy
import inspect
import pickle
import tomllib
from dataclasses import replace
from functools import partial
from pathlib import Path

import botorch
import numpy as np
import pytest
import torch
from botorch.acquisition.analytic import LogExpectedImprovement
from botorch.acquisition.knowledge_gradient import qKnowledgeGradient
from botorch.acquisition.logei import qLogExpectedImprovement
from botorch.acquisition.monte_carlo import (
    SampleReducingMCAcquisitionFunction,
    qSimpleRegret,
    qUpperConfidenceBound,
)
from botorch.exceptions.warnings import OptimizationWarning
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf as botorch_optimize_acqf
from botorch.optim import optimize_acqf_mixed
from botorch.optim.initializers import gen_batch_initial_conditions
from botorch.sampling.normal import IIDNormalSampler
from botorch.sampling.stochastic_samplers import StochasticSampler
from botorch.utils.safe_math import smooth_amax

from botorch_problems import (
    ACQUISITIONS,
    BEST,
    BOUNDS,
    QUIET,
    UNITS,
    data,
    first_output,
    gp,
    sampler_for,
    seeded,
    sobol,
)
from compbo.acquisition.samples import FreshSamples
from compbo.integrations.botorch import CandidateGenerator, compat, gen_candidates, optimize_acqf
from compbo.integrations.botorch.climb import Problem
from compbo.integrations.botorch.fast import fast_oracle, plain_problem
from compbo.integrations.botorch.joint import DiscreteAxis, best_batch, exchange, snap_to
from compbo.integrations.botorch.log_ei import FatMaximum
from compbo.integrations.botorch.own_sample import LogEIOracle, ReducedOracle
from compbo.integrations.botorch.ranking import ranked_initial_conditions
from compbo.maximizers import make_maximizer

pytestmark = QUIET

quick = partial(gen_candidates, steps=8, minibatch=16)
LIMITS = {"lower_bounds": BOUNDS[0], "upper_bounds": BOUNDS[1]}


def qlogei(**kwargs: object) -> qLogExpectedImprovement:
    """An outcome constraint that always holds keeps it off the fast path."""
    return qLogExpectedImprovement(gp(), BEST, sobol(), constraints=[lambda s: s[..., 0] - 99.0], **kwargs)


def starts(b: int = 4, q: int = 2) -> torch.Tensor:
    return seeded(b, q, 3, seed=9) * UNITS


@pytest.mark.parametrize("name", ["qEI", "qLogEI", "qLogNEI", "qLogEI, outcome constraint", "qLogEI, list of models"])
@pytest.mark.parametrize("maximizer", ["CAdam-ME", "CAdam", "Nested-MC", "Adam-ERM", "L-BFGS-B", "DE"])
def test_candidates_are_never_worse_than_the_starts_and_valued_by_the_caller(name: str, maximizer: str) -> None:
    acqf, x0 = ACQUISITIONS[name](sampler_for(name)), starts()
    with torch.no_grad():
        before = acqf(x0)
    candidates, values = quick(maximizer)(x0, acqf, **LIMITS)
    assert candidates.shape == x0.shape
    assert bool((candidates >= BOUNDS[0]).all() and (candidates <= BOUNDS[1]).all())
    with torch.no_grad():
        torch.testing.assert_close(values, acqf(candidates))
    assert float(values.max()) > float(before.max())


def test_a_maximisation_climbs_as_high_as_botorchs_own() -> None:
    x0 = starts(8)
    ours = gen_candidates("CAdam-ME", lr=0.1)(x0, qlogei(), **LIMITS)[1].max()
    theirs = botorch.generation.gen.gen_candidates_scipy(x0, qlogei(), **LIMITS)[1].max()
    assert float(ours) > float(theirs) - 0.05


@pytest.mark.parametrize(
    "value", [3.0, torch.tensor(3.0), torch.tensor([1.0, 3.0, 1.0, 9.0]), torch.arange(8.0).reshape(4, 2)]
)
def test_fixed_features_stay_fixed(value: float | torch.Tensor) -> None:
    candidates, values = quick()(starts(), qlogei(), **LIMITS, fixed_features={0: value})
    expected = torch.as_tensor(value, dtype=torch.float64)
    expected = expected[:, None] if expected.ndim == 1 else expected
    torch.testing.assert_close(candidates[..., 0], expected.expand(4, 2), rtol=0, atol=0)
    assert bool((candidates[..., 1:] != starts()[..., 1:]).any())
    with torch.no_grad():
        torch.testing.assert_close(values, qlogei()(candidates))


def test_negative_and_wrong_fixed_features() -> None:
    candidates, _ = quick()(starts(), qlogei(), **LIMITS, fixed_features={-1: 50.0})
    assert bool((candidates[..., 2] == 50.0).all())
    with pytest.raises(ValueError, match="3 is not one of the 3 features"):
        quick()(starts(), qlogei(), **LIMITS, fixed_features={3: 0.0})
    with pytest.raises(ValueError, match="shape 4 or 4 x 2"):
        quick()(starts(), qlogei(), **LIMITS, fixed_features={0: torch.zeros(3)})


def test_everything_fixed_is_only_evaluated() -> None:
    candidates, values = quick()(starts(), qlogei(), **LIMITS, fixed_features={0: 1.0, 1: 0.5, 2: 7.0})
    assert bool((candidates == torch.tensor([1.0, 0.5, 7.0]).double()).all())
    assert values.shape == (4,)


def test_a_timeout_ends_the_climb(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock stands still between our calls and jumps past the limit at every reading of it."""
    now = iter(range(0, 10_000, 100))
    monkeypatch.setattr("compbo.maximizers.budget.time.perf_counter", lambda: float(next(now)))
    acqf, evaluations = qlogei(), []
    original = SampleReducingMCAcquisitionFunction._non_reduced_forward

    def counted(self: object, X: torch.Tensor) -> torch.Tensor:
        evaluations.append(len(X))
        return original(self, X)

    monkeypatch.setattr(SampleReducingMCAcquisitionFunction, "_non_reduced_forward", counted)
    candidates, _ = gen_candidates(steps=1000)(starts(), acqf, **LIMITS, timeout_sec=150.0)
    assert candidates.shape == (4, 2, 3)
    assert len(evaluations) < 20


@pytest.mark.parametrize("acqf", [qlogei, lambda: ACQUISITIONS["qLogNEI"](sobol())])
def test_the_callers_acquisition_function_and_sampler_stay_as_they_were(acqf: object) -> None:
    mine = acqf()
    mine.set_X_pending(starts()[0] * 0.5)
    with torch.no_grad():
        mine(starts())
    before, attributes = copy.deepcopy(mine.state_dict()), set(vars(mine))
    sampler, shape = mine.sampler, mine.sampler.sample_shape
    quick("CAdam")(starts(), mine, **LIMITS)
    quick("CAdam")(starts(2, 3), mine, **LIMITS)  # another q
    assert mine.sampler is sampler
    assert sampler.sample_shape == shape
    after = mine.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert set(vars(mine)) == attributes


def test_the_sampler_is_as_it_was_after_an_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    acqf = qlogei()
    with torch.no_grad():
        acqf(starts())
    base, reduction = acqf.sampler.base_samples.clone(), acqf._q_reduction
    monkeypatch.setattr(type(acqf), "_sample_forward", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        quick()(starts(), acqf, **LIMITS)
    assert torch.equal(acqf.sampler.base_samples, base)
    assert acqf._q_reduction is reduction


@pytest.mark.parametrize(
    "sampler", [None, StochasticSampler(torch.Size([32]), seed=0), IIDNormalSampler(torch.Size([32]), seed=1)]
)
def test_values_compare_across_chunks_whatever_the_sampler(sampler: object) -> None:
    """Without fixed base samples of the caller's, all calls share ours; the global generator is not touched."""
    acqf = qSimpleRegret(gp(2), sampler, objective=botorch.acquisition.GenericMCObjective(first_output))
    x = starts(2)
    x[1] = x[0]
    fixed = {0: 1.0, 1: 0.5, 2: 7.0}
    _, first = quick()(x[:1], acqf, **LIMITS, fixed_features=fixed)
    _, second = quick()(x, acqf, **LIMITS, fixed_features=fixed)
    torch.testing.assert_close(second, first.expand(2))
    assert acqf.sampler is sampler


def test_the_same_seed_gives_the_same_candidates() -> None:
    acqf = qlogei()
    first, second = (quick(seed=4)(starts(), acqf, **LIMITS)[0] for _ in range(2))
    assert torch.equal(first, second)
    other = quick(seed=5)(starts(), acqf, **LIMITS)[0]
    by_option = quick()(starts(), acqf, **LIMITS, options={"rng_seed": 4})[0]
    assert not torch.equal(first, other)
    assert torch.equal(first, by_option)


def test_options_are_taken_left_to_others_or_refused() -> None:
    acqf = qlogei()
    short = gen_candidates(steps=2, minibatch=16)(starts(), acqf, **LIMITS)[0]
    options = {"maxiter": 2, "minibatch": 16, "max_optimization_problem_aggregation_size": 5, "batch_limit": 3}
    assert torch.equal(gen_candidates()(starts(), acqf, **LIMITS, options=options)[0], short)
    with pytest.raises(ValueError, match="option 'ftol' is unknown; compbo takes maxiter, minibatch, rng_seed"):
        quick()(starts(), acqf, **LIMITS, options={"ftol": 1e-3})
    with pytest.raises(ValueError, match="steps must be a whole number"):
        quick()(starts(), acqf, **LIMITS, options={"maxiter": 0})


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="CAdam-ME has no hyperparameter 'momentum'"):
        gen_candidates("CAdam-ME", momentum=0.5)
    with pytest.raises(ValueError, match="did you mean"):
        gen_candidates("Adams")
    with pytest.raises(ValueError, match="maximizer: no maximizer is called 'None'"):
        gen_candidates(None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="lower_bounds must not exceed upper_bounds"):
        quick()(starts(), qlogei(), lower_bounds=1.0, upper_bounds=0.0)
    with pytest.raises(ValueError, match="one for each of the 3 features, got 2"):
        quick()(starts(), qlogei(), lower_bounds=torch.zeros(2))
    for nothing in (starts() * torch.nan, starts(0)):
        with pytest.raises(ValueError, match="at least one batch, of finite numbers"):
            quick()(nothing, qlogei(), **LIMITS)
    with pytest.raises(ValueError, match="b x q x d or q x d"):
        quick()(torch.zeros(1, 1, 1, 3), qlogei())
    with pytest.raises(ValueError, match="RS draws from the whole box, so it needs finite bounds"):
        quick("RS")(starts(), qlogei())


def test_a_maximizer_may_be_a_value() -> None:
    """Of the catalogue or not: it is carried as it is, and no name is looked up."""
    value = make_maximizer("CAdam-ME", lr=0.05)
    assert gen_candidates(value, seed=1) == gen_candidates("CAdam-ME", lr=0.05, seed=1)
    assert gen_candidates(value, beta=0.5).maximizer.hyperparameters["beta"] == 0.5
    own = make_maximizer(replace(value.entry, name="Own"), lr=0.05)
    ends = [gen_candidates(maximizer, steps=3)(starts(), qlogei(), **LIMITS)[0] for maximizer in (own, value)]
    assert torch.equal(*ends)
    with pytest.raises(ValueError, match=r"must be a compbo\.Maximizer, got 'RS'; gen_candidates takes names"):
        CandidateGenerator("RS")  # type: ignore[arg-type]


def test_one_start_without_bounds_and_in_single_precision() -> None:
    x, y = data()
    model = SingleTaskGP(x.float(), y.float())
    acqf = qLogExpectedImprovement(model, BEST, sobol())
    candidates, values = quick()(starts()[0].float(), acqf)
    assert candidates.shape == (2, 3)
    assert candidates.dtype == values.dtype == torch.float32
    assert values.shape == (1,)


def test_a_generator_is_a_value() -> None:
    generator = gen_candidates("CAdam-ME", lr=0.05, seed=np.int64(0))
    assert generator == gen_candidates(lr=0.05)
    assert pickle.loads(pickle.dumps(generator)) == generator


@pytest.mark.filterwarnings("ignore::botorch.exceptions.warnings.OptimizationWarning")
def test_no_finite_value_asks_for_a_retry() -> None:
    class Nowhere(qLogExpectedImprovement):
        def _sample_forward(self, obj: torch.Tensor) -> torch.Tensor:
            return super()._sample_forward(obj) * torch.nan

    acqf = Nowhere(gp(), BEST, sobol())
    with pytest.warns(OptimizationWarning, match="no restart has a finite acquisition value"):
        _, values = quick()(starts(), acqf, **LIMITS)
    assert bool((values == -torch.inf).all())


class TestOtherAcquisitionFunctions:
    """Those that do not reduce samples take the maximizers that need none."""

    @pytest.mark.parametrize("maximizer", ["Adam-ERM", "L-BFGS-B", "DE", "RS"])
    def test_analytic(self, maximizer: str) -> None:
        acqf, x0 = LogExpectedImprovement(gp(), BEST), starts(4, 1)
        candidates, values = quick(maximizer)(x0, acqf, **LIMITS)
        with torch.no_grad():
            torch.testing.assert_close(values, acqf(candidates))
            assert float(values.max()) >= float(acqf(x0).max())

    def test_knowledge_gradient(self) -> None:
        acqf = qKnowledgeGradient(gp(), num_fantasies=3, sampler=sobol(3))
        x0 = starts(2, 1 + 3)
        candidates, values = quick("Adam-ERM")(x0, acqf, **LIMITS)
        assert candidates.shape == x0.shape
        assert values.shape == (2,)

    @pytest.mark.parametrize("maximizer", ["CAdam-ME", "CAdam", "Adam-FSM", "CL-BFGS-B"])
    def test_refusal_names_the_alternatives(self, maximizer: str) -> None:
        with pytest.raises(ValueError, match=f"{maximizer} has no samples to work on; choose one of RS, .*Adam-ERM"):
            quick(maximizer)(starts(4, 1), LogExpectedImprovement(gp(), BEST), **LIMITS)

    def test_a_posterior_without_base_samples(self) -> None:
        class Members(botorch.models.ensemble.EnsembleModel):
            num_outputs = 1

            def forward(self, X: torch.Tensor) -> torch.Tensor:
                return torch.stack([(X * k).sum(-1, keepdim=True) for k in (1.0, 2.0)], -3)

        from botorch.sampling.index_sampler import IndexSampler

        acqf = qSimpleRegret(Members(), IndexSampler(torch.Size([8]), seed=0))
        with pytest.raises(ValueError, match="EnsemblePosterior has no normal base samples"):
            quick("CAdam-ME")(starts(), acqf, **LIMITS)
        _, values = quick("Adam-ERM")(starts(), acqf, **LIMITS)
        assert bool(torch.isfinite(values).all())

    def test_another_sample_reduction_keeps_fresh_samples_only(self) -> None:
        class Median(SampleReducingMCAcquisitionFunction):
            def __init__(self) -> None:
                super().__init__(gp(), sobol(), sample_reduction=lambda v, dim: v.quantile(0.5, dim=dim[0]))

            def _sample_forward(self, obj: torch.Tensor) -> torch.Tensor:
                return obj

        with pytest.raises(ValueError, match="CAdam needs a sample reduction that is a mean or a logmeanexp"):
            quick("CAdam")(starts(), Median(), **LIMITS)
        _, values = quick("CAdam-ME")(starts(), Median(), **LIMITS)
        assert bool(torch.isfinite(values).all())


PLAIN = ["qEI", "qPI", "qSR", "qUCB", "qLogEI", "qEI, pending"]


class TestFastPath:
    @pytest.mark.parametrize("name", PLAIN)
    def test_plain_acquisitions_of_plain_gps_take_it_and_agree(self, name: str) -> None:
        acqf = ACQUISITIONS[name](sobol(2048))
        problem = plain_problem(acqf)
        assert problem is not None
        oracle = fast_oracle(problem, 2, lambda width: FreshSamples(width, 2048))
        oracle.start(torch.Generator().manual_seed(0))
        x = starts()
        with torch.no_grad():
            expected = acqf(x)
        spread = float(expected.std())
        torch.testing.assert_close(oracle.value(x, oracle.draw()), expected, rtol=0.02, atol=0.02 * spread)

    @pytest.mark.parametrize("name", [name for name in ACQUISITIONS if ", " in name and name != "qEI, pending"])
    def test_everything_else_does_not(self, name: str) -> None:
        assert plain_problem(ACQUISITIONS[name](sobol())) is None

    @pytest.mark.parametrize("name", PLAIN)
    @pytest.mark.parametrize("sampler", [sobol, lambda: IIDNormalSampler(torch.Size([32]), seed=2), lambda: None])
    def test_on_its_own_sample_value_and_gradient_are_botorchs(self, name: str, sampler: object) -> None:
        acqf = ACQUISITIONS[name](sampler())
        problem = Problem.of(acqf, 5, starts())
        x = starts().requires_grad_()
        expected = problem.yardstick(x)
        (gradient,) = torch.autograd.grad(expected.sum(), x)
        oracle = problem.own
        assert oracle is not None
        inner = oracle.inner(starts(), oracle.samples.draw())
        torch.testing.assert_close(problem.values(starts()), expected.detach(), rtol=1e-8, atol=1e-10)
        torch.testing.assert_close(oracle.outer(inner.v), expected.detach(), rtol=1e-8, atol=1e-10)
        found = inner.pullback(oracle.outer_gradient(inner.v))
        torch.testing.assert_close(found, gradient, rtol=1e-6, atol=1e-8 * float(gradient.abs().max()))
        some = oracle.inner(starts(), oracle.samples.draw(), gradient_rows=2)
        torch.testing.assert_close(some.pullback(oracle.outer_gradient(some.v[:2])), gradient[:2], rtol=1e-6, atol=1e-8)

    @pytest.mark.parametrize("spread", [1e-6, 1e-2, 1.0, 50.0])
    @pytest.mark.parametrize("tau_max", [1e-2, 0.3])
    def test_the_value_and_slope_of_qlogei_are_botorchs(self, spread: float, tau_max: float) -> None:
        acqf = qLogExpectedImprovement(gp(), BEST, sobol(), tau_max=tau_max)
        oracle, best = Problem.of(acqf, 5, starts()).own, float(acqf.best_f)
        assert isinstance(oracle, LogEIOracle)
        samples = (best - spread / 2 + spread * seeded(3, 5, 64, seed=1)).requires_grad_()
        with torch.no_grad():
            samples[:, 1] = samples[:, 0]  # two points are equally good
        expected = oracle.reduced(samples)
        (slope,) = torch.autograd.grad(expected.sum(), samples)
        value, found = FatMaximum(float(acqf.tau_relu), tau_max, best).value_and_slope(samples.detach())
        torch.testing.assert_close(value, expected.detach(), rtol=0, atol=1e-10)
        torch.testing.assert_close(found, slope, rtol=1e-8, atol=1e-11 * float(slope.abs().max()))

    def test_a_qlogei_that_botorch_computes_in_another_way_is_left_to_it(self) -> None:
        acqf = qLogExpectedImprovement(gp(), BEST, sobol())
        acqf._q_reduction = partial(smooth_amax, dim=-1, tau=1e-2)
        assert type(Problem.of(acqf, 5, starts()).own) is ReducedOracle

    @pytest.mark.parametrize("maximizer", ["L-BFGS-B", "CMA-ES", "DE", "RS"])
    def test_the_fixed_sample_methods_take_it(self, maximizer: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """BoTorch evaluates the candidates at the end, once."""
        acqf = ACQUISITIONS["qUCB"](sobol())
        evaluations, original = [], qUpperConfidenceBound.forward

        def counted(self: object, X: torch.Tensor) -> torch.Tensor:
            evaluations.append(len(X))
            return original(self, X)

        monkeypatch.setattr(qUpperConfidenceBound, "forward", counted)
        candidates, values = quick(maximizer)(starts(), acqf, **LIMITS)
        assert evaluations == [4]
        with torch.no_grad():
            torch.testing.assert_close(values, acqf(candidates), rtol=0, atol=0)

    def test_l_bfgs_b_goes_where_botorchs_own_goes(self) -> None:
        """In the unit cube both take the same steps."""
        x, y = data()
        acqf = qUpperConfidenceBound(SingleTaskGP(x / UNITS, y), 2.0, sobol())
        x0, cube = seeded(4, 2, 3, seed=9), {"lower_bounds": torch.zeros(3), "upper_bounds": torch.ones(3)}
        theirs, best = botorch.generation.gen.gen_candidates_scipy(x0, acqf, **cube, options={"maxiter": 10})
        ours, values = gen_candidates("L-BFGS-B", steps=10)(x0, acqf, **cube)
        torch.testing.assert_close(values, best, rtol=0, atol=1e-6)
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-4)

    def test_a_start_that_is_not_finite_does_not_take_the_others_with_it(self) -> None:
        x0 = starts()
        x0[0, 0, 0] = torch.nan
        _, values = quick("L-BFGS-B")(x0, ACQUISITIONS["qUCB"](sobol()), **LIMITS)
        assert torch.isfinite(values).tolist() == [False, True, True, True]

    @pytest.mark.touches_global_rng
    @pytest.mark.parametrize("name", PLAIN)
    @pytest.mark.parametrize("constrained", [False, True])
    def test_raw_batches_are_ranked_as_botorch_ranks_them(self, name: str, constrained: bool) -> None:
        shares = [(torch.arange(3), 1 / UNITS, 1.0)] if constrained else None
        arguments = {"num_restarts": 4, "raw_samples": 32, "options": {"seed": 1, "n_burnin": 50}}
        chosen = []
        for choose in (gen_batch_initial_conditions, ranked_initial_conditions):
            torch.manual_seed(0)
            chosen.append(
                choose(ACQUISITIONS[name](sobol()), bounds=BOUNDS, q=2, equality_constraints=shares, **arguments)
            )
        assert torch.equal(*chosen)

    @pytest.mark.touches_global_rng
    def test_a_sampler_that_botorch_chooses_stays_for_the_caller(self, monkeypatch: pytest.MonkeyPatch) -> None:
        acqf = ACQUISITIONS["qUCB"](None)
        evaluations, original = [], qUpperConfidenceBound.forward

        def counted(self: object, X: torch.Tensor) -> torch.Tensor:
            evaluations.append(len(X))
            return original(self, X)

        monkeypatch.setattr(qUpperConfidenceBound, "forward", counted)
        candidates, value = optimize_acqf(acqf, BOUNDS, 2, 3, 64, {"maxiter": 4})
        assert evaluations == [1, 3]  # once to choose the sampler, and the candidates: no raw batch
        with torch.no_grad():
            torch.testing.assert_close(value, acqf(candidates).squeeze())


class TestDiscreteFeatures:
    whole = DiscreteAxis((0,), torch.arange(11.0).double()[:, None])
    one_hot = DiscreteAxis((1, 2), torch.eye(2).double())

    def test_rounding_inside_the_maximisation(self) -> None:
        candidates, values = quick(rounder=torch.round)(starts(), qlogei(), **LIMITS)
        assert torch.equal(candidates, candidates.round())
        with torch.no_grad():
            torch.testing.assert_close(values, qlogei()(candidates))

    def test_nearest_levels(self) -> None:
        x = torch.tensor([[[3.4, 0.2, 0.7], [11.0, 0.9, 0.8]]]).double()
        expected = [[[3.0, 0.0, 1.0], [10.0, 1.0, 0.0]]]
        assert snap_to([self.whole, self.one_hot])(x).tolist() == expected

    def test_a_joint_batch_of_mixed_features(self) -> None:
        acqf = qlogei()
        bounds = torch.tensor([[0.0, 0.0, 0.0], [10.0, 1.0, 1.0]]).double()
        axes = [self.whole, self.one_hot]
        batch, value = best_batch(acqf, bounds, 2, quick(), raw_batches=16, restarts=3, axes=axes)
        assert torch.equal(snap_to(axes)(batch), batch)
        with torch.no_grad():
            torch.testing.assert_close(value, acqf(batch).squeeze())
        again, _ = best_batch(acqf, bounds, 2, quick(), raw_batches=16, restarts=3, axes=axes)
        assert torch.equal(again, batch)

    def test_very_many_levels(self) -> None:
        """A distance to each of them would need 800 GB."""
        many = DiscreteAxis((0,), torch.arange(1_000_000.0).double()[:, None])
        x = torch.tensor([-3.0, 0.4, 0.6, 999_998.7, 2e6]).double().repeat(20_000)[:, None]
        assert many.nearest(x)[:5, 0].tolist() == [0.0, 0.0, 1.0, 999_999.0, 999_999.0]

    @pytest.mark.parametrize("axes", [[], [whole, one_hot]])
    def test_known_points_are_not_repeated(self, axes: list[DiscreteAxis]) -> None:
        bounds = torch.tensor([[0.0, 0.0, 0.0], [10.0, 1.0, 1.0]]).double()
        acqf = qlogei()
        find = partial(best_batch, acqf, bounds, 2, quick(), raw_batches=16, restarts=3, axes=axes)
        known, _ = find()
        batch, value = find(known=known)
        assert bool(((batch[:, None] - known).abs().amax(-1) > 1e-6).all())
        with torch.no_grad():
            torch.testing.assert_close(value, acqf(batch).squeeze())

    def test_fixed_features_win_over_levels(self) -> None:
        bounds = torch.tensor([[0.0, 0.0, 0.0], [10.0, 1.0, 1.0]]).double()
        batch, _ = best_batch(
            qlogei(), bounds, 2, quick(), raw_batches=8, restarts=2, axes=[self.whole], fixed_features={0: 2.5}
        )
        assert batch[:, 0].tolist() == [2.5, 2.5]

    def test_an_exchange_finds_the_best_level_of_every_feature(self) -> None:
        """Separable: the best levels are known."""

        def evaluate(x: torch.Tensor) -> torch.Tensor:
            return -((x[..., 0] - 7).abs() + x[..., 1]).sum(-1)

        batch = torch.tensor([[0.0, 1.0, 0.0], [10.0, 1.0, 0.0]]).double()
        found, value = exchange(evaluate, batch, evaluate(batch), [self.whole, self.one_hot])
        assert found.tolist() == [[7.0, 0.0, 1.0]] * 2
        assert float(value) == 0.0


@pytest.mark.touches_global_rng
class TestOptimizeAcqf:
    """BoTorch draws raw samples from the global generator; that is its own business."""

    def test_gen_candidates_in_chunks(self) -> None:
        acqf = qlogei(X_pending=starts()[0])
        candidates, values = botorch_optimize_acqf(
            acqf,
            BOUNDS,
            q=2,
            num_restarts=5,
            raw_samples=16,
            gen_candidates=quick(),
            options={"batch_limit": 2, "seed": 1},
            return_best_only=False,
        )
        assert candidates.shape == (5, 2, 3)
        with torch.no_grad():
            torch.testing.assert_close(values, acqf(candidates))

    def test_mixed(self) -> None:
        candidates, _ = optimize_acqf_mixed(
            qlogei(),
            BOUNDS,
            q=2,
            num_restarts=2,
            raw_samples=8,
            fixed_features_list=[{0: 2.0}, {0: 8.0}],
            gen_candidates=quick(),
        )
        assert candidates.shape == (2, 3)
        assert set(candidates[:, 0].tolist()) <= {2.0, 8.0}

    def test_ours_is_botorchs_with_a_maximizer(self) -> None:
        options = {"maxiter": 4, "seed": 1}
        candidates, value = optimize_acqf(
            qlogei(), BOUNDS, 2, 3, 16, options, maximizer="CAdam", beta=0.2, fixed_features={1: 0.5}
        )
        assert candidates.shape == (2, 3)
        assert value.ndim == 0
        assert bool((candidates[:, 1] == 0.5).all())

    def test_shapes_of_the_other_ways_to_call_it(self) -> None:
        call = partial(optimize_acqf, bounds=BOUNDS, q=2, num_restarts=3, raw_samples=8, options={"maxiter": 2})
        candidates, values = call(qlogei(), sequential=True)
        assert (candidates.shape, values.shape) == ((2, 3), (2,))
        candidates, values = call(qlogei(), return_best_only=False)
        assert (candidates.shape, values.shape) == ((3, 2, 3), (3,))
        assert call(qlogei(), return_acq_values=False)[1] is None
        acqf = qUpperConfidenceBound(gp(), 2.0, sobol())  # the fast path
        candidates, value = call(acqf, post_processing_func=lambda x: x.round(decimals=1))
        with torch.no_grad():
            torch.testing.assert_close(value, acqf(candidates).squeeze())

    def test_two_optimisers_at_once_are_refused(self) -> None:
        with pytest.raises(ValueError, match="exclude each other"):
            optimize_acqf(qlogei(), BOUNDS, 1, 2, 4, gen_candidates=quick())

    def test_misspelt_arguments_are_named(self) -> None:
        with pytest.raises(ValueError, match="no argument 'learning_rate'; the hyperparameters of CAdam-ME are lr, "):
            optimize_acqf(qlogei(), BOUNDS, 1, 2, 4, learning_rate=0.1)
        with pytest.raises(ValueError, match="maximizer: no maximizer is called 'Adams'; did you mean"):
            optimize_acqf(qlogei(), BOUNDS, 1, 2, 4, maximizer="Adams")


def test_the_signature_is_botorchs() -> None:
    theirs = inspect.signature(botorch_optimize_acqf).parameters
    ours = inspect.signature(optimize_acqf).parameters
    shared = [name for name in theirs if theirs[name].kind is not inspect.Parameter.VAR_KEYWORD]
    assert [name for name in ours if name in shared] == shared
    for name in shared:
        assert (ours[name].kind, ours[name].default) == (theirs[name].kind, theirs[name].default), name


def test_the_oldest_supported_version_is_the_one_declared() -> None:
    pyproject = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
    oldest = compat.SUPPORTED.split(" to ")[0]
    assert f"botorch>={oldest}" in pyproject["project"]["dependencies"]


def test_a_botorch_that_moved_something_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    compat.check_private_names()
    monkeypatch.setitem(compat.PRIVATE_NAMES, "botorch.sampling.normal:NormalMCSampler", ("_moved",))
    with pytest.raises(ImportError, match=r"has no NormalMCSampler._moved; compbo supports BoTorch 0.15.1 to 0.18"):
        compat.check_private_names()
    monkeypatch.setitem(compat.PRIVATE_NAMES, "botorch.gone:Class", ())
    with pytest.raises(ImportError, match="compbo supports BoTorch"):
        compat.check_private_names()
