"""The release: an sdist and a wheel in dist/, and the proof that the wheel works where nothing else of the project is.

python -m tools.dist           # build both, the wheel from the unpacked sdist
python -m tools.dist --check   # and install the wheel in an empty environment, and run the demo from it
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
CONSTRAINTS = ROOT / "constraints.txt"
TORCH = "torch==2.13.0"
EVALUATIONS = "32"  # of the demo: the design and two batches


def build(target: Path) -> tuple[Path, Path]:
    """Build both archives with the hatchling of this environment.

    Args:
        target: the folder they are written to.

    Returns:
        The sdist, and the wheel, which is built from the sdist alone: a file that the sdist lacks is missed here.
    """
    target.mkdir(parents=True, exist_ok=True)
    for old in (*target.glob("compbo-*.tar.gz"), *target.glob("compbo-*.whl")):
        old.unlink()
    _hatchling("sdist", ROOT, target)
    (sdist,) = target.glob("compbo-*.tar.gz")
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(sdist) as archive:
            archive.extractall(folder, filter="data")
        (unpacked,) = Path(folder).iterdir()
        _hatchling("wheel", unpacked, target)
    (wheel,) = target.glob("compbo-*.whl")
    return sdist, wheel


def _hatchling(kind: str, source: Path, target: Path) -> None:
    _run(sys.executable, "-m", "hatchling", "build", "--target", kind, "--directory", str(target), cwd=source)


def files_of(wheel: Path) -> set[str]:
    """The files of a wheel that belong to the package.

    Args:
        wheel: the archive.

    Returns:
        Their names below `compbo/`. A ValueError if it installs something beside the package.
    """
    names = zipfile.ZipFile(wheel).namelist()
    stray = [name for name in names if not name.startswith("compbo/") and ".dist-info/" not in name]
    if stray:
        raise ValueError(f"{wheel.name} would install {', '.join(stray)} beside the package.")
    return {name.removeprefix("compbo/") for name in names if name.startswith("compbo/")}


def check(wheel: Path) -> None:
    """Install the wheel with the pinned dependencies in an empty environment, and run the demo from a folder elsewhere.

    Args:
        wheel: the archive; a `CalledProcessError` if something does not work.
    """
    with tempfile.TemporaryDirectory() as folder:
        environment = Path(folder) / "environment"
        _run(sys.executable, "-m", "venv", "--without-pip", str(environment), cwd=folder)
        python = str(environment / "bin" / "python")
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python, "install", "--quiet"]
        _run(*pip, "-c", str(CONSTRAINTS), TORCH, cwd=folder)
        _run(*pip, "-c", str(CONSTRAINTS), str(wheel), cwd=folder)
        _run(str(environment / "bin" / "compbo"), "demo", "--evaluations", EVALUATIONS, cwd=folder)
        if not (Path(folder) / "report.html").is_file():
            raise FileNotFoundError("The demo of the wheel wrote no report.html.")


def _run(*command: str, cwd: Path | str) -> None:
    """Run a program that must succeed; Python finds only what is installed, not the sources."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run(command, cwd=cwd, check=True, env=environment)


def main(arguments: list[str]) -> None:
    """Build, and check if that is asked for."""
    sdist, wheel = build(DIST)
    if "--check" in arguments:
        check(wheel)
    for path in (sdist, wheel):
        sys.stdout.write(f"{path.relative_to(ROOT)}  {path.stat().st_size / 1e6:.1f} MB\n")


if __name__ == "__main__":
    main(sys.argv[1:])
