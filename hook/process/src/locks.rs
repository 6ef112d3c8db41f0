//! Locks what threads share, in one way.
//!
//! A thread that panicked while it held a lock has poisoned it. What it guards is used all the same: the panic is
//! reported where it is caught, and another one here would take an answer from a client that waits for it, or the
//! deadline from a hook.

use std::sync::{
    Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
};
use std::time::Duration;

/// Locks what threads share.
pub fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets go of a lock until the others say that something changed, and takes it again.
pub fn wait<'g, T>(changed: &Condvar, guard: MutexGuard<'g, T>) -> MutexGuard<'g, T> {
    changed.wait(guard).unwrap_or_else(PoisonError::into_inner)
}

/// Does so for a limited time.
pub fn wait_at_most<'g, T>(
    changed: &Condvar,
    guard: MutexGuard<'g, T>,
    most: Duration,
) -> MutexGuard<'g, T> {
    let woken = changed.wait_timeout(guard, most);
    woken.unwrap_or_else(PoisonError::into_inner).0
}

/// Locks what threads share, to read it.
pub fn read<T>(shared: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    shared.read().unwrap_or_else(PoisonError::into_inner)
}

/// Locks what threads share, to change it.
pub fn write<T>(shared: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    shared.write().unwrap_or_else(PoisonError::into_inner)
}
