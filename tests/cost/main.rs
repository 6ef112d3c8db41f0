//! What a call of the hook costs where the machine does not matter: system calls, syncs, write transactions and programs.
//!
//! Counts are not noisy, so they are the gate: a number that grows is a decision. `strace` counts; `just cost` tells the numbers.

#![expect(
    clippy::print_stdout,
    reason = "the counts are told, so that the limits can follow them"
)]

mod instructions;
mod nothing;
mod workspace;

use serde_json::json;
use testing::binary::Sandbox;
use testing::count::{self, Counts};
use testing::rows;
use testing::skip::{has_strace, is_debug_build};
use workspace::SizedWorkspace;

/// How many system calls a snapshot without changes may make besides one a file and three a directory. 60 is the aim
/// (`files + 3 x directories + 60`); what is over it are the start of the process, SQLite, the rows and the look at the
/// user's repository. Lower it whenever it is possible, and never raise it without a reason that stands here.
const OVERHEAD: u64 = 415;

/// Calls that a thread makes or not as it happens to wait for another: they are no work.
const NOISE: u64 = 12;

/// A call without changes makes one system call a file and three a directory.
#[test]
fn unchanged_call_makes_the_least_system_calls() {
    if !has_strace() || !is_debug_build() {
        return;
    }
    for tree in SizedWorkspace::both() {
        for event in ["step_start", "step_finish"] {
            let counts = tree.counts(event);
            let limit = tree.files() + 3 * tree.directories() + OVERHEAD + NOISE;
            println!(
                "{event}: {} calls of {limit}, {} files",
                counts.calls,
                tree.files()
            );
            assert!(
                counts.calls <= limit,
                "{event}: {} calls are more than {limit}: {counts:?}",
                counts.calls
            );
        }
    }
}

/// What a call costs besides does not grow with the tree.
#[test]
fn fixed_cost_ignores_the_trees_size() {
    if !has_strace() || !is_debug_build() {
        return;
    }
    let [small, large] = SizedWorkspace::both();
    let (few, many) = (
        small.counts("step_start").calls,
        large.counts("step_start").calls,
    );
    let more = large.files() - small.files() + 3 * (large.directories() - small.directories());
    println!("{few} calls, and {many} for {more} more");
    assert!(
        many <= few + more + NOISE,
        "{many} calls for {more} more than {few}"
    );
}

/// A call without changes syncs nothing and writes no pack.
#[test]
fn unchanged_call_syncs_and_packs_nothing() {
    if !has_strace() || !is_debug_build() {
        return;
    }
    let tree = SizedWorkspace::small();
    for event in ["step_start", "step_finish"] {
        let packs = tree.packs();
        let counts = tree.counts(event);
        assert_eq!(
            counts.syncs, 0,
            "{event}: the rows of steps may wait for the next checkpoint: {counts:?}"
        );
        assert_eq!(tree.packs(), packs, "{event}: there is nothing to store");
    }
}

/// Calls that an event may add where it is unclear whose a change is.
const UNCLEAR: u64 = 10;

/// A call costs hardly more where a change is unclear.
#[test]
fn unclear_change_costs_hardly_more() {
    if !has_strace() || !is_debug_build() {
        return;
    }
    let tree = SizedWorkspace::small();
    let calls_of_step = || {
        tree.settle();
        tree.counts("step_start");
        tree.edit(1);
        tree.counts("step_finish").calls
    };
    let clear = calls_of_step();
    assert_eq!(tree.unclear(), 0, "it is the agent's");
    // From now on it is known to report its tools.
    tree.counts("step_start");
    tree.counts_of_edit("d000/f5");
    tree.counts("step_finish");
    let unclear = calls_of_step();
    assert_eq!(tree.unclear(), 1, "no tool of the step was reported");
    println!("{clear} calls, and {unclear} where it is unclear");
    assert!(unclear <= clear + UNCLEAR + NOISE, "{clear} and {unclear}");
}

#[test]
fn a_call_writes_its_rows_in_few_transactions() {
    if !has_strace() || !is_debug_build() {
        return;
    }
    let tree = SizedWorkspace::small();
    for event in ["user_message", "step_start", "step_finish", "turn_end"] {
        let counts = tree.counts(event);
        println!("{event}: {} transactions", counts.transactions);
        assert!(counts.transactions <= TRANSACTIONS, "{event}: {counts:?}");
    }
}

/// Write transactions of one call: that it runs, its rows, that it ended.
const TRANSACTIONS: u64 = 3;

