//! The cases: what is done in a tree, and what is measured of it. This module does IO.

use std::time::{Duration, Instant};

use crate::bench::Bench;
use crate::disk;
use crate::list;
use crate::process::{Result, command, run};
use crate::results::{Measured, Times};
use crate::tree::Size;
use crate::ways::{Conductor, Empty, Floor, Git, Help, Ours, Way};

/// Nothing changed since the last snapshot.
pub const NO_CHANGE: &str = "no change";
/// The same with what the kernel remembers of the disk thrown away.
pub const COLD: &str = "no change, caches dropped";
/// The first snapshot of a tree.
pub const FIRST: &str = "first";
/// An event of which nothing is captured.
pub const EVENT: &str = "event without a snapshot";
/// The same with what a tool printed in it, which is fifty megabytes.
pub const LONG: &str = "event with a payload of 50 MB";
/// A revert of [`REVERTED`] files.
pub const REVERT: &str = "revert of 1000 files";
/// How many files that is.
pub const REVERTED: usize = 1000;
/// How many files are edited between two snapshots, case by case.
pub const EDITS: [usize; 4] = [1, 10, 100, 1000];
/// The most memory that a watcher takes, in bytes.
pub const WATCHER_MEMORY: &str = "memory, watcher";
/// How many snapshots the disk's use is measured with.
const SNAPSHOTS: usize = 60;

/// Returns the name of the case in which this many files are edited.
pub fn edits(count: usize) -> String {
    format!("{count} edits")
}

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// How often each case is measured; none: as often as the size of the tree allows.
    pub rounds: Option<usize>,
    /// Whether to measure with caches dropped, which is for root, and slows everything else on the machine.
    pub is_cold: bool,
}

/// Measures everything in a tree; in the largest one no change, the first snapshot, ten edits and a revert.
pub fn measure(bench: &mut Bench, extent: Extent) -> Result<Measured> {
    let mut measured = Measured {
        files: bench.files.len() as u64,
        directories: list::directories_of(&bench.files) as u64,
        bytes: bench.bytes,
        ..Measured::default()
    };
    let rounds = extent.rounds.unwrap_or(match bench.size {
        Size::S => 21,
        Size::M => 15,
        Size::L => 9,
        Size::Xl => 5,
    });
    // Its first snapshot takes minutes in a large tree: one serves all cases.
    let mut git = Git::new(bench);
    git.reset()?;
    still(bench, &mut git, &mut measured, rounds, extent.is_cold)?;
    first(bench, &mut git, &mut measured, rounds.div_ceil(3))?;
    let is_largest = bench.size == Size::Xl;
    for count in EDITS
        .into_iter()
        .filter(|count| !is_largest || *count == 10)
    {
        edited(bench, &mut git, &mut measured, rounds, count)?;
    }
    reverted(bench, &git, &mut measured, rounds.div_ceil(3))?;
    if !is_largest {
        stored(bench, &mut git, &mut measured)?;
    }
    bench.clean()?;
    Ok(measured)
}

/// Measures only what snapshots take of the disk, which no load changes.
pub fn measure_disk(bench: &mut Bench, measured: &mut Measured) -> Result<()> {
    let mut git = Git::new(bench);
    git.reset()?;
    stored(bench, &mut git, measured)?;
    bench.clean()
}

/// Returns the program of an older commit, if it is to be measured.
fn older(bench: &Bench) -> Result<Option<Ours>> {
    let program = bench.programs.older.as_ref();
    program.map(|_| Ours::new(bench, Help::Older)).transpose()
}

/// Takes a snapshot by each way, in another order each round, and notes how long it took.
fn in_turns(
    ways: &mut [&mut dyn Way],
    round: usize,
    times: &mut Times,
    is_first: bool,
) -> Result<()> {
    let count = ways.len();
    for number in 0..count {
        let way = &mut ways[(number + round) % count];
        if is_first {
            way.reset()?;
        }
        let begin = Instant::now();
        way.snapshot()?;
        note(times, way.name(), begin);
    }
    Ok(())
}

