//! Random histories: two agents and a user edit a workspace, and the first agent's session is reverted back and forth.

use ckpt_schema::report::{FileAction, FileResult};
use ckpt_store::model::entry::{Entry, EntryKind, Mode, State};
use ckpt_store::model::path::WorkspacePath;
use ckpt_store::model::request::OnConflict;
use ckpt_store::revert::plan::Plan;
use ckpt_store::revert::request::history::{Author, Claim, PastChange, SessionRelation, Source};
use proptest::prelude::*;

use crate::disk::Disk;
use testing::plan::{States, Story, codex, gap, path};

const PATHS: [&str; 8] = ["a", "b", "c", "d", "d/x", "d/y", "d/e/z", "f"];

/// One edit of a workspace.
#[derive(Clone, Debug)]
pub enum Edit {
    /// Writes a text: the common one with some of its lines changed.
    Write(usize, Vec<(usize, u8)>),
    /// Changes one line of what is there.
    Line(usize, usize, u8),
    Mode(usize, u32),
    Link(usize, u8),
    Directory(usize),
    Delete(usize, bool),
    Rename(usize, usize),
    /// Puts a file there that no snapshot can hold.
    Large(usize),
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = || 0..PATHS.len();
    let lines = prop::collection::vec((0..7usize, 0..3u8), 0..3);
    prop_oneof![
        3 => (at(), lines).prop_map(|(at, lines)| Edit::Write(at, lines)),
        6 => (at(), 0..7usize, 0..3u8).prop_map(|(at, line, to)| Edit::Line(at, line, to)),
        2 => (at(), prop::sample::select(vec![0o600, 0o644, 0o755])).prop_map(|(at, mode)| Edit::Mode(at, mode)),
        1 => (at(), 0..3u8).prop_map(|(at, to)| Edit::Link(at, to)),
        1 => at().prop_map(Edit::Directory),
        2 => (at(), any::<bool>()).prop_map(|(at, leaves)| Edit::Delete(at, leaves)),
        1 => (at(), at()).prop_map(|(from, to)| Edit::Rename(from, to)),
        1 => at().prop_map(Edit::Large),
    ]
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    prop::collection::vec(edit(), 0..5)
}

/// Something that happens before the revert.
#[derive(Clone, Debug)]
enum Event {
    /// The first agent's session gets a message and does this.
    Message(Vec<Edit>),
    /// As it works on its newest message, another session does something, and nobody knows which of them did what.
    Shared(Vec<Edit>),
    Other(Vec<Edit>),
    User(Vec<Edit>),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => edits().prop_map(Event::Message),
        1 => edits().prop_map(Event::Shared),
        1 => edits().prop_map(Event::Other),
        2 => edits().prop_map(Event::User),
    ]
}

/// The workspace, what happened to it, and the revert point.
struct Model {
    world: Story,
    disk: Disk,
    goals: States,
    /// How many messages the first agent's session has.
    messages: usize,
    /// The message that it is reverted to.
    point: usize,
}

impl Model {
    fn new(events: &[Event], on_conflict: OnConflict) -> Self {
        let world = Story {
            on_conflict,
            ..Story::default()
        };
        let mut model = Self {
            world,
            disk: Disk::default(),
            goals: States::new(),
            messages: 0,
            point: usize::MAX,
        };
        for at in [0, 1, 4, 5] {
            model.edit(&Edit::Write(at, Vec::new()));
        }
        model.happen(events);
        model
    }

    /// Lets things happen; what is reverted is reverted for good, and the next revert is the first of a new chain.
    fn happen(&mut self, events: &[Event]) {
        self.world
            .changes
            .retain(|past| message(past).is_none_or(|message| message < self.point));
        self.messages = self.messages.min(self.point);
        self.point = usize::MAX;
        for event in events {
            self.happens(event);
        }
        self.goals.clear();
        self.world.base = self.disk.states();
    }

