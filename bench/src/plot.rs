//! The plots: what a snapshot and a revert cost against the size of the tree, and a snapshot against the files that changed. Each is
//! drawn on a light and on a dark ground. This module does IO.

use std::path::Path;

use plotters::coord::ranged1d::Ranged;
use plotters::prelude::*;

use crate::cases::{EDITS, FIRST, NO_CHANGE, REVERT, edits};
use crate::process::Result;
use crate::results::{Measured, Results};
use crate::ways::{OURS, PLAIN};

/// A way that is drawn: its name in the results, its name for readers, its colour.
type Way = (&'static str, &'static str, RGBColor);

const BLUE: RGBColor = RGBColor(51, 136, 221);
const LIGHT_BLUE: RGBColor = RGBColor(110, 190, 230);
const GREY: RGBColor = RGBColor(136, 136, 136);
const VERMILION: RGBColor = RGBColor(224, 82, 56);
const ORANGE: RGBColor = RGBColor(230, 159, 0);

const SNAPSHOT: [Way; 4] = [
    (OURS, "ckpt-hook", BLUE),
    ("floor", "the least possible", GREY),
    ("git", "git add, git write-tree", VERMILION),
    ("Conductor", "Conductor", ORANGE),
];
const FIRST_SNAPSHOT: [Way; 4] = [
    (OURS, "ckpt-hook, in a repository", BLUE),
    (PLAIN, "ckpt-hook, without one", LIGHT_BLUE),
    ("floor", "the least possible", GREY),
    ("git", "git add, git write-tree", VERMILION),
];
const BACK: [Way; 2] = [
    (OURS, "ckpt-hook revert", BLUE),
    ("git checkout", "git checkout", VERMILION),
];

/// The ground of a plot and the colour of its words and axes.
struct Theme {
    suffix: &'static str,
    ground: RGBColor,
    words: RGBColor,
    mesh: RGBColor,
}

const THEMES: [Theme; 2] = [
    Theme {
        suffix: "light",
        ground: WHITE,
        words: RGBColor(31, 35, 40),
        mesh: RGBColor(220, 223, 228),
    },
    Theme {
        suffix: "dark",
        ground: RGBColor(13, 17, 23),
        words: RGBColor(230, 237, 243),
        mesh: RGBColor(48, 54, 61),
    },
];

/// A line: its name, its colour, its points.
type Line = (&'static str, RGBColor, Vec<(f64, f64)>);

/// One plot.
struct Plot {
    name: &'static str,
    title: String,
    across: &'static str,
    lines: Vec<Line>,
}

/// Draws the plots into a folder, each as `NAME-light.svg` and `NAME-dark.svg`.
pub fn write(folder: &Path, results: &Results) -> Result<()> {
    for plot in plots(results) {
        for theme in &THEMES {
            let file = folder.join(format!("{}-{}.svg", plot.name, theme.suffix));
            draw(&file, &plot, theme)?;
        }
    }
    Ok(())
}

fn plots(results: &Results) -> Vec<Plot> {
    let against_size = |name, title: &str, ways: &[Way], case| Plot {
        name,
        title: title.to_owned(),
        across: "files in the tree",
        lines: by_way(ways, |way| against_size(results, way, case)),
    };
    let mut plots = vec![
        against_size("size", "A snapshot without changes", &SNAPSHOT, NO_CHANGE),
        against_size("first", "The first snapshot", &FIRST_SNAPSHOT, FIRST),
        against_size("revert", "A revert of 1,000 files", &BACK, REVERT),
    ];
    // Of the largest tree in which each number of changes was measured.
    let mut sizes = results.by_size().into_iter().rev();
    let is_whole = |measured: &Measured| against_changes(measured, OURS).len() == EDITS.len();
    if let Some((_, measured)) = sizes.find(|(_, measured)| is_whole(measured)) {
        plots.push(Plot {
            name: "changes",
            title: format!(
                "A snapshot with changes, in a tree of {} files",
                tick(measured.files as f64)
            ),
            across: "files that changed",
            lines: by_way(&SNAPSHOT, |way| against_changes(measured, way)),
        });
    }
    plots
}

/// A whole number, with a comma after each three digits.
pub fn tick(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn by_way(ways: &[Way], points: impl Fn(&str) -> Vec<(f64, f64)>) -> Vec<Line> {
    let lines = ways
        .iter()
        .map(|(way, name, colour)| (*name, *colour, points(way)));
    lines.filter(|(_, _, points)| !points.is_empty()).collect()
}

fn against_size(results: &Results, way: &str, case: &str) -> Vec<(f64, f64)> {
    let sizes = results.by_size().into_iter();
    sizes
        .filter_map(|(_, measured)| Some((measured.files as f64, measured.median(case, way)?)))
        .collect()
}

fn against_changes(measured: &Measured, way: &str) -> Vec<(f64, f64)> {
    let point = |count: usize| Some((count as f64, measured.median(&edits(count), way)?));
    EDITS.into_iter().filter_map(point).collect()
}

/// Draws lines on two logarithmic axes.
fn draw(file: &Path, plot: &Plot, theme: &Theme) -> Result<()> {
    let points = || plot.lines.iter().flat_map(|(_, _, points)| points);
    if points().next().is_none() {
        return Ok(());
    }
    // From one power of ten to another: only these have labels that leave room for each other.
    let range = |of: fn(&(f64, f64)) -> f64| {
        let (least, most) = points()
            .map(of)
            .fold((f64::MAX, 0.0_f64), |(least, most), at| {
                (least.min(at), most.max(at))
            });
        let power = |exponent: f64| 10.0_f64.powf(exponent);
        (power(least.log10().floor())..power(most.log10().ceil())).log_scale()
    };
    let words = |size: i32| ("sans-serif", size).with_color(theme.words);
    let area = SVGBackend::new(file, (760, 420)).into_drawing_area();
    area.fill(&theme.ground)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(&plot.title, words(20))
        .margin(14)
        .margin_right(44)
        .x_label_area_size(44)
        .y_label_area_size(72)
        .build_cartesian_2d(range(|point| point.0), range(|point| point.1))?;
    chart
        .configure_mesh()
        .x_desc(plot.across)
        .y_desc("median, ms")
        .x_label_formatter(&|number| tick(*number))
        .y_label_formatter(&|number| tick(*number))
        .axis_style(theme.words)
        .bold_line_style(theme.mesh)
        .light_line_style(theme.ground)
        .label_style(words(13))
        .axis_desc_style(words(14))
        .draw()?;
    for (way, colour, points) in &plot.lines {
        line(&mut chart, way, *colour, points)?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .border_style(theme.mesh)
        .background_style(theme.ground)
        .label_font(words(14))
        .draw()?;
    Ok(area.present()?)
}

fn line<X, Y>(
    chart: &mut ChartContext<'_, SVGBackend<'_>, Cartesian2d<X, Y>>,
    way: &str,
    colour: RGBColor,
    points: &[(f64, f64)],
) -> Result<()>
where
    X: Ranged<ValueType = f64>,
    Y: Ranged<ValueType = f64>,
{
    let series = LineSeries::new(points.iter().copied(), colour.stroke_width(2)).point_size(4);
    chart
        .draw_series(series)?
        .label(way)
        .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tick has a comma after each three digits.
    #[test]
    fn tick_has_a_comma_after_three_digits() {
        assert_eq!(
            [1.0, 100.0, 1000.0, 85_812.0, 1_000_000.0].map(tick),
            ["1", "100", "1,000", "85,812", "1,000,000"],
            "and no fraction"
        );
    }
}
