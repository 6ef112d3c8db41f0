//! HTTP/1.1, as much of it as the page needs: one request per connection, limited in size and time.
//!
//! The parser is httparse, hyper's own. The small servers that exist read headers and start threads without a limit, so
//! the rest is here.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// The most bytes of a request's head.
const MOST_HEAD: usize = 16 << 10;

/// The most header fields of a request.
const MOST_FIELDS: usize = 64;

/// The most bytes of a request's body.
pub const MOST_BODY: usize = 1 << 20;

/// How long a whole request may take to arrive, and an answer to be taken.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// The headers of every answer that keep others from showing, framing or scripting the page.
const SAFETY: &str = "\
Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; \
base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'\r\n\
Cache-Control: no-store\r\n\
Cross-Origin-Opener-Policy: same-origin\r\n\
Cross-Origin-Embedder-Policy: require-corp\r\n\
Cross-Origin-Resource-Policy: same-origin\r\n\
Referrer-Policy: no-referrer\r\n\
X-Content-Type-Options: nosniff\r\n\
X-Frame-Options: DENY\r\n\
Connection: close\r\n";

/// A request.
#[derive(Debug)]
pub struct HttpRequest {
    pub method: String,
    /// As in the request: nothing is decoded, so nothing can hide in it.
    pub path: String,
    fields: Vec<(String, Vec<u8>)>,
    pub body: Vec<u8>,
}

impl HttpRequest {
    /// Reads a request. An error is the answer to an invalid request, or `None` if the connection is closed.
    pub fn read(stream: &TcpStream) -> Result<Self, Option<HttpResponse>> {
        let until = Instant::now() + REQUEST_TIMEOUT;
        let mut bytes = Vec::new();
        let (mut request, length) = loop {
            if let Some((request, body)) = Self::head(&bytes)? {
                break (request, body);
            }
            if bytes.len() >= MOST_HEAD {
                return Err(Some(HttpResponse::refusal(431, "the head is too long")));
            }
            let room = MOST_HEAD - bytes.len();
            more(stream, &mut bytes, room, until)?;
        };
        let body = bytes.split_off(length);
        request.body = request.rest(stream, body, until)?;
        Ok(request)
    }

    /// Returns the request in a head and the length of the head; `None` while the head is incomplete.
    fn head(bytes: &[u8]) -> Result<Option<(Self, usize)>, Option<HttpResponse>> {
        let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
        let mut parsed = httparse::Request::new(&mut fields);
        let length = match parsed.parse(bytes) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => {
                return Err(Some(HttpResponse::refusal(
                    431,
                    "there are too many fields",
                )));
            }
            Err(_) => {
                return Err(Some(HttpResponse::refusal(
                    400,
                    "this is not an HTTP request",
                )));
            }
        };
        let request = Self {
            method: parsed.method.unwrap_or_default().to_owned(),
            path: parsed.path.unwrap_or_default().to_owned(),
            fields: parsed
                .headers
                .iter()
                .map(|field| (field.name.to_ascii_lowercase(), field.value.to_vec()))
                .collect(),
            body: Vec::new(),
        };
        Ok(Some((request, length)))
    }

    /// Reads the body, whose first bytes came with the head.
    fn rest(
        &self,
        stream: &TcpStream,
        mut body: Vec<u8>,
        until: Instant,
    ) -> Result<Vec<u8>, Option<HttpResponse>> {
        // Nothing here reads chunks, and a body whose length is in doubt must not be taken for an empty one.
        if self.has("transfer-encoding") {
            return Err(Some(HttpResponse::refusal(
                411,
                "the request has no `Content-Length` field",
            )));
        }
        let length = match self.field("content-length") {
            // There are two, or it is no text.
            None if self.has("content-length") => None,
            None => Some(0),
            Some(text) => text.parse::<usize>().ok(),
        };
        let Some(length) = length else {
            return Err(Some(HttpResponse::refusal(
                400,
                "`Content-Length` is not a number",
            )));
        };
        if length > MOST_BODY {
            return Err(Some(HttpResponse::refusal(413, "the body is too long")));
        }
        // A connection has one answer, so a second request would be lost without a word.
        if body.len() > length {
            return Err(Some(HttpResponse::refusal(
                400,
                "there is more than one request",
            )));
        }
        while body.len() < length {
            let room = length - body.len();
            more(stream, &mut body, room, until)?;
        }
        Ok(body)
    }

    fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|(other, _)| other == name)
    }

    /// Returns a field that occurs exactly once, as text.
    pub fn field(&self, name: &str) -> Option<&str> {
        let mut found = self.fields.iter().filter(|(other, _)| other == name);
        // Programs differ on which of two counts. Were one chosen, another `Host` or `Origin` could hide behind it.
        match (found.next(), found.next()) {
            (Some((_, value)), None) => std::str::from_utf8(value).ok(),
            _ => None,
        }
    }

    /// Returns whether a field is absent, or occurs once with a value for which this holds.
    pub fn field_may_be(&self, name: &str, holds: impl Fn(&str) -> bool) -> bool {
        !self.has(name) || self.field(name).is_some_and(holds)
    }
}

