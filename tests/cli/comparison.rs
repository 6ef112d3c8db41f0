//! `docs/comparison.md` claims of ckpt-hook only what is so, and the recipe that writes it runs.

use std::path::Path;
use std::process::Command;

use testing::binary::Run;
use testing::machine::Machine;

/// Ckpt hook does in every scenario what the comparison says.
#[test]
fn comparison_says_what_ckpt_hook_does() {
    if !testing::skip::has_program("python3") {
        return;
    }
    let world = Machine::new();
    let recipe = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/compare/compare.py");
    let mut command: Command = world.command("python3".as_ref());
    command.arg(recipe).arg("--check");
    Run::of(command.arg("--hook").arg(world.binary())).exits(0);
}
