//! Drawing of a chart as SVG text. The same chart always gives the same bytes.
//!
//! You can read the picture in black and white, because series differ in the shape of their markers and theory curves
//! in their dashes. It has a title and a description in words for readers who cannot see it. The SVG has no script, no
//! style sheet and no reference to other files. However long a curve is, the number of pixels and of points bounds the
//! size of the file.
//!
//! We do not use `plotters`. The SVG of version 0.3.7 consists of eight kinds of elements, with neither `title` nor
//! `desc` among them, so a reader who cannot see the picture gets nothing. Positions are pairs of `i32`, that is, whole
//! pixels.

use super::axis::AxisExtent;
use super::chart::{Chart, Curve, Point, Series, SeriesForm};
use super::marker::{self, SeriesStyle};
use super::svg::{Drawn, LINE, Svg, Text, begin, grid_line, line};
use super::{curve, words};

/// Smallest height of the picture, in pixels.
const HEIGHT: f64 = 560.0;
/// Left and upper edge of the frame, in pixels.
pub(super) const LEFT: f64 = 92.0;
pub(super) const TOP: f64 = 52.0;
/// Right and lower edge of the frame, in pixels. The legend stands to the right of the frame.
pub(super) const RIGHT: f64 = 640.0;
pub(super) const BOTTOM: f64 = 480.0;
/// Length of a line of a note, in characters.
const NOTE_CHARACTERS: usize = 130;

/// The frame around the measured values: the value ranges of both axes and their pixels.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    x: AxisExtent,
    y: AxisExtent,
}

impl Frame {
    fn new(chart: &Chart) -> Self {
        let points = || chart.series.iter().flat_map(|series| &series.points);
        let places = || chart.theory.iter().flat_map(|curve| &curve.points);
        let across = points().map(|point| point.x);
        let across = across.chain(chart.marks.iter().map(|mark| mark.x));
        let upwards = points().flat_map(|point| {
            let ends = [Some(point.y), point.low, point.high];
            ends.into_iter().flatten()
        });
        Self {
            x: AxisExtent::new(
                chart.x.scale,
                across,
                places().map(|place| place.x),
                (LEFT, RIGHT),
            ),
            y: AxisExtent::new(
                chart.y.scale,
                upwards,
                places().map(|place| place.y),
                (BOTTOM, TOP),
            ),
        }
    }

    /// Position of a value, in pixels. A value outside the ranges gets a position outside the frame.
    fn at(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (self.x.pixel(x), self.y.pixel(y))
    }

    /// The segments of a theory curve that lie inside the frame, in pixels.
    fn segments(&self, curve: &Curve) -> impl Iterator<Item = ((f64, f64), (f64, f64))> {
        let places = curve.points.iter().map(|place| self.at((place.x, place.y)));
        curve::clipped(curve::thinned(places), (LEFT, TOP), (RIGHT, BOTTOM))
    }

    fn is_hidden(&self, curve: &Curve) -> bool {
        self.segments(curve).next().is_none()
    }
}

impl Chart {
    /// The chart as an SVG picture.
    pub fn to_svg(&self) -> String {
        Svg::unlimited(|svg| self.draw(svg))
    }

    pub(super) fn draw(&self, svg: &mut Svg) -> Drawn {
        let legend = self.series.len() + self.theory.len() + self.marks.len();
        let frame = Frame::new(self);
        let mut lines = 0;
        self.each_line(&frame, |_, _| {
            lines += 1;
            Ok(())
        })?;
        let below = BOTTOM + 76.0 + LINE * lines as f64;
        let height = below.max(TOP + LINE * (legend + 1) as f64).max(HEIGHT);
        begin(svg, height, &self.title, |svg| words::describe(self, svg))?;
        let title = Text::new(LEFT, TOP - 22.0).with(" font-size=\"16\" font-weight=\"bold\"");
        title.write(svg, &self.title)?;
        axes(svg, self, &frame)?;
        marks(svg, self, &frame)?;
        theory(svg, self, &frame)?;
        series(svg, self, &frame)?;
        legends(svg, self, &frame)?;
        self.each_line(&frame, |at, note| {
            Text::new(LEFT, BOTTOM + 76.0 + LINE * at as f64)
                .with(" font-size=\"12\"")
                .write(svg, note)
        })?;
        svg.push_str("</svg>\n")
    }

