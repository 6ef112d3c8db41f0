//! The scripted model server, one a conversation, ended with it.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::program;
use testing::machine::Machine;

/// A running model, which answers as its script says.
pub struct Model {
    server: Child,
    port: u16,
    log: PathBuf,
}

impl Model {
    /// Starts a server that plays `script.json` in the workspace, and waits until it answers.
    pub fn start(world: &Machine) -> Self {
        let (port, log) = (free_port(), world.path("model.jsonl"));
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fake-model");
        let server = world
            .command(Path::new("python3"))
            .arg(folder.join("fake_model.py"))
            .arg(port.to_string())
            .args([folder.join("script.json"), world.workspace(), log.clone()])
            .stdout(Stdio::null())
            .spawn()
            .expect("python3 starts");
        let mut model = Self { server, port, log };
        model.wait();
        model
    }

    fn wait(&mut self) {
        let patience = Instant::now() + Duration::from_secs(30);
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            let ended = self.server.try_wait().expect("it is our child");
            assert!(
                ended.is_none() && Instant::now() < patience,
                "the scripted model did not start: {ended:?}"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Returns where it listens.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns which steps of the script were asked for, without their order: a sub-agent runs beside its parent.
    pub fn steps(&self) -> Vec<String> {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let requests = log
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("a line of JSON"));
        let mut steps: Vec<String> = requests
            .filter(|request| !request["marker"].is_null())
            .map(|request| format!("{} {}", request["marker"], request["step"]))
            .collect();
        steps.sort();
        steps.dedup();
        steps
    }

    /// Returns what it was asked with.
    pub fn bodies(&self) -> String {
        let bodies = fs::read_to_string(self.log.with_extension("jsonl.bodies"));
        let bodies = bodies.expect("it keeps what it was asked");
        // Gemini CLI has a name made for the session before, by a request of its own.
        let is_name = |line: &&str| line.contains("Summarize the user's primary intent");
        let lines = bodies.lines().filter(|line| !is_name(line));
        lines.map(|line| format!("{line}\n")).collect()
    }

    /// Forgets what it was asked with so far.
    pub fn forget(&self) {
        fs::write(self.log.with_extension("jsonl.bodies"), "").expect("writable");
    }

    /// Returns whether the model was ever shown a text. Where the test's agents are installed does not count: Gemini CLI
    /// tells the model the paths of the skills that it brings, and the folder of our tools has our name in it.
    pub fn was_shown(&self, text: &str) -> bool {
        let bodies = self.bodies();
        let installed = program::folder();
        let places = [
            installed.canonicalize().expect("the agents are there"),
            installed,
        ];
        let told = places.iter().fold(bodies, |bodies, place| {
            bodies.replace(&*place.to_string_lossy(), "<agents>")
        });
        told.contains(text)
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // Both fail only where it has ended by itself.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    listener.local_addr().expect("it is bound").port()
}
