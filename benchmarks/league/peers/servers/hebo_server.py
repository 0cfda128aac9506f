"""HEBO with its defaults, in its own environment. It draws from NumPy's global generator, which is seeded here."""

import sys
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
import pandas as pd
import torch
from hebo.design_space.design_space import DesignSpace
from hebo.optimizers.hebo import HEBO
from lines import serve


def parameter(variable):
    """HEBO's description of a variable."""
    name, low, high = variable["name"], variable["low"], variable["high"]
    if variable["type"] == "real":
        return {"name": name, "type": "num", "lb": 0.0, "ub": 1.0}
    if variable["type"] == "integer":
        return {"name": name, "type": "pow_int" if variable["log"] else "int", "lb": low, "ub": high}
    return {"name": name, "type": "cat", "categories": list(range(high + 1))}


class Peer:
    """The optimiser of a cell; the model begins after the initial design, which it is told."""

    def __init__(self, request):
        np.random.seed(request["seed"])  # noqa: NPY002 - HEBO draws from it
        torch.manual_seed(request["seed"])
        self.names = [variable["name"] for variable in request["variables"]]
        space = DesignSpace().parse([parameter(variable) for variable in request["variables"]])
        self.optimizer = HEBO(space, rand_sample=request["initial"], scramble_seed=request["seed"])

    def observe(self, points, losses):
        """Failures are left out, as HEBO does with values that are not finite."""
        values = np.array([np.nan if loss is None else loss for loss in losses])
        self.optimizer.observe(pd.DataFrame(points, columns=self.names), values[:, None])

    def suggest(self, count):
        """Points as lists of numbers."""
        return self.optimizer.suggest(n_suggestions=count)[self.names].to_numpy().tolist()


if __name__ == "__main__":
    serve(lambda request: (version("HEBO"), Peer(request)))
