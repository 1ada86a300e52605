//! The mistake curve of one training: mistakes against examples read, beside the mistake bound of a theorem.

use crate::figures::chart::{Axis, Chart, Curve, Point, Scale, Series};
use crate::figures::words::number;

/// Draws the chart of one training.
///
/// `places` are pairs of examples and mistakes so far, taken at some of the mistakes and at the end. `bound`
/// is the name of a theorem and its bound on the mistakes.
pub fn chart(
    title: &str,
    places: impl Iterator<Item = (u64, u64)>,
    bound: Option<(&str, f64)>,
) -> Chart {
    let start = std::iter::once((0, 0));
    let places = start.chain(places);
    let points = places.map(|(examples, mistakes)| Point::exact(examples as f64, mistakes as f64));
    let points: Vec<Point> = points.collect();
    let end = points.last().map_or(0.0, |last| last.x);
    let bounds = bound.map(|(theorem, bound)| {
        Curve::new(
            format!("bound: {theorem}"),
            None,
            [(0.0, bound), (end, bound)],
        )
    });
    Chart {
        title: title.to_owned(),
        x: Axis::new("examples read", "", Scale::Linear),
        y: Axis::new("mistakes so far", "", Scale::Linear),
        series: vec![Series::new("mistakes", points)],
        theory: bounds.into_iter().collect(),
        marks: Vec::new(),
        notes: bound
            .map(|(theorem, bound)| format!("{theorem}: at most {} mistakes.", number(bound)))
            .into_iter()
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistake_curve_begins_at_zero_beside_its_bound() {
        let chart = chart(
            "A run",
            [(3, 1), (9, 2), (20, 2)].into_iter(),
            Some(("Novikoff", 4.0)),
        );
        let places: Vec<_> = chart.series[0]
            .points
            .iter()
            .map(|point| (point.x, point.y))
            .collect();
        assert_eq!(places, [(0.0, 0.0), (3.0, 1.0), (9.0, 2.0), (20.0, 2.0)]);
        assert_eq!(
            chart.theory[0].points.last().map(|end| (end.x, end.y)),
            Some((20.0, 4.0))
        );
        assert!(chart.to_svg().contains("bound: Novikoff"));
        assert_eq!(chart.notes, ["Novikoff: at most 4 mistakes."]);
    }
}
