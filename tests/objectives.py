"""Objectives and settings that several test files and their worker processes share; nothing heavy is imported here."""

from __future__ import annotations

import math
import os
import signal
import time
from typing import Any

Point = dict[str, Any]


def bowl(p: Point) -> float:
    return (p["x"] - 0.3) ** 2 + (p["y"] + 1.2) ** 2


def mixed(p: Point) -> float:
    kind = {"a": 0.5, "b": 0.0, "c": 1.0}[p["kind"]]
    return (math.log10(p["lr"]) + 3) ** 2 + (p["depth"] - 6) ** 2 / 10 + kind + 0.2 * p["flag"]


def fails_on_the_left(p: Point) -> float:
    if p["x"] < 0:
        raise ArithmeticError("left")
    return bowl(p)


def process_id(p: Point) -> float:
    return float(os.getpid())


def dies_on_the_left(p: Point) -> float:
    if p["x"] < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return bowl(p)


def sleeps_on_the_left(p: Point) -> float:
    if p["x"] < 0:
        time.sleep(600)
    return bowl(p)
