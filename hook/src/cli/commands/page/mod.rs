//! `page`: the history in a web browser, from a server on the loopback address.
//!
//! `http` reads requests and writes answers in bounded memory and time, `door` controls access, `site` holds the files
//! of the page, and `calls` answers it with the operations and documents of `serve`, and no others.

mod calls;
mod door;
mod http;
mod site;

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ckpt_schema::report::{PageReport, VERSION};
use ckpt_store::Error;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use self::door::Door;
use self::http::{HttpRequest, HttpResponse};
use crate::cli::arguments::PageArguments;
use crate::cli::invocation::Invocation;
use crate::failure::{DONE, Failure};
use crate::output::View;

/// How many connections are served at the same time: a page has some ten while it loads.
const MOST_CONNECTIONS: usize = 64;

/// How often to check whether anybody is there.
const LOOK: Duration = Duration::from_millis(500);

/// Serves the page until no browser has shown it for a while.
pub fn run(invocation: &Invocation, arguments: &PageArguments) -> Result<u8, Failure> {
    // Report a missing or damaged store here, on the terminal.
    invocation.open()?;
    let cannot = |error| Error::failed("cannot listen on 127.0.0.1").because(error);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, arguments.port)).map_err(cannot)?;
    // A client may be gone between `poll` and `accept`, which would then wait for the next one.
    listener.set_nonblocking(true).map_err(cannot)?;
    let port = listener.local_addr().map_err(cannot)?.port();
    let door = Door::new(port);
    let report = PageReport {
        version: VERSION,
        address: door.address(),
        port,
    };
    let show = |_: &View| format!("{}\n", report.address);
    invocation.output.report(&report, show)?;
    if !arguments.no_open {
        open_browser(&door.address_for_once());
    }
    let is_forgotten = serve(invocation, &listener, &door, arguments.idle);
    if is_forgotten && !invocation.output.is_quiet() && !invocation.output.is_json() {
        let idle = humantime::format_duration(arguments.idle);
        invocation
            .output
            .text(&format!("Nobody has looked at the page for {idle}.\n"))?;
    }
    Ok(DONE)
}

/// Opens the browser. Its address works once: other users of the machine can read the arguments of a program.
fn open_browser(address: &str) {
    let opener = if cfg!(target_os = "macos") {
        "open"
    } else {
        "xdg-open"
    };
    // Without a browser, the user still has the printed address.
    let _ = Command::new(opener)
        .arg(address)
        // Ctrl-C here ends the server, not a browser that it started.
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
}

/// Serves until no connection has been open for that long; false if the socket failed.
fn serve(invocation: &Invocation, listener: &TcpListener, door: &Door, idle: Duration) -> bool {
    let open = AtomicUsize::new(0);
    let mut last_seen = Instant::now();
    std::thread::scope(|scope| {
        loop {
            if open.load(Ordering::SeqCst) > 0 {
                last_seen = Instant::now();
            } else if last_seen.elapsed() >= idle {
                return true;
            }
            match accept(listener) {
                Err(_) => return false,
                Ok(None) => {}
                Ok(Some(stream)) if open.load(Ordering::SeqCst) >= MOST_CONNECTIONS => {
                    // Dropped: a client with too many connections tries again.
                    drop(stream);
                }
                Ok(Some(stream)) => {
                    last_seen = Instant::now();
                    let counted = ServedClient::new(&open);
                    let spawned = std::thread::Builder::new().spawn_scoped(scope, move || {
                        // Dropped with the thread, even if that panics: a connection that stays counted would keep
                        // the server alive for ever.
                        let _counted = counted;
                        answer(invocation, door, &stream);
                    });
                    // Where no thread can be started, the connection went with its closure, and the browser tries
                    // again.
                    drop(spawned);
                }
            }
        }
    })
}

/// Waits a moment for a connection.
fn accept(listener: &TcpListener) -> std::io::Result<Option<TcpStream>> {
    let mut waited = [PollFd::new(listener, PollFlags::IN)];
    let timeout = Timespec::try_from(LOOK).expect("half a second fits");
    match poll(&mut waited, Some(&timeout)) {
        Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(None),
        Ok(_) => {}
        Err(error) => return Err(error.into()),
    }
    match listener.accept() {
        // Outside Linux, it would not wait for its bytes either, as the listener does not.
        Ok((stream, _)) => Ok(stream.set_nonblocking(false).is_ok().then_some(stream)),
        // The client is gone, or no file descriptor is free.
        Err(_) => Ok(None),
    }
}

/// An open connection, counted while it lives.
struct ServedClient<'a>(&'a AtomicUsize);

impl<'a> ServedClient<'a> {
    fn new(open: &'a AtomicUsize) -> Self {
        open.fetch_add(1, Ordering::SeqCst);
        Self(open)
    }
}

impl Drop for ServedClient<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Answers the one request of a connection.
fn answer(invocation: &Invocation, door: &Door, stream: &TcpStream) {
    let request = match HttpRequest::read(stream) {
        Ok(request) => request,
        Err(Some(refusal)) => return refusal.write(stream),
        Err(None) => return,
    };
    if let Err(refusal) = door.admit(&request) {
        return refusal.write(stream);
    }
    match (request.method.as_str(), request.path.as_str()) {
        ("POST", "/enter" | "/rpc" | "/events") => {}
        ("GET", path) => return site::file(path).write(stream),
        _ => return HttpResponse::refusal(405, "there is no such call").write(stream),
    }
    match request.path.as_str() {
        "/enter" => door.enter(&request).write(stream),
        _ if !door.knows(&request) => {
            HttpResponse::refusal(401, "the token is missing or wrong").write(stream);
        }
        "/rpc" => calls::call(invocation, &request.body).write(stream),
        _ => calls::follow(invocation, &request.body, stream),
    }
}
