"""An objective for the command line: as a function, and as a program that prints its value."""

import math
import sys


def loss(params):
    return (math.log10(params["lr"]) + 3) ** 2 + (params["depth"] - 6) ** 2 / 10


if __name__ == "__main__":
    print(loss({"lr": float(sys.argv[1]), "depth": int(sys.argv[2])}))
