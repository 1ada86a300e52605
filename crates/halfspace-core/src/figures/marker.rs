//! The colours, shapes and dashes of series, curves and marks. Shapes and dashes suffice to tell them apart without
//! colour.

use super::svg::{Drawn, Svg};

/// Dark colours after the palette of Okabe and Ito (2008), which colour-blind readers can distinguish.
const COLOURS: [&str; 6] = [
    "#000000", "#0072b2", "#d55e00", "#007a5a", "#a0527d", "#7a6a00",
];

/// Number of marker shapes. Series use the filled shapes first.
const SHAPES: usize = 5;

/// The dashes of theory curves.
const DASHES: [&str; 8] = [
    "7 4",
    "2 3",
    "10 3 2 3",
    "4 2",
    "12 5",
    "1 5",
    "14 3 2 3 2 3",
    "6 2 1 2",
];

/// The dashes of marks.
const MARKS: [&str; 3] = [
    " stroke=\"#444\" stroke-width=\"1.5\" stroke-dasharray=\"1 3\"",
    " stroke=\"#444\" stroke-width=\"1.5\" stroke-dasharray=\"8 3 1 3\"",
    " stroke=\"#444\" stroke-width=\"1.5\" stroke-dasharray=\"4 4\"",
];

/// Line attributes of the `at`-th mark.
pub fn mark(at: usize) -> &'static str {
    MARKS[at % MARKS.len()]
}

/// The look of a series or of a curve.
#[derive(Clone, Copy, Debug)]
pub struct SeriesStyle {
    colour: &'static str,
    dashes: Option<&'static str>,
    shape: usize,
    is_filled: bool,
}

impl SeriesStyle {
    /// The look of the `at`-th series.
    pub fn of_series(at: usize) -> Self {
        Self {
            colour: COLOURS[at % COLOURS.len()],
            dashes: None,
            shape: at % SHAPES,
            is_filled: (at / SHAPES).is_multiple_of(2),
        }
    }

    /// The look of the `at`-th series as a line without markers. Only dashes distinguish such lines without colour.
    pub fn of_line(at: usize) -> Self {
        Self {
            dashes: (at > 0).then(|| DASHES[(at + 1) % DASHES.len()]),
            ..Self::of_series(at)
        }
    }

    /// The look of the `at`-th curve, in the colour of the series `beside`.
    pub fn of_theory(at: usize, beside: Option<usize>) -> Self {
        let like = Self::of_series(beside.unwrap_or(0));
        Self {
            dashes: Some(DASHES[at % DASHES.len()]),
            ..like
        }
    }

    /// Attributes of a thin line, for intervals.
    pub fn stroke(&self) -> String {
        format!(" stroke=\"{}\"", self.colour)
    }

    /// Attributes of the line of the series or curve.
    pub fn line(&self) -> String {
        match self.dashes {
            None => format!(" stroke=\"{}\" stroke-width=\"1.2\"", self.colour),
            Some(dashes) => format!(
                " stroke=\"{}\" stroke-width=\"1.5\" stroke-dasharray=\"{dashes}\"",
                self.colour
            ),
        }
    }

    /// Draws the marker around a position.
    pub fn marker(&self, svg: &mut Svg, (x, y): (f64, f64)) -> Drawn {
        let fill = if self.is_filled { self.colour } else { "#fff" };
        let paint = format!(
            "fill=\"{fill}\" stroke=\"{}\" stroke-width=\"1.5\"",
            self.colour
        );
        // The corners relative to the centre. A circle has none.
        let corners: &[(f64, f64)] = match self.shape {
            1 => &[(-4.0, -4.0), (4.0, -4.0), (4.0, 4.0), (-4.0, 4.0)],
            2 => &[(0.0, -5.5), (5.0, 3.5), (-5.0, 3.5)],
            3 => &[(0.0, -5.5), (5.5, 0.0), (0.0, 5.5), (-5.5, 0.0)],
            4 => &[(0.0, 5.5), (5.0, -3.5), (-5.0, -3.5)],
            _ => {
                return writeln!(
                    svg,
                    "<circle class=\"point\" cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"4.2\" {paint}/>"
                );
            }
        };
        write!(
            svg,
            "<path class=\"point\" transform=\"translate({x:.2} {y:.2})\" d=\"M"
        )?;
        for (dx, dy) in corners {
            write!(svg, "{dx},{dy} ")?;
        }
        writeln!(svg, "Z\" {paint}/>")
    }
}
