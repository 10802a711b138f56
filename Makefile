# `make demo` and `make test` set up everything they need; nothing but Python and pip is assumed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DOCS_STAMP := $(VENV)/.installed-docs

# Tests of the folders that kernels live in.
KERNEL_TESTS := tests/graphs tests/hops tests/walks tests/encoding tests/wl tests/nn \
	tests/scale/test_shards.py tests/paper/test_graph_kernels.py \
	tests/fuzz/test_array_files.py tests/test_digest.py

# Real benchmark data, if it lies beside the project; tests that need it skip without it.
ifeq ($(SEKGNN_DATA),)
ifneq ($(wildcard ../shared/data/README.md),)
export SEKGNN_DATA := $(abspath ../shared/data)
endif
endif

.PHONY: demo test lint types imports unit boundscheck docs linkcheck fuzz wheel explorer bench results install clean \
	help

help:
	@echo "make demo   install, then encode graphs, tell two apart, learn to count 4-cycles"
	@echo "make test   install, lint, type-check, check import rules, run all tests"
	@echo "make docs   install, then run the tutorials and build the site, build/docs/index.html"
	@echo "make boundscheck  install, then run the tests of kernels, which check every index"
	@echo "make fuzz   install, then try 5,000 damaged and hostile inputs of every kind"
	@echo "make wheel  build the wheel, install it into a clean environment, run it there"
	@echo "make explorer  build the script of explorer pages again (needs node and npm)"
	@echo "make bench  install, then measure speed and memory (about 45 minutes)"
	@echo "make results  install, then train what results/runs/ lacks of the paper's tables (days)"

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -c constraints.txt torch
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[dev,mol,iso,search]"
	touch $(STAMP)

demo: install
	$(BIN)/sekgnn demo --output demo

test: lint types imports unit

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: install
	$(BIN)/mypy

imports: install
	$(BIN)/lint-imports

unit: install
	$(BIN)/sekgnn warmup  # once, instead of once per test process
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2  # two processes of one thread each

# Kernels read what an index says, right or wrong; these raise IndexError instead. They are
# compiled and kept apart from the others.
boundscheck: install
	NUMBA_BOUNDSCHECK=1 OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 $(KERNEL_TESTS)

$(DOCS_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[docs]"
	touch $(DOCS_STAMP)

# Executes the tutorials; a warning, an error in a cell or a broken link inside fails, and so does
# a page that a browser, if there is one, does not show whole.
docs: $(DOCS_STAMP)
	$(BIN)/sekgnn warmup
	OMP_NUM_THREADS=1 $(BIN)/pytest -q tests/test_docs.py
	$(BIN)/sphinx-build -W --keep-going -q -j 2 -c docs . build/docs
	$(BIN)/pytest -q tests/test_site.py

# Links to other sites; needs the network.
linkcheck: $(DOCS_STAMP)
	$(BIN)/sphinx-build -q -b linkcheck -D nb_execution_mode=off -c docs . build/linkcheck

# The same attack as in the tests, but longer; seeded, so that a failure can be had again.
fuzz: install
	SEKGNN_FUZZ=5000 OMP_NUM_THREADS=1 $(BIN)/pytest tests/fuzz

# Outside the checkout, with what the wheel itself declares: nothing else may be needed.
wheel:
	rm -rf dist build/wheel
	$(PYTHON) -m venv build/wheel
	build/wheel/bin/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	build/wheel/bin/python -m pip install --quiet -c constraints.txt dist/*.whl
	bin=$$PWD/build/wheel/bin; cd / && $$bin/sekgnn --version && $$bin/sekgnn wl rook:4 shrikhande

# The result is committed: users and the wheel need no node.
explorer:
	cd web/explorer && npm ci --silent && npm run --silent build

bench: install
	$(BIN)/python -m benchmarks.encoding --output results/benchmarks/encoding.json
	$(BIN)/python -m benchmarks.wl --output results/benchmarks/wl.json
	$(BIN)/python -m benchmarks.brec_memory
	$(BIN)/python -m benchmarks.training --output results/benchmarks/training.json
	$(BIN)/python -m benchmarks.scale --output results/benchmarks/scale.json

# Runs that a killed `make results` has begun go on; what failed is named at the end.
results: install
	$(BIN)/sekgnn reproduce all --output results; failed=$$?; \
	$(BIN)/sekgnn report results/runs/* --output results/training --quiet || failed=2; \
	$(BIN)/python -m studies.results_page || failed=2; \
	exit $$failed

clean:
	rm -rf $(VENV) demo dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
