# `just check` is what CI runs, but for the real agents; .ci/run installs just and whatever else is missing, and runs all.

set shell := ["bash", "-euo", "pipefail", "-c"]

export RUSTDOCFLAGS := "-D warnings"

_default:
    @just --list --unsorted

# Everything that must hold, without the real agents
check: fmt clippy test doc deny

# Formatting, compared
fmt:
    cargo fmt --all -- --check

# Formatting, done
format:
    cargo fmt --all

# Lints, none of them left
clippy:
    cargo clippy --workspace --all-targets --locked -- -D warnings

# Every test but those with the real agents
test:
    cargo test --workspace --locked

# Documentation without a warning
doc:
    cargo doc --workspace --no-deps --locked --document-private-items

# Licences, banned and doubled crates, where crates come from; not advisories
deny:
    cargo deny --locked check licenses bans sources

# Known holes in dependencies; fetches the advisory database
advisories:
    cargo deny --locked check advisories

# The first thing that a stranger runs
demo:
    cargo run --release --locked -- demo

# Writes schema/json anew from the types
schemas:
    UPDATE_SCHEMAS=1 cargo test -p ckpt-schema --locked --test schemas

# Writes hook/packages anew from the tables of the settings
packages:
    UPDATE_PACKAGES=1 cargo test -p ckpt-hook --locked --bin ckpt-hook packages

# The real agent CLIs from npm on a scripted model; exit code 77: not run
agents:
    tests/agents/run
