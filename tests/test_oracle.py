"""One acquisition function, in one form, over one posterior: against BoTorch, and its statistics."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys

import pytest
import torch
from botorch.acquisition import (
    qExpectedImprovement,
    qLogExpectedImprovement,
    qProbabilityOfImprovement,
    qSimpleRegret,
    qUpperConfidenceBound,
)
from botorch.models import SingleTaskGP
from botorch.sampling import SobolQMCNormalSampler

from compbo.acquisition.integrands import EI, PI, SR, UCB, Acquisition, LogEI
from compbo.acquisition.oracle import AcquisitionOracle
from compbo.acquisition.samples import make_samples, sobol_normals
from compbo.surrogate.botorch import ModelPosterior, posterior_of
from compbo.surrogate.kernels import get_kernel
from compbo.surrogate.posterior import GPPosterior, with_pending
from compbo.types import Draw

F64 = torch.float64
Q, D, N = 3, 2, 12
ALL = [EI(), PI(tau=0.3), SR(), UCB(beta=2.0), LogEI(tau=0.1)]
NAMES = [acquisition.name for acquisition in ALL]
LINEAR = [acquisition for acquisition in ALL if acquisition.linear_outer]


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def rand(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.rand(*shape, dtype=F64, generator=seeded(seed))


TRAIN_X = rand(N, D, seed=1)
RAW_Y = (5.0 * TRAIN_X).sin().sum(-1)
TRAIN_Y = (RAW_Y - RAW_Y.mean()) / RAW_Y.std()
BEST = float(TRAIN_Y.max()) - 0.8  # low enough that every acquisition function is alive almost everywhere
BEST_F = torch.tensor(BEST, dtype=F64)  # BoTorch would round a bare float to float32


def posterior() -> GPPosterior:
    return GPPosterior(
        TRAIN_X,
        TRAIN_Y,
        kernel=get_kernel("matern52"),
        lengthscale=torch.tensor([0.4, 0.9], dtype=F64),
        outputscale=1.3,
        noise=0.05,
    )


def make(
    acquisition: object, form: str = "ERM", *, minibatch: int = 64, steps: int = 16, seed: int = 0
) -> AcquisitionOracle:
    oracle = AcquisitionOracle(acquisition, posterior(), make_samples(form, Q, minibatch=minibatch, steps=steps), BEST)
    oracle.start(seeded(seed))
    return oracle


def gradient(oracle: AcquisitionOracle, x: torch.Tensor, draw: Draw) -> torch.Tensor:
    inner = oracle.inner(x, draw)
    return inner.pullback(oracle.outer_gradient(inner.v))


def assert_mean_is(samples: torch.Tensor, truth: torch.Tensor, errors: float = 4.0) -> None:
    """The mean over the first dimension lies within so many standard errors of the truth, and these are small."""
    error = samples.std(0) / math.sqrt(len(samples))
    assert bool(((samples.mean(0) - truth).abs() <= errors * error + 1e-12).all())
    assert float(error.max()) < 0.1 * float(truth.abs().max())


@pytest.mark.filterwarnings("ignore::botorch.exceptions.NumericsWarning")  # of EI against LogEI, in words
class TestAgainstBoTorch:
    """The same base samples in both: BoTorch's sampler is handed our z."""

    K = 32

    def setup_method(self) -> None:
        self.model = SingleTaskGP(TRAIN_X, TRAIN_Y.unsqueeze(-1), outcome_transform=None)
        self.x = rand(5, Q, D, seed=3)
        self.z = sobol_normals(Q, self.K, seeded(4))

    def sampler(self, z: torch.Tensor) -> SobolQMCNormalSampler:
        sampler = SobolQMCNormalSampler(sample_shape=torch.Size([z.shape[-1]]), seed=0)
        sampler.base_samples = z.mT.unsqueeze(1)
        sampler(self.model.posterior(rand(2, z.shape[0], D, seed=7)))
        assert torch.equal(sampler.base_samples, z.mT.unsqueeze(1))  # taken, not replaced by its own
        return sampler

    def compare(self, acquisition: object, theirs: object, z: torch.Tensor, tolerance: float = 1e-8) -> None:
        x = self.x.clone().requires_grad_()
        expected = theirs(x)
        (slope,) = torch.autograd.grad(expected.sum(), x)
        for surrogate in (posterior_of(self.model), ModelPosterior(self.model)):
            oracle = AcquisitionOracle(acquisition, surrogate, make_samples("ERM", Q), BEST)
            inner = oracle.inner(self.x, Draw(z))
            ours = inner.pullback(oracle.outer_gradient(inner.v))
            torch.testing.assert_close(oracle.outer(inner.v), expected.detach(), rtol=tolerance, atol=tolerance)
            torch.testing.assert_close(ours, slope, rtol=tolerance, atol=tolerance * float(slope.abs().max()))

    def test_ei(self) -> None:
        self.compare(EI(), qExpectedImprovement(self.model, BEST_F, sampler=self.sampler(self.z)), self.z)

    @pytest.mark.parametrize("tau", [2.0**-10, 0.5])  # BoTorch keeps it in float32
    def test_pi(self, tau: float) -> None:
        theirs = qProbabilityOfImprovement(self.model, BEST_F, sampler=self.sampler(self.z), tau=tau)
        self.compare(PI(tau=tau), theirs, self.z)

    def test_sr(self) -> None:
        self.compare(SR(), qSimpleRegret(self.model, sampler=self.sampler(self.z)), self.z)

    def test_ucb(self) -> None:
        """BoTorch centres on the sample mean, we on mu: with z and -z in the sample they are the same point."""
        z = torch.cat([self.z, -self.z], -1)
        self.compare(UCB(beta=2.0), qUpperConfidenceBound(self.model, beta=2.0, sampler=self.sampler(z)), z)

    def test_ucb_is_centred_on_mu(self) -> None:
        """On a sample whose mean is not zero the two differ, and ours is the paper's."""
        z = self.z + 1.0
        oracle = AcquisitionOracle(UCB(), posterior_of(self.model), make_samples("ERM", Q), BEST)
        theirs = qUpperConfidenceBound(self.model, beta=2.0, sampler=self.sampler(z))(self.x).detach()
        ours = oracle.value(self.x, Draw(z))
        assert float((ours - theirs).abs().min()) > 1e-3
        batch = oracle.posterior(self.x)
        by_hand = batch.mean.unsqueeze(-1) + math.sqrt(math.pi) * (batch.factor @ z).abs()
        torch.testing.assert_close(ours, by_hand.amax(1).mean(-1))

    @pytest.mark.parametrize("tau", [1e-2, 1e-6])
    def test_logei_of_one_point(self, tau: float) -> None:
        """BoTorch's smooth maximum over a single point is that point, so the two are equal."""
        self.x, z = self.x[:, :1], self.z[:1]
        theirs = qLogExpectedImprovement(self.model, BEST_F, sampler=self.sampler(z), fat=True, tau_relu=tau)
        self.compare(LogEI(tau=tau), theirs, z)

    def test_logei_of_a_batch(self) -> None:
        """With q points BoTorch's fat maximum tends to ours as its temperature falls."""
        oracle = AcquisitionOracle(LogEI(tau=0.1), posterior_of(self.model), make_samples("ERM", Q), BEST)
        ours = oracle.value(self.x, Draw(self.z))
        differences = []
        for tau_max in (1e-2, 1e-4, 1e-6):
            theirs = qLogExpectedImprovement(
                self.model, BEST_F, sampler=self.sampler(self.z), fat=True, tau_relu=0.1, tau_max=tau_max
            )
            differences.append(float((theirs(self.x).detach() - ours).abs().max()))
        assert differences[0] > differences[1] > differences[2]
        assert differences[2] < 1e-5

    @pytest.mark.parametrize("acquisition", [EI(), SR()], ids=["ei", "sr"])
    def test_pending_points_join(self, acquisition: EI | SR) -> None:
        pending, z = rand(2, D, seed=8), sobol_normals(Q + 2, self.K, seeded(4))
        options = {"sampler": self.sampler(z), "X_pending": pending}
        if isinstance(acquisition, EI):
            theirs = qExpectedImprovement(self.model, BEST_F, **options)
        else:
            theirs = qSimpleRegret(self.model, **options)
        x = self.x.clone().requires_grad_()
        expected = theirs(x)
        (slope,) = torch.autograd.grad(expected.sum(), x)
        joint = with_pending(posterior_of(self.model), pending)
        oracle = AcquisitionOracle(acquisition, joint, make_samples("ERM", Q + joint.extra_points), BEST)
        inner = oracle.inner(self.x, Draw(z))
        torch.testing.assert_close(oracle.outer(inner.v), expected.detach(), rtol=1e-8, atol=1e-8)
        ours = inner.pullback(oracle.outer_gradient(inner.v))
        torch.testing.assert_close(ours, slope, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("acquisition", ALL, ids=NAMES)
class TestEveryAcquisition:
    @pytest.mark.parametrize("form", ["ERM", "FSM", "Comp", "ME"])
    def test_gradient_by_finite_differences(self, acquisition: object, form: str) -> None:
        oracle = make(acquisition, form)
        draw, x = oracle.draw(), rand(2, Q, D, seed=5)
        got = gradient(oracle, x, draw)
        step = 1e-6
        for index in range(Q * D):
            shift = torch.zeros(Q * D, dtype=F64)
            shift[index] = step
            shift = shift.reshape(Q, D)
            slope = (oracle.value(x + shift, draw) - oracle.value(x - shift, draw)) / (2 * step)
            torch.testing.assert_close(got.reshape(2, -1)[:, index], slope, rtol=2e-5, atol=2e-5)

    def test_all_samples_together_are_the_finite_sum(self, acquisition: object) -> None:
        """ERM on the whole pool = mean over its columns, taken minibatch by minibatch = f(E[g])."""
        oracle = make(acquisition, "Comp", minibatch=16, steps=4)
        whole, x = oracle.expectation_draw(), rand(2, Q, D, seed=5)
        value = oracle.value(x, whole)
        columns = torch.zeros(2, Q, oracle.pool_size, dtype=F64)
        utilities = []
        for start in range(0, oracle.pool_size, 16):
            part = Draw(whole.z[:, start : start + 16], whole.columns[start : start + 16])
            v = oracle.inner(x, part, gradient_rows=0).v
            columns[..., part.columns] = v
            utilities.append(oracle.utility(v).sum(-1))
        mean = sum(utilities) / oracle.pool_size
        expected = mean if oracle.linear_outer else mean.log()
        torch.testing.assert_close(value, expected, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(value, oracle.outer(columns), rtol=1e-12, atol=1e-12)

    def test_a_draw_samples_the_outer_sum_without_bias(self, acquisition: object) -> None:
        """Mean over all draws of K of M columns of J_g(x; w)^T (M/K) grad f(zeta): the gradient with all of them.

        zeta is not g(x), as under a tracker; LogEI needs its mean utility.
        """
        oracle = make(acquisition, "Comp", minibatch=2, steps=3)
        whole, x = oracle.expectation_draw(), rand(1, Q, D, seed=5)
        zeta = oracle.inner(rand(1, Q, D, seed=6), whole, gradient_rows=0).v
        mean = oracle.utility(zeta).mean(-1)
        gradients = []
        for columns in itertools.combinations(range(6), 2):
            draw = Draw(whole.z[:, columns], torch.tensor(columns))
            gradients.append(oracle.inner(x, draw).pullback(oracle.outer_gradient(zeta[..., columns], mean)))
        expected = oracle.inner(x, whole).pullback(oracle.outer_gradient(zeta))
        torch.testing.assert_close(torch.stack(gradients).mean(0), expected, rtol=1e-10, atol=1e-12)

    def test_minibatch_columns_are_unbiased(self, acquisition: object) -> None:
        """(M/K) v_m in the drawn columns, 0 elsewhere: v on average."""
        oracle = make(acquisition, "Comp", minibatch=8, steps=4)
        x = rand(1, Q, D, seed=5)
        v = oracle.inner(x, oracle.expectation_draw(), gradient_rows=0).v[0]
        estimates = torch.zeros(400, Q, oracle.pool_size, dtype=F64)
        for estimate in estimates:
            draw = oracle.draw()
            drawn = oracle.inner(x, draw, gradient_rows=0).v[0]
            estimate[:, draw.columns] = (oracle.pool_size / draw.size) * drawn
        # of one number, the whole mean, 4 standard errors; of each of the 96 columns a little more
        error = estimates.std(0) / math.sqrt(400)
        assert bool(((estimates.mean(0) - v).abs() <= 4.5 * error + 1e-12).all())
        total = estimates.mean((1, 2))
        assert abs(float(total.mean() - v.mean())) <= 4.0 * float(total.std()) / math.sqrt(400) + 1e-12

    def test_minibatch_gradients_are_unbiased_given_the_mean_utility(self, acquisition: object) -> None:
        """For EI, PI, SR and UCB the nested minibatch gradient is unbiased; for LogEI with the known mean utility."""
        oracle = make(acquisition, "Comp", minibatch=16, steps=8)
        x = rand(1, Q, D, seed=5)
        whole = oracle.expectation_draw()
        mean_utility = oracle.utility(oracle.inner(x, whole, gradient_rows=0).v).mean(-1)
        truth = gradient(oracle, x, whole)[0]
        draws = []
        for _ in range(300):
            inner = oracle.inner(x, oracle.draw())
            draws.append(inner.pullback(oracle.outer_gradient(inner.v, mean_utility))[0])
        assert_mean_is(torch.stack(draws), truth)

    def test_gradient_rows(self, acquisition: object) -> None:
        oracle = make(acquisition)
        draw, x = oracle.draw(), rand(4, Q, D, seed=5)
        full = oracle.inner(x, draw)
        part = oracle.inner(x, draw, gradient_rows=2)
        torch.testing.assert_close(part.v, full.v)
        got = part.pullback(oracle.outer_gradient(part.v[:2]))
        torch.testing.assert_close(got, gradient(oracle, x, draw)[:2])
        none = oracle.inner(x, draw, gradient_rows=0)
        assert none.pullback(oracle.outer_gradient(none.v[:0])).shape == (0, Q, D)

    def test_restarts_do_not_see_each_other(self, acquisition: object) -> None:
        oracle = make(acquisition)
        draw, x = oracle.draw(), rand(4, Q, D, seed=5)
        for b in range(4):
            torch.testing.assert_close(gradient(oracle, x, draw)[b], gradient(oracle, x[b : b + 1], draw)[0])

    def test_a_failed_batch_has_no_value_and_the_others_do(self, acquisition: object) -> None:
        oracle = make(acquisition)
        draw, x = oracle.draw(), rand(3, Q, D, seed=5)
        expected = oracle.value(x, draw)
        x[1, 0, 0] = math.nan
        value = oracle.value(x, draw)
        assert value.isnan().tolist() == [False, True, False]
        torch.testing.assert_close(value[[0, 2]], expected[[0, 2]])
        assert oracle.inner(x, draw).failed.tolist() == [False, True, False]

    def test_same_generator_same_values(self, acquisition: object) -> None:
        x = rand(2, Q, D, seed=5)
        for form in ("ERM", "FSM", "Comp", "ME"):
            one, two = make(acquisition, form, seed=3), make(acquisition, form, seed=3)
            for _ in range(2):
                assert torch.equal(one.value(x, one.draw()), two.value(x, two.draw()))


def test_logei_nested_minibatch_gradient_is_biased_without_the_level() -> None:
    """Dividing by the mean of the few drawn columns is not dividing by the mean of all: zeta is there for it."""
    oracle = make(LogEI(tau=0.01), "Comp", minibatch=2, steps=64)
    oracle.best = BEST + 1.0
    x = rand(1, Q, D, seed=5)
    truth = gradient(oracle, x, oracle.expectation_draw())[0]
    draws = torch.stack([gradient(oracle, x, oracle.draw())[0] for _ in range(400)])
    error = draws.std(0) / math.sqrt(len(draws))
    assert float(((draws.mean(0) - truth).abs() / error).max()) > 6.0


class TestMemoryEfficient:
    """ME: the winner of a column and its Jacobian come from independent draws."""

    def moments(self, acquisition: object, x: torch.Tensor) -> torch.Tensor:
        """E[v_j] in closed form, for autograd: a function of x_j alone."""

        def k(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            scaled = (a.unsqueeze(-2) - b.unsqueeze(-3)) / torch.tensor([0.4, 0.9], dtype=F64)
            s = (5.0 * scaled.square().sum(-1) + 1e-30).sqrt()
            return 1.3 * (1.0 + s + s * s / 3.0) * (-s).exp()

        c = k(TRAIN_X, TRAIN_X) + 0.05 * torch.eye(N, dtype=F64)
        cross = k(x, TRAIN_X)
        mean = cross @ torch.linalg.solve(c, TRAIN_Y)
        sigma = (1.3 - (cross @ torch.linalg.inv(c) * cross).sum(-1)).sqrt()
        if isinstance(acquisition, UCB):
            return mean + math.sqrt(acquisition.beta) * sigma
        if isinstance(acquisition, SR):
            return mean
        u = (mean - BEST) / sigma
        density = (-0.5 * u * u).exp() / math.sqrt(2.0 * math.pi)
        return sigma * (u * torch.special.ndtr(u) + density)

    @pytest.mark.parametrize("acquisition", [EI(), SR(), UCB()], ids=["ei", "sr", "ucb"])
    def test_the_direction_is_that_of_the_means_weighted_by_the_chance_to_win(self, acquisition: object) -> None:
        """E[G] = sum_j P(j wins) grad E[v_j], which is not the gradient of the acquisition function."""
        oracle = make(acquisition, "ME", minibatch=128)
        x = rand(1, Q, D, seed=6)
        draws = []
        tracked = oracle.inner(x, oracle.draw(), gradient_rows=0).v
        for _ in range(225):
            inner = oracle.inner(x, oracle.draw())
            draws.append(inner.pullback(oracle.outer_gradient(tracked))[0])
            tracked = inner.v
        many = oracle.inner(x, Draw(sobol_normals(Q, 2**14, seeded(11))))
        weights = oracle.outer_gradient(many.v)[0].sum(-1)  # P(j wins), ties shared
        points = x[0].clone().requires_grad_()
        (expected,) = torch.autograd.grad((weights * self.moments(acquisition, points)).sum(), points)
        assert_mean_is(torch.stack(draws), expected)
        # and the true direction is another one
        true = many.pullback(oracle.outer_gradient(many.v))[0]
        error = torch.stack(draws).std(0) / 15.0
        assert float(((true - expected).abs() / error).max()) > 15.0

    def test_successive_winners_are_independent(self) -> None:
        """Had column k of one draw anything to do with column k of the next, they would agree too often."""
        oracle = make(SR(), "ME", minibatch=128)
        x = rand(1, Q, D, seed=6)
        won = [oracle.inner(x, oracle.draw(), gradient_rows=0).v[0].argmax(0) for _ in range(200)]
        share = torch.stack([(torch.stack(won) == j).double().mean() for j in range(Q)])
        agree = torch.stack([(a == b).double().mean() for a, b in zip(won[1:], won[:-1], strict=True)])
        assert float(agree.mean()) == pytest.approx(float(share.square().sum()), abs=4 * float(agree.std()) / 14.0)


class TestDraws:
    def test_the_fixed_draw_is_kept_until_the_next_start(self) -> None:
        for form in ("ERM", "FSM", "Comp", "ME"):
            oracle = make(EI(), form)
            first = oracle.fixed_draw()
            oracle.draw()
            assert oracle.fixed_draw() is first
            oracle.start(seeded(1))
            assert not torch.equal(oracle.fixed_draw().z, first.z)

    def test_the_number_of_zetas_columns(self) -> None:
        assert make(EI(), "ME").pool_size == 64
        assert make(EI(), "Comp").pool_size == 64 * 16
        assert make(EI(), "Comp").expectation_draw().size == 64 * 16
        assert make(EI()).linear_outer
        assert not make(LogEI()).linear_outer


class TestMemory:
    @staticmethod
    def needed(
        form: str,
        steps: int,
        restarts: int = 32,
        width: int = 16,
        tracked: bool = True,
        acquisition: Acquisition = UCB(),  # noqa: B008 - frozen
    ) -> int:
        samples = make_samples(form, width, minibatch=128, steps=steps)
        return AcquisitionOracle(acquisition, posterior(), samples, 0.0).bytes_needed(restarts, tracked)

    @pytest.mark.parametrize("form", ["ERM", "ME"])
    def test_fresh_samples_do_not_grow_with_the_steps(self, form: str) -> None:
        assert self.needed(form, 4) == self.needed(form, 4000)

    def test_pools_grow_by_zeta_and_by_themselves(self) -> None:
        m = 128 * (64 - 32)
        assert self.needed("Comp", 64) - self.needed("Comp", 32) == 8 * m * (16 + 32 * 16)
        three_at_once = self.needed("Comp", 64, acquisition=LogEI()) - self.needed("Comp", 32, acquisition=LogEI())
        assert three_at_once == 8 * m * (16 + 3 * 32 * 16)
        assert self.needed("Comp", 64, tracked=False) - self.needed("Comp", 32, tracked=False) == 8 * m * 16
        assert self.needed("FSM", 64, tracked=False) - self.needed("FSM", 32, tracked=False) == 8 * m * 16
        assert self.needed("ME", 64) < self.needed("Comp", 64) / 4

    def test_it_grows_with_restarts_and_width(self) -> None:
        assert self.needed("ME", 64, restarts=64) == 2 * self.needed("ME", 64, restarts=32)
        assert self.needed("ME", 64, width=32) == 2 * self.needed("ME", 64, width=16)


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process is reset through /proc")
def test_the_estimate_holds_what_a_pool_really_takes() -> None:
    """The resident memory that CAdam adds in a process of its own, beside the estimate of it."""
    program = """
import re, torch
from compbo.acquisition.integrands import UCB
from compbo.acquisition.oracle import AcquisitionOracle
from compbo.acquisition.samples import make_samples
from compbo.maximizers import make_maximizer
from compbo.seeds import stream
from compbo.surrogate.gp import fit_gp
from compbo.types import Box, Budget
x = torch.rand(30, 4, dtype=torch.float64, generator=stream(0))
gp = fit_gp(x, x.sum(-1))
start = torch.rand(32, 16, 4, dtype=torch.float64, generator=stream(1))
def climb(name, form):
    oracle = AcquisitionOracle(UCB(), gp.posterior, make_samples(form, 16, minibatch=128, steps=64), gp.best)
    make_maximizer(name)(oracle, start, budget=Budget(steps=64), box=Box.unit(4), generator=stream(2))
    return oracle
def kilobytes(what):
    return int(re.search(what + r":\\s+(\\d+) kB", open("/proc/self/status").read())[1])
climb("Adam-ERM", "ERM")
open("/proc/self/clear_refs", "w").write("5")  # the peak starts again from here
before = kilobytes("VmRSS")
oracle = climb("CAdam", "Comp")
print(1024 * (kilobytes("VmHWM") - before), oracle.bytes_needed(32, tracked=True))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    measured, estimated = map(int, done.stdout.split())
    assert 0.4 * estimated < measured < 1.2 * estimated


def test_ei_of_nothing_has_a_zero_gradient() -> None:
    oracle = make(EI())
    oracle.best = 1e3
    draw, x = oracle.draw(), rand(2, Q, D)
    assert oracle.value(x, draw).tolist() == [0.0, 0.0]
    assert torch.equal(gradient(oracle, x, draw), torch.zeros_like(x))


def test_logei_of_next_to_nothing_has_a_gradient() -> None:
    oracle = make(LogEI())
    oracle.best = 1e3
    draw, x = oracle.draw(), rand(2, Q, D)
    assert torch.isfinite(oracle.value(x, draw)).all()
    got = gradient(oracle, x, draw)
    assert torch.isfinite(got).all()
    assert float(got.flatten(1).norm(dim=1).min()) > 1e-4
    better = oracle.value(x + 1e-3 * got / got.flatten(1).norm(dim=1)[:, None, None], draw)
    assert bool((better > oracle.value(x, draw)).all())
