"""The command line, as a user types it."""

from __future__ import annotations

import contextlib
import csv
import os
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
import typer
from typer.testing import CliRunner

import compbo
from compbo.cli import app
from compbo.cli.app import default_output
from compbo.cli.objective import load_objective
from compbo.cli.program import Program
from compbo.console import interrupts_end_at_once
from compbo.evaluation import Outcome, evaluate
from compbo.records import TIMES
from compbo.storage import load_optimizer, load_records
from study_helpers import wait_for

COMPBO = [sys.executable, "-c", "from compbo.cli import main; main()"]
PYTHON = shlex.quote(sys.executable)

SPACE = """
[lr]
type = "float"
low = 1e-5
high = 1e-1
scale = "log"

[depth]
type = "int"
low = 1
high = 15
"""

OBJECTIVE = """
import math
import beside

def train(p):
    if p["depth"] > 12:
        raise RuntimeError("too deep")
    return beside.OFFSET + (math.log10(p["lr"]) + 3) ** 2 + (p["depth"] - 6) ** 2 / 10

def always_fails(p):
    raise OSError("no disk")

def sleeps(p):
    import time
    time.sleep(600)

not_a_function = 3
"""

PROGRAM = """
import sys
lr, depth = float(sys.argv[1]), int(sys.argv[2])
print("starting", 17)
print(depth + lr)
print("done")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder, with the current directory in it."""
    monkeypatch.chdir(tmp_path)
    Path("space.toml").write_text(SPACE)
    Path("objective.py").write_text(OBJECTIVE)
    Path("beside.py").write_text("OFFSET = 1.0\n")
    Path("program.py").write_text(PROGRAM)
    monkeypatch.delitem(sys.modules, "beside", raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


def optimize(*arguments: str) -> Any:
    return run("optimize", *arguments)


TRAIN = ("objective.py:train", "--space", "space.toml")


# -- help -------------------------------------------------------------------------------------------------------------


def test_help_and_version() -> None:
    help_text = run("--help").output
    by_hand = ("ask", "tell", "import", "status", "forget", "retry")
    for command in ("demo", "optimize", "report", "export", "catalogue", *by_hand):
        assert re.search(rf"\b{command}\b", help_text)
        shown = run(command, "--help")
        assert shown.exit_code == 0
        assert "Exit codes: 0 success" in shown.output
    assert run("--version").output.strip() == f"compbo {compbo.__version__}"
    for nothing in (run(), run("study")):  # no command: the help
        assert nothing.exit_code == 2
        assert "Commands" in nothing.output


def test_help_is_quick() -> None:
    code = "import sys, compbo.cli; print([m for m in ('torch', 'optuna', 'pandas', 'botorch') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "[]\n"


def test_catalogue() -> None:
    lines = run("catalogue").output.splitlines()
    assert lines[0].split() == ["name", "order", "category", "rule", "tracker", "form", "defaults"]
    assert [line.split()[0] for line in lines[1:]] == list(compbo.CATALOGUE)  # one line each
    for line, entry in zip(lines[1:], compbo.CATALOGUE.values(), strict=True):
        assert all(f"{name} " in line for name in entry.defaults)
    assert run("catalogue", "--markdown").output.startswith("| name |")


# -- optimize, report, export -----------------------------------------------------------------------------------------


def test_from_the_first_command_to_the_table(folder: Path) -> None:
    """In processes of their own, with workers, as in the README."""
    command = "optimize objective.py:train --space space.toml --evaluations 8 --batch 4 --workers 2 --seed 0"
    words = [*shlex.split(command), "--storage", "sqlite:///run.db", "--report", "run.html"]
    done = subprocess.run([*COMPBO, *words], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "best value" in done.stdout
    assert "Report: run.html" in done.stderr
    assert "too deep" in done.stderr
    assert Path("run.html").read_text().lstrip().startswith("<!")

    assert run("export", "run.db", "-o", "run.csv").exit_code == 0
    with open("run.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [*("number", "state", "value", "lr", "depth"), "message", *TIMES]
    failed = [row for row in rows if row["state"] == "FAIL"]
    assert failed
    for row in failed:
        assert row["message"] == "RuntimeError: too deep"
        assert row["traceback"].startswith('Traceback (most recent call last):\n  File "')
        assert 'objective.py", line 7, in train\n    raise RuntimeError("too deep")' in row["traceback"]
        assert "compbo" not in row["traceback"].replace(str(folder), "")  # the user's own frames only
    assert all(float(row["seconds"]) >= 0 and row["asked"] <= row["ended"] for row in rows)
    assert [row["number"] for row in rows] == [str(i) for i in range(8)]
    best = min(float(row["value"]) for row in rows if row["state"] == "COMPLETE")
    assert f"{best!r}" in done.stdout
    assert run("export", "sqlite:///run.db").exit_code == 0  # a URL; the name of the file by default
    assert Path("run.csv").is_file()

    assert run("report", "run.db", "-o", "again.html").exit_code == 0
    assert "too deep" in Path("again.html").read_text()


def test_the_same_command_resumes_and_gives_the_same_points(folder: Path) -> None:
    short = optimize(*TRAIN, "-n", "4", "--batch", "2", "--storage", "run.log")
    assert short.exit_code == 0, short.output
    assert optimize(*TRAIN, "-n", "6", "--batch", "2", "--storage", "run.log").exit_code == 0
    assert optimize(*TRAIN, "-n", "6", "--batch", "2", "--storage", "whole.log").exit_code == 0
    assert load_records("run.log") == load_records("whole.log")


def test_options_reach_the_run(folder: Path) -> None:
    words = ["--maximize", "--acquisition", "ei", "--maximizer", "Adam-ERM", "--noise", "0.1", "--seed", "7"]
    assert optimize(*TRAIN, "-n", "2", *words, "--storage", "run.log", "--study-name", "mine").exit_code == 0
    settings = load_optimizer("run.log", "mine").settings
    assert (settings.direction, settings.noise, settings.seed) == ("maximize", 0.1, 7)
    assert settings.maximizer.name == "Adam-ERM"
    assert settings.acquisition.name == "ei"


def test_a_module_can_be_named(folder: Path) -> None:
    assert optimize("objective:train", "--space", "space.toml", "-n", "1").exit_code == 0


def test_the_space_of_the_documentation(folder: Path) -> None:
    """docs/cli.md, as a function and as a program sees it: the plain key is a constant."""
    page = (Path(__file__).parents[1] / "docs" / "cli.md").read_text()
    (toml,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    Path("space.toml").write_text(toml)
    Path("sees.py").write_text('def f(p):\n    return p["epochs"] + p["lr"] + p["depth"]\n')
    assert optimize("sees.py:f", "--space", "space.toml", "-n", "2", "--storage", "run.log").exit_code == 0
    command = f"{PYTHON} -c 'import sys; print(sys.argv[1])' {{epochs}} {{lr}} {{depth}}"
    done = optimize("--command", command, "--space", "space.toml", "-n", "2", "--storage", "program.log")
    assert done.exit_code == 0
    assert done.stderr == ""
    assert [list(record.params) for record in load_records("run.log")] == [["epochs", "lr", "depth"]] * 2
    assert all(record.params["epochs"] == 10 for record in load_records("run.log"))
    assert [record.value for record in load_records("program.log")] == [10.0, 10.0]


# -- a program --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("extra", [[], ["--workers", "2"], ["--workers", "2", "--async"]])
def test_a_program_is_evaluated(extra: list[str], folder: Path) -> None:
    command = f"{PYTHON} program.py {{lr}} {{depth}}"
    done = optimize("--command", command, "--space", "space.toml", "-n", "4", "--storage", "run.log", *extra)
    assert done.exit_code == 0, done.output
    records = load_records("run.log")
    assert [r.value for r in records] == [r.params["depth"] + r.params["lr"] for r in records]  # floats are exact


def outcome(template: str, timeout: float | None = None, **params: Any) -> Any:
    return evaluate(Program(template, ["a", "b"], timeout), {"a": 1, "b": 2, **params})


def test_values_never_reach_a_shell_and_never_become_two_arguments(tmp_path: Path) -> None:
    show = f"{PYTHON} -c 'import sys; print(len(sys.argv)); print(sys.argv[1] == \"{{{{x}}}} $(touch owned); rm *\")'"
    code = "import sys; assert sys.argv[1:] == ['{x} $(id); a b', '-q=2'], sys.argv; print(5)"
    template = f"{PYTHON} -c {shlex.quote(code.replace('{', '{{').replace('}', '}}'))} {{a}} -q={{b}}"
    assert outcome(template, a="{x} $(id); a b").value == 5.0
    assert Program(show + " {a}", ["a"]).arguments({"a": "x y"})[-1] == "x y"


@pytest.mark.parametrize(
    ("code", "value", "message"),
    [
        ("print(1); print('2.5'); print('end')", 2.5, ""),
        ("print('-1e-3 ')", -1e-3, ""),
        ("print('nan')", None, "returned nan"),
        ("print('loss: 3')", None, "printed no line that is a number"),
        (
            "import sys; print(1); print('first', file=sys.stderr); sys.exit('the reason')",
            None,
            "exit code 1: the reason",
        ),
        ("import os; os.kill(os.getpid(), 9)", None, "killed by signal 9"),
    ],
)
def test_what_a_program_says(code: str, value: float | None, message: str) -> None:
    assert outcome(f"{PYTHON} -c {shlex.quote(code)} {{a}}") == Outcome(value, message)


def test_any_name_of_a_parameter_can_stand_in_a_command() -> None:
    names = ["model.lr", "0", "a[b]", "x y"]
    command = Program("echo {model.lr} {0}{{}} '' '{a[b]}={x y}'", names)
    assert command.arguments(dict(zip(names, [0.5, 1, "{0}", True], strict=True))) == [
        "echo",
        "0.5",
        "1{}",
        "",
        "{0}=True",
    ]
    assert command.unused == []


@pytest.mark.parametrize("then", ["time.sleep(600)", "print(1)"])  # the second leaves its child alone with the pipe
def test_a_program_that_takes_too_long_is_ended_with_its_children(then: str, tmp_path: Path) -> None:
    marker = tmp_path / "pid"
    code = (
        "import subprocess, sys, time, pathlib; "
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']); "
        f"pathlib.Path({str(marker)!r}).write_text(str(child.pid)); {then}"
    )
    result = outcome(f"{PYTHON} -c {shlex.quote(code)} {{a}}", timeout=3.0)
    assert result == Outcome(None, "stopped: not finished after 3 s")
    wait_for(lambda: not _alive(int(marker.read_text())), "the child to be gone")


def _alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize(
    ("template", "match"),
    [
        ("program {lx}", r"\{lx\} is not a parameter of the space, which has a, b"),
        ("", "empty"),
        ("echo 1", "no placeholder"),
        ("echo {b}", r"no placeholder of a parameter that varies: use for instance \{a\}"),
        ("echo {a:.3f}", "format"),
        ("echo {}", "empty"),
        ("echo '{a}", "cannot be read"),
        ("echo {a", "cannot be read"),
        ("no-such-program-here {a}", "there is no program"),
    ],
)
def test_a_wrong_command_is_refused_before_it_runs(template: str, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        Program(template, ["a", "b"], constants=["b"])


# -- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code", "match"),
    [
        ("objective.py:train -n 3", 2, "--space is missing"),
        ("objective.py:train --space space.toml", 2, "--evaluations is missing"),
        ("--space space.toml -n 3", 2, "either a function"),
        ("objective.py:train --command 'x {lr}' --space space.toml -n 3", 2, "either a function"),
        ("objective.py --space space.toml -n 3", 2, "file.py:function"),
        ("nothere.py:train --space space.toml -n 3", 2, "no such file"),
        ("objective.py:nothere --space space.toml -n 3", 2, "no function 'nothere'"),
        ("objective.py:not_a_function --space space.toml -n 3", 2, "not a function"),
        ("no_such_module:f --space space.toml -n 3", 2, "cannot be imported"),
        ("objective.py:train --space nothere.toml -n 3", 2, "no such file"),
        ("objective.py:train --space objective.py -n 3", 2, "not valid TOML"),
        ("objective.py:train --space dir -n 3", 2, "dir is a folder"),
        ("objective.py:train --space binary.toml -n 3", 2, "binary.toml is not a text file"),
        (
            "objective.py:train --space list.toml -n 3",
            2,
            r"\"lr\": \[1, 2\] is neither a table with a type nor a constant",
        ),
        ("objective.py:train --space space.toml -n 0", 2, "'--evaluations' / '-n'"),
        ("objective.py:train --space space.toml -n abc", 2, "'--evaluations' / '-n'.*compbo optimize --help"),
        ("objective.py:train --space space.toml -n 3.5", 2, "'--evaluations' / '-n'"),
        ("objective.py:train --space space.toml -n", 2, "-n"),
        ("objective.py:train --space space.toml -n 3 --workers 0", 2, "'--workers'"),
        ("objective.py:train --space space.toml -n 3 --batch 0", 2, "'--batch'"),
        ("objective.py:train --space space.toml -n 3 --max-failures -1", 2, "'--max-failures'"),
        ("objective.py:train --space space.toml -n 3 --seed -1", 2, "'--seed'"),
        ("objective.py:train --space space.toml -n 3 --wrokers 2", 2, "--workers"),
        ("objective.py:train another --space space.toml -n 3", 2, "another"),
        ("objective.py:train --space space.toml -n 3 --timeout 0", 2, "--timeout must be"),
        ("--command 'echo {lr}' --space space.toml -n 3 --timeout nan", 2, "--timeout must be"),
        ("objective.py:train --space space.toml -n 3 --noise -1", 2, "--noise must be"),
        ("objective.py:train --space space.toml -n 3 --study-name ''", 2, "--study-name is empty"),
        ("objective.py:train --space space.toml -n 3 --storage ''", 2, "storage is empty"),
        ("objective.py:train --space space.toml -n 3 --storage foreign.db", 2, "another program"),
        ("objective.py:train --space space.toml -n 3 --storage run.log --seed 1", 2, "--seed .*another --study-name"),
        ("objective.py:train --space space.toml -n 3 --storage run.log --batch 2", 2, "--batch .*another --study-name"),
        (
            "objective.py:train --space space.toml -n 3 --storage run.log --acquisition ei",
            2,
            "--acquisition .stored 'portfolio'",
        ),
        ("objective.py:train --space space.toml -n 3 --storage run.log --maximize", 2, "another --study-name"),
        ("objective.py:train --space space.toml -n 3 --maximizer Cadam", 2, "--maximizer: .*CAdam"),
        ("objective.py:train --space space.toml -n 3 --acquisition best", 2, "--acquisition 'best' is unknown.*ucb"),
        ("objective.py:train --space space.toml -n 3 --async", 2, "--async needs --workers"),
        ("objective.py:train --space space.toml -n 3 --async --workers 2 --batch 4", 2, "leave --batch 4 out"),
        ("--command 'echo {lr}' --space space.toml -n 3 --async --workers 2 --batch 4", 2, "leave --batch 4 out"),
        ("objective.py:train --space space.toml -n 3 --report no/folder/x.html", 2, "does not exist"),
        ("objective.py:train --space space.toml -n 3 --storage what://x", 2, "what://x"),
        ("--command 'echo {nothere}' --space space.toml -n 3", 2, "{nothere} is not a parameter"),
    ],
)
def test_bad_input_is_one_readable_line_and_changes_nothing(words: str, code: int, match: str, folder: Path) -> None:
    prepare_mistakes(words)
    before = contents(folder)
    done = optimize(*shlex.split(words))
    assert done.exit_code == code, done.output
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""
    assert re.search(match, done.stderr)
    assert not PYTHON_NAMES.search(done.stderr)
    assert contents(folder) == before


PYTHON_NAMES = re.compile(r"Traceback|study_name|batch_size|max_failures|asynchronous|from_toml|Float|UCB\(|workers=")


def prepare_mistakes(words: str) -> None:
    """Files that are something else, and if it is named, a run that is there."""
    Path("dir").mkdir()
    Path("binary.toml").write_bytes(b"\xff\xfe")
    Path("list.toml").write_text("lr = [1, 2]\n")
    with contextlib.closing(sqlite3.connect("foreign.db")) as connection:
        connection.execute("CREATE TABLE people (name TEXT)")
        connection.commit()
    if "run.log" in words:
        assert optimize(*TRAIN, "-n", "1", "--storage", "run.log").exit_code == 0


def contents(folder: Path) -> dict[str, bytes]:
    """Every file but Python's own."""
    return {
        str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.mark.parametrize(
    ("words", "match"),
    [
        ("objective.py:always_fails --space space.toml -n 3", "Error: Every evaluation failed; .*: OSError: no disk"),
        (
            "objective.py:always_fails --space space.toml -n 9 --max-failures 0",
            "Error: 1 evaluation failed, more than --max-failures 0; .*no disk. 1 of 9 evaluations is saved in",
        ),
        (
            "objective.py:always_fails --space space.toml -n 9 --max-failures 1",
            "Error: 2 evaluations failed, more than --max-failures 1; .*no disk. 2 of 9 evaluations are saved in",
        ),
    ],
)
def test_a_run_that_failed_says_so_once(words: str, match: str, folder: Path) -> None:
    done = optimize(*shlex.split(words))
    assert done.exit_code == 1, done.output
    assert re.search(match, done.stderr)
    assert not PYTHON_NAMES.search(done.stderr)
    assert len(re.findall("Every evaluation", done.output)) <= 1


@pytest.mark.parametrize(
    ("words", "match"),
    [
        ("export nothere.db", "no such file"),
        ("export space.toml", "neither an SQLite database"),
        ("report nothere.db", "no such file"),
        ("export run.log -o run.xls", r"\.csv, \.json, \.parquet"),
        ("export run.log -o .", "run|must end|folder"),
        ("report run.log -o no/folder.html", "does not exist"),
        ("export run.log --study-name other", 'no run called "other"'),
        ("report two.log", "choose one with --study-name"),
        ("report foreign.db", "another program"),
        ("report empty.db", "no run in this storage"),
        ("report", "'RUN'.*compbo report --help"),
        ("report run.log another", "another"),
        ("demo --evaluations 3", "'--evaluations'.*16"),
        ("demo --evaluations many", "'--evaluations'"),
        ("demo -o no/folder.html", "does not exist"),
        ("demo -o .", "folder"),
        ("catalogue --md", "--md"),
        ("optimise", "optimize.*compbo --help"),
        ("--nothing", "--nothing"),
        ("study nothing", "nothing"),
    ],
)
def test_errors_of_the_other_commands(words: str, match: str, folder: Path) -> None:
    prepare_mistakes(words)
    Path("empty.db").touch()
    for name in ("one", "two") if "two.log" in words else ():
        compbo.minimize(len, {"x": compbo.Float(0, 1)}, evaluations=1, storage="two.log", study_name=name)
    before = contents(folder)
    done = run(*shlex.split(words))
    assert (done.exit_code, len(done.stderr.splitlines()), done.stdout) == (2, 1, "")
    assert re.search(match, done.stderr)
    assert not PYTHON_NAMES.search(done.stderr)
    assert contents(folder) == before


def test_a_wrong_option_is_refused_before_the_module_is_loaded(folder: Path) -> None:
    Path("loaded.py").write_text("open('loaded', 'w').close()\ndef f(p): return 1.0\n")
    for words in (["--maximizer", "Cadam"], ["--acquisition", "best"], ["--noise", "-1"], ["--timeout", "0"]):
        assert optimize("loaded.py:f", "--space", "space.toml", "-n", "1", *words).exit_code == 2
    assert not Path("loaded").exists()


def test_debug_shows_the_trace(folder: Path) -> None:
    Path("broken.py").write_text("import no_such_module_at_all\n")
    quiet = optimize("broken.py:f", "--space", "space.toml", "-n", "1")
    assert quiet.exit_code == 2
    assert "ModuleNotFoundError: No module named 'no_such_module_at_all'" in quiet.stderr
    loud = optimize("broken.py:f", "--space", "space.toml", "-n", "1", "--debug")
    assert isinstance(loud.exception, ValueError)
    assert loud.exception.__cause__ is not None


def test_a_function_that_takes_too_long_is_stopped(folder: Path) -> None:
    done = optimize("objective.py:sleeps", "--space", "space.toml", "-n", "1", "--timeout", "0.5")
    assert done.exit_code == 1
    assert "not finished after 0.5 s" in done.stderr


def test_default_output() -> None:
    beside = {
        "run.db": "run.csv",
        "a/run.db": "a/run.csv",
        "sqlite:///x/y.db": "x/y.csv",
        "sqlite:////x/y.db?timeout=3": "/x/y.csv",
        "sqlite+pysqlite:///y.db": "y.csv",
        "postgresql://u@h/name": "name.csv",
        "postgresql://u@h/": "run.csv",
    }
    assert {run: str(default_output(run, ".csv")) for run in beside} == beside


def test_report_and_export_write_beside_the_run(folder: Path) -> None:
    (folder / "sub").mkdir()
    assert optimize(*TRAIN, "-n", "2", "--storage", "sub/run.db").exit_code == 0
    for command, name in (("report", "run.html"), ("export", "run.csv")):
        assert f"sub/{name}" in run(command, "sub/run.db").output
        assert (folder / "sub" / name).is_file()
        assert not (folder / name).exists()


OWN_PARTS = """
from dataclasses import dataclass
import compbo

def shake(oracle, x0, *, budget, box, generator):
    return x0
shake.form = "ERM"
compbo.register(shake)

@compbo.register
@dataclass(frozen=True)
class Squared(compbo.UCB):
    name = "squared"
"""


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("compbo fo", ["forget"]),
        ("compbo study st", ["status"]),
        ("compbo ask --sp", ["--space"]),
        ("compbo optimize --acquisition l", ["logei"]),
        ("compbo ask --maximizer CAdam-", ["CAdam-ME"]),
        ("compbo optimize --acquisition ei,lo", ["ei,logei"]),
        ("compbo optimize --plugin own.py --acquisition sq", ["squared"]),
        ("compbo ask --plugin own.py --maximizer sh", ["shake"]),
        ("compbo ask --plugin broken.py --maximizer SCG", ["SCGA"]),
    ],
)
def test_the_tab_key_completes(words: str, offered: list[str], folder: Path) -> None:
    Path("own.py").write_text(OWN_PARTS)
    Path("broken.py").write_text("raise OSError\n")
    asked = {"_COMPBO_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    named = [sys.executable, "-c", "import sys; sys.argv[0] = 'compbo'; from compbo.cli import main; main()"]
    done = subprocess.run(named, env={**os.environ, **asked}, capture_output=True, text=True)
    assert (done.stdout.split(), done.stderr) == (offered, "")


def test_a_run_with_parts_of_a_plugin_says_how_to_load_it(folder: Path) -> None:
    Path("own.py").write_text(OWN_PARTS)
    named = [sys.executable, "-c", "from compbo.cli import main; main()"]
    begin = ["ask", "own.db", "--space", "space.toml", "--maximizer", "shake", "--plugin", "own.py"]
    assert subprocess.run([*named, *begin], capture_output=True).returncode == 0
    for command in ("status", "report"):
        done = subprocess.run([*named, command, "own.db"], capture_output=True, text=True)
        assert (done.returncode, "--plugin own.py" in done.stderr) == (2, True), done.stderr


def test_the_catalogue_says_what_is_the_users(folder: Path) -> None:
    Path("own.py").write_text(OWN_PARTS)
    named = [sys.executable, "-c", "from compbo.cli import main; main()"]
    shown = subprocess.run([*named, "catalogue", "--plugin", "own.py"], capture_output=True, text=True).stdout
    (row,) = [line.split() for line in shown.splitlines() if line.startswith("shake")]
    assert row[:3] == ["shake", "1", "own"]


def test_the_completion_of_a_shell_can_be_installed() -> None:
    named = [sys.executable, "-c", "import sys; sys.argv[0] = 'compbo'; from compbo.cli import main; main()"]
    environment = {**os.environ, "_COMPBO_COMPLETE": "source_bash"}
    shown = subprocess.run(named, env=environment, capture_output=True, text=True)
    assert (shown.returncode, "complete -o default -F _compbo_completion compbo" in shown.stdout) == (0, True)


def test_no_help_shows_the_type_of_a_switch() -> None:
    group = typer.main.get_command(app)
    study = group.commands["study"]  # type: ignore[attr-defined]
    named = [[], *([name] for name in group.commands), *(["study", name] for name in study.commands)]  # type: ignore[attr-defined]
    assert len(named) > 15
    for words in named:
        shown = run(*words, "--help").output
        assert "--help" in shown
        assert "bool" not in shown, words


def test_an_objective_pickles(folder: Path) -> None:
    import pickle

    objective = pickle.loads(pickle.dumps(load_objective("objective.py:train")))
    assert objective({"lr": 1e-3, "depth": 6}) == 1.0


# -- Ctrl-C -----------------------------------------------------------------------------------------------------------

WAITS = """
import os, pathlib, signal, sys, time
def f(p):
    done = pathlib.Path("done")
    count = len(done.read_text()) if done.exists() else 0
    if count == 3 and not pathlib.Path("again").exists():
        os.kill(os.getpid(), signal.{signal})   # what the terminal or the scheduler does
        time.sleep(600)
    done.write_text("x" * (count + 1))
    return p["depth"]
"""


@pytest.mark.parametrize(("name", "storage"), [("SIGINT", None), ("SIGTERM", "run.db")])
def test_an_interrupted_run_is_saved_and_says_how_to_resume(name: str, storage: str | None, folder: Path) -> None:
    Path("waits.py").write_text(WAITS.replace("{signal}", name))
    words = ["optimize", "waits.py:f", "--space", "space.toml", "-n", "5", *(["--storage", storage] if storage else [])]
    stopped = subprocess.run([*COMPBO, *words], capture_output=True, text=True, check=False, timeout=300)
    assert stopped.returncode == 130, stopped.stderr
    assert "Traceback" not in stopped.stderr
    message, resume = stopped.stderr.strip().splitlines()[-2:]
    place = storage or "compbo-run.db"
    assert message == f"Interrupted. 3 of 5 evaluations are saved in {place}. Resume with:"
    assert [r.state for r in load_records(place)] == ["COMPLETE"] * 3 + ["RUNNING"]
    Path("again").touch()
    done = run(*shlex.split(resume)[1:])
    assert done.exit_code == 0, done.output
    assert len(load_records(place)) == 5
    assert {r.state for r in load_records(place)} == {"COMPLETE"}


@pytest.mark.parametrize(("limit", "reason"), [("--target=12", "target reached"), ("--time-limit=1e-9", "time limit")])
def test_a_stop_is_said_and_the_same_command_goes_on(limit: str, reason: str, folder: Path) -> None:
    words = ["optimize", "objective.py:train", "--space", "space.toml", "-n", "5", "--storage", "run.db"]
    stopped = run(*words, limit)
    assert stopped.exit_code == 0, stopped.output
    assert f"stopped      {reason}" in stopped.stdout
    assert len(load_records("run.db")) < 5
    done = run(*words)
    assert "evaluations used up" in done.stdout
    assert [r.state == "RUNNING" for r in load_records("run.db")] == [False] * 5


def test_imports_respect_ignored_signals_and_handlers_of_the_user() -> None:
    def own(_number: int, _frame: object) -> None:
        pass

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # as under nohup
        with interrupts_end_at_once():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) is not before[signal.SIGTERM]
        assert signal.getsignal(signal.SIGTERM) is before[signal.SIGTERM]
        with interrupts_end_at_once():
            signal.signal(signal.SIGTERM, own)
        assert signal.getsignal(signal.SIGTERM) is own
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_an_interrupt_that_python_drops_during_an_import_is_not_lost(name: str, folder: Path) -> None:
    Path("early.py").write_text(
        "import os, signal, weakref\n"
        "class Lock: pass\n"
        "lock = Lock()\n"
        f"r = weakref.ref(lock, lambda _: [os.kill(os.getpid(), signal.{name}), *range(9)])\n"  # as importlib has them
        "del lock\n"
        "def f(p): return 1.0\n"
    )
    words = ["optimize", "early.py:f", "--space", "space.toml", "-n", "2", "--storage", "run.db"]
    stopped = subprocess.run([*COMPBO, *words], capture_output=True, text=True, check=False, timeout=300)
    assert (stopped.returncode, stopped.stdout, stopped.stderr) == (130, "", "Interrupted.\n")
    assert not Path("run.db").exists()


def test_ctrl_c_ends_the_programs_that_run(folder: Path) -> None:
    Path("slow.py").write_text("import os, time\nopen(f'pid{os.getpid()}', 'w').close()\ntime.sleep(600)\n")
    words = ["optimize", "--command", f"{PYTHON} slow.py {{depth}} {{lr}}", "--space", "space.toml", "-n", "4"]
    words += ["--workers", "2"]
    process = subprocess.Popen([*COMPBO, *words], stderr=subprocess.PIPE, text=True, start_new_session=True)
    while len(list(folder.glob("pid*"))) < 2 and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, shown = process.communicate(timeout=120)
    assert process.returncode == 130
    assert shown.strip() == "Interrupted. Nothing was evaluated yet."
    for path in folder.glob("pid*"):
        stat = Path(f"/proc/{path.name[3:]}/stat")
        assert not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"


# -- demo -------------------------------------------------------------------------------------------------------------


def test_demo(folder: Path) -> None:
    done = run("demo", "--evaluations", "24", "--report", "page.html")
    assert done.exit_code == 0, done.output
    assert "random search" in done.stdout
    assert "best point" in done.stdout
    assert Path("page.html").stat().st_size > 10_000
    again = run("demo", "--evaluations", "24", "--report", "page.html")
    assert again.stdout == done.stdout


def test_the_function_of_the_demo_has_its_minimum_where_it_says() -> None:
    import torch
    from botorch.test_functions import Levy

    from compbo.cli.demo import ShiftedLevy

    levy = ShiftedLevy.seeded(3, 5)
    names = levy.space.names
    reference = Levy(dim=5, bounds=[(-30.0, 30.0)] * 5, dtype=torch.float64)
    assert levy(dict(zip(names, levy.optimum, strict=True))) < 1e-25
    shift = torch.tensor(levy.optimum, dtype=torch.float64) - 1.0
    for point in levy.space.sample(5, torch.Generator().manual_seed(0)):
        x = torch.tensor(list(point.values()), dtype=torch.float64) - shift
        assert levy(point) == pytest.approx(float(reference(x)), rel=1e-12)
