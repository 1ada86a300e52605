//! The mistake curve of a run. It is thinned as it grows, so its size is limited.

use serde::{Deserialize, Serialize};

use crate::learners::engine::snapshot::{SnapshotError, SnapshotReader, SnapshotWriter};

/// The largest number of points on a curve.
pub const TRACE_POINTS_MAX: usize = 10_000;

/// A point of the mistake curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct TracePoint {
    /// Examples read.
    pub examples: u64,
    /// Mistakes made.
    pub mistakes: u64,
}

/// The mistake curve of a training. The stride doubles whenever the curve would exceed 10,000 points.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Trace {
    /// The curve keeps one of every `stride` mistakes.
    stride: u64,
    /// The points of the curve. The last point is the end of the run.
    points: Vec<TracePoint>,
}

impl Default for Trace {
    fn default() -> Self {
        Self {
            points: Vec::new(),
            stride: 1,
        }
    }
}

impl Trace {
    /// Adds a mistake to the curve.
    pub fn mistake(&mut self, point: TracePoint) {
        if !point.mistakes.is_multiple_of(self.stride) {
            return;
        }
        // One point is reserved for the end of the run.
        if self.points.len() == TRACE_POINTS_MAX - 1 {
            self.stride *= 2;
            let stride = self.stride;
            self.points
                .retain(|kept| kept.mistakes.is_multiple_of(stride));
            if !point.mistakes.is_multiple_of(stride) {
                return;
            }
        }
        self.points.push(point);
    }

    /// Adds the end of the run.
    pub fn end(&mut self, point: TracePoint) {
        if self.points.last() != Some(&point) {
            self.points.push(point);
        }
    }

    /// Writes the points so far.
    pub fn write(&self, snapshot: &mut SnapshotWriter) {
        snapshot.numbers([self.stride, self.points.len() as u64]);
        let points = self.points.iter();
        snapshot.numbers(points.flat_map(|point| [point.examples, point.mistakes]));
    }

    /// Reads the points that [`Self::write`] wrote.
    ///
    /// # Errors
    /// An error if the bytes are not a curve.
    pub fn read(snapshot: &mut SnapshotReader<'_>) -> Result<Self, SnapshotError> {
        let (stride, count) = (snapshot.number()?, snapshot.count()?);
        if stride == 0 || count > TRACE_POINTS_MAX {
            return Err(SnapshotError);
        }
        let numbers = snapshot.numbers(2 * count)?;
        let points = numbers.as_chunks().0.iter();
        let points = points.map(|&[examples, mistakes]| TracePoint { examples, mistakes });
        Ok(Self {
            points: points.collect(),
            stride,
        })
    }

    /// The points in order.
    pub fn points(&self) -> &[TracePoint] {
        &self.points
    }

    /// The stride: one mistake per `stride` mistakes is kept.
    pub fn stride(&self) -> u64 {
        self.stride
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trace_of_a_long_run_is_thinned_evenly_and_keeps_its_end() {
        let mut trace = Trace::default();
        for mistakes in 1..=123_457 {
            trace.mistake(TracePoint {
                examples: 2 * mistakes,
                mistakes,
            });
            assert!(trace.points().len() < TRACE_POINTS_MAX);
        }
        let end = TracePoint {
            examples: 1_000_000,
            mistakes: 123_457,
        };
        trace.end(end);
        assert!(trace.points().len() <= TRACE_POINTS_MAX);
        assert!(trace.points().len() > TRACE_POINTS_MAX / 3);
        assert_eq!(trace.points().last(), Some(&end));
        let steps = trace.points().windows(2);
        let (last, steps) = steps
            .map(|pair| pair[1].mistakes - pair[0].mistakes)
            .collect::<Vec<_>>()
            .split_last()
            .map(|(last, steps)| (*last, steps.to_vec()))
            .expect("points");
        assert!(last <= trace.stride());
        assert!(steps.iter().all(|&step| step == trace.stride()));
    }

    #[test]
    fn trace_of_a_short_run_is_whole() {
        let mut trace = Trace::default();
        for mistakes in 1..=5 {
            trace.mistake(TracePoint {
                examples: mistakes * mistakes,
                mistakes,
            });
        }
        trace.end(TracePoint {
            examples: 25,
            mistakes: 5,
        });
        assert_eq!(trace.points().len(), 5);
    }
}
