//! A chart in words for screen readers, and the notation of numbers in pictures.

use std::fmt::Write;

use super::super::outcome::{Axis, Chart, Point};

/// The description of a longer series leaves out points at regular steps.
const POINTS_TOLD_MAX: usize = 40;

impl Axis {
    /// The title beside the axis: the label and the unit.
    pub fn title(&self) -> String {
        if self.unit.is_empty() {
            self.label.clone()
        } else {
            format!("{} ({})", self.label, self.unit)
        }
    }
}

/// Writes a number with four significant digits. Values far from 1 use powers of ten.
pub fn number(value: f64) -> String {
    let magnitude = value.abs();
    if value == 0.0 || (1e-3..1e5).contains(&magnitude) {
        let whole = libm::floor(libm::log10(magnitude.max(1e-3))) as i32;
        let places = (3 - whole).clamp(0, 6) as usize;
        let text = format!("{value:.places$}");
        if text.contains('.') {
            return text.trim_end_matches('0').trim_end_matches('.').to_owned();
        }
        return text;
    }
    let text = format!("{value:.3e}");
    let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    format!("{digits}e{power}")
}

/// Writes a number with four significant digits. Only values below 10^-6 or from 10^15 on use powers of ten.
pub fn plain_number(value: f64) -> String {
    let magnitude = value.abs();
    if (1e-6..1e-3).contains(&magnitude) {
        let text = format!("{value:.9}");
        return text.trim_end_matches('0').to_owned();
    }
    match (1e5..1e15).contains(&magnitude) {
        true => format!("{value:.0}"),
        false => number(value),
    }
}

/// A text of at most `characters` characters. A longer text loses characters in the middle.
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

/// Splits a text at spaces into lines of at most `characters` characters. Only a longer word makes a longer
/// line.
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
    fn numbers_are_written_as_people_do() {
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
            "0", "1", "0.3", "1235", "12346", "-0.00123", "1e-5", "2.5e7", "100000",
        ];
        assert_eq!(written.map(number), expected);
    }

    #[test]
    fn plain_numbers_have_no_powers_of_ten() {
        let written = [0.0, 1e-6, -0.00123, 2.5e7, -1_099_511_627_776.0, 1e15];
        let expected = [
            "0",
            "0.000001",
            "-0.00123",
            "25000000",
            "-1099511627776",
            "1e15",
        ];
        assert_eq!(written.map(plain_number), expected);
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
