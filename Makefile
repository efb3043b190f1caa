# `make` alone lists the targets.
SHELL := /bin/bash
.DEFAULT_GOAL := help
VENV := .venv
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := $(VENV)/bin
# The minors whose control planes `make ci-tools` can build.
MINORS := 1.34 1.35 1.36 1.37
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
DEMO := $(BIN)/python -m kubectl_plugin explain --demo
VERSION := $(shell sed -n 's/^__version__.*"\(.*\)"$$/\1/p' podrules/__init__.py)
# Outside the tree, so that the first check of a clone is fast, too; inside where there is no home folder.
MYPY_CACHE = $(shell cache="$${XDG_CACHE_HOME:-$$HOME/.cache}/kubectl-qos/mypy"; \
  mkdir -p "$$cache" 2>/dev/null && echo "$$cache" || echo .mypy_cache)
IMAGE ?= localhost/kubectl-qos/qos-webhook:$(VERSION)
BASED_ON := docker.io/library/python:3.13-slim-bookworm
# Packages of the plugin alone, and those that only kubernetes.aio imports, which nothing here uses.
NOT_IN_IMAGE := numpy protobuf aiohttp aiohttp-retry aiohappyeyeballs aiosignal attrs frozenlist multidict propcache yarl
# The folder with the helm that `make ci-tools` built, for a machine that has none of its own.
BUILT_HELM = $(shell $(BIN)/python -c 'from tests.controlplane.binaries import Binaries, find_binaries; \
  found = find_binaries(["helm"]); print(found["helm"].parent if isinstance(found, Binaries) else "")')

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; name it with make PYTHON=…")'
	$(PYTHON) -m venv $(VENV)

# Compiled here once, so that the plugin starts fast even if PYTHONDONTWRITEBYTECODE is set.
$(VENV)/.plugin: requirements/plugin.txt | $(BIN)/python
	$(PIP) install --require-hashes -r requirements/plugin.txt
	env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m compileall -q podrules cluster_io kubectl_plugin
	@touch $@

$(VENV)/.dev: requirements/dev.txt pyproject.toml | $(BIN)/python
	$(PIP) install --require-hashes -r requirements/dev.txt
	$(PIP) install --no-deps --no-build-isolation --editable .
	env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m compileall -q podrules cluster_io kubectl_plugin webhook
	@touch $@ $(VENV)/.plugin $(VENV)/.webhook

$(VENV)/.webhook: requirements/webhook.txt | $(VENV)/.plugin
	$(PIP) install --require-hashes -r requirements/webhook.txt
	env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m compileall -q webhook
	@touch $@

$(VENV)/.fuzz: requirements/fuzz.txt | $(VENV)/.dev
	$(PIP) install --require-hashes -r requirements/fuzz.txt
	@touch $@

demo: $(VENV)/.plugin $(VENV)/.webhook ## explain pods and a node of the built-in demo cluster; ask the webhook
	@$(DEMO) -n shop pod/checkout-mv9cgvs6p-x2x7p pod/db-1 pod/catalog-8wstmlzv2-9jd4z
	@echo; $(DEMO) -n monitoring pod/log-agent-vqkbz
	@echo; $(DEMO) -n data pod/postgres-0
	@echo; $(DEMO) node/node-b2
	@echo; $(BIN)/python -m webhook.demo

test: $(VENV)/.dev ## lint, and tests of every row; CI=true requires those on the real control plane
	$(BIN)/python -m tests.gate --jobs $(or $(JOBS),2)

test-all: $(VENV)/.dev ## also slow tests: all faults, restarts, releases, hundreds of pods, new random cases
	$(BIN)/python -m tests.gate --long --jobs $(or $(JOBS),2)
	$(BIN)/python -m tests.parity.run -n $(or $(N),1000) --seed $(or $(SEED),$(shell date +%Y%m%d))

soak: $(VENV)/.dev ## the tests RUNS (5) times, each in another order and time zone, with pauses of all processes; root
	$(BIN)/python -m tests.gate.soak --runs $(or $(RUNS),5) --seed $(or $(SEED),1) --jobs $(or $(JOBS),2)

chaos: $(VENV)/.dev ## create PODS (5000) on a real API server under each fault of the webhook: none may be lost
	CI=true CHAOS_PODS=$(or $(PODS),5000) $(BIN)/python -m pytest -s -q --long --durations=0 tests/webhook/faults

