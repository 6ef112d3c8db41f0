# `just check` runs the checks that need nothing but Rust and git. CI runs `.ci/run`: it installs just and whatever else is
# missing, and runs also the fuzzers, the book, the demo, the real agents, the clients, the page, the example front end and the SQL tools.

set shell := ["bash", "-euo", "pipefail", "-c"]

export RUSTDOCFLAGS := "-D warnings"

_default:
    @just --list --unsorted

# Formatting, lints, tests, schemas, documentation, licences; CI runs `.ci/run`, which does more
check: fmt clippy (test "--strict") doc deny

# What is worth a minute after each edit: formatting, the unit tests of all crates, rooms, documentation and schemas. It names the
# whole workspace, because a crate by itself has its dependencies built with other features
quick: fmt
    cargo test --workspace --locked --quiet --lib --bins --test rooms --test documentation --test schemas

# Formatting, compared
fmt:
    cargo fmt --all -- --check

# Formatting, done
format:
    cargo fmt --all

# Lints, none of them left
clippy:
    cargo clippy --workspace --all-targets --locked -- -D warnings

# Every test but those with the real agents, without anything of this machine's settings, and then the names of those that did
# not run; `--strict` fails for each that `.ci/may-skip` does not name
test *options:
    .ci/test {{options}}

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

# Writes schema/json anew from the types; then the types of the clients are behind: `just clients --write`
schemas:
    UPDATE_SCHEMAS=1 cargo test -p ckpt-schema --locked --test schemas

# The clients in TypeScript and Python: types compared with the schema, strict compilers, tests against the real binary; `--write`
# writes the types anew; exit code 77: no npm or no Python, nothing was checked
clients *options:
    .ci/clients {{options}}

# The extension for VS Code and its relatives: types, tests against the real binary, and the package, into a folder if one is named;
# `--theia` clicks through it in Theia, in a real Chromium; exit code 77: no npm, and for `--theia` no Chromium or Theia, nothing was checked
vscode *options:
    .ci/vscode {{options}}

# The page of `ckpt-hook page` in a real Chromium, by Playwright; `--shots` takes the pictures of the documentation anew; exit code
# 77: no npm or no Chromium, nothing was checked
page *options:
    .ci/page {{options}}

# The example front end of docs/embedding.md, on Chainlit, in a real Chromium; exit code 77: no npm, no Python or no Chromium,
# nothing was checked
chat:
    .ci/chat

# The questions of docs/database.md asked with sqlite3, sqlite-utils and Datasette, of a store with 20,000 steps; `--measure` says how
# long each takes; exit code 77: no Python, nothing was asked
sql *options:
    .ci/sql {{options}}

# Writes hook/packages anew from the tables of the settings
packages:
    UPDATE_PACKAGES=1 cargo test -p ckpt-agents --locked packages

# Real agent CLIs from npm on a scripted model: those named, or those that CI runs; exit code 77: some did not run
agents *names:
    tests/agents/run {{names}}

# All of the real agents, which takes a quarter of an hour
agents-all:
    tests/agents/run --all

# Four versions of each agent (or of those named), oldest supported to newest, and some too old: half an hour, and 10 GB of disk
agents-versions *names:
    tests/agents/run --versions {{names}}

# What is new: the versions of the agents' registries beside those that the tests run, what the newer ones send to hooks that no
# recording has, and the stories with them
agents-new *names:
    tests/agents/new {{names}}

# System calls, syncs, transactions and programs of a hook's call, told as numbers; `just test` holds their limits
cost:
    cargo test -p ckpt-hook --locked --test cost -- --nocapture

# Every operation killed at every system call, twice and thrice too, and failed at every call, two hundred power cuts, and every byte
# of a small store damaged: two hours on two cores
crash:
    @strace -o /dev/null true || { echo "NOT RUN: kills and errors: strace does not run here"; exit 77; }
    CKPT_FULL=1 cargo test -p ckpt-store --locked --test apply crash -- --nocapture
    CKPT_FULL=1 cargo test -p ckpt-hook --locked --test crash -- --nocapture
    CKPT_FULL=1 cargo test -p ckpt-store --locked --test scenarios damaged_anywhere -- --nocapture
    CKPT_FULL=1 cargo test -p ckpt-store --locked --test scenarios owner -- --nocapture

# Fuzzes everything that reads foreign bytes, with the address sanitizer: all fuzzers or those named, each for this many seconds (an
# hour). Without a nightly toolchain none runs, and the exit code is 77
fuzz seconds="3600" *names:
    fuzz/run {{seconds}} {{names}}

