//! What agents call: `event` with a payload on stdin, and the same by flags.
//!
//! Runs inside the guard. One line: stdin → the agent's adapter → events → the library, event by event. What goes
//! wrong is noted where `status` and `doctor` find it, and returned for `--strict` and `--json`.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use ckpt_agents::conversations::AgentConversations;
use ckpt_agents::install::{self, SettingsPlace};
use ckpt_agents::payload::{Parsed, PayloadContext};
use ckpt_agents::{GENERIC, reminder, roots};
use ckpt_command::config::{self, Config};
use ckpt_command::invocation::Common;
use ckpt_process::background;
use ckpt_process::failure::{Failure, is_help};
#[cfg(debug_assertions)]
use ckpt_process::fault;
use ckpt_process::stdin;
use ckpt_process::surroundings::{self, Environment};
use ckpt_schema::report::EventReport;
use ckpt_schema::{Event, EventKind};
use ckpt_store::error::{Error, ErrorKind, Result};
use ckpt_store::sessions::{Diagnostic, DiagnosticLevel};
use ckpt_store::{Settings, Store};

use crate::cli::arguments::{Arguments, Command, EventArguments, FlagArguments};
use crate::log_file::{Level, LogFile};

use crate::watchdog::Watchdog;

/// The outcome of a hook call.
pub struct Recorded {
    /// The report of the last event.
    pub report: EventReport,
    /// The text for the agent.
    pub words: Option<String>,
    /// The store, and a directory of the workspace, if work is left for the background.
    pub unsettled: Option<(PathBuf, PathBuf)>,
}

impl Recorded {
    /// No event was recorded.
    pub fn nothing() -> Self {
        Self {
            report: EventReport::of_nothing(None),
            words: None,
            unsettled: None,
        }
    }
}

/// Records the events of the command line, or of the payload on stdin.
pub fn run(
    words: &[OsString],
    surroundings: &Environment,
    store: &Path,
    log: &LogFile,
    watchdog: &Watchdog,
) -> std::result::Result<Recorded, Failure> {
    let config = config::read(
        surroundings.config_file().as_deref(),
        surroundings.home.as_deref(),
    );
    // As early as possible: until now, the deadline was a guess.
    watchdog.set(config.settings.hook_deadline);
    #[cfg(debug_assertions)]
    fault::hang();
    if !config.settings.enabled {
        stdin::listen();
        return Ok(Recorded::nothing());
    }
    let mut recorder = Recorder {
        surroundings,
        directory: store,
        config: &config,
        log,
        store: None,
        words: None,
        unsettled: None,
    };
    let arguments = Arguments::read(words).map_err(|error| recorder.refuse(error))?;
    let mut parsed = understand(&arguments, surroundings).inspect_err(|error| {
        recorder.note(
            DiagnosticLevel::Error,
            &Subject::default(),
            &error.to_string(),
            &error.causes(),
        );
    })?;
    // An agent's settings may name any event, but with `--strict` a typo is an error.
    if let Some(unknown) = parsed
        .unknown
        .take()
        .filter(|_| is_strict(&arguments.command))
    {
        return Err(Error::failed(unknown)
            .hint("`ckpt-hook event --help` names the events")
            .into());
    }
    let report = recorder.record_all(agent(&arguments.command), parsed);
    // The process ends with this call. The kernel closes what is open; SQLite would only spend time freeing its memory.
    std::mem::forget(recorder.store.take());
    Ok(Recorded {
        report: report?,
        words: recorder.words,
        unsettled: recorder.unsettled.map(|cwd| (store.to_owned(), cwd)),
    })
}

fn agent(command: &Command) -> &str {
    if let Command::Event(arguments) = command {
        &arguments.agent
    } else {
        GENERIC
    }
}

fn is_strict(command: &Command) -> bool {
    matches!(command, Command::Event(arguments) if arguments.strict.strict)
}

/// Returns the events of a command line.
fn understand(arguments: &Arguments, surroundings: &Environment) -> Result<Parsed> {
    let cwd = directory(&arguments.common, surroundings)?;
    match &arguments.command {
        Command::Event(event) => read(event, &cwd),
        Command::Message(flags) => Ok(by_flags(EventKind::UserMessage, flags, cwd)),
        Command::StepStart(flags) => Ok(by_flags(EventKind::StepStart, flags, cwd)),
        Command::StepFinish(flags) => Ok(by_flags(EventKind::StepFinish, flags, cwd)),
        _ => Err(Error::failed("this command records nothing")),
    }
}

