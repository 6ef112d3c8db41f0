//! Which user is at the other end of a connection. The kernel of Linux is asked for the socket (sock_diag(7)); others do
//! not tell. This module does IO.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};

/// What the kernel tells of connections to a server.
pub struct Peers {
    /// Where it listens; `None` if the kernel does not tell who is at the other end.
    server: Option<SocketAddr>,
}

impl Peers {
    /// Returns the peers of a server at this address.
    pub fn of(server: SocketAddr) -> Self {
        Self {
            server: has_owners().then_some(server),
        }
    }

    /// Returns whether a connection may be one of this user's: it is, or nothing tells.
    pub fn may_be_ours(&self, client: SocketAddr) -> bool {
        self.server.is_none_or(|server| is_ours(client, server))
    }
}

/// Returns whether the kernel names the owner of a connection of our own. It is to a server of its own: strangers could
/// keep it from the one that they know.
fn has_owners() -> bool {
    let connected = || {
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let client = TcpStream::connect(server.local_addr()?)?;
        Ok::<_, std::io::Error>(is_ours(client.local_addr()?, server.local_addr()?))
    };
    connected().unwrap_or_default()
}

fn is_ours(client: SocketAddr, server: SocketAddr) -> bool {
    let (SocketAddr::V4(client), SocketAddr::V4(server)) = (client, server) else {
        return false;
    };
    let user = rustix::process::geteuid().as_raw();
    answer(&question(client, server)).is_some_and(|answer| owner(&answer, server) == Some(user))
}

/// Returns the question for the socket at an end of a connection, `nlmsghdr` and `inet_diag_req_v2`. The list of all
/// sockets in `/proc/net` would take a hundred times as long, and strangers could keep the server busy with it.
fn question(client: SocketAddrV4, server: SocketAddrV4) -> Vec<u8> {
    const LENGTH: u32 = 72;
    const SOCK_DIAG_BY_FAMILY: u16 = 20;
    const NLM_F_REQUEST: u16 = 1;
    const AF_INET: u8 = 2;
    const IPPROTO_TCP: u8 = 6;
    let mut text = Vec::new();
    text.extend(LENGTH.to_ne_bytes());
    text.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    text.extend(NLM_F_REQUEST.to_ne_bytes());
    text.extend([0; 8]);
    text.extend([AF_INET, IPPROTO_TCP, 0, 0]);
    // In any state.
    text.extend(u32::MAX.to_ne_bytes());
    text.extend(client.port().to_be_bytes());
    text.extend(server.port().to_be_bytes());
    for end in [client, server] {
        text.extend(end.ip().octets());
        text.extend([0; 12]);
    }
    // On any interface, with any cookie.
    text.extend(0_u32.to_ne_bytes());
    text.extend([0xff; 8]);
    text
}

/// Asks the kernel, which answers at once.
#[cfg(target_os = "linux")]
fn answer(question: &[u8]) -> Option<Vec<u8>> {
    use rustix::net::{
        AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send,
        socket_with,
    };
    let (family, kind) = (AddressFamily::NETLINK, SocketType::DGRAM);
    let protocol = Some(netlink::SOCK_DIAG);
    let socket = socket_with(family, kind, SocketFlags::CLOEXEC, protocol).ok()?;
    send(&socket, question, SendFlags::empty()).ok()?;
    let mut answer = vec![0; 4096];
    let (length, _) = recv(&socket, &mut answer[..], RecvFlags::DONTWAIT).ok()?;
    answer.truncate(length);
    Some(answer)
}

#[cfg(not(target_os = "linux"))]
fn answer(_: &[u8]) -> Option<Vec<u8>> {
    None
}

/// Returns the user of the socket in an answer, `nlmsghdr` and `inet_diag_msg`. Without a connection, the kernel answers
/// with a socket that listens. One that its program has closed has no owner: it says root, and no inode.
fn owner(told: &[u8], server: SocketAddrV4) -> Option<u32> {
    let number = |at: usize| Some(u32::from_ne_bytes(told.get(at..at + 4)?.try_into().ok()?));
    let kind = u16::from_ne_bytes(told.get(4..6)?.try_into().ok()?);
    let is_connected = kind == 20 && told.get(22..24)? == server.port().to_be_bytes();
    let (user, inode) = (number(80)?, number(84)?);
    (is_connected && inode != 0).then_some(user)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only an open socket of the connection has an owner.
    #[test]
    fn only_an_open_socket_has_an_owner() {
        let server: SocketAddrV4 = "127.0.0.1:8123".parse().expect("an address");
        let answer = |kind: u16, port: u16, user: u32, inode: u32| {
            let mut text = vec![0; 88];
            text[4..6].copy_from_slice(&kind.to_ne_bytes());
            text[22..24].copy_from_slice(&port.to_be_bytes());
            text[80..84].copy_from_slice(&user.to_ne_bytes());
            text[84..88].copy_from_slice(&inode.to_ne_bytes());
            text
        };
        for (told, expected) in [
            (answer(20, 8123, 1000, 7), Some(1000)),
            (answer(20, 8123, 0, 7), Some(0)),
            // Closed by its program, with the answer still to come.
            (answer(20, 8123, 0, 0), None),
            // A socket that listens, or a connection to another server.
            (answer(20, 0, 1000, 7), None),
            // An error: there is none.
            (answer(2, 8123, 1000, 7), None),
            (vec![0; 20], None),
        ] {
            assert_eq!(owner(&told, server), expected, "{told:?}");
        }
    }

    /// The kernel knows a connection of ours and no other.
    #[cfg(target_os = "linux")]
    #[test]
    fn kernel_knows_only_our_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let server = listener.local_addr().expect("bound");
        let peers = Peers::of(server);
        let stream = TcpStream::connect(server).expect("it listens");
        assert_eq!(peers.server, Some(server), "it tells");
        let client = stream.local_addr().expect("connected");
        assert!(peers.may_be_ours(client));
        drop(stream);
        assert!(!peers.may_be_ours(client), "a closed one is nobody's");
    }
}
