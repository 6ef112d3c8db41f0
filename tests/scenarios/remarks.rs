//! What an operation says beyond its files, for programs: the same as the sentences, with a code and all names.

use ckpt_schema::report::{
    AuthorKind, DifferenceReason, NoteCode, OperationReport, Outcome, ShowReport,
};

use testing::scenario::{World, set_clock_from_files};

use super::unfinished::interrupt_before_the_first_file;

fn about(report: &OperationReport, code: NoteCode) -> Vec<&[String]> {
    let remarks = report.remarks.iter().filter(|remark| remark.code == code);
    remarks.map(|remark| remark.about.as_slice()).collect()
}

fn assert_agree(report: &OperationReport) {
    let texts: Vec<&String> = report.remarks.iter().map(|remark| &remark.text).collect();
    let notes: Vec<&String> = report.notes.iter().collect();
    assert_eq!(texts, notes, "text and JSON say the same");
}

/// Every note of an operation has a code and names all that it is about.
#[test]
fn every_note_has_a_code_and_names() {
    let mut world = World::git(&[("a", "1\n")]);
    set_clock_from_files(0);
    world.turn("m1", |world| {
        world.write("a", "2\n");
        for name in ["one", "two", "three", "four"] {
            world.make_directory(format!("below/{name}/.git"));
            world.write(format!("below/{name}/f"), "cloned\n");
        }
        world.run_git(&["tag", "release"]);
        world.run_git(&["commit", "-qam", "mine"]);
        world.run_git(&["checkout", "-q", "-b", "topic"]);
    });
    let report = world.revert("m1");
    assert_agree(&report);
    let codes: Vec<NoteCode> = report.remarks.iter().map(|remark| remark.code).collect();
    assert_eq!(about(&report, NoteCode::Tags), [["release".to_owned()]]);
    assert_eq!(about(&report, NoteCode::BranchMade), [["topic".to_owned()]]);
    let commits = about(&report, NoteCode::Commits);
    assert_eq!(
        (commits.len(), commits[0].len(), commits[0][0].len()),
        (1, 1, 40),
        "the commit in full: {codes:?}"
    );
    let below: Vec<String> = about(&report, NoteCode::RepositoriesBelow).concat();
    assert_eq!(
        below,
        ["below/four", "below/one", "below/three", "below/two"],
        "the sentence folds them: {report:#?}"
    );
    let id = report.operation.expect("it was done");
    let place = world.path("");
    let shown = world.store.show(&place, &id).expect("its id");
    let ShowReport::Operation { notes, remarks, .. } = shown else {
        panic!("an operation");
    };
    assert_eq!(
        (notes, remarks),
        (report.notes, report.remarks),
        "its row has them, too"
    );
}

/// A difference says in words why and because of whom.
#[test]
fn difference_says_why_in_words() {
    let mut world = World::new();
    world.write("mine", "1\n");
    world.turn("m1", |world| world.write("a", "agent\n"));
    world.write("mine", "2\n");
    world.message_in("s2", "n1");
    world.start_in("s2");
    world.write("theirs", "s2\n");
    let other = world.finish_in("s2");
    let receipt = world.revert("m1").receipt.expect("there is one");
    let [mine, theirs] = &receipt.differences[..] else {
        panic!("two paths: {receipt:#?}");
    };
    assert_eq!(mine.by[0].kind, AuthorKind::User, "{mine:?}");
    assert_eq!(
        (&theirs.by[0].step, &theirs.by[0].session),
        (&other.step, &other.session),
        "{theirs:?}"
    );
    for difference in &receipt.differences {
        assert_eq!(difference.words, difference.reason.phrase());
    }
}

/// What is finished first is in the report of what came next with its receipt.
#[test]
fn finished_operation_is_in_the_next_report() {
    let mut world = World::new();
    world.write("mine", "1\n");
    world.turn("m1", |world| world.write("a", "agent\n"));
    world.write("mine", "2\n");
    world.revert("m1");
    interrupt_before_the_first_file(&world);
    world.write("a", "agent\n");
    let report = world.unrevert();
    assert_agree(&report);
    let [finished] = &report.finished[..] else {
        panic!("one: {report:#?}");
    };
    assert_eq!(finished.outcome, Outcome::Restored);
    let receipt = finished.receipt.as_ref().expect("its row says its goal");
    assert_eq!(
        receipt.differences[0].reason,
        DifferenceReason::Yours,
        "{receipt:?}"
    );
    assert_eq!(
        about(&report, NoteCode::Finished),
        [[finished.operation.clone()]]
    );
    assert_eq!(world.read("a"), "agent\n", "and it was taken back since");
}

/// What a hook finished is kept with the operation.
#[test]
fn hooks_finish_is_kept_with_the_operation() {
    let mut world = World::new();
    world.write("mine", "1\n");
    world.turn("m1", |world| world.write("a", "agent\n"));
    world.write("mine", "2\n");
    let id = world.revert("m1").operation.expect("it was done");
    interrupt_before_the_first_file(&world);
    world.write("a", "agent\n");
    world.message("m2");
    let place = world.path("");
    let shown = world.store.show(&place, &id).expect("its id");
    let ShowReport::Operation { notes, remarks, .. } = shown else {
        panic!("an operation");
    };
    assert_eq!(
        notes,
        ["finished later; not as it was then: changed since, outside any step (`mine`)"],
        "no person reads what a hook prints"
    );
    assert_eq!(remarks[0].code, NoteCode::Differs);
    assert_eq!(remarks[0].about, ["mine"]);
}

/// A pipe that went with a step is named for it does not come back.
///
/// Invariant `work/gaps`.
#[test]
fn pipe_of_a_step_is_named() {
    let mut world = World::new();
    world.write("a", "1\n");
    for name in ["replaced", "removed", "stays"] {
        rustix::fs::mkfifoat(
            rustix::fs::CWD,
            world.path(name),
            rustix::fs::Mode::from_raw_mode(0o644),
        )
        .expect("a pipe");
    }
    world.turn("m1", |world| {
        world.remove("replaced");
        world.write("replaced", "a file\n");
        world.remove("removed");
    });
    let report = world.revert("m1");
    assert_agree(&report);
    let gone = about(&report, NoteCode::NotCaptured);
    assert!(
        gone.contains(&&["removed".to_owned(), "replaced".to_owned()][..]),
        "{report:#?}"
    );
    assert!(!world.path("replaced").exists(), "the file went");
    let again = world.revert("m1");
    assert_agree(&again);
}
