"""The examples run as they stand, in a folder of their own, and show what their pages promise."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from compbo.storage import load_records

EXAMPLES = Path(__file__).parents[1] / "examples"
SCRIPTS = sorted(path.name for path in EXAMPLES.glob("*.py") if path.name != "train.py")
COMMANDS = re.findall(r"```sh\n(.*?)```", (EXAMPLES / "README.md").read_text(), re.DOTALL)


def printed(name: str, folder: Path) -> str:
    """What an example prints."""
    done = subprocess.run([sys.executable, str(EXAMPLES / name)], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_is_tested_here_and_on_the_page() -> None:
    tested = {"ask_tell.py", "asynchronous.py", "minimize.py", "many_dimensions.py", "noisy_simulator.py"}
    assert tested | {"optuna_study.py", "tune_model.py"} == set(SCRIPTS)
    page = (EXAMPLES / "README.md").read_text()
    assert [path.name for path in EXAMPLES.iterdir() if path.is_file() and f"`{path.name}`" not in page] == [
        "README.md"
    ]


@pytest.mark.parametrize("name", ["minimize.py", "ask_tell.py", "asynchronous.py"])
def test_the_short_ones(name: str, tmp_path: Path) -> None:
    assert printed(name, tmp_path)


def test_the_second_call_of_minimize_evaluates_nothing(tmp_path: Path) -> None:
    assert printed("minimize.py", tmp_path) == printed("minimize.py", tmp_path)
    assert len(load_records(str(tmp_path / "minimize.db"))) == 32


@pytest.mark.long
def test_a_tuned_model_is_better_than_its_defaults(tmp_path: Path) -> None:
    default, tuned = (
        float(line.split()[2 - i]) for i, line in enumerate(printed("tune_model.py", tmp_path).splitlines())
    )
    assert tuned < default
    assert (tmp_path / "tune_model.html").is_file()


def test_the_model_of_a_noisy_simulator_is_nearer_to_the_truth_than_luck(tmp_path: Path) -> None:
    shown = printed("noisy_simulator.py", tmp_path)
    assert int(re.findall(r"^FAIL +(\d+)", shown, re.MULTILINE)[0]) > 0
    lines = re.findall(r"seen ([\d.]+), model ([\d.]+) .*true ([\d.]+)", shown)
    (lucky, _, true), (_, model, true_of_best) = [[float(number) for number in line] for line in lines]
    assert lucky < true
    assert abs(model - true_of_best) < 0.5 * (true - lucky)
    assert (tmp_path / "noisy_simulator.html").is_file()


def test_an_optuna_study_says_how_to_open_it(tmp_path: Path) -> None:
    shown = printed("optuna_study.py", tmp_path)
    assert "optuna-dashboard" in shown
    assert shown.count("trial ") == 3
    assert (tmp_path / "optuna_study.db").is_file()


def test_many_dimensions_beat_random_search(tmp_path: Path) -> None:
    found = re.findall(r"best +([\d.]+), random search +([\d.]+)", printed("many_dimensions.py", tmp_path))
    assert len(found) == 5
    assert float(found[-1][0]) < 0.7 * float(found[-1][1])


@pytest.mark.parametrize("command", COMMANDS, ids=["program", "function"])
def test_the_commands_of_the_page(command: str, tmp_path: Path) -> None:
    for name in ("train.py", "space.toml"):
        (tmp_path / name).write_text((EXAMPLES / name).read_text())
    words = shlex.split(
        command.replace("\\\n", " ").replace("python train.py", f"{shlex.quote(sys.executable)} train.py")
    )
    assert words[0] == "compbo"
    words[words.index("-n") + 1] = "8"
    program = [sys.executable, "-c", "from compbo.cli import main; main()", *words[1:]]
    done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "best value" in done.stdout
