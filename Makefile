# `make demo` and `make test` need Python 3.11 or newer with pip; everything else they install into .venv themselves.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-long test-oldest lint format catalogue bench figures gallery results league league-peers \
  notebooks docs dist clean

BIN := .venv/bin
STAMP := .venv/.installed
OLDEST := .venv-oldest
PIP := $(BIN)/python -m pip --disable-pip-version-check install
PYTHON ?=           # the interpreter .venv is made with; empty: the first good one of python3.11, python3, python
WORKERS ?= 2        # processes of the test run
ARGS ?=             # more arguments for pytest (ARGS="-k space -x") or the sections of make bench (ARGS="fit step")
KNOWN ?= results/league.parquet  # runs that make league takes as done; KNOWN= for none
# One BLAS thread per process: the workers already fill the cores, and thread pools that compete cost a factor.
PYTEST := OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/python -m pytest -n $(strip $(WORKERS)) --dist loadfile

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile

demo: $(STAMP)  ## minimise a shifted Levy function in 16 dimensions and write report.html
	@$(BIN)/compbo demo

test: $(STAMP)  ## the tests, without those marked long
	@$(PYTEST) -m "not long" $(ARGS)

test-long: $(STAMP)  ## the tests marked long
	@$(PYTEST) -m long $(ARGS)

test-oldest: $(OLDEST)/.installed  ## the integrations on the oldest BoTorch and Optuna supported, in .venv-oldest
	@OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 $(OLDEST)/bin/python -m pytest -p no:cacheprovider \
	  $(addprefix tests/test_integration_,botorch.py botorch_candidates.py optuna.py optuna_conformance.py) $(ARGS)

lint: $(STAMP)  ## ruff (lint, format) and mypy --strict on src
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP)  ## let ruff fix and format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

catalogue: $(STAMP)  ## after a change of the catalogue: its tables in docs/catalogue.md, and the traces of new rows
	@$(BIN)/python -m compbo.maximizers --write docs/catalogue.md
	@$(BIN)/python tests/recorded_traces.py

bench: $(STAMP)  ## the measurements of benchmarks/README.md
	@$(BIN)/python -m benchmarks $(ARGS)

figures: $(STAMP)  ## the pictures of docs/figures/ that explain ideas, and those of the report (needs Chromium)
	@$(BIN)/python -m tools.figures
	@$(BIN)/python -m tools.figures.report

GALLERY := --results docs/gallery/results.parquet

gallery: $(STAMP)  ## the pictures and tables of docs/outputs.md, from docs/gallery/results.parquet
	@$(BIN)/compbo study figures $(GALLERY) --memory benchmarks/memory.csv --format png -o docs/gallery
	@$(BIN)/compbo study tables $(GALLERY) -o docs/gallery/tables
	@$(BIN)/python docs/gallery/screenshot.py

results: $(STAMP)  ## docs/reproduction.md, docs/defaults.md, docs/league.md, the README's table, and figures, from results/
	@$(BIN)/python -m tools.reproduction
	@$(BIN)/python -m benchmarks.defaults.page
	@$(BIN)/python -m benchmarks.defaults.maximizers
	@$(BIN)/python -m benchmarks.why.page
	@$(BIN)/python -m benchmarks.portfolios.page
	@$(BIN)/python -m tools.figures why
	@$(BIN)/python -m benchmarks.conditional --page
	@$(BIN)/python -m benchmarks.league.page
	@$(BIN)/python -m benchmarks.readme

notebooks: $(STAMP)  ## the notebooks of docs/notebooks/, executed, as pages of the site
	@$(BIN)/python -m tools.notebooks

league: $(STAMP)  ## the default against other libraries, hours, resumable; ARGS="all --workers 2", ARGS=--export
	@OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/python -m benchmarks.league $(addprefix --known ,$(KNOWN)) $(ARGS)

league-peers: .venv-hebo/.installed .venv-smac/.installed  ## the environments of HEBO and SMAC, for make league

