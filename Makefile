# Two commands are all a newcomer needs: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

# Tests run one process per core: threads inside each would only get in one another's way.
PYTEST := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto

.PHONY: demo test quick lint format bench bench-quick clean

demo: $(VENV)/.demo-installed  ## corrupt the digits' labels, learn through the noise, show the result
	$(BIN)/unconfused demo

test: lint  ## everything CI checks
	$(PYTEST)

quick: $(VENV)/.dev-installed  ## the tests that take under a minute together
	$(PYTEST) -m "not slow"

lint: $(VENV)/.dev-installed  ## style, types, and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev-installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.bench-installed  ## UMA beside the paper written out and its peers; takes hours
	cd benchmarks && ../$(BIN)/python -m engine $(BENCH)

bench-quick: $(VENV)/.bench-installed  ## the same on small data, in under three minutes
	cd benchmarks && ../$(BIN)/python -m engine --quick $(BENCH)

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache build dist

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo-installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable ".[demo]"
	@touch $@

$(VENV)/.dev-installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	@touch $@ $(VENV)/.demo-installed

$(VENV)/.bench-installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable ".[bench]"
	@touch $@
