# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help demo test browser check fix docs lock clean bench-frontier bench-throughput bench-crash bench-harvest bench-verdicts bench-training bench-ring bench-papers bench-house bench-stop bench-asking bench-prior bench-adaptation bench-watch bench-revisit bench-languages bench-language bench-categories bench-turkish bench-turkish-crawl bench-search bench-shards bench-spam bench-dead-links
.DEFAULT_GOAL := help

help: ## what can be made here
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 22

$(READY): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Honeyguide needs Python 3.11 or newer; say which: make PYTHON=python3.12 …"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@$(BIN)/uv pip install --quiet --python $(BIN)/python -r requirements.lock -e .
	@touch $@

demo: $(READY) ## a focused crawl of the embedded web, offline, beside breadth-first
	@$(BIN)/honeyguide demo

# Tests start some hundred processes: none should compile a thousand modules again.
test: $(READY) ## the whole test suite, files side by side (tests/conftest.py)
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n logical --maxprocesses 4

browser: $(READY) ## install Chromium for the browser tests, where there is none
	@$(BIN)/python -m tools.install_browser

check: $(READY) ## ruff, mypy, import rules
	@$(BIN)/ruff check src tests bench tools
	@$(BIN)/ruff format --check src tests bench tools
	@$(BIN)/mypy
	@$(BIN)/lint-imports

fix: $(READY) ## let ruff correct what it can
	@$(BIN)/ruff check --fix src tests bench tools
	@$(BIN)/ruff format src tests bench tools

docs: $(READY) ## write the generated pages of the docs
	@$(BIN)/python tools/make_reference.py
	@$(BIN)/python tools/make_api.py
	@$(BIN)/python tools/make_imports.py

# The extras that the tests use. PyTorch is some gigabytes: tests of it skip where it is missing.
LOCKED := --extra lemma --extra notify --extra onnx --extra ontology --extra parquet --extra yaml

lock: ## resolve the pinned versions again
	@$(BIN)/uv pip compile --quiet --universal --upgrade --python-version 3.11 $(LOCKED) --group dev pyproject.toml \
	  --no-emit-index-url --no-header --no-annotate -o requirements.lock

clean: ## remove the environment and what was built
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .hypothesis

bench-frontier: $(READY) ## what a link costs the frontier, from 1 to 10 million (some 15 minutes)
	@$(BIN)/python bench/frontier/run.py

bench-throughput: $(READY) ## CPU per page beside Scrapy, Crawlee and wget (installs them; minutes)
	@$(BIN)/python bench/throughput/run.py

bench-crash: $(READY) ## kill -9 and simulated power cuts at random instants (strace; minutes)
	@$(BIN)/python -m bench.crash.run --write

bench-harvest: $(READY) ## strategies on recorded webs: make bench-harvest FOLDER=… (some 10 minutes)
	@test -n "$(FOLDER)" || { echo "where are the recorded webs? make bench-harvest FOLDER=…"; exit 2; }
	@$(BIN)/python bench/harvest.py "$(FOLDER)"

bench-verdicts: $(READY) ## how right verdicts are, however a topic is told: make bench-verdicts FOLDER=… (an hour)
	@test -n "$(FOLDER)" || { echo "where are the recorded webs? make bench-verdicts FOLDER=…"; exit 2; }
	@$(BIN)/python bench/verdicts.py "$(FOLDER)" --half all --write

bench-training: $(READY) ## how long training runs take, for the lab's simulated ones (minutes)
	@$(BIN)/python bench/training_time.py

bench-spam: $(READY) ## what a spam farm takes of a crawl, in eleven variants (half an hour)
	@$(BIN)/python bench/spam.py

bench-dead-links: $(READY) ## what dead links take of a crawl: make bench-dead-links FOLDER=… (an hour)
	@test -n "$(FOLDER)" || { echo "where are the recorded webs? make bench-dead-links FOLDER=…"; exit 2; }
	@$(BIN)/python bench/dead_links.py "$(FOLDER)"

bench-ring: $(READY) ## CPU per page by station of the crawl loop and by strategy (a minute)
	@$(BIN)/python bench/ring.py

SCHOOLS := wikipedia-schools-2007.jsonl.gz
CLOSED := --closed --disallow /wp/index/ --strip h3\#siteSub
LINK_TOPICS := Science.Biology.Birds Science.Chemistry Science.Physics Design_and_Technology Citizenship \
	History.British_History Language_and_literature Geography.African_Geography
