//! `log --sql`: the query of a list, for the views of the session store. Pure.

use std::path::Path;

use ckpt_process::failure::Failure;
use ckpt_store::query::LogFilter;

/// Which view has the rows of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueriedView {
    /// The messages.
    Messages,
    /// The operations.
    Operations,
}

/// Returns the query for what a filter chooses in a workspace; everywhere if there is none.
///
/// # Errors
///
/// A filter by the contents of files, which no view has.
pub fn of(
    view: QueriedView,
    workspace: Option<&Path>,
    filter: &LogFilter,
) -> Result<String, Failure> {
    if filter.text.is_some() {
        return Err(Failure::usage(
            "`-S` reads the contents of files, and SQL cannot",
            "leave it out of the query, or leave `--sql` out",
        ));
    }
    let (columns, name) = match view {
        QueriedView::Messages => (
            "time, agent, message, title, state, files, additions, deletions",
            "message_overview",
        ),
        QueriedView::Operations => (
            "time, agent, operation, kind, title, undoes, outcome, files_done, conflicts",
            "operation_overview",
        ),
    };
    let place = workspace.map(|workspace| text(&workspace.to_string_lossy()));
    let is = |column: &str, value: Option<&str>| Some(format!("{column} = {}", text(value?)));
    let mut conditions: Vec<String> = place
        .iter()
        .map(|place| format!("workspace = {place}"))
        .collect();
    conditions.extend(is("agent", filter.agent.as_deref()));
    conditions.extend(filter.session.as_deref().map(|id| {
        let id = text(id);
        format!("(session LIKE {id} || '%' OR session IN (SELECT session FROM session_overview WHERE agent_session = {id}))")
    }));
    conditions.extend(is("state", filter.state.map(|state| state.name())));
    conditions.extend(filter.after.map(|seq| format!("seq > {seq}")));
    conditions.extend(filter.since.map(|at| format!("at_ms >= {at}")));
    conditions.extend(filter.until.map(|at| format!("at_ms <= {at}")));
    let prompt = match view {
        QueriedView::Messages => "prompt",
        QueriedView::Operations => "title",
    };
    conditions.extend(
        filter
            .grep
            .as_deref()
            .map(|words| format!("instr(lower({prompt}), lower({})) > 0", text(words))),
    );
    if !filter.paths.is_empty() {
        let root = workspace.unwrap_or(Path::new("/"));
        let paths = filter.paths.iter().map(|path| {
            let path = path.strip_prefix(root).unwrap_or(path).to_string_lossy();
            match path.is_empty() {
                true => "TRUE".to_owned(),
                false => {
                    let path = text(&path);
                    format!("path = {path} OR substr(path, 1, length({path}) + 1) = {path} || '/'")
                }
            }
        });
        let paths: Vec<String> = paths.collect();
        let (key, of) = match view {
            QueriedView::Messages => ("message", "file_history"),
            QueriedView::Operations => ("operation", "operation_file_overview"),
        };
        conditions.push(format!(
            "{key} IN (SELECT {key} FROM {of} WHERE workspace = {} AND ({}))",
            place.as_deref().unwrap_or("workspace"),
            paths.join(" OR ")
        ));
    }
    let mut query = format!("SELECT {columns}\n  FROM {name}\n");
    if !conditions.is_empty() {
        query.push_str(&format!(" WHERE {}\n", conditions.join("\n   AND ")));
    }
    query.push_str(" ORDER BY seq DESC");
    if let Some(limit) = filter.limit {
        query.push_str(&format!("\n LIMIT {limit}"));
    }
    Ok(query + ";\n")
}

/// Returns a text as SQL writes it.
fn text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    /// A list's query has its filter as conditions.
    #[test]
    fn query_has_the_filter_as_conditions() {
        let filter = LogFilter {
            agent: Some("o'neil".to_owned()),
            grep: Some("Parser".to_owned()),
            limit: Some(5),
            paths: vec!["/w/src".into()],
            ..LogFilter::default()
        };
        let query = of(QueriedView::Messages, Some(Path::new("/w")), &filter);
        expect![[r#"
            SELECT time, agent, message, title, state, files, additions, deletions
              FROM message_overview
             WHERE workspace = '/w'
               AND agent = 'o''neil'
               AND instr(lower(prompt), lower('Parser')) > 0
               AND message IN (SELECT message FROM file_history WHERE workspace = '/w' AND (path = 'src' OR substr(path, 1, length('src') + 1) = 'src' || '/'))
             ORDER BY seq DESC
             LIMIT 5;
        "#]]
        .assert_eq(&query.expect("it can be asked"));
        let of_contents = LogFilter {
            text: Some("x".to_owned()),
            ..LogFilter::default()
        };
        of(QueriedView::Messages, None, &of_contents).expect_err("no view has contents");
    }
}
