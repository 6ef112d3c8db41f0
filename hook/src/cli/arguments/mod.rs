//! The command line in clap's words. Nothing here decides or does anything.

mod checkout;
mod config;
mod exchange;
mod files;
mod help;
mod history;
mod inside;
mod install;
mod label;
mod operation;
mod plain;
mod record;
#[cfg(test)]
mod shown_tests;
mod upkeep;
mod watch;
mod workspace;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::LazyLock;

use ckpt_command::invocation::Common;
use ckpt_page::PageArguments;
use ckpt_serve::ServeArguments;
use ckpt_serve::mcp::McpArguments;
use ckpt_ui::UiArguments;
use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

pub use checkout::{BisectArguments, BranchArguments};
pub use config::{ConfigArguments, ConfigCommand};
pub use exchange::{FetchArguments, PushArguments};
pub use files::{BlameArguments, CatArguments, RecoverArguments};
pub use history::{
    DiffArguments, DoctorArguments, ExportArguments, Format, LogArguments, SessionsArguments,
    ShowArguments, SnapshotArguments, StateArgument, StatusArguments,
};
pub use inside::{InsideArguments, InsideCommand, InsideRevertArguments};
pub use install::{InstallArguments, UninstallArguments};
pub use label::LabelArguments;
pub use operation::{
    ConversationArgument, Forward, MineArgument, OnConflictArgument, Planning, RedoArguments,
    RestoreArguments, RevertArguments, UnclearArgument, UndoArguments, UnrevertArguments,
};
pub use record::{AcpArguments, EventArguments, FlagArguments, RunArguments};
pub use upkeep::{DuArguments, ForgetArguments, GcArguments, GroupingArgument};
pub use watch::WatchArguments;
pub use workspace::{AdoptArguments, WorkspaceArguments, WorkspaceCommand};

/// Put my workspace back to how it was just before I sent that message.
#[derive(Debug, Parser)]
#[command(name = "ckpt-hook", version = version(), arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Arguments {
    /// What every command understands.
    #[command(flatten)]
    pub common: Common,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  ckpt-hook demo                        see what it does, in a scratch folder
  ckpt-hook install --all               put the hook into the settings of your agents
  ckpt-hook log                         list the recorded messages
  ckpt-hook revert last                 go back to just before the newest message
  ckpt-hook undo                        take that revert back

Ids: an agent's own message or session id, one of ours, or any unambiguous prefix of ours with at \
least four characters. `last` is the newest message, `last~2` is two rows below it in `ckpt-hook log`.

Exit codes: 0 done, 1 failed and nothing changed, 2 usage, 3 done in part, 4 unknown or unavailable, \
5 busy. The commands for agents (`event`, `step-start`, `step-finish`, `message`) always exit with 0 \
and print nothing, unless you pass --strict.

Environment: CKPT_HOOK_HOME the store, CKPT_HOOK_CONFIG the settings file, CKPT_HOOK_DISABLE=1 turns \
the hooks off, CKPT_HOOK_LOG the log's level (off, error, warning, info, debug), NO_COLOR.";

