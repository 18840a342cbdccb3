# Two commands are all a newcomer needs: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

# Tests run in one process per core, each with a single BLAS thread. With worksteal the tests of a
# module mostly stay in one process and share its fixtures.
PYTEST := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal

.PHONY: demo test quick fuzz lint format docs bench bench-quick reproduce reproduce-quick clean

demo: $(VENV)/.demo-installed  ## corrupt the digits' labels, learn through the noise, show the result
	$(BIN)/unconfused demo

test: lint  ## everything CI checks
	$(PYTEST)

quick: $(VENV)/.dev-installed  ## the tests that take under a minute together
	$(PYTEST) -m "not slow"

# FUZZ damaged files of each of the 13 kinds of table (a third as many per compression) and 2 FUZZ
# damaged models (a third with a corrected checksum): 16 FUZZ in all. In addition, FUZZ / 25
# manipulated files of each of 32 models.
FUZZ ?= 650
fuzz: $(VENV)/.dev-installed  ## more than ten thousand damaged tables and models
	UNCONFUSED_FUZZ=$(FUZZ) $(PYTEST) tests/files/test_damaged_tables.py $(addprefix tests/persistence/,\
		test_bad_model_files.py test_fuzzed_models.py test_model_file_attacks.py test_large_model_files.py)

lint: $(VENV)/.dev-installed  ## style, types, and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev-installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.docs-installed  ## the documentation with its gallery, into docs/_build/html; warnings are errors
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

bench: $(VENV)/.bench-installed  ## UMA beside the paper written out and its peers; takes hours
	cd benchmarks && ../$(BIN)/python -m engine $(BENCH)

bench-quick: $(VENV)/.bench-installed  ## the same on small data, in under three minutes
	cd benchmarks && ../$(BIN)/python -m engine --quick $(BENCH)

reproduce: $(VENV)/.dev-installed  ## the paper's experiments and docs/paper.md; goes on where it was stopped
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m experiments paper

reproduce-quick: $(VENV)/.dev-installed  ## the same in minutes, on less data; the docs are left alone
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m experiments paper --quick

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache build dist
	rm -rf docs/_build docs/api docs/auto_examples docs/sg_execution_times.rst

$(BIN)/python:
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(VENV)/.demo-installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable ".[demo]"
	@touch $@

$(VENV)/.dev-installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	@touch $@ $(VENV)/.demo-installed

$(VENV)/.docs-installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	@touch $@

$(VENV)/.bench-installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable ".[bench]"
	@touch $@
