# `make` lists the targets. Needs a Python of 3.11 or newer and nothing else:
# everything goes into .venv, at the versions pinned in requirements/.
#
#   make run PORT=9000              serve on another port
#   make test ARGS='-k tokens -x'   hand options to pytest
#   make test PYTHON=python3.13     choose the Python that .venv is made with

PORT ?= 8000
EXAMPLE = docs/examples/memory/server.py:suite
ARGS ?=

# Unless PYTHON= names one: the first of these that is Python 3.11 or newer. A
# command may exist and still not run (version managers leave such stubs), so each
# is tried, not looked up.
PYTHON ?=
PYTHONS = python3.11 python3 python3.14 python3.13 python3.12 python

VENV = .venv
BIN = $(VENV)/bin
# Says nothing unless it fails.
PIP_INSTALL = -m pip --disable-pip-version-check --no-input install --quiet --quiet

WHEEL_TEST = build/wheel-test
# In braces: what is redirected is all of it, not the last command alone.
FREEZE = { echo '\# Written by `make lock`.' && $(1)/bin/python -m pip freeze --exclude genmcp; }

# The pins decide which pyright is used; it need not ask for a newer one.
export PYRIGHT_PYTHON_IGNORE_WARNINGS = 1

help: ## list the targets
	@awk -F ': .*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

run: $(VENV)/.run ## install what is needed and serve the memory example (PORT=8000)
	@exec $(BIN)/genmcp serve $(EXAMPLE) --port $(PORT)

test: $(VENV)/.dev ## install what is needed and run the tests (ARGS= for pytest)
	@$(BIN)/pytest $(ARGS)

conformance: $(VENV)/.dev ## run the official conformance suite against the fixture server
	@$(BIN)/python -m tests.conformance.run

# In two steps, so that what cannot be installed fails there and is not left out.
clients: $(VENV)/.dev ## install further official clients into build/clients, and test with all
	@$(BIN)/python -m tests.clients.environments
	@$(BIN)/pytest $(ARGS) tests/clients/check_*.py

fuzz: $(VENV)/.dev ## attack both front doors, a minute each (ARGS='--seed 7' to repeat)
	@$(BIN)/python -m tests.fuzz $(ARGS)

soak: $(VENV)/.dev ## everything at once for three minutes (ARGS='--seconds 3600')
	@$(BIN)/python -m tests.soak $(ARGS)

matrix: $(VENV)/.dev ## write docs/reference/conformance.md from tests/requirements/rows
	@$(BIN)/python -m tests.requirements.render

bench: $(VENV)/.dev ## install the peers into build/bench and measure beside them (ARGS= for the bench)
	@$(BIN)/python -m bench $(ARGS)

check: lint types layers docs ## everything but the tests: lint, types, layers, docs

lint: $(VENV)/.dev ## ruff: rules and format
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check

format: $(VENV)/.dev ## let ruff fix and format the code
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

types: pyright mypy ## pyright and mypy, both strict

pyright: $(VENV)/.dev
	@$(BIN)/pyright --pythonpath $(BIN)/python

mypy: $(VENV)/.dev
	@$(BIN)/mypy

layers: $(VENV)/.dev ## import-linter: imports go down only
	@$(BIN)/lint-imports --no-logo

docs: $(VENV)/.dev ## build the documentation into site/, warnings are errors
	@$(BIN)/zensical build --clean --strict

coverage: $(VENV)/.dev ## run the tests and show the lines that none of them reaches
	@$(BIN)/coverage erase
	@$(BIN)/coverage run -m pytest $(ARGS)
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report

wheel: $(VENV)/.dev ## build the sdist, and from it the wheel, into dist/
	@rm -rf dist
	@mkdir -p build
	@$(BIN)/python -m build --no-isolation --outdir dist . >build/wheel.log 2>&1 || \
		{ cat build/wheel.log >&2; exit 1; }
	@ls dist

