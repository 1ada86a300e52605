//! The outcome of an experiment: a chart of measured points with intervals, theory curves and axes.
//!
//! The types of this module are also the chart of the public API.

use serde::{Deserialize, Serialize};

use super::tally::PointTally;

/// The 97.5 % quantile of the normal distribution. All intervals are intervals of 95 %.
pub const QUANTILE: f64 = 1.959_963_984_540_054;

/// The outcome of the runs computed so far.
#[derive(Clone, Debug, PartialEq)]
pub struct ExperimentOutcome {
    /// The chart of these runs.
    pub chart: Chart,
    /// Number of runs in the chart.
    pub runs: u64,
    /// Number of runs in the chart when the experiment is finished.
    pub runs_planned: u64,
}

/// A chart with measured series, theory curves and marks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Axis {
    /// The quantity on the axis.
    pub label: String,
    /// The unit of the quantity; empty if there is none.
    pub unit: String,
    /// The scale of the axis.
    pub scale: Scale,
}

/// The scale of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", schema(as = AxisScale))]
pub enum Scale {
    /// Equal distances are equal differences.
    Linear,
    /// Equal distances are equal factors.
    Logarithmic,
}

/// A series of points with one label.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", schema(as = MeasuredSeries))]
pub struct Series {
    /// The property that the points share: learner, number of features or rule.
    pub label: String,
    /// The points from left to right.
    pub points: Vec<Point>,
}

/// A measured point with an interval of 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", schema(as = MeasuredPoint))]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", schema(as = TheoryCurve))]
pub struct Curve {
    /// The formula or theorem of the curve.
    pub label: String,
    /// Index of the series that the curve predicts. The curve is drawn in the colour of that series.
    pub beside: Option<usize>,
    /// The points of the curve from left to right.
    pub points: Vec<CurvePoint>,
}

/// A point of a theory curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", schema(as = CurvePlace))]
pub struct CurvePoint {
    /// Position on the horizontal axis.
    pub x: f64,
    /// Position on the vertical axis.
    pub y: f64,
}

/// A marked place on the horizontal axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", schema(as = AxisMark))]
pub struct AxisMark {
    /// Position on the horizontal axis.
    pub x: f64,
    /// The meaning of the place.
    pub label: String,
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

impl Point {
    /// Makes a point with an exact value.
    pub fn exact(x: f64, y: f64) -> Self {
        Self {
            x,
            y,
            low: Some(y),
            high: Some(y),
            runs: 0,
            censored: 0,
        }
    }

    /// Makes a point from the mean of some runs, divided by `unit`. Without runs there is no point.
    ///
    /// A run that a limit ended counts with the value that it had reached. The mean is then a lower bound.
    pub fn mean(x: f64, tally: &PointTally, unit: f64) -> Option<Self> {
        if tally.runs == 0 {
            return None;
        }
        let half = tally.standard_error().map(|error| QUANTILE * error);
        let y = tally.mean();
        let upper = half.filter(|_| tally.censored == 0);
        Some(Self {
            x,
            y: y / unit,
            low: half.map(|half| (y - half).max(0.0) / unit),
            high: upper.map(|half| (y + half) / unit),
            runs: tally.runs,
            censored: tally.censored,
        })
    }

    /// Makes a point from the share of runs with the value 1, with Wilson's interval. Without runs there is
    /// no point.
    ///
    /// The interval allows for both results of each run that a limit ended.
    pub fn share(x: f64, tally: &PointTally) -> Option<Self> {
        if tally.runs == 0 {
            return None;
        }
        Some(Self {
            x,
            y: tally.mean(),
            low: Some(tally.wilson(tally.sum, QUANTILE).0),
            high: Some(tally.wilson(tally.sum + tally.censored, QUANTILE).1),
            runs: tally.runs,
            censored: tally.censored,
        })
    }
}

impl ExperimentOutcome {
    /// Whether some planned runs are missing.
    pub fn is_partial(&self) -> bool {
        self.runs < self.runs_planned
    }

    /// The chart as a CSV table.
    pub fn to_csv(&self) -> String {
        self.chart.to_csv()
    }

    /// The chart as an SVG picture.
    pub fn to_svg(&self) -> String {
        self.chart.to_svg()
    }
}
