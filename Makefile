# make demo   the main job on bundled data: a table, report.html and fits.csv in ./levelkit-demo
# make test   the test suite            make check  format, lint and types
# make bench  speed and accuracy side by side with what one would write today
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
TAG := $(shell $(PYTHON) -c 'import sys; print("py%d%d" % sys.version_info[:2])')
CONSTRAINTS := $(wildcard constraints/$(TAG).txt)
PIN := $(if $(CONSTRAINTS),-c $(CONSTRAINTS))
STAMP := $(VENV)/.installed-$(TAG)
WORKERS ?= 2

.PHONY: demo test check bench format clean

$(STAMP): pyproject.toml $(CONSTRAINTS)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	if command -v uv >/dev/null 2>&1; then \
	  uv pip install -q -p $(BIN)/python $(PIN) -e '.[dev]'; \
	else \
	  $(BIN)/python -m pip install -q --disable-pip-version-check $(PIN) -e '.[dev]'; \
	fi
	touch $@

demo: $(STAMP)
	$(BIN)/levelkit demo

test: $(STAMP)
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMP)
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/qre.py
	$(BIN)/python benchmarks/depth.py
	$(BIN)/python benchmarks/observer.py

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .mypy_cache .hypothesis levelkit-demo
