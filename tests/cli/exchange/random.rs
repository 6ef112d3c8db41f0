//! Random histories on three machines.

use std::path::Path;

use testing::binary::Sandbox;
use testing::tree;

use super::{fetch, holds, in_server, objects, push, server};

/// A random number, the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        // Knuth's numbers for MMIX.
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

const DAY: i64 = 24 * 3600;

#[expect(clippy::disallowed_methods, reason = "the one switch of these tests")]
pub(super) fn is_full() -> bool {
    std::env::var_os("CKPT_FULL").is_some()
}

/// How many histories are played: a few, or as many as the switch says.
#[expect(clippy::disallowed_methods, reason = "the same switch")]
fn seeds() -> u64 {
    let asked = std::env::var("CKPT_FULL").ok();
    let asked = asked.map(|asked| asked.parse().unwrap_or_default());
    asked.map_or(2, |asked: u64| asked.max(12))
}

/// Random work, pushes, fetches, adoption, forgetting and upkeep on three machines whose clocks differ by days: in the end, each
/// sees the messages of the others, and each state of them to the byte, and what was ignored or forgotten is nowhere there.
///
/// Invariant `work/three-machines`: Whatever three machines do, each sees what the others have.
#[test]
fn three_machines_see_the_same_histories() {
    for seed in 1..=seeds() {
        let mut dice = Dice(seed);
        let worlds = [Sandbox::new(), Sandbox::new(), Sandbox::new()];
        let server = server(&worlds[0]);
        for (world, days) in worlds.iter().zip([0, 3, -40]) {
            world.set_clock(1_800_000_000 + days * DAY);
            world.run_git(&["init", "-q"]);
            world.write(".gitignore", "ignored\n");
        }
        let (mut number, mut forgotten, mut is_adopted) = (0, Vec::new(), false);
        for _ in 0..18 {
            let world = &worlds[usize::try_from(dice.below(3)).expect("it is small")];
            number += 1;
            match dice.below(9) {
                0 => drop(world.run(&["push", &server, "--yes"], b"")),
                1 => drop(fetch(world, &server)),
                2 => drop(world.run(&["gc"], b"")),
                3 => drop(world.run(&["revert", "last"], b"")),
                4 => {
                    let log = world.json(&["log", "-n", "1"]);
                    let prompt = log["messages"][0]["prompt"].as_str().map(str::to_owned);
                    let forget = ["forget", "--message", "last", "--yes"];
                    if world.run(&forget, b"").code == Some(0) {
                        forgotten.extend(prompt);
                    }
                }
                5 if !is_adopted => {
                    let report = fetch(world, &server);
                    if let Some(id) = report["machines"][0]["id"].as_str() {
                        is_adopted = world.run(&["workspace", "adopt", id], b"").code == Some(0);
                    }
                }
                _ => world.play(
                    &format!("m{number}"),
                    &format!("word-{number}-word"),
                    |world| {
                        let name = format!("d{}/f{}", dice.below(2), dice.below(3));
                        world.write(&name, format!("{number}\n").repeat(number));
                        world.write("ignored", format!("very-secret {number}\n"));
                    },
                ),
            }
        }
        for world in &worlds {
            world.play("end", "the end", |world| world.write("end", "1\n"));
            push(world, &server);
        }
        in_server(
            &worlds[0],
            &server,
            &["reflog", "expire", "--expire=now", "--all"],
        );
        in_server(&worlds[0], &server, &["gc", "-q", "--prune=now"]);
        let bytes = objects(&worlds[0], Path::new(&server));
        assert!(!holds(&bytes, "very-secret"), "{seed}: what was ignored");
        // Another machine may have adopted it before.
        for prompt in forgotten.iter().filter(|_| !is_adopted) {
            assert!(!holds(&bytes, prompt), "{seed}: {prompt} was forgotten");
        }
        for world in &worlds {
            let report = fetch(world, &server);
            let machines = report["machines"].as_array().expect("a list");
            assert_eq!(machines.len(), 2, "{seed}: {report}");
            for machine in machines.iter().filter(|machine| machine["adopted"] != true) {
                let name = machine["machine"].as_str().expect("a name");
                let log = world.json(&["--machine", name, "log"]);
                // A message that was adopted elsewhere has another id there: no two have one agent's id and time.
                let ids = |log: &serde_json::Value| -> Vec<(String, String)> {
                    let entries = log["messages"].as_array().into_iter().flatten();
                    let of_entry = |entry: &serde_json::Value| {
                        let id = entry["id"].as_str().expect("an id").to_owned();
                        (id, format!("{} {}", entry["agent_id"], entry["time"]))
                    };
                    entries.map(of_entry).collect()
                };
                let names = |ids: &[(String, String)]| -> Vec<String> {
                    ids.iter().map(|(_, name)| name.clone()).collect()
                };
                let come = ids(&log);
                let of = |other: &Sandbox| {
                    let own = ids(&other.json(&["log"]));
                    (names(&own) == names(&come)).then_some(own)
                };
                let mut others = worlds.iter();
                let there = others.find_map(|other| Some((other, of(other)?)));
                let (there, own) = there.unwrap_or_else(|| panic!("{seed}: {log}"));
                for ((id, _), (own, _)) in come.iter().zip(&own) {
                    let (here, beside) = (
                        world.path(&format!("{name}-{id}")),
                        there.path(&format!("own-{own}")),
                    );
                    let lay_out = |world: &Sandbox, before: &[&str], id: &str, path: &Path| {
                        let path = path.to_str().expect("a plain path");
                        if !Path::new(path).exists() {
                            world
                                .run(&[before, &["branch", id, path]].concat(), b"")
                                .exits(0);
                        }
                    };
                    lay_out(world, &["--machine", name], id, &here);
                    lay_out(there, &[], own, &beside);
                    assert_eq!(tree::read(&here), tree::read(&beside), "{seed}: {id}");
                }
            }
        }
    }
}
