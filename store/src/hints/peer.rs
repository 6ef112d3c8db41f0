//! Sockets of the watcher: connecting without waiting, and who is at the other end. This module does IO.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

/// Connects without waiting, because a watcher that is stopping accepts no connections.
pub(super) fn connected(socket: &Path) -> Option<UnixStream> {
    let address = SocketAddrUnix::new(socket).ok()?;
    let own = unconnected()?;
    connect(&own, &address).ok()?;
    let stream = UnixStream::from(own);
    stream.set_nonblocking(false).ok()?;
    Some(stream)
}

#[cfg(target_os = "linux")]
fn unconnected() -> Option<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).ok()
}

/// macOS has no flags for a new socket.
#[cfg(not(target_os = "linux"))]
fn unconnected() -> Option<OwnedFd> {
    let flags = SocketFlags::empty();
    let own = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).ok()?;
    rustix::io::fcntl_setfd(&own, rustix::io::FdFlags::CLOEXEC).ok()?;
    rustix::io::ioctl_fionbio(&own, true).ok()?;
    Some(own)
}

/// Returns the user whose process is at the other end of a connection. The kernel knows; the socket's owner only says
/// who made the file.
#[cfg(target_os = "linux")]
pub(super) fn peer_user(stream: &UnixStream) -> Option<u32> {
    let peer = rustix::net::sockopt::socket_peercred(stream).ok()?;
    Some(peer.uid.as_raw())
}

/// Returns the user whose process is at the other end of a connection (`getpeereid(3)`).
#[cfg(not(target_os = "linux"))]
#[expect(unsafe_code, reason = "neither the standard library nor rustix has it")]
pub(super) fn peer_user(stream: &UnixStream) -> Option<u32> {
    use std::os::fd::AsRawFd;
    let (mut user, mut group) = (0, 0);
    // SAFETY: the descriptor is open as long as `stream` is borrowed, and both places outlive the call.
    let failed = unsafe { libc::getpeereid(stream.as_raw_fd(), &raw mut user, &raw mut group) };
    (failed == 0).then_some(user)
}