siege: CLAIMS := $(shell grep -oE 'tests/[a-z_/]+\.py::\w+' docs/threat-model.md | grep -v webhook/siege | sort -u)
siege: $(VENV)/.dev ## attacks on rules and server: tenants, floods, REVIEWS (200000) grown from schemas, ASKED (5000) on an API server
	CI=true SIEGE=1 SIEGE_REVIEWS=$(or $(REVIEWS),200000) SIEGE_ASKED=$(or $(ASKED),5000) SIEGE_SEED=$(or $(SEED),1) \
	  timeout 3600 $(BIN)/python -m pytest -s -q --long --durations=0 tests/webhook/siege $(CLAIMS)

fuzz: $(VENV)/.fuzz ## damage reviews for SECONDS (60), guided by the lines that they reach; stops when a handler fails
	mkdir -p build
	cd build && PYTHONPATH=.. ../$(BIN)/python -m tests.webhook.fuzz -max_total_time=$(or $(SECONDS),60)

lint: $(VENV)/.dev ## formatting, lint, types, layers, prose
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy --cache-dir="$(MYPY_CACHE)"
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m tests.prose

format: $(VENV)/.dev ## format the code, and mend what ruff can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

parity: $(VENV)/.dev ## ask upstream's own code N new random cases of each suite, from SEED; VERSION= (1.37), SUITE=; needs Go
	$(BIN)/python -m tests.parity.run -n $(or $(N),1000) --seed $(or $(SEED),20261121) \
	  $(if $(findstring command,$(origin VERSION)),--kubernetes-version $(VERSION)) $(if $(SUITE),--suite $(SUITE))

workloads: $(VENV)/.dev ## N (300) random workloads of SEED (2) on real controllers and scheduler: each pod as predicted
	CI=true WORKLOADS=$(or $(N),300) WORKLOADS_SEED=$(or $(SEED),2) $(BIN)/python -m pytest -s -q --long \
	  tests/e2e/test_workloads.py::test_S4_hundreds_of_workloads

corpus: $(VENV)/.dev ## manifests of other projects on API servers of all minors, beside our answers; ONLY=, MINORS=, MIRRORS=folder of git repositories
	$(BIN)/python -m tests.corpus $(if $(MIRRORS),--mirrors $(MIRRORS)) $(if $(ONLY),--only $(ONLY)) \
	  $(if $(findstring command,$(origin MINORS)),--minors $(subst 1.,,$(MINORS)))

rows: $(VENV)/.dev ## rows of the specification and their tests
	$(BIN)/python -m tests.rows

bench: $(VENV)/.dev ## start-up and answer times, the webhook; ratios to python, kubectl and a Go webhook; PART=plugin|webhook
	$(BIN)/python -m tests.bench.bench $(PART)

scale: $(VENV)/.dev ## questions to large clusters, compared with kubectl: NODES="500 1000 5000" PODS= ROUNDS= FORMATS=1
	$(BIN)/python -m tests.scale.run $(if $(NODES),--nodes $(NODES)) $(if $(PODS),--pods $(PODS)) \
	  $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(FORMATS),--formats)

report-scale: $(VENV)/.dev ## the page of NODES (5000) and PODS (150000): size, time to make it, to open it, to search
	mkdir -p build
	$(BIN)/python -m tests.report.large $(or $(NODES),5000) $(or $(PODS),150000) build/large.html

docs: $(VENV)/.dev ## regenerate outputs in README and docs, golden files, JSON Schemas
	UPDATE_GOLDEN=1 $(BIN)/python -m pytest -q tests/kubectl_plugin/test_golden.py tests/kubectl_plugin/test_docs.py \
	  tests/kubectl_plugin/commands/test_lint.py \
	  tests/kubectl_plugin/reports/test_schema.py tests/kubectl_plugin/test_safety_commands.py \
	  tests/kubectl_plugin/commands/test_rights.py tests/podrules/ending/died/test_table.py \
	  tests/e2e/test_partitions.py tests/cluster_io/test_demo_data.py \
	  tests/webhook/reviews/test_recorded.py tests/webhook/test_examples.py tests/webhook/test_main.py tests/charts/test_readme.py \
	  tests/charts/test_golden.py tests/charts/test_policies.py tests/charts/test_policies_page.py

