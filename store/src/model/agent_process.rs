//! The process of an agent.

/// The process that runs this hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentProcess {
    /// A name that no other process ever has: its number, its start time and its PID namespace.
    pub name: String,
    /// Whether it began so long ago that it was not started for this call.
    pub is_long_lived: bool,
}
