"""Runs by hand: ask, tell, import, status, forget, retry, as typed; files as spreadsheets and people write them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import compbo
from compbo.cli import app
from compbo.storage import load_optimizer, load_records

COMPBO = [sys.executable, "-c", "from compbo.cli import main; main()"]
SPACE = """
batch = "B 7"

[celsius]
type = "float"
low = 20
high = 90
step = 0.5

["mass [mg]"]
type = "float"
low = 0.1
high = 100
scale = "log"

[base]
type = "categorical"
choices = ["NaOH", "none"]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A laboratory's folder, with the current directory in it."""
    monkeypatch.chdir(tmp_path)
    Path("space.toml").write_text(SPACE)
    return tmp_path


def run(*words: str, code: int = 0) -> Any:
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == code, done.output
    return done


def begin(*words: str, points: int = 3) -> Any:
    return run("ask", "run.db", "--space", "space.toml", "-n", str(points), *words)


def sheet(name: str, text: str | bytes) -> str:
    Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return name


def told(path: str = "run.db") -> dict[int | None, tuple[float | None, str]]:
    return {e.number: (e.value, e.message) for e in load_optimizer(path).evaluations}


# -- ask --------------------------------------------------------------------------------------------------------------


def test_ask_begins_a_run_and_writes_a_sheet(folder: Path) -> None:
    asked = begin("-o", "next.csv", "--maximize", "--seed", "3")
    header, *rows = Path("next.csv").read_text().splitlines()
    assert header == ("number,batch,celsius,mass [mg],base,value,failed,comment,predicted mean,predicted deviation")
    pending = load_optimizer("run.db").pending
    assert [row.split(",")[:5] for row in rows] == [
        [str(p.number), "B 7", str(p["celsius"]), str(p["mass [mg]"]), p["base"]] for p in pending
    ]
    assert [p.number for p in pending] == [0, 1, 2]
    assert "verdict  initial design (3 points of the sobol design)" in asked.stdout
    assert "mass [mg]" in asked.stdout
    settings = load_optimizer("run.db").settings
    assert (settings.direction, settings.seed) == ("maximize", 3)


def test_two_asks_are_what_the_library_would_suggest(folder: Path) -> None:
    begin(points=3)
    run("ask", "run.db", "-n", "2")
    assert load_optimizer("run.db").settings.batch_size == 3  # of the first ask
    optimizer = compbo.Optimizer(load_optimizer("run.db").space, batch_size=3)
    points = [*optimizer.ask(3), *optimizer.ask(2)]
    assert load_optimizer("run.db").pending == points


def test_from_a_model_come_mean_and_deviation(folder: Path) -> None:
    begin(points=8)
    run("tell", "run.db", sheet("all.csv", "number,value\n" + "".join(f"{n},{n / 2}\n" for n in range(8))))
    asked = run("ask", "run.db", "-n", "2", "-o", "next.jsonl")
    assert "predicted mean" in asked.stdout
    optimizer = load_optimizer("run.db")
    assert optimizer.telemetry[-1].verdict in asked.stdout
    rows = [json.loads(line) for line in Path("next.jsonl").read_text().splitlines()]
    x = optimizer.space.to_unit(optimizer.pending)
    mean, deviation = optimizer.model().predict(x)
    for row, m, d in zip(rows, mean.tolist(), deviation.tolist(), strict=True):
        assert row["predicted mean"] == pytest.approx(-m, rel=1e-5)  # minimised: the model sees it upside down
        assert row["predicted deviation"] == pytest.approx(d, rel=1e-5)
        assert (row["value"], row["failed"], row["comment"]) == (None, None, None)


