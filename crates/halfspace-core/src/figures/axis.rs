//! Axes of a chart: the range of values, the pixel of each value, and the ticks.

use super::chart::Scale;
use super::words::{number, power_of_ten};

/// The intended number of ticks of an axis.
const TICKS: f64 = 7.0;

/// A logarithmic axis writes powers of ten if it reaches beyond this absolute value of a decimal logarithm.
const POWERS_FROM: f64 = 6.0;

/// How far theory curves may widen an axis: by a factor on a logarithmic axis, by a share of the measured range on a
/// linear one.
const WIDENED_FACTOR: f64 = 10.0;
const WIDENED_SHARE: f64 = 0.5;

/// The largest absolute value of a decimal logarithm on an axis, so that the values shown stay finite and above 0.
const DECADES_MAX: f64 = 300.0;

/// Values beyond the first are drawn in the second as their unit, so that no difference of two values overflows.
const HUGE: f64 = 1e290;
const HUGE_UNIT: f64 = 18_446_744_073_709_551_616.0;

/// Narrower ranges are drawn like a single value: as a share of the larger end, where rounding would show, and as a
/// width, below which steps have no exact power of ten.
const SHARE_MIN: f64 = 1e-12;
const WIDTH_MIN: f64 = 1e-290;

/// The range of values of an axis and the range of its pixels.
#[derive(Clone, Copy, Debug)]
pub struct AxisExtent {
    scale: Scale,
    /// The unit of a linear axis, a power of two.
    unit: f64,
    /// The ends of the range: values in units on a linear axis, decimal logarithms on a logarithmic axis.
    from: f64,
    to: f64,
    /// Whether all measured values are whole numbers, so that fractions have no tick.
    is_whole: bool,
    pixels: (f64, f64),
}

impl AxisExtent {
    /// Makes an axis that contains all measured values. Theory values may widen it, but only up to a limit.
    pub fn new(
        scale: Scale,
        measured: impl Iterator<Item = f64>,
        theory: impl Iterator<Item = f64>,
        pixels: (f64, f64),
    ) -> Self {
        let can_be_shown = |value: &f64| match scale {
            Scale::Linear => value.is_finite(),
            Scale::Logarithmic => value.is_finite() && *value > 0.0,
        };
        let mut is_whole = true;
        let measured = measured.filter(can_be_shown);
        let measured = ends(measured.inspect(|value| is_whole &= value.fract() == 0.0));
        let theory = ends(theory.filter(can_be_shown));
        let unit = match measured.or(theory) {
            Some((from, to)) if scale == Scale::Linear && to.max(-from) > HUGE => HUGE_UNIT,
            _ => 1.0,
        };
        let in_units = |(from, to)| (from / unit, to / unit);
        let (from, to) = match (measured.map(in_units), theory.map(in_units), scale) {
            (None, None, Scale::Linear) => (0.0, 1.0),
            (None, None, Scale::Logarithmic) => (1.0, 10.0),
            (Some(only), None, _) | (None, Some(only), _) => only,
            (Some((from, to)), Some(theory), Scale::Linear) => {
                let beyond = WIDENED_SHARE * (to - from);
                (
                    from.min(theory.0.max(from - beyond)),
                    to.max(theory.1.min(to + beyond)),
                )
            }
            (Some((from, to)), Some(theory), Scale::Logarithmic) => (
                from.min(theory.0.max(from / WIDENED_FACTOR)),
                to.max(theory.1.min(to * WIDENED_FACTOR)),
            ),
        };
        let (from, to) = match scale {
            Scale::Linear => even(from, to),
            Scale::Logarithmic => by_factors(from, to),
        };
        Self {
            scale,
            unit,
            from,
            to,
            is_whole: is_whole && measured.is_some(),
            pixels,
        }
    }

    /// Pixel of a value. On a logarithmic axis the value 0 lies at the beginning.
    pub fn pixel(&self, value: f64) -> f64 {
        let place = match self.scale {
            Scale::Linear => value / self.unit,
            Scale::Logarithmic if value > 0.0 => {
                libm::log10(value).clamp(-DECADES_MAX, DECADES_MAX)
            }
            Scale::Logarithmic => self.from,
        };
        let (start, end) = self.pixels;
        let pixel = start + (end - start) * ((place - self.from) / (self.to - self.from));
        if (self.from..=self.to).contains(&place) {
            return pixel.clamp(start.min(end), start.max(end));
        }
        // A pixel far outside the frame is invisible, and longer numbers would only enlarge the file.
        pixel.clamp(-1e6, 1e6)
    }

    /// The values with a tick and the texts of the ticks.
    pub fn ticks(&self) -> Vec<(f64, String)> {
        match self.scale {
            Scale::Linear => self.even_ticks(),
            Scale::Logarithmic => self.factor_ticks(),
        }
    }

    fn even_ticks(&self) -> Vec<(f64, String)> {
        let step = step(self.to - self.from);
        let step = if self.is_whole { step.max(1.0) } else { step };
        let first = libm::ceil(self.from / step - 1e-9);
        let ticks = (0..=2 * TICKS as usize).map(|at| (first + at as f64) * step);
        let ticks = ticks.take_while(|tick| *tick <= self.to + 1e-9 * step);
        let ticks = ticks.map(|tick| tick * self.unit);
        // The range is rounded outwards, perhaps beyond the largest number.
        let ticks = ticks.filter(|tick| tick.is_finite());
        ticks.map(|tick| (tick, number(tick))).collect()
    }

