"""The folder for OptunaHub's registry: complete, and loadable with OptunaHub's own loader."""

from __future__ import annotations

import ast
from pathlib import Path

import optuna
import pytest

PACKAGE = Path(__file__).parents[1] / "optunahub" / "package" / "samplers" / "compbo"


def test_it_loads_and_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPTUNAHUB_NO_ANALYTICS", "1")
    optunahub = pytest.importorskip("optunahub")
    module = optunahub.load_local_module("samplers/compbo", registry_root=str(PACKAGE.parents[1]))
    sampler = module.CompBOSampler(seed=0, n_startup_trials=2, raw_batches=8, restarts=2, steps=2, minibatch=8)
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=4)
    assert len(module.telemetry(study)) == 3


def test_the_readme_has_what_the_registry_asks_for() -> None:
    text = (PACKAGE / "README.md").read_text()
    _, front, body = text.split("---\n", 2)
    keys = dict(line.split(": ", 1) for line in front.strip().splitlines())
    assert keys.keys() == {"author", "title", "description", "tags", "optuna_versions", "license"}
    assert "sampler" in keys["tags"]
    assert keys["license"] == "MIT License"
    assert (PACKAGE / "LICENSE").read_text().startswith("MIT License")
    sections = [line[3:] for line in body.splitlines() if line.startswith("## ")]
    assert sections == ["Abstract", "APIs", "Installation", "Example", "Others"]
    assert "</" not in body  # no HTML


def test_the_readme_documents_the_signature() -> None:
    import inspect

    from compbo.integrations.optuna import CompBOSampler

    text = (PACKAGE / "README.md").read_text()
    for name in inspect.signature(CompBOSampler).parameters:
        assert f"{name}=" in text, name


def test_the_example_compiles() -> None:
    ast.parse((PACKAGE / "example.py").read_text())