/// A directory that is gone is not a workspace, and the root of the file system is refused with a reason.
fn directory(common: &Common, surroundings: &Environment) -> Result<PathBuf> {
    match &common.workspace {
        Some(path) => surroundings.absolute(path),
        None => Ok(surroundings
            .current_directory
            .clone()
            .unwrap_or_else(|| PathBuf::from("/"))),
    }
}

fn read(arguments: &EventArguments, cwd: &Path) -> Result<Parsed> {
    let payload = stdin::read_payload(io::stdin().lock(), stdin::goes_on)
        .map_err(|error| Error::failed("cannot read the payload on stdin").because(error))?;
    let context = PayloadContext {
        cwd,
        environment: &surroundings::variable,
        first_line: &stdin::first_line,
        last_lines: &stdin::last_lines,
        names_in: &surroundings::names_in,
        agent_process: &agent_process,
    };
    let mut parsed = ckpt_agents::parse(
        &arguments.agent,
        arguments.event.as_deref(),
        &payload.bytes,
        &context,
    );
    if payload.is_cut {
        parsed
            .problems
            .push("the payload is too long: its end was left out".to_owned());
    }
    Ok(parsed)
}

/// Returns the id of the agent's process.
fn agent_process() -> Option<u32> {
    number(&ckpt_store::agent_process()?.name)
}

/// Returns the id of the process with a name of ours.
fn number(process: &str) -> Option<u32> {
    process.split(' ').next()?.parse().ok()
}

/// Returns where the settings of an agent are that works in a directory.
fn place_of<'a>(home: &'a Path, cwd: &'a Path) -> SettingsPlace<'a> {
    SettingsPlace {
        home,
        project: cwd,
        start: cwd,
        machine: Path::new("/"),
        binary: Path::new(""),
        trust: false,
        memory: Path::new(""),
        environment: &surroundings::variable,
    }
}

fn by_flags(kind: EventKind, flags: &FlagArguments, cwd: PathBuf) -> Parsed {
    let event = Event {
        cwd: Some(cwd),
        message_id: flags.message.clone(),
        step_id: flags.step.clone(),
        prompt: flags.prompt.clone(),
        ..Event::new(kind, GENERIC, &flags.session)
    };
    Parsed {
        events: vec![event],
        ..Parsed::default()
    }
}

/// What a diagnostic is about.
#[derive(Clone, Copy, Default)]
struct Subject<'a> {
    agent: Option<&'a str>,
    event: Option<&'a Event>,
    is_untold: bool,
}

impl<'a> Subject<'a> {
    fn of(event: &'a Event) -> Self {
        Self {
            agent: Some(&event.agent),
            event: Some(event),
            is_untold: false,
        }
    }
}

/// Records events and notes what goes wrong. The store is opened when the first of them needs it.
struct Recorder<'a> {
    surroundings: &'a Environment,
    directory: &'a Path,
    config: &'a Config,
    log: &'a LogFile,
    store: Option<Store>,
    /// The text for the agent.
    words: Option<String>,
    /// A directory of the workspace, if work is left there.
    unsettled: Option<PathBuf>,
}