# Large and deep workspaces, many packs, and trees compared with git's, on a release build: minutes, and 12 GB of disk
scale:
    cargo test --release -p ckpt-hook --locked --test scale -- --ignored --nocapture --test-threads 1 --skip the_store_of
    cargo test --release -p ckpt-bench --locked --test bench -- --ignored

# What a store takes after 20,000 steps and after a year of ordinary days, on disk and of time, on a release build: an hour; fewer
# with CKPT_STEPS and CKPT_DAYS
year:
    cargo test --release -p ckpt-hook --locked --test scale year:: -- --ignored --nocapture --test-threads 1

# Measures in trees (s, m, l, xl; more options: --cold, --rounds) and writes the tables and plots of docs/performance.md and bench/targets.md anew
bench *trees="s m":
    cargo build --release --locked -p ckpt-bench
    packaging/binary target/release-binary
    target/release/ckpt-bench --hook target/release-binary/ckpt-hook {{trees}}

# Everything that a release has for this machine's target, into a folder
release folder="target/release-files":
    .ci/install "${CKPT_TOOLS:-$HOME/.cache/ckpt-hook-tools}" --packaging
    PATH="${CKPT_TOOLS:-$HOME/.cache/ckpt-hook-tools}/bin:$PATH" packaging/release {{folder}}

# Tries the files of a release in roots without a toolchain: installed, used, upgraded, removed; needs root; exit code 77: none ran
release-try folder="target/release-files" *trials:
    PATH="${CKPT_TOOLS:-$HOME/.cache/ckpt-hook-tools}/bin:$PATH" packaging/try {{folder}} {{trials}}

# The files of a release from an older commit, to upgrade from: a release build of that commit
release-older commit folder="target/release-older":
    PATH="${CKPT_TOOLS:-$HOME/.cache/ckpt-hook-tools}/bin:$PATH" packaging/older {{commit}} {{folder}}

# Upgrades from the files of an older release to those of this one, in roots without a toolchain: a store, a hook in an agent's settings
# and an open session of the older version, used on by this one; needs root; exit code 77: none ran
release-upgrade older="target/release-older" folder="target/release-files" *trials:
    PATH="${CKPT_TOOLS:-$HOME/.cache/ckpt-hook-tools}/bin:$PATH" packaging/try --over {{older}} {{folder}} {{trials}}

# The files of a release in roots without a toolchain: the trials that CI plays, with the program that the tests use, or those that are
# named, with a build of its own; needs root; exit code 77: none ran
release-quick *trials:
    .ci/packages {{trials}}

# Makes the files of a release twice, in different folders, and compares the bytes of all of them: two release builds
release-twice *parts:
    .ci/install "${CKPT_TOOLS:-$HOME/.cache/ckpt-hook-tools}" --packaging
    PATH="${CKPT_TOOLS:-$HOME/.cache/ckpt-hook-tools}/bin:$PATH" packaging/twice {{parts}}

# What crates.io would be sent, in order: from a clean clone, each built from its package
publish-check *options:
    packaging/publish-check {{options}}

# The syntax of the workflows, the Nix flake and the Homebrew formula, and where Nix is here, that the flake evaluates; exit code
# 77: the tools are not here, nothing was read
syntax:
    packaging/syntax

# Type-checks the program for macOS; exit code 77: that target is not here
check-macos:
    packaging/check-macos

# The library's tests with the calls of systems that are not Linux (store/src/fs/system): a build of its own
portable:
    RUSTFLAGS="--cfg ckpt_portable" cargo test -p ckpt-store --locked --target-dir target/portable --lib --test snapshot --test apply --test scenarios

# The same twenty scenarios with ckpt-hook and with what one would use instead, the real programs of each; `--write` writes
# docs/comparison.md anew, `--only NAME` plays one of them; minutes, on a release build
compare *options:
    cargo build --release --locked -p ckpt-hook
    tests/compare/compare.py --hook target/release/ckpt-hook {{options}}

# Draws the picture of the README's first screen again, from what the program prints
picture:
    UPDATE_EXPECT=1 cargo test --workspace --locked --test cli -- picture

# Writes docs/invariants.md anew from the comments of the tests
invariants:
    UPDATE_INVARIANTS=1 cargo test -p ckpt-schema --locked --test documentation invariants

# The documentation as a book with a search, below target/book, and that each of its links leads somewhere; CKPT_SOURCES is the address
# of the repository's files, if the book shall link to them; exit code 77: mdbook is not here
book:
    @command -v mdbook >/dev/null || { echo "NOT RUN: mdbook is not here: cargo install mdbook"; exit 77; }
    mdbook build
    python3 packaging/book.py --check target/book