    fn happens(&mut self, event: &Event) {
        let before = self.disk.clone();
        let (edits, author, claim) = match event {
            Event::Message(edits) => {
                self.messages += 1;
                (edits, claude(self.messages, false), Claim::Undo)
            }
            Event::Shared(edits) => (
                edits,
                claude(self.messages, true),
                Claim::Shared(Vec::new()),
            ),
            Event::Other(edits) => (edits, codex(), Claim::Keep),
            Event::User(edits) => (edits, Author::User, Claim::Keep),
        };
        self.edit_all(edits);
        for change in before.changes_to(&self.disk) {
            let (at, old, new) = (change.path.to_text(), change.old, change.new);
            self.world
                .happens(&at, old, new, author.clone(), claim.clone());
        }
    }

    fn edit_all(&mut self, edits: &[Edit]) {
        edits.iter().for_each(|edit| self.edit(edit));
    }

    fn edit(&mut self, edit: &Edit) {
        match edit {
            Edit::Write(at, lines) => {
                let mut text: Vec<_> = (0..7).map(|line| format!("line {line}\n")).collect();
                for (line, to) in lines {
                    text[*line] = format!("line {line} is {to}\n");
                }
                self.disk.force(
                    &path(PATHS[*at]),
                    file(self.world.blobs.file(&text.concat())),
                );
            }
            Edit::Line(at, line, to) => self.edit_line(&path(PATHS[*at]), *line, *to),
            Edit::Mode(at, permissions) => {
                let at = path(PATHS[*at]);
                if let Some(entry) = self
                    .disk
                    .state(&at)
                    .filter(|entry| entry.mode != Mode::SYMLINK)
                {
                    let is_directory = entry.mode == Mode::directory(entry.mode.permissions());
                    let mode = if is_directory {
                        Mode::directory(*permissions)
                    } else {
                        Mode::file(*permissions)
                    };
                    self.disk.force(&at, Entry { mode, ..entry });
                }
            }
            Edit::Link(at, to) => self.disk.force(
                &path(PATHS[*at]),
                file(self.world.blobs.link(&to.to_string())),
            ),
            Edit::Large(at) => self.disk.force(&path(PATHS[*at]), file(gap())),
            Edit::Directory(at) => self.disk.force(&path(PATHS[*at]), Entry::directory(0o755)),
            Edit::Delete(at, leaves_directory) => {
                self.disk.remove(&path(PATHS[*at]), *leaves_directory)
            }
            Edit::Rename(from, to) => {
                let from = path(PATHS[*from]);
                if let Some(entry) = self.disk.state(&from) {
                    self.disk.remove(&from, false);
                    self.disk.force(&path(PATHS[*to]), entry);
                }
            }
        }
    }

    fn edit_line(&mut self, at: &WorkspacePath, line: usize, to: u8) {
        let Some(entry) = self
            .disk
            .state(at)
            .filter(|entry| entry.mode == Mode::file(entry.mode.permissions()))
        else {
            return;
        };
        let Some(text) = self.world.blobs.text(Some(entry)) else {
            return;
        };
        let mut lines: Vec<_> = text.split_inclusive('\n').map(str::to_owned).collect();
        if let Some(old) = lines.get_mut(line) {
            *old = format!("line {line} is {to}\n");
        }
        let blob = file(self.world.blobs.file(&lines.concat())).blob;
        self.disk.force(at, Entry { blob, ..entry });
    }

    /// Moves the revert point to just before a message; past the last one is unrevert.
    fn move_to(&mut self, point: usize) {
        self.move_only(point, None);
    }

