"""Evaluations of unequal length: whenever one ends, a new point is suggested in view of those still running."""

import time
from concurrent.futures import ThreadPoolExecutor

import compbo
from compbo import Float


def slow(params):
    time.sleep(0.05 + 0.1 * params["x"])
    return (params["x"] - 0.3) ** 2 + (params["y"] - 0.8) ** 2


space = {"x": Float(0, 1), "y": Float(0, 1)}
with ThreadPoolExecutor(4) as executor:
    result = compbo.minimize(slow, space, evaluations=24, batch_size=4, executor=executor, asynchronous=True)
print(result.best_params, result.best_value)
