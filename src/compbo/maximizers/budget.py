"""Clocks and memory: whether a maximisation may go on."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compbo.types import Budget, Oracle


class OutOfTime(Exception):  # noqa: N818 - a signal, not an error
    """Leaves a climb, and the library it may run in, when the clock has run out."""


class OutOfMemory(Exception):  # noqa: N818 - a signal, not an error
    """Leaves a climb when memory has run out."""


class Clock:
    """Wall-clock seconds since it was made, and whether they are more than allowed."""

    def __init__(self, seconds: float | None) -> None:
        self._start = time.perf_counter()
        self._limit = seconds

    def seconds(self) -> float:
        """Seconds so far."""
        return time.perf_counter() - self._start

    def expired(self) -> bool:
        """Whether the budget is spent."""
        return self._limit is not None and self.seconds() >= self._limit

    def check(self) -> None:
        """Raise OutOfTime if the budget is spent."""
        if self.expired():
            raise OutOfTime


def fits(oracle: Oracle, restarts: int, budget: Budget, tracked: bool = False) -> bool:
    """Whether one step of that many restarts stays within the budget's memory; tracked: with a zeta."""
    return budget.memory is None or oracle.bytes_needed(restarts, tracked) <= budget.memory


@contextmanager
def memory_watched() -> Iterator[None]:
    """Turn every way in which memory runs out into OutOfMemory; PyTorch's CPU allocator raises a plain RuntimeError."""
    try:
        yield
    except (MemoryError, torch.OutOfMemoryError) as error:
        raise OutOfMemory(str(error)) from error
    except RuntimeError as error:
        if "allocate memory" not in str(error):
            raise
        raise OutOfMemory(str(error)) from error
