//! Changes as one page for a browser: it loads nothing and runs nothing, and the template escapes every name and line.

use ckpt_schema::report::ChangeReport;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::View;
use super::columns::{Cell, ColumnRow, rows};
use super::diff;
use super::lines::{DiffOptions, difference, pieces};
use super::paint::Paint;
use super::patch::FileSides;
use super::text::safe;

/// The head of the page.
#[derive(Clone, Debug, Default)]
pub struct Top {
    /// What it shows, such as a message's prompt.
    pub title: String,
    /// Facts below the title.
    pub facts: Vec<String>,
}

/// A part of a page: a message and its changes, or all that there is.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// Its head; none if it is all of the page.
    pub top: Top,
    /// The files.
    pub files: Vec<ChangeReport>,
    /// Those that are shown, with both sides.
    pub sides: Vec<(ChangeReport, FileSides)>,
}

/// Only the page's own styles are allowed.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// On a narrow screen, the new side is below the old one.
const STYLE: &str = "
:root{color-scheme:light dark;--gone:#ffd7d5;--come:#ccffd8;--goneword:#ff8182;--comeword:#4ac26b;--up:#1a7f37;--down:#cf222e;--line:#8884}
@media(prefers-color-scheme:dark){:root{--gone:#4b1113;--come:#033a16;--goneword:#8e1519;--comeword:#196c2e;--up:#3fb950;--down:#f85149}}
body{font:16px/1.5 system-ui,sans-serif;margin:0 auto;max-width:110em;padding:1em;overflow-wrap:anywhere}
h1{font-size:1.3em;white-space:pre-wrap}h2{font-size:1em;font-family:ui-monospace,monospace;margin:2em 0 .3em}
h2.message{font:bold 1.15em/1.5 system-ui,sans-serif;white-space:pre-wrap;border-top:1px solid var(--line);padding-top:1em}
summary{cursor:pointer}ul{padding-left:1.2em}
table{border-collapse:collapse;width:100%;table-layout:fixed;font:13px/1.45 ui-monospace,monospace;border:1px solid var(--line)}
col.n{width:4.5em}td{vertical-align:top;white-space:pre-wrap;padding:0 .5em}td.n{text-align:right;opacity:.6;user-select:none}
tr.gap td{border-top:1px solid var(--line);padding:.2em}
.g{background:var(--gone)}.c{background:var(--come)}del{background:var(--goneword);text-decoration:none}
ins{background:var(--comeword);text-decoration:none}.up{color:var(--up)}.down{color:var(--down)}
@media(max-width:50em){table,tbody,tr{display:block}td{display:block}td.n{display:none}td:empty{display:none}tr.gap td:empty{display:block}tr.same td.old{display:none}}
";

/// Returns a page with the changes of each file.
pub fn page(top: &Top, sections: &[Section], view: &View) -> String {
    let view = View {
        paint: Paint::PLAIN,
        ..*view
    };
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (safe(top.title.lines().next().unwrap_or_default())) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { (lines(&top.title)) }
                ul { @for fact in &top.facts { li { (safe(fact)) } } }
                @for (number, section) in sections.iter().enumerate() {
                    (part(number, section, &view))
                }
            }
        }
    };
    page.into_string()
}

fn part(number: usize, section: &Section, view: &View) -> Markup {
    let total = diff::total(&section.files, view);
    let anchor = |place: usize| match number {
        0 => format!("f{place}"),
        _ => format!("m{number}f{place}"),
    };
    html! {
        @if !section.top.title.is_empty() {
            h2.message { (lines(&section.top.title)) }
            ul { @for fact in &section.top.facts { li { (safe(fact)) } } }
        }
        p { (total.trim_end()) }
        ul {
            @for (place, (change, _)) in section.sides.iter().enumerate() {
                li { a href=(format!("#{}", anchor(place))) { (diff::both_names(change)) } " " (counts(change)) }
            }
        }
        @for (place, (change, sides)) in section.sides.iter().enumerate() {
            section id=(anchor(place)) { (file(change, sides)) }
        }
    }
}

/// Returns lines without characters that change the reading direction.
fn lines(text: &str) -> String {
    text.lines().map(safe).collect::<Vec<_>>().join("\n")
}

fn counts(change: &ChangeReport) -> Markup {
    html! {
        span.up { "+" (change.additions.unwrap_or(0)) } " "
        span.down { "-" (change.deletions.unwrap_or(0)) }
    }
}

fn file(change: &ChangeReport, sides: &FileSides) -> Markup {
    html! {
        h2 { (diff::both_names(change)) " " (counts(change)) }
        details open {
            summary { (diff::kind(change, Paint::PLAIN)) (modes(change)) }
            @match sides {
                FileSides::Text { old, new } => (text(old, new)),
                FileSides::Bytes { old, new, why } => p { (why) ": " (old.len()) " → " (new.len()) " bytes" },
                FileSides::Equal => p { "The content is the same." },
                FileSides::Missing => p { "No snapshot holds all of its contents." },
            }
        }
    }
}

/// Returns both modes of a file where they differ.
fn modes(change: &ChangeReport) -> String {
    match (&change.old_mode, &change.new_mode) {
        (Some(old), Some(new)) if old != new => format!(", {old} → {new}"),
        _ => String::new(),
    }
}

fn text(old: &[u8], new: &[u8]) -> Markup {
    let difference = difference(old, new, &DiffOptions::default());
    html! {
        table {
            // Widths are those of the first row, and that is one cell across all columns.
            colgroup { col.n; col; col.n; col; }
            @for group in rows(&difference) {
                tr.gap { td colspan="4" {} }
                @for row in &group { (line(row)) }
            }
        }
    }
}

fn line(row: &ColumnRow<'_>) -> Markup {
    let (gone, come) = match row.differs {
        true => ("old g", "new c"),
        false => ("old", "new"),
    };
    html! {
        tr class=(if row.differs { "differs" } else { "same" }) {
            (side(row.old.as_ref(), gone, HtmlSide::Old))
            (side(row.new.as_ref(), come, HtmlSide::New))
        }
    }
}

/// A side of a row.
#[derive(Clone, Copy)]
enum HtmlSide {
    Old,
    New,
}

fn side(cell: Option<&Cell<'_>>, class: &str, side: HtmlSide) -> Markup {
    let Some(cell) = cell else {
        return html! { td.n {} td {} };
    };
    html! {
        td.n { (cell.number) }
        td class=(class) {
            @for (part, is_marked) in pieces(cell.line, &cell.marked) {
                @match (is_marked, side) {
                    (false, _) => (part),
                    (true, HtmlSide::New) => ins { (part) },
                    (true, HtmlSide::Old) => del { (part) },
                }
            }
        }
    }
}
