//! Parts of a plan, hunk by hunk: what was not chosen stays, and what comes later still knows whose it is.

use ckpt_schema::report::{OperationReport, Outcome};
use ckpt_store::query::Proposal;
use ckpt_store::{Chosen, ChosenContent, ErrorKind, OnConflict, RevertRequest};

use testing::scenario::{World, to};

const LINES: &str = "a\nb\nc\nd\ne\nf\ng\nh\ni\n";

/// A message that changes the first and the last line of `f`, and makes `new`.
fn world() -> World {
    let mut world = World::git(&[("f", LINES)]);
    world.turn("m1", |world| {
        world.write("f", LINES.replace('a', "A").replace('i', "I"));
        world.write("new", "1\n");
    });
    world
}

fn proposal(world: &mut World) -> Proposal {
    let request = RevertRequest {
        dry_run: true,
        ..to("m1")
    };
    let plan = world.try_revert(&request).expect("a plan").plan;
    let token = plan.expect("a dry run has a token");
    world.store.proposal(&token).expect("it can be planned")
}

/// Chooses some bytes for `f`, and nothing for the other files.
fn of_f(proposal: &Proposal, bytes: &str) -> Vec<Chosen> {
    let file = proposal
        .files
        .iter()
        .find(|file| file.change.path.path == "f");
    let file = file.expect("it would be changed");
    vec![Chosen {
        workspace: file.workspace.clone(),
        path: file.path.clone(),
        seen: file.now,
        content: ChosenContent::Text {
            mode: file.now.expect("it is there").mode,
            bytes: bytes.into(),
        },
    }]
}

fn apply(world: &mut World, chosen: &[Chosen]) -> Result<OperationReport, ckpt_store::Error> {
    let cwd = world.cwd.clone();
    world.store.apply_parts(
        &cwd,
        chosen,
        &ckpt_store::PlanOrigin::default(),
        ckpt_store::DryRun::No,
        ckpt_store::Force::No,
        None,
    )
}

/// A proposal is what the plan would do and the store holds its bytes.
#[test]
fn proposal_is_what_the_plan_would_do() {
    let mut world = world();
    world.write(
        "f",
        LINES
            .replace('a', "A")
            .replace('e', "yours")
            .replace('i', "I"),
    );
    let proposal = proposal(&mut world);
    let paths: Vec<_> = proposal
        .files
        .iter()
        .map(|file| file.change.path.path.as_str())
        .collect();
    assert_eq!(paths, ["f", "new"], "by path");
    let blob = proposal.files[0]
        .change
        .new_blob
        .clone()
        .expect("it stays a file");
    let cwd = world.cwd.clone();
    let merged = world
        .store
        .blob(&cwd, &blob)
        .expect("it was made for the plan");
    assert_eq!(
        merged,
        LINES.replace('e', "yours").as_bytes(),
        "merged with what the user did"
    );
    assert_eq!(world.read("new"), "1\n", "nothing was done");
}

/// What was undone in part is undone wholly by a later revert.
#[test]
fn part_is_undone_wholly_by_a_later_revert() {
    let mut world = world();
    let both = LINES.replace('a', "A").replace('i', "I");
    let proposal = proposal(&mut world);
    let report =
        apply(&mut world, &of_f(&proposal, &LINES.replace('i', "I"))).expect("it is as it was");
    assert_eq!(report.outcome, Outcome::Restored, "{report:?}");
    assert_eq!(world.read("f"), LINES.replace('i', "I"), "one hunk");
    assert_eq!(world.read("new"), "1\n", "what was not chosen stays");
    let status = world.status();
    assert!(
        status.messages_hidden.is_empty(),
        "no message is hidden: {status:?}"
    );
    let report = world.try_revert(&to("m1")).expect("it can be reverted");
    assert_eq!(report.outcome, Outcome::Restored, "{report:?}");
    assert_eq!(
        (world.read("f"), world.exists("new")),
        (LINES.to_owned(), false)
    );
    world.unrevert();
    assert_eq!(
        world.read("f"),
        LINES.replace('i', "I"),
        "as it was before the revert"
    );
    assert_ne!(world.read("f"), both);
}

#[test]
fn what_was_chosen_has_a_way_back() {
    let mut world = world();
    let before = world.tree();
    let proposal = proposal(&mut world);
    let report = apply(&mut world, &of_f(&proposal, LINES)).expect("it is as it was");
    world.restore(&report.operation.expect("something was done"), &[]);
    assert_eq!(world.tree(), before, "all is back");
}

/// A plan that is another one by now proposes nothing: what it would do is not what was seen.
#[test]
fn stale_plan_proposes_nothing() {
    let mut world = world();
    let request = RevertRequest {
        dry_run: true,
        on_conflict: OnConflict::Overwrite,
        ..to("m1")
    };
    let plan = world.try_revert(&request).expect("a plan").plan;
    let token = plan.expect("a dry run has a token");
    world.store.proposal(&token).expect("it is the same plan");
    world.write("f", "mine\n");
    let error = world
        .store
        .proposal(&token)
        .expect_err("`f` is another one");
    assert_eq!(error.kind, ErrorKind::Stale, "{error}");
}

/// A file that changed while somebody chose is left alone and so is every other.
///
/// Invariant `truth/hunks`: If a file changes while the user chooses its hunks, it and every
/// other file are left alone.
#[test]
fn file_changed_during_the_choice_is_left() {
    let mut world = world();
    let proposal = proposal(&mut world);
    world.write("f", "mine\n");
    let before = world.tree();
    let mut chosen = of_f(&proposal, LINES);
    let made = proposal.files.last().expect("`new`");
    chosen.push(Chosen {
        workspace: made.workspace.clone(),
        path: made.path.clone(),
        seen: made.now,
        content: ChosenContent::State(made.then),
    });
    let error = apply(&mut world, &chosen).expect_err("`f` is another one");
    assert_eq!(error.kind, ErrorKind::Stale, "{error}");
    assert_eq!(world.tree(), before, "nothing moved");
    chosen.remove(0);
    apply(&mut world, &chosen).expect("another file's change is no matter");
    assert!(!world.exists("new") && world.read("f") == "mine\n");
}
