"""`compbo optimize --dask`: what goes with it, and the plan of a run whose evaluations are on the cluster."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from compbo.console import say
from compbo.dask_client import check_address, connect
from compbo.errors import OptionError
from compbo.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compbo.cli.optimize import OptimizeRequest
    from compbo.run.plan import RunPlan


def check_dask(request: OptimizeRequest) -> None:
    """OptionError for what a request asks of a cluster and cannot have, before it is connected."""
    check_address(request.dask or "")
    if request.workers is not None:
        raise OptionError("workers", "Give {option} or {dask}, not both: the workers of a cluster are its own.")
    if request.batch_size is None:
        raise OptionError("batch_size", "{dask} needs {option}: how many evaluations are to run at the same time?")
    if request.timeout is not None and request.command is None:
        raise OptionError(
            "timeout", "{option} with {dask} needs {command}: a function on a cluster cannot be stopped, a program can."
        )


@contextmanager
def on_cluster(address: str, plan: RunPlan, *, asynchronous: bool) -> Iterator[RunPlan]:
    """The plan with the executor of a Dask cluster; the connection ends with the context.

    Args:
        address: of its scheduler.
        plan: of the run, as yet without a place for its evaluations.
        asynchronous: as for `minimize`.

    Yields:
        The plan; NoSchedulerError if no scheduler answers.
    """
    client = connect(address, "compbo optimize")
    levels = _silence("distributed")
    try:
        threads = client.nthreads()
        say(f"Dask at {address}: {counted(len(threads), 'worker')}, {counted(sum(threads.values()), 'thread')}.")
        yield replace(plan, executor=client.get_executor(), asynchronous=asynchronous)
    finally:
        client.close(timeout=5)
        for logger, level in levels.items():
            logger.setLevel(level)


def _silence(package: str) -> dict[logging.Logger, int]:
    """Keep a package from logging, and return the levels before: of a lost scheduler Dask shows pages of traces."""
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == package]
    levels = {logging.getLogger(name): logging.getLogger(name).level for name in names}
    for logger in levels:
        logger.setLevel(logging.CRITICAL)
    return levels