/// The names of all commands, for the guard, which looks at the command line before clap does; a test compares them.
pub const COMMANDS: &[&str] = &[
    "revert",
    "undo",
    "redo",
    "unrevert",
    "status",
    "log",
    "ui",
    "page",
    "show",
    "sessions",
    "export",
    "diff",
    "blame",
    "cat",
    "recover",
    "branch",
    "bisect",
    "run",
    "acp",
    "push",
    "fetch",
    "snapshot",
    "label",
    "restore",
    "workspace",
    "install",
    "uninstall",
    "config",
    "doctor",
    "gc",
    "du",
    "forget",
    "demo",
    "event",
    "step-start",
    "step-finish",
    "message",
    "settle",
    "inside",
    "serve",
    "mcp",
    "watch",
    "schema",
    "candidates",
    "completions",
    "man",
    "help",
    "rewind",
    "rollback",
    "history",
    "ls",
    "snapshots",
    "search",
    "tui",
    "web",
];

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Go back to just before a user message
    #[command(aliases = ["rewind", "rollback"])]
    Revert(RevertArguments),
    /// Take back the last operation of this workspace, of any kind
    Undo(UndoArguments),
    /// Go one message forward again, or all the way
    Redo(RedoArguments),
    /// Go all the way forward again: the same as `redo --all`
    Unrevert(UnrevertArguments),
    /// Show what is reverted, and whether all is well
    Status(StatusArguments),
    /// List the recorded messages, newest first
    #[command(aliases = ["history", "ls", "snapshots", "search"])]
    Log(LogArguments),
    /// Browse the history on the whole screen, and take things back
    #[command(alias = "tui")]
    Ui(UiArguments),
    /// Look at the history in a web browser, revert and undo there
    #[command(alias = "web")]
    Page(PageArguments),
    /// Show a message, step, session, operation or snapshot
    Show(ShowArguments),
    /// List the sessions of this workspace, newest first
    Sessions(SessionsArguments),
    /// Write a session as Markdown, as a page, or as JSON
    Export(ExportArguments),
    /// Show what differs between messages, steps, snapshots and `current`
    Diff(DiffArguments),
    /// Show which prompt wrote each line of a file
    Blame(BlameArguments),
    /// Print a file as it was
    Cat(CatArguments),
    /// Find files that are gone, and put them back
    Recover(RecoverArguments),
    /// Lay a recorded state out in a new directory, to try another way there
    Branch(BranchArguments),
    /// Find the message, the step and the files with which a command began to fail
    Bisect(BisectArguments),
    /// Run a command as a message with a step of its own
    Run(RunArguments),
    /// Run an agent that an editor talks to (Agent Client Protocol), and record what it does
    Acp(AcpArguments),
    /// Send the history of this workspace to a repository that you name
    Push(PushArguments),
    /// Get the histories that other machines have pushed of this workspace
    Fetch(FetchArguments),
    /// Capture the workspace now, by hand, and print the snapshot's id
    Snapshot(SnapshotArguments),
    /// Put a bookmark on a message or a snapshot
    Label(LabelArguments),
    /// Put paths back to any captured state
    Restore(RestoreArguments),
    /// List the histories of directories, and take one over
    Workspace(WorkspaceArguments),
    /// Put the hook into an agent's settings
    Install(InstallArguments),
    /// Remove the hook from an agent's settings
    Uninstall(UninstallArguments),
    /// Show the settings and where each comes from, or change one
    Config(ConfigArguments),
    /// Check store, database, settings and installed hooks
    Doctor(DoctorArguments),
    /// Remove what has not been used for long, and repack the rest
    Gc(GcArguments),
    /// Show how much disk space the store uses
    Du(DuArguments),
    /// Remove a path, a session, a message or a workspace from the store for good
    Forget(ForgetArguments),
    /// Play a small session in a scratch folder, revert it and bring it back
    Demo,
    /// Read one hook payload (JSON) on stdin and record it; agents call this
    Event(EventArguments),
    /// Record that a step begins: for scripts, by flags
    #[command(mut_arg("prompt", |prompt| prompt.hide(true)))]
    StepStart(FlagArguments),
    /// Record that a step ended: for scripts, by flags
    #[command(mut_arg("prompt", |prompt| prompt.hide(true)))]
    StepFinish(FlagArguments),
    /// Record that the user sent a message: for scripts, by flags
    #[command(mut_arg("step", |step| step.hide(true)))]
    Message(FlagArguments),
    /// Copy what the store borrowed from a repository; a hook starts this in the background
    #[command(hide = true)]
    Settle,
    /// Run a command inside an agent, and report there; our commands in agents call this
    #[command(hide = true)]
    Inside(InsideArguments),
    /// Answer requests of a front end: JSON-RPC 2.0, one message per line
    Serve(ServeArguments),
    /// Give a model the history as tools of the Model Context Protocol
    Mcp(McpArguments),
    /// Watch workspaces to make hooks faster, or print events as JSON
    Watch(WatchArguments),
    /// Print the JSON Schemas of what `--json` prints and `event` reads
    #[command(
        after_help = "Examples:\n  ckpt-hook schema                      all documents, each type defined once\n  ckpt-hook schema report-operation     only one document"
    )]
    Schema {
        /// The document [default: all of them]
        name: Option<String>,
    },
    /// List what a shell can complete here, with descriptions; the completion scripts call this
    #[command(hide = true)]
    Candidates {
        /// What is completed
        kind: Candidates,
    },
    /// Print a completion script for a shell
    #[command(
        after_help = "Example:\n  ckpt-hook completions bash > ~/.local/share/bash-completion/completions/ckpt-hook"
    )]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page, or write one for every command
    Man {
        /// A directory to write all pages to
        #[arg(long, value_name = "DIR")]
        output: Option<PathBuf>,
    },
}