docs: $(STAMP)  ## the documentation as a web site in site/, which opens as a file: site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

dist: $(STAMP)  ## sdist and wheel in dist/; the demo is run from the wheel in an empty environment
	@$(BIN)/python -m tools.dist --check

clean:  ## remove caches and what was built (.venv stays; delete it to start afresh)
	rm -rf build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis report.html
	find . -path ./.venv -prune -o -type d -name __pycache__ -prune -exec rm -rf {} +

# Made once, and again only when the dependencies change. torch goes first and alone: its wheel is the big one, and
# whatever follows finds it in place. The build tools are installed from the same pinned set, hence no build isolation.
$(STAMP): pyproject.toml constraints.txt
	@set -e; \
	$(BIN)/python -c "" 2>/dev/null || { \
	  for python in $(if $(strip $(PYTHON)),"$(strip $(PYTHON))",python3.11 python3 python); do \
	    "$$python" -c "import sys; sys.exit(sys.version_info < (3, 11))" 2>/dev/null && break; python=; \
	  done; \
	  test -n "$$python" || { echo "compbo needs Python 3.11 or newer (tried:" \
	    "$(or $(strip $(PYTHON)),python3.11 python3 python)). Install it or name one: make PYTHON=/path/to/python3.11" >&2; exit 1; }; \
	  echo "Making .venv with $$("$$python" --version)"; \
	  rm -rf .venv; \
	  "$$python" -m venv .venv >/dev/null 2>&1 || { \
	    rm -rf .venv; "$$python" -m venv --without-pip .venv; "$$python" -m pip --python .venv install --quiet pip; }; \
	}; \
	echo "Installing the pinned packages (a few minutes the first time) 1/2: torch"; \
	$(PIP) -c constraints.txt torch==2.13.0; \
	echo "Installing the pinned packages 2/2: compbo and the rest"; \
	$(PIP) --quiet -c constraints.txt hatchling editables; \
	$(PIP) --quiet --no-build-isolation -c constraints.txt -e ".[dev]"; \
	touch $(STAMP)

# Their pins clash with ours and with each other's: each lives in an environment of its own, and nothing is resolved.
.venv-%/.installed: benchmarks/league/%.txt $(STAMP)
	@set -e; rm -rf .venv-$*; $(BIN)/python -m venv --without-pip .venv-$*; \
	echo "Installing $* into .venv-$*"; \
	$(BIN)/python -m pip --disable-pip-version-check --python .venv-$*/bin/python install --quiet --no-deps -r $<; \
	touch $@

# The lower bounds of pyproject.toml instead of the pinned BoTorch, GPyTorch and Optuna; linear_operator follows BoTorch,
# and SciPy is the one BoTorch 0.15 was made for. Everything else, torch above all, stays as pinned.
$(OLDEST)/.installed: $(STAMP) pyproject.toml constraints.txt
	@set -e; \
	lower() { sed -n "s/.*\"$$1>=\([0-9.]*\)\".*/\1/p" pyproject.toml; }; \
	rm -rf $(OLDEST); $(BIN)/python -m venv --without-pip $(OLDEST); \
	sed -E "s/^botorch==.*/botorch==$$(lower botorch)/; s/^gpytorch==.*/gpytorch==$$(lower gpytorch)/; \
	  s/^optuna==.*/optuna==$$(lower optuna)/; /^linear_operator==/d; s/^scipy==.*/scipy==1.15.3/" constraints.txt > $(OLDEST)/constraints.txt; \
	echo "Installing BoTorch $$(lower botorch) and Optuna $$(lower optuna) beside the pinned packages in $(OLDEST)"; \
	install="$(BIN)/python -m pip --disable-pip-version-check --python $(OLDEST)/bin/python install --quiet"; \
	$$install -c $(OLDEST)/constraints.txt torch==2.13.0; \
	$$install -c $(OLDEST)/constraints.txt hatchling editables; \
	$$install --no-build-isolation -c $(OLDEST)/constraints.txt -e . hypothesis pytest; \
	touch $@
