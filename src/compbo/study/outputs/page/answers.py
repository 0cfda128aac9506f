"""The paper's five questions, answered in sentences that quote the numbers and intervals they rest on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compbo.study.outputs.page.cost_answers import memory_efficient, runtime
from compbo.study.outputs.page.regret_answers import compositional, finite_sums
from compbo.study.outputs.page.tuning_answer import noisy_tasks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compbo.study.outputs.figures.cost import MemoryMeasurement
    from compbo.study.outputs.page.answer import Answer
    from compbo.study.outputs.runs import Study


def answers(study: Study, measured: Sequence[MemoryMeasurement] = ()) -> list[Answer]:
    """The answers to all five; measured: memory of single maximisations, from `make bench ARGS=memory`."""
    return [
        finite_sums(study),
        compositional(study),
        memory_efficient(study, measured),
        runtime(study),
        noisy_tasks(study),
    ]
