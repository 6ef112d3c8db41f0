//! Who may come in: nobody without the token, no other page, and nobody who was led here under another name.

use std::sync::{Mutex, PoisonError};

use uuid::Uuid;

use super::http::{HttpRequest, HttpResponse};

/// What is asked of everybody.
pub struct Door {
    /// What the browser calls this server: `127.0.0.1` and the port.
    host: String,
    /// What a call has to show.
    token: String,
    /// What the browser was opened with, until somebody has used it.
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

    /// Returns the page's address. The token stands in its fragment, which browsers send nowhere.
    pub fn address(&self) -> String {
        format!("http://{}/#{}", self.host, self.token)
    }

    /// Returns an address that works once.
    pub fn address_for_once(&self) -> String {
        let ticket = secret();
        let address = format!("http://{}/#{ticket}", self.host);
        *self.ticket.lock().unwrap_or_else(PoisonError::into_inner) = Some(ticket);
        address
    }

    /// Refuses what no page of ours sends, before anything else is looked at.
    pub fn admit(&self, request: &HttpRequest) -> Result<(), HttpResponse> {
        let refuse = |status, why| Err(HttpResponse::refusal(status, why));
        // A name that somebody made resolve to this machine: DNS rebinding.
        if request.field("host") != Some(&self.host) {
            return refuse(403, "this server has another name");
        }
        let own = format!("http://{}", self.host);
        if !request.field_may_be("origin", |origin| origin == own) {
            return refuse(403, "another page has no business here");
        }
        // Browsers tell where a request comes from. Only going to the page itself may begin elsewhere: in a terminal, say.
        let is_entrance = request.method == "GET"
            && request.path == "/"
            && request.field_may_be("sec-fetch-dest", |dest| dest == "document");
        let is_own = |site: &str| site == "same-origin" || site == "none";
        if !is_entrance && !request.field_may_be("sec-fetch-site", is_own) {
            return refuse(403, "another page has no business here");
        }
        if request.method != "POST" {
            return Ok(());
        }
        if request.field("origin").is_none() {
            return refuse(403, "a call says where it comes from");
        }
        // No form can send this type, and no other page may without a question that is never answered.
        if request.field("content-type") != Some("application/json") {
            return refuse(415, "a call is application/json");
        }
        Ok(())
    }

    /// Returns whether a request shows the token.
    pub fn knows(&self, request: &HttpRequest) -> bool {
        shown(request).is_some_and(|shown| is_same(shown, &self.token))
    }

    /// Gives the token to who shows it, or the ticket, which is then used up.
    pub fn enter(&self, request: &HttpRequest) -> HttpResponse {
        let mut ticket = self.ticket.lock().unwrap_or_else(PoisonError::into_inner);
        let is_ticket = shown(request)
            .zip(ticket.as_deref())
            .is_some_and(|(shown, ticket)| is_same(shown, ticket));
        if is_ticket {
            *ticket = None;
        } else if !self.knows(request) {
            return HttpResponse::refusal(401, "the token is missing, wrong or used up");
        }
        let given = serde_json::json!({"token": self.token});
        HttpResponse::content("application/json", given.to_string())
    }
}

/// Returns the secret that a request shows.
fn shown(request: &HttpRequest) -> Option<&str> {
    request.field("authorization")?.strip_prefix("Bearer ")
}

/// Compares in a time that does not depend on where two secrets differ.
fn is_same(one: &str, other: &str) -> bool {
    one.len() == other.len()
        && one
            .bytes()
            .zip(other.bytes())
            .fold(0, |differs, (a, b)| differs | (a ^ b))
            == 0
}

/// Returns 244 bits that nobody can guess, from the system.
fn secret() -> String {
    format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())
}
