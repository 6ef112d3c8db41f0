//! Which user is at the other end of a connection. The kernel of Linux lists it (proc_pid_net(5)), others do not tell.
//! This module does IO.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};

/// The kernel's lists of connections. A program may reach an IPv4 address by a socket for IPv6.
const LISTS: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];

/// What the kernel tells of connections to a server.
pub struct Peers {
    /// Where it listens; `None` if the kernel does not tell who is at the other end.
    server: Option<SocketAddr>,
}

impl Peers {
    /// Finds out, with a connection of our own, whether the kernel tells.
    pub fn of(listener: &TcpListener) -> Self {
        let server = listener.local_addr().ok().filter(|server| {
            let own = TcpStream::connect(server).and_then(|own| Ok((own.local_addr()?, own)));
            own.is_ok_and(|(client, _open)| is_ours(client, *server))
        });
        Self { server }
    }

    /// Returns whether a connection may be one of this user's: it is, or nothing tells.
    pub fn may_be_ours(&self, client: SocketAddr) -> bool {
        self.server.is_none_or(|server| is_ours(client, server))
    }
}

fn is_ours(client: SocketAddr, server: SocketAddr) -> bool {
    let user = rustix::process::geteuid().as_raw();
    LISTS.iter().any(|list| {
        let list = std::fs::read_to_string(list).unwrap_or_default();
        owner(&list, client, server) == Some(user)
    })
}

/// Returns the user whose socket is at one end of a connection. A socket that its program has closed belongs to nobody:
/// the list has root there, and no inode.
fn owner(list: &str, client: SocketAddr, server: SocketAddr) -> Option<u32> {
    let (client, server) = (end(client)?, end(server)?);
    list.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let [_, local, remote, _, _, _, _, user, _, inode, ..] = fields[..] else {
            return None;
        };
        // For IPv6, the address in IPv4 follows a prefix.
        let is_it = local.ends_with(&client) && remote.ends_with(&server) && inode != "0";
        is_it.then(|| user.parse().ok())?
    })
}

/// Returns an end of a connection as the kernel prints it.
fn end(address: SocketAddr) -> Option<String> {
    let SocketAddr::V4(address) = address else {
        return None;
    };
    let number = |address: &Ipv4Addr| u32::from_ne_bytes(address.octets());
    Some(format!(
        "{:08X}:{:04X}",
        number(address.ip()),
        address.port()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(user: u32, inode: u64, local: &str, remote: &str) -> String {
        format!(
            "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
             0: {local} {remote} 01 00000000:00000000 00:00000000 00000000  {user}        0 {inode} 1 0 20 4 30 10 -1\n"
        )
    }

    #[test]
    fn the_owner_is_that_of_the_clients_own_socket() {
        let client: SocketAddr = "127.0.0.1:40000".parse().expect("an address");
        let server: SocketAddr = "127.0.0.1:8123".parse().expect("an address");
        let (from, to) = (end(client).expect("IPv4"), end(server).expect("IPv4"));
        let mapped = |end: &str| format!("0000000000000000FFFF0000{end}");
        for (text, expected) in [
            (list(1000, 7, &from, &to), Some(1000)),
            (list(1000, 7, &mapped(&from), &mapped(&to)), Some(1000)),
            // The server's own end of it.
            (list(1000, 7, &to, &from), None),
            // A connection to another server.
            (list(1000, 7, &from, &end(client).expect("IPv4")), None),
            // Closed, with the answer still to come.
            (list(0, 0, &from, &to), None),
            (String::new(), None),
        ] {
            assert_eq!(owner(&text, client, server), expected, "{text}");
        }
    }
}
