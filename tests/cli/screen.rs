//! A terminal of a given width with somebody at it: keys go in when something is seen, and the screen is read as it looks.

use std::io::Write;
use std::num::NonZero;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use testing::binary::Sandbox;
use testing::skip::has_program;
use testing::terminal::forward;

const ROWS: NonZero<u16> = NonZero::new(200).expect("it is not zero");

/// How long anything may take; it is generous, because machines that run tests are busy.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a program shows on a terminal. `script` of util-linux plays it.
pub struct Screen {
    child: Child,
    keys: Option<ChildStdin>,
    output: Receiver<Vec<u8>>,
    screen: vt100::Parser,
    raw: Vec<u8>,
}

impl Screen {
    /// Runs a line of a shell in the workspace, on a terminal of so many columns; nothing where no terminal can be played.
    pub fn open(world: &Sandbox, columns: u16, line: &str) -> Option<Self> {
        if !has_program("/usr/bin/script") {
            return None;
        }
        let line = format!("stty rows {ROWS} cols {columns}; {line}");
        let mut child = Command::new("/usr/bin/script")
            .args(["--quiet", "--return", "--command", &line, "/dev/null"])
            .env_clear()
            .env("HOME", world.home())
            .env("CKPT_HOOK_HOME", world.store())
            .env("PATH", path())
            .env("TERM", "xterm-256color")
            .env("LANG", "C.UTF-8")
            .env("SHELL", "/bin/sh")
            .env("TZ", "UTC")
            .current_dir(world.workspace())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("`script` is there");
        let keys = child.stdin.take();
        let stdout = child.stdout.take().expect("it is piped");
        let (sender, output) = channel();
        std::thread::spawn(move || forward(stdout, &sender));
        Some(Self {
            child,
            keys,
            output,
            screen: vt100::Parser::new(ROWS, NonZero::new(columns)?, 0),
            raw: Vec::new(),
        })
    }

    /// Waits until a text is on the screen.
    pub fn wait_for(&mut self, text: &str) {
        self.wait_until(text, |contents| contents.contains(text));
    }

    /// Waits until the screen is as asked; `what` says how. A program draws in several writes: what is asked has to be so of a
    /// screen that is drawn to its end.
    pub fn wait_until(&mut self, what: &str, is_so: impl Fn(&str) -> bool) {
        while !is_so(&self.contents()) {
            assert!(
                self.read(),
                "`{what}` was waited for, and the program ended:\n{}",
                self.contents()
            );
        }
    }

    /// Waits until a program has written a text, though this screen may be too small to show it.
    pub fn wait_for_written(&mut self, text: &str) {
        let begin = self.raw.len();
        let is_written = |raw: &[u8]| raw.windows(text.len()).any(|part| part == text.as_bytes());
        while !is_written(&self.raw[begin..]) {
            assert!(
                self.read(),
                "`{text}` was waited for, and the program ended"
            );
        }
    }

    /// Takes in what comes until the screen is as asked, for so long at most.
    pub fn read_until(&mut self, is_so: impl Fn(&str) -> bool, patience: Duration) {
        let begin = Instant::now();
        while !is_so(&self.contents()) {
            let rest = patience.saturating_sub(begin.elapsed());
            if rest.is_zero() || !self.reads_within(rest) {
                return;
            }
        }
    }

    /// Takes in what comes next, and returns whether anything came within a time.
    pub fn reads_within(&mut self, patience: Duration) -> bool {
        let read = self.output.recv_timeout(patience);
        if let Ok(bytes) = &read {
            self.screen.process(bytes);
            self.raw.extend(bytes);
        }
        read.is_ok()
    }

    /// Presses keys.
    pub fn press(&mut self, keys: &str) {
        let stream = self.keys.as_mut().expect("it is not at its end");
        stream.write_all(keys.as_bytes()).expect("it still runs");
        stream.flush().expect("it still runs");
    }

    /// Waits for the end of the program, and returns its exit code.
    pub fn end(&mut self) -> Option<i32> {
        while self.read() {}
        drop(self.keys.take());
        self.child.wait().expect("it ended").code()
    }

    /// Takes the terminal away from the program, as a closed window does.
    pub fn close(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it was killed");
    }

    /// Returns what is on the screen.
    pub fn contents(&self) -> String {
        self.screen.screen().contents()
    }

    /// Returns every byte that came.
    pub fn raw(&self) -> &[u8] {
        &self.raw
    }

    /// Returns whether the cursor is to be seen.
    pub fn has_cursor(&self) -> bool {
        !self.screen.screen().hide_cursor()
    }

    /// Returns whether a program has the whole screen, with what stood there before behind it.
    pub fn is_alternate(&self) -> bool {
        self.screen.screen().alternate_screen()
    }

    /// Returns the first row that did not fit, and went on in the next one.
    pub fn wrapped(&self) -> Option<String> {
        let screen = self.screen.screen();
        let columns = screen.size().1.get();
        let mut rows = screen.rows(0, columns);
        rows.by_ref()
            .zip(0..)
            .find_map(|(text, row)| screen.row_wrapped(row).then_some(text))
    }

    /// Takes in what comes next; nothing comes where the program has ended.
    fn read(&mut self) -> bool {
        match self.output.recv_timeout(PATIENCE) {
            Ok(bytes) => {
                self.screen.process(&bytes);
                self.raw.extend(bytes);
                true
            }
            Err(RecvTimeoutError::Disconnected) => false,
            Err(RecvTimeoutError::Timeout) => {
                panic!("nothing more was shown:\n{}", self.contents())
            }
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Both fail only where it has ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The binary under test is found by its name.
fn path() -> String {
    let binary = Path::new(testing::binary::binary());
    let folder = binary.parent().expect("it is in a folder");
    format!("{}:/usr/bin:/bin", folder.display())
}
