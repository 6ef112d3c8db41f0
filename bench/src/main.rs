//! `ckpt-bench`: measures trees and writes the page, the plots and the numbers. This module does IO.

#![expect(
    clippy::print_stdout,
    reason = "it is a program for people who measure"
)]

use std::path::{Path, PathBuf};

use ckpt_bench::bench::{Bench, Programs};
use ckpt_bench::cases::{self, Extent};
use ckpt_bench::machine::Machine;
use ckpt_bench::process::Result;
use ckpt_bench::results::Results;
use ckpt_bench::tree::Size;
use ckpt_bench::{page, plot, reading};
use clap::Parser;

/// Measures `ckpt-hook` beside git's way, Conductor's way and the floor, in turns.
#[derive(Debug, Parser)]
struct Arguments {
    /// The trees to measure in
    #[arg(value_enum, ignore_case = true, default_values = ["s", "m"])]
    sizes: Vec<Size>,
    /// Only the commands that read a long history, and no tree
    #[arg(long)]
    reading: bool,
    /// Only what snapshots take of the disk; the other numbers of the trees stay
    #[arg(long, conflicts_with = "reading")]
    disk: bool,
    /// The program that is measured; by default the one beside this
    #[arg(long)]
    hook: Option<PathBuf>,
    /// The same program of an older commit, measured in the same rounds
    #[arg(long)]
    older: Option<PathBuf>,
    /// Where the trees are, and are built
    #[arg(long, default_value = "target/bench")]
    trees: PathBuf,
    /// How often each case is measured; by default as often as the tree's size allows
    #[arg(long)]
    rounds: Option<usize>,
    /// Also with the kernel's caches dropped; for root, and slow for all else on the machine
    #[arg(long)]
    cold: bool,
    /// The folder of `performance.md` and of what it shows, beside `bench/targets.md`
    #[arg(long, default_value = "docs")]
    docs: PathBuf,
    /// Write the page and the plots anew from what was measured before
    #[arg(long)]
    draw: bool,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let kept = arguments.docs.join("performance/measured.json");
    let mut results = Results::read(&kept)?;
    if !arguments.draw {
        measure(&arguments, &mut results)?;
        results.write(&kept)?;
    }
    page::write(&arguments.docs, &results)?;
    plot::write(&arguments.docs.join("performance"), &results)
}

fn measure(arguments: &Arguments, results: &mut Results) -> Result<()> {
    let programs = programs(arguments)?;
    if arguments.disk {
        for size in &arguments.sizes {
            let mut bench = Bench::open(&arguments.trees, *size, programs.clone())?;
            let known = results.sizes.entry(size.name().to_owned()).or_default();
            cases::measure_disk(&mut bench, known)?;
        }
        return Ok(());
    }
    let rounds = arguments.rounds.unwrap_or(21);
    let mut measured = reading::measure(&arguments.trees, &programs, rounds)?;
    measured.date = time::OffsetDateTime::now_utc().date().to_string();
    results.reading = Some(measured);
    if arguments.reading {
        return Ok(());
    }
    for size in &arguments.sizes {
        let mut bench = Bench::open(&arguments.trees, *size, programs.clone())?;
        let extent = Extent {
            rounds: arguments.rounds,
            is_cold: arguments.cold,
        };
        let mut measured = cases::measure(&mut bench, extent)?;
        measured.machine = Machine::here(&bench.tree)?;
        measured.date = time::OffsetDateTime::now_utc().date().to_string();
        let mut one = Results::default();
        one.sizes.insert(size.name().to_owned(), measured);
        println!("{}", page::text(&one));
        results.sizes.extend(one.sizes);
    }
    Ok(())
}

/// The programs that are measured, and those beside this one.
fn programs(arguments: &Arguments) -> Result<Programs> {
    let own = std::env::current_exe()?;
    let beside = |name: &str| own.with_file_name(name);
    let known = |path: &Option<PathBuf>| path.as_deref().map(Path::canonicalize).transpose();
    let programs = Programs {
        hook: known(&arguments.hook)?.unwrap_or_else(|| beside("ckpt-hook")),
        older: known(&arguments.older)?,
        floor: beside("bench-floor"),
        empty: beside("bench-empty"),
        peak: beside("bench-peak"),
    };
    if !programs.hook.exists() || cfg!(debug_assertions) {
        return Err("`just bench` builds what is measured, as a release".into());
    }
    Ok(programs)
}
