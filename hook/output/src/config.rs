//! The settings as text.

use ckpt_schema::report::{ConfigChange, ConfigReport, SettingReport, SettingSource};

use super::View;
use super::table::Table;
use super::text::safe;

/// Returns every setting with its value and the source of the value.
pub fn render(report: &ConfigReport, view: &View) -> String {
    let mut table = Table::new(&[]).dropping(&[3]);
    for setting in &report.settings {
        let value = safe(&setting.value);
        let is_default = setting.source == SettingSource::Default;
        table.row(vec![
            view.paint.strong(&safe(&setting.key)),
            if is_default {
                view.paint.faint(&value)
            } else {
                value.into_owned()
            },
            view.paint.faint(&safe(&source(setting))),
            setting.meaning.clone(),
        ]);
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

    #[test]
    fn only_a_text_loses_its_quotes() {
        assert_eq!(bare(r#""30 days""#), "30 days");
        assert_eq!(bare(r#""a \"b\"""#), r#"a "b""#);
        assert_eq!(bare("true"), "true");
        assert_eq!(bare(r#"["a", "b"]"#), r#"["a", "b"]"#);
        assert_eq!(bare("no TOML"), "no TOML");
    }
}
