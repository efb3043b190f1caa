# `make` alone lists the targets.
SHELL := /bin/bash
.DEFAULT_GOAL := help
VENV := .venv
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
DEMO := $(BIN)/python -m kubectl_plugin explain --demo

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; name it with make PYTHON=…")'
	$(PYTHON) -m venv $(VENV)

# Bytecode is made once here, for a plugin has to start fast also where PYTHONDONTWRITEBYTECODE is set.
$(VENV)/.plugin: requirements/plugin.txt | $(BIN)/python
	$(PIP) install --require-hashes -r requirements/plugin.txt
	env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m compileall -q podrules kubectl_plugin
	@touch $@

$(VENV)/.dev: requirements/dev.txt pyproject.toml | $(BIN)/python
	$(PIP) install --require-hashes -r requirements/dev.txt
	$(PIP) install --no-deps --no-build-isolation --editable .
	env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m compileall -q podrules kubectl_plugin webhook
	@touch $@ $(VENV)/.plugin $(VENV)/.webhook

$(VENV)/.webhook: requirements/webhook.txt | $(VENV)/.plugin
	$(PIP) install --require-hashes -r requirements/webhook.txt
	env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m compileall -q webhook
	@touch $@

demo: $(VENV)/.plugin $(VENV)/.webhook ## explain pods and a node of the built-in demo cluster; ask the webhook
	@$(DEMO) -n shop pod/checkout-mv9cgvs6p-x2x7p pod/db-1 pod/catalog-8wstmlzv2-9jd4z
	@echo; $(DEMO) -n monitoring pod/log-agent-vqkbz
	@echo; $(DEMO) -n data pod/postgres-0
	@echo; $(DEMO) node/node-b2
	@echo; $(BIN)/python -m webhook.demo

test: $(VENV)/.dev lint ## all tests; with CI=true those on the real control plane must run
	$(BIN)/python -m pytest

lint: $(VENV)/.dev ## formatting, lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

parity: $(VENV)/.dev ## upstream's own code on N new random cases a suite, SEED for others; needs Go
	$(BIN)/python -m tests.parity.run -n $(or $(N),1000) --seed $(or $(SEED),20261121)

rows: $(VENV)/.dev ## rows of the specification and their tests
	$(BIN)/python tests/rows.py

bench: $(VENV)/.dev ## start-up and answer times, reviews of the webhook; as ratios to python, kubectl and a Go webhook
	$(BIN)/python -m tests.bench.bench

docs: $(VENV)/.dev ## regenerate outputs in README and docs, golden files, JSON Schemas
	UPDATE_GOLDEN=1 $(BIN)/python -m pytest -q tests/kubectl_plugin/test_golden.py tests/kubectl_plugin/test_docs.py \
	  tests/webhook/test_recorded.py tests/charts/test_readme.py

lock: $(VENV)/.dev ## pin every dependency with its hashes
	$(PIP) install uv
	$(BIN)/uv pip compile -q --generate-hashes --no-header --universal --python-version 3.11 pyproject.toml -o requirements/plugin.txt
	$(BIN)/uv pip compile -q --generate-hashes --no-header --universal --python-version 3.11 pyproject.toml \
	  --extra webhook -o requirements/webhook.txt
	$(BIN)/uv pip compile -q --generate-hashes --no-header --universal --python-version 3.11 pyproject.toml \
	  --extra incluster --extra dra --extra webhook --group build --group test --group lint -o requirements/dev.txt

ci-tools: ## what the full suite needs beyond Python (Debian, root): Go, and the control plane built with it
	.ci/tools

clean: ## remove what make made
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build

.PHONY: help demo test lint parity rows bench docs lock ci-tools clean
