//! A chart as a CSV table.

use std::fmt::Write;

use crate::figures::chart::Chart;

impl Chart {
    /// The chart as a CSV table: a header, then one line per measured point, per point of a theory curve and per mark.
    pub fn to_csv(&self) -> String {
        let mut text = "kind,label,x,y,low,high,runs,censored\n".to_owned();
        let number =
            |number: Option<f64>| number.map(|number| number.to_string()).unwrap_or_default();
        // `writeln!` into a `String` cannot fail.
        for series in &self.series {
            let label = field(&series.label);
            for point in &series.points {
                let (low, high) = (number(point.low), number(point.high));
                let (x, y, runs, censored) = (point.x, point.y, point.runs, point.censored);
                let _ = writeln!(
                    text,
                    "measured,{label},{x},{y},{low},{high},{runs},{censored}"
                );
            }
        }
        for curve in &self.theory {
            let label = field(&curve.label);
            for place in &curve.points {
                let _ = writeln!(text, "theory,{label},{},{},,,,", place.x, place.y);
            }
        }
        for mark in &self.marks {
            let _ = writeln!(text, "mark,{},{},,,,,", field(&mark.label), mark.x);
        }
        text
    }
}

/// Quotes a field if it contains a comma, a quotation mark or a line break.
pub fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
