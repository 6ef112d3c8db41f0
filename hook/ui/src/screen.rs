//! The terminal while the browser has it. It is restored at the end, after a panic, and when a signal ends the process.

use std::io::{self, Write, stdin, stdout};
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ckpt_output::{MOST_COLUMNS, MOST_ROWS};
use ratatui::backend::{Backend, CrosstermBackend};
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{self, DisableBracketedPaste, EnableBracketedPaste};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::layout::{Rect, Size};
use ratatui::{Terminal, TerminalOptions, Viewport};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Signal, getpid, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::low_level::emulate_default_handler;

/// How long to look at what crossterm has read already: with no time at all, it does not look.
const POLL_TIMEOUT: Duration = Duration::from_millis(1);

/// The terminal, which is restored when this is dropped.
pub struct Screen {
    /// The terminal.
    pub terminal: Terminal<CrosstermBackend<io::Stdout>>,
    /// The signals that end a process, and whether each was received.
    signals: Vec<(i32, Arc<AtomicBool>)>,
}

impl Screen {
    /// Takes the terminal. After a panic, the terminal is restored before the panic is printed.
    pub fn take() -> io::Result<Self> {
        let mut signals = Vec::new();
        for signal in [SIGTERM, SIGHUP, SIGINT] {
            let came = Arc::new(AtomicBool::new(false));
            // A flag, and no handler that gives the terminal back: it would allocate and take the lock of stdout,
            // which the interrupted code may hold.
            flag::register(signal, Arc::clone(&came))?;
            signals.push((signal, came));
        }
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |about| {
            give_back();
            before(about);
        }));
        let backend = CrosstermBackend::new(stdout());
        let viewport = Viewport::Fixed(used(backend.size()?));
        let terminal = Terminal::with_options(backend, TerminalOptions { viewport })?;
        // Before the terminal is taken: if that fails halfway, dropping this gives it back.
        let screen = Self { terminal, signals };
        begin()?;
        Ok(screen)
    }

    /// Waits for a key or a change of the terminal's size, and returns whether there was one.
    ///
    /// # Errors
    ///
    /// The terminal is gone. crossterm is not asked then: up to 0.29, it loops forever at the end of a terminal.
    pub fn wait(&self, patience: Duration) -> io::Result<bool> {
        let input = stdin();
        let mut polled = [PollFd::new(&input, PollFlags::IN)];
        let timeout = Timespec::try_from(patience).ok();
        match poll(&mut polled, timeout.as_ref()) {
            // A change of size is reported by a signal.
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let is_gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
        if polled[0].revents().intersects(is_gone) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        event::poll(POLL_TIMEOUT)
    }

    /// Returns whether the last frame is as large as the terminal. The signal of a change is heard only once the first
    /// key was waited for.
    pub fn is_full(&mut self) -> bool {
        let shown = self.terminal.get_frame().area();
        self.terminal.size().is_ok_and(|size| used(size) == shown)
    }

    /// Makes the next frame as large as the terminal is by now.
    pub fn fit(&mut self) -> io::Result<()> {
        let area = used(self.terminal.size()?);
        match self.terminal.get_frame().area() == area {
            true => Ok(()),
            false => self.terminal.resize(area),
        }
    }

    /// Ends the process by a signal that was received meanwhile.
    pub fn heed_signals(&self) -> io::Result<()> {
        for (signal, came) in &self.signals {
            if came.load(Ordering::Relaxed) {
                return end_by(*signal);
            }
        }
        Ok(())
    }

    /// Ends the process as Ctrl-C would, so that a calling script ends as well.
    pub fn interrupt(&self) -> io::Result<()> {
        end_by(SIGINT)
    }

    /// Gives the terminal to the shell until it continues this process.
    pub fn suspend(&mut self) -> io::Result<()> {
        give_back();
        kill_process(getpid(), Signal::TSTP)?;
        // Here the shell has continued the process.
        begin()?;
        // The shell has written over it, and only what differs from the last frame would be drawn.
        self.terminal.clear()
    }

    /// Copies text to the clipboard of the user's terminal, also over ssh, with OSC 52. A terminal may ignore it.
    pub fn copy(&self, text: &str) -> io::Result<()> {
        let mut stream = stdout().lock();
        write!(stream, "\x1b]52;c;{}\x07", STANDARD.encode(text))?;
        stream.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Returns the part of a terminal that is drawn on.
fn used(size: Size) -> Rect {
    Rect::new(
        0,
        0,
        size.width.min(MOST_COLUMNS),
        size.height.min(MOST_ROWS),
    )
}

/// Whether we have the terminal: restoring it twice would move the cursor to where it was the first time.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

fn begin() -> io::Result<()> {
    IS_TAKEN.store(true, Ordering::Relaxed);
    enable_raw_mode()?;
    execute!(stdout(), EnterAlternateScreen, EnableBracketedPaste)
}

/// If the terminal is gone, there is nothing to restore.
fn give_back() {
    if !IS_TAKEN.swap(false, Ordering::Relaxed) {
        return;
    }
    // Cleared, because tmux puts rows of it onto the shell's screen where the terminal has grown meanwhile.
    let _ = execute!(
        stdout(),
        DisableBracketedPaste,
        Clear(ClearType::All),
        LeaveAlternateScreen,
        Show
    );
    let _ = disable_raw_mode();
}

fn end_by(signal: i32) -> io::Result<()> {
    give_back();
    emulate_default_handler(signal)
}
