"""Methods that see values only, all of them on one fixed draw: random search, CMA-ES, differential evolution."""

from __future__ import annotations

from compbo.maximizers.entry import Entry
from compbo.maximizers.hyperparameters import Hyperparameter, choice, share
from compbo.maximizers.population import CMAES, FIRST_POPULATIONS, DifferentialEvolution
from compbo.maximizers.random_search import RandomBatches

HANSEN = "Hansen, The CMA evolution strategy: a tutorial, 2016"
STORN = "Storn and Price, Journal of Global Optimization 11, 1997"

CMA_ES = {
    "sigma": share(0.03, "initial step, as a part of the box", low_open=True),
    "first_population": choice(
        "around-best", "drawn around the best start point, or the start points themselves (paper)", FIRST_POPULATIONS
    ),
}
DE = {
    "F": Hyperparameter(0.2, "scale of a difference", low=0.0, high=2.0, low_open=True, high_open=True),
    "p_mutation": share(0.5, "chance of a coordinate to mutate", low_open=True),
}

ENTRIES = [
    Entry("RS", "ERM", {}, RandomBatches, "Bergstra and Bengio, JMLR 13, 2012"),
    Entry("CMA-ES", "ERM", CMA_ES, CMAES, HANSEN),
    Entry("DE", "ERM", DE, DifferentialEvolution, STORN),
    Entry("CMA-ES-Comp", "Comp", CMA_ES, CMAES, HANSEN),
    Entry("DE-Comp", "Comp", DE, DifferentialEvolution, STORN),
]
