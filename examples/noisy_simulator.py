"""A simulator whose values are noisy and whose runs sometimes fail.

Look at: the smallest value was also a lucky one; what the model says of its best point is nearer to the truth, and it
says how sure it is. Failed runs are recorded, avoided and counted; in noisy_simulator.html they are drawn apart.
"""

import random

import compbo
from compbo import Float, Int, Space

NOISE = 0.3
space = Space({"temperature": Float(300, 700), "flow": Float(0.1, 10, scale="log"), "stages": Int(1, 6)})


def cost(params):
    """What the simulator would say without noise; the least is 1."""
    heat = (params["temperature"] - 520) / 80
    return 1 + heat**2 + (params["stages"] - 4) ** 2 / 4 + abs(params["flow"] - 2) / 2


def simulate(params):
    if params["temperature"] > 600 and params["flow"] < 1:
        raise RuntimeError("diverged")  # a region in which every run fails
    dice = random.Random(str(params))
    if dice.random() < 0.05:
        return None  # the licence server did not answer: a failure as well
    return cost(params) + dice.gauss(0.0, NOISE)


if __name__ == "__main__":
    result = compbo.minimize(simulate, space, evaluations=48, batch_size=4, seed=13, noise=NOISE)
    print(result.history["state"].value_counts().to_string())

    tried = [record for record in result.records if record.value is not None]
    expected = result.optimizer.predict([record.params for record in tried])
    lucky = min(range(len(tried)), key=lambda i: tried[i].value)
    best = min(range(len(tried)), key=lambda i: expected[i].mean)
    for name, i in (("smallest value seen", lucky), ("best by the model", best)):
        mean, deviation = expected[i].mean, expected[i].deviation
        print(
            f"{name}: seen {tried[i].value:.2f}, model {mean:.2f} +- {deviation:.2f}, true {cost(tried[i].params):.2f}"
        )
    result.report("noisy_simulator.html")