    fn factor_ticks(&self) -> Vec<(f64, String)> {
        let decades = self.to - self.from;
        let every = libm::ceil(decades / TICKS).max(1.0);
        // An axis of few decades gets further ticks between the powers of ten.
        let digits: &[f64] = if decades < 1.5 {
            &[1.0, 2.0, 3.0, 4.0, 5.0, 7.0]
        } else if decades < 3.5 {
            &[1.0, 2.0, 5.0]
        } else {
            &[1.0]
        };
        // An axis that reaches far writes all but the small numbers as powers of ten.
        let is_far = self.to > POWERS_FROM || self.from < -POWERS_FROM;
        let text = |value: f64| match is_far && !(0.01..1000.0).contains(&value) {
            true => power_of_ten(value),
            false => number(value),
        };
        let mut ticks = Vec::new();
        let mut decade = libm::floor(self.from / every) * every;
        while decade <= self.to {
            for digit in digits {
                let value = digit * libm::pow(10.0, decade);
                let place = libm::log10(value);
                if (self.from - 1e-9..=self.to + 1e-9).contains(&place) {
                    ticks.push((value, text(value)));
                }
            }
            decade += every;
        }
        ticks
    }
}

/// The smallest and the largest value; `None` without values.
fn ends(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |ends, value| {
        let (low, high) = ends.unwrap_or((value, value));
        Some((low.min(value), high.max(value)))
    })
}

/// Rounds a linear range outwards to multiples of half a step. It starts at 0 if its lower end is positive and below
/// half its upper end.
fn even(from: f64, to: f64) -> (f64, f64) {
    let from = if from > 0.0 && from < 0.5 * to {
        0.0
    } else {
        from
    };
    let width = to - from;
    let magnitude = to.max(-from);
    if width <= (SHARE_MIN * magnitude).max(WIDTH_MIN) {
        let around = 0.5 * magnitude.max(1.0);
        return (from - around, to + around);
    }
    let half = 0.5 * step(width);
    let low = libm::floor(from / half + 1e-9) * half;
    let high = libm::ceil(to / half - 1e-9) * half;
    // The rounding allows for a billionth of a step, and both ends belong to the range.
    (low.min(from), high.max(to))
}

/// The decimal logarithms of a range with a margin at both ends.
fn by_factors(from: f64, to: f64) -> (f64, f64) {
    let from = libm::log10(from).clamp(-DECADES_MAX, DECADES_MAX);
    let to = libm::log10(to).clamp(-DECADES_MAX, DECADES_MAX);
    let padding = 0.04 * (to - from).max(1.0);
    (from - padding, to + padding)
}

/// The step that divides a width into about [`TICKS`] pieces: 1, 2 or 5 times a power of ten.
fn step(width: f64) -> f64 {
    let rough = width / TICKS;
    let power = libm::pow(10.0, libm::floor(libm::log10(rough)));
    let digits = [1.0, 2.0, 5.0, 10.0];
    let fits = digits.iter().find(|digit| **digit * power >= rough);
    fits.unwrap_or(&10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(scale: Scale, values: &[f64]) -> Vec<String> {
        let extent = AxisExtent::new(
            scale,
            values.iter().copied(),
            std::iter::empty(),
            (0.0, 100.0),
        );
        extent.ticks().into_iter().map(|tick| tick.1).collect()
    }

    #[test]
    fn ticks_are_round_numbers() {
        let even = ticks(Scale::Linear, &[0.1, 2.0]);
        assert_eq!(even, ["0", "0.5", "1", "1.5", "2"]);
        let whole = ticks(Scale::Linear, &[0.0, 2.0]);
        assert_eq!(whole, ["0", "1", "2"]);
        let factors = ticks(Scale::Logarithmic, &[0.5, 60.0]);
        assert_eq!(factors, ["0.5", "1", "2", "5", "10", "20", "50"]);
        let wide = ticks(Scale::Logarithmic, &[1e-9, 1e12]);
        assert_eq!(wide, ["10⁻⁸", "10⁻⁴", "1", "10⁴", "10⁸", "10¹²"]);
    }

    #[test]
    fn axis_places_every_value_within_its_range() {
        let lists: [&[f64]; 13] = [
            &[],
            &[0.0],
            &[5.0, 5.0],
            &[-1.0, 1e300],
            &[1e-300, 1e300],
            &[3.0, 4.0],
            &[0.77, 0.770_000_000_000_000_1],
            &[0.45, 0.450_000_000_000_000_07],
            &[94.4, 94.400_000_000_000_02],
            &[5e-324],
            &[0.0, 5e-324],
            &[-1e308, 1e308],
            &[f64::MIN, 1.0, f64::MAX],
        ];
        for scale in [Scale::Linear, Scale::Logarithmic] {
            for values in lists {
                let extent = AxisExtent::new(
                    scale,
                    values.iter().copied(),
                    std::iter::empty(),
                    (10.0, 90.0),
                );
                for value in values {
                    let pixel = extent.pixel(*value);
                    assert!(
                        (10.0..=90.0).contains(&pixel),
                        "{values:?}: {value} at {pixel}"
                    );
                }
                assert!(extent.ticks().len() < 20, "{values:?}");
            }
        }
    }
}
