//! A terminal with a person at it: keys go in, and the screen is read as a person reads it.
//!
//! `script` of util-linux makes the terminal; what it cannot do, the answers to a program's questions, is done here.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::num::NonZero;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use crate::machine::Machine;

/// How long an agent may take for anything; it is generous, because machines that run tests are busy.
const PATIENCE: Duration = Duration::from_secs(120);

/// How long a person waits before they press a key again.
const SOON: Duration = Duration::from_secs(5);

/// How often a person types what does not appear.
const TRIES: usize = 3;

/// The key that empties the line.
const CLEAR: &str = "\x15";

/// How often a condition is looked at that nothing tells of.
const PAUSE: Duration = Duration::from_millis(50);

/// How long a person takes from one key to the next.
const BETWEEN_KEYS: Duration = Duration::from_millis(300);

const ROWS: NonZero<u16> = NonZero::new(50).expect("it is not zero");
const COLUMNS: NonZero<u16> = NonZero::new(140).expect("it is not zero");

/// The questions that programs ask a terminal, and what one answers that can little.
const QUESTIONS: [(&[u8], &[u8]); 3] = [
    (b"\x1b[6n", b"\x1b[1;1R"),
    (b"\x1b[c", b"\x1b[?62;c"),
    (b"\x1b[0c", b"\x1b[?62;c"),
];

/// A program in a terminal, and the screen that it has drawn so far.
pub struct Terminal {
    child: Child,
    keys: ChildStdin,
    output: Receiver<Vec<u8>>,
    screen: vt100::Parser,
}

impl Terminal {
    /// Runs a program in a terminal of this world's user; its arguments hold nothing that a shell would take apart.
    pub fn open(world: &Machine, program: &Command) -> Self {
        let words = [program.get_program()]
            .into_iter()
            .chain(program.get_args());
        let quoted = |word: &OsStr| format!("'{}'", word.to_string_lossy().replace('\'', r"'\''"));
        let words: Vec<_> = words.map(quoted).collect();
        let line = format!("stty rows {ROWS} cols {COLUMNS}; exec {}", words.join(" "));
        let mut command = world.command(Path::new("/usr/bin/script"));
        command
            .args(["--quiet", "--return", "--command", &line, "/dev/null"])
            .env("TERM", "xterm-256color");
        command.envs(
            program
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("`script` of util-linux is there");
        let (keys, stdout) = (
            child.stdin.take().expect("a pipe"),
            child.stdout.take().expect("a pipe"),
        );
        let (sender, output) = channel();
        std::thread::spawn(move || forward(stdout, &sender));
        Self {
            child,
            keys,
            output,
            screen: vt100::Parser::new(ROWS, COLUMNS, 0),
        }
    }

    /// Types a line, sees it appear, and sends it.
    pub fn say(&mut self, line: &str) {
        self.press(line);
        // A program that has just come up may lose what is typed, and a person types it again.
        for _ in 0..TRIES {
            if self.shows_soon(|contents| contents.contains(line)) {
                break;
            }
            self.press(CLEAR);
            self.press(line);
        }
        self.wait_for_text(line);
        // Agents take a line with its end for a paste where both come at once; nothing shows when they no longer do.
        std::thread::sleep(BETWEEN_KEYS);
        self.press("\r");
    }

    /// Presses keys.
    pub fn press(&mut self, keys: &str) {
        self.keys
            .write_all(keys.as_bytes())
            .expect("the program still runs");
        self.keys.flush().expect("the program still runs");
    }

    /// Waits until a text is on the screen.
    #[track_caller]
    pub fn wait_for_text(&mut self, text: &str) {
        self.wait(&format!("`{text}` on the screen"), |contents| {
            contents.contains(text)
        });
    }

    /// Waits until a program listens; before that it asks these questions, which these keys answer.
    #[track_caller]
    pub fn wait_until_ready(&mut self, questions: &[(&str, &str)], ready: &str) {
        for (question, keys) in questions {
            self.wait_for_text(question);
            std::thread::sleep(BETWEEN_KEYS);
            self.press(keys);
            self.wait("the question's end", |contents| {
                !contents.contains(question)
            });
        }
        self.wait_for_text(ready);
    }

    /// Waits for a condition; it is given what is on the screen.
    #[track_caller]
    pub fn wait(&mut self, what: &str, is_met: impl Fn(&str) -> bool) {
        let end = Instant::now() + PATIENCE;
        while !is_met(&self.contents()) {
            assert!(
                Instant::now() < end,
                "{what} was waited for in vain; the screen:\n{}",
                self.contents()
            );
            match self.output.recv_timeout(PAUSE) {
                Ok(bytes) => self.take(&bytes),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    panic!(
                        "{what} was waited for, and the program ended; the screen:\n{}",
                        self.contents()
                    )
                }
            }
        }
    }

    /// Returns whether a condition is met within the time that a person watches for it.
    pub fn shows_soon(&mut self, is_met: impl Fn(&str) -> bool) -> bool {
        let end = Instant::now() + SOON;
        while !is_met(&self.contents()) && Instant::now() < end {
            if let Ok(bytes) = self.output.recv_timeout(PAUSE) {
                self.take(&bytes);
            }
        }
        is_met(&self.contents())
    }

    /// Returns whether what is on the screen meets a condition.
    pub fn shows(&self, is_met: impl Fn(&str) -> bool) -> bool {
        is_met(&self.contents())
    }

    fn contents(&self) -> String {
        self.screen.screen().contents()
    }

    fn take(&mut self, bytes: &[u8]) {
        self.screen.process(bytes);
        for (question, answer) in QUESTIONS {
            let asked = bytes
                .windows(question.len())
                .filter(|window| *window == question)
                .count();
            // A program that has ended since waits for no answer.
            let _ = self.keys.write_all(&answer.repeat(asked));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Both fail only where it has ended by itself. What ran in the terminal ends with its world.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends what a program prints, until it ends or nobody listens any more.
pub fn forward(mut stdout: ChildStdout, sender: &Sender<Vec<u8>>) {
    let mut buffer = [0; 65536];
    while let Ok(length @ 1..) = stdout.read(&mut buffer) {
        if sender.send(buffer[..length].to_vec()).is_err() {
            break;
        }
    }
}
