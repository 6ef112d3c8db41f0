//! Files, locks and threads, which everything that reads or writes uses. It knows no rules of other rooms.

pub(crate) mod acl;
pub(crate) mod beneath;
pub(crate) mod disk;
pub(crate) mod identity;
pub(crate) mod layout;
pub(crate) mod lease;
pub(crate) mod leftover;
pub(crate) mod names;
pub(crate) mod ownership;
pub(crate) mod presence;
pub(crate) mod reserve;
pub(crate) mod system;
pub(crate) mod threads;
pub(crate) mod times;
pub(crate) mod xattr;