BAD_INPUT = [
    ("ask new.db", "--space is missing: new.db is a new run"),
    ("ask run.db --seed 5", "--seed (stored 0, given 5)"),
    ("ask run.db --maximize", "direction"),
    ("ask run.db --maximizer SCGA", "--maximizer (stored 'CAdam', given 'SCGA')"),
    ("ask run.db --outputs log", "--outputs (stored 'evidence', given 'log')"),
    ("ask run.db --acquisition ei", "--acquisition (stored 'portfolio', given 'ei')"),
    ("ask run.db --space other.toml", "the parameters (stored batch, celsius"),
    ("ask run.db -o next.xls", "must end in .csv or .jsonl"),
    ("ask run.db -o space.toml", "must end in .csv or .jsonl"),
    ("ask run.db -o there.csv", "is there already, and may be filled in"),
    ("ask run.db --excel", "--excel says how to write --output"),
    ("ask run.db --study-name other", "--space is missing"),
    ("tell run.db nowhere.csv", "nowhere.csv: there is no such file"),
    ("tell new.db there.csv", "new.db: there is no such file"),
    ("status new.db", "new.db: there is no such file"),
    ("forget run.db", "Give the numbers of pending points, or --all"),
    ("forget run.db 0 --all", "Give the numbers of pending points, or --all"),
    ("forget run.db 9", "trial 9 was never asked for"),
    ("retry run.db 0", "trial 0 has not failed: it is pending"),
    ("retry run.db 9", "trial 9 has not failed: it was never asked for"),
]


def test_bad_input_is_a_line_and_changes_nothing(folder: Path) -> None:
    begin()
    Path("other.toml").write_text("[x]\ntype = 'bool'\n")
    Path("there.csv").write_text("number,value\n0,1\n")
    before = load_records("run.db")
    for words, message in BAD_INPUT:
        said = run(*words.split(), code=2)
        assert said.stderr.startswith("Error: ")
        assert message in " ".join(said.stderr.split()), words
        assert said.stdout == ""
    assert load_records("run.db") == before
    assert not Path("new.db").exists()


# -- tell -------------------------------------------------------------------------------------------------------------


def test_told_by_number_what_failed_and_what_was_set_differently(folder: Path) -> None:
    begin(points=5)
    first = load_optimizer("run.db").pending
    text = "number,celsius,value,failed,comment\n0,,1.5,,\n2,61.486,2.5,,warm\n3,,,x,spilled\n1,,FAILED,,\n4,,,,later\n"
    said = run("tell", "run.db", sheet("results.csv", text))
    assert said.stdout.splitlines() == [
        "trial 0: 1.5",
        f"trial 2: 2.5  (celsius 61.486, not {first[2]['celsius']}; warm)",
        "trial 3: failed  (spilled)",
        "trial 1: failed",
    ]
    assert "4 results taken from results.csv." in said.stderr
    assert "Without a value, and left out: line 6." in said.stderr
    assert told() == {0: (1.5, ""), 1: (None, "no value"), 2: (2.5, "warm"), 3: (None, "spilled")}
    optimizer = load_optimizer("run.db")
    assert [p.number for p in optimizer.pending] == [4]
    used = next(e for e in optimizer.evaluations if e.number == 2)
    assert used.params == {**first[2], "celsius": 61.486}
    assert used.suggested == first[2]
    unit = optimizer.space.to_unit([used.params])
    assert unit.tolist()[0] in optimizer.history.observations(optimizer.space, "minimize").x.tolist()


def test_a_point_that_was_set_differently_is_not_suggested_again(folder: Path) -> None:
    begin(points=2)
    first = load_optimizer("run.db").pending
    run("tell", "run.db", sheet("results.csv", "number,celsius,value\n0,30.25,1\n1,40.25,2\n"))
    run("tell", "run.db", sheet("results.csv", "number,value\n1,3\n"), "--replace")
    run("ask", "run.db", "-n", "4")
    assert not [point for point in load_optimizer("run.db").pending if dict(point) in [dict(p) for p in first]]


def test_told_by_parameters_up_to_the_digits_written(folder: Path) -> None:
    begin(points=3)
    point = load_optimizer("run.db").pending[1]
    row = f"{point['celsius']},{point['mass [mg]']:.3g},{point['base']},7\n"
    run("tell", "run.db", sheet("results.csv", f"celsius,mass [mg],base,value\n{row}"))
    assert told() == {1: (7.0, "")}
    again = run("tell", "run.db", "results.csv")
    assert "Known already, and not taken again: line 2." in again.stderr
    other = sheet("other.csv", f"celsius,mass [mg],base,value\n{row.replace('7', '8')}20,3,none,1\n")
    said = run("tell", "run.db", other, code=2)
    assert "line 3: no pending point has these parameters (compbo import takes" in said.stderr
    said = run("tell", "run.db", sheet("part.csv", "celsius,value\n20,1\n"), code=2)
    assert "line 2: without a number, all parameters are needed: mass [mg], base is missing" in said.stderr


