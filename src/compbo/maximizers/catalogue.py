"""The catalogue: the 31 names of the paper and a few from after it, each a row of rule x tracker x form.

A plain dict: look a row up, or add one (docs/add_a_maximizer.md). Tests, tables, the command line and the study read
it, so a new row is tested, listed and tunable without another line.

Defaults, until they are tuned: those of CAdam and NASA were set beforehand, the others chosen by
`benchmarks/choose_defaults.py`, which climbs UCB on Gaussian processes of three sizes and prints what each setting
reaches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from compbo.maximizers import hyperparameters as hyper
from compbo.maximizers import solvers
from compbo.maximizers.entry import Entry, Form, Maximizer
from compbo.maximizers.hyperparameters import with_defaults
from compbo.words import meant_or_known

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from compbo.maximizers.entry import Solver
    from compbo.maximizers.hyperparameters import Hyperparameter

HANSEN = "Hansen, The CMA evolution strategy: a tutorial, 2016"
STORN = "Storn and Price, Journal of Global Optimization 11, 1997"
BYRD = "Byrd, Lu, Nocedal and Zhu, SIAM Journal on Scientific Computing 16, 1995"
WANG = "Wang, Fang and Liu, Mathematical Programming 161, 2017"
TUTUNOV = "Tutunov, Li, Cowen-Rivers, Wang and Bou-Ammar, arXiv 2002.03755, 2020"
GHADIMI = "Ghadimi, Ruszczynski and Wang, SIAM Journal on Optimization 30, 2020"
GROSNIT = "Grosnit et al., Journal of Machine Learning Research 22, 2021"
BERGSTRA = "Bergstra and Bengio, JMLR 13, 2012"
SOX = "Wang and Yang, ICML 2022"
JIANG = "Jiang, Li, Wang, Zhang and Yang, NeurIPS 2022"
CHEN = "Chen, Sun and Yin, IEEE Transactions on Signal Processing 69, 2021"

Classical = tuple[str, "Mapping[str, Hyperparameter]", "Callable[..., Solver]", str]

CLASSICAL: list[Classical] = [
    ("SGA", with_defaults(hyper.SGA, lr=0.3, momentum=0.9), solvers.sga_solver, "Robbins and Monro, 1951"),
    ("Adagrad", with_defaults(hyper.ADAGRAD, lr=0.1), solvers.adagrad_solver, "Duchi, Hazan and Singer, JMLR 12, 2011"),
    ("RMSprop", with_defaults(hyper.RMSPROP, lr=0.01), solvers.rmsprop_solver, "Tieleman and Hinton, 2012"),
    ("Adam", hyper.ADAM, solvers.adam_solver, "Kingma and Ba, ICLR 2015"),
    ("Adadelta", with_defaults(hyper.ADADELTA, lr=10.0), solvers.adadelta_solver, "Zeiler, arXiv 1212.5701, 2012"),
    ("Rprop", with_defaults(hyper.RPROP, lr=0.1), solvers.rprop_solver, "Riedmiller and Braun, ICNN 1993"),
    ("AdamW", with_defaults(hyper.ADAM, weight_decay=0.01), solvers.adamw_solver, "Loshchilov and Hutter, ICLR 2019"),
    ("AdamOS", hyper.ADAMOS, solvers.adamos_solver, GROSNIT),
]


def _classical_rows() -> list[Entry]:
    """The eight first-order rules, on fresh samples (ERM) and on minibatches of a fixed pool (FSM)."""
    forms: list[tuple[Form, Literal["fresh", "minibatch"]]] = [("ERM", "fresh"), ("FSM", "minibatch")]
    return [
        Entry(f"{rule}-{form}", 1, "NonComp", rule, "none", form, samples, numbers, solver, citation)
        for rule, numbers, solver, citation in CLASSICAL
        for form, samples in forms
    ]


def _row(
    name: str,
    rule: str,
    tracker: str,
    numbers: Mapping[str, Hyperparameter],
    solver: Callable[..., Solver],
    citation: str,
    *,
    form: Form = "Comp",
    beyond: bool = False,
) -> Entry:
    """A first-order compositional method; beyond: from after the paper."""
    samples: Literal["fresh", "minibatch"] = "fresh" if form == "ME" else "minibatch"
    return Entry(name, 1, "extended" if beyond else "Comp", rule, tracker, form, samples, numbers, solver, citation)


ROWS: list[Entry] = [
    Entry("RS", 0, "NonComp", "random", "none", "ERM", "fixed", {}, solvers.random_solver, BERGSTRA),
    Entry("CMA-ES", 0, "NonComp", "CMA-ES", "none", "ERM", "fixed", hyper.CMA_ES, solvers.cma_solver, HANSEN),
    Entry("DE", 0, "NonComp", "DE", "none", "ERM", "fixed", hyper.DE, solvers.de_solver, STORN),
    Entry("CMA-ES-Comp", 0, "Comp", "CMA-ES", "none", "Comp", "fixed", hyper.CMA_ES, solvers.cma_solver, HANSEN),
    Entry("DE-Comp", 0, "Comp", "DE", "none", "Comp", "fixed", hyper.DE, solvers.de_solver, STORN),
    *_classical_rows(),
    Entry("L-BFGS-B", 2, "NonComp", "L-BFGS-B", "none", "ERM", "fixed", hyper.LBFGSB, solvers.lbfgsb_solver, BYRD),
    Entry("CL-BFGS-B", 2, "Comp", "L-BFGS-B", "none", "Comp", "fixed", hyper.LBFGSB, solvers.lbfgsb_solver, GROSNIT),
    _row("SCGA", "SGA", "smoothed", hyper.SCGA, solvers.scga_solver, WANG),
    _row("ASCGA", "SGA", "extrapolated", hyper.ASCGA, solvers.ascga_solver, WANG),
    _row("CAdam", "AdamOS", "extrapolated", hyper.CADAM, solvers.cadam_solver, TUTUNOV),
    _row("NASA", "averaged", "smoothed", hyper.NASA, solvers.nasa_solver, GHADIMI),
    _row("Nested-MC", "Adam", "none", hyper.ADAM, solvers.adam_solver, GROSNIT),
    _row("CAdam-ME", "AdamOS", "extrapolated", hyper.CADAM, solvers.cadam_solver, GROSNIT, form="ME"),
    _row("NASA-ME", "averaged", "smoothed", hyper.NASA, solvers.nasa_solver, GROSNIT, form="ME"),
    _row("Nested-MC-ME", "Adam", "none", hyper.ADAM, solvers.adam_solver, GROSNIT, form="ME"),
    _row("SCSC", "SGA", "corrected", hyper.SCSC, solvers.scsc_solver, CHEN, beyond=True),
    _row("SCSC-Adam", "Adam", "corrected", hyper.SCSC_ADAM, solvers.scsc_adam_solver, CHEN, beyond=True),
    _row("SOX", "AdamOS", "selective", hyper.SOX, solvers.sox_solver, SOX, beyond=True),
    _row("MSVR", "AdamOS", "multiblock", hyper.MSVR, solvers.msvr_solver, JIANG, beyond=True),
]

CATALOGUE: dict[str, Entry] = {entry.name: entry for entry in ROWS}


def get_entry(name: str) -> Entry:
    """The row of that name; a KeyError that lists the near ones if there is none."""
    try:
        return CATALOGUE[name]
    except (KeyError, TypeError):
        raise KeyError(f"no maximizer is called {name!r}; {meant_or_known(name, CATALOGUE)}") from None


def make_maximizer(name: str, **hyperparameters: Any) -> Maximizer:
    """The maximizer of that name, with its default hyperparameters unless given."""
    entry = get_entry(name)
    return Maximizer(entry, entry.settings(**hyperparameters))