    fn move_only(&mut self, point: usize, named: Option<&[WorkspacePath]>) {
        self.point = point;
        for past in &mut self.world.changes {
            let Some(message) = message(past) else {
                continue;
            };
            let is_named = named.is_some_and(|named| named.contains(&past.change.path));
            past.claim = match (named, is_shared(past)) {
                _ if message < point => Claim::Keep,
                (None, true) => Claim::Shared(Vec::new()),
                (Some(_), _) if !is_named => Claim::Keep,
                (None, false) | (Some(_), _) => Claim::Undo,
            };
        }
        let plan = self.world.plan_from(&self.goals, &self.disk.states());
        self.check(&plan);
        self.disk.apply(&plan.items);
        self.goals
            .extend(plan.items.iter().map(|item| (item.path.clone(), item.goal)));
    }

    /// Checks what holds of every plan.
    fn check(&self, plan: &Plan) {
        for item in &plan.items {
            assert!(
                self.may_move(&item.path, item.expected, item.target),
                "{:?} was touched by the agent",
                item.path
            );
            let is_filled = item.action == FileAction::None && item.target.is_none();
            let is_changed = item.target != item.expected && !is_filled;
            assert_eq!(
                is_changed,
                item.result == FileResult::Planned,
                "only what is planned changes: {item:?}"
            );
            assert!(
                item.result != FileResult::Conflict || item.reason.is_some(),
                "a conflict has a reason: {item:?}"
            );
            let is_stored = |state: State| state.is_none_or(|entry| entry.is_stored());
            assert!(
                !is_changed || is_stored(item.expected),
                "bytes that nobody stored are replaced: {item:?}"
            );
            assert!(
                !is_changed || is_stored(item.target),
                "bytes that nobody stored are put there: {item:?}"
            );
            let blob = item.target.and_then(|entry| entry.blob);
            let is_known = |blob| {
                blob == ckpt_store::model::entry::ObjectId::EMPTY_TREE
                    || self.world.blobs.get(blob).is_some()
            };
            assert!(
                blob.is_none_or(is_known),
                "every target can be written: {item:?}"
            );
            self.check_users_lines(item.expected, item.target);
        }
    }

    /// What only the user wrote (a line that ends in `is 9`) is in the target wherever it is on the disk.
    fn check_users_lines(&self, expected: State, target: State) {
        if self.world.on_conflict == OnConflict::Overwrite {
            return;
        }
        let text = self.world.blobs.text(expected).unwrap_or_default();
        let after = self.world.blobs.text(target).unwrap_or_default();
        for line in text.lines().filter(|line| line.ends_with("is 9")) {
            assert!(after.contains(line), "{line:?} of the user's is lost");
        }
    }

    /// Whether the agent was at a path, or below an empty directory there, which is an entry only while it is empty.
    fn may_move(&self, path: &WorkspacePath, from: State, to: State) -> bool {
        let agents = self
            .world
            .changes
            .iter()
            .filter(|past| message(past).is_some());
        let is_directory = [from, to]
            .into_iter()
            .flatten()
            .all(|entry| entry.mode.kind() == EntryKind::Directory);
        agents
            .map(|past| &past.change.path)
            .any(|agents| agents == path || is_directory && agents.is_below(path))
    }

    /// Every path that the agent never touched is as it was.
    fn assert_others_untouched(&self, before: &Disk) {
        for change in before.changes_to(&self.disk) {
            assert!(
                self.may_move(&change.path, change.old, change.new),
                "{change:?} is none of the agent's"
            );
        }
    }
}

/// The author of a change of the first agent's session.
fn claude(message: usize, is_shared: bool) -> Author {
    let step = if is_shared { "shared" } else { "own" };
    let agent = "claude-code".to_owned();
    Author::Agent(Source {
        step: step.into(),
        message: message.to_string(),
        session: "s1".into(),
        agent,
        relation: SessionRelation::Other,
    })
}

/// The message of a change of the first agent's session.
fn message(past: &PastChange) -> Option<usize> {
    match &past.author {
        Author::Agent(source) if source.session == "s1" => source.message.parse().ok(),
        Author::Agent(_) | Author::User | Author::Unrecorded => None,
    }
}

