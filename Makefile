# PathLab: every task of a newcomer or a developer is one target.
#   make quickstart   from a fresh clone to a measured path and its report
#   make test         sets up what the tests need, and tests every layer in short
#   make test-all     further tests of each kind as well; make test lists these tiers at its end
#   make test-pythons unit and contract tests with every Python from 3.11 to 3.14 that is here
#   make test-newest  the same with the newest libraries that setup.py allows
#   make mutants      how many random faults in the product the unit tests and simulations find (an hour)
#   make golden       writes the texts in tests/golden anew: look at them with git diff
#   make check        formats, lints, types, imports, scripts, C warnings (no tests)
#   make docs         the documentation site, in build/docs
#   make pages        the pages that are generated from the program, after a change
#   make screenshots  pictures of RESULTS= (compared with OTHER=) for README, in docs/images
#   make lock         the lock files in requirements/, with the newest libraries that setup.py allows
#   make plotly       the bundle of plotly.js in VERSION= (without: the recorded one, checked), with npm
#   make uplot        the same of uPlot
#   make format       puts every file into its format
#   make wheel        the wheel for every machine, in dist/
#   make release      every file of a release, in dist/ (RELEASE_ARGS=--no-image: without the OCI image)
#   make bench        compares the engine with its peers, and times the explorer (see benchmarks/README.md)

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
TIERS := test-statistics test-campaigns test-technologies test-browser test-machines test-release test-lab
INSTALLED := $(VENV)/.installed
INSTALLED_DEV := $(VENV)/.installed-dev
INSTALLED_DOCS := $(VENV)/.installed-docs
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# requirements/dev.txt has one library that comes without a wheel: it is built with the locked setuptools, as PathLab is.
BUILD_HERE := --use-pep517 --no-build-isolation
LOCKED := --require-hashes --no-deps -r requirements
LOCKER := build/lock
NEWEST := build/newest
MUTANTS := build/mutants

.PHONY: quickstart install dev engine engines test-packages native-test test test-all $(TIERS) list-tiers test-pythons \
  test-newest mutants golden check check-types check-text check-scripts check-native docs pages screenshots lock plotly uplot \
  format wheel release bench clean

# The engine is built while the virtual environment is made.
quickstart:
	@$(MAKE) --no-print-directory -j2 install
	@# 7: measured, but this machine was too busy for a number that counts; the answer says so.
	@$(BIN)/pathlab run quickstart --new || [ $$? -eq 7 ]

install: $(INSTALLED) engine

dev: $(INSTALLED_DEV) engine