def test_a_spreadsheet_that_drops_digits_has_changed_nothing(folder: Path) -> None:
    begin(points=2)
    first = load_optimizer("run.db").pending
    masses = [f"{point['mass [mg]']:.6g}".replace(".", ",") for point in first]
    rows = "".join(f"{n};{mass};{n}\n" for n, mass in enumerate(masses))
    said = run("tell", "run.db", sheet("results.csv", "number;mass [mg];value\n" + rows))
    assert "not" not in said.stdout
    assert [e.params for e in load_optimizer("run.db").evaluations] == [dict(point) for point in first]


def test_all_or_nothing_and_every_complaint(folder: Path) -> None:
    begin(points=4)
    run("tell", "run.db", sheet("one.csv", "number,value\n3,5\n"))
    text = (
        "number,celsius,base,value,failed,operator\n"
        "0,,,1.0,,Ann\n0,,,2.0,,Ann\n1,95,,1,,\n2,,KOH,1e,maybe,\n2,,,1,yes,\n3,,,6,,\n17,,,1,,\n-1,,,1,,\n"
    )
    said = run("tell", "run.db", sheet("results.csv", text), code=2)
    assert said.stderr.splitlines() == [
        "Error: results.csv: nothing was taken, because 9 things are wrong in it:",
        "  line 3: trial 0 is told twice, in line 2 too",
        "  line 4: celsius: 95.0 is outside [20.0, 90.0]",
        "  line 5: base: 'KOH' is not one of 'NaOH', 'none'",
        "  line 5: failed: 'maybe' is neither yes nor no (write true or false)",
        "  line 5: value: '1e' is not a number",
        "  line 6: it has a value and is marked as failed; delete one of them",
        "  line 7: trial 3 was told already, with the value 5.0",
        "  line 8: trial 17 was never asked for",
        "  line 9: number: '-1' is not the number of a trial",
        "--replace corrects what was told before.",
    ]
    assert told() == {3: (5.0, "")}


def test_a_misspelt_column_is_refused_and_others_are_named(folder: Path) -> None:
    begin()
    said = run("tell", "run.db", sheet("a.csv", "number,vlaue\n0,3\n"), code=2)
    assert 'column "vlaue" is not known: did you mean value?' in said.stderr
    assert 'there is no column "value"; there are number, vlaue' in said.stderr
    assert "--value names the column" in said.stderr
    said = run("tell", "run.db", sheet("b.csv", "number,yield [%],operator [1]\n0,3,Ann\n"), "--value", "yield [%]")
    assert "Note: nobody reads 1 column (operator [1])." in said.stderr
    assert told() == {0: (3.0, "")}


def test_correct_what_was_told(folder: Path) -> None:
    begin(points=2)
    run("tell", "run.db", sheet("a.csv", "number,celsius,value\n0,30.25,1\n1,,2\n"))
    said = run("tell", "run.db", sheet("b.csv", "number,value\n0,7\n"), "--replace")
    assert "The result of trial 0 is corrected: it is trial 2 from now on." in said.stderr
    assert told() == {1: (2.0, ""), 2: (7.0, "")}
    assert load_records("run.db")[-1].params["celsius"] == 30.25
    run("tell", "run.db", sheet("c.csv", "number,value,comment\n0,failed,a leak\n"), "--replace")  # by its old number
    assert told() == {1: (2.0, ""), 3: (None, "a leak")}
    assert "Known already" in run("tell", "run.db", "c.csv").stderr


# -- spreadsheets -----------------------------------------------------------------------------------------------------