UTILITY_TOPICS := Science.Biology.Health_and_medicine Science.Physics
bench-papers: $(READY) ## the founding papers' experiments: make bench-papers FOLDER=… (half an hour)
	@test -n "$(FOLDER)" || { echo "where are the recorded webs? make bench-papers FOLDER=…"; exit 2; }
	@$(BIN)/honeyguide lab study 000 "$(FOLDER)/$(SCHOOLS)" $(CLOSED) $(addprefix -t ,$(LINK_TOPICS)) --draws 2 --out bench/results/study-000
	@$(BIN)/honeyguide lab study 004 "$(FOLDER)/$(SCHOOLS)" $(CLOSED) $(addprefix -t ,$(UTILITY_TOPICS)) --seeds 10 --good 40 --bad 260 -n 300 --out bench/results/study-004

bench-biology: $(READY) ## the network over an ontology beside keywords: make bench-biology FOLDER=… (a quarter of an hour)
	@test -n "$(FOLDER)" || { echo "where are the recorded webs? make bench-biology FOLDER=…"; exit 2; }
	@$(BIN)/python bench/biology.py "$(FOLDER)"

bench-house: $(READY) ## our strategy: rivals, parts, little to start from: make bench-house FOLDER=… (long)
	@test -n "$(FOLDER)" || { echo "where are the recorded webs? make bench-house FOLDER=…"; exit 2; }
	@$(BIN)/python bench/house.py "$(FOLDER)"

bench-stop: $(READY) ## what is left of a topic, estimated and true: make bench-stop FOLDER=…
	@test -n "$(FOLDER)" || { echo "where are the recorded webs? make bench-stop FOLDER=…"; exit 2; }
	@$(BIN)/python bench/stop.py "$(FOLDER)"

bench-asking: $(READY) ## labels that are asked for, beside others: make bench-asking FOLDER=…
	@test -n "$(FOLDER)" || { echo "where are the recorded webs? make bench-asking FOLDER=…"; exit 2; }
	@$(BIN)/python bench/asking.py "$(FOLDER)"

bench-prior: $(READY) ## learn our strategy's prior again, on the embedded and on synthetic webs
	@$(BIN)/python bench/prior.py --made

bench-adaptation: $(READY) ## self-training crawlers beside static ones: make bench-adaptation FOLDER=…
	@test -n "$(FOLDER)" || { echo "where are the recorded webs? make bench-adaptation FOLDER=…"; exit 2; }
	@$(BIN)/python bench/adaptation.py "$(FOLDER)"

bench-watch: $(READY) ## revisits beside urlwatch, changedetection.io and webchanges (installs them; minutes)
	@$(BIN)/python -m bench.watch.run

bench-revisit: $(READY) ## when to come back: our schedule beside others, simulated (some 10 minutes)
	@$(BIN)/python -m bench.revisit

bench-languages: $(READY) ## language detection and prediction, confusion tables (fetches Django's translations)
	@$(BIN)/python bench/languages.py --write

bench-language: $(READY) ## the language gate beside none: make bench-language FOLDER=…
	@test -n "$(FOLDER)" || { echo "where are the recorded webs? make bench-language FOLDER=…"; exit 2; }
	@$(BIN)/python bench/language_gate.py "$(FOLDER)"

bench-search: $(READY) ## a search engine beside links alone: make bench-search FOLDER=…
	@test -n "$(FOLDER)" || { echo "where are the recorded webs? make bench-search FOLDER=…"; exit 2; }
	@$(BIN)/python bench/search.py "$(FOLDER)"

bench-shards: $(READY) ## shards against one process, on many hosts behind nginx (installs it; minutes)
	@$(BIN)/python -m bench.shards.run --write

bench-categories: $(READY) ## nets and a linear model on labelled texts: make bench-categories FILE=….jsonl.gz
	@test -n "$(FILE)" || { echo "where are the labelled texts? make bench-categories FILE=….jsonl.gz"; exit 2; }
	@$(BIN)/python bench/categories.py "$(FILE)"

bench-turkish: $(READY) ## marks restored and time per page on Turkish texts: make bench-turkish FILE=….jsonl.gz
	@test -n "$(FILE)" || { echo "where are the Turkish texts? make bench-turkish FILE=….jsonl.gz"; exit 2; }
	@$(BIN)/python bench/turkish.py "$(FILE)"

bench-turkish-crawl: $(READY) ## Turkish pages that lost their letters: make bench-turkish-crawl FOLDER=…
	@test -n "$(FOLDER)" || { echo "where are the recorded webs? make bench-turkish-crawl FOLDER=…"; exit 2; }
	@$(BIN)/python bench/turkish_crawl.py "$(FOLDER)"
