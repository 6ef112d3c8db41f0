//! What a sentence tells its reader to do: a command to run, an option to add. Each surface of the program words it in
//! its own way: below is a column of words for each. A process has one surface.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};

use ckpt_schema::report::{NoteCode, NoteReport};

use super::item::ReasonCase;

/// Where the sentences of this process are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Surface {
    /// A terminal, a pipe, or a document that a command prints.
    #[default]
    CommandLine,
    /// The browser in a terminal, which has keys.
    Keys,
    /// A front end, which calls the methods of `serve`.
    FrontEnd,
    /// A person who looks at `page`.
    Page,
    /// A model, which calls the tools of `mcp`.
    Model,
}

static SURFACE: AtomicU8 = AtomicU8::new(Surface::CommandLine as u8);

impl Surface {
    const ALL: [Self; 5] = [
        Self::CommandLine,
        Self::Keys,
        Self::FrontEnd,
        Self::Page,
        Self::Model,
    ];

    /// Words all instructions of this process for this surface from now on.
    pub fn take(self) {
        SURFACE.store(self as u8, Ordering::Relaxed);
    }

    fn now() -> Self {
        Self::ALL[usize::from(SURFACE.load(Ordering::Relaxed))]
    }
}

/// An instruction. Its text is in the words of the process's surface; `{:#}` puts an option of the command line into
/// backticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instruction<'a> {
    /// List the messages.
    Messages,
    /// List the messages that can be reverted.
    LiveMessages,
    /// List the messages of a session.
    MessagesOfSession,
    /// List the operations.
    Operations,
    /// List the sessions.
    Sessions,
    /// Show something.
    Show,
    /// Show a message or a step.
    ShowId,
    /// Show a message.
    ShowMessage,
    /// Tell what was captured and what waits.
    Status,
    /// Tell all of it.
    WholeStatus,
    /// Take back what an agent did.
    Revert,
    /// Take back an operation.
    Undo,
    /// Go one message forward.
    Redo,
    /// Go forward as far as possible.
    Unrevert,
    /// The same in another session.
    UnrevertSession(&'a str),
    /// See what a revert would do.
    DryRun,
    /// Restore the state before a message.
    Restore(&'a str),
    /// Restore some state.
    RestoreState,
    /// Go ahead where it would be refused.
    Force,
    /// Take unclear changes along.
    TakeUnclear,
    /// Move git's own state, too.
    Git,
    /// Name the files to revert.
    Only,
    /// Choose what becomes of the conversation.
    Conversation,
    /// Leave the conversation.
    KeepConversation,
    /// Accept whole ids alone.
    Exact,
    /// Install for a project.
    Project,
    /// Install for the user, and not for a project.
    User,
    /// Leave out files that cannot be written.
    OtherFiles,
    /// Ask about the workspace that was named before.
    GoThere,
    /// Leave a directory that is gone.
    OtherDirectory,
    /// Ask about a workspace, whose path is a word of a shell.
    InWorkspace(&'a str),
    /// The same, where the sentence says that it is another one.
    AskThere(&'a str),
    /// Ask about any other workspace.
    OtherWorkspace,
    /// Make a plan, for its token.
    MakePlan,
    /// Look up the id of a blob.
    BlobIds,
    /// See what a list leaves out.
    ListAll,
}

impl<'a> Instruction<'a> {
    const fn command_line(self) -> &'static str {
        match self {
            Self::Messages => "`ckpt-hook log`",
            Self::LiveMessages => "`ckpt-hook log --state live`",
            Self::MessagesOfSession => "`ckpt-hook log --session`",
            Self::Operations => "`ckpt-hook log --operations`",
            Self::Sessions => "`ckpt-hook sessions`",
            Self::Show => "`ckpt-hook show`",
            Self::ShowId => "`ckpt-hook show ID`",
            Self::ShowMessage => "`ckpt-hook show MESSAGE`",
            Self::Status => "`ckpt-hook status`",
            Self::WholeStatus => "`ckpt-hook status --json`",
            Self::Revert => "`ckpt-hook revert`",
            Self::Undo => "`ckpt-hook undo`",
            Self::Redo => "`ckpt-hook redo`",
            Self::Unrevert => "`ckpt-hook unrevert`",
            Self::UnrevertSession(_) => "`ckpt-hook unrevert --session {}`",
            Self::DryRun => "`revert --dry-run`",
            Self::Restore(_) => "`ckpt-hook restore {}`",
            Self::RestoreState => "`restore`",
            Self::Force => "--force",
            Self::TakeUnclear => "--unclear take",
            Self::Git => "--git",
            Self::Only => "--only",
            Self::Conversation => "--conversation",
            Self::KeepConversation => "--conversation no",
            Self::Exact => "--exact",
            Self::Project => "leave out `--project`",
            Self::User => "install with `--user`",
            Self::OtherFiles => "`revert --only` and `restore ID PATH` take other files",
            Self::GoThere => "go there, or use --workspace",
            Self::OtherDirectory => "change to another directory, or use --workspace",
            Self::InWorkspace(_) => "give `--workspace {}`",
            Self::AskThere(_) => "ask there: `--workspace {}`",
            Self::OtherWorkspace => "`--workspace DIR` asks about another workspace",
            Self::MakePlan => "a dry run with --json prints one, as `plan`",
            Self::ListAll => " (-v lists all)",
            Self::BlobIds => "a blob's id has 40 hex digits; `ckpt-hook diff --json` gives them",
        }
    }

    /// The key that does the same; without one, it is as on the command line.
    const fn key(self) -> Option<&'static str> {
        Some(match self {
            Self::Messages => "the timeline",
            Self::Operations => "o",
            Self::Revert | Self::DryRun => "r",
            Self::Undo => "u",
            Self::Redo => "f",
            Self::Unrevert => "F",
            Self::UnrevertSession(_) => "F on a hidden message of {}",
            Self::RestoreState => "R",
            Self::Force => "! in the plan",
            Self::TakeUnclear => "t in the plan",
            Self::Git => "g in the plan",
            Self::OtherFiles => "Space in the plan leaves them out",
            Self::ListAll => "",
            _ => return None,
        })
    }

    /// The method or parameter of `serve`; without one, it is as on the command line.
    const fn method(self) -> Option<&'static str> {
        Some(match self {
            Self::Messages | Self::LiveMessages | Self::MessagesOfSession => "`messages`",
            Self::Operations => "`operations`",
            Self::Sessions => "`sessions`",
            Self::Show | Self::ShowId | Self::ShowMessage => "`show`",
            Self::Status | Self::WholeStatus => "`status`",
            Self::Revert => "`revert`",
            Self::Restore(_) => "`restore` with `id: {}`",
            Self::Force => "`force`",
            Self::TakeUnclear => "`unclear: take`",
            Self::Git => "`git`",
            Self::Only => "`only`",
            Self::Conversation => "`conversation`",
            Self::KeepConversation => "`conversation: no`",
            Self::Exact => "`exact`",
            Self::Project => "leave out `project`",
            Self::User => "install without `project`",
            Self::OtherFiles => "`only` takes other files",
            Self::GoThere => "give it as `workspace`",
            Self::OtherDirectory => "give a `workspace`",
            Self::InWorkspace(_) => "give `workspace: {}`",
            Self::AskThere(_) => "ask there: `workspace: {}`",
            Self::OtherWorkspace => "`workspace` asks about another one",
            Self::MakePlan => "`plan` returns one",
            Self::BlobIds => "a blob's id has 40 hex digits; `show` gives them",
            _ => return None,
        })
    }

    /// The words on the page, which is for one workspace; without any, it is as on the command line.
    const fn on_page(self) -> Option<&'static str> {
        Some(match self {
            Self::Force => "`--force` on the command line",
            Self::TakeUnclear => "`--unclear take` on the command line",
            Self::Git => "`--git` on the command line",
            Self::Only => "`--only` on the command line",
            Self::Conversation => "`--conversation` on the command line",
            Self::KeepConversation => "`--conversation no` on the command line",
            Self::Exact => "`--exact` on the command line",
            Self::OtherFiles => {
                "`ckpt-hook revert --only` and `ckpt-hook restore ID PATH` take other files"
            }
            Self::GoThere => "ask there",
            Self::OtherDirectory => "start `ckpt-hook page` in another directory",
            Self::InWorkspace(_) => "start `ckpt-hook page` in `{}`",
            Self::AskThere(_) => "ask there: start `ckpt-hook page` in `{}`",
            Self::OtherWorkspace => "this page shows one workspace",
            Self::MakePlan => "make the plan again",
            Self::BlobIds => "a blob's id has 40 hex digits",
            _ => return None,
        })
    }

    /// The tool or parameter of `mcp`, which is for one workspace; without one, it is as on the command line.
    const fn tool(self) -> Option<&'static str> {
        Some(match self {
            Self::Messages | Self::LiveMessages | Self::MessagesOfSession => "`list`",
            Self::Operations | Self::Sessions | Self::Project | Self::User => return None,
            Self::Revert => "`plan`",
            Self::Restore(_) => "`plan` with `operation: restore` and `id: {}`",
            Self::GoThere => "this server is for another one",
            Self::OtherDirectory => "start the server in another directory",
            Self::InWorkspace(_) => "start the server in `{}`",
            Self::AskThere(_) => "ask there: start the server in `{}`",
            Self::OtherWorkspace => "this server is for one workspace",
            _ => return self.method(),
        })
    }

    /// What stands for `{}`.
    fn argument(self) -> Option<&'a str> {
        match self {
            Self::UnrevertSession(text)
            | Self::Restore(text)
            | Self::InWorkspace(text)
            | Self::AskThere(text) => Some(text),
            _ => None,
        }
    }

    /// Returns its words on a surface.
    fn on(self, surface: Surface) -> String {
        let words = match surface {
            Surface::CommandLine => None,
            Surface::Keys => self.key(),
            Surface::FrontEnd => self.method(),
            Surface::Page => self.on_page(),
            Surface::Model => self.tool(),
        };
        let words = words.unwrap_or(self.command_line());
        match self.argument() {
            Some(argument) => words.replace("{}", argument),
            None => words.to_owned(),
        }
    }

    /// Returns the command line to copy, if this surface has nothing else in its place.
    pub fn command(self) -> Option<String> {
        let line = self.on(Surface::CommandLine);
        (line == self.to_string()).then(|| line.trim_matches('`').to_owned())
    }

    /// Returns a recorded sentence for this process's surface: the store has them in words of the command line.
    fn in_recorded(self, sentence: &str) -> String {
        let line = self.on(Surface::CommandLine);
        let quoted = format!("`{}`", line.trim_matches('`'));
        sentence.replace(&quoted, &format!("{self:#}"))
    }
}