fn is_shared(past: &PastChange) -> bool {
    matches!(&past.author, Author::Agent(source) if source.step == "shared")
}

fn file(state: State) -> Entry {
    state.expect("a file")
}

fn on_conflict() -> impl Strategy<Value = OnConflict> {
    prop::sample::select(vec![
        OnConflict::Merge,
        OnConflict::Merge,
        OnConflict::Keep,
        OnConflict::Overwrite,
    ])
}

/// Lines that nobody but the user writes, to find them again.
fn users_lines() -> impl Strategy<Value = Vec<Edit>> {
    prop::collection::vec(
        (0..PATHS.len(), 0..7usize).prop_map(|(at, line)| Edit::Line(at, line, 9)),
        0..4,
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn revert_then_unrevert_is_the_identity(
        events in prop::collection::vec(event(), 1..8),
        users in users_lines(),
        points in prop::collection::vec(0..5usize, 1..5),
        on_conflict in on_conflict(),
    ) {
        let mut model = Model::new(&events, on_conflict);
        model.happen(&[Event::User(users)]);
        let before = model.disk.clone();
        for point in points {
            model.move_to(point);
            model.assert_others_untouched(&before);
        }
        model.move_to(usize::MAX);
        prop_assert_eq!(model.disk, before, "as before the first revert");
    }

    /// A revert point means the same by whatever way one comes there.
    #[test]
    fn revert_point_means_the_same_by_any_way(
        events in prop::collection::vec(event(), 1..8),
        way in prop::collection::vec(0..5usize, 1..5),
        point in 0..5usize,
        on_conflict in on_conflict(),
    ) {
        let mut straight = Model::new(&events, on_conflict);
        straight.move_to(point);
        let mut winding = Model::new(&events, on_conflict);
        for stop in way {
            winding.move_to(stop);
        }
        winding.move_to(point);
        prop_assert_eq!(winding.disk, straight.disk, "nothing was edited in between");
    }

    #[test]
    fn edits_made_while_reverted_survive(
        events in prop::collection::vec(event(), 1..8),
        moves in prop::collection::vec((0..6usize, users_lines()), 1..5),
    ) {
        let mut model = Model::new(&events, OnConflict::Merge);
        for (point, edits) in moves {
            model.move_to(point);
            model.edit_all(&edits);
        }
        model.move_to(usize::MAX);
    }

    /// Paths reverted one by one come to the same as all at once.
    #[test]
    fn paths_one_by_one_equal_all_at_once(
        events in prop::collection::vec(event(), 1..8),
        named in prop::collection::btree_set(0..PATHS.len(), 0..4),
        point in 0..3usize,
    ) {
        let named: Vec<_> = named.into_iter().map(|at| path(PATHS[at])).collect();
        let mut model = Model::new(&events, OnConflict::Merge);
        let before = model.disk.clone();
        model.move_only(point, Some(&named));
        for path in before.paths().filter(|path| !named.contains(path)) {
            let is_in_the_way = named.iter().any(|named| path.is_below(named) || named.is_below(path));
            prop_assert!(is_in_the_way || model.disk.state(path) == before.state(path), "{:?} was not named", path);
        }
        model.move_to(usize::MAX);
        prop_assert_eq!(model.disk, before, "and back");
    }

    /// A message after a revert begins a new chain.
    #[test]
    fn message_after_a_revert_begins_a_chain(
        chains in prop::collection::vec((prop::collection::vec(event(), 1..4), 0..5usize), 1..5),
        on_conflict in on_conflict(),
    ) {
        let mut model = Model::new(&[], on_conflict);
        for (events, point) in chains {
            model.happen(&events);
            let before = model.disk.clone();
            model.move_to(point);
            model.assert_others_untouched(&before);
            model.move_to(usize::MAX);
            prop_assert_eq!(&model.disk, &before, "nothing of what was reverted for good comes back");
            model.move_to(point);
        }
    }
}
