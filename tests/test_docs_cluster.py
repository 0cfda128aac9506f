"""The page "On a cluster": what it does with Dask runs on a real cluster; the rest is Python at least."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import compbo
from dask_cluster import Cluster

PAGE = (Path(__file__).parents[1] / "docs" / "cluster.md").read_text()
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMPBO = f"""#!/bin/sh
exec {sys.executable} -c 'import sys; sys.argv[0] = "compbo"; from compbo.cli import main; main()' "$@"
"""


def blocks(kind: str) -> list[str]:
    return [body for found, body in BLOCK.findall(PAGE) if found == kind]


def test_the_python_of_the_page_is_python() -> None:
    train, _, slurm, ray = blocks("python")
    for code in (train, slurm, ray):
        compile(code, "docs/cluster.md", "exec")
    assert "SLURMCluster(" in slurm
    assert "ray.remote(" in ray


@pytest.mark.long
@pytest.mark.touches_global_rng  # Dask's client draws its waiting times from it
def test_what_the_page_does_with_dask_is_true(tmp_path: Path, cluster: Cluster) -> None:
    folder = tmp_path / "work"
    (folder / "bin").mkdir(parents=True)
    for name, text in (("compbo", COMPBO), ("python", f'#!/bin/sh\nexec {sys.executable} "$@"\n')):
        (folder / "bin" / name).write_text(text)
        (folder / "bin" / name).chmod(0o755)
    train, on_dask, *_ = blocks("python")
    (folder / "train.py").write_text(train)
    (folder / "space.toml").write_text(blocks("toml")[0])
    environment = {
        **os.environ,
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")])),
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        cluster.worker()
        cluster.worker()
    function, program = blocks("sh")
    commands = [["bash", "-euc", function], ["bash", "-euc", program], [sys.executable, "-c", on_dask]]
    for words in commands:
        here = [word.replace("tcp://host:8786", cluster.address) for word in words]
        ended = subprocess.run(here, cwd=folder, env=environment, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stderr
    for name in ("run.db", "program.db", "python.db"):
        records = compbo.load(folder / name).records
        assert [r.state for r in records] == ["COMPLETE"] * 24, name
