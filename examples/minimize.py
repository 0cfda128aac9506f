"""Minimise a function of mixed parameters; run it twice, and the second call finds every evaluation in the storage."""

import math

import compbo
from compbo import Categorical, Float, Int, Space

space = Space({
    "lr": Float(1e-5, 1e-1, scale="log"),
    "depth": Int(1, 15),
    "kernel": Categorical(["rbf", "poly"]),
})  # fmt: skip


def loss(params):
    if params["depth"] == 13:
        raise RuntimeError("out of memory")  # recorded, avoided, and no reason to stop
    return (math.log10(params["lr"]) + 3) ** 2 + (params["depth"] - 6) ** 2 / 10 + (params["kernel"] == "poly")


if __name__ == "__main__":
    result = compbo.minimize(loss, space, evaluations=32, batch_size=4, seed=0, storage="sqlite:///minimize.db")
    print(result.best_params, result.best_value)
    print(result.history.tail())
    print("last ask:", result.telemetry[-1].verdict, "-", result.telemetry[-1].reason)
    result.report("minimize.html")
