"""SMAC3's facade for hyperparameters (random forest, log EI) with its defaults, in its own environment.

The facade's own initial design is left out: it is told the one that all methods have. Noise is no reason for SMAC to
evaluate a point again, since the noise of a task depends on the point: the scenario counts as deterministic.
"""

import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from ConfigSpace import CategoricalHyperparameter, Configuration, ConfigurationSpace
from ConfigSpace import UniformFloatHyperparameter as Float
from ConfigSpace import UniformIntegerHyperparameter as Integer
from lines import serve
from smac import HyperparameterOptimizationFacade as Facade
from smac import Scenario
from smac.initial_design import AbstractInitialDesign
from smac.runhistory import TrialInfo, TrialValue


def unused(config, seed=0):  # noqa: ARG001
    """SMAC wants a function with these arguments; it is asked and told, and never calls it."""
    return 0.0


class NoDesign(AbstractInitialDesign):
    """No points of its own."""

    def __init__(self, scenario):
        super().__init__(scenario, n_configs=0)

    def _select_configurations(self):
        return []


def parameter(variable):
    """SMAC's description of a variable."""
    name, low, high = variable["name"], variable["low"], variable["high"]
    if variable["type"] == "real":
        return Float(name, 0.0, 1.0)
    if variable["type"] == "integer":
        return Integer(name, low, high, log=variable["log"])
    return CategoricalHyperparameter(name, list(range(high + 1)))


class Peer:
    """The optimiser of a cell."""

    def __init__(self, request):
        self.names = [variable["name"] for variable in request["variables"]]
        self.space = ConfigurationSpace(seed=request["seed"])
        for variable in request["variables"]:
            self.space.add(parameter(variable))
        self.folder = tempfile.TemporaryDirectory()
        scenario = Scenario(
            self.space,
            deterministic=True,
            n_trials=request["evaluations"] + 1,
            seed=request["seed"],
            output_directory=Path(self.folder.name),
        )
        self.facade = Facade(
            scenario,
            unused,
            initial_design=NoDesign(scenario),
            intensifier=Facade.get_intensifier(scenario, max_config_calls=1),
            logging_level=False,
            overwrite=True,
        )
        self.open = []  # trials that were handed out, in order
        self.known = []  # losses

    def observe(self, points, losses):
        """Losses of the trials handed out, or of the initial design; a failure has the worst loss seen."""
        trials = self.open or [TrialInfo(self.configuration(point), seed=0) for point in points]
        self.open = []
        self.known += [loss for loss in losses if loss is not None]
        worst = max(self.known, default=0.0)
        for trial, loss in zip(trials, losses, strict=True):
            self.facade.tell(trial, TrialValue(cost=worst if loss is None else loss))

    def configuration(self, point):
        """A point of its space."""
        return Configuration(self.space, values=dict(zip(self.names, point, strict=True)))

    def suggest(self, count):
        """Points as lists of numbers, asked one after the other."""
        self.open = [self.facade.ask() for _ in range(count)]
        rows = [[trial.config[name] for name in self.names] for trial in self.open]
        return [[value.item() if isinstance(value, np.generic) else value for value in row] for row in rows]


if __name__ == "__main__":
    serve(lambda request: (version("smac"), Peer(request)))
