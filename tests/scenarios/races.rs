//! Events that come at the same time. One process is held at every moment at which it could see what another one does,
//! and another event is recorded meanwhile, as far as it does not wait for a lock that the first one has. The rows are
//! those of the two events one after the other, in one order or the other.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use ckpt_schema::{Event, EventKind, ToolKind};
use ckpt_store::{ErrorKind, Settings, Store, fault};

use testing::rows;
use testing::scenario::{World, file_time, set_clock_from_files, to, try_open};

/// What an agent may tell of, by a name.
const EVENTS: [&str; 11] = [
    "a message",
    "the message again",
    "a step",
    "a read",
    "an edit",
    "a shell",
    "a wait",
    "the end of the edit",
    "the end of the step",
    "the end of the turn",
    "the end of the session",
];

#[expect(clippy::disallowed_methods, reason = "the one switch of this test")]
fn is_full() -> bool {
    std::env::var_os("CKPT_FULL").is_some()
}

/// A workspace in which each race has a session of its own.
struct Races {
    world: World,
    base: PathBuf,
    root: PathBuf,
    sessions: usize,
    /// What two or three events one after the other leave.
    in_turn: BTreeMap<Vec<&'static str>, Vec<String>>,
}

impl Races {
    fn new() -> Self {
        set_clock_from_files(0);
        let world = World::new();
        world.write("a.txt", "a\n");
        let (base, root) = (world.base(), world.root.clone());
        Self {
            world,
            base,
            root,
            sessions: 0,
            in_turn: BTreeMap::new(),
        }
    }

    /// Begins a session in which an edit tool and a shell run side by side, and the edit has been made.
    fn begin(&mut self) -> String {
        self.sessions += 1;
        let session = format!("s{}", self.sessions);
        let mut send = |event: Event| drop(self.world.store.record(&event).expect("recorded"));
        send(event(&self.root, &session, "the first message"));
        send(tool(
            &self.root,
            &session,
            EventKind::ToolStart,
            "edit 1",
            None,
            &["a.txt"],
        ));
        std::fs::write(self.root.join("a.txt"), format!("{session}\n")).expect("writable");
        session
    }

