//! Access control: refuses requests without the token, from other pages, and under another host name.

use std::sync::Mutex;

use ckpt_process::locks;
use uuid::Uuid;

use super::http::{HttpRequest, HttpResponse};

/// What every request must show.
pub struct Door {
    /// What our addresses call this server: `127.0.0.1` and the port.
    host: String,
    /// The token of every call.
    token: String,
    /// The ticket that the browser was opened with, until it is used.
    ticket: Mutex<Option<String>>,
}

impl Door {
    /// Returns a door with a new token.
    pub fn new(port: u16) -> Self {
        Self {
            host: format!("127.0.0.1:{port}"),
            token: secret(),
            ticket: Mutex::default(),
        }
    }

    /// Returns the page's address. The token is in its fragment, which browsers do not send.
    pub fn address(&self) -> String {
        format!("http://{}/#{}", self.host, self.token)
    }

    /// Returns an address that works once.
    pub fn address_for_once(&self) -> String {
        let ticket = secret();
        let address = format!("http://{}/#{ticket}", self.host);
        *locks::lock(&self.ticket) = Some(ticket);
        address
    }

    /// Refuses what our page never sends, before anything else is checked.
    pub fn admit(&self, request: &HttpRequest) -> Result<(), HttpResponse> {
        let refuse = |status, why| Err(HttpResponse::refusal(status, why));
        // A name that an attacker made resolve to this machine: DNS rebinding.
        let Some(host) = request.field("host").filter(|host| is_loopback(host)) else {
            return refuse(403, "the `Host` field names another server");
        };
        let own = format!("http://{host}");
        if !request.field_may_be("origin", |origin| origin == own) {
            return refuse(403, "requests from other pages are refused");
        }
        // Browsers say where a request comes from. Only navigation to the page itself may start elsewhere, such as in a
        // terminal.
        let is_entrance = request.method == "GET"
            && request.path == "/"
            && request.field_may_be("sec-fetch-dest", |dest| dest == "document");
        let is_own = |site: &str| site == "same-origin" || site == "none";
        if !is_entrance && !request.field_may_be("sec-fetch-site", is_own) {
            return refuse(403, "requests from other pages are refused");
        }
        if request.method != "POST" {
            return Ok(());
        }
        if request.field("origin").is_none() {
            return refuse(403, "the request has no `Origin` field");
        }
        // No form can send this type, and another page may only after a preflight request, which is never answered.
        if request.field("content-type") != Some("application/json") {
            return refuse(415, "the body must be `application/json`");
        }
        Ok(())
    }

    /// Returns whether a request shows the token.
    pub fn knows(&self, request: &HttpRequest) -> bool {
        shown(request).is_some_and(|shown| is_same(shown, &self.token))
    }

    /// Returns the token to a client that shows it, or the ticket, which is then used up; else a refusal.
    pub fn enter(&self, request: &HttpRequest) -> Result<HttpResponse, HttpResponse> {
        // Locked until the end: two requests at the same time must not both use the ticket.
        let mut ticket = locks::lock(&self.ticket);
        let is_ticket = shown(request)
            .zip(ticket.as_deref())
            .is_some_and(|(shown, ticket)| is_same(shown, ticket));
        if is_ticket {
            *ticket = None;
        } else if !self.knows(request) {
            let why = "the token is missing, wrong or used up";
            return Err(HttpResponse::refusal(401, why));
        }
        let given = serde_json::json!({"token": self.token});
        Ok(HttpResponse::content("application/json", given.to_string()))
    }
}

/// Returns whether a `Host` field names the loopback, which no other machine's name can: on any port, because ssh and
/// editors forward one to ours.
fn is_loopback(host: &str) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, port),
        _ => (host, "80"),
    };
    let is_port = !port.is_empty() && port.len() <= 5 && port.bytes().all(|it| it.is_ascii_digit());
    is_port && ["127.0.0.1", "localhost", "[::1]"].contains(&name)
}

/// Returns the secret that a request shows.
fn shown(request: &HttpRequest) -> Option<&str> {
    request.field("authorization")?.strip_prefix("Bearer ")
}

/// Compares in constant time.
fn is_same(one: &str, other: &str) -> bool {
    one.len() == other.len()
        && one
            .bytes()
            .zip(other.bytes())
            .fold(0, |differs, (a, b)| differs | (a ^ b))
            == 0
}

/// Returns 244 random bits from the system.
fn secret() -> String {
    format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host is the loopback under each of its names.
    #[test]
    fn host_is_the_loopback_under_any_name() {
        for host in [
            "127.0.0.1:4000",
            "localhost:8080",
            "localhost",
            "[::1]:4000",
            "[::1]",
        ] {
            assert!(is_loopback(host), "{host}");
        }
        for host in [
            "",
            ":80",
            "localhost:",
            "localhost:80x",
            "localhost:123456",
            "localhost.evil.example:80",
            "127.0.0.1.evil.example",
            "127.0.0.1:80@evil.example",
            "evil.example:4000",
            "::1",
            "0.0.0.0:80",
        ] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