GERMAN = (
    "number;celsius;base;value;failed;comment\r\n0;61,5;NaOH;1,5;;grün\r\n1;;;2;FALSCH;\r\n2;;;;WAHR;trüb\r\n;;;;;\r\n"
)


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf" + GERMAN.encode(),  # "CSV UTF-8" of Excel
        GERMAN.encode("cp1252"),  # "CSV" of Excel on Windows
        GERMAN.replace(";", "\t").encode("utf-16"),  # "Unicode text" of Excel
        b"\xef\xbb\xbfsep=;\r\n" + GERMAN.encode(),
        GERMAN.replace("\r\n", "\n").replace("0;61,5", '"0";"61,5"').encode(),  # LibreOffice, all text quoted
        GERMAN.replace(";", "|").replace(",", ".").replace("|", ",").encode(),  # an English one
        GERMAN.replace("\r\n", ";;\r\n").encode(),  # with columns that were once used
    ],
    ids=["utf-8", "windows", "utf-16", "sep", "quoted", "english", "empty columns"],
)
def test_a_sheet_as_a_spreadsheet_saves_it(data: bytes, folder: Path) -> None:
    begin()
    first = load_optimizer("run.db").pending
    run("tell", "run.db", sheet("results.csv", data))
    assert told() == {0: (1.5, "grün"), 1: (2.0, ""), 2: (None, "trüb")}
    assert load_records("run.db")[0].params == {**first[0], "celsius": 61.5, "base": "NaOH"}


def test_a_sheet_for_excel_comes_back(folder: Path) -> None:
    begin("-o", "next.csv", "--excel")
    data = Path("next.csv").read_bytes()
    assert data.startswith(b"\xef\xbb\xbfnumber;batch;celsius;mass [mg];base;value;")
    assert b"\r\n" in data
    filled = data.decode("utf-8-sig").replace(";;;;", ";3,25;;;", 3)
    run("tell", "run.db", sheet("filled.csv", filled))
    assert told() == dict.fromkeys(range(3), (3.25, ""))
    assert all(record.suggested is None for record in load_records("run.db"))


UNREADABLE = [
    ("", "there is nothing in it"),
    ("\n\n", "there is nothing in it"),
    ("number,number\n0,1\n", 'line 1: there are two columns "number"'),
    ("number,,value\n0,1,2\n", "line 1: column 2 has no name"),
    ("number,value\n0,1,2\n", "line 2: it has more cells than the header"),
    ('number,value\n0,"1\n', "line 2: unexpected end of data"),
    ("number;value\n0;1.234\n1;0,5\n", "line 2: value: '1.234' may be a thousand times more"),
    ("number;value\n0;1.234,5\n", "line 2: value: '1.234,5' has two kinds of separators"),
    ('number,value\n0,"1,5"\n', "line 2: value: '1,5' is not a number (with commas between the cells"),
    ("number,value\n0,1e400\n", "line 2: value: '1e400' is not finite; write failed where there is no value"),
    ("number,value\n0,-inf\n", "line 2: value: '-inf' is not finite; write failed where there is no value"),
]


def test_what_cannot_be_read_for_sure_is_refused(folder: Path) -> None:
    begin()
    for text, message in UNREADABLE:
        assert message in run("tell", "run.db", sheet("results.csv", text), code=2).stderr
    assert told() == {}


def test_json_lines(folder: Path) -> None:
    begin("-o", "next.jsonl")
    rows = [json.loads(line) for line in Path("next.jsonl").read_text().splitlines()]
    rows[0] |= {"value": 3}
    rows[1] |= {"failed": True, "comment": "no"}
    run("tell", "run.db", sheet("results.jsonl", "".join(json.dumps(row) + "\n" for row in rows)))
    assert told() == {0: (3.0, ""), 1: (None, "no")}
    for text, message in (("{\n", "line 1 is not JSON"), ("3\n", "line 1 is not an object"), ("\n", "nothing in it")):
        assert message in run("tell", "run.db", sheet("bad.jsonl", text), code=2).stderr


# -- import -----------------------------------------------------------------------------------------------------------

OLD = "celsius,mass [mg],base,value,comment\n61.486,20,NaOH,1.5,old\n45,1.5,none,failed,\n30,2,none,4,\n30,2,none,4,\n"


