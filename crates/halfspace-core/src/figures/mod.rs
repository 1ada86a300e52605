//! Figures as SVG pictures. All pictures that the program writes are drawn here.
//!
//! A figure is data, and each kind draws itself as SVG text: [`Chart`] has lines and points over two axes, [`BarChart`]
//! has bars, and [`HeatMaps`] have squares of values. Equal figures give equal bytes. Except for heat maps, a picture
//! can be read without colour, and each has a title and a description for readers who cannot see it.

mod axis;
pub mod bars;
pub mod chart;
mod curve;
pub mod heat_maps;
mod marker;
mod plot;
mod svg;
#[cfg(test)]
mod tests;
pub mod words;

use serde::Deserialize;

use bars::BarChart;
use chart::Chart;
use heat_maps::HeatMaps;
use svg::{Drawn, Svg};

pub use svg::DrawingError;

/// A figure to draw: exactly one of a chart, bars and heat maps.
#[derive(Clone, Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Drawing {
    /// Lines and points over two axes, such as the `chart` of an experiment.
    pub chart: Option<Chart>,
    /// Horizontal bars.
    pub bars: Option<BarChart>,
    /// Squares of values.
    pub heat_maps: Option<HeatMaps>,
}

impl Drawing {
    /// The figure as an SVG picture of at most `bytes_max` bytes, in the memory that the grant of the work allows.
    ///
    /// # Errors
    /// There is no figure or more than one, a curve is beside no series, a heat map has no whole rows, or there are too
    /// many cells. The picture would be longer, or there is too little memory; the drawing ends there.
    pub fn to_svg(&self, bytes_max: usize) -> Result<String, DrawingError> {
        Svg::within(bytes_max, |svg| self.draw(svg))
    }

    fn draw(&self, svg: &mut Svg) -> Drawn {
        match (&self.chart, &self.bars, &self.heat_maps) {
            (Some(chart), None, None) => {
                chart.check().map_err(|error| error.below("chart"))?;
                chart.draw(svg)
            }
            (None, Some(bars), None) => bars.draw(svg),
            (None, None, Some(maps)) => {
                maps.check().map_err(|error| error.below("heat_maps"))?;
                maps.draw(svg)
            }
            _ => {
                let told = "send exactly one of `chart`, `bars` and `heat_maps`";
                Err(DrawingError::at("", told.to_owned()))
            }
        }
    }
}
