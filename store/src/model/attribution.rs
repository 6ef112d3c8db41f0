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
    /// The step's, or as well somebody else's: there is no evidence for either.
    Unclear,
}

impl Attribution {
    pub fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Shared => "shared",
            Self::Outside => "outside",
            Self::Unclear => "unclear",
        }
    }
}

/// How the reason begins for which a file stays where nobody knows whose change it is, in an operation's rows as well.
pub(crate) const UNCLEAR: &str = "unclear whose: ";

/// Returns whether a reason is that nobody knows whose change it is.
pub(crate) fn is_unclear(reason: Option<&str>) -> bool {
    reason.is_some_and(|reason| reason.contains(UNCLEAR))
}