impl Recorder<'_> {
    fn record_all(&mut self, agent: &str, parsed: Parsed) -> Result<EventReport> {
        let mut last = Ok(EventReport::of_nothing(None));
        for problem in &parsed.problems {
            self.note(
                DiagnosticLevel::Warning,
                &Subject {
                    agent: Some(agent),
                    ..Subject::default()
                },
                problem,
                &[],
            );
            last = last.and(Err(Error::failed(problem)));
        }
        for event in &parsed.events {
            // An event that cannot be recorded does not keep those after it from being recorded.
            let report = self.record(event);
            last = last.and(report);
        }
        last
    }

    fn record(&mut self, event: &Event) -> Result<EventReport> {
        if !self.settings(event).enabled {
            return Ok(EventReport::of_nothing(None));
        }
        let event = &*self.completed(event);
        let report = self.store().and_then(|store| store.record(event));
        if let Some(root) = self.store.as_mut().and_then(Store::late_root) {
            self.go_on_without_the_hook(&Event {
                cwd: Some(root),
                ..event.clone()
            });
        }
        match &report {
            Ok(report) => self.after_recording(event, report),
            Err(error) => self.after_failing(event, error),
        }
        report
    }

    /// Returns an event with the process of its agent, if something begins with it.
    ///
    /// The processes between a hook and its agent change with every call, but the agent changes only with its session.
    /// So it is looked up only when something begins, and no tool has to wait for that.
    fn completed<'e>(&mut self, event: &'e Event) -> Cow<'e, Event> {
        if !starts_something(event) {
            return Cow::Borrowed(event);
        }
        self.note_settings();
        let process = ckpt_store::agent_process();
        Cow::Owned(Event {
            is_long_lived: process
                .as_ref()
                .is_some_and(|process| process.is_long_lived),
            roots: self.roots(
                event,
                process.as_ref().and_then(|process| number(&process.name)),
            ),
            process: process.map(|process| process.name),
            ..event.clone()
        })
    }

    /// Returns the further directories of a session: those of the event, and when it begins, those that the agent's settings
    /// and command line add.
    fn roots(&self, event: &Event, process: Option<u32>) -> Vec<PathBuf> {
        let mut roots = event.roots.clone();
        if event.event == EventKind::SessionStart
            && let (Some(home), Some(cwd)) = (&self.surroundings.home, &event.cwd)
        {
            let arguments = || process.map_or_else(Vec::new, surroundings::arguments_of);
            roots.extend(roots::declared(
                &event.agent,
                &place_of(home, cwd),
                &arguments,
            ));
        }
        roots
    }

    fn after_recording(&mut self, event: &Event, report: &EventReport) {
        self.log.line(
            Level::Info,
            &format!("recorded `{}` of {}", event.event.name(), event.agent),
        );
        self.tell(event, report);
        self.show(event, report);
        if event.event == EventKind::SessionStart {
            self.note_missing_hooks(event);
        }
        if event.event == EventKind::TurnEnd
            && self.settings(event).auto_push
            && let Some(cwd) = &event.cwd
        {
            // What cannot be started now goes with the next turn.
            let _ = background::push(self.directory, cwd);
        }
        // At the end of a session the agent is gone, and does not wait while git's refs are written.
        let is_over = event.event == EventKind::SessionEnd;
        if is_over || self.store.as_ref().is_some_and(Store::is_unsettled) {
            self.unsettled.clone_from(&event.cwd);
        }
    }

    /// Notes, once, what an agent reports that now runs and the hook is not called for: its version may not have been
    /// known when the hook was installed.
    fn note_missing_hooks(&mut self, event: &Event) {
        let program = || surroundings::program_of(agent_process()?);
        let (Some(home), Some(cwd)) = (&self.surroundings.home, &event.cwd) else {
            return;
        };
        let Some(advice) = install::advice_on_running(&event.agent, &place_of(home, cwd), program)
        else {
            return;
        };
        let (subject, message) = (
            Subject::of(event),
            format!("{}: {}", advice.message, advice.hint),
        );
        let diagnostic = Diagnostic {
            level: DiagnosticLevel::Warning,
            agent: subject.agent,
            message: &message,
            ..Diagnostic::default()
        };
        // It is said again at the next session.
        let _ = self
            .store()
            .and_then(|store| store.diagnose_once(&diagnostic));
    }

    fn after_failing(&mut self, event: &Event, error: &Error) {
        // Without a session store, only a file beside it can say that an event was lost.
        let is_lost = match self.store {
            None => {
                ckpt_store::is_lost(error)
                    && ckpt_store::note_lost_event(
                        self.directory,
                        event,
                        error,
                        surroundings::now(),
                    )
            }
            Some(_) => ckpt_store::is_lost(error),
        };
        let subject = Subject {
            is_untold: !error.is_refusal() && error.kind != ErrorKind::Late,
            ..Subject::of(event)
        };
        if is_lost {
            // It becomes a row with the next message, or the next command.
            self.log.line(Level::Error, &error.with_causes());
        } else {
            let (level, text) = (DiagnosticLevel::Error, error.to_string());
            let is_noted = self.note(level, &subject, &text, &error.causes());
            if !is_noted && subject.is_untold {
                ckpt_store::note_lost_event(self.directory, event, error, surroundings::now());
            }
        }
        if error.kind == ErrorKind::Late {
            self.go_on_without_the_hook(event);
        }
    }

    /// Tells the agent, if it can be told, which files the user put back since the last message.
    fn tell(&mut self, event: &Event, report: &EventReport) {
        if !report.went_back.is_empty() && self.settings(event).tell_agent {
            let line = reminder::line(&report.went_back);
            self.words = ckpt_agents::find(&event.agent).and_then(|agent| (agent.tell)(&line));
        }
    }

    /// Shows the user, if the agent has a way to, what one of our commands did that has ended: the model, which its output
    /// went to, may leave some of it out.
    fn show(&mut self, event: &Event, report: &EventReport) {
        let (Some(operation), Some(cwd)) = (&report.operation, &event.cwd) else {
            return;
        };
        if ckpt_agents::find(&event.agent).is_some_and(|agent| agent.shows) {
            let shown = self.store().and_then(|store| store.show(cwd, operation));
            self.words = shown.ok().and_then(|shown| reminder::receipt(&shown));
        }
    }

    /// Finishes the snapshot of a large workspace, or of many changes, in a separate process, so that the next step is
    /// protected.
    fn go_on_without_the_hook(&mut self, event: &Event) {
        let Some(cwd) = &event.cwd else { return };
        let text = match background::take_snapshot(self.directory, cwd) {
            Ok(()) => {
                "the snapshot continues in the background: steps are protected once it is done"
            }
            Err(_) => {
                "the snapshot could not continue in the background: take it with `ckpt-hook snapshot`"
            }
        };
        self.note(DiagnosticLevel::Warning, &Subject::of(event), text, &[]);
    }

    fn settings(&self, event: &Event) -> &Settings {
        let settings = &self.config.settings;
        match &event.cwd {
            Some(cwd) if !settings.workspaces.is_empty() => {
                settings.for_directory(&cwd.canonicalize().unwrap_or_else(|_| cwd.clone()))
            }
            _ => settings,
        }
    }

    /// Broken settings are reported once per message, not at every tool.
    fn note_settings(&mut self) {
        for problem in &self.config.problems {
            self.note(DiagnosticLevel::Warning, &Subject::default(), problem, &[]);
        }
    }

    fn store(&mut self) -> Result<&mut Store> {
        if self.store.is_none() {
            let given = self.surroundings.for_store(
                self.directory.to_owned(),
                self.config.settings.clone(),
                &AgentConversations,
            );
            self.store = Some(Store::open(given)?);
        }
        Ok(self.store.as_mut().expect("it was opened a line above"))
    }

    /// Notes that the command line is invalid, and returns that as the failure.
    fn refuse(&mut self, error: clap::Error) -> Failure {
        if !is_help(&error) {
            stdin::listen();
            self.note(
                DiagnosticLevel::Error,
                &Subject::default(),
                "a hook was called with arguments that make no sense",
                &[],
            );
        }
        Failure::Arguments(error)
    }

    /// Writes to the database for `status`, and to the log file in case there is no database. Returns whether the
    /// database has it.
    fn note(
        &mut self,
        level: DiagnosticLevel,
        subject: &Subject<'_>,
        message: &str,
        causes: &[String],
    ) -> bool {
        let detail = (!causes.is_empty()).then(|| causes.join(": "));
        let cwd = subject
            .event
            .and_then(|event| event.cwd.as_ref())
            .map(|cwd| cwd.to_string_lossy());
        let diagnostic = Diagnostic {
            level,
            agent: subject.agent,
            event: subject.event.map(|event| event.event.name()),
            session: subject.event.map(|event| event.session_id.as_str()),
            workspace: cwd.as_deref(),
            message,
            detail: detail.as_deref(),
            is_untold: subject.is_untold,
        };
        let line = [Some(message), diagnostic.detail]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(": ");
        self.log.line(
            match level {
                DiagnosticLevel::Error => Level::Error,
                DiagnosticLevel::Warning => Level::Warning,
                DiagnosticLevel::Info => Level::Info,
            },
            &line,
        );
        let noted = self.store().and_then(|store| store.diagnose(&diagnostic));
        if let Err(error) = &noted {
            self.log.line(
                Level::Error,
                &format!(
                    "the session store could not note it: {}",
                    error.with_causes()
                ),
            );
        }
        noted.is_ok()
    }
}

fn starts_something(event: &Event) -> bool {
    matches!(
        event.event,
        EventKind::SessionStart | EventKind::UserMessage
    )
}
