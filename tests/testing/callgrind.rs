//! Counting the instructions of a command, by `valgrind`.

use std::process::Command;

use crate::binary::{Sandbox, binary, finish};

/// Runs a command that ends well, and returns how many instructions it took. Of a debug build, those before `main` are left out.
pub fn count(world: &Sandbox, arguments: &[&str], stdin: &str) -> u64 {
    let profile = world.path("profile");
    let plain = world.command(arguments);
    let mut command = Command::new("valgrind");
    command.arg("--tool=callgrind").arg("-q");
    command.arg(format!("--callgrind-out-file={}", profile.display()));
    if cfg!(debug_assertions) {
        command.arg("--toggle-collect=main");
    }
    command.arg(binary()).args(arguments).env_clear();
    let variables = plain
        .get_envs()
        .filter_map(|(name, value)| Some((name, value?)));
    command.envs(variables).current_dir(world.workspace());
    finish(&mut command, stdin.as_bytes()).exits(0);
    let profile = std::fs::read_to_string(profile).expect("valgrind wrote it");
    let totals = profile
        .lines()
        .find_map(|line| line.strip_prefix("totals: "));
    let instructions = totals.and_then(|totals| totals.trim().parse().ok());
    instructions.expect("a profile ends with what it counted")
}
