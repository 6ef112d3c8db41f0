//! What an edit does to a settings file, for `--dry-run`.

use std::path::Path;

use imara_diff::{Algorithm, BasicLineDiffPrinter, Diff, InternedInput, UnifiedDiffConfig};

/// Returns the change of a file as a unified diff; an absent text is `/dev/null`.
pub fn unified(path: &Path, before: Option<&str>, after: Option<&str>) -> String {
    let input = InternedInput::new(before.unwrap_or_default(), after.unwrap_or_default());
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let printer = BasicLineDiffPrinter(&input.interner);
    let hunks = diff.unified_diff(&printer, UnifiedDiffConfig::default(), &input);
    format!("--- {}\n+++ {}\n{hunks}", side("a", path, before), side("b", path, after))
}

fn side(prefix: &str, path: &Path, text: Option<&str>) -> String {
    text.map_or_else(|| "/dev/null".to_owned(), |_| format!("{prefix}{}", path.display()))
}
