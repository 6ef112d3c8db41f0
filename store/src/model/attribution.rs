//! Whose a change is.

/// Whose a change is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attribution {
    /// The step's.
    Agent,
    /// The step's, or that of a step in another session that was open at the same time.
    Shared,
    /// Of nobody who sends events.
    Outside,
    /// The step's or somebody else's: there is no evidence for either.
    Unclear,
}

impl Attribution {
    /// Returns the word in rows and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Shared => "shared",
            Self::Outside => "outside",
            Self::Unclear => "unclear",
        }
    }
}

/// How the reason begins for what stays because its change is unclear.
pub(crate) const UNCLEAR: &str = "unclear whose: ";
