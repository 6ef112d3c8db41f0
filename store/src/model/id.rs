//! What people call a thing that has an id.

/// Returns the beginning of an id, for people.
pub(crate) fn short(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}

/// Returns the name of another session: its agent, and its id where the agent alone does not tell the two apart.
pub(crate) fn name_beside(agent: &str, other_agent: &str, other_session: &str) -> String {
    match agent == other_agent {
        true => format!("{other_agent} {}", short(other_session)),
        false => other_agent.to_owned(),
    }
}
