# The commands of this project. `make help` lists them; none needs root.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# An index that cannot be reached should cost seconds, not minutes.
PIP := $(BIN)/python -m pip install --disable-pip-version-check --retries 1 --timeout 60 --quiet
# Benchmarks, tools and tests import each other from the repository, and are no part of what is installed.
IMPORTABLE = $(BIN)/python -c 'import pathlib, sysconfig; pathlib.Path(sysconfig.get_path("purelib"), "kelolo_repository.pth").write_text("$(CURDIR)")'
# The environment is made anew when what it must hold changes, and not otherwise.
RUNTIME := $(VENV)/runtime-$(shell cat requirements-torch.txt requirements.txt pyproject.toml 2>/dev/null | cksum | cut -d' ' -f1).stamp
DEVELOPMENT := $(VENV)/development-$(shell cat requirements.txt requirements-dev.txt 2>/dev/null | cksum | cut -d' ' -f1).stamp

.DEFAULT_GOAL := help
.PHONY: help env run test quick coverage mutants check fix

help: ## list these commands
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 16

env: $(RUNTIME) ## make the environment in .venv

run: $(RUNTIME) ## serve on http://127.0.0.1:8000, with database and exercises
	@$(BIN)/kelolo serve

test: $(RUNTIME) $(DEVELOPMENT) ## run all tests, or some: make test T="tests/unit -k shape"
	@$(BIN)/python -m pytest $(T)
ifndef T
	@$(BIN)/python tests/sandbox/matrix.py --rest
endif

quick: $(RUNTIME) $(DEVELOPMENT) ## run the tests that need no browser, PostgreSQL or sandbox
	@$(BIN)/python -m pytest -q tests/unit

coverage: $(RUNTIME) $(DEVELOPMENT) ## which lines no test passes through, and is a package below its floor? What runs in a sandbox is not counted
	@$(BIN)/coverage erase
	@$(BIN)/coverage run -m pytest -q $(or $(T),tests/unit tests/db tests/web tests/tutor)
	@$(BIN)/coverage combine -q
	@$(BIN)/coverage report --skip-covered
ifndef T
	@$(BIN)/coverage json -q -o $(VENV)/coverage.json
	@$(BIN)/python -m tools.coverage_floors $(VENV)/coverage.json
endif

mutants: $(RUNTIME) $(DEVELOPMENT) ## do tests find out each small change of judge and ledger? All: hours; one: make mutants M=graders/question.py
	@$(BIN)/python -m tools.mutants $(M)

check: $(RUNTIME) $(DEVELOPMENT) ## look for faults of style, types and imports, in pages too; changes nothing
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/biome lint --error-on-warnings
	@$(BIN)/djlint --lint --quiet templates

fix: $(RUNTIME) $(DEVELOPMENT) ## put right what can be put right by itself
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { echo "Kelolo needs Python 3.11 or newer, and there is no $(PYTHON) here. Install it, or say where it is: make PYTHON=/path/to/python3 run" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Kelolo needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) -V 2>&1). Say where a newer one is: make PYTHON=/path/to/python3.11 run" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "$(PYTHON) cannot make environments. On Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(RUNTIME): $(BIN)/python
	@echo "Installing what Kelolo needs (the first time, some hundred MB) …"
	@$(PIP) --no-deps --requirement requirements-torch.txt
	@$(PIP) --requirement requirements.txt
	@$(PIP) --no-deps --no-build-isolation --no-index --editable .
	@$(IMPORTABLE)
	@rm -f $(VENV)/runtime-*.stamp
	@touch $@

$(DEVELOPMENT): $(RUNTIME)
	@echo "Installing what the tests need …"
	@$(PIP) --requirement requirements-dev.txt
	@rm -f $(VENV)/development-*.stamp
	@touch $@
