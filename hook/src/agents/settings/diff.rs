//! What an edit does to a settings file, for `--dry-run`.

use std::path::Path;

use similar::TextDiff;

/// Returns the change of a file as a unified diff; an absent text is `/dev/null`.
pub fn unified(path: &Path, before: Option<&str>, after: Option<&str>) -> String {
    let difference = TextDiff::from_lines(before.unwrap_or_default(), after.unwrap_or_default());
    difference
        .unified_diff()
        .header(&side("a", path, before), &side("b", path, after))
        .to_string()
}

fn side(prefix: &str, path: &Path, text: Option<&str>) -> String {
    text.map_or_else(
        || "/dev/null".to_owned(),
        |_| format!("{prefix}{}", path.display()),
    )
}