def test_import_begins_a_run_takes_all_and_nothing_twice(folder: Path) -> None:
    sheet("old.csv", OLD)
    assert "4 results taken" in run("import", "run.db", "old.csv", "--space", "space.toml", "--maximize").stderr
    four = {0: (1.5, "old"), 1: (None, "no value"), 2: (4.0, ""), 3: (4.0, "")}
    assert told() == four
    assert load_optimizer("run.db").settings.direction == "maximize"
    assert load_records("run.db")[0].params == {"batch": "B 7", "celsius": 61.486, "mass [mg]": 20.0, "base": "NaOH"}
    assert "Known already, and not taken again: lines 2, 3, 4, 5." in run("import", "run.db", "old.csv").stderr
    sheet("more.csv", OLD + "31,2,none,5,\n")
    run("import", "run.db", "more.csv")
    assert told() == {**four, 4: (5.0, "")}
    run("ask", "run.db")
    assert [p.number for p in load_optimizer("run.db").pending] == [5]


def test_a_wrong_import_takes_nothing(folder: Path) -> None:
    sheet("old.csv", "celsius,base,value\n30,none,1\n")
    said = run("import", "run.db", "old.csv", "--space", "space.toml", code=2)
    assert 'line 2: Parameter "mass [mg]"' in said.stderr
    assert not Path("run.db").exists()


@pytest.mark.parametrize("name", ["run.csv", "run.json"])
def test_what_is_exported_can_be_imported(name: str, folder: Path) -> None:
    begin(points=3)
    run("tell", "run.db", sheet("a.csv", "number,celsius,value,comment\n0,30.25,1,x\n1,,failed,y\n"))
    run("export", "run.db", "-o", name)
    run("import", "copy.db", name, "--space", "space.toml")
    assert told("copy.db") == {0: (1.0, "x"), 1: (None, "y")}
    assert [r.params for r in load_records("copy.db")] == [r.params for r in load_records("run.db")[:2]]


# -- status, forget, retry --------------------------------------------------------------------------------------------


def test_status_shows_everything(folder: Path) -> None:
    begin(points=4)
    run("tell", "run.db", sheet("a.csv", "number,value,comment\n0,2.5,\n1,1.5,\n2,failed,a [bad] leak\n"))
    shown = " ".join(run("status", "run.db", "-o", "open.csv").stdout.split())
    assert "direction minimize" in shown
    assert "3 told, 1 of them failed; 1 pending" in shown
    assert "best value 1.5 (trial 1)" in shown
    assert "failed trial 2: a [bad] leak" in shown
    assert "1 pending point:" in shown
    assert Path("open.csv").read_text().splitlines()[1].startswith("3,")
    data = json.loads(run("status", "run.db", "--json").stdout)
    assert (data["evaluations"], data["failed"], data["best"]["number"], data["pending"][0]["number"]) == (3, 1, 1, 3)
    assert data["failures"] == [{"number": 2, "message": "a [bad] leak", "traceback": ""}]


def test_forget_and_retry(folder: Path) -> None:
    begin(points=3)
    first = load_optimizer("run.db").pending
    assert "2 points forgotten: 0, 2." in run("forget", "run.db", "0", "2").stderr
    assert "trial 0 was forgotten" in run("tell", "run.db", sheet("a.csv", "number,value\n0,1\n"), code=2).stderr
    run("tell", "run.db", sheet("b.csv", "number,value\n1,failed\n"))
    assert "1 point pending again" in run("retry", "run.db").stderr
    assert [(p.number, dict(p)) for p in load_optimizer("run.db").pending] == [(3, dict(first[1]))]
    said = run("tell", "run.db", sheet("c.csv", "number,value\n1,5\n"), code=2)
    assert "trial 1 failed, and is asked for again as trial 3: tell it under that number" in said.stderr
    assert "trial 1 was replaced already, by trial 3" in run("retry", "run.db", "1", code=2).stderr
    run("tell", "run.db", sheet("d.csv", "number,value\n3,5\n"))
    assert told() == {3: (5.0, "")}
    assert "Nothing has failed." in run("retry", "run.db").stderr
    assert "Nothing is pending." in run("forget", "run.db", "--all").stderr


# -- processes --------------------------------------------------------------------------------------------------------


