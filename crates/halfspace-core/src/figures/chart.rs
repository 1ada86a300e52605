//! A chart: measured points with intervals, curves predicted by theory, and axes.
//!
//! The types are also those of the public API: an experiment answers with a chart, and you can send one to be drawn.

use serde::{Deserialize, Serialize};

use super::svg::{DrawingError, Drawn};

/// A series with more points is drawn as a line without markers.
const MARKERS_MAX: usize = 100;

/// A chart with measured series, theory curves and marks.
///
/// Further members are ignored, so the result of an experiment is a chart as it is.
// A misspelt member is refused nevertheless, because all are required. The parts of a chart refuse unknown members.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Chart {
    /// Title of the chart.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The measured series. Points with an exact analysis stand among them.
    pub series: Vec<Series>,
    /// The curves predicted by theory.
    pub theory: Vec<Curve>,
    /// Marked places on the horizontal axis.
    pub marks: Vec<AxisMark>,
    /// Remarks on the chart: the kind of the intervals, and the points that are only bounds.
    pub notes: Vec<String>,
}

/// An axis of a chart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// The quantity on the axis.
    pub label: String,
    /// The unit of the quantity; empty if there is none.
    pub unit: String,
    /// The scale of the axis.
    pub scale: Scale,
}

/// The scale of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = AxisScale)]
pub enum Scale {
    /// Equal distances are equal differences.
    Linear,
    /// Equal distances are equal factors.
    Logarithmic,
}

/// A series of points with one label.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = MeasuredSeries)]
pub struct Series {
    /// The property that the points share: learner, number of features or rule.
    pub label: String,
    /// The points from left to right.
    pub points: Vec<Point>,
    /// How the points are drawn; `marked` when absent.
    #[serde(default, skip_serializing_if = "SeriesForm::is_default")]
    #[schema(default = "marked")]
    pub form: SeriesForm,
}

/// How the points of a series are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SeriesForm {
    /// A line with a marker at each of at most 100 points. A theory curve of the series replaces the line.
    #[default]
    Marked,
    /// A line without markers.
    Line,
    /// Markers without a line.
    Points,
    /// A line that keeps its height up to the next point.
    Step,
}

impl SeriesForm {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A measured point with an interval of 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = MeasuredPoint)]
pub struct Point {
    /// Position on the horizontal axis.
    pub x: f64,
    /// Position on the vertical axis.
    pub y: f64,
    /// Lower end of the interval. Missing if a mean has only one run.
    pub low: Option<f64>,
    /// Upper end of the interval. Missing if a mean has only one run or a limit ended some of the runs.
    pub high: Option<f64>,
    /// Number of runs at this point; 0 if the value is exact.
    pub runs: u64,
    /// Number of runs that a limit ended early. If there are any, the true value is at least `y`.
    pub censored: u64,
}

/// A curve predicted by theory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TheoryCurve)]
pub struct Curve {
    /// The formula or theorem of the curve.
    pub label: String,
    /// Index of the series that the curve predicts. The curve is drawn in the colour of that series.
    pub beside: Option<usize>,
    /// The points of the curve from left to right.
    pub points: Vec<CurvePoint>,
}

/// A point of a theory curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CurvePlace)]
pub struct CurvePoint {
    /// Position on the horizontal axis.
    pub x: f64,
    /// Position on the vertical axis.
    pub y: f64,
}

/// A marked place on the horizontal axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AxisMark)]
pub struct AxisMark {
    /// Position on the horizontal axis.
    pub x: f64,
    /// The meaning of the place.
    pub label: String,
}

impl Chart {
    /// Refuses a curve beside a series that does not exist.
    pub(super) fn check(&self) -> Drawn {
        let count = self.series.len();
        let beside = self.theory.iter().map(|curve| curve.beside).enumerate();
        for (at, beside) in beside {
            if let Some(beside) = beside.filter(|beside| *beside >= count) {
                let told =
                    format!("there is no series {beside}: the chart has {count}, counted from 0");
                return Err(DrawingError::at(format!("theory/{at}/beside"), told));
            }
        }
        Ok(())
    }
}

impl Axis {
    /// Makes an axis.
    pub fn new(label: &str, unit: &str, scale: Scale) -> Self {
        Self {
            label: label.to_owned(),
            unit: unit.to_owned(),
            scale,
        }
    }
}

impl Series {
    /// Makes a series of marked points.
    pub fn new(label: impl Into<String>, points: impl IntoIterator<Item = Point>) -> Self {
        Self {
            label: label.into(),
            points: points.into_iter().collect(),
            form: SeriesForm::Marked,
        }
    }

    /// Whether each point has a marker.
    pub(super) fn has_markers(&self) -> bool {
        match self.form {
            SeriesForm::Marked => self.points.len() <= MARKERS_MAX,
            SeriesForm::Points => true,
            SeriesForm::Line | SeriesForm::Step => false,
        }
    }

    /// Whether a line joins the points. `is_predicted`: a theory curve goes through them.
    pub(super) fn has_line(&self, is_predicted: bool) -> bool {
        self.form != SeriesForm::Points && !(is_predicted && self.has_markers())
    }
}

impl Curve {
    /// Makes a curve from the finite ones of the given points and sorts them from left to right.
    pub fn new(
        label: impl Into<String>,
        beside: Option<usize>,
        places: impl IntoIterator<Item = (f64, f64)>,
    ) -> Self {
        let places = places.into_iter().map(|(x, y)| CurvePoint { x, y });
        let finite = places.filter(|place| place.x.is_finite() && place.y.is_finite());
        let mut points: Vec<CurvePoint> = finite.collect();
        points.sort_by(|one, other| one.x.total_cmp(&other.x));
        Self {
            label: label.into(),
            beside,
            points,
        }
    }
}
