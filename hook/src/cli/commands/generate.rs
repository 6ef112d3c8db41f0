//! `completions`: made from the command line's own description.

use ckpt_command::invocation::Invocation;
use ckpt_process::failure::{DONE, Failure};
use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, CommandFactory, ValueHint};
use clap_complete::Shell;

use crate::cli::arguments::Arguments;

const NAME: &str = "ckpt-hook";

/// Prints a shell's completion script.
pub fn completions(invocation: &Invocation, shell: Shell) -> Result<u8, Failure> {
    let script = script(shell);
    invocation.output.bytes(script.as_bytes())?;
    Ok(DONE)
}

/// Returns a script that completes commands, options and values; where an id is wanted, the newest messages or the
/// sessions.
fn script(shell: Shell) -> String {
    let command = hinted(visible(&Arguments::command()));
    match shell {
        Shell::Bash => bash(command),
        Shell::Zsh => zsh(command),
        Shell::Fish => fish(command),
        _ => generated(shell, command, NAME),
    }
}

/// Returns the command line without the commands that only our own programs call: the generators offer hidden ones,
/// too.
fn visible(command: &Command) -> Command {
    let shown = command
        .get_subcommands()
        .filter(|command| !command.is_hide_set());
    Command::new(NAME)
        .version(env!("CARGO_PKG_VERSION"))
        .args(command.get_arguments().cloned())
        .subcommands(shown.cloned())
}

fn generated(shell: Shell, mut command: Command, name: &str) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut script);
    String::from_utf8(script).expect("a script is text")
}

/// Gives every value a completion hint by its name in the help, so that shells offer files only for files.
fn hinted(command: Command) -> Command {
    command.mut_args(hinted_argument).mut_subcommands(hinted)
}

fn hinted_argument(argument: Arg) -> Arg {
    let name = argument.get_value_names().and_then(|names| names.first());
    match name.map(|name| name.as_str()) {
        Some("PATH") => argument.value_hint(ValueHint::AnyPath),
        Some("DIR") => argument.value_hint(ValueHint::DirPath),
        Some("AGENT") => {
            let installable = ckpt_agents::all().map(|agent| agent.name);
            argument.value_parser(PossibleValuesParser::new(
                installable.filter(|name| *name != ckpt_agents::GENERIC),
            ))
        }
        Some("ID" | "FROM" | "TO" | "TEXT" | "COUNT" | "NAME") => {
            argument.value_hint(ValueHint::Other)
        }
        _ => argument,
    }
}

/// The generator mistakes the hyphen in the name for the one between a command and its subcommand, and finds no
/// subcommand.
fn bash(command: Command) -> String {
    const REGISTRATION: &str = "\nif [[ \"${BASH_VERSINFO[0]}\" -eq 4";
    let script = generated(Shell::Bash, command, "ckpt_hook");
    let (functions, registration) = script
        .split_once(REGISTRATION)
        .expect("a script ends with its registration");
    let registration = registration
        .replace("-F _ckpt_hook ", "-F _ckpt_hook_or_ids ")
        .replace(" default ckpt_hook", " default ckpt-hook");
    format!("{functions}\n{BASH_IDS}{REGISTRATION}{registration}")
}

/// The id is what precedes the first tab of a line.
const BASH_IDS: &str = r#"_ckpt_hook_or_ids() {
    local word command="" ids=""
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        case "$word" in
            revert|redo|unrevert|status|log|show|export|diff|restore|label|event|message|step-start|step-finish)
                command="$word"
                break
                ;;
        esac
    done
    case "$command,$3,$2" in
        event,*|message,*|step-*|*,--store,*|*,--workspace,*|*,--color,*) ;;
        *,--session,*|export,export,*) ids="sessions" ;;
        log,--agent,*) ids="agents" ;;
        revert,--message,*) ids="messages" ;;
        label,-d,*|label,--delete,*) ids="labels" ;;
        *,*,-*|diff,--,*) ;;
        revert,revert,*) ids="messages" ;;
        show,*|diff,*|restore,restore,*|label,label,*) ids="ids" ;;
    esac
    if [[ -z "$ids" ]]; then
        _ckpt_hook "$@"
        return
    fi
    # No file is an id.
    compopt +o default +o bashdefault 2>/dev/null
    local line id
    local -a lines=()
    while IFS= read -r line; do
        _ckpt_hook_quoted "${line%%$'\t'*}"
        [[ "${line%%$'\t'*}" == "$2"* || "$id" == "$2"* ]] && lines+=("$line")
    done < <(command ckpt-hook candidates "$ids" 2>/dev/null)
    COMPREPLY=()
    for line in "${lines[@]}"; do
        id="${line%%$'\t'*}"
        # A description is shown only if there is a choice: a single one would be typed.
        if ((${#lines[@]} > 1 && COMP_TYPE == 63)); then
            printf -v line '%s  (%s)' "$id" "${line#*$'\t'}"
            COMPREPLY+=("${line:0:$((${COLUMNS:-80} - 2))}")
        else
            _ckpt_hook_quoted "$id"
            COMPREPLY+=("$id")
        fi
    done
}

# Sets `id` to a word as it stands on the command line: a label may hold anything that the shell would act on.
_ckpt_hook_quoted() {
    local special quote=\'
    case "${COMP_WORDS[COMP_CWORD]}" in
        "$quote"*) id="${1//$quote/$quote\\$quote$quote}" ;;
        '"'*)
            id="$1"
            for special in '\' '"' '$' '`'; do
                id="${id//"$special"/"\\$special"}"
            done
            ;;
        *) printf -v id '%q' "$1" ;;
    esac
}
"#;