impl Command {
    /// Returns whether it may be about another machine's history: it looks at it, or forgets all of it.
    pub fn may_be_foreign(&self) -> bool {
        matches!(
            self,
            Self::Log(_)
                | Self::Show(_)
                | Self::Sessions(_)
                | Self::Export(_)
                | Self::Diff(_)
                | Self::Blame(_)
                | Self::Cat(_)
                | Self::Recover(RecoverArguments { path: None, .. })
                | Self::Restore(_)
                | Self::Branch(_)
                | Self::Bisect(_)
                | Self::Forget(ForgetArguments {
                    workspace: Some(None),
                    path: None,
                    session: None,
                    message: None,
                    ..
                })
        )
    }

    /// Returns whether a program gives it, and reads what it says.
    pub fn is_for_a_program(&self) -> bool {
        matches!(
            self,
            Self::Settle
                | Self::Inside(_)
                | Self::Serve(_)
                | Self::Mcp(_)
                | Self::Watch(_)
                | Self::Candidates { .. }
        )
    }
}

/// What a shell can complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Candidates {
    /// Messages, operations and labels: whatever has a state.
    Ids,
    /// Messages and labels.
    Messages,
    /// Sessions.
    Sessions,
    /// Agents with something recorded.
    Agents,
    /// Labels.
    Labels,
}

impl Arguments {
    /// Reads the command line, the binary's name first.
    pub fn read(arguments: &[OsString]) -> Result<Self, clap::Error> {
        if let Some(read) = plain::event(arguments) {
            return Ok(read);
        }
        let command = of_each(help::for_people(Self::command(), help::columns()));
        let matches = command.try_get_matches_from(help::spelled_out(arguments));
        let matches =
            matches.map_err(|error| help::with_word_meant(help::with_command_meant(error)))?;
        let mut read = Self::from_arg_matches(&matches)?;
        read.common.workspace = workspace(&matches)?;
        Ok(read)
    }
}

/// The option that `forget` has, too, as a flag. Clap would take the last of both for both, and drop a directory.
const WORKSPACE: &str = "workspace";

/// Returns the command line with an option `--workspace` of its own for each command.
fn of_each(command: clap::Command) -> clap::Command {
    let command = command.mut_arg(WORKSPACE, |option| option.global(false));
    let option = command.get_arguments().find(|it| it.get_id() == WORKSPACE);
    let option = option.cloned();
    command.mut_subcommands(|command| with_own(command, option.as_ref()))
}

fn with_own(command: clap::Command, option: Option<&Arg>) -> clap::Command {
    let has_one = command.get_arguments().any(|it| it.get_id() == WORKSPACE);
    let command = command.args(option.filter(|_| !has_one));
    command.mut_subcommands(|command| with_own(command, option))
}

