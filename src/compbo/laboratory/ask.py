"""`compbo ask`: the next points of a stored run, that other processes may be asking at the same time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from compbo.bo.numbered_point import NumberedPoint
from compbo.bo.prediction import predictions
from compbo.bo.suggest import suggest
from compbo.bo.verdict import Verdict
from compbo.errors import InUseError

if TYPE_CHECKING:
    from collections.abc import Callable

    from compbo.bo.prediction import Prediction
    from compbo.bo.telemetry import Telemetry
    from compbo.storage import StoredRun

ATTEMPTS = 5  # in case that others ask at the very same time


class Asked(NamedTuple):
    """A joint batch: its points, what the model expects there (nothing before there is one), and how it was found."""

    points: list[NumberedPoint]
    predicted: list[Prediction]  # empty before there is a model
    telemetry: Telemetry


def ask_points(open_run: Callable[[], StoredRun], count: int) -> Asked:
    """The suggested points, `count` of them, after they were stored as pending.

    open_run: opens the run for this process alone. Should another one take it in the same instant, which is possible
    across machines, the points that came second are withdrawn and decided again.
    """
    for attempts_left in reversed(range(ATTEMPTS)):
        with open_run() as run:
            history = run.contents().history
            points, telemetry = suggest(run.space, run.settings, history, count)
            try:
                numbers = run.add(points, telemetry)
            except InUseError:
                if attempts_left == 0:
                    raise
                continue
            if numbers[0] != history.next_number and attempts_left > 0:
                run.forget(numbers)
                continue
            modelled = telemetry.verdict != Verdict.DESIGN
            predicted = predictions(run.space, run.settings, history, points) if modelled else []
            numbered = [NumberedPoint(point, number) for point, number in zip(points, numbers, strict=True)]
            return Asked(numbered, predicted, telemetry)
    raise AssertionError
