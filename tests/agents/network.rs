//! What an agent waits for where it finds no network, whoever's plugin it has.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::model::Model;
use crate::program::{Agent, Message};
use crate::sitting::LATER;
use testing::machine::Machine;

/// A plugin that does nothing, and is not ours.
const PLUGIN: &str = "export const Other = async () => ({})\n";

/// How long a start may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

const PAUSE: Duration = Duration::from_millis(20);

/// A start waits for the packages of any plugin and without one for none.
///
/// See its name: the packages' registry keeps silent, as it does where packets are lost.
pub fn start_waits_for_plugins_packages_only(agent: &'static Agent) {
    let registry = Registry::start();
    let world = Machine::new();
    let model = Model::start(&world);
    let url = &model.url();
    (agent.settle)(&world, url);
    world.write_home(".npmrc", &format!("registry={}\n", registry.url()));
    let say = |prompt: &str, is_first: bool| {
        let message = Message {
            url,
            is_first,
            by_package: false,
            prompt,
            conversation: &[],
        };
        agent.say(&world, &message).exits(0)
    };
    say("TURN-ONE please", true);
    let alone = registry.asked();
    assert!(alone > 0, "it asks without a plugin, too, and goes on");

    let settings = format!(".config/{}", agent.name);
    world.write_home(&format!("{settings}/plugin/other.js"), PLUGIN);
    let steps = model.steps();
    thread::scope(|scope| {
        let run = scope.spawn(|| say("TURN-TWO please", false));
        let end = Instant::now() + PATIENCE;
        while registry.asked() == alone {
            assert!(Instant::now() < end, "the registry is not asked");
            thread::sleep(PAUSE);
        }
        thread::sleep(LATER);
        assert_eq!(model.steps(), steps, "the message waits for the packages");
        registry.answer();
        run.join().expect("it ends");
    });
    assert_ne!(model.steps(), steps, "with an answer it goes on");
}

/// A registry of packages that has none, and answers only when it is told to.
struct Registry {
    port: u16,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    asked: AtomicUsize,
    may_answer: AtomicBool,
}

impl Registry {
    fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let state = Arc::new(State::default());
        let own = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&own);
                thread::spawn(move || answer(stream, &state));
            }
        });
        Self { port, state }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    fn asked(&self) -> usize {
        self.state.asked.load(Ordering::SeqCst)
    }

    fn answer(&self) {
        self.state.may_answer.store(true, Ordering::SeqCst);
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.answer();
    }
}

/// Answers one request: there is no such package. Who asked may have gone.
fn answer(mut stream: TcpStream, state: &State) {
    let mut request = [0; 4096];
    if stream.read(&mut request).unwrap_or(0) == 0 {
        return;
    }
    state.asked.fetch_add(1, Ordering::SeqCst);
    while !state.may_answer.load(Ordering::SeqCst) {
        thread::sleep(PAUSE);
    }
    let _ = stream
        .write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
}
