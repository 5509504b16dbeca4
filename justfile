# The verbs of this project: `just` lists them. Each line also works by hand; CONTRIBUTING.md says when to use which.

python := ".venv/bin/python"

# List the verbs.
default:
    @just --list

# Install what the tests need.
install:
    python3 -m venv .venv && .venv/bin/pip install -q -r tests/requirements.txt

# Run the default suite, as CI does first.
test *words:
    {{python}} -m pytest {{words}}

# Run the tests of one room: just quick urls
quick room:
    {{python}} -m pytest -q tests/{{room}} tests/house

# Check style, imports and types.
lint:
    .venv/bin/ruff check .
    .venv/bin/ruff format --check .
    .venv/bin/mypy

# Check the documents against the code, and make a site of them: build/site/index.html.
docs:
    {{python}} -m pytest -q tests/house tests/hostile/test_docs.py
    .ci/docs

# Run every command of README and the guides, in fresh environments.
commands:
    .ci/commands

# Print the table of benchmarks, or run one: just bench urls
bench name="" *words:
    {{python}} -m benchmarks{{ if name == "" { "" } else { "." + name } }} {{words}}

# Print the figures of README anew, on a quiet machine: with the ten million pages that it has, hours.
figures pages="1000000 3000000 10000000":
    {{python}} -m benchmarks webcrawl
    {{python}} -m benchmarks.large -s OUTPUTS= --marks 100000 {{pages}} --restart {{pages}}
    {{python}} -m benchmarks.peers
    {{python}} -m benchmarks.site

# What CI repeats every week: what is long, or needs the package index.
weekly:
    .ci/weekly

# What a machine of one's own repeats every night: campaign, and figures of a smaller crawl.
nightly: (campaign "build/campaign" "--hours" "8") (figures "300000")

# Kill, break and starve crawls for hours; the same line goes on where it was stopped: docs/campaign.md
campaign folder="build/campaign" *words:
    {{python}} -m tests.campaign {{folder}} {{words}}
