//! The picture on the first screen of the README: commands and their output as the program prints them, drawn in two colour
//! schemes. `just picture` draws it again.

use std::fmt::Write as _;
use std::num::NonZero;
use std::path::{Path, PathBuf};

use testing::binary::Sandbox;
use vt100::{Color, Parser, Screen};

const COLUMNS: NonZero<u16> = NonZero::new(84).expect("it is not 0");
const ROWS: NonZero<u16> = NonZero::new(40).expect("it is not 0");

/// Pixels of a cell, and of the frame around the text.
const CELL: (usize, usize) = (8, 18);
const FRAME: usize = 16;

/// A colour scheme: background, frame, text, and what stands for a terminal's colours by number.
struct Scheme {
    name: &'static str,
    paper: &'static str,
    edge: &'static str,
    text: &'static str,
    dim: &'static str,
    colors: [&'static str; 8],
}

const SCHEMES: [Scheme; 2] = [
    Scheme {
        name: "light",
        paper: "#ffffff",
        edge: "#d0d7de",
        text: "#1f2328",
        dim: "#59636e",
        colors: [
            "#1f2328", "#cf222e", "#116329", "#7d4e00", "#0969da", "#8250df", "#1b7c83", "#59636e",
        ],
    },
    Scheme {
        name: "dark",
        paper: "#0d1117",
        edge: "#3d444d",
        text: "#f0f6fc",
        dim: "#9198a1",
        colors: [
            "#9198a1", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#f0f6fc",
        ],
    },
];

/// A folder in which an agent went too far, by its editor and by its shell, and its user wrote a file meanwhile.
fn world() -> Sandbox {
    let world = Sandbox::new();
    world.write("notes.txt", "order flour on Monday\ncall the miller\n");
    world.write("order.py", "def total(prices):\n    return sum(prices)\n");
    world.write("recipes/pie.txt", "apples, flour, butter\n");
    world.play("m1", "charge VAT and tidy up", |world| {
        let text = "VAT = 0.07\n\ndef total(prices):\n    return sum(prices) * (1 + VAT)\n";
        world.write("order.py", text);
        world.remove("notes.txt");
        world.remove("recipes/pie.txt");
        world.write("pie.txt", "apples, flour, butter\n");
    });
    world.write("opening-hours.txt", "closed on Sundays\n");
    world
}

/// Returns a terminal on which the story was played.
fn played() -> Screen {
    let world = world();
    let mut terminal = Parser::new(ROWS, COLUMNS, 0);
    let mut print = |text: &str| terminal.process(text.replace('\n', "\r\n").as_bytes());
    print("\x1b[2m# The agent ran: rm notes.txt && mv recipes/pie.txt . && rmdir recipes\x1b[0m\n");
    print("\x1b[2m# It went too far; and opening-hours.txt is yours.\x1b[0m\n");
    for command in ["log", "revert --message last", "redo"] {
        let words: Vec<&str> = command.split(' ').chain(["--color", "always"]).collect();
        let run = world.run(&words, b"").exits(0);
        let output = redacted(&world, &run.stdout);
        print(&format!("\n\x1b[1m$ ckpt-hook {command}\x1b[0m\n{output}"));
    }
    terminal.screen().clone()
}

/// Returns coloured text with ids that are the same each time.
fn redacted(world: &Sandbox, text: &str) -> String {
    let piece = |piece: &str| match piece.split_once('m').filter(|_| piece.starts_with('[')) {
        Some((color, text)) => format!("{color}m{}", world.redact(text)),
        None => world.redact(piece),
    };
    let pieces: Vec<String> = text.split('\x1b').map(piece).collect();
    pieces.join("\x1b").replace("12345678", "fbd0fc08")
}

/// Returns the pieces of a row that look alike, with their columns.
fn runs(screen: &Screen, row: u16) -> Vec<(usize, String, String)> {
    let mut runs: Vec<(usize, String, String)> = Vec::new();
    for column in 0..COLUMNS.get() {
        let Some(cell) = screen.cell(row, column).filter(|cell| cell.has_contents()) else {
            continue;
        };
        let mut class = match cell.fgcolor() {
            Color::Idx(color) => format!("c{}", color % 8),
            _ => String::new(),
        };
        for (is_so, name) in [(cell.bold(), " b"), (cell.dim(), " d")] {
            class.push_str(if is_so { name } else { "" });
        }
        match runs.last_mut() {
            Some((start, known, text))
                if *known == class && *start + text.chars().count() == usize::from(column) =>
            {
                text.push_str(cell.contents());
            }
            _ => runs.push((usize::from(column), class, cell.contents().to_owned())),
        }
    }
    runs.retain(|(_, _, text)| !text.trim().is_empty());
    runs
}

/// Returns what stands between gaps of a text, with its column: some programs draw several spaces as one.
fn pieces(text: &str) -> Vec<(usize, &str)> {
    let mut column = 0;
    let mut found = Vec::new();
    for piece in text.split("  ") {
        let gap = piece.chars().take_while(|letter| *letter == ' ').count();
        if !piece.trim().is_empty() {
            found.push((column + gap, piece.trim()));
        }
        column += piece.chars().count() + 2;
    }
    found
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// Draws what is on a terminal.
fn drawn(screen: &Screen, scheme: &Scheme) -> String {
    let last = (0..ROWS.get())
        .rev()
        .find(|row| !runs(screen, *row).is_empty())
        .expect("something is on it");
    let width = usize::from(COLUMNS.get()) * CELL.0 + 2 * FRAME;
    let height = (usize::from(last) + 1) * CELL.1 + 2 * FRAME;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n\
         <title>A revert takes back what the agent changed and keeps what you wrote</title>\n\
         <style>text {{ font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: {}; white-space: pre }}\n\
         .b {{ font-weight: bold }} .d {{ fill: {} }}",
        scheme.text, scheme.dim
    );
    for (number, color) in scheme.colors.iter().enumerate() {
        let _ = write!(svg, " .c{number} {{ fill: {color} }}");
    }
    let _ = writeln!(
        svg,
        "</style>\n<rect x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"8\" fill=\"{}\" stroke=\"{}\"/>",
        width - 1,
        height - 1,
        scheme.paper,
        scheme.edge
    );
    for row in 0..=last {
        let y = FRAME + usize::from(row) * CELL.1 + 13;
        for (column, class, text) in runs(screen, row) {
            for (offset, piece) in pieces(&text) {
                let x = FRAME + (column + offset) * CELL.0;
                // Whatever font is there, columns stay below each other.
                let length = piece.chars().count() * CELL.0;
                let _ = writeln!(
                    svg,
                    "<text x=\"{x}\" y=\"{y}\" textLength=\"{length}\" class=\"{class}\">{}</text>",
                    escaped(piece)
                );
            }
        }
    }
    svg.push_str("</svg>\n");
    svg
}

fn file(scheme: &Scheme) -> PathBuf {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    docs.join(format!("picture-{}.svg", scheme.name))
}

/// The picture of the first screen is what the program prints.
#[test]
fn picture_shows_what_the_program_prints() {
    let screen = played();
    #[expect(clippy::disallowed_methods, reason = "the one switch of this test")]
    let is_update = std::env::var_os("UPDATE_EXPECT").is_some();
    for scheme in &SCHEMES {
        let picture = drawn(&screen, scheme);
        if is_update {
            std::fs::write(file(scheme), &picture).expect("the picture is writable");
        }
        let shown = std::fs::read_to_string(file(scheme)).unwrap_or_default();
        assert!(shown == picture, "`just picture` draws it again");
    }
}