man: $(VENV)/.plugin ## manual pages of all commands, to dist/man; `man -l dist/man/kubectl-qos.1`
	$(BIN)/python -m kubectl_plugin.manual dist/man

real-node: $(VENV)/.dev ## compare predictions with a real kubelet and runtime; FULL=1 also how pods end; root
	$(BIN)/python -m tests.real_node

lock: $(VENV)/.dev ## pin every dependency with its hashes
	$(PIP) install uv
	$(BIN)/uv pip compile -q --generate-hashes --no-header --universal --python-version 3.11 pyproject.toml -o requirements/plugin.txt
	$(BIN)/uv pip compile -q --generate-hashes --no-header --universal --python-version 3.11 pyproject.toml \
	  --extra webhook -o requirements/webhook.txt
	$(BIN)/uv pip compile -q --generate-hashes --no-header --universal --python-version 3.11 pyproject.toml \
	  --extra webhook $(addprefix --no-emit-package ,$(NOT_IN_IMAGE)) -o requirements/image.txt
	$(BIN)/uv pip compile -q --generate-hashes --no-header --universal --python-version 3.11 --group image -o requirements/image-build.txt
	$(BIN)/uv pip compile -q --generate-hashes --no-header --universal --python-version 3.11 --group fuzz -o requirements/fuzz.txt
	$(BIN)/uv pip compile -q --generate-hashes --no-header --universal --python-version 3.11 pyproject.toml \
	  --extra incluster --extra dra --extra webhook --group build --group release --group docs --group test --group lint -o requirements/dev.txt

ci-tools: ## install what the full suite needs (Debian, root): Go, and the control plane built with it; VERSIONS="1.34 1.37"
	VERSIONS="$(VERSIONS)" .ci/tools

versions: $(VENV)/.dev ## live on every minor: 200 pods each beside its scheduler, chart and webhook on the oldest and newest
	CI=true PLACEMENT_MINORS="$(MINORS)" $(BIN)/python -m pytest -q tests/e2e/test_placement.py
	for minor in $(firstword $(MINORS)) $(lastword $(MINORS)); do CI=true CONTROL_PLANE_MINOR=$$minor $(BIN)/python -m pytest -q \
	  tests/charts/test_on_api_server.py tests/webhook/test_story.py tests/e2e/test_explain_pod.py || exit 1; done

image: ## the webhook's image with buildah; IMAGE=, BASE= by digest, and PIP_INDEX_URL where the index is not the public one
	@$(if $(findstring @sha256:,$(BASE)),,echo 'BASE: name the base by digest: make image BASE=$(BASED_ON)@sha256:…; for the digest: skopeo inspect --format "{{.Digest}}" docker://$(BASED_ON)' >&2; exit 2)
	buildah build --tag $(IMAGE) --build-arg BASE=$(BASE) \
	  $(if $(PIP_INDEX_URL),--build-arg PIP_INDEX_URL=$(PIP_INDEX_URL)) \
	  --build-arg VERSION=$(VERSION) --build-arg REVISION=$(shell git rev-parse HEAD 2>/dev/null) .

sbom: ## the image's bill of materials (CycloneDX), to dist/; after make image
	mkdir -p dist
	container=$$(buildah from --pull-never $(IMAGE)) && trap "buildah rm $$container >/dev/null" EXIT \
	  && cp "$$(buildah mount $$container)/opt/qos-webhook/sbom.cdx.json" dist/qos-webhook-$(VERSION).cdx.json

dist: $(VENV)/.dev ## a release in dist/: wheel, one executable file, Krew manifest, chart (helm); ALL=1, IMAGE=, SIGNING_KEY=
	PATH="$$PATH:$(BUILT_HELM)" $(BIN)/python -m release.build $(if $(ALL),--all-platforms) $(if $(URL),--url $(URL)) \
	  $(if $(filter-out file,$(origin IMAGE)),--image "$(IMAGE)") $(if $(SIGNING_KEY),--signing-key "$(SIGNING_KEY)")

site: $(VENV)/.dev ## the documentation as a site, to dist/site
	$(BIN)/python -m release.reference docs/reference
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -b html docs dist/site

clean: ## remove everything that make created
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build

.PHONY: corpus report-scale help demo test test-all soak chaos siege fuzz lint format parity workloads rows bench scale docs man real-node lock ci-tools image sbom dist site clean versions
