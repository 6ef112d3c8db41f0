//! The plots: what a snapshot costs against the size of the tree, and against the files that changed. This module does IO.

use std::path::Path;

use plotters::coord::ranged1d::Ranged;
use plotters::prelude::*;

use crate::cases::{EDITS, NO_CHANGE, edits};
use crate::process::Result;
use crate::results::Results;

const WAYS: [(&str, RGBColor); 4] = [
    ("ours", RGBColor(0, 90, 181)),
    ("floor", RGBColor(120, 120, 120)),
    ("git", RGBColor(220, 50, 32)),
    ("Conductor", RGBColor(230, 159, 0)),
];

type Line = (&'static str, RGBColor, Vec<(f64, f64)>);

/// Draws both plots into a folder.
pub fn write(folder: &Path, results: &Results) -> Result<()> {
    let lines = WAYS.map(|(way, colour)| (way, colour, against_size(results, way)));
    draw(
        &folder.join("size.svg"),
        "A snapshot without changes",
        "files in the tree",
        &lines,
    )?;
    let Some((size, _)) = results.by_size().into_iter().next_back() else {
        return Ok(());
    };
    let lines = WAYS.map(|(way, colour)| (way, colour, against_changes(results, size, way)));
    draw(
        &folder.join("changes.svg"),
        &format!("A snapshot in the tree {size}"),
        "files that changed",
        &lines,
    )
}

fn against_size(results: &Results, way: &str) -> Vec<(f64, f64)> {
    let point = |measured: &crate::results::Measured| {
        Some((measured.files as f64, measured.median(NO_CHANGE, way)?))
    };
    results
        .by_size()
        .into_iter()
        .filter_map(|(_, measured)| point(measured))
        .collect()
}

fn against_changes(results: &Results, size: &str, way: &str) -> Vec<(f64, f64)> {
    let Some(measured) = results.sizes.get(size) else {
        return Vec::new();
    };
    let point = |count: usize| Some((count as f64, measured.median(&edits(count), way)?));
    EDITS.into_iter().filter_map(point).collect()
}

/// Draws lines on two logarithmic axes.
fn draw(file: &Path, title: &str, across: &str, lines: &[Line]) -> Result<()> {
    let points = || lines.iter().flat_map(|(_, _, points)| points);
    if points().next().is_none() {
        return Ok(());
    }
    let range = |of: fn(&(f64, f64)) -> f64| {
        let (least, most) = points()
            .map(of)
            .fold((f64::MAX, 0.0_f64), |(least, most), at| {
                (least.min(at), most.max(at))
            });
        (least / 1.3..most * 1.3).log_scale()
    };
    let area = SVGBackend::new(file, (760, 460)).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 20))
        .margin(14)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(range(|point| point.0), range(|point| point.1))?;
    chart
        .configure_mesh()
        .x_desc(across)
        .y_desc("median, ms")
        .light_line_style(WHITE)
        .draw()?;
    for (way, colour, points) in lines.iter().filter(|(_, _, points)| !points.is_empty()) {
        line(&mut chart, way, *colour, points)?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .border_style(BLACK)
        .background_style(WHITE)
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