fn note(times: &mut Times, way: &str, begin: Instant) {
    let milliseconds = (begin.elapsed().as_secs_f64() * 1e5).round() / 1e2;
    times.entry(way.to_owned()).or_default().push(milliseconds);
}

/// All that is measured while no file changes.
fn still(
    bench: &mut Bench,
    git: &mut Git,
    measured: &mut Measured,
    rounds: usize,
    is_cold: bool,
) -> Result<()> {
    println!("{}: no change", bench.size.name());
    let (mut ours, mut conductor) = (Ours::new(bench, Help::Repository)?, Conductor::new(bench));
    let mut watched = Ours::new(bench, Help::Watcher)?;
    let (mut floor, mut empty) = (Floor::new(bench)?, Empty::new(bench));
    let mut older = older(bench)?;
    watched.watch()?;
    for _ in 0..2 {
        if let Some(older) = &mut older {
            older.prepare()?;
            older.snapshot()?;
        }
        ours.prepare()?;
        ours.snapshot()?;
        watched.prepare()?;
        watched.snapshot()?;
        git.snapshot()?;
        conductor.snapshot()?;
        floor.snapshot()?;
    }
    let mut times = Times::new();
    for round in 0..rounds {
        let mut ways: Vec<&mut dyn Way> = vec![
            &mut ours,
            &mut watched,
            git,
            &mut floor,
            &mut conductor,
            &mut empty,
        ];
        ways.extend(older.as_mut().map(|older| older as &mut dyn Way));
        in_turns(&mut ways, round, &mut times, false)?;
    }
    measured.times.insert(NO_CHANGE.to_owned(), times);
    let memory = watched.memory_of_watcher();
    measured
        .counts
        .extend(memory.map(|bytes| (WATCHER_MEMORY.to_owned(), bytes)));
    drop(watched);
    event(&ours, older.as_ref(), &mut empty, measured, rounds)?;
    long(bench, &ours, measured, rounds)?;
    count_calls(bench, &ours, measured)?;
    measured.counts.insert(
        "memory, no change".to_owned(),
        peak(bench, &ours, &ours.payload(ours.next_event()))?,
    );
    ours.snapshot()?;
    if is_cold {
        cold(&mut ours, git, measured, rounds.div_ceil(3))?;
    }
    Ok(())
}

fn event(
    ours: &Ours,
    older: Option<&Ours>,
    empty: &mut Empty,
    measured: &mut Measured,
    rounds: usize,
) -> Result<()> {
    let mut times = Times::new();
    for _ in 0..rounds {
        for hook in [Some(ours), older].into_iter().flatten() {
            let begin = Instant::now();
            hook.event("session_start")?;
            note(&mut times, hook.name(), begin);
        }
        let begin = Instant::now();
        empty.snapshot()?;
        note(&mut times, "empty process", begin);
    }
    measured.times.insert(EVENT.to_owned(), times);
    Ok(())
}

/// What is long stands before and after what counts.
fn long(bench: &Bench, ours: &Ours, measured: &mut Measured, rounds: usize) -> Result<()> {
    let printed = "a line that a \\\"tool\\\" printed\\n".repeat(25_000_000 / 34);
    let payload = ours.payload("session_start");
    let fields = payload.trim_matches(['{', '}']);
    let payload = format!("{{\"before\":\"{printed}\",{fields},\"after\":\"{printed}\"}}");
    let mut times = Times::new();
    for _ in 0..rounds {
        let begin = Instant::now();
        ours.send(&payload)?;
        note(&mut times, "ours", begin);
    }
    measured.times.insert(LONG.to_owned(), times);
    measured.counts.insert(
        "memory, payload of 50 MB".to_owned(),
        peak(bench, ours, &payload)?,
    );
    Ok(())
}