/// What an event asks of the database does not grow with the steps before it.
///
/// Invariant `agent/cost`: The cost of a step does not grow with the number of steps before it.
#[test]
fn events_queries_ignore_earlier_steps() {
    if !has_strace() || !is_debug_build() {
        return;
    }
    let world = Sandbox::new();
    let events = ["user_message", "step_start", "step_finish", "turn_end"];
    let turns = |from: usize, to: usize| {
        for number in from..to {
            for event in events {
                if event == "step_finish" {
                    world.write("edited", format!("{number}\n"));
                }
                let message = format!("m{number}");
                world
                    .event(json!({"event": event, "session_id": "s", "message_id": message}))
                    .ends_silently();
            }
        }
    };
    let asked = |number: usize| {
        events.map(|event| {
            if event == "step_finish" {
                world.write("edited", format!("{number}\n"));
            }
            let cwd = world.workspace();
            let message = format!("m{number}");
            let payload =
                json!({"event": event, "session_id": "s", "message_id": message, "cwd": cwd});
            count::count(&world, &payload.to_string(), &[])
        })
    };
    // Now and then one of them also moves the log into the database.
    let least = |number: usize| {
        let rounds = [number, number + 1, number + 2].map(asked);
        (0..events.len())
            .map(|event| rounds.iter().map(|round| round[event].pages).min())
            .collect::<Option<Vec<_>>>()
            .expect("three rounds")
    };
    turns(0, 30);
    let early = least(30);
    turns(33, 200);
    let late = least(200);
    for (event, (early, late)) in events.iter().zip(early.into_iter().zip(late)) {
        println!("{event}: {early} pages of the database after 30 turns, {late} after 200");
        assert!(early > 5, "{event}: pages are counted");
        assert!(
            late <= early + MORE_PAGES,
            "{event}: {early} pages became {late}"
        );
    }
}

/// How many pages more an event may read in a store with 170 turns more: tables and indexes are one level deeper. Who looks at every
/// message or step reads a page more for each eight of them.
const MORE_PAGES: u64 = 15;

/// A list of messages opens the database once however many steps there are.
#[test]
fn list_of_messages_opens_the_database_once() {
    if !has_strace() || !is_debug_build() {
        return;
    }
    let world = Sandbox::new();
    for number in 0..5 {
        let text = format!("{number}\n");
        world.play(&format!("m{number}"), "prompt", |world| {
            world.write("a", &text)
        });
    }
    let opened = || count::count_run(&world, &["log"], "", &[]).databases;
    let list = world.run(&["log"], b"").exits(0).stdout.clone();
    assert_eq!(opened(), 1);
    // From so many on, ids are looked up one by one.
    let many = "UPDATE steps SET seq = seq + 1000000";
    rows::execute(&world.store().join("sessions.db"), many);
    assert_eq!(opened(), 1, "each time, SQLite reads the whole schema");
    assert_eq!(world.run(&["log"], b"").exits(0).stdout, list);
}

/// An operation and what names one open the database once however many steps there are.
#[test]
fn operation_opens_the_database_once() {
    if !has_strace() || !is_debug_build() {
        return;
    }
    let world = Sandbox::new();
    for number in 0..5 {
        let text = format!("{number}\n");
        world.play(&format!("m{number}"), "prompt", |world| {
            world.write("a", &text)
        });
    }
    let many = "UPDATE steps SET seq = seq + 1000000";
    rows::execute(&world.store().join("sessions.db"), many);
    for command in [
        &["revert", "m3"][..],
        &["status"],
        &["redo"],
        &["undo"],
        &["restore", "m1"],
        &["log", "--operations"],
        &["log", "--snapshots"],
        &["sessions"],
    ] {
        let counts = count::count_run(&world, command, "", &[]);
        assert_eq!(counts.databases, 1, "{command:?}: {counts:?}");
    }
}

#[test]
fn a_call_with_ten_edits_syncs_one_pack() {
    if !has_strace() || !is_debug_build() {
        return;
    }
    let tree = SizedWorkspace::small();
    tree.counts("step_start");
    tree.edit(10);
    let packs = tree.packs();
    let counts = tree.counts("step_finish");
    assert_eq!(tree.packs(), packs + 2, "one pack and its index");
    println!("{} syncs", counts.syncs);
    assert!(
        counts.syncs <= SYNCS,
        "the pack, its index and their folder: {counts:?}"
    );
}

/// How many pages a message more costs where `log` shows its files: its rows stand in a few tables, each behind an index.
const PAGES_A_MESSAGE: u64 = 8;

/// A workspace with a year of history, of which the files are gone.
fn a_year() -> Sandbox {
    let world = Sandbox::new();
    world.run(&["snapshot"], b"").exits(0);
    let database = world.store().join("sessions.db");
    rows::execute(&database, include_str!("../sql/history.sql"));
    world
}

fn pages(world: &Sandbox, arguments: &[&str]) -> u64 {
    count::count_run(world, arguments, "", &[]).pages
}

/// Log with files finds each message by its indexes.
#[test]
fn log_with_files_uses_its_indexes() {
    if !has_strace() || !is_debug_build() {
        return;
    }
    let world = a_year();
    let [few, many] = ["10", "50"].map(|limit| pages(&world, &["log", "--name-only", "-n", limit]));
    println!("{few} pages of the database for 10 messages, {many} for 50");
    assert!(
        many <= few + 40 * PAGES_A_MESSAGE,
        "{few} pages for 10 messages became {many} for 50"
    );
}

/// How many system calls a message more costs there: it is written, and each content that is gone is looked for once more.
const CALLS_A_MESSAGE: [(&str, u64); 2] = [("--name-only", 12), ("--stat", 40)];

