//! A bar chart, and its drawing as SVG text. Bars below 0 are hollow, so they can be told apart without colour.

use std::borrow::Cow;

use serde::Deserialize;

use super::axis::AxisExtent;
use super::chart::Scale;
use super::svg::{Drawn, LINE, Svg, Text, WIDTH, begin, grid_line, line};
use super::words::{shortened, wrapped};

/// Upper edge of the bars, in pixels.
const TOP: f64 = 48.0;
/// Distance of the labels and of the values from the edges of the picture, in pixels.
const MARGIN: f64 = 16.0;
/// Thickness of a bar, in pixels.
const THICKNESS: f64 = 11.0;
/// Width of a character, at most, in pixels.
const CHARACTER: f64 = 7.0;
/// The longest label and the longest text of a value, in columns. Longer ones lose characters in the middle. With both,
/// a fifth of the width is left for the bars.
const LABEL_COLUMNS: usize = 60;
const TEXT_COLUMNS: usize = 40;
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
    /// The chart as an SVG picture. The same chart always gives the same bytes.
    pub fn to_svg(&self) -> String {
        Svg::unlimited(|svg| self.draw(svg))
    }

    pub(super) fn draw(&self, svg: &mut Svg) -> Drawn {
        let left = 2.0 * MARGIN + widest(self.bars.iter().map(Bar::short_label));
        let right = WIDTH - 2.0 * MARGIN - widest(self.bars.iter().map(Bar::short_text));
        let bottom = TOP + LINE * self.bars.len().max(1) as f64 + 6.0;
        let mut lines = 0;
        self.each_line(|_, _| {
            lines += 1;
            Ok(())
        })?;
        let height = bottom + 72.0 + LINE * lines as f64;
        begin(svg, height, &self.title, |svg| self.describe(svg))?;
        let title = Text::new(MARGIN, TOP - 20.0).with(" font-size=\"16\" font-weight=\"bold\"");
        title.write(svg, &self.title)?;
        let ends = self.bars.iter().flat_map(|bar| {
            let places = [Some(bar.value), bar.low, bar.high, bar.before];
            places.into_iter().flatten()
        });
        let ends = ends.chain([0.0]);
        let extent = AxisExtent::new(Scale::Linear, ends, std::iter::empty(), (left, right));
        ticks(svg, &extent, bottom)?;
        let zero = extent.pixel(0.0);
        for (at, bar) in self.bars.iter().enumerate() {
            let middle = TOP + LINE * (at as f64 + 0.5) + 3.0;
            Text::new(left - 8.0, middle + 4.5)
                .with(" text-anchor=\"end\"")
                .write(svg, bar.short_label())?;
            Text::new(WIDTH - MARGIN, middle + 4.5)
                .with(" text-anchor=\"end\"")
                .write(svg, bar.short_text())?;
            bar.draw(svg, &extent, middle)?;
        }
        line(svg, (zero, TOP), (zero, bottom), " stroke=\"#000\"")?;
        let below =
            Text::new(f64::midpoint(left, right), bottom + 40.0).with(" text-anchor=\"middle\"");
        below.write(svg, &self.axis)?;
        self.each_line(|at, note| {
            let note_line = Text::new(MARGIN, bottom + 66.0 + LINE * at as f64);
            note_line.with(" font-size=\"12\"").write(svg, note)
        })?;
        svg.push_str("</svg>\n")
    }

    fn describe(&self, svg: &mut Svg) -> Drawn {
        svg.escaped(format_args!("Bars, {}:", self.axis))?;
        self.bars.iter().try_for_each(|bar| {
            let (label, text) = (bar.short_label(), &bar.text);
            svg.escaped(format_args!(" {label}: {text}."))
        })
    }

    /// Calls a function with each line of the notes and its number.
    fn each_line(&self, mut draw: impl FnMut(usize, &str) -> Drawn) -> Drawn {
        let mut count = 0;
        for note in &self.notes {
            for line in wrapped(&shortened(note, NOTE_CHARACTERS_MAX), NOTE_CHARACTERS) {
                draw(count, line)?;
                count += 1;
            }
        }
        Ok(())
    }
}

impl Bar {
    fn short_label(&self) -> Cow<'_, str> {
        in_columns(&self.label, LABEL_COLUMNS)
    }

    fn short_text(&self) -> Cow<'_, str> {
        in_columns(&self.text, TEXT_COLUMNS)
    }

    fn draw(&self, svg: &mut Svg, extent: &AxisExtent, middle: f64) -> Drawn {
        let ends = (extent.pixel(0.0), extent.pixel(self.value));
        rectangle(svg, ends, middle, self.value < 0.0)?;
        if let (Some(low), Some(high)) = (self.low, self.high) {
            interval(svg, (extent.pixel(low), extent.pixel(high)), middle)?;
        }
        let Some(before) = self.before else {
            return Ok(());
        };
        let x = extent.pixel(before);
        let (from, to) = ((x, middle - 8.0), (x, middle + 8.0));
        let style = " class=\"before\" stroke=\"#d55e00\" stroke-width=\"2\"";
        line(svg, from, to, style)
    }
}

/// The columns of a text. Ideographs and their like take two.
fn columns(text: &str) -> usize {
    let columns = |character: char| if character < '\u{1100}' { 1 } else { 2 };
    text.chars().map(columns).sum()
}

/// The width of the widest text, in pixels.
fn widest<'a>(texts: impl Iterator<Item = Cow<'a, str>>) -> f64 {
    CHARACTER * texts.map(|text| columns(&text)).max().unwrap_or(0) as f64
}

/// The text in at most so many columns.
fn in_columns(text: &str, columns_max: usize) -> Cow<'_, str> {
    let is_narrow = columns(text) == text.chars().count();
    shortened(
        text,
        if is_narrow {
            columns_max
        } else {
            columns_max / 2
        },
    )
}

/// Draws the grid and the numbers below. Numbers that would touch their neighbours are left out.
fn ticks(svg: &mut Svg, extent: &AxisExtent, bottom: f64) -> Drawn {
    let mut free_from = f64::NEG_INFINITY;
    for (value, text) in extent.ticks() {
        let x = extent.pixel(value);
        grid_line(svg, (x, TOP), (x, bottom))?;
        let half = 0.5 * CHARACTER * columns(&text) as f64 + 4.0;
        if x - half >= free_from {
            Text::new(x, bottom + 18.0)
                .with(" text-anchor=\"middle\"")
                .write(svg, &text)?;
            free_from = x + half;
        }
    }
    Ok(())
}

fn rectangle(svg: &mut Svg, (from, to): (f64, f64), middle: f64, is_hollow: bool) -> Drawn {
    let fill = if is_hollow { "#fff" } else { "#444" };
    writeln!(
        svg,
        "<rect class=\"bar\" x=\"{:.2}\" y=\"{:.1}\" width=\"{:.2}\" height=\"{THICKNESS}\" \
         fill=\"{fill}\" stroke=\"#000\"/>",
        from.min(to),
        middle - 0.5 * THICKNESS,
        (to - from).abs()
    )
}

/// Draws an interval over a bar. A white edge shows the line on the dark bar.
fn interval(svg: &mut Svg, (low, high): (f64, f64), middle: f64) -> Drawn {
    let cap = |x| ((x, middle - 4.0), (x, middle + 4.0));
    let edge = " stroke=\"#fff\" stroke-width=\"3\"";
    for style in [edge, " class=\"interval\" stroke=\"#000\""] {
        for (from, to) in [cap(low), cap(high), ((low, middle), (high, middle))] {
            line(svg, from, to, style)?;
        }
    }
    Ok(())
}
