//! Heat maps side by side: a value per cell, blue above zero and orange below, stronger for larger values.

use serde::Deserialize;

use super::svg::{DrawingError, Drawn, Svg, Text, begin};
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
const STRENGTHS: i8 = 16;
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

impl HeatMaps {
    pub(super) fn draw(&self, svg: &mut Svg) -> Drawn {
        let strongest = self.strongest.unwrap_or_else(|| self.largest());
        begin(svg, TOP + SIDE + LEFT, &self.title, |svg| {
            svg.push_str("Blue cells are above 0, orange cells below.")?;
            self.maps.iter().try_for_each(|map| map.describe(svg))
        })?;
        let title = Text::new(LEFT, 30.0).with(" font-size=\"16\" font-weight=\"bold\"");
        title.write(svg, &self.title)?;
        for (at, map) in self.maps.iter().enumerate() {
            let left = LEFT + (SIDE + GAP) * at as f64;
            Text::new(left, TOP - 10.0).write(svg, &map.label)?;
            map.draw(svg, left, strongest)?;
        }
        svg.push_str("</svg>\n")
    }

    /// Refuses no map or more than three, a map without whole rows, and too many cells.
    pub(super) fn check(&self) -> Drawn {
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

    /// Describes the map in a sentence.
    fn describe(&self, svg: &mut Svg) -> Drawn {
        let values = || self.values.iter().copied();
        let least = values().fold(f64::INFINITY, f64::min);
        let most = values().fold(f64::NEG_INFINITY, f64::max);
        let counted = |count: usize, what: &str| match count {
            1 => format!("1 {what}"),
            count => format!("{count} {what}s"),
        };
        svg.escaped(format_args!(
            " {}: {} of {} from {} to {}.",
            self.label,
            counted(self.rows(), "row"),
            counted(self.columns, "value"),
            number(least),
            number(most)
        ))
    }

    /// Draws the map. A run of cells of one colour is one stroke.
    fn draw(&self, svg: &mut Svg, left: f64, strongest: f64) -> Drawn {
        let (rows, columns) = (self.rows(), self.columns);
        let side = SIDE / rows.max(columns) as f64;
        let (width, height) = (side * columns as f64, side * rows as f64);
        write!(
            svg,
            "<rect x=\"{left}\" y=\"{TOP}\" width=\"{width:.2}\" height=\"{height:.2}\" fill=\"{}\" \
             stroke=\"#777\"/>\n<g transform=\"translate({left} {TOP}) scale({side:.6}) translate(0 0.5)\" \
             fill=\"none\" shape-rendering=\"crispEdges\"><title>",
            colour(0),
        )?;
        svg.escaped(format_args!("{}", self.label))?;
        svg.push_str("</title>\n")?;
        let strengths = self.values.iter().map(|value| strength(*value, strongest));
        let strengths: Vec<i8> = strengths.collect();
        for drawn in (-STRENGTHS..=STRENGTHS).filter(|drawn| *drawn != 0) {
            if strengths.contains(&drawn) {
                write!(svg, "<path stroke=\"{}\" d=\"", colour(drawn))?;
                strokes(svg, &strengths, columns, drawn)?;
                svg.push_str("\"/>\n")?;
            }
        }
        svg.push_str("</g>\n")
    }
}

/// Draws a stroke for each run of cells with this strength.
fn strokes(svg: &mut Svg, strengths: &[i8], columns: usize, drawn: i8) -> Drawn {
    for (row, strengths) in strengths.chunks(columns).enumerate() {
        let mut from = 0;
        for run in strengths.chunk_by(|one, other| one == other) {
            if run[0] == drawn {
                write!(svg, "M{from} {row}h{}", run.len())?;
            }
            from += run.len();
        }
    }
    Ok(())
}

/// The strength of the colour of a value: 0 for zero alone, and below 0 for negative values.
fn strength(value: f64, strongest: f64) -> i8 {
    if value == 0.0 {
        // All values may be zero, and `strongest` with them.
        return 0;
    }
    let share = (value.abs() / strongest).min(1.0);
    let strength = libm::ceil(share * f64::from(STRENGTHS)) as i8;
    if value < 0.0 { -strength } else { strength }
}

fn colour(strength: i8) -> String {
    let end = if strength < 0 { BELOW } else { ABOVE };
    let channel = |at: usize| {
        let (from, to) = (i32::from(ZERO[at]), i32::from(end[at]));
        from + (to - from) * i32::from(strength.abs()) / i32::from(STRENGTHS)
    };
    format!("#{:02x}{:02x}{:02x}", channel(0), channel(1), channel(2))
}
