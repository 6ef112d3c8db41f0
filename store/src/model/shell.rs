//! Words of a shell's command line.

/// Returns a word as a POSIX shell reads it.
pub fn quoted(word: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_./:=@%+,".contains(it);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}
