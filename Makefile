# Everything works in .venv, which is made when it is missing. `make help` lists the targets.
.DEFAULT_GOAL := help
.PHONY: help demo demo-ui demo-stop test test-thorough check rooms job-file docs matrix format bench bench-peers bench-reference bench-scale redteam clean
.DELETE_ON_ERROR:

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
# Without --no-compile, half of the time goes into modules that nothing imports; Python compiles the others when it does.
INSTALL := $(BIN)/python -m pip install --no-compile --quiet --disable-pip-version-check --constraint constraints.txt
PYTEST = $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile
DEMO := $(BIN)/python -m airflow_anon.demo
export PATH := $(CURDIR)/.venv/bin:$(PATH)
# Demo and tests start hundreds of processes; each would compile every module again if Python were not to keep them.
unexport PYTHONDONTWRITEBYTECODE
PERSONS ?= 100000
PORT ?= 8080
ROWS ?= 1000000
TESTS ?= tests
WORKERS ?= 4

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.venv/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "Python 3.10 or newer is needed; set PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv .venv

.venv/.run: .venv/pyvenv.cfg pyproject.toml constraints.txt
	$(INSTALL) --editable '.[airflow]'
	@touch $@

.venv/.dev: .venv/pyvenv.cfg pyproject.toml constraints.txt
	$(INSTALL) --editable '.[airflow,postgres,openlineage,dev]'
	@touch .venv/.run $@

.venv/.docs: .venv/pyvenv.cfg pyproject.toml constraints.txt
	$(INSTALL) --editable '.[docs]'
	@touch $@

demo: .venv/.run ## build the demo warehouse, run the nightly DAG once, print what came out (PERSONS=100000)
	@$(DEMO) run --persons $(PERSONS)

demo-ui: .venv/.run ## leave Airflow running with the DAGs scheduled; prints address and login (PORT=8080)
	@$(DEMO) ui --persons $(PERSONS) --port $(PORT)

demo-stop: .venv/.run ## stop what demo-ui started
	@$(DEMO) stop

test: .venv/.dev ## run the tests (TESTS=tests/engine for a part, WORKERS=4 processes at once, of which some wait for servers)
	$(PYTEST) $(TESTS)

test-thorough: .venv/.dev ## run them with everything that the gate has no time for: more examples, every line, all vectors
	$(PYTEST) --hypothesis-profile=thorough $(TESTS)

check: .venv/.dev ## format, lint, types, import rules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/rooms.py --check
	$(BIN)/python tools/job_file.py --check

rooms: .venv/.dev ## draw docs/images/rooms.svg, the rooms of both packages, from the code
	$(BIN)/python tools/rooms.py

job-file: .venv/.dev ## write docs/job-file.md, the reference of the job file, from the code
	$(BIN)/python tools/job_file.py

docs: .venv/.docs ## make the site of the documentation in site/; a broken link fails
	@NO_COLOR=1 $(BIN)/zensical build --clean --strict
	@echo "site/index.html"

matrix: .venv/pyvenv.cfg ## try the wheel on the versions of Airflow and Python of docs/install.md, in environments of their own
	$(BIN)/python tools/matrix.py

format: .venv/.dev ## format the code
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

bench: .venv/.dev ## run every benchmark of the engine
	@for file in $(filter-out benchmarks/bench_peers.py benchmarks/bench_pycanon.py benchmarks/bench_reference.py benchmarks/bench_scale.py,$(wildcard benchmarks/bench_*.py)); do echo "== $$file"; $(BIN)/python $$file || exit 1; done

bench-peers: .venv/.dev ## compare with other packages, which it installs in environments of their own
	$(BIN)/python benchmarks/bench_peers.py
	$(BIN)/python benchmarks/bench_pycanon.py

bench-reference: .venv/.dev ## compare the search with ARX, whose classes and libraries are in REFERENCE (a class path); needs a JDK
	@$(BIN)/python benchmarks/bench_reference.py --classpath "$(REFERENCE)"

bench-scale: .venv/.dev ## measure a synthetic table of ROWS records (ROWS=1000000) beside DuckDB's floor; NIGHT=yes: validated and published too
	@ROWS=$(ROWS) $(BIN)/python benchmarks/bench_scale.py

redteam: .venv/.dev ## attack real releases, print success beside baseline and bound (AGAINST=commit for earlier code)
	$(BIN)/python -m redteam $(if $(AGAINST),--against $(AGAINST))

clean: ## remove the environment, the demo and the site
	rm -rf .venv .demo site
