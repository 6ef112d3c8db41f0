//! Colours by meaning.

use anstyle::{AnsiColor, Style};
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

/// Colours, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paint {
    on: bool,
}

impl Paint {
    /// No colours.
    pub const PLAIN: Self = Self { on: false };

    /// Colours.
    #[cfg(test)]
    pub const COLOURED: Self = Self { on: true };

    /// Returns colours, or none.
    pub const fn new(on: bool) -> Self {
        Self { on }
    }

    /// Returns whether there are colours.
    pub fn is_on(self) -> bool {
        self.on
    }

    /// A title, or the most important part of a line.
    pub fn strong(self, text: &str) -> String {
        self.with(Style::new().bold(), text)
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
