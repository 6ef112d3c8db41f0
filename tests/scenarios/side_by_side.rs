//! Agents side by side in one workspace, at the same time: each is a thread with a store of its own, as each is a process.

use std::path::Path;

use ckpt_schema::{Event, EventKind};
use ckpt_store::Settings;

use testing::scenario::{World, set_clock_from_files, try_open};

const ROUNDS: usize = 6;

/// What the hooks of one agent send that writes one file again and again, and truncates it before, as most programs do.
fn work(base: &Path, root: &Path, agent: &str) {
    set_clock_from_files(0);
    let mut store = try_open(base, Settings::default()).expect("a store of our own");
    let file = root.join(format!("{agent}.txt"));
    for round in 0..ROUNDS {
        let mut send = |kind| {
            let tool = matches!(kind, EventKind::ToolStart | EventKind::ToolFinish);
            let event = Event {
                cwd: Some(root.to_owned()),
                message_id: (kind == EventKind::UserMessage).then(|| format!("{agent} {round}")),
                tool_use_id: tool.then(|| format!("{agent} {round}")),
                paths: (kind == EventKind::ToolStart)
                    .then(|| file.clone())
                    .into_iter()
                    .collect(),
                ..Event::new(kind, "generic", agent)
            };
            let sent = store.record(&event);
            sent.unwrap_or_else(|error| panic!("{event:?}: {error}: {:?}", error.causes()));
        };
        send(EventKind::UserMessage);
        send(EventKind::StepStart);
        send(EventKind::ToolStart);
        std::fs::write(&file, format!("{agent} {round}\n").repeat(1_000)).expect("writable");
        send(EventKind::ToolFinish);
        send(EventKind::StepFinish);
        send(EventKind::TurnEnd);
    }
}

/// What an edit tool named is its change whoever looks while it writes.
#[test]
fn named_file_is_its_tools_change() {
    const AGENTS: [&str; 4] = ["a", "b", "c", "d"];
    let mut world = World::new();
    world.write("mine", "by hand\n");
    let before = world.tree();
    let (base, root) = (world.base(), world.root.clone());
    std::thread::scope(|scope| {
        for agent in AGENTS {
            let (base, root) = (&base, &root);
            scope.spawn(move || work(base, root, agent));
        }
    });
    set_clock_from_files(0);
    let log = world.log();
    let told: u64 = log.messages.iter().map(|message| message.files).sum();
    assert_eq!(told, (AGENTS.len() * ROUNDS) as u64, "one file a message");
    for agent in AGENTS {
        world.revert(&format!("{agent} 0"));
    }
    assert_eq!(world.tree(), before, "all that they wrote, and no more");
}
