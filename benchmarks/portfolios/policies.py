"""Which acquisition function is asked: every policy is a function of the past alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import torch

from benchmarks.portfolios.acquisitions import Halves, OwnBetas
from benchmarks.why.settings import MarginalUCB
from compbo.acquisition.integrands import SR, UCB, LogEI
from compbo.seeds import stream
from compbo.types import DTYPE

if TYPE_CHECKING:
    from compbo.acquisition.integrands import Acquisition

INITIAL = 16  # points of the initial design
FADE = 0.9  # what a batch's success still counts for after the next one


class Past(NamedTuple):
    """What a policy is given."""

    batch: int  # its number, from 0, after the initial design
    bests: Sequence[float]  # the best loss after the design, and after every batch since
    q: int  # points of a batch
    seed: int


Policy = Callable[[Past], "Acquisition"]


class Variant(NamedTuple):
    """What the page says of a policy, and the policy."""

    words: str
    policy: Policy


def turns(*members: Acquisition) -> Policy:
    """The members in turn, as `Portfolio` has them."""
    return lambda past: members[(past.batch + INITIAL // past.q) % len(members)]


def win_stay(past: Past) -> Acquisition:
    """UCB or SR: the one that improved the best loss goes on, else the other one."""
    failures = sum(not past.bests[i] < past.bests[i - 1] for i in range(1, past.batch + 1))
    return (UCB(), SR())[failures % 2]


def earned(past: Past) -> Acquisition:
    """UCB and SR, each as often as its batches improved the best loss, the last ones counting most."""
    due, successes, asked, pick = [0.0, 0.0], [1.0, 1.0], [1.0, 1.0], 0
    for i in range(past.batch + 1):
        if i > 0:
            successes, asked = [FADE * s for s in successes], [FADE * a for a in asked]
            asked[pick] += 1.0
            successes[pick] += float(past.bests[i] < past.bests[i - 1])
        rates = [(s + 0.5) / (a + 1.0) for s, a in zip(successes, asked, strict=True)]
        due = [d + rate / sum(rates) for d, rate in zip(due, rates, strict=True)]
        pick = 0 if due[0] >= due[1] else 1
        due[pick] -= 1.0
    return (UCB(), SR())[pick]


def drawn(past: Past, count: int) -> tuple[float, ...]:
    """`count` betas from 0.02 to 4, uniform on a logarithmic scale, from a stream of the seed and the batch."""
    u = torch.rand(count, dtype=DTYPE, generator=stream(past.seed, "beta", past.batch))
    return tuple((0.02 * 200.0**u).tolist())


VARIANTS = {
    "default": Variant("UCB (beta 2) and SR in turn: the default", turns(UCB(), SR())),
    "ucb": Variant("UCB alone", turns(UCB())),
    "sr": Variant("SR alone", turns(SR())),
    "logei": Variant("LogEI alone", turns(LogEI())),
    "ucb0.25+sr": Variant("UCB with beta 0.25 (2/q for q = 8) and SR in turn", turns(UCB(0.25), SR())),
    "ucb0.5+sr": Variant("UCB with beta 0.5 and SR in turn", turns(UCB(0.5), SR())),
    "ucb4+sr": Variant("UCB with beta 4 and SR in turn", turns(UCB(4.0), SR())),
    "ucb2+ucb0.1": Variant("UCB with beta 2 and 0.1 in turn", turns(UCB(), UCB(0.1))),
    "blend+sr": Variant("UCB, half joint and half marginal, and SR in turn", turns(MarginalUCB(share=0.5), SR())),
    "marginal+sr": Variant("marginal UCB and SR in turn", turns(MarginalUCB(), SR())),
    "mixed": Variant("a batch of halves: UCB and SR, each with its own maximum", lambda past: Halves(past.q // 2)),
    "mixedmax": Variant("a batch of halves under one maximum", lambda past: Halves(past.q // 2, apart=False)),
    "winstay": Variant("UCB or SR: who improved goes on, else the other", win_stay),
    "credit": Variant("UCB and SR, each as often as it improved", earned),
    "beta-ask": Variant(
        "UCB with a beta from 0.02 to 4, drawn for every ask",
        lambda past: UCB(drawn(past, 1)[0]),
    ),
    "beta-point": Variant(
        "UCB with a beta from 0.02 to 4, drawn for every point",
        lambda past: OwnBetas(drawn(past, past.q)),
    ),
}