/// Returns the one directory that is given as `--workspace`, wherever that is on the command line.
fn workspace(matches: &ArgMatches) -> Result<Option<PathBuf>, clap::Error> {
    let given = matches.try_get_one::<PathBuf>(WORKSPACE).ok().flatten();
    let below = matches.subcommand().map(|(_, below)| workspace(below));
    match (given, below.transpose()?.flatten()) {
        (Some(given), Some(below)) if *given != below => Err(clap::Error::raw(
            ErrorKind::ArgumentConflict,
            "the argument '--workspace <DIR>' cannot be used with two directories\n",
        )),
        (given, below) => Ok(below.or_else(|| given.cloned())),
    }
}

/// Ours, and those of the C libraries inside: a bug report without them says little.
fn version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| {
        let versions = ckpt_store::versions();
        format!(
            "{}\nlibgit2 {}\nSQLite {}",
            env!("CARGO_PKG_VERSION"),
            versions.libgit2,
            versions.sqlite
        )
    });
    &VERSION
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_holds_together() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn the_guard_knows_every_command() {
        let mut command = Arguments::command();
        command.build();
        let mut names: Vec<&str> = command
            .get_subcommands()
            .map(clap::Command::get_name)
            .collect();
        let aliases = command
            .get_subcommands()
            .flat_map(clap::Command::get_all_aliases);
        names.extend(aliases);
        assert_eq!(
            names, COMMANDS,
            "a command that it does not know could be taken for a hook's"
        );
    }

    /// Returns the commands of ours that the sentences of a text name, between single backticks.
    fn named_in(text: &str) -> Vec<String> {
        let mut is_in_block = false;
        let sentences: Vec<&str> = text
            .lines()
            .filter(|line| {
                is_in_block ^= line.trim_start().starts_with("```");
                !is_in_block
            })
            .collect();
        let sentences = sentences.join(" ");
        let spans = sentences.split('`').skip(1).step_by(2);
        let words = spans.map(|span| span.split_whitespace().collect::<Vec<_>>().join(" "));
        words
            .filter(|span| span.starts_with("ckpt-hook "))
            .collect()
    }

    /// Returns README.md and the like, and every page at or below `docs`, as text.
    fn documents() -> Vec<(PathBuf, String)> {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut folders = vec![root.join("docs")];
        let mut files = [
            "README.md",
            "CHANGELOG.md",
            "CONTRIBUTING.md",
            "SECURITY.md",
        ]
        .map(|name| root.join(name))
        .to_vec();
        while let Some(folder) = folders.pop() {
            for entry in folder.read_dir().expect("a readable folder") {
                let path = entry.expect("a readable folder").path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "md") {
                    files.push(path);
                }
            }
        }
        let read = |path: PathBuf| {
            let text = std::fs::read_to_string(&path).expect("a readable page");
            (path, text)
        };
        files.into_iter().map(read).collect()
    }

    /// Every command that a sentence names is one that there is.
    #[test]
    fn every_command_in_a_sentence_exists() {
        // What stands for a word of a certain kind.
        let stand_ins = [
            ("<command>", "log"),
            ("<operation>", "1234"),
            ("[PATH…]", "PATH"),
            ("SHELL", "bash"),
            ("help COMMAND", "help log"),
            (" &", ""),
        ];
        let mut named = 0;
        for (page, text) in documents() {
            for command in named_in(&text) {
                let line = stand_ins
                    .iter()
                    .fold(command.clone(), |line, (from, to)| line.replace(from, to));
                let parsed = Arguments::try_parse_from(line.split(' '));
                // A sentence need not name what every call has to give.
                let error = parsed.err().map(|error| error.kind());
                let is_known = match error {
                    None
                    | Some(
                        ErrorKind::MissingRequiredArgument
                        | ErrorKind::MissingSubcommand
                        | ErrorKind::DisplayHelp
                        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
                        | ErrorKind::DisplayVersion,
                    ) => true,
                    Some(_) => false,
                };
                assert!(is_known, "{}: `{command}`: {error:?}", page.display());
                named += 1;
            }
        }
        assert!(named > 45, "sentences name commands: {named}");
    }
}
