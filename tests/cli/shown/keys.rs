//! What is seen by somebody who sits at a terminal and presses keys: the browser, the picker, hunks and questions. `keys.txt` shows
//! each screen below the keys that lead there.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use expect_test::expect_file;
use testing::binary::Sandbox;

use super::{masked, preamble, world};
use crate::screen::Screen;

/// How long a screen may take to look as it should.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long nothing comes any more, where nobody knows yet how a screen should look.
const QUIET: Duration = Duration::from_secs(2);

/// Somebody who sits down, and presses keys.
struct Sitting {
    line: &'static str,
    /// Columns and rows.
    size: (u16, u16),
    variables: &'static str,
    /// What is pressed, one after the other, and how that is written.
    keys: &'static [(&'static str, &'static str)],
}

const DOWN: &str = "\u{1b}[B";
const ESCAPE: &str = "\u{1b}";

const SITTINGS: &[Sitting] = &[
    Sitting {
        line: "ui",
        size: (110, 30),
        variables: "",
        keys: &[
            ("", ""),
            ("j", "j"),
            ("jjjj", "j j j j"),
            ("\r", "Enter"),
            ("\r", "Enter"),
            ("q", "q"),
            ("q", "q"),
            ("/family", "/family"),
            ("\r", "Enter"),
            (ESCAPE, "Esc"),
            ("o", "o"),
            ("o", "o"),
            ("?", "?"),
            ("?", "?"),
            ("Gr", "G r"),
            (ESCAPE, "Esc"),
            ("q", "q"),
        ],
    },
    Sitting {
        line: "ui",
        size: (40, 12),
        variables: "NO_COLOR=1",
        keys: &[
            ("", ""),
            ("G", "G"),
            ("\r", "Enter"),
            ("\r", "Enter"),
            ("b", "b"),
            (ESCAPE, "Esc"),
            ("?", "?"),
            ("?qq", "? q q"),
            ("r", "r"),
            (ESCAPE, "Esc"),
            ("q", "q"),
        ],
    },
    Sitting {
        line: "ui",
        size: (250, 80),
        variables: "",
        keys: &[("", ""), ("q", "q")],
    },
    Sitting {
        line: "ui --operations",
        size: (80, 24),
        variables: "",
        keys: &[("", ""), ("\r", "Enter"), ("qq", "q q")],
    },
    Sitting {
        line: "ui",
        size: (80, 24),
        variables: "",
        keys: &[
            ("Gr", "G r"),
            ("y", "y"),
            ("u", "u"),
            ("y", "y"),
            ("q", "q"),
        ],
    },
    Sitting {
        line: "revert m2 -p",
        size: (80, 50),
        variables: "",
        keys: &[
            ("", ""),
            ("?\r", "? Enter"),
            ("y\r", "y Enter"),
            ("q\r", "q Enter"),
        ],
    },
    Sitting {
        line: "revert --session s",
        size: (40, 24),
        variables: "",
        keys: &[("", ""), (DOWN, "Down"), ("q", "q")],
    },
    Sitting {
        line: "revert --session s --unclear take",
        size: (80, 24),
        variables: "",
        keys: &[("", ""), (DOWN, "Down"), ("\r", "Enter")],
    },
    Sitting {
        line: "forget --path new/*",
        size: (80, 24),
        variables: "",
        keys: &[("", ""), ("n\r", "n Enter")],
    },
    Sitting {
        line: "uninstall --purge",
        size: (80, 24),
        variables: "",
        keys: &[("", ""), ("n\r", "n Enter")],
    },
];

impl Sitting {
    fn title(&self, number: usize) -> String {
        let (columns, rows) = self.size;
        let keys = self.keys[..=number].iter().map(|(_, shown)| *shown);
        let keys: Vec<&str> = keys.filter(|shown| !shown.is_empty()).collect();
        let keys = match keys.is_empty() {
            true => String::new(),
            false => format!(" {}", keys.join(", ")),
        };
        let variables = match self.variables {
            "" => String::new(),
            variables => format!(", {variables}"),
        };
        format!(
            "$ ckpt-hook {} [{columns}x{rows}{variables}]{keys}",
            self.line
        )
    }

    /// Plays it, and returns its screens below their titles; nothing where no terminal can be played.
    fn played(&self, known: &BTreeMap<String, String>) -> Option<Vec<(String, String)>> {
        let world = world::world();
        let (columns, rows) = self.size;
        let line = format!(
            "{}stty rows {rows}; ckpt-hook {}",
            preamble(&world, self.variables),
            self.line
        );
        let mut screen = Screen::open(&world, columns, &line)?;
        let mut shown = Vec::new();
        for (number, (keys, _)) in self.keys.iter().enumerate() {
            screen.press(keys);
            let title = self.title(number);
            let contents = match known.get(&title) {
                Some(known) => {
                    let is_it = |contents: &str| seen(&world, contents) == *known;
                    screen.read_until(is_it, PATIENCE);
                    screen.contents()
                }
                None => {
                    while screen.reads_within(QUIET) {}
                    screen.contents()
                }
            };
            shown.push((title, seen(&world, &contents)));
        }
        screen.close();
        Some(shown)
    }
}

/// Returns a screen as it is written down.
fn seen(world: &Sandbox, contents: &str) -> String {
    let masked = masked(world, contents);
    let lines = masked.trim_end().lines();
    lines.map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Returns the screens of a page by their titles.
fn screens(page: &str) -> BTreeMap<String, String> {
    let mut screens = BTreeMap::new();
    let mut title = None;
    for line in page.lines() {
        if line.starts_with("$ ckpt-hook ") {
            title = Some(line.to_owned());
            screens.insert(line.to_owned(), String::new());
        } else if let Some(screen) = title.as_ref().and_then(|title| screens.get_mut(title)) {
            screen.push_str(&format!("{line}\n"));
        }
    }
    // Titles stand below an empty line, but for the first one.
    for screen in screens.values_mut() {
        *screen = format!("{}\n", screen.trim_end());
    }
    screens
}

/// What keys lead to is what is written down.
#[test]
#[expect(clippy::disallowed_methods, reason = "what `expect_test` asks, too")]
fn keys_lead_where_it_is_written() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/cli/shown/keys.txt");
    // Who writes them down anew does not wait for the former ones.
    let known = match std::env::var_os("UPDATE_EXPECT") {
        Some(_) => BTreeMap::new(),
        None => screens(&std::fs::read_to_string(&file).unwrap_or_default()),
    };
    let mut page = String::new();
    for sitting in SITTINGS {
        let Some(shown) = sitting.played(&known) else {
            return;
        };
        for (title, screen) in shown {
            if !page.is_empty() {
                page.push('\n');
            }
            page.push_str(&format!("{title}\n{screen}"));
        }
    }
    expect_file![file].assert_eq(&page);
}
