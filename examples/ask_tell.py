"""Ask and tell: the loop is yours, results come in any order, the state is one string."""

import compbo
from compbo import Float, Space

space = Space({"temperature": Float(20, 90), "concentration": Float(0.1, 2.0, scale="log")})
optimizer = compbo.Optimizer(space, direction="maximize", batch_size=4, seed=0)


def yield_of(point):
    return -((point["temperature"] - 63) ** 2) / 400 - (point["concentration"] - 0.7) ** 2


for _ in range(4):
    points = optimizer.ask()
    optimizer.tell(points[::-1], [yield_of(point) for point in points[::-1]])
    optimizer = compbo.Optimizer.from_json(optimizer.to_json())  # goes on from there

print(optimizer.best)
print(optimizer.telemetry[-1].verdict)