impl fmt::Display for Instruction<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let surface = Surface::now();
        let words = self.on(surface);
        match formatter.alternate() && words.starts_with("--") {
            true => write!(formatter, "`{words}`"),
            false => formatter.write_str(&words),
        }
    }
}

/// Returns a note of an operation for this process's surface; its code says which instruction it has.
pub(crate) fn note_shown(note: &NoteReport) -> NoteReport {
    let text = match note.code {
        NoteCode::Head | NoteCode::Commits | NoteCode::BranchGone | NoteCode::Staged => {
            Instruction::Git.in_recorded(&note.text)
        }
        NoteCode::NotCaptured => Instruction::WholeStatus.in_recorded(&note.text),
        NoteCode::OtherDirectories => Instruction::Unrevert.in_recorded(&note.text),
        NoteCode::NoStep => {
            let message = note.text.split('`').nth(1).unwrap_or_default();
            Instruction::Restore(message).in_recorded(&note.text)
        }
        _ => return note.clone(),
    };
    NoteReport {
        text,
        ..note.clone()
    }
}

/// Returns the reason why a file stays, for this process's surface.
pub(crate) fn reason_shown(reason: &str, case: Option<ReasonCase>) -> String {
    match case {
        Some(ReasonCase::Log) => Instruction::Force.in_recorded(reason),
        _ => reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EACH: [Instruction<'_>; 36] = [
        Instruction::Messages,
        Instruction::LiveMessages,
        Instruction::MessagesOfSession,
        Instruction::Operations,
        Instruction::Sessions,
        Instruction::Show,
        Instruction::ShowId,
        Instruction::ShowMessage,
        Instruction::Status,
        Instruction::WholeStatus,
        Instruction::Revert,
        Instruction::Undo,
        Instruction::Redo,
        Instruction::Unrevert,
        Instruction::UnrevertSession("7c1e"),
        Instruction::DryRun,
        Instruction::Restore("12ab34cd"),
        Instruction::RestoreState,
        Instruction::Force,
        Instruction::TakeUnclear,
        Instruction::Git,
        Instruction::Only,
        Instruction::Conversation,
        Instruction::KeepConversation,
        Instruction::Exact,
        Instruction::Project,
        Instruction::User,
        Instruction::OtherFiles,
        Instruction::GoThere,
        Instruction::OtherDirectory,
        Instruction::InWorkspace("/a"),
        Instruction::AskThere("/a"),
        Instruction::OtherWorkspace,
        Instruction::MakePlan,
        Instruction::BlobIds,
        Instruction::ListAll,
    ];

    /// A client is told of parameters, and of no option.
    #[test]
    fn clients_are_told_of_no_option() {
        for instruction in EACH {
            for surface in [Surface::FrontEnd, Surface::Model] {
                let words = instruction.on(surface);
                let mut pieces = words.split('`');
                let is_command = |piece: &str| piece.starts_with("ckpt-hook ");
                let is_elsewhere = match instruction {
                    // Texts for a terminal alone.
                    Instruction::DryRun | Instruction::ListAll => true,
                    // A model installs nothing.
                    Instruction::Project | Instruction::User => surface == Surface::Model,
                    _ => false,
                };
                let is_option = |piece: &str| piece.contains("--") && !is_command(piece);
                assert!(
                    is_elsewhere || !pieces.any(is_option),
                    "{surface:?}: {words}"
                );
            }
        }
    }

    /// Where the workspace is fixed, no parameter names another.
    #[test]
    fn fixed_workspace_suggests_no_other() {
        for instruction in EACH {
            for surface in [Surface::Page, Surface::Model] {
                let words = instruction.on(surface);
                assert!(!words.contains("`workspace"), "{surface:?}: {words}");
                assert!(!words.contains("--workspace"), "{surface:?}: {words}");
            }
        }
    }

    /// Keys stand for commands that the browser has; others stay whole, to copy.
    #[test]
    fn keys_stand_for_commands() {
        for (instruction, words) in [
            (Instruction::Undo, "u"),
            (Instruction::Messages, "the timeline"),
            (
                Instruction::UnrevertSession("7c1e"),
                "F on a hidden message of 7c1e",
            ),
            (Instruction::TakeUnclear, "t in the plan"),
            (Instruction::ListAll, ""),
            (Instruction::Restore("7c1e"), "`ckpt-hook restore 7c1e`"),
        ] {
            assert_eq!(instruction.on(Surface::Keys), words);
        }
    }

    /// Returns the lines of the library that may have an option in a sentence, without those of tests.
    fn lines_with_options() -> Vec<String> {
        let mut folders = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
        let mut found = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in folder.read_dir().expect("a readable folder") {
                let path = entry.expect("a readable folder").path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                if path.ends_with("model/instruction.rs") || path.ends_with("tests.rs") {
                    continue;
                }
                let text = std::fs::read_to_string(&path).expect("code is text");
                let product = text.split("#[cfg(test)]").next().unwrap_or_default();
                let lines = product.lines().map(str::trim);
                let lines = lines.filter(|line| !line.starts_with("//"));
                found.extend(lines.filter(|line| has_option(line)).map(str::to_owned));
            }
        }
        found
    }

    /// Returns whether a line has an option that is not a whole text by itself, as those are that programs get, and
    /// not a part of a whole command.
    fn has_option(line: &str) -> bool {
        let is_lower = |next: char| next.is_ascii_lowercase();
        line.match_indices("--").any(|(at, _)| {
            let rest = &line[at + 2..];
            let end = rest.trim_start_matches(|next| is_lower(next) || next == '-');
            let is_whole = line[..at].ends_with('"') && end.starts_with('"');
            // In the middle of a word, as in a name of git's.
            let is_name = line[..at].ends_with(is_lower);
            let quoted = line[..at].rsplit('`').next().unwrap_or_default();
            let is_of_command = ["ckpt-hook ", "git "]
                .iter()
                .any(|name| quoted.starts_with(name));
            rest.starts_with(is_lower) && !is_whole && !is_name && !is_of_command
        })
    }

    /// What is recorded is in words of the command line; `branch`, `bisect` and git are commands alone; the store's place
    /// is the server's own command line.
    #[test]
    fn library_sentences_name_options_by_instructions() {
        const RECORDED: [&str; 6] = [
            "`--git` makes it again",
            "`--git` moves the branch back",
            "`--git` moves the whole index back",
            "stay as they are without `--git`",
            "`--force` takes both",
            "`--conversation fork` makes a new one",
        ];
        const COMMANDS_ALONE: [&str; 3] = ["`--from ID`", "`--worktree`", "update-ref --no-deref"];
        for line in lines_with_options() {
            let known = RECORDED.iter().chain(&COMMANDS_ALONE).chain(&["--store"]);
            let is_known = known.clone().any(|known| line.contains(known));
            assert!(is_known, "{line}");
        }
    }
}
