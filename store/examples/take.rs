//! Takes snapshots of a directory and prints how long each took: `take WORKSPACE STORE [TIMES]`.

#![expect(
    clippy::print_stdout,
    reason = "it is a program for people who measure"
)]

use std::path::PathBuf;
use std::time::Instant;

use ckpt_store::snapshot::{Request, Snapshots};

fn main() -> ckpt_store::Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let mut next = || PathBuf::from(arguments.next().unwrap_or_default());
    let (root, store, times) = (next(), next(), next());
    for _ in 0..times
        .to_str()
        .and_then(|times| times.parse().ok())
        .unwrap_or(1)
    {
        let start = Instant::now();
        let request = Request {
            root: &root,
            named: &[],
            whatever_size: &[],
            include: &[],
            exclude: &[],
            keep_ignored: &[],
            max_file_size: 256 << 20,
            seed: true,
            home: None,
            config_home: None,
            store: &store,
            origin: None,
            only_around: None,
            anew: false,
            takes_hints: false,
            now: ckpt_store::file_clock(),
            deadline: None,
            progress: None,
        };
        let taken = Snapshots::open(&store.join("snapshots/key"))?.take(&request)?;
        println!(
            "{} {:.1} ms, {} gaps",
            taken.snapshot.tree,
            start.elapsed().as_secs_f64() * 1e3,
            taken.gaps().len()
        );
    }
    Ok(())
}
