//! Dates and times of day, as the cells of tables write them, and the numbers that they give.
//!
//! A date is kept as the seconds from 1970-01-01 on the clock that the cell shows. An offset from UTC is read but does
//! not change the clock, because what matters to a learner is the hour of the day where something happened.

use serde::{Deserialize, Serialize};
use time::{Date, Month};

pub(crate) const DAY_SECONDS: f64 = 86_400.0;

/// The julian day of 1970-01-01.
const EPOCH_DAY: i32 = 2_440_588;

/// The order of the numbers of a date that does not begin with the year.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DateOrder {
    /// `31/12/2024`
    Dmy,
    /// `12/31/2024`
    Mdy,
}

/// A number that a date gives.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    utoipa::ToSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum DatePart {
    /// The year.
    Year,
    /// 1 is January.
    Month,
    /// The day of the month, from 1.
    Day,
    /// 1 is Monday, and 7 is Sunday.
    Weekday,
    /// The hour of the day, from 0 to 23.
    Hour,
}

impl DatePart {
    /// The parts of a date, without the hour.
    pub(crate) const OF_DAY: [Self; 4] = [Self::Year, Self::Month, Self::Day, Self::Weekday];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Year => "year",
            Self::Month => "month",
            Self::Day => "day",
            Self::Weekday => "weekday",
            Self::Hour => "hour",
        }
    }

    /// This part of a date, which is given by its seconds.
    pub(crate) fn of(self, seconds: f64) -> f64 {
        let date = date_of(seconds);
        match self {
            Self::Year => date.year().into(),
            Self::Month => u8::from(date.month()).into(),
            Self::Day => date.day().into(),
            Self::Weekday => date.weekday().number_from_monday().into(),
            Self::Hour => (seconds.rem_euclid(DAY_SECONDS) / 3600.0).floor(),
        }
    }
}

/// Whether the seconds have a time of day.
pub(crate) fn has_time(seconds: f64) -> bool {
    seconds.rem_euclid(DAY_SECONDS) != 0.0
}

/// The seconds of a number of days since 1899-12-30, as workbooks count them.
pub(crate) fn of_days(days: f64) -> Option<f64> {
    /// The days between 1899-12-30 and 1970-01-01.
    const EPOCH: f64 = 25_569.0;
    within(((days - EPOCH) * DAY_SECONDS).round())
}

/// These seconds, if they are a date of a year with at most four digits.
pub(crate) fn within(seconds: f64) -> Option<f64> {
    let day = |date: Date| f64::from(date.to_julian_day() - EPOCH_DAY) * DAY_SECONDS;
    (day(Date::MIN)..day(Date::MAX) + DAY_SECONDS)
        .contains(&seconds)
        .then_some(seconds)
}

/// The seconds of a date in the form of ISO 8601 with a time of day or without one.
pub(crate) fn iso(text: &str) -> Option<f64> {
    let ([first, second, third], mark, time) = numbers(text)?;
    let has_form = "-/".contains(mark) && first.len() == 4 && second.len() <= 2 && third.len() <= 2;
    let day = day(first, second, third).filter(|_| has_form)?;
    Some(day + time)
}

/// The seconds of a date whose year comes last.
pub(crate) fn ordered(text: &str, order: DateOrder) -> Option<f64> {
    let ([first, second, year], _, time) = numbers(text)?;
    let has_form = first.len() <= 2 && second.len() <= 2 && year.len() == 4;
    let (month, of_month) = match order {
        DateOrder::Dmy => (second, first),
        DateOrder::Mdy => (first, second),
    };
    let day = day(year, month, of_month).filter(|_| has_form)?;
    Some(day + time)
}

/// The text of a date in the form of ISO 8601.
pub(crate) fn written(seconds: f64) -> String {
    let date = date_of(seconds);
    let day = format!(
        "{:04}-{:02}-{:02}",
        date.year(),
        u8::from(date.month()),
        date.day()
    );
    let time = seconds.rem_euclid(DAY_SECONDS) as u32;
    match time {
        0 => day,
        time => format!(
            "{day}T{:02}:{:02}:{:02}",
            time / 3600,
            time / 60 % 60,
            time % 60
        ),
    }
}

fn date_of(seconds: f64) -> Date {
    let day = (seconds / DAY_SECONDS).floor() as i32;
    Date::from_julian_day(EPOCH_DAY.saturating_add(day)).unwrap_or(Date::MIN)
}

/// The three numbers of a date, the mark between them, and the seconds of its time of day.
fn numbers(text: &str) -> Option<([&str; 3], char, f64)> {
    // A date and a time have at most so many bytes, and most words end here.
    const BYTES_MAX: usize = 40;
    if text.len() > BYTES_MAX || !text.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let end = text.find(['T', 't', ' ']).unwrap_or(text.len());
    let (date, time) = text.split_at(end);
    let mark = date.chars().find(|&mark| !mark.is_ascii_digit())?;
    if !"-/.".contains(mark) {
        return None;
    }
    let mut parts = date.split(mark);
    let parts = [
        parts.next()?,
        parts.next()?,
        parts.next()?,
        parts.next().unwrap_or(""),
    ];
    let [first, second, third, ""] = parts else {
        return None;
    };
    let time = match time.get(1..) {
        None => 0.0,
        Some(time) => time_of_day(time)?,
    };
    Some(([first, second, third], mark, time))
}

