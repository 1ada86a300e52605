//! Heat maps side by side: a value per cell, blue above zero and orange below, stronger for larger values.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Deserialize;
use thiserror::Error;

use super::svg::{Text, begin, escaped};
use super::words::number;

/// Most cells of all maps together. A cell takes at most eleven bytes of the picture, in one long row or column.
const CELLS_MAX: usize = 1 << 19;
/// Most maps. More would be too small to see.
const MAPS_MAX: usize = 3;
/// Side of the square that a map fills at most, and the distance between squares, in pixels.
const SIDE: f64 = 288.0;
const GAP: f64 = 32.0;
/// Left and upper edge of the first map, in pixels.
const LEFT: f64 = 16.0;
const TOP: f64 = 70.0;
/// Strengths of a colour. Cells of one strength share an element of the picture.
const STRENGTHS: i32 = 16;
/// The colours of zero, of the largest values and of the smallest, after the palette of Okabe and Ito (2008).
const ZERO: [u8; 3] = [0xf1, 0xf3, 0xf6];
const ABOVE: [u8; 3] = [0x00, 0x72, 0xb2];
const BELOW: [u8; 3] = [0xd5, 0x5e, 0x00];

/// Maps of values in rows and columns, with one scale of colours.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HeatMaps {
    /// Title of the picture.
    pub title: String,
    /// The maps from left to right.
    #[schema(min_items = 1, max_items = 3)]
    pub maps: Vec<HeatMap>,
    /// The absolute value with the strongest colour; the largest absolute value when absent.
    #[schema(exclusive_minimum = 0)]
    pub strongest: Option<f64>,
}

/// Values in rows and columns.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HeatMap {
    /// What the values are.
    pub label: String,
    /// Values per row.
    #[schema(minimum = 1)]
    pub columns: usize,
    /// The values, row by row. All maps together have at most 524,288.
    #[schema(min_items = 1)]
    pub values: Vec<f64>,
}

/// The reason why a figure cannot be drawn.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{reason}")]
pub struct DrawingError {
    /// Where in the document of the figure the reason stands, such as `heat_maps/maps/0/columns`. Empty for the whole.
    pub place: String,
    /// The reason.
    pub reason: String,
}

impl DrawingError {
    pub(super) fn at(place: impl Into<String>, reason: String) -> Self {
        let place = place.into();
        Self { place, reason }
    }
}

impl HeatMaps {
    /// The maps as an SVG picture. The same maps always give the same bytes.
    ///
    /// # Errors
    /// There is no map or more than three, a map has no whole rows, or there are too many cells.
    pub fn to_svg(&self) -> Result<String, DrawingError> {
        self.check()?;
        let strongest = self.strongest.unwrap_or_else(|| self.largest());
        let told = self.maps.iter().map(HeatMap::told).collect::<String>();
        let words = format!("Blue cells are above 0, orange cells below.{told}");
        let mut svg = begin(TOP + SIDE + LEFT, &self.title, &words);
        let title = Text::new(LEFT, 30.0).with(" font-size=\"16\" font-weight=\"bold\"");
        title.write(&mut svg, &self.title);
        for (at, map) in self.maps.iter().enumerate() {
            let left = LEFT + (SIDE + GAP) * at as f64;
            Text::new(left, TOP - 10.0).write(&mut svg, &map.label);
            map.draw(&mut svg, left, strongest);
        }
        svg.push_str("</svg>\n");
        Ok(svg)
    }

    fn check(&self) -> Result<(), DrawingError> {
        if !(1..=MAPS_MAX).contains(&self.maps.len()) {
            let told = format!(
                "a picture has 1 to {MAPS_MAX} maps, not {}",
                self.maps.len()
            );
            return Err(DrawingError::at("maps", told));
        }
        for (at, map) in self.maps.iter().enumerate() {
            let (columns, cells) = (map.columns, map.values.len());
            if columns == 0 || cells == 0 || cells % columns != 0 {
                let told = format!("{cells} values do not make whole rows of {columns}");
                return Err(DrawingError::at(format!("maps/{at}/columns"), told));
            }
        }
        let cells: usize = self.maps.iter().map(|map| map.values.len()).sum();
        if cells > CELLS_MAX {
            let told =
                format!("the maps have {cells} values together; a picture shows {CELLS_MAX}");
            return Err(DrawingError::at("maps", told));
        }
        match self.strongest {
            Some(strongest) if strongest <= 0.0 => {
                Err(DrawingError::at("strongest", "must be above 0".to_owned()))
            }
            _ => Ok(()),
        }
    }

    fn largest(&self) -> f64 {
        let values = self.maps.iter().flat_map(|map| &map.values);
        values.fold(0.0, |largest, value| largest.max(value.abs()))
    }
}

impl HeatMap {
    fn rows(&self) -> usize {
        self.values.len() / self.columns
    }

    /// The map in a sentence.
    fn told(&self) -> String {
        let least = self.values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = self
            .values
            .iter()
            .copied()
            .fold(f64::NEG_INFINITY, f64::max);
        let (rows, columns) = (self.rows(), self.columns);
        let (least, most) = (number(least), number(most));
        format!(
            " {}: {rows} rows of {columns} values from {least} to {most}.",
            self.label
        )
    }

    /// Draws the map. A run of cells of one colour is one stroke.
    fn draw(&self, svg: &mut String, left: f64, strongest: f64) {
        let (rows, columns) = (self.rows(), self.columns);
        let side = SIDE / rows.max(columns) as f64;
        let (width, height) = (side * columns as f64, side * rows as f64);
        let mut strokes: BTreeMap<i32, String> = BTreeMap::new();
        for (row, values) in self.values.chunks(columns).enumerate() {
            let strengths = values.iter().map(|value| strength(*value, strongest));
            let mut from = 0;
            for run in strengths
                .collect::<Vec<_>>()
                .chunk_by(|one, other| one == other)
            {
                if run[0] != 0 {
                    let strokes = strokes.entry(run[0]).or_default();
                    // `write!` into a `String` cannot fail.
                    let _ = write!(strokes, "M{from} {row}h{}", run.len());
                }
                from += run.len();
            }
        }
        let _ = writeln!(
            svg,
            "<rect x=\"{left}\" y=\"{TOP}\" width=\"{width:.2}\" height=\"{height:.2}\" fill=\"{}\" \
             stroke=\"#777\"/>\n<g transform=\"translate({left} {TOP}) scale({side:.6}) translate(0 0.5)\" \
             fill=\"none\" shape-rendering=\"crispEdges\"><title>{}</title>",
            colour(0),
            escaped(&self.label)
        );
        for (strength, strokes) in strokes {
            let _ = writeln!(
                svg,
                "<path stroke=\"{}\" d=\"{strokes}\"/>",
                colour(strength)
            );
        }
        svg.push_str("</g>\n");
    }
}

/// The strength of the colour of a value: 0 for zero alone, and below 0 for negative values.
fn strength(value: f64, strongest: f64) -> i32 {
    if value == 0.0 {
        // All values may be zero, and `strongest` with them.
        return 0;
    }
    let share = (value.abs() / strongest).min(1.0);
    let strength = libm::ceil(share * f64::from(STRENGTHS)) as i32;
    if value < 0.0 { -strength } else { strength }
}

fn colour(strength: i32) -> String {
    let end = if strength < 0 { BELOW } else { ABOVE };
    let channel = |at: usize| {
        let (from, to) = (i32::from(ZERO[at]), i32::from(end[at]));
        from + (to - from) * strength.abs() / STRENGTHS
    };
    format!("#{:02x}{:02x}{:02x}", channel(0), channel(1), channel(2))
}