/// Log with files opens the workspace for many messages at once.
#[test]
fn log_with_files_opens_the_workspace_rarely() {
    if !has_strace() || !is_debug_build() {
        return;
    }
    let world = a_year();
    for (option, limit) in CALLS_A_MESSAGE {
        let calls = |messages| {
            let arguments = ["log", option, "-n", messages];
            count::count_run(&world, &arguments, "", &[]).calls
        };
        let (few, many) = (calls("10"), calls("50"));
        println!("{option}: {few} system calls for 10 messages, {many} for 50");
        assert!(
            many <= few + 40 * limit,
            "{option}: {few} system calls for 10 messages became {many} for 50"
        );
    }
}

#[test]
fn no_command_reads_a_long_history_twice() {
    if !has_strace() || !is_debug_build() {
        return;
    }
    let world = a_year();
    let all = std::fs::metadata(world.store().join("sessions.db")).expect("it is there");
    let all = all.len() / 4096;
    // A file of the user's since, so that a receipt has to say whose it is.
    std::fs::write(world.workspace().join("own"), "x\n").expect("ours");
    for arguments in [
        &["status"][..],
        &["show", "m3990"],
        &["log"],
        &["log", "--graph"],
        &["log", "--operations"],
        &["sessions"],
        &["recover"],
        &["recover", "--deleted"],
        &["blame", "own"],
        // Nothing of the history can be put back here, which is found out once all of it was gathered.
        &["revert", "--dry-run", "m3990"],
    ] {
        let code = if arguments[0] == "revert" { 4 } else { 0 };
        let pages = count::count_until(&world, arguments, "", &[], code).pages;
        println!("{arguments:?}: {pages} pages of {all}");
        assert!(pages <= all, "{arguments:?}: {pages} pages of {all}");
    }
}

/// Syncs of a call that stores something.
const SYNCS: u64 = 2;

/// The first call of all syncs what it makes once.
#[test]
fn first_call_syncs_what_it_makes_once() {
    if !has_strace() || !is_debug_build() {
        return;
    }
    let counts = SizedWorkspace::untouched().counts("user_message");
    println!("{} syncs of a first call", counts.syncs);
    assert!(
        counts.syncs <= SYNCS + FIRST_SYNCS,
        "each new folder, and the new session store: {counts:?}"
    );
}

/// Syncs of the folders that lead to the packs, of the two files by which git knows a repository, and of the session store and
/// its log, each with its folder.
const FIRST_SYNCS: u64 = 5 + 2 + 4;

/// No call speaks to anybody and only the last starts a program which is its own.
#[test]
fn no_call_speaks_to_anything() {
    if !has_strace() || !is_debug_build() {
        return;
    }
    let tree = SizedWorkspace::small();
    for event in [
        "session_start",
        "user_message",
        "step_start",
        "step_finish",
        "turn_end",
        "session_end",
    ] {
        tree.edit(1);
        let Counts {
            programs,
            connections,
            ..
        } = tree.counts(event);
        // After the end of a session the binary goes on in the background: it names to git what the rows need.
        let own = if event == "session_end" { 2 } else { 1 };
        assert_eq!(
            (programs, connections),
            (own, 0),
            "{event}: itself, and nobody"
        );
    }
}

/// The index is asked only for a file that is ignored.
#[test]
fn index_is_asked_only_for_ignored_files() {
    if !has_strace() || !is_debug_build() {
        return;
    }
    let tree = SizedWorkspace::untouched();
    tree.commit("*.log\n");
    tree.settle();
    for event in ["user_message", "step_start", "step_finish", "step_start"] {
        tree.counts(event);
    }
    let indexes = |file| tree.counts_of_edit(file).indexes;
    assert_eq!(
        indexes("d000/f1"),
        0,
        "an index is as large as the work tree"
    );
    assert_eq!(indexes("new"), 0, "no rule hides it");
    assert_eq!(indexes("new.log"), 1, "it may be tracked all the same");
}

#[test]
fn directories_of_a_file_server_are_always_read() {
    if !has_strace() || !is_debug_build() {
        return;
    }
    let tree = SizedWorkspace::small();
    assert_eq!(
        tree.counts("step_start").listings,
        2,
        "on a disk, names are known where a directory did not change: only the packs are listed, in two pieces"
    );
    for event in ["step_finish", "step_start", "step_finish"] {
        let counts = tree.counts_with(event, &count::SERVED);
        assert!(
            counts.listings >= tree.directories(),
            "{event}: times of a server's directories say nothing: {counts:?}"
        );
    }
}

/// Files that a clone or a switch of branches has just touched are read once: that no program has them open for writing is
/// remembered, and with it the next look needs no more than an old tree.
#[test]
fn touched_files_are_read_once() {
    if !has_strace() || !is_debug_build() {
        return;
    }
    let tree = SizedWorkspace::just_written();
    if !tree.tells_of_writers() {
        return testing::skip::skip("this file system does not tell who writes to a file");
    }
    let limit = tree.files() + 3 * tree.directories() + OVERHEAD + NOISE;
    let calls = tree.counts("step_start").calls;
    println!("after a look at new files: {calls} calls of {limit}");
    assert!(calls <= limit, "{calls} calls are more than {limit}");
}
