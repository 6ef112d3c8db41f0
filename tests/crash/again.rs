//! The recovery of a killed operation, killed as well, and once more: the try after that ends it.

use testing::skip::has_strace;

use super::forward::{Case, cases};
use super::{Sandbox, assert_whole};
use testing::strace::{Point, at_each, kill_at, points, sample};

/// Where the first kill comes: in the middle of the files.
fn in_the_middle(case: &Case) -> Point {
    let all = points(&(case.ready)(), case.command, b"");
    let renames: Vec<Point> = all
        .into_iter()
        .filter(|(name, _)| name == "renameat2")
        .collect();
    renames[renames.len() / 2].clone()
}

/// The workspace after the first kill.
fn killed_once(case: &Case, first: &Point) -> Sandbox {
    let world = (case.ready)();
    kill_at(&world, first, case.command, b"");
    world
}

/// A recovery that is killed twice is ended by the next command.
///
/// Invariant `work/crash-operation`.
#[test]
fn recovery_killed_twice_is_ended_next() {
    if !has_strace() {
        return;
    }
    for case in cases() {
        let (before, after) = case.trees();
        let first = in_the_middle(case);
        let all = points(&killed_once(case, &first), case.again, b"");
        let points: Vec<(Point, Point)> = all
            .iter()
            .cloned()
            .zip(all.iter().cycle().skip(37).cloned())
            .collect();
        at_each(sample(points, 10), |(second, third)| {
            let world = killed_once(case, &first);
            let what = format!(
                "{} killed at {first:?}, {second:?} and {third:?}",
                case.name
            );
            for point in [&second, &third] {
                kill_at(&world, point, case.again, b"");
                assert_whole(&world, &before, &after, &what);
            }
            world.run(case.again, b"").exits(0);
            case.assert_ended(&world, &before, &after, &what);
        });
    }
}