fn cold(ours: &mut Ours, git: &mut Git, measured: &mut Measured, rounds: usize) -> Result<()> {
    let mut times = Times::new();
    for _ in 0..rounds {
        let ways: [&mut dyn Way; 2] = [ours, git];
        for way in ways {
            rustix::fs::sync();
            std::fs::write("/proc/sys/vm/drop_caches", "3")?;
            let begin = Instant::now();
            way.snapshot()?;
            note(&mut times, way.name(), begin);
        }
    }
    measured.times.insert(COLD.to_owned(), times);
    Ok(())
}

/// Counts the system calls of a hook's call without changes; `None` if `strace` does not run.
fn count_calls(bench: &Bench, ours: &Ours, measured: &mut Measured) -> Result<()> {
    let counts = bench.scratch.join("calls");
    let mut strace = command("strace", &bench.tree);
    let home = bench.scratch.join("seeded");
    strace
        .env("HOME", &home)
        .env("CKPT_HOOK_HOME", ours.store());
    strace
        .args(["-f", "-c", "-U", "calls,name", "-o"])
        .arg(&counts)
        .arg(&bench.programs.hook)
        .arg("event");
    if let Err(error) = run(&mut strace, ours.payload("step_start").as_bytes()) {
        println!("no system calls are counted: {error}");
        return Ok(());
    }
    let table = std::fs::read_to_string(counts)?;
    let total = table
        .lines()
        .find(|line| line.trim_end().ends_with(" total"));
    let total = total.and_then(|line| line.split_whitespace().next()?.parse().ok());
    measured
        .counts
        .extend(total.map(|total| ("system calls".to_owned(), total)));
    run(
        &mut ours.command(&["event"]),
        ours.payload("step_finish").as_bytes(),
    )
    .map(drop)
}

