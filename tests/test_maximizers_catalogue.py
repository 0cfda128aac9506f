"""The catalogue as data: names, categories, hyperparameters, tables, and the guide to a new row."""

from __future__ import annotations

import copy
import doctest
import pickle
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import compbo
from compbo.maximizers import (
    CATALOGUE,
    Ascent,
    Entry,
    Traits,
    catalogue_markdown,
    catalogue_rows,
    get_entry,
    make_maximizer,
)
from compbo.maximizers.__main__ import main
from compbo.maximizers.budget import OutOfTime
from compbo.maximizers.catalogue.table import BEGIN, COLUMNS, DOMAINS_BEGIN, END, domains_markdown, renewed
from compbo.maximizers.hyperparameters import positive
from compbo.maximizers.rules.sga import sga
from compbo.maximizers.schedules import constant
from compbo.maximizers.trackers import smoothed
from compbo.space import Bool, Float
from compbo.types import Box, Budget, Status
from maximizer_toys import LogToy, Toy, seeded, starts

ROOT = Path(__file__).parent.parent
RULES = ("SGA", "Adagrad", "RMSprop", "Adam", "Adadelta", "Rprop", "AdamW", "AdamOS")
PAPER = {
    *("RS", "CMA-ES", "DE", "CMA-ES-Comp", "DE-Comp"),
    *(f"{rule}-{form}" for rule in RULES for form in ("ERM", "FSM")),
    *("L-BFGS-B", "CL-BFGS-B"),
    *("SCGA", "ASCGA", "CAdam", "NASA", "Nested-MC", "CAdam-ME", "NASA-ME", "Nested-MC-ME"),
}
EVERY_HYPERPARAMETER = [(name, h) for name, entry in CATALOGUE.items() for h in entry.hyperparameters]


LATER = {"SCSC", "SCSC-Adam", "SOX", "MSVR"}
COLUMNS_OF = {  # order, rule, tracker and samples, typed in from the papers
    "RS": (0, "random", "none", "fixed"),
    **dict.fromkeys(("CMA-ES", "CMA-ES-Comp"), (0, "CMA-ES", "none", "fixed")),
    **dict.fromkeys(("DE", "DE-Comp"), (0, "DE", "none", "fixed")),
    **{f"{rule}-ERM": (1, rule, "none", "fresh") for rule in RULES},
    **{f"{rule}-FSM": (1, rule, "none", "minibatch") for rule in RULES},
    **dict.fromkeys(("L-BFGS-B", "CL-BFGS-B"), (2, "L-BFGS-B", "none", "fixed")),
    "SCGA": (1, "SGA", "smoothed", "minibatch"),
    "ASCGA": (1, "SGA", "extrapolated", "minibatch"),
    "CAdam": (1, "AdamOS", "extrapolated", "minibatch"),
    "CAdam-ME": (1, "AdamOS", "extrapolated", "fresh"),
    "NASA": (1, "averaged", "smoothed", "minibatch"),
    "NASA-ME": (1, "averaged", "smoothed", "fresh"),
    "Nested-MC": (1, "Adam", "none", "minibatch"),
    "Nested-MC-ME": (1, "Adam", "none", "fresh"),
    "SCSC": (1, "SGA", "corrected", "minibatch"),
    "SCSC-Adam": (1, "Adam", "corrected", "minibatch"),
    "SOX": (1, "AdamOS", "selective", "minibatch"),
    "MSVR": (1, "AdamOS", "multiblock", "minibatch"),
}


def test_the_names_are_the_papers_and_some_more():
    assert len(PAPER) == 31
    assert {name for name, entry in CATALOGUE.items() if entry.category != "extended"} == PAPER
    assert {name for name, entry in CATALOGUE.items() if entry.category == "extended"} >= LATER
    assert all(entry.name == name for name, entry in CATALOGUE.items())


def test_columns_are_those_of_the_methods():
    assert set(COLUMNS_OF) == PAPER | LATER
    for name, columns in COLUMNS_OF.items():
        entry = CATALOGUE[name]
        assert (entry.order, entry.rule, entry.tracker, entry.samples) == columns, name


