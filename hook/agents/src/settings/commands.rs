//! Commands for people inside agents: `/ckpt-revert`, `/ckpt-redo` and `/ckpt-status`, in each agent's own form.
//!
//! The agent runs the line and passes its output to the model, which repeats it. The text for the model begins with a
//! fixed sentence, by which we recognize our file and a prompt that is not the user's message.

use std::path::Path;

use ckpt_store::error::Result;
use serde_json::Value;

use super::command;
use super::content::SettingsFile;
use super::hook_table::HookTable;
use super::own_file::OwnFile;
use super::place::{SettingsPlace, SettingsScope};
use crate::own_command::{COMMANDS, OwnCommand, SENTENCE};

/// The form of an agent's commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Claude Code: Markdown, a line of shell as ``!`…` ``, and a list of what may run without a question.
    Claude,
    /// A plugin for several agents: the same without a session, which only Claude Code knows.
    #[cfg(test)]
    Shared,
    /// opencode and Kilo: Markdown, with a line that our plugin fills in. Unlike a shell command, the plugin knows the
    /// session.
    Blank,
    /// Qwen Code: Markdown, a line of shell as `!{…}`.
    Braces,
    /// Gemini CLI: TOML, a line of shell as `!{…}`.
    Toml,
    /// Codex: a skill, which cannot run anything itself; it asks the model to.
    Skill,
}

/// Returns the command files of an agent in its folder of commands.
///
/// # Errors
///
/// As for [`command::text`].
pub fn files(
    form: Form,
    folder: &Path,
    scope: SettingsScope,
    place: &SettingsPlace<'_>,
) -> Result<Vec<SettingsFile>> {
    let binary = command::text(place.binary)?;
    let texts = COMMANDS
        .iter()
        .flat_map(|command| texts(form, command, &command::quoted(binary)));
    let file = |(name, text)| SettingsFile {
        path: folder.join(name),
        mode: scope.mode(),
        content: Box::new(OwnFile {
            text,
            marker: SENTENCE.to_owned(),
            binary: binary.to_owned(),
            is_optional: true,
        }),
    };
    Ok(texts.map(file).collect())
}

/// Returns `settings.json` of an agent's folder with a table of hooks, and the command files in `commands` beside it.
///
/// # Errors
///
/// As for [`command::text`].
pub fn files_beside(
    table: HookTable,
    form: Form,
    folder: &Path,
    scope: SettingsScope,
    place: &SettingsPlace<'_>,
) -> Result<Vec<SettingsFile>> {
    let settings = SettingsFile::with_table(folder.join("settings.json"), scope, table);
    let commands = files(form, &folder.join("commands"), scope, place)?;
    Ok([settings].into_iter().chain(commands).collect())
}

/// Returns the names and texts of a command's files; `program` is our path as a word for a shell.
pub fn texts(form: Form, command: &OwnCommand, program: &str) -> Vec<(String, String)> {
    let OwnCommand {
        name, line, about, ..
    } = *command;
    let runs = |before: &str, arguments: &str, after: &str| {
        format!(
            "{SENTENCE} It printed:\n\n!{before}{program} {line}{arguments} 2>&1{after}\n\n{ADVICE}\n"
        )
    };
    match form {
        // Only this conversation's messages, even if others work here.
        Form::Claude => {
            vec![with_permission(
                command,
                program,
                &runs("`", " --session ${CLAUDE_SESSION_ID} $ARGUMENTS", "`"),
            )]
        }
        #[cfg(test)]
        Form::Shared => vec![with_permission(
            command,
            program,
            &runs("`", " $ARGUMENTS", "`"),
        )],
        Form::Blank => {
            let text = format!(
                "---\ndescription: {about}\n---\n\n{SENTENCE} It printed:\n\n{BLANK} $ARGUMENTS\n\n{ADVICE}\n"
            );
            vec![(format!("{name}.md"), text)]
        }
        Form::Braces => {
            let head = format!("---\ndescription: {about}\n---\n\n");
            vec![(
                format!("{name}.md"),
                head + &runs("{", &of_session("QWEN_CODE_SESSION_ID", " {{args}}"), "}"),
            )]
        }
        Form::Toml => {
            let prompt = runs("{", " {{args}}", "}");
            let text = format!(
                "description = {}\nprompt = '''\n{prompt}'''\n",
                Value::from(about)
            );
            vec![(format!("{name}.toml"), text)]
        }
        Form::Skill => skill(command, program),
    }
}

/// Claude Code asks before it runs a line, unless the file allows it.
fn with_permission(command: &OwnCommand, program: &str, text: &str) -> (String, String) {
    let OwnCommand {
        name,
        line,
        about,
        arguments,
    } = *command;
    let hint = if arguments.is_empty() {
        String::new()
    } else {
        format!("argument-hint: \"{arguments}\"\n")
    };
    let verb = line.split(' ').next().unwrap_or_default();
    let head = format!(
        "---\ndescription: {about}\n{hint}allowed-tools: Bash({program} {verb}:*)\n\
         disable-model-invocation: true\n---\n\n"
    );
    (format!("{name}.md"), head + text)
}

/// What the model is asked to do with the output.
const ADVICE: &str = "Tell the user in a sentence or two what it says, and do nothing else. \
                      What you remember of files that it names is out of date.";

/// Returns the words of a command's line, as a list for a plugin that runs it.
pub fn words(command: &OwnCommand) -> Value {
    command.line.split(' ').map(Value::from).collect()
}

/// The beginning of the line that the plugin replaces by the answer; without the plugin, the model reads the line.
pub const BLANK: &str = "(nothing: the plugin of ckpt-hook did not answer)";

/// Returns arguments with the session that a shell variable names, if the agent sets one. Otherwise the newest message
/// of the workspace would be used, perhaps of another session.
fn of_session(variable: &str, arguments: &str) -> String {
    format!("{arguments} ${{{variable}:+--session \"${variable}\"}}")
}

/// The tool that runs it belongs to the session, which therefore counts as busy: hence `--force`.
fn skill(command: &OwnCommand, program: &str) -> Vec<(String, String)> {
    let OwnCommand {
        name, line, about, ..
    } = *command;
    let force = if line == "inside status" {
        ""
    } else {
        " --force"
    };
    let arguments = of_session("CODEX_THREAD_ID", force);
    let text = format!(
        "---\nname: {name}\ndescription: {about}\n---\n\n{SENTENCE} Run exactly this command, outside the sandbox, since it \
         writes to a store of its own; what the user wrote behind the command's name belongs at its end:\n\n    {program} {line}{arguments}\n\n{ADVICE}\n"
    );
    let policy = format!(
        "# {SENTENCE} Only the user calls it.\npolicy:\n  allow_implicit_invocation: false\n"
    );
    vec![
        (format!("{name}/SKILL.md"), text),
        (format!("{name}/agents/openai.yaml"), policy),
    ]
}