    /// Returns the rows of a session, without what differs from one race to another.
    fn rows_of(&self, session: &str) -> Vec<String> {
        let database = self.base.join("store/sessions.db");
        let of = |query: &str| rows::texts(&database, &query.replace("$SESSION", session));
        let mut rows = of("SELECT 'message ' || ifnull(prompt, '-') || iif(pending, ' waits', '') || iif(unprotected IS NULL, '', ' unprotected')
                             FROM messages WHERE session_id = (SELECT id FROM sessions WHERE agent_id = '$SESSION') ORDER BY seq");
        rows.extend(of("SELECT 'step ' || steps.state || ' ' || recovered || ' of ' || ifnull(prompt, '-') || ': '
                               || ifnull((SELECT group_concat(agent_id || iif(finished_at IS NULL, ' runs', '')
                                                              || iif(waited_at IS NULL, '', ' waited'), ', ')
                                            FROM (SELECT * FROM tools WHERE step_id = steps.id ORDER BY agent_id)), '')
                          FROM steps JOIN messages ON messages.id = message_id
                         WHERE steps.session_id = (SELECT id FROM sessions WHERE agent_id = '$SESSION') ORDER BY steps.seq"));
        rows.extend(of("SELECT 'change ' || path || ' ' || attribution || ' of ' || ifnull(prompt, '-')
                          FROM changes JOIN steps ON steps.id = step_id JOIN messages ON messages.id = message_id
                         WHERE steps.session_id = (SELECT id FROM sessions WHERE agent_id = '$SESSION') ORDER BY path"));
        rows
    }

    fn end(&mut self, session: &str) {
        for name in ["the end of the turn", "the end of the session"] {
            let event = event(&self.root, session, name);
            drop(self.world.store.record(&event).expect("recorded"));
        }
        let rows = self.rows_of(session);
        let is_open = |row: &String| row.starts_with("step open");
        assert!(!rows.iter().any(is_open), "nothing stays open: {rows:?}");
    }

    /// Returns the rows that events leave, recorded one after the other.
    fn in_turn(&mut self, names: &[&'static str]) -> Vec<String> {
        if let Some(rows) = self.in_turn.get(names) {
            return rows.clone();
        }
        let session = self.begin();
        for name in names {
            let event = event(&self.root, &session, name);
            drop(self.world.store.record(&event).expect("recorded"));
        }
        let rows = self.rows_of(&session);
        self.end(&session);
        self.in_turn.insert(names.to_vec(), rows.clone());
        rows
    }

    /// Fails unless what was recorded is what the events leave in one order or another.
    fn assert_in_turn(&mut self, mut rows: Vec<String>, orders: &[&[&'static str]], what: &str) {
        let mut orders: Vec<Vec<String>> = orders.iter().map(|names| self.in_turn(names)).collect();
        // Whose a change is that came just before a tool waited is a question of milliseconds.
        if rows
            .iter()
            .chain(orders.iter().flatten())
            .any(|row| row.contains("waited"))
        {
            let is_told = |row: &String| !row.starts_with("change");
            rows.retain(is_told);
            orders.iter_mut().for_each(|rows| rows.retain(is_told));
        }
        assert!(
            orders.contains(&rows),
            "{what}:\n{rows:#?}\nare none of\n{orders:#?}"
        );
    }

    /// Records the first event, the second at a moment of the first, the third at a moment of the second, and so on.
    /// Returns whether each moment was reached, and the rows.
    fn race(&mut self, names: &[&'static str], moments: &[usize]) -> (bool, Vec<String>) {
        let session = self.begin();
        let events = names.iter().map(|name| event(&self.root, &session, name));
        let was_reached = race(&self.base, events.collect(), moments.to_vec());
        let rows = self.rows_of(&session);
        self.end(&session);
        (was_reached, rows)
    }
}

fn tool(
    root: &Path,
    session: &str,
    kind: EventKind,
    id: &str,
    tool: Option<ToolKind>,
    paths: &[&str],
) -> Event {
    Event {
        cwd: Some(root.to_owned()),
        tool_use_id: Some(id.to_owned()),
        tool_name: Some(id.to_owned()),
        tool_kind: tool.or((!paths.is_empty()).then_some(ToolKind::Edit)),
        paths: paths.iter().map(|path| root.join(path)).collect(),
        ..Event::new(kind, "generic", session)
    }
}

fn event(root: &Path, session: &str, name: &str) -> Event {
    let tool =
        |kind, id, tool_kind, paths: &[&str]| tool(root, session, kind, id, tool_kind, paths);
    let plain = |kind| Event {
        cwd: Some(root.to_owned()),
        ..Event::new(kind, "generic", session)
    };
    let message = |id: &str| Event {
        message_id: Some(id.to_owned()),
        prompt: Some(id.to_owned()),
        ..plain(EventKind::UserMessage)
    };
    match name {
        "the first message" => message("m1"),
        // The same one twice is one.
        "a message" | "the message again" => message("m2"),
        "a step" => plain(EventKind::StepStart),
        "a read" => tool(EventKind::ToolStart, "read", Some(ToolKind::Read), &[]),
        "an edit" => tool(EventKind::ToolStart, "edit 2", None, &["b.txt"]),
        "a shell" => tool(EventKind::ToolStart, "shell", None, &[]),
        "a wait" => tool(EventKind::ToolWait, "edit 1", None, &[]),
        "the end of the edit" => tool(EventKind::ToolFinish, "edit 1", None, &["a.txt"]),
        "the end of the step" => plain(EventKind::StepFinish),
        "the end of the turn" => plain(EventKind::TurnEnd),
        "the end of the session" => plain(EventKind::SessionEnd),
        other => panic!("no event is called `{other}`"),
    }
}

/// What a process tells the one that it runs beside: it has ended, or waits for a lock.
enum Told {
    Waits,
    Ended,
}

/// So much later, in milliseconds, is the next event by the clock: longer than a file's time may lag behind.
const LATER: i64 = 30;

/// Records events in threads with stores of their own. Each begins at a moment of the one before. It returns once the
/// clock has passed the latest of them: what comes next would otherwise be stamped before it on a quick machine.
fn race(base: &Path, events: Vec<Event>, moments: Vec<usize>) -> bool {
    let ahead: i64 = moments.iter().map(|_| LATER).sum();
    let (thread, _told) = begin(base, events, moments, 0);
    let was_reached = thread.join().expect("no panic");
    let last = file_time() + ahead;
    while file_time() <= last {
        std::thread::yield_now();
    }
    was_reached
}

type Beside = (JoinHandle<bool>, Receiver<Told>);

fn record(
    base: &Path,
    event: &Event,
    rest: Vec<Event>,
    at: Option<usize>,
    moments: Vec<usize>,
    since: i64,
    tell: Sender<Told>,
) -> bool {
    set_clock_from_files(since);
    let mut store: Store = try_open(base, Settings::default()).expect("a store of our own");
    let beside: Rc<RefCell<Option<Beside>>> = Rc::default();
    let (theirs, told, base) = (Rc::clone(&beside), tell.clone(), base.to_owned());
    let (mut passed, mut rest) = (0, Some((rest, moments)));
    let mut writes = false;
    fault::at_each_moment(move |name| {
        if name == "waits" {
            // Nobody may listen any more.
            drop(told.send(Told::Waits));
            return;
        }
        writes = match name {
            "writes" => true,
            "committed" => false,
            _ => writes,
        };
        passed += 1;
        if at == Some(passed - 1)
            && let Some((rest, moments)) = rest.take()
            && !rest.is_empty()
        {
            // For both: no process holds the clock for the other.
            set_clock_from_files(since + LATER);
            let (begun, heard) = begin(&base, rest, moments, since + LATER);
            // While this one has the database's write lock, the other one waits for it without a word: SQLite does.
            if !writes {
                heard.recv().expect("it ends or waits");
            }
            *theirs.borrow_mut() = Some((begun, heard));
        }
    });
    let recorded = store.record(event);
    fault::at_no_moment();
    recorded.unwrap_or_else(|error| panic!("{event:?}: {error}: {:?}", error.causes()));
    drop(store);
    drop(tell.send(Told::Ended));
    let beside = beside.borrow_mut().take();
    match (at, beside) {
        (None, _) => true,
        (Some(_), Some((thread, _heard))) => thread.join().expect("no panic"),
        (Some(_), None) => false,
    }
}

fn begin(base: &Path, mut events: Vec<Event>, mut moments: Vec<usize>, since: i64) -> Beside {
    let rest = events.split_off(1);
    let at = (!moments.is_empty()).then(|| moments.remove(0));
    let (first, base) = (events.remove(0), base.to_owned());
    let (tell, told) = channel();
    let thread = std::thread::spawn(move || record(&base, &first, rest, at, moments, since, tell));
    (thread, told)
}

/// The most moments that an event has; a race at a later one ends the search.
const MOST_MOMENTS: usize = 60;

/// Events at the same time are recorded in turn.
#[test]
fn two_events_at_once_are_recorded_in_turn() {
    let mut races = Races::new();
    let mut raced = 0;
    for (number, first) in EVENTS.into_iter().enumerate() {
        for (other, second) in EVENTS.into_iter().enumerate() {
            for at in 0..MOST_MOMENTS {
                // A sample of them, another one for each pair.
                if !is_full() && (at + number + 3 * other) % 11 > 0 {
                    continue;
                }
                let (was_reached, rows) = races.race(&[first, second], &[at]);
                if !was_reached {
                    break;
                }
                raced += 1;
                let what = format!("{first}, and {second} at its moment {at}");
                races.assert_in_turn(rows, &[&[first, second], &[second, first]], &what);
            }
        }
    }
    assert!(raced > 60, "only {raced} races");
}

/// Three events at the same time are recorded in turn.
///
/// All of them, or a sample.
#[test]
fn three_events_at_once_are_recorded_in_turn() {
    let mut races = Races::new();
    let step = if is_full() { 1 } else { 61 };
    let all = EVENTS.len() * EVENTS.len() * EVENTS.len();
    for number in (0..all).step_by(step) {
        let names = [
            EVENTS[number % EVENTS.len()],
            EVENTS[number / EVENTS.len() % EVENTS.len()],
            EVENTS[number / EVENTS.len() / EVENTS.len()],
        ];
        let [a, b, c] = names;
        let orders: [&[&str]; 6] = [
            &[a, b, c],
            &[a, c, b],
            &[b, a, c],
            &[b, c, a],
            &[c, a, b],
            &[c, b, a],
        ];
        let moments: Vec<usize> = match is_full() {
            true => (0..MOST_MOMENTS).step_by(2).collect(),
            false => vec![number % 3 + 1, number % 7 + 2],
        };
        for at in moments {
            for then in [at / 2, at % 5 + 1] {
                let (was_reached, rows) = races.race(&names, &[at, then]);
                if was_reached {
                    let what = format!("{names:?} at {at} and {then}");
                    races.assert_in_turn(rows, &orders, &what);
                }
            }
        }
    }
}

/// Events of two sessions at the same time are recorded as one after the other.
#[test]
fn two_sessions_events_are_recorded_in_turn() {
    let mut races = Races::new();
    for (number, first) in EVENTS.into_iter().enumerate() {
        for (other, second) in EVENTS.into_iter().enumerate() {
            if !is_full() && (number + other) % 3 > 0 {
                continue;
            }
            for at in 0..MOST_MOMENTS {
                if !is_full() && (at + number + other) % 9 > 0 {
                    continue;
                }
                let sessions = [races.begin(), races.begin()];
                let events = [(first, &sessions[0]), (second, &sessions[1])]
                    .map(|(name, session)| event(&races.root, session, name));
                let was_reached = race(&races.base, events.to_vec(), vec![at]);
                let open = "SELECT 'open' FROM steps WHERE state = 'open' GROUP BY session_id HAVING count(*) > 1";
                let open = rows::texts(&races.base.join("store/sessions.db"), open);
                assert!(open.is_empty(), "{first} and {second} at {at}");
                for session in &sessions {
                    let tools = races.rows_of(session).join("\n");
                    assert!(
                        tools.contains("edit 1"),
                        "{first} and {second} at {at}: {tools}"
                    );
                    races.end(session);
                }
                if !was_reached {
                    break;
                }
            }
        }
    }
}

/// Six tools at once, and their ends at once, as often as an agent may do that.
#[test]
fn tools_side_by_side_are_one_step() {
    let mut races = Races::new();
    for round in 0..3 {
        let session = format!("r{round}");
        let message = event(&races.root, &session, "the first message");
        drop(races.world.store.record(&message).expect("recorded"));
        for kind in [EventKind::ToolStart, EventKind::ToolFinish] {
            let events = (0..6).map(|number| {
                let id = format!("t{number}");
                tool(&races.root, &session, kind, &id, Some(ToolKind::Read), &[])
            });
            assert!(race(&races.base, events.collect(), vec![round + 1; 5]) || round > 0);
        }
        let rows = races.rows_of(&session);
        let steps: Vec<_> = rows.iter().filter(|row| row.starts_with("step")).collect();
        assert_eq!(
            steps,
            ["step open 0 of m1: t0, t1, t2, t3, t4, t5"],
            "all ended"
        );
        races.end(&session);
        if let Err(error) = races.world.try_revert(&to("m1")) {
            assert_ne!(error.kind, ErrorKind::Busy, "{error}");
        }
    }
}