def test_columns_are_read_off_what_is_built():
    """A label cannot be wrong: there is none to give. Another build, another column."""
    cadam = get_entry("CAdam")
    with pytest.raises(TypeError):
        replace(cadam, rule="Adam")
    other = replace(cadam, build=lambda **numbers: Ascent(sga(constant(0.1)), smoothed(constant(0.5))))
    assert (other.rule, other.tracker, other.samples) == ("SGA", "smoothed", "minibatch")
    assert replace(other, form="ME").samples == "fresh"
    memoryless = replace(cadam, form="FSM", build=lambda **numbers: Ascent(sga(constant(0.1))))
    assert (memoryless.tracker, memoryless.category) == ("none", "NonComp")
    for name, entry in CATALOGUE.items():
        climb = entry.build(**entry.defaults)
        if isinstance(climb, Ascent):
            assert (entry.rule, entry.tracker) == (climb.rule.name, climb.tracker.name), name


def test_order_and_category_are_those_of_table_1():
    """Category and order of the paper's Table 1, typed in from there."""
    comp = {
        0: ("CMA-ES-Comp", "DE-Comp"),
        1: ("SCGA", "ASCGA", "CAdam", "NASA", "Nested-MC", "CAdam-ME", "NASA-ME", "Nested-MC-ME"),
        2: ("CL-BFGS-B",),
    }
    noncomp = {
        0: ("RS", "CMA-ES", "DE"),
        1: tuple(f"{rule}-{form}" for rule in RULES for form in ("ERM", "FSM")),
        2: ("L-BFGS-B",),
    }
    for category, orders in (("Comp", comp), ("NonComp", noncomp)):
        for order, names in orders.items():
            for name in names:
                assert (CATALOGUE[name].category, CATALOGUE[name].order) == (category, order)


def test_forms_say_which_samples():
    for name, entry in CATALOGUE.items():
        expected = {"-ERM": "ERM", "-FSM": "FSM", "-ME": "ME"}
        suffix = next((s for s in expected if name.endswith(s)), None)
        if suffix is not None:
            assert entry.form == expected[suffix]
        elif entry.category == "NonComp":
            assert (entry.form, entry.samples) == ("ERM", "fixed")
        else:
            assert entry.form == "Comp"


def test_defaults_set_beforehand():
    for name in ("CAdam", "CAdam-ME"):
        defaults = get_entry(name).defaults
        assert (defaults["lr"], defaults["beta"], defaults["mu"], defaults["C_gamma"]) == (0.03, 0.3, 0.9, 1.0)
        assert (defaults["alpha_d"], defaults["gamma2_d"], defaults["mu_d"]) == (0.2, 0.4, 1.0)
    for name in ("NASA", "NASA-ME"):
        numbers = {h: value for h, value in get_entry(name).defaults.items() if h != "zeta_update"}
        assert numbers == {"a": 1.0, "b": 1.0, "beta": 0.5, "gamma": 0.6}
    assert get_entry("SCGA").defaults["lr_d"] == 3 / 4
    assert get_entry("SCGA").defaults["beta_d"] == 1 / 2
    assert get_entry("ASCGA").defaults["lr_d"] == 5 / 7
    assert get_entry("ASCGA").defaults["beta_d"] == 4 / 7
    assert get_entry("Rprop-ERM").defaults["largest"] == 0.25


def test_an_unknown_name_lists_the_near_ones():
    with pytest.raises(KeyError, match="CAdam-ME"):
        get_entry("cadam_me")
    with pytest.raises(KeyError, match="L-BFGS-B"):
        make_maximizer("LBFGS")
    with pytest.raises(KeyError, match="choose one of RS"):
        get_entry("???")


# Rows of your own. ---------------------------------------------------------------------------------------------------


@pytest.fixture
def catalogue():
    """The catalogue, as it was when the test is over."""
    before = dict(CATALOGUE)
    yield CATALOGUE
    CATALOGUE.clear()
    CATALOGUE.update(before)


def own_entry(**changes) -> Entry:
    def build(*, lr):
        return Ascent(sga(constant(lr)))

    plain = {"name": "Own", "form": "ERM", "hyperparameters": {"lr": positive(0.1, "rate")}, "build": build}
    return Entry(**{**plain, "citation": "nowhere", "after_paper": True, **changes})


def climb_with(maximizer, toy=None):
    return maximizer(toy or Toy(2), starts(4, 2, 2), budget=Budget(30), box=Box.unit(2), generator=seeded())


def test_a_value_works_without_registering():
    maximizer = make_maximizer(own_entry(), lr=0.05)
    assert (maximizer.name, maximizer.form, dict(maximizer.hyperparameters)) == ("Own", "ERM", {"lr": 0.05})
    assert (climb_with(maximizer).best_value > climb_with(maximizer).start_value).all()
    assert "Own" not in CATALOGUE
    with pytest.raises(TypeError):
        maximizer.hyperparameters["lr"] = 1.0
    with pytest.raises(ValueError, match=r"^Own: lr must be in \(0, inf\), got -1\.$"):
        make_maximizer(own_entry(), lr=-1)


