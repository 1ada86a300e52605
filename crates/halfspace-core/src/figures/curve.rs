//! Curves in pixels: thinned without a visible change, clipped to the frame, and written as SVG.

use std::fmt::Write;

/// A position, in pixels.
type Place = (f64, f64);

/// Thins a curve without a visible change.
///
/// At most four points remain per column of pixels: the first, the last, the highest and the lowest.
pub fn thinned(places: impl Iterator<Item = Place>) -> Vec<Place> {
    let mut kept: Vec<Place> = Vec::new();
    let mut column: Vec<Place> = Vec::new();
    for place in places {
        let is_next = column
            .first()
            .is_some_and(|first| first.0.floor() != place.0.floor());
        if is_next {
            keep(&mut kept, &mut column);
        }
        column.push(place);
        if column.len() == 1 << 12 {
            let mut fewer = Vec::new();
            keep(&mut fewer, &mut column);
            column = fewer;
        }
    }
    keep(&mut kept, &mut column);
    kept
}

/// Moves the first, last, highest and lowest point of a column to `kept` and clears the column.
fn keep(kept: &mut Vec<Place>, column: &mut Vec<Place>) {
    let extreme = |is_better: fn(f64, f64) -> bool| {
        let better = |best: usize, at: usize| match is_better(column[at].1, column[best].1) {
            true => at,
            false => best,
        };
        (0..column.len()).reduce(better)
    };
    let last = column.len().checked_sub(1);
    let matters = [
        last.map(|_| 0),
        extreme(|one, other| one < other),
        extreme(|one, other| one > other),
        last,
    ];
    let mut matters: Vec<usize> = matters.into_iter().flatten().collect();
    matters.sort_unstable();
    matters.dedup();
    kept.extend(matters.into_iter().map(|at| column[at]));
    column.clear();
}

/// The pieces of a curve that lie inside the rectangle between two corners.
pub fn clipped(places: &[Place], least: Place, most: Place) -> Vec<Vec<Place>> {
    let mut pieces: Vec<Vec<Place>> = Vec::new();
    for ends in places.windows(2) {
        let Some((from, to)) = within(ends[0], ends[1], least, most) else {
            continue;
        };
        match pieces.last_mut() {
            Some(piece) if piece.last() == Some(&from) => piece.push(to),
            _ => pieces.push(vec![from, to]),
        }
    }
    pieces
}

/// The part of a segment that lies inside the rectangle.
fn within(from: Place, to: Place, least: Place, most: Place) -> Option<(Place, Place)> {
    let (mut enters, mut leaves) = (0.0_f64, 1.0_f64);
    let step = (to.0 - from.0, to.1 - from.1);
    // For each side: the speed of the segment towards this side, and the distance of its start from this
    // side.
    let sides = [
        (-step.0, from.0 - least.0),
        (step.0, most.0 - from.0),
        (-step.1, from.1 - least.1),
        (step.1, most.1 - from.1),
    ];
    for (speed, distance) in sides {
        if speed == 0.0 {
            if distance < 0.0 {
                return None;
            }
        } else if speed < 0.0 {
            enters = enters.max(distance / speed);
        } else {
            leaves = leaves.min(distance / speed);
        }
    }
    if enters > leaves {
        return None;
    }
    // An end inside the rectangle must stay exactly the same, so that adjacent pieces join.
    let at = |share: f64| match share {
        0.0 => from,
        1.0 => to,
        _ => (from.0 + share * step.0, from.1 + share * step.1),
    };
    Some((at(enters), at(leaves)))
}

/// Writes a line through the points. A line needs at least two points, so nothing is written for fewer.
pub fn write(svg: &mut String, places: &[Place], attributes: &str) {
    if places.len() < 2 {
        return;
    }
    svg.push_str("<polyline points=\"");
    for (at, (x, y)) in places.iter().enumerate() {
        let space = if at > 0 { " " } else { "" };
        // `write!` into a `String` cannot fail.
        let _ = write!(svg, "{space}{x:.2},{y:.2}");
    }
    let _ = writeln!(svg, "\" fill=\"none\"{attributes}/>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_curve_keeps_its_shape_in_few_places() {
        let height = |at: u32| f64::from(at.wrapping_mul(2_654_435_761) % 1000) / 10.0;
        let places = (0..50_000_u32).map(|at| (f64::from(at) / 500.0, height(at)));
        let all: Vec<Place> = places.clone().collect();
        let few = thinned(places);
        assert!(few.len() <= 400, "{}", few.len());
        assert_eq!((few.first(), few.last()), (all.first(), all.last()));
        for column in 0..100 {
            let of = |places: &[Place], pick: fn(f64, f64) -> f64, start| {
                let here = places
                    .iter()
                    .filter(|place| place.0.floor() == f64::from(column));
                here.map(|place| place.1).fold(start, pick)
            };
            assert_eq!(of(&all, f64::min, 1e9), of(&few, f64::min, 1e9));
            assert_eq!(of(&all, f64::max, -1e9), of(&few, f64::max, -1e9));
        }
        let short = [(0.0, 1.0), (0.2, 3.0), (5.0, 2.0)];
        assert_eq!(thinned(short.into_iter()), short);
    }

    #[test]
    fn curve_is_clipped_at_the_frame() {
        let places = [
            (-10.0, 5.0),
            (5.0, 5.0),
            (5.0, 20.0),
            (8.0, 20.0),
            (8.0, 2.0),
        ];
        let pieces = clipped(&places, (0.0, 0.0), (10.0, 10.0));
        let expected = [
            vec![(0.0, 5.0), (5.0, 5.0), (5.0, 10.0)],
            vec![(8.0, 10.0), (8.0, 2.0)],
        ];
        assert_eq!(pieces, expected);
    }
}