/// The generator completes only files and words of a list. A value that is an id gets a function.
fn zsh(command: Command) -> String {
    const REGISTRATION: &str = "\nif [ \"$funcstack[1]\" = ";
    let script = generated(Shell::Zsh, command, NAME);
    let (functions, registration) = script
        .split_once(REGISTRATION)
        .expect("a script ends with its registration");
    // Each command's options follow its name, which is a pattern of its own.
    let mut command = "";
    let functions: String = functions
        .lines()
        .map(|line| {
            let pattern = line
                .trim_start()
                .strip_prefix('(')
                .and_then(|line| line.strip_suffix(')'));
            command = pattern.unwrap_or(command);
            zsh_line(command, line) + "\n"
        })
        .collect();
    format!("{functions}\n{ZSH_IDS}{REGISTRATION}{registration}")
}

fn zsh_line(command: &str, line: &str) -> String {
    let is_session = line.contains("--session=[");
    let is_message = command == "revert" && line.contains("--message=[");
    let is_agent = command == "log" && line.contains("--agent=[");
    let is_label = command == "label"
        && ["'-d+[", "'--delete=["]
            .iter()
            .any(|it| line.starts_with(it));
    let is_id = ["':id -- ", "'::id -- ", "'::from -- ", "'::to -- "]
        .iter()
        .any(|position| line.starts_with(position));
    let function = match line {
        _ if is_session => ":_ckpt-hook_candidates sessions'",
        _ if is_message => ":_ckpt-hook_candidates messages'",
        _ if is_agent => ":_ckpt-hook_candidates agents'",
        _ if is_label => ":_ckpt-hook_candidates labels'",
        _ if is_id => ":_ckpt-hook_candidates ids'",
        _ => return line.to_owned(),
    };
    match line.rsplit_once(":'") {
        Some((before, after)) => format!("{before}{function}{after}"),
        None => line.to_owned(),
    }
}

const ZSH_IDS: &str = r#"_ckpt-hook_candidates() {
    local -a lines ids shown
    local line
    lines=(${(f)"$(command ckpt-hook candidates $argv[-1] 2>/dev/null)"})
    for line in $lines; do
        ids+=("${line%%$'\t'*}")
        shown+=("${line%%$'\t'*}  ${line#*$'\t'}")
    done
    compadd -l -V "$argv[-1]" -d shown -a ids
}
"#;

fn fish(command: Command) -> String {
    const USING: &str = "complete -c ckpt-hook -n \"__fish_ckpt_hook_using_subcommand";
    let with_session: Vec<String> = command
        .get_subcommands()
        .filter(|command| !["message", "step-start", "step-finish"].contains(&command.get_name()))
        .filter(|command| {
            command
                .get_arguments()
                .any(|argument| argument.get_long() == Some("session"))
        })
        .map(|command| command.get_name().to_owned())
        .collect();
    let mut script = generated(Shell::Fish, command, NAME);
    script.push_str(FISH_IDS);
    for name in with_session {
        script.push_str(&format!(
            "{USING} {name}\" -l session -x -k -a \"(__ckpt_hook_candidates sessions)\"\n"
        ));
    }
    let messages = "-k -a \"(__ckpt_hook_candidates messages)\"\n";
    let ids = "-k -a \"(__ckpt_hook_candidates ids)\"\n";
    let agents = "-k -a \"(__ckpt_hook_candidates agents)\"\n";
    let labels = "-k -a \"(__ckpt_hook_candidates labels)\"\n";
    script.push_str(&format!("{USING} revert\" -l message -x {messages}"));
    script.push_str(&format!("{USING} log\" -l agent -x {agents}"));
    script.push_str(&format!("{USING} label\" -s d -l delete -x {labels}"));
    script.push_str(&format!("{USING} revert\" -f {messages}"));
    for name in ["show", "diff", "label"] {
        script.push_str(&format!("{USING} {name}\" -f {ids}"));
    }
    script.push_str(&format!("{USING} restore\" {ids}"));
    script
}

const FISH_IDS: &str = "
function __ckpt_hook_candidates
    command ckpt-hook candidates $argv 2>/dev/null
end

";
