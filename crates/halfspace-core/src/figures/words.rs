//! The description of a chart for screen readers, and the notation of numbers in pictures.

use std::borrow::Cow;
use std::fmt;

use super::chart::{Axis, Chart, Point};
use super::svg::{Drawn, Svg};

/// The description of a longer series leaves out points at regular steps.
const POINTS_TOLD_MAX: usize = 40;

impl Axis {
    /// The title beside the axis: the label and the unit. A unit that repeats the label is left out.
    pub fn title(&self) -> impl fmt::Display {
        fmt::from_fn(|to| {
            to.write_str(&self.label)?;
            if self.unit.is_empty() || self.unit == self.label {
                return Ok(());
            }
            write!(to, " ({})", self.unit)
        })
    }
}

/// Writes a number with four significant digits and thousands separators, or as a power of ten, such as 2.5 × 10⁷, if
/// it is far from 1.
pub fn number(value: f64) -> String {
    // The sign of a negative zero says nothing to a reader.
    let value = value + 0.0;
    let magnitude = value.abs();
    if value != 0.0 && !(1e-4..1e7).contains(&magnitude) {
        return power_of_ten(value);
    }
    let whole = libm::floor(libm::log10(magnitude.max(1e-4))) as i32;
    let places = (3 - whole).clamp(0, 7) as usize;
    let text = format!("{value:.places$}");
    if text.contains('.') {
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    let digits = text.trim_start_matches('-').len();
    let mut separated = String::with_capacity(text.len() + 2);
    for (left, character) in (0..text.len()).rev().zip(text.chars()) {
        separated.push(character);
        if digits > 4 && left > 0 && left % 3 == 0 && character != '-' {
            separated.push(',');
        }
    }
    separated
}

/// Writes a number as a power of ten, as in 2.5 × 10⁷ or 10⁷.
pub fn power_of_ten(value: f64) -> String {
    let text = format!("{value:.3e}");
    let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
    let power: String = power.chars().map(superscript).collect();
    match digits.trim_end_matches('0').trim_end_matches('.') {
        "1" => format!("10{power}"),
        "-1" => format!("-10{power}"),
        digits => format!("{digits} \u{d7} 10{power}"),
    }
}

fn superscript(character: char) -> char {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let digit = character
        .to_digit(10)
        .and_then(|digit| DIGITS.get(digit as usize));
    digit.copied().unwrap_or('⁻')
}

/// A text of at most `characters` characters. If it is longer, it loses characters in the middle.
pub fn shortened(text: &str, characters: usize) -> Cow<'_, str> {
    let count = text.chars().count();
    if count <= characters {
        return Cow::Borrowed(text);
    }
    let head: String = text.chars().take(characters / 2).collect();
    let tail: String = text.chars().skip(count - (characters - 1) / 2).collect();
    Cow::Owned(format!("{head}\u{2026}{tail}"))
}

/// Describes a chart in sentences with numbers.
pub fn describe(chart: &Chart, svg: &mut Svg) -> Drawn {
    svg.escaped(format_args!(
        "From left to right: {}. Upwards: {}.",
        chart.x.title(),
        chart.y.title()
    ))?;
    for series in &chart.series {
        let count = series.points.len();
        svg.escaped(format_args!(" Measured, {}, {count} points:", series.label))?;
        let step = count.div_ceil(POINTS_TOLD_MAX).max(1);
        let told = series.points.iter().enumerate();
        let told = told.filter(|(at, _)| at % step == 0 || at + 1 == count);
        for (at, point) in told {
            let joint = if at > 0 { ";" } else { "" };
            svg.escaped(format_args!("{joint} {}", spoken(point)))?;
        }
        // The sentence of a series without points ends after a space too.
        svg.push_str(if count == 0 { " ." } else { "." })?;
    }
    for curve in &chart.theory {
        let ends = (curve.points.first(), curve.points.last());
        if let (Some(from), Some(to)) = ends {
            svg.escaped(format_args!(
                " Theory, {}: from {} at {} to {} at {}.",
                curve.label,
                number(from.y),
                number(from.x),
                number(to.y),
                number(to.x)
            ))?;
        }
    }
    for mark in &chart.marks {
        svg.escaped(format_args!(" Line at {}: {}.", number(mark.x), mark.label))?;
    }
    for note in &chart.notes {
        svg.escaped(format_args!(" {note}"))?;
    }
    Ok(())
}

/// Describes a point in words.
fn spoken(point: &Point) -> String {
    let at_least = if point.censored > 0 { "at least " } else { "" };
    let value = format!("{at_least}{} at {}", number(point.y), number(point.x));
    match (point.low, point.high) {
        (Some(low), Some(high)) if low < high => {
            format!("{value}, {} to {}", number(low), number(high))
        }
        _ => value,
    }
}

/// Splits a text at spaces into lines of at most `characters` characters. A line is longer only if a single word is.
pub fn wrapped(text: &str, characters: usize) -> impl Iterator<Item = &str> {
    let mut spaces = text.match_indices(' ').map(|(at, _)| at);
    let (mut start, mut end) = (0, 0);
    let mut is_over = false;
    std::iter::from_fn(move || {
        while !is_over {
            let next = spaces.next();
            is_over = next.is_none();
            let at = next.unwrap_or(text.len());
            let line = &text[start..end];
            let is_full = text[start..at].chars().count() > characters && end > start;
            if is_full {
                start = end + 1;
            }
            end = at;
            if is_full {
                return Some(line);
            }
        }
        let rest = text.get(start.min(end)..end);
        (start, end) = (usize::MAX, usize::MAX);
        rest
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_round_group_and_scale_numbers() {
        let written = [
            0.0,
            1.0,
            0.1 + 0.2,
            1234.56,
            12345.6,
            -0.00123,
            1e-5,
            2.5e7,
            99999.9,
        ];
        let expected = [
            "0",
            "1",
            "0.3",
            "1235",
            "12,346",
            "-0.00123",
            "10⁻⁵",
            "2.5 × 10⁷",
            "100,000",
        ];
        assert_eq!(written.map(number), expected);
        assert_eq!(number(-0.0), "0");
        let long = [-1234567.0, 1234.0, -123456.0, -1e9, 1.25e-7];
        assert_eq!(
            long.map(number),
            ["-1,234,567", "1234", "-123,456", "-10⁹", "1.25 × 10⁻⁷"]
        );
    }

    #[test]
    fn a_long_text_keeps_both_ends() {
        assert_eq!(shortened("abcdefgh", 8), "abcdefgh");
        assert_eq!(shortened("abcdefghi", 6), "abc\u{2026}hi");
    }

    #[test]
    fn a_long_note_is_wrapped_between_words() {
        let lines = |text, characters| wrapped(text, characters).collect::<Vec<_>>();
        assert_eq!(
            lines("one two three four five", 9),
            ["one two", "three", "four five"]
        );
        assert_eq!(lines("", 9), [""]);
        assert_eq!(lines("overlongword x", 4), ["overlongword", "x"]);
    }
}
