//! Keeps stored objects present and intact: makes borrowed ones the store's own, checks, heals, prunes, packs and
//! forgets, and names to git what is needed.

pub(crate) mod adoption;
pub(crate) mod check;
mod contradictions;
pub(crate) mod copy;
pub(crate) mod du;
pub(crate) mod forget;
mod forgotten_part;
pub(crate) mod forgotten_rows;
pub(crate) mod gc;
mod promise;
pub(crate) mod purge;
pub(crate) mod rebuild;
pub(crate) mod repair;
pub(crate) mod store_ownership;
pub(crate) mod totals;
