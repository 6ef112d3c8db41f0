//! The findings of `doctor`.

use ckpt_schema::report::{DoctorReport, Finding, FindingLevel};
use ckpt_store::model::number::count;

use super::View;
use super::paint::Paint;
use super::text::safe;

/// Returns the findings, and their sum.
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
    text
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
