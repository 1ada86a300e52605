//! The description of a chart for screen readers, and the notation of numbers in pictures.

use std::fmt::Write;

use super::chart::{Axis, Chart, Point};

/// The description of a longer series leaves out points at regular steps.
const POINTS_TOLD_MAX: usize = 40;

impl Axis {
    /// The title beside the axis: the label and the unit. A unit that repeats the label is left out.
    pub fn title(&self) -> String {
        if self.unit.is_empty() || self.unit == self.label {
            self.label.clone()
        } else {
            format!("{} ({})", self.label, self.unit)
        }
    }
}

/// Writes a number with four significant digits and thousands separators, or as a power of ten, such as 2.5 × 10⁷, if
/// it is far from 1.
pub fn number(value: f64) -> String {
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
pub fn shortened(text: &str, characters: usize) -> String {
    let count = text.chars().count();
    if count <= characters {
        return text.to_owned();
    }
    let head: String = text.chars().take(characters / 2).collect();
    let tail: String = text.chars().skip(count - (characters - 1) / 2).collect();
    format!("{head}\u{2026}{tail}")
}

/// Describes a chart in sentences with numbers.
pub fn description(chart: &Chart) -> String {
    let mut text = format!(
        "From left to right: {}. Upwards: {}.",
        chart.x.title(),
        chart.y.title()
    );
    // `write!` into a `String` cannot fail.
    for series in &chart.series {
        let count = series.points.len();
        let _ = write!(text, " Measured, {}, {count} points:", series.label);
        let step = count.div_ceil(POINTS_TOLD_MAX).max(1);
        let told = series.points.iter().enumerate();
        let told = told.filter(|(at, _)| at % step == 0 || at + 1 == count);
        let points: Vec<String> = told.map(|(_, point)| spoken(point)).collect();
        let _ = write!(text, " {}.", points.join("; "));
    }
    for curve in &chart.theory {
        let ends = (curve.points.first(), curve.points.last());
        if let (Some(from), Some(to)) = ends {
            let _ = write!(
                text,
                " Theory, {}: from {} at {} to {} at {}.",
                curve.label,
                number(from.y),
                number(from.x),
                number(to.y),
                number(to.x)
            );
        }
    }
    for mark in &chart.marks {
        let _ = write!(text, " Line at {}: {}.", number(mark.x), mark.label);
    }
    for note in &chart.notes {
        let _ = write!(text, " {note}");
    }
    text
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
pub fn wrapped(text: &str, characters: usize) -> Vec<&str> {
    let mut lines = Vec::new();
    let (mut start, mut end) = (0, 0);
    for (at, _) in text.match_indices(' ').chain([(text.len(), "")]) {
        if text[start..at].chars().count() > characters && end > start {
            lines.push(&text[start..end]);
            start = end + 1;
        }
        end = at;
    }
    lines.push(&text[start.min(end)..end]);
    lines
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
        let lines = wrapped("one two three four five", 9);
        assert_eq!(lines, ["one two", "three", "four five"]);
        assert_eq!(wrapped("", 9), [""]);
        assert_eq!(wrapped("overlongword x", 4), ["overlongword", "x"]);
    }
}
