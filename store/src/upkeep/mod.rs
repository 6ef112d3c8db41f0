//! What keeps stored objects there and whole: making borrowed ones the store's own, checking, healing, and naming them to git.

pub(crate) mod check;
pub(crate) mod du;
pub(crate) mod forget;
pub(crate) mod gc;
pub(crate) mod rebuild;
pub(crate) mod repair;
pub(crate) mod settle;
