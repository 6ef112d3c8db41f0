//! Why a path of a plan stays, or what went wrong with it: a sentence for people, and the same for programs.

use std::fmt;
use std::ops::Deref;

use ckpt_schema::report::{AuthorReport, ReasonCode};

/// Why a path stays as it is, all or in part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemReason {
    /// The sentence.
    pub text: String,
    /// The same for programs; none in rows of older binaries.
    pub code: Option<ReasonCode>,
    /// Whose changes it names.
    pub by: Vec<AuthorReport>,
}

impl ItemReason {
    /// Returns a reason that names nobody.
    pub fn new(code: ReasonCode, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            code: Some(code),
            by: Vec::new(),
        }
    }
}

/// Most who look at a reason want its sentence.
impl Deref for ItemReason {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for ItemReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}
