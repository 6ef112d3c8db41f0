//! `page`: the history in a web browser, from a server on the loopback address.
//!
//! `http` reads requests and writes answers in bounded memory and time, `peer` and `door` control access, `connections`
//! knows who waits, `browser` opens the page, `site` holds its files, and `calls` answers it with the operations and
//! documents of `serve`, and no others.

mod browser;
mod calls;
mod connections;
mod door;
mod http;
mod peer;
mod site;

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use ckpt_command::invocation::Invocation;
use ckpt_output::View;
use ckpt_process::failure::{DONE, Failure};
use ckpt_schema::report::{PageReport, VERSION};
use ckpt_store::Error;
use ckpt_store::model::instruction::Surface;
use clap::Args;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use self::connections::{Connection, Connections};
use self::door::Door;
use self::http::{HttpRequest, HttpResponse};
use self::peer::Peers;

/// `page`.
#[derive(Clone, Debug, Args)]
#[command(after_help = PAGE_EXAMPLES)]
pub struct PageArguments {
    /// Print the address, and open no browser
    #[arg(long)]
    pub no_open: bool,
    /// The port [default: any that is free]
    #[arg(
        long,
        value_name = "PORT",
        default_value_t = 0,
        hide_default_value = true
    )]
    pub port: u16,
    /// End when no browser has shown the page for this long
    #[arg(long, value_name = "TIME", default_value = "15m", value_parser = humantime::parse_duration)]
    pub idle: Duration,
}

const PAGE_EXAMPLES: &str = "\
Examples:
  ckpt-hook page                           opens the page in the browser
  ckpt-hook page --no-open                 prints its address: open it yourself
  ckpt-hook page --no-open --json-lines    a line with the address, for a program

The server listens on 127.0.0.1 only. The address contains a secret: anyone who has it can read the \
history of this workspace and revert it. Ctrl-C ends the server.";

/// How often to check whether a browser is there.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Serves the page until no browser has shown it for a while.
pub fn run(invocation: &Invocation, arguments: &PageArguments) -> Result<u8, Failure> {
    // Report a missing or damaged store here, on the terminal.
    invocation.open()?;
    // Ctrl-C ends the server, and nothing is told after that.
    invocation.show_notices();
    Surface::Page.take();
    let cannot = |error: io::Error| {
        let is_used = error.kind() == io::ErrorKind::AddrInUse;
        let place = format!("cannot listen on 127.0.0.1:{}", arguments.port);
        let failed = Error::failed(place).because(error);
        match is_used {
            true => failed.hint("without `--port`, a free port is taken"),
            false => failed,
        }
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, arguments.port)).map_err(cannot)?;
    // A client may be gone between `poll` and `accept`, which would then wait for the next one.
    listener.set_nonblocking(true).map_err(cannot)?;
    let address = listener.local_addr().map_err(cannot)?;
    let (peers, port) = (Peers::of(address), address.port());
    let door = Door::new(port);
    let report = PageReport {
        version: VERSION,
        address: door.address(),
        port,
    };
    let show = |_: &View| format!("{}\n", report.address);
    invocation.output.report(&report, show)?;
    // Without a browser, the user still has the printed address.
    let _opened = match arguments.no_open {
        true => None,
        false => browser::open(&door.address_for_once()).ok(),
    };
    let server = PageServer {
        invocation,
        listener,
        peers,
        door,
    };
    let is_forgotten = server.serve(arguments.idle);
    if is_forgotten && !invocation.output.is_quiet() && !invocation.output.is_json() {
        let idle = humantime::format_duration(arguments.idle);
        invocation
            .output
            .text(&format!("No browser has shown the page for {idle}.\n"))?;
    }
    Ok(DONE)
}

/// What is needed to serve the page.
struct PageServer<'a> {
    invocation: &'a Invocation,
    listener: TcpListener,
    peers: Peers,
    door: Door,
}

impl PageServer<'_> {
    /// Serves until the page has not been shown for that long; false if the socket failed. Only requests with the key
    /// show it.
    fn serve(&self, idle: Duration) -> bool {
        let connections = Connections::default();
        let mut last_seen = Instant::now();
        std::thread::scope(|scope| {
            for number in 0.. {
                if connections.is_shown() {
                    last_seen = Instant::now();
                } else if last_seen.elapsed() >= idle {
                    return true;
                }
                let stream = match accept(&self.listener) {
                    Err(_) => return false,
                    Ok(None) => continue,
                    Ok(Some(stream)) => stream,
                };
                // Closed without an answer: another user has none coming.
                let client = stream.peer_addr().ok();
                if !client.is_some_and(|client| self.peers.may_be_ours(client)) {
                    continue;
                }
                let Some(connection) = connections.take(number, &stream) else {
                    continue;
                };
                // Where no thread can be started, the connection goes with its closure, and the browser tries again.
                let spawned = std::thread::Builder::new().spawn_scoped(scope, move || {
                    answer(self.invocation, &self.door, &stream, &connection);
                });
                drop(spawned);
            }
            false
        })
    }
}

/// Waits a moment for a connection.
fn accept(listener: &TcpListener) -> std::io::Result<Option<TcpStream>> {
    let mut waited = [PollFd::new(listener, PollFlags::IN)];
    let timeout = Timespec::try_from(POLL_INTERVAL).expect("half a second fits");
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

/// Answers the one request of a connection.
fn answer(invocation: &Invocation, door: &Door, stream: &TcpStream, connection: &Connection<'_>) {
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
    if request.path == "/enter" {
        let given = door.enter(&request).inspect(|_| connection.show());
        return given.unwrap_or_else(|refusal| refusal).write(stream);
    }
    if !door.knows(&request) {
        return HttpResponse::refusal(401, "the token is missing or wrong").write(stream);
    }
    connection.show();
    match request.path.as_str() {
        "/rpc" => calls::call(invocation, &request.body).write(stream),
        _ => calls::follow(invocation, &request.body, stream),
    }
}
