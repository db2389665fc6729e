.PHONY: check format lint types test benchmark schemas models fit

PYTHON ?= python

check: lint types test

format:
	$(PYTHON) -m ruff format .
	$(PYTHON) -m ruff check --fix .

lint:
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m ruff check .

types:
	$(PYTHON) -m mypy

test:
	$(PYTHON) -m pytest -q

benchmark:
	$(PYTHON) benchmarks/start.py
	$(PYTHON) benchmarks/curve.py
	$(PYTHON) benchmarks/sweep.py
	$(PYTHON) benchmarks/tiered.py
	$(PYTHON) benchmarks/simulate.py

schemas:
	$(PYTHON) scripts/write_schemas.py

models:
	$(PYTHON) scripts/import_models.py

fit:
	$(PYTHON) scripts/fit_prefill.py
	$(PYTHON) scripts/write_curves.py