    /// Calls a function with each line of the notes and its number.
    fn each_line(&self, frame: &Frame, mut draw: impl FnMut(usize, &str) -> Drawn) -> Drawn {
        let mut count = 0;
        let mut each = |note: &str| {
            for line in words::wrapped(note, NOTE_CHARACTERS) {
                draw(count, line)?;
                count += 1;
            }
            Ok(())
        };
        self.notes.iter().try_for_each(|note| each(note))?;
        let mut hidden = self.theory.iter().filter(|curve| frame.is_hidden(curve));
        hidden.try_for_each(|curve| each(&format!("Outside the frame: {}.", curve.label)))
    }
}

/// Draws the frame, the ticks and the titles of the axes.
fn axes(svg: &mut Svg, chart: &Chart, frame: &Frame) -> Drawn {
    let (width, height) = (RIGHT - LEFT, BOTTOM - TOP);
    writeln!(
        svg,
        "<rect class=\"frame\" x=\"{LEFT}\" y=\"{TOP}\" width=\"{width}\" height=\"{height}\" \
         fill=\"none\" stroke=\"#000\"/>"
    )?;
    for (value, text) in frame.x.ticks() {
        let x = frame.x.pixel(value);
        grid_line(svg, (x, TOP), (x, BOTTOM))?;
        let label = Text::new(x, BOTTOM + 18.0).with(" text-anchor=\"middle\"");
        label.write(svg, &text)?;
    }
    for (value, text) in frame.y.ticks() {
        let y = frame.y.pixel(value);
        grid_line(svg, (LEFT, y), (RIGHT, y))?;
        let label = Text::new(LEFT - 8.0, y + 4.5).with(" text-anchor=\"end\"");
        label.write(svg, &text)?;
    }
    let middle = f64::midpoint(LEFT, RIGHT);
    let below = Text::new(middle, BOTTOM + 44.0).with(" text-anchor=\"middle\"");
    below.write(svg, chart.x.title())?;
    let middle = f64::midpoint(TOP, BOTTOM);
    write!(
        svg,
        "<text transform=\"translate(20 {middle}) rotate(-90)\" text-anchor=\"middle\">"
    )?;
    svg.escaped(format_args!("{}", chart.y.title()))?;
    svg.push_str("</text>\n")
}

/// Draws the marks as vertical lines from the top of the frame to the bottom.
fn marks(svg: &mut Svg, chart: &Chart, frame: &Frame) -> Drawn {
    for (at, mark) in chart.marks.iter().enumerate() {
        let x = frame.x.pixel(mark.x);
        line(svg, (x, TOP), (x, BOTTOM), marker::mark(at))?;
    }
    Ok(())
}

/// Draws the theory curves with dashes and clips them at the frame.
fn theory(svg: &mut Svg, chart: &Chart, frame: &Frame) -> Drawn {
    for (at, theory) in chart.theory.iter().enumerate() {
        let look = SeriesStyle::of_theory(at, theory.beside);
        curve::write_segments(svg, frame.segments(theory), &look.line())?;
    }
    Ok(())
}

/// Draws the measured series: a line, and an interval and a marker at each point.
fn series(svg: &mut Svg, chart: &Chart, frame: &Frame) -> Drawn {
    let predicted = predicted(chart);
    for (at, series) in chart.series.iter().enumerate() {
        let look = look(series, at);
        if series.has_line(predicted[at]) {
            curve::write(svg, curve::thinned(line_of(series, frame)), &look.line())?;
        }
        if series.has_markers() {
            for point in &series.points {
                interval(svg, frame, point, &look)?;
                look.marker(svg, frame.at((point.x, point.y)))?;
            }
        }
    }
    Ok(())
}

