//! `serve --stdio`: JSON-RPC 2.0, one message a line, for front ends and editors.
//!
//! One thread reads, several answer, one writes, and one sends notifications. Requests that change something are
//! carried out in the order in which they came. The store is opened for each request, so that a damaged, locked or
//! replaced store fails that request alone. Nothing waits for the client while it holds a lock: an answer is handed
//! over when its work is done, and progress that the client does not read is dropped.

pub mod mcp;
pub mod methods;
pub mod notify;
mod operations;
mod parameters;
pub mod protocol;
mod queue;
mod redaction;
mod surrogates;

use std::cell::OnceCell;
use std::io::{self, BufRead, BufReader, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::Scope;

use ckpt_command::invocation::Invocation;
use ckpt_process::failure::{DONE, Failure};
use ckpt_process::starter::StartersInput;
use ckpt_store::Error;
use ckpt_store::model::instruction::Surface;
use clap::Args;
use serde_json::json;

use self::methods::{MachineMethods, RequestContext};
use self::notify::Subscription;
use self::protocol::{Incoming, Input, LONGEST_LINE, RequestError};
use self::queue::RequestQueue;

/// `serve`.
#[derive(Clone, Debug, Args)]
#[command(after_help = SERVE_EXAMPLE)]
pub struct ServeArguments {
    /// Speak on the standard streams, until stdin ends
    #[arg(long)]
    pub stdio: bool,
}

const SERVE_EXAMPLE: &str = r#"Example:
  echo '{"jsonrpc":"2.0","id":1,"method":"messages","params":{}}' | ckpt-hook serve --stdio

`initialize` names the methods; `docs/embedding.md` describes them."#;

/// How many requests are answered at the same time.
const WORKERS: usize = 4;

/// How many lines may wait for a client that does not read.
const WAITING_LINES: usize = 64;

/// Answers until stdin ends, or the process that started this one.
pub fn run(
    invocation: &Invocation,
    arguments: &ServeArguments,
    machine: MachineMethods,
) -> Result<u8, Failure> {
    if !arguments.stdio {
        return Err(Failure::usage(
            "`serve` speaks only on its standard streams",
            "use --stdio, from a program that writes requests and reads answers",
        ));
    }
    Surface::FrontEnd.take();
    let (lines, written) = sync_channel(WAITING_LINES);
    let queue = RequestQueue::new();
    let subscription = Mutex::new(Subscription::default());
    std::thread::scope(|scope| {
        let told = lines.clone();
        let (queue, subscription) = (&queue, &subscription);
        let started = start(scope, move || write(written, queue)).and_then(|()| {
            start(scope, move || {
                notify::run(invocation, subscription, queue, &told);
            })
        });
        let mut workers = 0;
        for _ in 0..WORKERS {
            let lines = lines.clone();
            let started = start(scope, move || {
                while let Some(job) = queue.take() {
                    // Until the answer is on its way, so that answers come in order as well.
                    let _turn = queue.turn(&job);
                    let context = RequestContext {
                        invocation,
                        subscription,
                        lines: &lines,
                        request: &job.id,
                        surface: Surface::FrontEnd,
                        shown: OnceCell::new(),
                        machine: Some(machine),
                    };
                    let answer = methods::answer(&context, &job);
                    // Before it is sent: a client may use the id again as soon as it has the answer.
                    queue.answered(&job.id);
                    let _ = lines.send(answer.to_string());
                }
            });
            workers += usize::from(started.is_ok());
        }
        // One worker is enough; without any, or without a writer, nothing would ever be answered.
        let started = started.and(match workers {
            0 => Err(no_thread()),
            _ => Ok(()),
        });
        if started.is_ok() {
            read(&mut BufReader::new(StartersInput::now()), queue, &lines);
        }
        queue.close();
        // The writer goes on while a thread could still send, and the scope waits for it.
        drop(lines);
        started
    })?;
    Ok(DONE)
}

/// Starts a thread; the kernel may have no memory for it.
pub fn start<'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() + Send + 'scope,
) -> Result<(), Failure> {
    let started = std::thread::Builder::new().spawn_scoped(scope, work);
    started.map(drop).map_err(|_| no_thread())
}

fn no_thread() -> Failure {
    Error::failed("no thread can be started")
        .hint("there is too little memory, or a limit on processes (`ulimit -u`)")
        .into()
}

/// Reads requests until their end.
fn read(stdin: &mut impl BufRead, queue: &RequestQueue, lines: &SyncSender<String>) {
    loop {
        let problem = match protocol::line(stdin) {
            Input::End => return,
            Input::TooLong(id) => {
                let text = format!("the line is longer than {LONGEST_LINE} bytes");
                (id, RequestError::request(text))
            }
            Input::Whole(line) if line.iter().all(u8::is_ascii_whitespace) => continue,
            Input::Whole(line) => match Incoming::parse(&line) {
                Ok(Incoming::Cancel(id)) if queue.cancel(&id) => (id, RequestError::Cancelled),
                Ok(Incoming::Cancel(_)) => continue,
                Ok(Incoming::Notification) => continue,
                Ok(Incoming::Request(job)) => match queue.put(job) {
                    Ok(()) => continue,
                    Err(id) => (
                        id,
                        RequestError::request("a request with this id is not answered yet"),
                    ),
                },
                Err(refused) => refused,
            },
        };
        let (id, problem) = problem;
        if lines.send(problem.response(&id).to_string()).is_err() {
            return;
        }
    }
}

/// Writes lines until there are no more. If the client is gone, the queue is told.
fn write(lines: Receiver<String>, queue: &RequestQueue) {
    let mut stdout = io::stdout().lock();
    let mut is_open = true;
    for line in lines {
        // Lines are taken all the same: the channel has little room, and a sender would wait for ever.
        if !is_open {
            continue;
        }
        let written = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
        if written.is_err() {
            is_open = false;
            queue.abandon();
        }
    }
}

/// Returns a notification as a line.
fn notification(method: &str, parameters: &impl serde::Serialize) -> String {
    json!({"jsonrpc": "2.0", "method": method, "params": parameters}).to_string()
}

/// What several threads share.
type Shared<T> = Arc<Mutex<T>>;
