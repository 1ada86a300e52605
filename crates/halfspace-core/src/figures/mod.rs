//! Figures: the one place that draws pictures for people to keep.
//!
//! A figure is data, and each kind draws itself as SVG text: [`Chart`] has lines and points over two axes, [`BarChart`]
//! has bars, and [`HeatMaps`] have squares of values. Equal figures give equal bytes. A picture needs no colour, except
//! that of a heat map, and has a title and a description for readers who cannot see it.

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
use thiserror::Error;

use bars::BarChart;
use chart::Chart;
use heat_maps::HeatMaps;

/// A figure to draw: a chart, bars or heat maps.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Drawing {
    /// Lines and points over two axes, such as the `chart` of an experiment.
    Chart(Chart),
    /// Horizontal bars.
    Bars(BarChart),
    /// Squares of values.
    HeatMaps(HeatMaps),
}

/// The reason why a figure cannot be drawn.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{reason}")]
pub struct DrawingError {
    /// Where in the document of the figure the reason stands, such as `heat_maps/maps/0/columns`.
    pub place: String,
    /// The reason.
    pub reason: String,
}

impl DrawingError {
    fn at(place: impl Into<String>, reason: String) -> Self {
        let place = place.into();
        Self { place, reason }
    }
}

impl Drawing {
    /// The figure as an SVG picture.
    ///
    /// # Errors
    /// The figure has a heat map without whole rows, or too many cells.
    pub fn to_svg(&self) -> Result<String, DrawingError> {
        match self {
            Self::Chart(chart) => Ok(chart.to_svg()),
            Self::Bars(bars) => Ok(bars.to_svg()),
            Self::HeatMaps(maps) => maps.to_svg().map_err(|error| {
                let place = format!("heat_maps/{}", error.place);
                DrawingError { place, ..error }
            }),
        }
    }
}
