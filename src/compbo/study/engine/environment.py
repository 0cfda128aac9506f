"""What a cell ran on: versions, machine, threads, memory."""

from __future__ import annotations

import json
import os
import platform
import re
import resource
import sys
from functools import cache
from pathlib import Path

from compbo.plugins import plugin_versions
from compbo.versions import installed_versions

PACKAGES = ("torch", "numpy", "scipy", "botorch", "gpytorch", "optuna", "cma", "scikit-learn", "pyarrow")
THREAD_VARIABLES = (
    "COMPBO_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


def versions_json() -> str:
    """The versions of Python, compbo and what it computes with, and the plugins that this process has loaded.

    Returns:
        JSON, by name.

    >>> sorted(json.loads(versions_json()))[:2]
    ['botorch', 'cma']
    """
    return json.dumps({**_installed_versions(), **plugin_versions()})


@cache
def _installed_versions() -> dict[str, str]:
    return installed_versions(PACKAGES)


@cache
def machine_json() -> str:
    """What this machine is.

    Returns:
        JSON: host, platform, processor, cores and memory in GB.

    >>> sorted(json.loads(machine_json()))
    ['cores', 'host', 'memory_gb', 'platform', 'processor']
    """
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return json.dumps(
        {
            "host": platform.node(),
            "platform": platform.platform(),
            "processor": _processor(),
            "cores": os.cpu_count(),
            "memory_gb": round(memory / 2**30, 1),
        }
    )


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor()
    match = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return match.group(1) if match else platform.machine()


def cell_environment(threads: int) -> dict[str, str]:
    """What the process of a cell is told: the threads of every BLAS and of OpenMP.

    Args:
        threads: the number.

    Returns:
        Environment variables.

    >>> cell_environment(2)["OMP_NUM_THREADS"]
    '2'
    """
    return dict.fromkeys(THREAD_VARIABLES, str(threads))


def reset_peak_memory() -> None:
    """Begin a new measurement of the largest resident memory (Linux; elsewhere it is that of the whole process)."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return


def peak_memory() -> int:
    """The largest resident memory since the last reset.

    Returns:
        Bytes.

    >>> peak_memory() > 0
    True
    """
    try:
        text = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    match = re.search(r"^VmHWM:\s*(\d+) kB$", text, re.MULTILINE)
    return int(match.group(1)) * 1024 if match else 0
