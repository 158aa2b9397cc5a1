# `make demo` and `make test` do everything on a machine with Python 3.11 and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo quick test lit unit lint types conformance conformance-onnx fuzz mutants pages bench bench-fusion constraints clean help

help:
	@echo "make demo    install, then compile, run and check ResNet-50"
	@echo "make quick   at each edit: ruff, all FileCheck tests, and a share of all others"
	@echo "make test    before each commit: ruff, pyright and pytest"
	@echo "make conformance  before a release: all tests in random order, lit under another hash seed, many more random"
	@echo "             programs and cases of every strategy, models between guard pages, recorded passes of TVM"
	@echo "make conformance-onnx  the 2,033 tests of ONNX for backends, against the list of those that are refused, and those"
	@echo "             of single operators with each of their dimensions open: whether one program serves all lengths"
	@echo "make fuzz    random and damaged inputs for ten minutes, and 20,000 random programs of which each goes through a"
	@echo "             pass; findings go to build/fuzz"
	@echo "make lint    ruff"
	@echo "make types   pyright"
	@echo "make mutants  whether the tests notice mistakes that are made on purpose"
	@echo "make unit    the tests of make test without ruff and pyright"
	@echo "make lit     the FileCheck tests alone, as xDSL runs its own: a process for each command"
	@echo "make bench-fusion  times of fusion and of reading Relay text against size, beside Relax's FuseOps"
	@echo "make pages   docs/operators.md and docs/passes.md anew, with the counts of records that passes agree with, and what"
	@echo "             is on record of kernels, networks, imports, passes and what tools print (tests/support/code_records)"
	@echo "make constraints  newer versions in constraints.txt"
	@echo "make bench   times beside onnxruntime, OpenVINO and torch; writes docs/performance.md"

demo: $(VENV)/installed
	$(BIN)/python -m xrelay.tools.demo

# Options of pytest: `make unit PYTEST="--random-order 7 tests/unit"`.
PYTEST ?=
# Hashes are the same in every run; `make lit` and a test look at other ones. Bytecode is kept, whatever the
# environment says: each worker and each command that tests start would compile all modules anew.
RUN_TESTS := PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q --numprocesses auto --dist worksteal --durations 25 -rs

quick: lint
	$(RUN_TESTS) -m quick $(PYTEST)

# pyright takes a minute of one core, and the tests need all cores for most of their time.
test: lint
	$(MAKE) --no-print-directory --jobs 2 types unit

unit: $(VENV)/installed-test
	$(RUN_TESTS) $(PYTEST)

lit: $(VENV)/installed-test
	PYTHONHASHSEED=1 $(BIN)/lit --quiet tests/filecheck

lint: $(VENV)/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/installed-test
	$(BIN)/pyright --pythonpath $(BIN)/python

# Recorded passes of TVM beside those of tests/conformance/data, which pytest looks at:
# `make conformance GOLDEN="records/*.jsonl.xz"`.
GOLDEN ?=

# The order of the tests of `make conformance`: `make conformance ORDER=7`.
ORDER ?= $(shell date +%s)

conformance: lit
	$(RUN_TESTS) -m "" --random-order $(ORDER)
	$(RUN_TESTS) --hypothesis-profile extensive tests/properties
	$(BIN)/python tests/conformance/strategies.py
	$(BIN)/python tests/conformance/memory_safety.py light
	$(if $(GOLDEN),$(BIN)/python tests/conformance/golden.py $(GOLDEN) --roundtrip --jobs 2)
	$(if $(GOLDEN),$(BIN)/python tests/conformance/golden.py $(GOLDEN) --known --jobs 2)

# Options of the ONNX suite: `make conformance-onnx SUITE="--only reshape --verbose"`.
SUITE ?=

conformance-onnx: $(VENV)/installed-test
	$(BIN)/python tests/conformance/onnx_suite.py $(SUITE)
	$(if $(SUITE),,$(BIN)/python tests/conformance/open_dimensions.py --jobs 2)

# Options of the fuzzers: `make fuzz FUZZ="--fuzzer mlir,files --seconds 3600 --seed 7"`.
FUZZ ?= --seconds 600

# The random programs that meet a pass alone, whatever else is asked for.
PROGRAMS ?= 20000

fuzz: $(VENV)/installed-test
	$(BIN)/python -m tests.fuzz $(FUZZ)
	$(if $(PROGRAMS),$(BIN)/python -m tests.fuzz --fuzzer single-passes --cases $(PROGRAMS))

# Modules of tests/support/code_records that write what is on record.
RECORDS = choices kernel_sizes implementations networks imports exports contrib_imports passes outputs

# The counts of records are those of known.txt and exceptions.toml, which `golden.py --known --update` and people write.
pages: $(VENV)/installed-test
	$(BIN)/python tests/conformance/parity.py
	$(BIN)/python tests/conformance/onnx_table.py
	for record in $(RECORDS); do PYTHONPATH=tests/support:. $(BIN)/python -m code_records.$$record || exit 1; done
	$(BIN)/xrelay ops --markdown > docs/operators.md
	$(BIN)/xrelay passes --markdown > docs/passes.md

# Options of mutation testing: `make mutants MUTANTS="--count 300 --seed 7 --paths analysis,transforms"`.
MUTANTS ?= --count 60 --seed 0 --budget 300 --json build/mutants/report.json

mutants: $(VENV)/installed-test
	$(BIN)/python -m tests.mutants $(MUTANTS)

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

# `make test PINNED=1` installs the versions and hashes of constraints.txt and nothing else, as
# continuous integration does. They are for Python 3.11.
PINNED ?=

$(VENV)/installed-test: pyproject.toml $(if $(PINNED),constraints.txt)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
ifeq ($(PINNED),)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[test,dev]"
else
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
endif
	touch $@ $(VENV)/installed

$(VENV)/installed-bench: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[bench]"
	touch $@ $(VENV)/installed

# The newest versions that pyproject.toml allows, from PyPI whatever else pip is set up to use; in an
# environment of its own. Python 3.11 runs it, as the versions depend on that.
constraints:
	$(PYTHON) -m venv build/pip-tools
	build/pip-tools/bin/python -m pip install --quiet --disable-pip-version-check "pip-tools~=7.6"
	env -u PIP_FIND_LINKS -u PIP_INDEX_URL -u PIP_EXTRA_INDEX_URL PIP_CONFIG_FILE=/dev/null \
	  build/pip-tools/bin/pip-compile --quiet --upgrade --generate-hashes --allow-unsafe --strip-extras \
	  --extra test --extra dev --build-deps-for editable --no-annotate --no-header \
	  --no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
	  --output-file build/pinned.txt pyproject.toml
	{ echo '# What continuous integration installs on Python 3.11 (x86-64 Linux); by `make constraints`.'; \
	  cat build/pinned.txt; } > constraints.txt

clean:
	rm -rf $(VENV) build *.egg-info .pytest_cache .ruff_cache .hypothesis
