//! The browser.

use clap::Args;

/// `ui`.
#[derive(Debug, Default, Args)]
#[command(after_help = UI_EXAMPLES)]
pub struct UiArguments {
    /// Begin with the operations
    #[arg(long)]
    pub operations: bool,
}

const UI_EXAMPLES: &str = "\
Examples:
  ckpt-hook ui                  messages, operations and your own changes; their files and patches
  ckpt-hook ui --operations     what was reverted and restored

Keys: Enter opens, Tab marks files or hunks, / filters prompts, paths and contents, r shows what a
revert would do (a: of this message alone) and y does it, u undoes, o lists operations, b blames,
y copies the id, ? lists every key, q leaves. `ckpt-hook revert` without an id opens it as well.";
