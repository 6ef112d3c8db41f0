//! The findings of `doctor`.

use ckpt_schema::report::{DoctorReport, Finding, FindingLevel};
use ckpt_store::model::number::count;

use super::View;
use super::paint::Paint;
use super::text::{safe, wrap};

/// What is not promised; the README says the same.
pub const NON_PROMISES: &str = "\
What it does not promise: it is not a barrier against programs that run as you, and not a backup (it is on the same
disk). Of ignored files, only small ones (`keep_ignored`) and those that an edit tool names are captured. Oversized and
special files are not. Owners, extended attributes, ACLs, capabilities, setuid bits, hard links and times are in no
snapshot: a file that is replaced keeps what it can of them, and one that comes back has none. The permissions of
directories that stay are not restored. Running processes, databases and installed packages are not reverted; git's
HEAD, index and refs only with `--git`. On network file systems it does what it can.
";

/// Prose is hard to read in longer lines.
const LINE: usize = 120;

/// Returns the findings, the sum, and what is not promised.
pub fn render(report: &DoctorReport, view: &View) -> String {
    let mut text: String = report
        .findings
        .iter()
        .map(|finding| line(finding, view.paint))
        .collect();
    let number = |level: FindingLevel| {
        let findings = report.findings.iter();
        let alike = findings.filter(|finding| finding.level == level.name());
        alike.count() as u64
    };
    let (errors, warnings) = (number(FindingLevel::Error), number(FindingLevel::Warning));
    text.push_str(&match (errors, warnings) {
        (0, 0) => format!("\n{}\n", view.paint.good("All is well.")),
        _ => format!(
            "\n{}, {}.\n",
            count(errors, "error"),
            count(warnings, "warning")
        ),
    });
    let promises = match view.width {
        // It is wrapped to the terminal's width.
        Some(columns) => wrap(
            &NON_PROMISES.trim_end().replace('\n', " "),
            columns.min(LINE),
            0,
        ),
        None => NON_PROMISES.trim_end().to_owned(),
    };
    text + "\n" + &view.paint.faint(&promises) + "\n"
}

fn line(finding: &Finding, paint: Paint) -> String {
    let sign = match finding.level.as_str() {
        "ok" => paint.good("✓"),
        "note" => paint.faint("-"),
        "warning" => paint.warning("!"),
        _ => paint.bad("✗"),
    };
    let repaired = if finding.repaired { " (repaired)" } else { "" };
    let mut text = format!(
        "{sign} {}: {}{repaired}\n",
        paint.strong(&safe(&finding.subject)),
        safe(&finding.message)
    );
    if let Some(hint) = &finding.hint {
        text.push_str(&format!("  {} {}\n", paint.id("hint:"), safe(hint)));
    }
    text
}
