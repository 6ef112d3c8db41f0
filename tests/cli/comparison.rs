//! `docs/comparison.md` claims of ckpt-hook only what is so, and the recipe that writes it runs.

use std::path::Path;
use std::process::Command;

use testing::binary::Run;
use testing::machine::Machine;

#[test]
fn ckpt_hook_does_in_every_scenario_what_the_comparison_says() {
    if !testing::skip::has_program("python3") {
        return;
    }
    let world = Machine::new();
    let recipe = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/compare/compare.py");
    let mut command: Command = world.command("python3".as_ref());
    command.arg(recipe).arg("--check");
    Run::of(command.arg("--hook").arg(world.binary())).exits(0);
}