/// The places that the line of a series joins. A step goes to the right before it goes up.
fn line_of<'a>(series: &'a Series, frame: &'a Frame) -> impl Iterator<Item = (f64, f64)> + 'a {
    let places = series
        .points
        .iter()
        .map(|point| frame.at((point.x, point.y)));
    let is_step = series.form == SeriesForm::Step;
    let mut before = None;
    places.flat_map(move |place| {
        let before = before.replace(place).filter(|_| is_step);
        let corner = before.map(|(_, y)| (place.0, y));
        corner.into_iter().chain([place])
    })
}

/// The look of the series with this index.
fn look(series: &Series, at: usize) -> SeriesStyle {
    match series.has_markers() {
        true => SeriesStyle::of_series(at),
        false => SeriesStyle::of_line(at),
    }
}

/// Whether a theory curve goes through the points of each series.
fn predicted(chart: &Chart) -> Vec<bool> {
    let mut predicted = vec![false; chart.series.len()];
    let beside = chart.theory.iter().filter_map(|curve| curve.beside);
    for at in beside.filter(|at| *at < chart.series.len()) {
        predicted[at] = true;
    }
    predicted
}

/// Draws the interval of a point. If a limit ended some of the runs, its upper end is an arrow upwards.
fn interval(svg: &mut Svg, frame: &Frame, point: &Point, look: &SeriesStyle) -> Drawn {
    let stroke = look.stroke();
    let (x, y) = frame.at((point.x, point.y));
    let cap = |svg: &mut Svg, end: f64| line(svg, (x - 3.0, end), (x + 3.0, end), &stroke);
    let low = point.low.map(|low| frame.y.pixel(low));
    if let Some(low) = low.filter(|low| low - y > 0.5) {
        line(svg, (x, y), (x, low), &stroke)?;
        cap(svg, low)?;
    }
    if point.censored > 0 {
        let tip = (y - 16.0).max(TOP);
        line(svg, (x, y), (x, tip), &stroke)?;
        line(svg, (x - 3.0, tip + 4.0), (x, tip), &stroke)?;
        line(svg, (x + 3.0, tip + 4.0), (x, tip), &stroke)?;
    } else if let Some(high) = point.high.map(|high| frame.y.pixel(high))
        && y - high > 0.5
    {
        line(svg, (x, y), (x, high), &stroke)?;
        cap(svg, high)?;
    }
    Ok(())
}

/// Draws the legend of markers and dashes. A theory curve outside the frame has no line, so the legend leaves it out.
fn legends(svg: &mut Svg, chart: &Chart, frame: &Frame) -> Drawn {
    let (left, right) = (RIGHT + 18.0, RIGHT + 50.0);
    let mut y = TOP + 8.0;
    let mut entry = |svg: &mut Svg, label: &str, look: &dyn Fn(&mut Svg, f64) -> Drawn| -> Drawn {
        look(svg, y)?;
        Text::new(right + 8.0, y + 4.5)
            .with(" font-size=\"12\"")
            .write(svg, label)?;
        y += LINE;
        Ok(())
    };
    let predicted = predicted(chart);
    for (at, series) in chart.series.iter().enumerate() {
        let look = look(series, at);
        entry(svg, &series.label, &|svg, y| {
            if series.has_line(predicted[at]) {
                line(svg, (left, y), (right, y), &look.line())?;
            }
            if series.has_markers() {
                look.marker(svg, (f64::midpoint(left, right), y))?;
            }
            Ok(())
        })?;
    }
    let curves = chart.theory.iter().enumerate();
    for (at, theory) in curves.filter(|(_, curve)| !frame.is_hidden(curve)) {
        let look = SeriesStyle::of_theory(at, theory.beside);
        entry(svg, &theory.label, &|svg, y| {
            line(svg, (left, y), (right, y), &look.line())
        })?;
    }
    for (at, mark) in chart.marks.iter().enumerate() {
        entry(svg, &mark.label, &|svg, y| {
            line(svg, (left, y), (right, y), marker::mark(at))
        })?;
    }
    Ok(())
}
