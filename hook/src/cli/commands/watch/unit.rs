//! The unit that starts the watcher when its user logs in, in systemd's format (systemd.syntax(7), systemd.service(5)). Pure.

/// The unit's name.
pub const NAME: &str = "ckpt-hook-watch.service";

/// The beginning of our unit file; a file without it is not ours.
const MARK: &str =
    "# Written by `ckpt-hook watch --install`; `ckpt-hook watch --uninstall` removes it.\n";

/// Returns the unit that runs a command. A watcher ends when no hook asked for half an hour, and frees all its memory;
/// the next one uses almost none until a hook asks.
pub fn text(command: &[&str]) -> String {
    let command: Vec<_> = command.iter().map(|word| quoted(word)).collect();
    format!(
        "{MARK}
[Unit]
Description=Tells the hooks of coding agents which directories changed

[Service]
ExecStart={}
Restart=always
RestartSec=10

[Install]
WantedBy=default.target
",
        command.join(" ")
    )
}

/// Returns whether a text is a unit of ours.
pub fn is_ours(text: &str) -> bool {
    text.starts_with(MARK)
}

/// Returns a word of a command line. `$` and `%` would be replaced, and a backslash begins an escape.
fn quoted(word: &str) -> String {
    let mut quoted = String::from("\"");
    for character in word.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '$' | '%' => quoted.extend([character, character]),
            character if character.is_ascii_control() => {
                quoted.push_str(&format!("\\x{:02x}", u32::from(character)));
            }
            character => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_itself_whatever_is_in_it() {
        assert_eq!(quoted("/usr/bin/x y"), "\"/usr/bin/x y\"");
        assert_eq!(quoted("a\"b\\c"), r#""a\"b\\c""#);
        assert_eq!(quoted("$HOME %h"), "\"$$HOME %%h\"");
        assert_eq!(quoted("a\nExecStart=b"), "\"a\\x0aExecStart=b\"");
    }

    #[test]
    fn a_unit_of_ours_is_known() {
        assert!(is_ours(&text(&["ckpt-hook", "watch"])));
        assert!(!is_ours("[Unit]\nDescription=mine\n"));
    }
}
