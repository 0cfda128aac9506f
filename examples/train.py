"""An objective for the command line: a program that prints its value, and a function."""

import argparse
import math


def loss(params):
    return (math.log10(params["lr"]) + 3) ** 2 + (params["depth"] - 6) ** 2 / 10


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, required=True)
    parser.add_argument("--depth", type=int, required=True)
    print(loss(vars(parser.parse_args())))