engine:
	@command -v cc >/dev/null || { echo "pathlab: no C compiler ('cc') here." >&2; \
	  echo "  fix: install one (Debian: apt-get install gcc libc6-dev) and run make again" >&2; exit 3; }
	@$(MAKE) -s -C native engine

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { echo "pathlab: no Python ('$(PYTHON)') here." >&2; \
	  echo "  fix: install Python 3.11 or newer (Debian: apt-get install python3-venv)" >&2; exit 3; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "pathlab: '$(PYTHON)' is older than Python 3.11." >&2; \
	  echo "  fix: name a newer one: make PYTHON=python3.12 ..." >&2; exit 3; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { \
	  echo "pathlab: '$(PYTHON)' cannot make virtual environments." >&2; \
	  echo "  fix: Debian: apt-get install python3-venv" >&2; exit 3; }
	@echo "Creating the virtual environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV)

$(INSTALLED): setup.py pyproject.toml pathlab/_version.py requirements/build.txt requirements/run.txt \
    | $(BIN)/python engine
	@echo "Installing PathLab and its libraries"
	@$(PIP) --no-compile $(LOCKED)/build.txt -r requirements/run.txt
	@$(PIP) --no-compile --no-deps $(BUILD_HERE) -e .
	@$(BIN)/python -m compileall -q -j 0 -x 'site-packages/.*/tests/' $(VENV)/lib >/dev/null || : # pip would do it on one core
	@touch $@

$(INSTALLED_DEV): $(INSTALLED) requirements/dev.txt
	@echo "Installing what the tests need"
	@$(PIP) $(BUILD_HERE) $(LOCKED)/dev.txt
	@touch $@

# `dev` has installed it as well.
$(INSTALLED_DOCS): $(INSTALLED) requirements/docs.txt
	@[ $(INSTALLED_DEV) -nt $(INSTALLED) ] && [ $(INSTALLED_DEV) -nt requirements/docs.txt ] || { \
	  echo "Installing what the documentation is made with"; \
	  $(PIP) $(LOCKED)/docs.txt; }
	@touch $@

test-packages:
	@sh tests/packages.sh

native-test: engine
	@$(MAKE) -s -j2 -C native harness test

# The engines of the wheel, for every machine.
engines: dev
	@$(MAKE) -s -j2 -C native ZIG='$(abspath $(BIN))/python -m ziglang' engines

# What each tier runs is in tests/tiers.py. PYTEST_ARGS are added: make test-lab PYTEST_ARGS='-k window'.
# LENGTH=full: simulations and traffic at full length, which takes hours.
RUN_TIER = $(if $(LENGTH),PATHLAB_TEST_LENGTH=$(LENGTH)) $(BIN)/python -m tests.tiers $@ $(PYTEST_ARGS)

test:
	@$(MAKE) --no-print-directory -j3 dev test-packages native-test
	@$(RUN_TIER)

test-statistics: dev
	@$(RUN_TIER)

# Its captures use the engine whose system calls fail.
test-campaigns: dev test-packages
	@$(MAKE) -s -j2 -C native faults
	@$(RUN_TIER)

test-technologies test-lab: dev test-packages
	@$(MAKE) -s -j2 -C native harness
	@$(RUN_TIER)

test-browser: dev test-packages
	@$(RUN_TIER)

test-machines: dev test-packages engines
	@$(MAKE) -s -j2 -C native ZIG='$(abspath $(BIN))/python -m ziglang' sanitize tsan dynamic faults fuzz-replay units
	@$(RUN_TIER)

test-release: dev test-packages engines
	@$(RUN_TIER)

# One after the other, as one of them measures.
test-all: test
	@set -e; for tier in $(TIERS); do $(MAKE) --no-print-directory $$tier; done

list-tiers:
	@echo $(TIERS)

test-pythons: engine
	@sh tests/pythons.sh $(PYTEST_ARGS)

# In a new environment each time. A failure shows what the next `make lock` brings.
test-newest: engine
	@rm -rf $(NEWEST)
	@$(PYTHON) -m venv $(NEWEST)
	@echo "Installing the newest libraries in $(NEWEST)"
	@$(NEWEST)/bin/python -m pip install --quiet --disable-pip-version-check --use-pep517 -e '.[dev]'
	@$(NEWEST)/bin/python -m pytest $(or $(PYTEST_ARGS),-q -n 2 -m 'not netns' tests/unit tests/contract)

# No part of the environment: only this needs them.
mutants: dev
	@$(PIP) --upgrade --no-deps --target $(MUTANTS) cosmic-ray==8.7.0 parso==0.8.7 decorator==5.3.1
	@PYTHONPATH=$(MUTANTS) $(BIN)/python -m tests.mutants --out build/mutants.json $(MUTANT_ARGS)

SCRIPTS := $(addprefix pathlab/,web/core/*.js web/page/*.js report/templates/*.js) tests/scripts/*.js

golden: dev
	@find tests/golden -name '*.txt' -o -name '*.md' -o -name '*.json' | xargs rm -f
	@$(BIN)/python -m pytest -q tests/golden --accept
	@git status --short tests/golden

# Alongside each other, since most use one core: each prints what it found when it is done.
check: dev test-packages $(INSTALLED_DOCS)
	@$(MAKE) --no-print-directory --output-sync=target -j3 check-types docs check-native check-text check-scripts

check-types: dev
	$(BIN)/mypy

check-text: dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/codespell

# Format, lint and types of the page's scripts and of what runs them in tests (deno.json).
check-scripts: dev
	$(BIN)/deno fmt --quiet --check
	$(BIN)/deno lint --quiet
	$(BIN)/deno check --quiet $(SCRIPTS)

check-native: test-packages
	@$(MAKE) -s -C native clang-check format-check lint tidy

# Every warning is an error: a link without a target, a name that is not there, a page that no other one leads to.
docs: $(INSTALLED_DOCS)
	@$(BIN)/python -m sphinx -q -W --keep-going -c docs -d build/doctrees -b html . build/docs
	@echo "build/docs/index.html"

pages: $(INSTALLED)
	@$(BIN)/python -m pathlab.campaign.schema campaigns
	@$(BIN)/python -m pathlab.store.column_page docs/COLUMNS.md
	@$(BIN)/python -m pathlab.report.explorer.script_constants pathlab/web/core/constants.js
	@$(BIN)/python tools/analyses_table.py
	@$(BIN)/python tools/technologies_table.py
	@$(BIN)/python tools/cli_pages.py
	@$(BIN)/python tools/engine_page.py
	@$(BIN)/python tools/engine_records.py

screenshots: dev
	@$(BIN)/python -m tools.screenshots $(RESULTS) $(OTHER)

# uv alone resolves for all Pythons and machines at once.
lock:
	@$(PYTHON) -m venv $(LOCKER)
	@$(LOCKER)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade uv
	@$(LOCKER)/bin/python -m release.renew_lock

plotly uplot: $(INSTALLED)
	@$(BIN)/python tools/browser_libraries.py $@ $(VERSION)

format: dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/deno fmt --quiet
	@$(MAKE) -s -C native format

# A build/lib of another day would go into the wheel as well.
wheel: dev
	@rm -rf build/lib build/bdist.*
	@PATHLAB_WHEEL_MACHINES=all $(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps \
	  --no-build-isolation --wheel-dir dist .
	@ls dist/pathlab_analyzer-*-py3-none-any.whl

release: dev
	@$(BIN)/python -m release $(RELEASE_ARGS)

bench: dev
	@$(BIN)/python benchmarks/engine.py $(BENCH_ARGS)
	@$(BIN)/python benchmarks/probes.py
	@$(BIN)/python benchmarks/floods.py
	@$(BIN)/python benchmarks/fidelity.py
	@$(BIN)/python benchmarks/explorer.py

clean:
	rm -rf build dist *.egg-info native/build pathlab/_native