# First with the declared dependencies only: every module must import that is not for an
# extra. Then with the extras, as they are pinned: all of them must. Then the tests, from
# the unpacked sdist with its genmcp/ taken away: what they import can only be the
# installed package.
test-wheel: wheel ## install the built wheel elsewhere and run the tests against it
	@rm -rf $(WHEEL_TEST)
	@mkdir -p $(WHEEL_TEST)/source
	@$(BIN)/python -m venv $(WHEEL_TEST)/venv
	@$(WHEEL_TEST)/venv/bin/python $(PIP_INSTALL) -c requirements/run.txt dist/*.whl
	@tar -xzf dist/*.tar.gz -C $(WHEEL_TEST)/source --strip-components 1
	@rm -r $(WHEEL_TEST)/source/genmcp
	@cd $(WHEEL_TEST)/source && ../venv/bin/python tests/packaging/import_all.py
	@$(WHEEL_TEST)/venv/bin/python $(PIP_INSTALL) -c requirements/dev.txt \
		"$$(echo dist/*.whl)[auth,otel]"
	@cd $(WHEEL_TEST)/source && ../venv/bin/python tests/packaging/import_all.py --extras
	@$(WHEEL_TEST)/venv/bin/python $(PIP_INSTALL) -r requirements/dev.txt
	@cd $(WHEEL_TEST)/source && GENMCP_TESTED_AS=wheel ../venv/bin/pytest $(ARGS)

# Resolved anew from pyproject.toml, in a throw-away environment: run.txt is what the
# package needs and what installs it, dev.txt has all of that and the tools; the client of
# `make clients` that excludes the one in dev.txt has an environment of its own. To be run
# with the oldest Python around, such as a distribution's 3.11.2: a newest version may
# want a later one.
lock: $(BIN)/python ## write requirements/*.txt anew, with the newest versions allowed
	@rm -rf build/lock
	@mkdir -p build/lock
	@$(BIN)/python -m venv build/lock
	@build/lock/bin/python $(PIP_INSTALL) --upgrade pip
	@build/lock/bin/python $(PIP_INSTALL) --group install .
	@$(call FREEZE,build/lock) >build/lock/run.txt
	@build/lock/bin/python $(PIP_INSTALL) --group dev -c build/lock/run.txt
	@$(call FREEZE,build/lock) >build/lock/dev.txt
	@rm -rf build/lock/client
	@$(BIN)/python -m venv build/lock/client
	@build/lock/client/bin/python $(PIP_INSTALL) --upgrade pip
	@build/lock/client/bin/python $(PIP_INSTALL) 'mcp<2'
	@$(call FREEZE,build/lock/client) >build/lock/client-python-1.txt
	@mv build/lock/*.txt requirements/

clean: ## remove everything that was built or installed
	@rm -rf $(VENV) build dist site .coverage .coverage.* .hypothesis .import_linter_cache \
		.mypy_cache .pytest_cache .ruff_cache .cache

.PHONY: help run test conformance clients matrix bench fuzz soak check lint format types pyright mypy layers docs coverage wheel test-wheel lock clean

$(BIN)/python:
	@if [ -n "$(PYTHON)" ]; then set -- $(PYTHON); else set -- $(PYTHONS); fi; \
	for python in "$$@"; do \
		if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
			rm -rf $(VENV); \
			$$python -m venv $(VENV) && exit 0; \
			rm -rf $(VENV); \
			echo "$$python cannot make environments; on Debian: apt-get install python3-venv" >&2; \
			exit 1; \
		fi; \
	done; \
	echo "no Python of 3.11 or newer among: $$*. Name one: make PYTHON=/path/to/python" >&2; \
	exit 1

# The stamps: pip has run since the pins or the package's metadata last changed.
$(VENV)/.run: $(BIN)/python requirements/run.txt pyproject.toml
	@echo 'installing into $(VENV) ...'
	@$(BIN)/python $(PIP_INSTALL) -r requirements/run.txt
	@$(BIN)/python $(PIP_INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.run requirements/dev.txt
	@echo 'installing the development tools into $(VENV) ...'
	@$(BIN)/python $(PIP_INSTALL) -r requirements/dev.txt
	@touch $@
