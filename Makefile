# `make demo` and `make test` do everything on a machine with Python 3.11 and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lit unit lint types conformance fuzz bench bench-fusion clean help

help:
	@echo "make demo    install, then compile, run and check ResNet-50"
	@echo "make test    install the test extras, then run lit, pytest, ruff and pyright"
	@echo "make lit     the FileCheck tests only"
	@echo "make unit    the pytest tests only"
	@echo "make lint    ruff"
	@echo "make types   pyright"
	@echo "make conformance  random cases of every strategy; models between guard pages; recorded passes of TVM"
	@echo "make fuzz    random and damaged inputs for ten minutes; findings go to build/fuzz"
	@echo "make bench-fusion  times of fusion and of reading Relay text against size, beside Relax's FuseOps"
	@echo "make bench   times beside onnxruntime, OpenVINO and torch; writes docs/performance.md"

demo: $(VENV)/installed
	$(BIN)/python -m xrelay.tools.demo

test: lint types lit unit

lit: $(VENV)/installed-test
	PYTHONHASHSEED=0 $(BIN)/lit --quiet tests/filecheck
	PYTHONHASHSEED=1 $(BIN)/lit --quiet tests/filecheck

unit: $(VENV)/installed-test
	$(BIN)/python -m pytest -q --numprocesses auto --dist worksteal

lint: $(VENV)/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/installed-test
	$(BIN)/pyright --pythonpath $(BIN)/python

# Recorded passes of TVM, for golden.py: `make conformance GOLDEN="records/*.jsonl.xz"`.
GOLDEN ?= tests/conformance/data/golden.jsonl.xz

conformance: $(VENV)/installed-test
	$(BIN)/python -m pytest -q --numprocesses auto --dist worksteal -m extensive tests/execution
	$(BIN)/python tests/conformance/strategies.py
	$(BIN)/python tests/conformance/memory_safety.py light
	$(BIN)/python tests/conformance/golden.py $(GOLDEN) --roundtrip --jobs 2
	$(BIN)/python tests/conformance/golden.py $(GOLDEN) --jobs 2

# Options of the fuzzers: `make fuzz FUZZ="--fuzzer mlir,files --seconds 3600 --seed 7"`.
FUZZ ?= --seconds 600

fuzz: $(VENV)/installed-test
	$(BIN)/python -m tests.fuzz $(FUZZ)

# Options of the benchmark: `make bench BENCH="--models resnet50 --threads 1"`.
BENCH ?= --markdown docs/performance.md --chart docs/performance.svg --json build/bench.json

bench: $(VENV)/installed-bench
	$(BIN)/python -m benchmarks $(BENCH)

bench-fusion: $(VENV)/installed-bench
	mkdir -p build
	$(BIN)/python -m benchmarks.fusion --chart build/fusion.svg --json build/fusion.json

# The stamps hold as long as the project's requirements stay the same.
$(VENV)/installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/installed-test: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[test,dev]"
	touch $@ $(VENV)/installed

$(VENV)/installed-bench: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[bench]"
	touch $@ $(VENV)/installed

clean:
	rm -rf $(VENV) build *.egg-info .pytest_cache .ruff_cache .hypothesis
