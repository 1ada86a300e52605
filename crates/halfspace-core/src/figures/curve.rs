//! Curves in pixels: thinned without a visible change, clipped to the frame, and written as SVG. Each step passes the
//! points on one by one, so a long curve takes no memory here.

use super::svg::{Drawn, Svg};

/// A position, in pixels.
type Place = (f64, f64);

/// Thins a curve without a visible change.
///
/// At most four points remain per column of pixels: the first, the last, the highest and the lowest.
pub fn thinned(places: impl Iterator<Item = Place>) -> impl Iterator<Item = Place> {
    Thinned {
        places,
        column: Vec::new(),
        kept: Vec::new().into_iter(),
    }
}

struct Thinned<I> {
    places: I,
    /// The points of the present column of pixels.
    column: Vec<Place>,
    /// What remains of the column before.
    kept: std::vec::IntoIter<Place>,
}

impl<I: Iterator<Item = Place>> Iterator for Thinned<I> {
    type Item = Place;

    fn next(&mut self) -> Option<Place> {
        loop {
            if let Some(kept) = self.kept.next() {
                return Some(kept);
            }
            let Some(place) = self.places.next() else {
                self.kept = extremes(&mut self.column);
                return self.kept.next();
            };
            let first = self.column.first();
            if first.is_some_and(|first| first.0.floor() != place.0.floor()) {
                self.kept = extremes(&mut self.column);
            }
            self.column.push(place);
            if self.column.len() == 1 << 12 {
                let fewer = extremes(&mut self.column);
                self.column.extend(fewer);
            }
        }
    }
}

/// The first, last, highest and lowest point of a column, which is empty afterwards.
fn extremes(column: &mut Vec<Place>) -> std::vec::IntoIter<Place> {
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
    let kept: Vec<Place> = matters.into_iter().map(|at| column[at]).collect();
    column.clear();
    kept.into_iter()
}

/// The segments of a curve, as far as they lie inside the rectangle between two corners.
pub fn clipped(
    places: impl Iterator<Item = Place>,
    least: Place,
    most: Place,
) -> impl Iterator<Item = (Place, Place)> {
    let mut before = None;
    places.filter_map(move |place| within(before.replace(place)?, place, least, most))
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

/// Writes the segments of a curve as lines. Segments that follow each other make one line.
pub fn write_segments(
    svg: &mut Svg,
    segments: impl Iterator<Item = (Place, Place)>,
    attributes: &str,
) -> Drawn {
    let mut reached = None;
    for (from, to) in segments {
        if reached != Some(from) {
            if reached.is_some() {
                end(svg, attributes)?;
            }
            begin(svg, from)?;
        }
        write!(svg, " {:.2},{:.2}", to.0, to.1)?;
        reached = Some(to);
    }
    match reached {
        Some(_) => end(svg, attributes),
        None => Ok(()),
    }
}

/// Writes a line through the points. A line needs at least two points, so nothing is written for fewer.
pub fn write(svg: &mut Svg, places: impl Iterator<Item = Place>, attributes: &str) -> Drawn {
    let mut places = places.peekable();
    let Some(first) = places.next() else {
        return Ok(());
    };
    if places.peek().is_none() {
        return Ok(());
    }
    begin(svg, first)?;
    for (x, y) in places {
        write!(svg, " {x:.2},{y:.2}")?;
    }
    end(svg, attributes)
}

fn begin(svg: &mut Svg, (x, y): Place) -> Drawn {
    write!(svg, "<polyline points=\"{x:.2},{y:.2}")
}

fn end(svg: &mut Svg, attributes: &str) -> Drawn {
    writeln!(svg, "\" fill=\"none\"{attributes}/>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_curve_keeps_its_shape_in_few_places() {
        let height = |at: u32| f64::from(at.wrapping_mul(2_654_435_761) % 1000) / 10.0;
        let places = (0..50_000_u32).map(|at| (f64::from(at) / 500.0, height(at)));
        let all: Vec<Place> = places.clone().collect();
        let few: Vec<Place> = thinned(places).collect();
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
        assert_eq!(thinned(short.into_iter()).collect::<Vec<_>>(), short);
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
        let written = Svg::unlimited(|svg| {
            let segments = clipped(places.into_iter(), (0.0, 0.0), (10.0, 10.0));
            write_segments(svg, segments, "")
        });
        let expected = ["0.00,5.00 5.00,5.00 5.00,10.00", "8.00,10.00 8.00,2.00"]
            .map(|points| format!("<polyline points=\"{points}\" fill=\"none\"/>\n"));
        assert_eq!(written, expected.concat());
    }
}
