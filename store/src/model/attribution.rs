//! Whose a change is.

ckpt_schema::words! {
    /// Whose a change is.
    pub(crate) enum Attribution {
        /// The step's.
        Agent = "agent",
        /// The step's, or that of a step in another session that was open at the same time.
        Shared = "shared",
        /// Of no author who sends events.
        Outside = "outside",
        /// The step's or another author's: there is no evidence for either.
        Unclear = "unclear",
    }
}

/// How the reason begins for what stays because its change is unclear.
pub(crate) const UNCLEAR: &str = "unclear whose: ";
