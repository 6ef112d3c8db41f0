//! Colours by meaning.

use anstyle::{AnsiColor, Style};
use ckpt_store::model::instruction::Instruction;
use clap::ValueEnum;

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal, unless $NO_COLOR is set or $TERM is dumb.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What stands on a terminal before a command, and after it, until the text is wrapped: no name that is shown holds these.
pub const COMMAND: [char; 2] = ['\u{2}', '\u{3}'];

/// Colours, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paint {
    on: bool,
    /// Whether commands are marked, because the text will be wrapped.
    marks: bool,
    /// What every command of ours ends with, so that it acts on the same workspace.
    given: &'static str,
}

impl Paint {
    /// No colours.
    pub const PLAIN: Self = Self::new(false);

    /// Colours.
    #[cfg(test)]
    pub const COLOURED: Self = Self::new(true);

    /// Returns colours, or none.
    pub const fn new(on: bool) -> Self {
        Self {
            on,
            marks: false,
            given: "",
        }
    }

    /// Returns the same for text that will be wrapped, and commands that end with these options.
    pub(super) const fn for_commands(self, marks: bool, given: &'static str) -> Self {
        Self {
            marks,
            given,
            ..self
        }
    }

    /// Returns whether there are colours.
    pub fn is_on(self) -> bool {
        self.on
    }

    /// A title, or the most important part of a line.
    pub fn strong(self, text: &str) -> String {
        self.with(Style::new().bold(), text)
    }

    /// A command to copy, which is never broken.
    pub fn command(self, text: &str) -> String {
        let text = self.strong(text);
        match self.marks {
            true => format!("{}{text}{}", COMMAND[0], COMMAND[1]),
            false => text,
        }
    }

    /// A command of ours, for the workspace that was given.
    pub fn own(self, text: &str) -> String {
        format!("{text}{}", self.given)
    }

    /// The same, to copy.
    pub fn own_command(self, text: &str) -> String {
        self.command(&self.own(text))
    }

    /// An instruction: the command to copy, or what the surface has in its place.
    pub fn instruction(self, instruction: Instruction<'_>) -> String {
        match instruction.command() {
            Some(command) => self.own_command(&command),
            None => instruction.to_string(),
        }
    }

    /// Less important text.
    pub fn faint(self, text: &str) -> String {
        self.with(Style::new().dimmed(), text)
    }

    /// An id.
    pub fn id(self, text: &str) -> String {
        self.with(AnsiColor::Cyan.on_default(), text)
    }

    /// Something good, or added.
    pub fn good(self, text: &str) -> String {
        self.with(AnsiColor::Green.on_default(), text)
    }

    /// Something that needs attention.
    pub fn warning(self, text: &str) -> String {
        self.with(AnsiColor::Yellow.on_default(), text)
    }

    /// Something wrong, or removed.
    pub fn bad(self, text: &str) -> String {
        self.with(AnsiColor::Red.on_default(), text)
    }

    /// The word `error`.
    pub fn alarm(self, text: &str) -> String {
        self.with(AnsiColor::Red.on_default().bold(), text)
    }

    /// A line that was moved away from here, in git's colour.
    pub fn moved_away(self, text: &str) -> String {
        self.with(AnsiColor::Magenta.on_default().bold(), text)
    }

    /// A line that was moved here.
    pub fn moved_here(self, text: &str) -> String {
        self.with(AnsiColor::Blue.on_default().bold(), text)
    }

    /// A word that was removed from its line.
    pub fn word_gone(self, text: &str) -> String {
        self.with(AnsiColor::Red.on_default().invert(), text)
    }

    /// A word that was added to its line.
    pub fn word_come(self, text: &str) -> String {
        self.with(AnsiColor::Green.on_default().invert(), text)
    }

    fn with(self, style: Style, text: &str) -> String {
        if self.on && !text.is_empty() {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }
}
