//! What an experiment comes to: measured points with intervals, curves of theory, and the axes that
//! they are drawn on.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::tally::PointTally;

/// The quantile of the normal distribution behind every interval, which is one of 95 %.
pub const QUANTILE: f64 = 1.959_963_984_540_054;

/// What the runs so far come to.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// What they show.
    pub chart: Chart,
    /// Runs that it rests on.
    pub runs: u64,
    /// Runs that it rests on in the end.
    pub runs_planned: u64,
}

/// What can be drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Chart {
    /// What is shown.
    pub title: String,
    /// The axis from left to right.
    pub x: Axis,
    /// The axis upwards.
    pub y: Axis,
    /// What was measured, or is exact in its place.
    pub series: Vec<Series>,
    /// What theory says.
    pub theory: Vec<Curve>,
    /// Places on the axis from left to right that mean something.
    pub marks: Vec<Mark>,
    /// What is to be said of it: what an interval is, which points are only bounds.
    pub notes: Vec<String>,
}

/// An axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Axis {
    /// What it shows.
    pub label: String,
    /// In which unit.
    pub unit: String,
    /// How.
    pub scale: Scale,
}

/// How an axis is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = AxisScale)]
pub enum Scale {
    /// Evenly.
    Linear,
    /// By factors.
    Logarithmic,
}

/// Points that belong together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = MeasuredSeries)]
pub struct Series {
    /// What they have in common.
    pub label: String,
    /// From left to right.
    pub points: Vec<Point>,
}

/// A measured point, with an interval of 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = MeasuredPoint)]
pub struct Point {
    /// Where.
    pub x: f64,
    /// How much.
    pub y: f64,
    /// The lower end of the interval; none of a single run.
    pub low: Option<f64>,
    /// The upper end; none of a single run, and where a limit ended some of the runs.
    pub high: Option<f64>,
    /// How many runs it rests on; 0 where it is exact.
    pub runs: u64,
    /// Those of them that a limit ended: `y` is at least so much then.
    pub censored: u64,
}

/// A curve of theory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = TheoryCurve)]
pub struct Curve {
    /// What it says.
    pub label: String,
    /// The number of the series through whose points it should go: it is drawn in its colour.
    pub beside: Option<usize>,
    /// Its places, from left to right.
    pub points: Vec<Place>,
}

/// A place of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = CurvePlace)]
pub struct Place {
    /// Where.
    pub x: f64,
    /// How much.
    pub y: f64,
}

/// A place on the axis from left to right.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = AxisMark)]
pub struct Mark {
    /// Where.
    pub x: f64,
    /// What it means.
    pub label: String,
}

impl Axis {
    /// An axis.
    pub fn new(label: &str, unit: &str, scale: Scale) -> Self {
        Self {
            label: label.to_owned(),
            unit: unit.to_owned(),
            scale,
        }
    }
}

impl Curve {
    /// A curve through those of the places that are finite, from left to right.
    pub fn new(
        label: impl Into<String>,
        beside: Option<usize>,
        places: impl IntoIterator<Item = (f64, f64)>,
    ) -> Self {
        let places = places.into_iter().map(|(x, y)| Place { x, y });
        let finite = places.filter(|place| place.x.is_finite() && place.y.is_finite());
        let mut points: Vec<Place> = finite.collect();
        points.sort_by(|one, other| one.x.total_cmp(&other.x));
        Self {
            label: label.into(),
            beside,
            points,
        }
    }
}

impl Point {
    /// A point that is exact.
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

    /// The mean of some runs in units of `unit`; none where there is no run yet. A run that a limit
    /// ended counts with what it had come to, so that the mean is a lower bound.
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

    /// The share of runs with the value 1, with Wilson's interval; none where there is no run yet.
    /// The interval covers whatever the runs that a limit ended would have come to.
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

impl Outcome {
    /// Whether runs are missing.
    pub fn is_partial(&self) -> bool {
        self.runs < self.runs_planned
    }

    /// The chart as a table.
    pub fn to_csv(&self) -> String {
        self.chart.to_csv()
    }

    /// The chart as a picture.
    pub fn to_svg(&self) -> String {
        self.chart.to_svg()
    }
}

impl Chart {
    /// All of it as a table with a header: one line a point, a place of a curve, or a mark.
    pub fn to_csv(&self) -> String {
        super::csv::table(self)
    }

    /// All of it as a picture.
    pub fn to_svg(&self) -> String {
        super::plot::picture(self)
    }
}
