//! The files of the page: plain modules and styles, as they are written. `site/vendor/README.md` says where those of
//! others come from.

use super::http::HttpResponse;

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

/// A file: its path, its type and its bytes.
type File = (&'static str, &'static str, &'static [u8]);

/// All files that are served.
const FILES: &[File] = &[
    (
        "/",
        "text/html; charset=utf-8",
        include_bytes!("site/index.html"),
    ),
    ("/page.css", STYLE, include_bytes!("site/page.css")),
    (
        "/icon.svg",
        "image/svg+xml",
        include_bytes!("site/icon.svg"),
    ),
    ("/api.js", SCRIPT, include_bytes!("site/api.js")),
    ("/blame.js", SCRIPT, include_bytes!("site/blame.js")),
    ("/colours.js", SCRIPT, include_bytes!("site/colours.js")),
    ("/detail.js", SCRIPT, include_bytes!("site/detail.js")),
    ("/diff.js", SCRIPT, include_bytes!("site/diff.js")),
    ("/dom.js", SCRIPT, include_bytes!("site/dom.js")),
    ("/keys.js", SCRIPT, include_bytes!("site/keys.js")),
    ("/page.js", SCRIPT, include_bytes!("site/page.js")),
    ("/plan.js", SCRIPT, include_bytes!("site/plan.js")),
    ("/timeline.js", SCRIPT, include_bytes!("site/timeline.js")),
    (
        "/vendor/diff.min.js",
        SCRIPT,
        include_bytes!("site/vendor/diff.min.js"),
    ),
    (
        "/vendor/highlight.min.js",
        SCRIPT,
        include_bytes!("site/vendor/highlight.min.js"),
    ),
];

/// Returns the file at a path.
pub fn file(path: &str) -> HttpResponse {
    match FILES.iter().find(|(other, _, _)| *other == path) {
        Some((_, media_type, bytes)) => HttpResponse::content(media_type, *bytes),
        None => HttpResponse::refusal(404, "there is no such file"),
    }
}
