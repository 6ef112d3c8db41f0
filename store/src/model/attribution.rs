//! Whose a change is.

/// Whose a change is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attribution {
    /// The step's.
    Agent,
    /// The step's, or that of a step of another session which was open at the same time.
    Shared,
    /// Nobody's who sends events.
    Outside,
}

impl Attribution {
    pub fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Shared => "shared",
            Self::Outside => "outside",
        }
    }
}
