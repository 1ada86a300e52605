//! A bar chart, and its drawing as SVG text. Bars below 0 are hollow, so they can be told apart without colour.

use std::fmt::Write;

use serde::Deserialize;

use super::axis::AxisExtent;
use super::chart::Scale;
use super::svg::{LINE, Text, WIDTH, begin, grid_line, line};
use super::words::{shortened, wrapped};

/// Upper edge of the bars, in pixels.
const TOP: f64 = 48.0;
/// Distance of the labels and of the values from the edges of the picture, in pixels.
const MARGIN: f64 = 16.0;
/// Thickness of a bar, in pixels.
const THICKNESS: f64 = 11.0;
/// Width of a character, at most, in pixels.
const CHARACTER: f64 = 7.0;
/// The longest label, in columns. Longer ones lose characters in the middle.
const LABEL_COLUMNS: usize = 60;
/// The longest line of a note, and the longest note, in characters.
const NOTE_CHARACTERS: usize = 140;
const NOTE_CHARACTERS_MAX: usize = 700;

/// Horizontal bars with their labels.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BarChart {
    /// Title of the chart.
    pub title: String,
    /// The quantity of the values.
    pub axis: String,
    /// The bars from top to bottom.
    pub bars: Vec<Bar>,
    /// Remarks below the bars.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// A bar from 0 to a value.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Bar {
    /// What the value belongs to.
    pub label: String,
    /// The end of the bar.
    pub value: f64,
    /// The value in words, such as `0.125 (1 of 8)`.
    pub text: String,
    /// Lower end of an interval around the value. A bar with one end alone has no interval.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
    /// An earlier value, which gets a mark.
    pub before: Option<f64>,
}

impl BarChart {
    /// Draws the chart. The same chart always gives the same bytes.
    pub fn to_svg(&self) -> String {
        let labels: Vec<_> = self.bars.iter().map(|bar| label(&bar.label)).collect();
        let values = || self.bars.iter().map(|bar| &*bar.text);
        let left = 2.0 * MARGIN + widest(labels.iter().map(|label| &**label));
        let right = WIDTH - 2.0 * MARGIN - widest(values());
        let bottom = TOP + LINE * self.bars.len().max(1) as f64 + 6.0;
        let notes: Vec<_> = self
            .notes
            .iter()
            .map(|note| shortened(note, NOTE_CHARACTERS_MAX))
            .collect();
        let notes: Vec<_> = notes
            .iter()
            .flat_map(|note| wrapped(note, NOTE_CHARACTERS))
            .collect();
        let height = bottom + 72.0 + LINE * notes.len() as f64;
        let told = labels
            .iter()
            .zip(values())
            .map(|(label, value)| format!(" {label}: {value}."));
        let mut svg = begin(
            height,
            &self.title,
            &format!("Bars, {}:{}", self.axis, told.collect::<String>()),
        );
        let title = Text::new(MARGIN, TOP - 20.0).with(" font-size=\"16\" font-weight=\"bold\"");
        title.write(&mut svg, &self.title);
        let ends = self.bars.iter().flat_map(|bar| {
            let places = [Some(bar.value), bar.low, bar.high, bar.before];
            places.into_iter().flatten()
        });
        let ends = ends.chain([0.0]);
        let extent = AxisExtent::new(Scale::Linear, ends, std::iter::empty(), (left, right));
        ticks(&mut svg, &extent, bottom);
        let zero = extent.pixel(0.0);
        for (at, (bar, label)) in self.bars.iter().zip(&labels).enumerate() {
            let middle = TOP + LINE * (at as f64 + 0.5) + 3.0;
            Text::new(left - 8.0, middle + 4.5)
                .with(" text-anchor=\"end\"")
                .write(&mut svg, label);
            Text::new(WIDTH - MARGIN, middle + 4.5)
                .with(" text-anchor=\"end\"")
                .write(&mut svg, &bar.text);
            rectangle(
                &mut svg,
                (zero, extent.pixel(bar.value)),
                middle,
                bar.value < 0.0,
            );
            if let (Some(low), Some(high)) = (bar.low, bar.high) {
                interval(&mut svg, (extent.pixel(low), extent.pixel(high)), middle);
            }
            if let Some(before) = bar.before {
                let x = extent.pixel(before);
                let (from, to) = ((x, middle - 8.0), (x, middle + 8.0));
                line(
                    &mut svg,
                    from,
                    to,
                    " class=\"before\" stroke=\"#d55e00\" stroke-width=\"2\"",
                );
            }
        }
        line(&mut svg, (zero, TOP), (zero, bottom), " stroke=\"#000\"");
        let below =
            Text::new(f64::midpoint(left, right), bottom + 40.0).with(" text-anchor=\"middle\"");
        below.write(&mut svg, &self.axis);
        for (at, note) in notes.iter().enumerate() {
            let note_line = Text::new(MARGIN, bottom + 66.0 + LINE * at as f64);
            note_line.with(" font-size=\"12\"").write(&mut svg, note);
        }
        svg.push_str("</svg>\n");
        svg
    }
}

/// The columns of a text. Ideographs and their like take two.
fn columns(text: &str) -> usize {
    let columns = |character: char| if character < '\u{1100}' { 1 } else { 2 };
    text.chars().map(columns).sum()
}

/// The width of the widest text, in pixels.
fn widest<'a>(texts: impl Iterator<Item = &'a str>) -> f64 {
    CHARACTER * texts.map(columns).max().unwrap_or(0) as f64
}

fn label(text: &str) -> String {
    let is_narrow = columns(text) == text.chars().count();
    shortened(
        text,
        if is_narrow {
            LABEL_COLUMNS
        } else {
            LABEL_COLUMNS / 2
        },
    )
}

/// Draws the grid and the numbers below. Numbers that would touch their neighbours are left out.
fn ticks(svg: &mut String, extent: &AxisExtent, bottom: f64) {
    let mut free_from = f64::NEG_INFINITY;
    for (value, text) in extent.ticks() {
        let x = extent.pixel(value);
        grid_line(svg, (x, TOP), (x, bottom));
        let half = 0.5 * CHARACTER * columns(&text) as f64 + 4.0;
        if x - half >= free_from {
            Text::new(x, bottom + 18.0)
                .with(" text-anchor=\"middle\"")
                .write(svg, &text);
            free_from = x + half;
        }
    }
}

fn rectangle(svg: &mut String, (from, to): (f64, f64), middle: f64, is_hollow: bool) {
    let fill = if is_hollow { "#fff" } else { "#444" };
    // `writeln!` into a `String` cannot fail.
    let _ = writeln!(
        svg,
        "<rect class=\"bar\" x=\"{:.2}\" y=\"{:.1}\" width=\"{:.2}\" height=\"{THICKNESS}\" \
         fill=\"{fill}\" stroke=\"#000\"/>",
        from.min(to),
        middle - 0.5 * THICKNESS,
        (to - from).abs()
    );
}

/// Draws an interval over a bar. A white edge shows the line on the dark bar.
fn interval(svg: &mut String, (low, high): (f64, f64), middle: f64) {
    let cap = |x| ((x, middle - 4.0), (x, middle + 4.0));
    let edge = " stroke=\"#fff\" stroke-width=\"3\"";
    for style in [edge, " class=\"interval\" stroke=\"#000\""] {
        for (from, to) in [cap(low), cap(high), ((low, middle), (high, middle))] {
            line(svg, from, to, style);
        }
    }
}