def succeed(*commands: list[str]) -> None:
    """All at once, and every one of them ends well."""
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    running = [subprocess.Popen([*COMPBO, *command], **pipes) for command in commands]
    said = [process.communicate(timeout=500)[0] for process in running]
    assert [process.returncode for process in running] == [0] * len(commands), said


@pytest.mark.long
def test_processes_that_ask_and_tell_at_the_same_time_wait_for_each_other(folder: Path) -> None:
    """Three begin one run at once; then two ask while two others tell."""
    ask = ["ask", "run.db", "--space", "space.toml", "-n", "2"]
    succeed(ask, ask, ask)
    pending = load_optimizer("run.db").pending
    assert [p.number for p in pending] == sorted({p.number for p in pending})
    assert len({json.dumps(point) for point in pending}) == 6  # nobody has another one's points
    numbers = [p.number for p in pending]
    left, right = numbers[:3], numbers[3:]
    sheet("left.csv", "number,value\n" + "".join(f"{n},{n}\n" for n in left))
    sheet("right.csv", "number,value\n" + "".join(f"{n},{n}\n" for n in right))
    succeed(["tell", "run.db", "left.csv"], ask, ["tell", "run.db", "right.csv"], ask)
    optimizer = load_optimizer("run.db")
    assert {e.number: e.value for e in optimizer.evaluations} == {n: float(n or 0) for n in numbers}
    assert len({json.dumps(point) for point in optimizer.pending}) == 4


def test_a_run_that_is_being_optimised_is_refused_and_goes_on_after_retry(folder: Path) -> None:
    Path("objective.py").write_text("def f(p):\n    raise OSError('no stirrer')\n")
    words = ["optimize", "objective.py:f", "--space", "space.toml", "-n", "6", "--storage", "run.db"]
    stopped = subprocess.run([*COMPBO, *words], capture_output=True, text=True, check=False)
    assert stopped.returncode == 1
    assert "failed with the same error" in stopped.stderr
    shown = run("status", "run.db")
    assert 'objective.py", line 2, in f' in shown.stderr
    failed = sum(record.state == "FAIL" for record in load_records("run.db"))
    assert f"{failed} points pending again" in run("retry", "run.db").stderr
    Path("objective.py").write_text(
        "import pathlib, subprocess\n"
        "def f(p):\n"
        "    if pathlib.Path('refused').exists():\n"
        "        return p['celsius']\n"
        f"    told = subprocess.run({[*COMPBO, 'forget', 'run.db', '--all']!r}, capture_output=True, text=True)\n"
        "    assert told.returncode == 1 and 'is in use by process' in told.stderr, told.stderr\n"
        "    pathlib.Path('refused').touch()\n"
        "    return p['celsius']\n"
    )
    subprocess.run([*COMPBO, *words, "--max-failures", "0"], check=True, capture_output=True)
    assert Path("refused").exists()
    assert [record.state for record in load_records("run.db")] == ["COMPLETE"] * 6


# -- errors -----------------------------------------------------------------------------------------------------------


def test_a_column_of_errors_is_taken_corrected_and_exported(folder: Path) -> None:
    begin()
    said = run("tell", "run.db", sheet("a.csv", "number;value;error\n0;1,5;0,25\n1;2,5;\n2;failed;0,1\n"))
    assert "trial 0: 1.5 +- 0.25" in said.stdout
    assert {r.number: r.error for r in load_records("run.db") if r.state != "RUNNING"} == {0: 0.25, 1: None, 2: None}
    assert "Known already" in run("tell", "run.db", sheet("b.csv", "number,value\n0,1.5\n")).stderr
    run("tell", "run.db", sheet("c.csv", "number,value,error\n0,1.5,0.5\n"), "--replace")
    assert sorted(r.error for r in load_records("run.db") if r.value == 1.5) == [0.5]
    said = run("tell", "run.db", sheet("d.csv", "number,value,error\n3,1.5,-1\n"), code=2)
    assert "line 2: error: -1.0 is not the error of a value: give a standard deviation >= 0" in said.stderr
    run("export", "run.db", "-o", "all.csv")
    run("import", "other.db", "all.csv", "--space", "space.toml")
    assert sorted(r.error for r in load_records("other.db") if r.value == 1.5) == [0.5]
