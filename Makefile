# `make demo` and `make test` do all the set-up: Python 3.11, make and pip are enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Also pins what pip fetches to build our own wheel.
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test test-all lint package format bench reproduce clean

demo: $(VENV)/.installed-demo  ## audit two embedded models, one of which saw the test set
	$(BIN)/heldout demo

# worksteal: tests of one file stay together, so that what they share is made once, not in both workers.
# Two workers on two cores: more threads would only wait for each other (a training in the suite took 5 times as long).
test test-all: export OMP_NUM_THREADS := 1

test: $(VENV)/.installed-dev  ## all tests but the slow ones
	$(BIN)/pytest -q -n 2 --dist worksteal -m "not slow"

test-all: $(VENV)/.installed-dev  ## all tests, the long statistical ones too
	$(BIN)/pytest -q -n 2 --dist worksteal

lint: $(VENV)/.installed-dev  ## style, types, and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

package: $(VENV)/.installed-dev  ## wheel and sdist, as they would be published
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/twine check --strict dist/*

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# All of them, whatever one missed.
bench: $(VENV)/.installed-bench  ## ratios against the bare model and against peers
	missed=; for name in audit jobs spatial memory readers budget compare exposure options stress memorization; do \
		$(BIN)/python benchmarks/bench_$$name.py || missed="$$missed $$name"; \
	done; test -z "$$missed" || { echo "missed:$$missed" >&2; exit 1; }

# From kept raw results; what needs ../shared/data is left out, and said, where that is not there.
reproduce: $(VENV)/.installed-dev  ## every figure and table that needs no GPU, into the same files; says which changed
	$(BIN)/python experiments/reproduce.py

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed-demo: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/pip install -q -e '.[onnx]'
	touch $@

# torch by pip and by its exact version: a looser request would bring gigabytes of CUDA packages.
# imagecorruptions-imaug without what it asks for: that is opencv-python, which needs libGL and X11; the dev extra has
# the headless one.
# triton for the tests of experiments/pavlitskaya, where torch has not brought its own: its CUDA builds ask for a version
# that a constraint here would contradict.
$(VENV)/.installed-dev: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/pip install -q torch==2.13.0
	$(BIN)/pip install -q -e '.[onnx,torch,dev]'
	$(BIN)/pip install -q --no-deps imagecorruptions-imaug
	test "$$(uname)" != Linux || $(BIN)/python -c "import triton" 2>/dev/null || $(BIN)/pip install -q --no-deps triton==3.6.0
	touch $@ $(VENV)/.installed-demo

$(VENV)/.installed-bench: $(VENV)/.installed-dev
	$(BIN)/pip install -q -e '.[onnx,torch,dev,bench]'
	touch $@

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis heldout-demo heldout-audit heldout-memorization