fn number(digits: &str) -> Option<u32> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number)
}

fn day(year: &str, month: &str, of_month: &str) -> Option<f64> {
    let month = Month::try_from(u8::try_from(number(month)?).ok()?).ok()?;
    let of_month = u8::try_from(number(of_month)?).ok()?;
    let date = Date::from_calendar_date(number(year)? as i32, month, of_month).ok()?;
    // The year 0 stands in zero dates, such as 0000-00-00 of MySQL, and in no calendar that people use.
    (date.year() > 0).then(|| f64::from(date.to_julian_day() - EPOCH_DAY) * DAY_SECONDS)
}

/// The seconds of a time of day such as `23:59`, `23:59:59.25` or `23:59Z`, without fractions.
fn time_of_day(text: &str) -> Option<f64> {
    let clock = match text.find(['Z', 'z', '+', '-']) {
        Some(at) if is_offset(&text[at..]) => &text[..at],
        Some(_) => return None,
        None => text,
    };
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let mut parts = clock.trim_end().split(':');
    let hour = number(parts.next()?).filter(|hour| *hour < 24)?;
    let minute = number(parts.next()?).filter(|minute| *minute < 60)?;
    let second = match parts.next() {
        // A leap second is the last one of its minute.
        Some(second) => number(second).filter(|second| *second <= 60)?.min(59),
        None => 0,
    };
    number(fraction)?;
    parts
        .next()
        .is_none()
        .then(|| f64::from(3600 * hour + 60 * minute + second))
}

/// Whether a text is an offset from UTC: `Z`, `+01`, `+0100` or `+01:00`.
fn is_offset(text: &str) -> bool {
    let digits = match text.split_at(1) {
        ("Z" | "z", rest) => return rest.is_empty(),
        (_, digits) => digits.replace(':', ""),
    };
    [2, 4].contains(&digits.len()) && number(&digits).is_some_and(|offset| offset <= 1800)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(seconds: Option<f64>) -> Option<[f64; 5]> {
        use DatePart::{Day, Hour, Month, Weekday, Year};
        seconds.map(|seconds| [Year, Month, Day, Weekday, Hour].map(|part| part.of(seconds)))
    }

    #[test]
    fn iso_dates_give_their_parts() {
        for (text, expected) in [
            ("1970-01-01", [1970.0, 1.0, 1.0, 4.0, 0.0]),
            ("2024-02-29", [2024.0, 2.0, 29.0, 4.0, 0.0]),
            ("1969-12-31T23:59:59Z", [1969.0, 12.0, 31.0, 3.0, 23.0]),
            ("2026/11/30 07:05", [2026.0, 11.0, 30.0, 1.0, 7.0]),
            (
                "2026-11-29T00:30:00.5+01:00",
                [2026.0, 11.0, 29.0, 7.0, 0.0],
            ),
            ("0001-01-01", [1.0, 1.0, 1.0, 1.0, 0.0]),
            ("9999-12-31 23:00:60-0930", [9999.0, 12.0, 31.0, 5.0, 23.0]),
        ] {
            assert_eq!(parts(iso(text)), Some(expected), "{text}");
        }
        assert_eq!(iso("1970-01-02"), Some(DAY_SECONDS));
        for text in [
            "",
            "2024",
            "2024-02",
            "20240229",
            "2023-02-29",
            "2024-13-01",
            "2024-00-01",
            "0000-00-00",
            "0000-01-01",
            "2024-02-29T",
            "2024-02-29T24:00",
            "2024-02-29 10",
            "2024-02-29 10:60",
            "2024-02-29x",
            "24-02-29",
            "2024.02.29",
            "2024-02/29",
            "2024-02-29-01",
            "2024-02-29T10:00+25:00",
            "2024-02-29T10:00:00.x",
            "31-12-2024",
        ] {
            assert_eq!(iso(text), None, "{text}");
        }
    }

    #[test]
    fn other_dates_need_their_order() {
        for text in ["31/12/2024", "31.12.2024", "31-12-2024"] {
            assert_eq!(ordered(text, DateOrder::Dmy), iso("2024-12-31"), "{text}");
            assert_eq!(ordered(text, DateOrder::Mdy), None, "{text}");
        }
        assert_eq!(
            ordered("1/2/2024 8:30", DateOrder::Dmy),
            iso("2024-02-01T08:30")
        );
        assert_eq!(ordered("1/2/2024", DateOrder::Mdy), iso("2024-01-02"));
        assert_eq!(ordered("1/2/24", DateOrder::Mdy), None);
    }

    #[test]
    fn dates_are_written_as_they_are_read() {
        for text in [
            "1899-12-30",
            "1970-01-01",
            "2024-02-29T10:05:09",
            "9999-12-31",
        ] {
            assert_eq!(iso(text).map(written).as_deref(), Some(text));
        }
        assert_eq!(
            of_days(25_569.5).map(written).as_deref(),
            Some("1970-01-01T12:00:00")
        );
        assert_eq!(of_days(45_351.0), iso("2024-02-29"));
        assert_eq!((of_days(1e9), of_days(f64::NAN)), (None, None));
    }
}
