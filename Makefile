# Everything runs in .venv, which the first target makes. Needs Python >= 3.10, a C compiler and make.

# `make test PYTHON=/path/to/python3` chooses the interpreter; without it, the newest that is suitable.
PYTHON ?=
SUITABLE = import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))
CANDIDATES = python3.14 python3.13 python3.12 python3.11 python3.10 python3

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# A file stays in one process, which its fixtures and caches serve; files go in the order of tests/order.py. There is a
# process per core, so BLAS gets one thread in each: threads of OpenBLAS spin while they wait, on cores that others need.
PYTEST = OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder
PACKAGES = $(wildcard opsdk gradcheck contrib_ops)

# Byte code is kept, whatever the environment says: tests start hundreds of processes, and each would compile the package.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: demo test test-slow test-all lint type bench check clean help

demo: $(STAMP)  ## write an op, check its gradient, break it, read the report
	$(BIN)/opsdk demo

test: $(STAMP)  ## run the tests but for the exhaustive sweeps, a process per core; ARGS="-k relu -x" goes to pytest
	$(PYTEST) -m "not slow" $(ARGS)

test-slow: $(STAMP)  ## run the exhaustive sweeps, which are marked slow
	$(PYTEST) -m slow $(ARGS)

test-all: $(STAMP)  ## run both
	$(PYTEST) $(ARGS)

lint: $(STAMP) type  ## ruff, then mypy
	$(BIN)/ruff check .

type: $(STAMP)  ## mypy, strict outside the ratchet list of pyproject.toml
	$(BIN)/mypy $(PACKAGES)

bench: $(STAMP)  ## run the benchmarks; ARGS goes to them
	$(BIN)/python -m benchmarks $(ARGS)

check: lint test  ## what has to pass before a push; CI adds test-slow

clean:  ## remove what make, the build and the tools left behind, .venv included
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -f opsdk/core/fast/_built.*
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1	/p' Makefile

$(STAMP): setup.py pyproject.toml $(wildcard opsdk/core/fast/*.[ch])
	@python=; \
	for name in $(if $(PYTHON),'$(PYTHON)',$(CANDIDATES)); do \
	    if "$$name" -c '$(SUITABLE)' >/dev/null 2>&1; then python=$$name; break; fi; \
	done; \
	if [ -z "$$python" ]; then \
	    echo "make: expected Python >= 3.10 with the venv module, tried $(or $(PYTHON),$(CANDIDATES));" \
	         "install python3 and python3-venv, or pass PYTHON=/path/to/python3" >&2; \
	    exit 1; \
	fi; \
	echo "$$python -m venv $(VENV)"; \
	"$$python" -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@