/// The most memory that the hook uses for a payload.
fn peak(bench: &Bench, ours: &Ours, payload: &str) -> Result<u64> {
    let file = bench.scratch.join("peak");
    let mut hook = ours.command(&["event", "--strict"]);
    let mut peak = command(&bench.programs.peak, &bench.tree);
    peak.envs(
        hook.get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    peak.arg(&file)
        .arg(hook.get_program())
        .args(hook.get_args());
    run(&mut peak, payload.as_bytes())?;
    hook.env_clear();
    Ok(std::fs::read_to_string(file)?.parse()?)
}

fn first(bench: &mut Bench, git: &mut Git, measured: &mut Measured, rounds: usize) -> Result<()> {
    println!("{}: first snapshot", bench.size.name());
    let (mut ours, mut plain) = (
        Ours::new(bench, Help::Repository)?,
        Ours::new(bench, Help::None)?,
    );
    let mut floor = Floor::new(bench)?;
    let mut older = older(bench)?;
    let mut times = Times::new();
    for round in 0..rounds {
        let mut ways: Vec<&mut dyn Way> = vec![&mut ours, &mut plain, git, &mut floor];
        ways.extend(older.as_mut().map(|older| older as &mut dyn Way));
        in_turns(&mut ways, round, &mut times, true)?;
        measured
            .counts
            .insert("disk, first".to_owned(), disk::below(&plain.store())?.bytes);
        measured.counts.insert(
            "disk, first, git".to_owned(),
            disk::below(git.directory())?.bytes,
        );
    }
    measured.times.insert(FIRST.to_owned(), times);
    for (ours, name) in [
        (&mut ours, "memory, first beside git"),
        (&mut plain, "memory, first"),
    ] {
        ours.reset()?;
        measured.counts.insert(
            name.to_owned(),
            peak(bench, ours, &ours.payload(ours.next_event()))?,
        );
    }
    Ok(())
}

fn edited(
    bench: &mut Bench,
    git: &mut Git,
    measured: &mut Measured,
    rounds: usize,
    count: usize,
) -> Result<()> {
    println!("{}: {}", bench.size.name(), edits(count));
    let (mut ours, mut conductor) = (Ours::new(bench, Help::Repository)?, Conductor::new(bench));
    let (mut watched, mut empty) = (Ours::new(bench, Help::Watcher)?, Empty::new(bench));
    let mut older = older(bench)?;
    ours.prepare()?;
    watched.watch()?;
    let mut times = Times::new();
    for round in 0..rounds {
        for hook in [Some(&mut ours), Some(&mut watched), older.as_mut()] {
            hook.map_or(Ok(()), Way::prepare)?;
        }
        let files = bench.choose(count);
        bench.edit(&files)?;
        let mut ways: Vec<&mut dyn Way> =
            vec![&mut ours, &mut watched, git, &mut conductor, &mut empty];
        ways.extend(older.as_mut().map(|older| older as &mut dyn Way));
        in_turns(&mut ways, round, &mut times, false)?;
    }
    measured.times.insert(edits(count), times);
    Ok(())
}

fn reverted(bench: &mut Bench, git: &Git, measured: &mut Measured, rounds: usize) -> Result<()> {
    println!("{}: {REVERT}", bench.size.name());
    let mut hooks = vec![Ours::new(bench, Help::Repository)?];
    hooks.extend(older(bench)?);
    let mut times = Times::new();
    for _ in 0..rounds {
        let files = bench.choose(REVERTED);
        for hook in &mut hooks {
            hook.message()?;
            bench.edit(&files)?;
            hook.snapshot()?;
            hook.event("turn_end")?;
            // What the agent wrote is on the disk by the time that a person has read it: no way pays for that.
            rustix::fs::sync();
            let begin = Instant::now();
            hook.revert()?;
            note(&mut times, hook.name(), begin);
        }
        let tree = git.tree()?;
        bench.edit(&files)?;
        let mut checkout = git.command(&[
            "checkout",
            "-q",
            "--pathspec-from-file=-",
            "--pathspec-file-nul",
            &tree,
        ]);
        rustix::fs::sync();
        let begin = Instant::now();
        run(&mut checkout, files.join("\0").as_bytes())?;
        note(&mut times, "git checkout", begin);
    }
    measured.times.insert(REVERT.to_owned(), times);
    Ok(())
}

/// Packs the store, once what hooks left to the background is done: until then, `gc` says that the workspace is busy.
fn pack(ours: &Ours) -> Result<()> {
    let mut tries = 0;
    while let Err(error) = run(&mut ours.command(&["-q", "gc"]), b"") {
        tries += 1;
        if tries == 100 {
            return Err(error);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// What is stored by sixty snapshots of the same ten files.
fn stored(bench: &mut Bench, git: &mut Git, measured: &mut Measured) -> Result<()> {
    println!("{}: disk", bench.size.name());
    let mut ours = Ours::new(bench, Help::Repository)?;
    git.snapshot()?;
    ours.prepare()?;
    let snapshots = ours.store().join("snapshots");
    // What the first snapshot borrowed is copied and joined by then: later, that would be taken for room that was saved.
    pack(&ours)?;
    let before = (disk::below(&snapshots)?, disk::below(git.directory())?);
    let files = bench.choose(10);
    for _ in 0..SNAPSHOTS {
        ours.prepare()?;
        bench.edit(&files)?;
        ours.snapshot()?;
        git.snapshot()?;
    }
    let after = (disk::below(&snapshots)?, disk::below(git.directory())?);
    let mut note = |name: &str, before: u64, after: u64| {
        measured
            .counts
            .insert(name.to_owned(), after.saturating_sub(before));
    };
    note("disk, 60 snapshots", before.0.bytes, after.0.bytes);
    note("disk, 60 snapshots, files", before.0.files, after.0.files);
    note("disk, 60 snapshots, loose", before.1.bytes, after.1.bytes);
    note(
        "disk, 60 snapshots, loose files",
        before.1.files,
        after.1.files,
    );
    pack(&ours)?;
    note(
        "disk, 60 snapshots, after gc",
        before.0.bytes,
        disk::below(&snapshots)?.bytes,
    );
    Ok(())
}
