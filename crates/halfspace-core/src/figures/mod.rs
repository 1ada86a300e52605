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

pub use heat_maps::DrawingError;

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
    /// The figure as an SVG picture.
    ///
    /// # Errors
    /// There is no figure or more than one, a heat map has no whole rows, or there are too many cells.
    pub fn to_svg(&self) -> Result<String, DrawingError> {
        match (&self.chart, &self.bars, &self.heat_maps) {
            (Some(chart), None, None) => Ok(chart.to_svg()),
            (None, Some(bars), None) => Ok(bars.to_svg()),
            (None, None, Some(maps)) => maps.to_svg().map_err(|error| {
                let place = format!("heat_maps/{}", error.place);
                DrawingError { place, ..error }
            }),
            _ => {
                let told = "send exactly one of `chart`, `bars` and `heat_maps`";
                Err(DrawingError::at("", told.to_owned()))
            }
        }
    }
}
