//! How things are shown to people.

use super::paint::Paint;
use super::time::TimeContext;

/// How things are shown to people.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// The colours.
    pub paint: Paint,
    /// The width of the terminal in columns, or `None` without a terminal.
    pub width: Option<usize>,
    /// The format of times.
    pub times: TimeContext,
    /// Whether details are asked for.
    pub verbose: bool,
}
