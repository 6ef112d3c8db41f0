//! The arguments of `label`.

use clap::Args;

/// `label`.
#[derive(Debug, Args)]
#[command(
    after_help = LABEL_EXAMPLES,
    override_usage = "ckpt-hook label [OPTIONS] ID TEXT\n       ckpt-hook label --list [PATTERN]\n       ckpt-hook label --delete TEXT"
)]
pub struct LabelArguments {
    /// The message or snapshot; with --list, a text that the label or its message's prompt contains
    #[arg(value_name = "ID", required_unless_present_any = ["list", "delete"], conflicts_with = "delete")]
    pub id: Option<String>,
    /// The label: any text that does not look like an id
    #[arg(
        value_name = "TEXT",
        required_unless_present_any = ["list", "delete"],
        conflicts_with_all = ["list", "delete"]
    )]
    pub text: Option<String>,
    /// List the labels of this workspace, newest first
    #[arg(short, long, conflicts_with = "delete")]
    pub list: bool,
    /// Remove a label; the message or snapshot stays
    #[arg(short, long, value_name = "TEXT")]
    pub delete: Option<String>,
}

const LABEL_EXAMPLES: &str = "\
Examples:
  ckpt-hook label last 'tests pass'            a bookmark on the newest message
  ckpt-hook revert --message 'tests pass'      a label works wherever an id does
  ckpt-hook label --list pass                  the labels that contain `pass`
  ckpt-hook label --delete 'tests pass'        remove it again

`ckpt-hook snapshot --label TEXT` labels the workspace as it is now.";