def test_the_examples_of_the_docstrings_are_true():
    from compbo.maximizers import catalogue as module

    result = doctest.testmod(module)
    assert (result.failed, result.attempted > 0) == (0, True)


def test_a_maximizer_with_other_hyperparameters_is_another_value():
    first = make_maximizer("CAdam-ME", lr=0.05)
    assert make_maximizer(first) == first == make_maximizer("CAdam-ME", lr=0.05)
    second = make_maximizer(first, beta=0.5)
    assert (second.hyperparameters["lr"], second.hyperparameters["beta"]) == (0.05, 0.5)
    assert first.hyperparameters["beta"] == 0.3
    assert first != second


def test_a_registered_row_is_known_everywhere(catalogue):
    entry = compbo.register(own_entry())
    assert catalogue["Own"] is entry is get_entry("Own")
    assert "| Own | 1 | own | SGA | none | ERM | fresh | lr 0.1 |" in catalogue_markdown()
    optimizer = compbo.Optimizer({"x": Float(0, 1)}, maximizer="Own", hyperparameters={"lr": 0.2}, initial_points=2)
    for _ in range(3):
        (point,) = optimizer.ask()
        optimizer.tell(point, (point["x"] - 0.3) ** 2)
    assert optimizer.telemetry[-1].maximizer == "Own"


