"""A Dask cluster on loopback: a scheduler and workers, each a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path

from study_helpers import marked_processes, python_path, wait_for


class Cluster:
    """A scheduler and workers as processes, all marked."""

    def __init__(self, folder: Path) -> None:
        self.mark = uuid.uuid4().hex
        self._folder, self._file = folder, folder / "scheduler.json"
        self._processes: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._start(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(self._file)
        )
        self.address = str(wait_for(self._address, "the scheduler"))

    def _address(self) -> str:
        try:
            return str(json.loads(self._file.read_text())["address"])
        except (OSError, ValueError):
            return ""

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        variables = {**os.environ, "COMPBO_TEST_MARK": self.mark, "PYTHONPATH": python_path()}
        log = (self._folder / "cluster.log").open("ab")
        with log:
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", *arguments], env=variables, stderr=log, stdout=log, cwd=self._folder
            )
        self._processes.append(process)
        return process

    def worker(self) -> subprocess.Popen[bytes]:
        return self._start(
            "worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1"
        )

    def end(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
        wait_for(lambda: not marked_processes(self.mark), "the end of everything the cluster started")
