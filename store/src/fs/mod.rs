//! Files, locks and threads, beneath everything that reads or writes: no room's own rules.

pub(crate) mod beneath;
pub(crate) mod disk;
pub(crate) mod identity;
pub(crate) mod layout;
pub(crate) mod leftover;
pub(crate) mod ownership;
pub(crate) mod presence;
pub(crate) mod reserve;
pub(crate) mod system;
pub(crate) mod threads;
