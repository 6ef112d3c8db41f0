//! What differs between systems, behind the same few functions. This module does IO.
//!
//! `linux` uses what Linux has. `portable` is for every other system, in particular macOS. It runs on Linux, too: `just
//! portable` builds the tests with `--cfg ckpt_portable`, so that all of it is tested. What only macOS has is in
//! `portable` behind `target_os`, and was only type-checked: `just check-macos`.

use rustix::io::Errno;

/// Returns the number of an error of the standard library. One without a number is as if the disk had failed.
pub(crate) fn errno(error: std::io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

#[cfg(all(target_os = "linux", not(ckpt_portable)))]
mod linux;
#[cfg(not(all(target_os = "linux", not(ckpt_portable))))]
mod portable;

#[cfg(all(target_os = "linux", not(ckpt_portable)))]
pub(crate) use linux::{
    Processors, begin_write_back, clone_blocks, coarse_clock, device, full_sync, is_immutable,
    is_on_server, is_remote, list, make_whole, mode, open_beneath, pass_through,
};
#[cfg(not(all(target_os = "linux", not(ckpt_portable))))]
pub(crate) use portable::{
    ProcessorCount as Processors, begin_write_back, clone_blocks, coarse_clock, device, full_sync,
    is_immutable, is_on_server, is_remote, list, make_whole, mode, open_beneath, pass_through,
};
