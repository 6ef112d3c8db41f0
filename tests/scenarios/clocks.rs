//! What is known where the clock of files is another one than that of events: in a folder that another machine serves,
//! in a virtual machine, or after the clock was set.

use ckpt_schema::report::Outcome;
use ckpt_schema::{Event, EventKind};

use ckpt_store::fault;
use ckpt_store::query::LogFilter;
use testing::scenario::{World, set_clock_from_files, to};

const MINUTE: i64 = 60_000;
const DAY: i64 = 24 * 60 * MINUTE;

fn unclear_of(report: &ckpt_schema::report::OperationReport) -> Vec<&str> {
    let unclear = report.files.iter().filter(|file| file.unclear);
    unclear.map(|file| file.path.path.as_str()).collect()
}

/// What an agent wrote goes whatever the clock of its files says.
#[test]
fn agents_work_goes_by_any_clock() {
    for (ahead, names) in [(DAY, true), (DAY, false), (-DAY, true), (-DAY, false)] {
        let mut world = World::new();
        set_clock_from_files(ahead);
        world.write("edited", "1\n");
        world.message("m1");
        let named: &[&str] = if names { &["edited", "made"] } else { &[] };
        world.tool_start_in("s1", "t", named);
        world.write("edited", "2\n");
        world.write("made", "x\n");
        world.tool_finish_in("s1", "t");
        world.finish();
        let report = world.revert("m1");
        assert_eq!(world.read("edited"), "1\n", "{ahead} {names}: {report:#?}");
        assert!(!world.exists("made"), "{ahead} {names}: {report:#?}");
        assert_eq!(report.outcome, Outcome::Restored, "{report:#?}");
        world.unrevert();
        assert_eq!(world.read("made"), "x\n", "and back");
    }
}

/// What a person edits between steps stays whatever the clock of its files says.
///
/// Invariant `truth/between-steps`: Changes between steps, and in a pause between two tools of
/// one, are nobody's.
#[test]
fn persons_edit_between_steps_stays_by_any_clock() {
    for ahead in [DAY, -DAY] {
        let mut world = World::new();
        set_clock_from_files(ahead);
        world.message("m1");
        world.tool_start_in("s1", "t", &[]);
        world.write("made", "x\n");
        world.tool_finish_in("s1", "t");
        world.finish();
        world.write("by hand", "an hour\n");
        set_clock_from_files(ahead + 60 * MINUTE);
        world.tool_start_in("s1", "u", &[]);
        world.tool_finish_in("s1", "u");
        world.finish();
        let report = world.revert("m1");
        assert!(!world.exists("made"), "{report:#?}");
        assert_eq!(world.read("by hand"), "an hour\n", "{report:#?}");
        assert_eq!(unclear_of(&report), [""; 0], "nobody was at work");
    }
}

/// What was edited in a pause of a step is unclear where no time shows that it was one.
///
/// Invariant `truth/unclear`: A change that cannot be told apart is not attributed to the
/// agent.
#[test]
fn edit_in_an_unseen_pause_is_unclear() {
    for ahead in [DAY, -DAY] {
        let mut world = World::new();
        set_clock_from_files(ahead);
        world.message("m1");
        world.tool_start_in("s1", "t", &[]);
        world.tool_finish_in("s1", "t");
        world.write("by hand", "an hour\n");
        set_clock_from_files(ahead + 60 * MINUTE);
        world.tool_start_in("s1", "u", &[]);
        world.write("made", "x\n");
        world.tool_finish_in("s1", "u");
        world.finish();
        let report = world.revert("m1");
        assert_eq!(world.read("by hand"), "an hour\n", "{report:#?}");
        assert_eq!(unclear_of(&report), ["by hand"], "and named: {report:#?}");
        assert!(!world.exists("made"), "{report:#?}");
    }
}

/// What was edited while a prompt stood is unclear where no time shows when.
///
/// Invariant `truth/unclear`.
#[test]
fn edit_during_an_undated_prompt_is_unclear() {
    for ahead in [DAY, -DAY] {
        let mut world = World::new();
        set_clock_from_files(ahead);
        world.message("m1");
        world.tool_start_in("s1", "t", &[]);
        world.write("by hand", "an hour\n");
        set_clock_from_files(ahead + 60 * MINUTE);
        let finish = Event {
            tool_use_id: Some("t".to_owned()),
            duration_ms: Some(500),
            ..world.event(EventKind::ToolFinish, "s1")
        };
        world.send(&finish);
        world.finish();
        let report = world.try_revert(&to("m1")).expect("nobody is at work");
        assert_eq!(world.read("by hand"), "an hour\n", "{report:#?}");
        assert_eq!(unclear_of(&report), ["by hand"], "and named: {report:#?}");
    }
}

/// A long look is of the moment at which it began: what changes while it goes on may have been read before.
#[test]
fn look_is_of_the_moment_it_began() {
    let mut world = World::new();
    set_clock_from_files(0);
    world.message("m1");
    world.write("a", "1\n");
    let cwd = world.cwd.clone();
    let mut has_lock = false;
    fault::at_each_moment(move |name| {
        has_lock |= name == "locked";
        if has_lock && name == "write" {
            set_clock_from_files(MINUTE);
        }
    });
    world.store.snapshot(&cwd, None, None).expect("a snapshot");
    fault::at_no_moment();
    let snapshots = world.store.snapshots(&cwd, &LogFilter::default());
    let snapshots = snapshots.expect("readable").snapshots;
    let [newest, first] = &snapshots[..] else {
        panic!("{snapshots:?}");
    };
    assert!(newest.time < first.time + MINUTE, "{snapshots:?}");
}