/// Reads what is available, up to a limit.
fn more(
    mut stream: &TcpStream,
    bytes: &mut Vec<u8>,
    room: usize,
    until: Instant,
) -> Result<(), Option<HttpResponse>> {
    let late = || Some(HttpResponse::refusal(408, "the request takes too long"));
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(late());
    }
    let _ = stream.set_read_timeout(Some(left));
    let mut part = [0; 8192];
    let room = room.min(part.len());
    match stream.read(&mut part[..room]) {
        Ok(0) => Err(None),
        Ok(read) => {
            bytes.extend_from_slice(&part[..read]);
            Ok(())
        }
        Err(error) if error.kind() == std::io::ErrorKind::Interrupted => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Err(late()),
        Err(_) => Err(None),
    }
}

/// An answer.
#[derive(Debug)]
pub struct HttpResponse {
    status: u16,
    media_type: &'static str,
    body: Vec<u8>,
}

impl HttpResponse {
    /// Answers with content.
    pub fn content(media_type: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status: 200,
            media_type,
            body: body.into(),
        }
    }

    /// Refuses, and says why in a line.
    pub fn refusal(status: u16, why: &str) -> Self {
        Self {
            status,
            media_type: "text/plain; charset=utf-8",
            body: format!("{why}\n").into_bytes(),
        }
    }

    /// Writes it. The client need not read it.
    pub fn write(&self, mut stream: &TcpStream) {
        let _ = stream.set_write_timeout(Some(REQUEST_TIMEOUT));
        let head = format!(
            "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{SAFETY}\r\n",
            self.status,
            reason(self.status),
            self.media_type,
            self.body.len()
        );
        let _ = stream
            .write_all(head.as_bytes())
            .and_then(|()| stream.write_all(&self.body));
        if self.status != 200 {
            pass_over(stream);
        }
    }
}

/// Reads what was sent and not read yet, within limits: closing a connection with unread data resets it, and the answer
/// is lost.
fn pass_over(mut stream: &TcpStream) {
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let _ = stream.set_read_timeout(Some(Duration::from_millis(500)));
    let mut part = [0; 8192];
    let mut left = 2 * MOST_BODY;
    while let Ok(read @ 1..) = stream.read(&mut part) {
        left = left.saturating_sub(read);
        if left == 0 {
            return;
        }
    }
}

/// Begins an answer of JSON lines that continues as long as the client reads.
pub fn begin_lines(mut stream: &TcpStream) -> std::io::Result<()> {
    stream.set_write_timeout(Some(REQUEST_TIMEOUT))?;
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n{SAFETY}\r\n");
    stream.write_all(head.as_bytes())
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        411 => "Length Required",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        431 => "Request Header Fields Too Large",
        _ => "Refused",
    }
}
