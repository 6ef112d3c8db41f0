//! The arguments of what goes to other machines and comes from them.

use std::path::PathBuf;

use clap::Args;

/// `push`.
#[derive(Debug, Args)]
#[command(after_help = PUSH_EXAMPLES)]
pub struct PushArguments {
    /// The repository, as git takes it: a directory, or an address [default: the one that was named first]
    #[arg(value_name = "REMOTE")]
    pub remote: Option<String>,
    /// What the workspace is called there, the same on each machine [default: the directory's name]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Encrypt it for this public key from now on: an age or SSH key, or a file of them; may be given several times
    #[arg(long, value_name = "KEY")]
    pub encrypt: Vec<String>,
    /// Show what would be sent, and send nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Do not ask before the first push
    #[arg(short, long)]
    pub yes: bool,
    /// Push by itself after each turn in this workspace, in the background
    #[arg(long, conflicts_with = "no_auto")]
    pub auto: bool,
    /// Push only when told to from now on, and send nothing now
    #[arg(long, conflicts_with = "dry_run")]
    pub no_auto: bool,
}

impl PushArguments {
    /// Returns those of a push to a remote that was just named.
    pub fn to(remote: &str, name: Option<&str>, encrypt: &[String]) -> Self {
        Self {
            remote: Some(remote.to_owned()),
            name: name.map(str::to_owned),
            encrypt: encrypt.to_vec(),
            dry_run: false,
            yes: true,
            auto: false,
            no_auto: false,
        }
    }
}

const PUSH_EXAMPLES: &str = "\
Examples:
  ckpt-hook push /media/stick/history.git            to a bare repository on a stick
  ckpt-hook push me@example.org:history.git          over SSH, with your own git and keys
  ckpt-hook push                                     what is new, to the same one
  ckpt-hook push --dry-run                           what that is
  ckpt-hook push --auto                              the same, and after each turn from now on
  ckpt-hook push REMOTE --encrypt ~/.ssh/id_ed25519.pub    so that only this key reads it

Your own git sends it, to a repository that you name once for a workspace; nothing is sent by itself \
unless you set that with --auto. Prompts and the contents of files go as they are, and ignored files \
are left out, unless it is encrypted. The first push lists what would go, and asks; without a terminal, \
pass --yes.";

/// `fetch`.
#[derive(Debug, Args)]
#[command(after_help = FETCH_EXAMPLES)]
pub struct FetchArguments {
    /// The repository, as git takes it: a directory, or an address [default: the one that was named first]
    #[arg(value_name = "REMOTE")]
    pub remote: Option<String>,
    /// What the workspace is called there [default: the directory's name]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// A file with the age identity or SSH key that reads what was encrypted; may be given several times
    #[arg(short, long, value_name = "FILE")]
    pub identity: Vec<PathBuf>,
}

const FETCH_EXAMPLES: &str = "\
Examples:
  ckpt-hook fetch me@example.org:history.git    what other machines have pushed of this workspace
  ckpt-hook --machine laptop log                the messages of one of them
  ckpt-hook --machine laptop restore ID a.txt   a file as it was there, here
  ckpt-hook workspace adopt ID                  go on here with what it did

What came from a machine stays beside the workspace's own history. Its name may be cut short.";