def test_what_cannot_be_registered_is_refused(catalogue):
    for thing in ("Own", None, make_maximizer("RS")):
        with pytest.raises(ValueError, match=r"^register: an Entry of maximizers, a function .* is wanted, got "):
            compbo.register(thing)
    with pytest.raises(
        ValueError, match=r"^register: there is a maximizer called 'RS' already; choose another name\.$"
    ):
        compbo.register(own_entry(name="RS"))
    assert catalogue["RS"].rule == "random"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": " "}, "Entry: name must be a text that is not empty, got ' '"),
        ({"name": 3}, "Entry: name must be a text that is not empty, got 3"),
        ({"form": "MC"}, "Own: form must be one of ERM, FSM, Comp, ME, got 'MC'"),
        ({"hyperparameters": {}}, "Own: build must take the hyperparameters (none) by name and return a climb"),
        ({"hyperparameters": {"rate": positive(0.1, "rate")}}, "Own: build must take the hyperparameters (rate)"),
        ({"build": lambda *, lr: lr}, "Own: build must take the hyperparameters (lr) by name and return a climb"),
        ({"build": lambda *, lr: Own(lr)}, "Own: what build makes needs `traits`, a compbo.maximizers.Traits"),
        (
            {"build": lambda *, lr: Ascent(sga(constant(lr)), smoothed(constant(0.5)))},
            "Own: a tracker that remembers needs the form Comp or ME, got ERM",
        ),
    ],
)
def test_an_entry_that_cannot_work_is_refused_where_it_is_made(changes, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        own_entry(**changes)


class Own:
    """A climb of another kind, as the guide describes it: one uniform batch, then out."""

    def __init__(self, traits=None):
        self.traits = traits or Traits(order=0, rule="own")

    def __call__(self, task, restarts):
        task.oracle.start(task.generator)
        inner = task.oracle.inner(restarts.x, task.oracle.fixed_draw(), gradient_rows=0)
        restarts.arrive(restarts.x, task.oracle.outer(inner.v), restarts.broken(inner))
        restarts.info.start_value = restarts.info.value
        restarts.advance()
        raise OutOfTime


def test_a_climb_of_another_kind_gets_the_frame():
    """The clock, the best so far and the trace are not its business."""
    maximizer = make_maximizer(own_entry(hyperparameters={}, build=Own))
    toy = Toy(2, breaks=lambda x: torch.arange(len(x)) == 1)
    trace = climb_with(maximizer, toy)
    assert trace.status == (Status.TIME, Status.FAILED, Status.TIME, Status.TIME)
    assert trace.steps == 1
    assert torch.equal(trace.best, starts(4, 2, 2))
    assert maximizer.entry.samples == "fixed"


def test_a_default_must_be_in_its_range():
    with pytest.raises(ValueError, match=r"Hyperparameter: default must be in \(0, inf\), got 0\.0"):
        positive(0.0, "rate")


def test_an_unknown_hyperparameter_is_named_with_the_known_ones():
    with pytest.raises(ValueError, match=r"Adam-ERM has no hyperparameter 'momentum'; it has: lr, beta1"):
        make_maximizer("Adam-ERM", momentum=0.5)
    with pytest.raises(ValueError, match=r"RS has no hyperparameter 'lr'; it has: none"):
        make_maximizer("RS", lr=0.5)


@pytest.mark.parametrize(("name", "h"), EVERY_HYPERPARAMETER)
def test_out_of_range_is_named_with_the_range(name, h):
    hyperparameter = get_entry(name).hyperparameters[h]
    wrong = ["x", None, float("nan")] if hyperparameter.is_switch else ["x", "", None, float("nan"), -1.0, True]
    for value in (*wrong, *((2,) if hyperparameter.is_switch else ())):
        with pytest.raises(ValueError, match=re.escape(f"{name}: {h} must be ")) as caught:
            make_maximizer(name, **{h: value})
        assert hyperparameter.range in str(caught.value)


@pytest.mark.parametrize(("name", "h"), EVERY_HYPERPARAMETER)
def test_every_hyperparameter_does_something(name, h):
    """No accepted-and-ignored argument: another value gives another run (where its neighbours let it)."""
    entry = get_entry(name)
    hyperparameter = entry.hyperparameters[h]
    helpers = {"dampening": {"momentum": 0.9}, "nesterov": {"momentum": 0.9}}.get(h, {})
    if hyperparameter.is_switch:
        other = not hyperparameter.default
    elif hyperparameter.choices:
        other = hyperparameter.choices[-1]
    elif hyperparameter.is_whole:
        other = 1
    else:
        other = {"eps": 0.5, "ftol": 1e-2, "gtol": 0.3, "largest": 0.011, "eta_plus": 2.5}.get(h)
        if other is None:
            other = 0.5 * hyperparameter.default if hyperparameter.default else 0.2
    helpers |= {"lr": 0.01} if h == "largest" else {}

    def run(**given):
        toy = LogToy(2, pool=40 if entry.form in ("Comp", "FSM") else None)
        settings = {**helpers, **given}
        return make_maximizer(name, **settings)(
            toy, starts(6, 2, 2), budget=Budget(15), box=Box.unit(2), generator=seeded()
        )

    assert not torch.equal(run().final, run(**{h: other}).final)


@pytest.mark.parametrize("name", CATALOGUE)
def test_ends_of_the_tuning_domain_are_allowed_and_run(name):
    """Every corner that has all parameters at the same end, and the defaults."""
    entry = get_entry(name)
    for end in (0, 1):
        corner = {}
        for h, parameter in entry.domain.items():
            if isinstance(parameter, Bool):
                corner[h] = bool(end)
            else:
                assert isinstance(parameter, Float)
                corner[h] = (parameter.low, parameter.high)[end]
        toy = Toy(2, pool=12 if entry.form in ("Comp", "FSM") else None)
        trace = make_maximizer(name, **corner)(
            toy, starts(6, 2, 2), budget=Budget(5), box=Box.unit(2), generator=seeded()
        )
        assert torch.isfinite(trace.final).all()


DOMAINS = {  # the paper's two tables, with the corrections of their slips
    "Adam": {"lr": (1e-5, 0.3, "log"), "beta1": (0.05, 0.999, "linear"), "beta2": (0.9, 1 - 1e-6, "log")},
    "AdamW": {"lr": (1e-5, 0.3, "log"), "beta1": (0.05, 0.999, "linear"), "beta2": (0.9, 1 - 1e-6, "log")},
    "Adadelta": {"lr": (1e-5, 0.3, "log"), "rho": (0.0, 0.999, "linear")},
    "Adagrad": {"lr": (1e-5, 0.3, "log"), "lr_decay": (1e-7, 10.0, "log"), "delta": (1e-8, 0.3, "log")},
    "SGA": {"lr": (1e-5, 0.3, "log"), "momentum": (0.0, 1.0, "linear"), "dampening": (0.0, 1.0, "linear")},
    "Rprop": {"lr": (1e-5, 0.3, "log"), "eta_minus": (0.0, 1.0, "linear"), "eta_plus": (1.0, 3.0, "linear")},
    "RMSprop": {"lr": (1e-5, 0.3, "log"), "momentum": (0.0, 1.0, "linear"), "alpha": (1e-6, 0.3, "log")},
    "AdamOS": {
        "lr": (1e-5, 1.0, "log"),
        "mu": (0.1, 0.999, "log"),
        "C_gamma": (0.5, 1.0, "linear"),
        "alpha_d": (0.02, 0.5, "linear"),
        "mu_d": (0.8, 1.2, "linear"),
        "gamma2_d": (0.2, 0.8, "linear"),
    },
    "NASA": {
        "a": (0.1, 10.0, "linear"),
        "b": (0.1, 10.0, "linear"),
        "beta": (0.1, 10.0, "linear"),
        "gamma": (0.5, 1.0, "linear"),
    },
    "SCGA": {
        "lr": (1e-4, 1.0, "log"),
        "lr_d": (0.4, 0.95, "linear"),
        "beta": (0.1, 0.999, "log"),
        "beta_d": (0.2, 0.8, "linear"),
    },
    "ASCGA": {
        "lr": (1e-4, 1.0, "log"),
        "lr_d": (0.4, 0.95, "linear"),
        "beta": (0.1, 0.999, "log"),
        "beta_d": (0.25, 0.85, "linear"),
    },
}
SCHEDULED = ("Adam", "AdamW", "Adadelta", "SGA", "Rprop", "RMSprop")
DECAYED = ("Adam", "AdamW", "Adadelta", "Adagrad", "SGA", "RMSprop")
SWITCHES = {"SGA": {"nesterov"}, "RMSprop": {"centering"}}


@pytest.mark.parametrize("rule", DOMAINS)
def test_the_papers_domains_are_those_of_its_tables(rule):
    expected = dict(DOMAINS[rule])
    expected |= {"lr_drop": (1e-7, 0.3, "log")} if rule in SCHEDULED else {}
    expected |= {"weight_decay": (1e-8, 0.1, "log")} if rule in DECAYED else {}
    for name in [rule] if rule in CATALOGUE else [f"{rule}-ERM", f"{rule}-FSM"]:
        domain = get_entry(name).paper_domain
        switches = {h for h, parameter in domain.items() if isinstance(parameter, Bool)}
        assert switches == SWITCHES.get(rule, set())
        numbers = {h: (p.low, p.high, str(p.scale)) for h, p in domain.items() if isinstance(p, Float)}
        assert numbers == expected
    if rule == "AdamOS":
        cadam = get_entry("CAdam").paper_domain
        assert (cadam["beta"].low, cadam["beta"].high) == (0.001, 0.999)
        assert {h: (p.low, p.high, str(p.scale)) for h, p in cadam.items() if h != "beta"} == expected


WIDER = {"Adadelta": {"lr"}, "RMSprop": {"alpha"}, "SGA": {"momentum"}, "SCGA": {"lr"}, "ASCGA": {"lr"}}


@pytest.mark.parametrize("name", sorted(PAPER))
def test_a_tuning_domain_is_the_papers_unless_a_default_needs_a_wider_one(name):
    entry = get_entry(name)
    other = {h for h, parameter in entry.domain.items() if parameter != entry.paper_domain[h]}
    assert other == WIDER.get(name.removesuffix("-ERM").removesuffix("-FSM"), set())
    assert entry.domain.keys() == entry.paper_domain.keys()
    for h in other - {"momentum"}:
        mine, paper = entry.domain[h], entry.paper_domain[h]
        assert (mine.low, mine.high > paper.high) == (paper.low, True)


def test_the_paper_tuned_nothing_that_came_after_it():
    for name in LATER:
        assert get_entry(name).domain
        assert not get_entry(name).paper_domain


TUNED_NUMBERS = [(n, h) for n, h in EVERY_HYPERPARAMETER if isinstance(get_entry(n).domain.get(h), Float)]


@pytest.mark.parametrize(("name", "h"), TUNED_NUMBERS)
def test_every_default_lies_in_its_domain(name, h):
    """Or is 0, "off", where the lower end of a logarithmic domain is as good: the same run on a smooth hill."""
    entry = get_entry(name)
    default, domain = entry.defaults[h], entry.domain[h]
    if domain.low <= default <= domain.high:
        return
    assert (default, domain.scale) == (0, "log")

    def run(**given):
        toy = Toy(1, pool=40 if entry.form in ("Comp", "FSM") else None)
        return make_maximizer(name, **given)(
            toy, starts(6, 1, 2), budget=Budget(40), box=Box.unit(2), generator=seeded()
        )

    assert (run().final - run(**{h: domain.low}).final).abs().max() < 1e-5


@given(st.sampled_from(list(CATALOGUE)))
def test_maximizers_travel_to_other_processes(name):
    assert pickle.loads(pickle.dumps(make_maximizer(name))).name == name


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_row_cannot_be_changed_in_place_and_copies_are_equal(name):
    entry = get_entry(name)
    with pytest.raises(TypeError):
        entry.hyperparameters["lr"] = None
    for made in (pickle.loads(pickle.dumps(entry)), copy.copy(entry), copy.deepcopy(entry), replace(entry)):
        assert replace(made, build=entry.build) == entry  # two partial functions are never equal
        assert list(made.hyperparameters.items()) == list(entry.hyperparameters.items())
        with pytest.raises(TypeError):
            made.hyperparameters["lr"] = None


@pytest.mark.parametrize("form", ["ERM", "FSM"])
def test_values_that_do_not_go_together_are_refused(form):
    with pytest.raises(ValueError, match=rf"^SGA-{form}: nesterov=True needs momentum > 0, got momentum 0\.$"):
        make_maximizer(f"SGA-{form}", nesterov=True, momentum=0.0)
    make_maximizer(f"SGA-{form}", nesterov=True)
    make_maximizer(f"SGA-{form}", momentum=0.0)
    with pytest.raises(ValueError, match="nesterov"):
        compbo.Optimizer({"x": Float(0, 1)}, maximizer=f"SGA-{form}", hyperparameters={"nesterov": True, "momentum": 0})


@given(st.sampled_from(list(CATALOGUE)), st.data())
def test_every_point_of_a_tuning_domain_is_accepted(name, data):
    """Whatever a tuner proposes: ends, switches and all between."""
    domain = get_entry(name).domain
    point = {
        h: data.draw(st.booleans() if isinstance(p, Bool) else st.sampled_from([p.low, p.high, (p.low + p.high) / 2]))
        for h, p in domain.items()
    }
    make_maximizer(name, **point)


# Tables and the guide. --------------------------------------------------------------------------------------------


def test_rows_hold_every_entry():
    rows = catalogue_rows()
    assert [row["name"] for row in rows] == list(CATALOGUE)
    assert all(tuple(row) == COLUMNS for row in rows)
    assert "lr 0.03" in next(row["defaults"] for row in rows if row["name"] == "CAdam")


def test_the_page_shows_the_catalogue_as_it_is():
    page = (ROOT / "docs" / "catalogue.md").read_text()
    assert renewed(page) == page, "run: python -m compbo.maximizers --write docs/catalogue.md"
    assert all(f"\n| {name} | " in page for name in CATALOGUE)


def test_the_page_shows_both_domains():
    page = (ROOT / "docs" / "catalogue.md").read_text()
    assert domains_markdown() in page
    for row in (
        "| RMSprop-ERM, RMSprop-FSM | alpha | 0.99 | 1e-06 to 0.999, logit | 1e-06 to 0.3, log |",
        "| Adadelta-ERM, Adadelta-FSM | lr | 10 | 1e-05 to 30, log | 1e-05 to 0.3, log |",
        "| SCGA | lr | 1 | 0.0001 to 10, log | 0.0001 to 1, log |",
        "| SCSC | lr | 3 | 0.001 to 10, log |  |",
        "| SGA-ERM, SGA-FSM | nesterov | false | false, true | false, true |",
    ):
        assert row in page


def test_the_updater(tmp_path, capsys):
    document = tmp_path / "page.md"
    document.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    assert main([str(document)]) == 1
    assert "does not show" in capsys.readouterr().err
    assert main(["--write", str(document)]) == 0
    assert main([str(document)]) == 0
    assert document.read_text() == f"before\n{BEGIN}\n{catalogue_markdown()}\n{END}\nafter\n"
    for broken in ("no table here", BEGIN, f"{END} {BEGIN}", f"{BEGIN}{END}{DOMAINS_BEGIN}"):
        with pytest.raises(ValueError, match="markers"):
            renewed(broken)


def test_the_guide_works_as_written(catalogue):
    """Run the code of docs/add_a_maximizer.md, then hold its row to the protocol."""
    text = (ROOT / "docs" / "add_a_maximizer.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    before = set(catalogue)
    exec("\n".join(blocks), {"__name__": "guide"})
    (added,) = set(catalogue) - before
    trace = climb_with(make_maximizer(added))
    assert (trace.best_value > trace.start_value).all()
    assert added in catalogue_markdown()
