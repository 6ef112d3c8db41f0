//! What the page asks for: a request of `serve` as the body of `POST /rpc`, its answer as the body of the answer; and
//! notifications as they happen, a line each, as the answer to `POST /events`.

use std::cell::{Cell, OnceCell};
use std::io::Write;
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use ckpt_command::invocation::Invocation;
use ckpt_schema::protocol::SubscribeParameters;
use ckpt_serve::methods::{self, RequestContext};
use ckpt_serve::notify::{self, Subscription};
use ckpt_serve::protocol::{Incoming, Job, RequestError};
use ckpt_store::model::instruction::Surface;
use serde_json::Value;

use super::http::{self, HttpResponse};

/// The methods of `serve` that the page may not call: it gets notifications in another way, and records nothing.
const REFUSED: [&str; 3] = ["subscribe", "unsubscribe", "record"];

/// How often a pulse is sent to a client that only listens: a failed write shows that it is gone.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(5);

/// Answers a request.
pub fn call(invocation: &Invocation, body: &[u8]) -> HttpResponse {
    let answer = match Incoming::parse(body) {
        Ok(Incoming::Request(job)) => respond(invocation, &job),
        Ok(Incoming::Cancel(_) | Incoming::Notification) => {
            RequestError::request("the request has no `id`").response(&Value::Null)
        }
        Err((id, problem)) => problem.response(&id),
    };
    HttpResponse::content("application/json", answer.to_string())
}

fn respond(invocation: &Invocation, job: &Job) -> Value {
    if REFUSED.contains(&job.method.as_str()) {
        return RequestError::method(&job.method).response(&job.id);
    }
    let outward = methods::OUTWARD
        .iter()
        .find(|name| job.parameters.contains_key(**name));
    if let Some(name) = outward {
        let what = format!("`{name}` is not accepted here: the page shows one workspace");
        return RequestError::parameters(&what).response(&job.id);
    }
    // The protocol has no progress, so it is dropped.
    let (lines, _) = sync_channel(1);
    let context = RequestContext {
        invocation,
        subscription: &Mutex::default(),
        lines: &lines,
        request: &job.id,
        surface: Surface::Page,
        shown: OnceCell::new(),
        machine: None,
    };
    methods::answer(&context, job)
}

/// Sends notifications until the page is gone. The end is not an error: the page reconnects where it left off.
pub fn follow(invocation: &Invocation, body: &[u8], stream: &TcpStream) {
    let asked: SubscribeParameters = match serde_json::from_slice(body) {
        Ok(asked) => asked,
        Err(error) => return HttpResponse::refusal(400, &error.to_string()).write(stream),
    };
    if asked.everywhere || asked.workspace.is_some() {
        return HttpResponse::refusal(400, "the page shows one workspace").write(stream);
    }
    let Ok(directory) = invocation.directory() else {
        return;
    };
    let subscription = Subscription::from(asked.since, Some(directory));
    let written = Cell::new(Instant::now());
    let write = |line: &str| {
        written.set(Instant::now());
        let mut stream = stream;
        stream.write_all(line.as_bytes()).is_ok()
    };
    // Send a pulse at once: it tells the page that it will get every notification from here on.
    if http::begin_lines(stream).is_err() || !write("\n") {
        return;
    }
    let is_heard = || written.get().elapsed() < HEARTBEAT_INTERVAL || write("\n");
    let _ = notify::follow(
        invocation,
        subscription,
        |told| write(&format!("{told}\n")),
        is_heard,
    );
}
