//! The settings as text.

use ckpt_schema::report::{ConfigChange, ConfigReport, SettingReport, SettingSource};

use super::View;
use super::table::Table;
use super::text::{safe, width};

/// Returns every setting with its value and the source of the value.
pub fn render(report: &ConfigReport, view: &View) -> String {
    let widest = |text: fn(&SettingReport) -> String| {
        let texts = report.settings.iter().map(text);
        texts.map(|text| width(&safe(&text))).max().unwrap_or(0)
    };
    let others = widest(|it| it.key.clone()) + widest(source) + 4;
    let room = view
        .width
        .map_or(usize::MAX, |columns| columns.saturating_sub(others));
    let mut table = Table::new(&[]).dropping(&[3]);
    for setting in &report.settings {
        let value = safe(&setting.value);
        // One without room stands below: a value is not cut.
        let is_below = width(&value) > room;
        let value = match setting.source {
            SettingSource::Default => view.paint.faint(&value),
            _ => value.into_owned(),
        };
        let (cell, below) = match is_below {
            true => (String::new(), format!("  {value}")),
            false => (value, String::new()),
        };
        let row = vec![
            view.paint.strong(&safe(&setting.key)),
            cell,
            view.paint.faint(&safe(&source(setting))),
            setting.meaning.clone(),
        ];
        table.noted(row, below);
    }
    let problems = report
        .problems
        .iter()
        .map(|problem| format!("{} {}\n", view.paint.warning("!"), safe(problem)));
    table.render(view) + &problems.collect::<String>()
}

fn source(setting: &SettingReport) -> String {
    let place = setting.place.as_deref().unwrap_or_default();
    match setting.source {
        SettingSource::Default => "default".to_owned(),
        SettingSource::File => "file".to_owned(),
        SettingSource::Workspace => format!("file, for `{place}`"),
        SettingSource::Environment => format!("${place}"),
        SettingSource::Flag => place.to_owned(),
    }
}

/// Returns only the value for scripts, a text without its quotes.
pub fn render_value(report: &ConfigReport) -> String {
    let values = report.settings.iter().map(|setting| bare(&setting.value));
    values.map(|value| format!("{}\n", safe(&value))).collect()
}

/// Returns a value as TOML has it, a text without its quotes.
fn bare(value: &str) -> String {
    let read = format!("value = {value}").parse::<toml::Table>();
    let text = read
        .ok()
        .and_then(|table| Some(table.get("value")?.as_str()?.to_owned()));
    text.unwrap_or_else(|| value.to_owned())
}

/// Describes what a change did.
pub fn render_change(report: &ConfigChange, view: &View) -> String {
    let key = view.paint.strong(&safe(&report.key));
    let place = match &report.workspace {
        Some(workspace) => format!(" for `{}`", safe(workspace)),
        None => String::new(),
    };
    let file = safe(&report.file);
    match (&report.former, &report.value) {
        (former, Some(value)) if former.as_ref() == Some(value) => {
            format!("{key} is already {}{place}, in `{file}`.\n", safe(value))
        }
        (Some(former), Some(value)) => format!(
            "{key} is now {}{place}, and was {}, in `{file}`.\n",
            safe(value),
            safe(former)
        ),
        (None, Some(value)) => format!("{key} is now {}{place}, in `{file}`.\n", safe(value)),
        (Some(former), None) => {
            format!(
                "{key} is no longer set{place}; it was {}, in `{file}`.\n",
                safe(former)
            )
        }
        (None, None) => format!("{key} was not set{place}, in `{file}`.\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paint::Paint;
    use crate::time::TimeContext;

    /// A value that has no room in its row stands below it.
    #[test]
    fn no_value_of_a_setting_is_cut() {
        let setting = |key: &str, value: String| SettingReport {
            key: key.to_owned(),
            value,
            default: None,
            source: SettingSource::Default,
            place: None,
            meaning: "What it is for".to_owned(),
        };
        let long = format!("[{}]", ["\"*.pem\""; 12].join(", "));
        let report = ConfigReport {
            version: 1,
            file: None,
            is_there: false,
            workspace: "/w".to_owned(),
            settings: vec![
                setting("keep", "\"30 days\"".to_owned()),
                setting("keep_ignored", long.clone()),
            ],
            problems: Vec::new(),
        };
        for columns in [50, 80, 200] {
            let times = TimeContext {
                now: 0,
                offset: time::UtcOffset::UTC,
            };
            let view = View {
                paint: Paint::PLAIN,
                width: Some(columns),
                times,
                verbose: false,
            };
            let text = render(&report, &view);
            let is_narrow = text.lines().all(|line| width(line) <= columns);
            assert!(is_narrow, "at {columns}:\n{text}");
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.contains(&long), "all of it at {columns}:\n{text}");
        }
    }

    #[test]
    fn only_a_text_loses_its_quotes() {
        assert_eq!(bare(r#""30 days""#), "30 days");
        assert_eq!(bare(r#""a \"b\"""#), r#"a "b""#);
        assert_eq!(bare("true"), "true");
        assert_eq!(bare(r#"["a", "b"]"#), r#"["a", "b"]"#);
        assert_eq!(bare("no TOML"), "no TOML");
    }
}
