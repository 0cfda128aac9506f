"""BoTorch in a process of its own, without the memory that compbo keeps: as it runs where compbo is not loaded.

`alone(module, function)` calls `function` of that benchmark in a child process and returns what it returned.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from typing import Any


def alone(module: str, function: str) -> Any:
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.alone", module, function]
    environment = {**os.environ, "COMPBO_KEEP_MEMORY": "0"}
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    print(json.dumps(getattr(importlib.import_module(f"benchmarks.{sys.argv[1]}"), sys.argv[2])()))
