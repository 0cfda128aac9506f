"""From a plan to a result: the optimizer, the evaluator and the stored run are made, and the run is carried out."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from compbo.bo.optimizer import Optimizer
from compbo.run.interrupts import remembered_interrupts
from compbo.run.loop import Run
from compbo.run.progress import RunProgress
from compbo.space import Space
from compbo.storage import StoredRun

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compbo.bo.history import Direction
    from compbo.evaluation import Objective
    from compbo.run.plan import RunPlan
    from compbo.run.result import Result

log = logging.getLogger(__name__)


def complete_run(
    direction: Direction,
    objective: Objective,
    space: Space | Mapping[str, Any],
    plan: RunPlan,
    seed: int,
    settings: Mapping[str, Any],
) -> Result:
    """The result of a plan: `minimize` and `maximize` without their warning; the command line has one of its own.

    seed, settings: as for `minimize`.
    """
    if not callable(objective):
        raise ValueError(f"The objective must be a function of one dictionary, got {type(objective).__name__}.")
    if plan.executor is not None and plan.batch_size is None:
        log.warning("executor without batch_size evaluates one point at a time; say how many, e.g. batch_size=8")
    space = space if isinstance(space, Space) else Space(space)
    optimizer = Optimizer(space, direction=direction, batch_size=plan.points_per_ask, seed=seed, **settings)
    evaluator = plan.evaluator(objective)
    with remembered_interrupts() as interrupted:
        try:
            store = StoredRun.open(plan.storage, plan.study_name, space, optimizer.settings)
        except BaseException as error:
            evaluator.close()
            if interrupted.is_set():
                raise KeyboardInterrupt from error
            raise
        progress = RunProgress(plan.evaluations, show=plan.progress)
        return Run(optimizer, plan, evaluator, store, progress, plan.callback, interrupted).complete()
