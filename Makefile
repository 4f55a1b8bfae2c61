# The commands of this project. Each sets up what it needs and says what it is doing.
PYTHON ?= python3
# Threads that wait must not spin: on a busy machine a step would take ten times as long.
export OMP_WAIT_POLICY := PASSIVE
BIN := .venv/bin
READY := .venv/ready

.PHONY: help demo test check format figures lock clean

help:
	@echo "make demo     train three models on real text and compare them (5 minutes)"
	@echo "make test     run the tests"
	@echo "make check    everything that must hold: format, lint, types, tests, README"
	@echo "make format   put the code and the README into shape"
	@echo "make figures  make the README's figure again (20 minutes)"

$(READY): requirements.lock pyproject.toml
	@echo "== Setting up .venv with the locked dependencies; the first time this takes a few minutes"
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "domaingate needs Python 3.11 or newer")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $(READY)

demo: $(READY)
	@echo "== Demonstration: tweets, reviews and editorials, one kind of text held out"
	$(BIN)/python examples/demo.py

test: $(READY)
	@echo "== Tests"
	$(BIN)/pytest

check: $(READY)
	@echo "== Format, lint, types"
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	@echo "== README: its help text, its file map"
	$(BIN)/python tools/readme.py --check
	@echo "== Tests, and the README's code"
	$(BIN)/pytest

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/python tools/readme.py

figures: $(READY)
	$(BIN)/python examples/planted.py --out docs

lock: $(READY)
	$(BIN)/python -m pip list --format=freeze --exclude domaingate --exclude pip --exclude setuptools \
		| sed 's/+cpu$$//' > requirements.lock

clean:
	rm -rf .venv demo-out .pytest_cache .ruff_cache .mypy_cache
