//! Questions to the user at a terminal: choose one of several lines, or press one of several keys.
//!
//! It reads the terminal on stdin, and writes on stderr. Every line fits, however narrow the terminal is, so that the
//! whole list can be erased. The cursor is never hidden, and echo is off only while a question is shown.

use std::io::{self, IsTerminal as _};

use ckpt_command::invocation::Invocation;
use ckpt_output::size_of;
use ckpt_output::text::{fit, wrap};
use ckpt_process::failure::Failure;
use ckpt_process::signals::{self, Deadly};
use ckpt_process::stdin;
use ckpt_store::Error;
use console::{Key, Term};
use rustix::process::{Signal, getpid, kill_process};
use rustix::stdio;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// Ctrl-D, which leaves a question as it ends any other input.
const END_OF_INPUT: char = '\u{4}';

/// How many lines of a list are shown at once.
const SHOWN: usize = 15;

/// Lets the user choose one of several lines, and returns its number, or `None` if they leave.
pub fn choose(prompt: &str, lines: &[String]) -> io::Result<Option<usize>> {
    asked(|| choose_unechoed(prompt, lines))
}

fn choose_unechoed(prompt: &str, lines: &[String]) -> io::Result<Option<usize>> {
    let terminal = Term::stderr();
    let mut chosen = 0;
    loop {
        let drawn = draw(&terminal, prompt, lines, chosen)?;
        let key = terminal.read_key_raw();
        terminal.clear_last_lines(drawn)?;
        let last = lines.len().saturating_sub(1);
        chosen = match key? {
            Key::Enter | Key::Char(' ') => return Ok(Some(chosen)),
            Key::Escape | Key::Char('q' | END_OF_INPUT) => return Ok(None),
            Key::CtrlC => return Err(io::ErrorKind::Interrupted.into()),
            Key::ArrowDown | Key::Tab | Key::Char('j') => (chosen + 1) % lines.len(),
            Key::ArrowUp | Key::BackTab | Key::Char('k') => chosen.checked_sub(1).unwrap_or(last),
            Key::PageDown | Key::ArrowRight | Key::Char('l') => (chosen + SHOWN).min(last),
            Key::PageUp | Key::ArrowLeft | Key::Char('h') => chosen.saturating_sub(SHOWN),
            Key::Home => 0,
            Key::End => last,
            _ => chosen,
        };
    }
}

/// Draws the list, and returns how many lines it takes on the terminal.
fn draw(terminal: &Term, prompt: &str, lines: &[String], chosen: usize) -> io::Result<usize> {
    let (rows, columns) = size_of(terminal);
    let columns = columns.max(2);
    let head = wrap(prompt, columns - 1, 0);
    // The cursor stands below the list.
    let room = rows.saturating_sub(head.lines().count() + 1);
    let shown = room.clamp(1, SHOWN);
    let first = chosen / shown * shown;
    let mut text = format!("{head}\n");
    for (number, line) in lines.iter().enumerate().skip(first).take(shown) {
        let sign = if number == chosen { '>' } else { ' ' };
        // A terminal may move to the next line when the last column is written.
        text.push_str(fit(&format!("{sign} {line}"), columns - 1).trim_end());
        text.push('\n');
    }
    terminal.write_str(&text)?;
    terminal.flush()?;
    Ok(text.lines().count())
}

/// Asks a question that one of several keys answers, and returns that key, or `None` for Esc, Enter, `q` or Ctrl-D.
pub fn key(question: &str, keys: &[char]) -> io::Result<Option<char>> {
    asked(|| key_unechoed(question, keys))
}

fn key_unechoed(question: &str, keys: &[char]) -> io::Result<Option<char>> {
    let terminal = Term::stderr();
    let columns = size_of(&terminal).1.max(2);
    terminal.write_str(&wrap(&format!("{question} "), columns - 1, 0))?;
    terminal.flush()?;
    let answer = loop {
        match terminal.read_key_raw()? {
            Key::Char(key) => {
                let key = key.to_ascii_lowercase();
                if keys.contains(&key) {
                    break Some(key);
                }
                if key == 'q' || key == END_OF_INPUT {
                    break None;
                }
            }
            Key::Escape | Key::Enter => break None,
            Key::CtrlC => {
                terminal.write_line("")?;
                return Err(io::ErrorKind::Interrupted.into());
            }
            _ => {}
        }
    };
    terminal.write_line(&answer.map(String::from).unwrap_or_default())?;
    Ok(answer)
}

/// Asks before something that cannot be undone; `done` is the word for it. Fails without a terminal, because there would
/// be no answer.
pub fn agrees(invocation: &Invocation, question: &str, done: &str) -> Result<bool, Failure> {
    if !stdin::is_terminal() || !io::stderr().is_terminal() {
        return Err(Failure::usage(
            "there is no terminal to ask for confirmation",
            "give --yes; --dry-run says what would go",
        ));
    }
    let answer = key(question, &['y', 'n']).map_err(unanswered)?;
    let agrees = answer == Some('y');
    if !agrees && !invocation.output.is_quiet() {
        eprint_line(&format!("Nothing was {done}."))?;
    }
    Ok(agrees)
}

/// Returns the failure of a question that could not be asked.
pub fn unanswered(error: io::Error) -> Error {
    Error::failed("cannot ask on this terminal").because(error)
}

fn eprint_line(line: &str) -> Result<(), Failure> {
    Term::stderr().write_line(line).map_err(Failure::output)
}

/// Asks. Ctrl-C ends the process by the signal, as it does any other, so that a calling script ends as well. If the
/// signal is ignored, as under `nohup`, it counts as leaving.
fn asked<T>(question: impl FnOnce() -> io::Result<Option<T>>) -> io::Result<Option<T>> {
    let unechoed = Unechoed::begin()?;
    let answer = question();
    // The signal may end the process, and nothing would restore the terminal after it.
    drop(unechoed);
    if let Err(error) = &answer
        && error.kind() == io::ErrorKind::Interrupted
    {
        kill_process(getpid(), Signal::INT)?;
        return Ok(None);
    }
    answer
}

/// A terminal with echo off, also between two reads: otherwise a key that is held down would be drawn into the list.
struct Unechoed {
    before: Termios,
    /// Dropped after the terminal is restored.
    signals: Option<Deadly>,
}

impl Unechoed {
    fn begin() -> io::Result<Self> {
        let before = tcgetattr(stdio::stdin())?;
        // Without `ISIG`, Ctrl-C is a key: as a signal, it would end the process with the echo still off.
        let mut unechoed = before.clone();
        let restored = before.clone();
        let signals = signals::before_end(move || restore(&restored));
        unechoed
            .local_modes
            .remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        tcsetattr(stdio::stdin(), OptionalActions::Drain, &unechoed)?;
        Ok(Self { before, signals })
    }
}

fn restore(before: &Termios) {
    // If the terminal is gone, there is nothing to restore.
    let _ = tcsetattr(stdio::stdin(), OptionalActions::Drain, before);
}

impl Drop for Unechoed {
    fn drop(&mut self) {
        restore(&self.before);
        drop(self.signals.take());
    }
}
