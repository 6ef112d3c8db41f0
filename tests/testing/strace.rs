//! Killing a command at a system call, or failing the call, by `strace`.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::process::Command;
use std::sync::Mutex;

use crate::binary::{Run, Sandbox, binary, finish};
use crate::count::SERVED_STORE;

/// A system call: its name and the how-manieth of its thread it is.
pub type Point = (String, usize);

/// Returns a command of the world below `strace` with these options, not yet started.
pub fn command(world: &Sandbox, options: &[&str], arguments: &[&str]) -> Command {
    let plain = world.command(arguments);
    let mut command = Command::new("strace");
    command.args(["-f", "-qq"]);
    if world.is_served() {
        command.args(SERVED_STORE);
    }
    command
        .args(options)
        .arg(binary())
        .args(arguments)
        .env_clear();
    let variables = plain
        .get_envs()
        .filter_map(|(name, value)| Some((name, value?)));
    command.envs(variables).current_dir(world.workspace());
    command
}

/// A system call in a trace: `THREAD name(rest`.
#[derive(Clone, Copy, Debug)]
pub struct Call<'t> {
    pub thread: &'t str,
    pub name: &'t str,
    pub rest: &'t str,
}

impl<'t> Call<'t> {
    /// Reads a line of a trace; `None` if it is the second half of a call that another thread interrupted, or no call at all.
    pub fn read(line: &'t str) -> Option<Self> {
        let (thread, call) = line.split_once(' ')?;
        let (name, rest) = call.trim_start().split_once('(')?;
        name.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            .then_some(Self { thread, name, rest })
    }
}

/// Returns the calls of a run in peace, in their order, once each.
pub fn points(world: &Sandbox, arguments: &[&str], stdin: &[u8]) -> Vec<Point> {
    points_of(world, arguments, |command| {
        finish(command, stdin).exits(0);
    })
}

/// Returns the calls of a run in peace that somebody plays.
pub fn points_of(
    world: &Sandbox,
    arguments: &[&str],
    play: impl FnOnce(&mut Command),
) -> Vec<Point> {
    let trace = world.path("trace");
    let options = ["-o", trace.to_str().expect("a plain path")];
    play(&mut command(world, &options, arguments));
    let trace = std::fs::read_to_string(trace).expect("the trace");
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut most: BTreeMap<&str, usize> = BTreeMap::new();
    let mut points = Vec::new();
    for line in trace.lines() {
        let Some(Call { thread, name, .. }) = Call::read(line) else {
            continue;
        };
        let count = counts
            .entry((thread, name))
            .and_modify(|count| *count += 1)
            .or_insert(1);
        // The first thread that comes so far is the one that is hit.
        let most = most.entry(name).or_default();
        if *count > *most {
            *most = *count;
            points.push((name.to_owned(), *count));
        }
    }
    assert!(points.len() > 100, "the trace was read: {points:?}");
    points
}

/// Returns all points, or at most a third as many as `quick` at even distances: CI has minutes, `just crash` hours. Each thread's start
/// of the program is of no interest.
pub fn sample<T>(points: Vec<T>, quick: usize) -> Vec<T> {
    if std::env::var_os("CKPT_FULL").is_some() {
        return points;
    }
    let begun = points.len() / 5;
    let step = (3 * (points.len() - begun)).div_ceil(quick).max(1);
    points.into_iter().skip(begun).step_by(step).collect()
}

/// Runs a command that is killed when it comes to a point.
pub fn kill_at(world: &Sandbox, point: &Point, arguments: &[&str], stdin: &[u8]) {
    let _ = inject(world, &point.0, "signal=KILL", point.1, arguments, stdin);
}

/// Returns a command that is killed when it comes to a point, not yet started.
pub fn killed_at(world: &Sandbox, point: &Point, arguments: &[&str]) -> Command {
    injected(world, &point.0, "signal=KILL", point.1, arguments)
}

/// Runs a command in which the call at a point fails.
pub fn fail_at(
    world: &Sandbox,
    point: &Point,
    error: &str,
    arguments: &[&str],
    stdin: &[u8],
) -> Run {
    inject(
        world,
        &point.0,
        &format!("error={error}"),
        point.1,
        arguments,
        stdin,
    )
}

/// Runs a command in which the call at a point and all later ones of its name fail.
pub fn fail_from(
    world: &Sandbox,
    point: &Point,
    error: &str,
    arguments: &[&str],
    stdin: &[u8],
) -> Run {
    let when = format!("{}+", point.1);
    let what = format!("error={error}");
    inject(world, &point.0, &what, when, arguments, stdin)
}

/// Runs a command in which every call of a name fails.
pub fn fail_all(world: &Sandbox, name: &str, error: &str, arguments: &[&str]) -> Run {
    inject(world, name, &format!("error={error}"), "1+", arguments, b"")
}

fn inject(
    world: &Sandbox,
    name: &str,
    what: &str,
    when: impl Display,
    arguments: &[&str],
    stdin: &[u8],
) -> Run {
    finish(&mut injected(world, name, what, when, arguments), stdin)
}

fn injected(
    world: &Sandbox,
    name: &str,
    what: &str,
    when: impl Display,
    arguments: &[&str],
) -> Command {
    let (trace, inject) = (
        // What answers for a file server has to be seen as well.
        format!("trace={name},statfs"),
        format!("inject={name}:{what}:when={when}"),
    );
    command(
        world,
        &["-o", "/dev/null", "-e", &trace, "-e", &inject],
        arguments,
    )
}

/// Does something at each of some points, on two threads.
pub fn at_each<T: Send>(points: Vec<T>, act: impl Fn(T) + Sync) {
    println!("{} points", points.len());
    let queue = Mutex::new(points.into_iter());
    let next = || queue.lock().expect("no thread panics with it").next();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(point) = next() {
                    act(point);
                }
            });
        }
    });
}
