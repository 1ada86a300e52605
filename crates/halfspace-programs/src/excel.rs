//! Formulas of Excel for the second row of a sheet, with the columns of the file from A.
//!
//! Excel ignores case when it compares texts, so the formulas compare them with EXACT. It keeps 15 digits of a
//! number.

use std::fmt::Write;

use num_bigint::{BigInt, BigUint};

use super::computation::{Cells, Computation, Input, Rows, Word};
use super::scores::{KernelScores, Scores, Support};
use super::sink::{Sink, Stop};

/// The longest formula, and the longest text in a formula, in characters.
const FORMULA_CHARACTERS_MAX: usize = 8_192;
const TEXT_CHARACTERS_MAX: usize = 255;

/// The last column is XFD.
const COLUMNS_MAX: usize = 16_384;

/// Digits of a number that Excel keeps.
const DIGITS_MAX: usize = 15;

/// Bits of a sum. LibreOffice takes a difference for 0 if it is below 2^-48 of the numbers.
const SUM_BITS_MAX: u64 = 47;

/// The magnitudes that a number in a formula may have, besides 0.
const MAGNITUDES: std::ops::RangeInclusive<f64> = 2.3e-308..=9.9e307;

/// Bits of the scores of several classes, so that 255 times a score stays within [`SUM_BITS_MAX`]. Excel 2010 divides
/// with a remainder up to a quotient of 1,125,900,000,000.
const QUOTIENT_BITS_MAX: u64 = 39;

/// The most arguments of a function.
const ARGUMENTS_MAX: usize = 255;

pub(super) fn write(computation: &Computation, _: &str, sink: &mut Sink) -> Result<(), Stop> {
    if let Rows::Names(_) = computation.rows {
        let detail =
            "a formula reads a fixed number of cells, and an example has any number of names";
        return Err(detail.to_owned().into());
    }
    let members = computation.members();
    if members > ARGUMENTS_MAX {
        return Err(format!("a formula chooses among at most {ARGUMENTS_MAX} classes").into());
    }
    computation.check_integral(match members {
        1 => SUM_BITS_MAX,
        _ => QUOTIENT_BITS_MAX,
    })?;
    if computation.columns > COLUMNS_MAX {
        return Err(format!("a sheet has at most {COLUMNS_MAX} columns").into());
    }
    let classes = computation.classes.iter().map(|name| text(name));
    let classes = classes.collect::<Result<Vec<_>, _>>()?;
    if members == 1 {
        sink.write_str("=IF(")?;
        score(computation, 0, sink)?;
        write!(sink, ">=0,{},{})", classes[1], classes[0])?;
    } else {
        // The largest score times the number of classes, plus a number that is larger for earlier classes. Each score
        // stands in the formula once, and the remainder tells its class.
        sink.write_str("=INDEX({")?;
        sink.list(classes.iter().rev())?;
        sink.write_str("},1,1+MOD(MAX(")?;
        for member in 0..members {
            write!(sink, "{}{members}*(", if member == 0 { "" } else { "," })?;
            score(computation, member, sink)?;
            write!(sink, ")+{}", members - 1 - member)?;
        }
        write!(sink, "),{members}))")?;
    }
    check_length(sink)?;
    Ok(sink.write_char('\n')?)
}

/// Writes the score of a member.
fn score(computation: &Computation, member: usize, sink: &mut Sink) -> Result<(), Stop> {
    match &computation.scores {
        Scores::Sum(own) => {
            sink.write_str(&whole(&own[member].constant)?)?;
            for input in computation.inputs() {
                sink.write_char('+')?;
                let weight = |feature: usize| own[member].weights[feature].clone();
                choice(&input, &computation.missing_words_of(&input), &weight, sink)?;
                check_length(sink)?;
            }
            Ok(())
        }
        Scores::Kernel(kernel) => of_kernel(computation, kernel, &kernel.supports[member], sink),
        Scores::Monomials(_) | Scores::Real(_) => Err(computation.not_integral().into()),
    }
}

fn check_length(sink: &Sink) -> Result<(), Stop> {
    match sink.text().chars().count() {
        length if length > FORMULA_CHARACTERS_MAX => Err(format!(
            "a formula has at most {FORMULA_CHARACTERS_MAX} characters, and this one has {length} or more"
        )
        .into()),
        _ => Ok(()),
    }
}

fn of_kernel(
    computation: &Computation,
    kernel: &KernelScores,
    support: &[Support],
    sink: &mut Sink,
) -> Result<(), Stop> {
    // Writes the number of the own features that are 1. If `own` is None, every column appears, so that a cell
    // without features is an error.
    let count = |own: Option<&[u32]>, sink: &mut Sink| -> Result<(), Stop> {
        let is_own = |feature: usize| own.is_none_or(|own| own.contains(&(feature as u32)));
        sink.write_char('0')?;
        for input in computation.inputs() {
            if input.features().chain(input.missing).any(is_own) {
                sink.write_char('+')?;
                let is_one = |feature| u8::from(is_own(feature)).into();
                choice(&input, &computation.missing_words_of(&input), &is_one, sink)?;
                check_length(sink)?;
            }
        }
        Ok(())
    };
    sink.write_str("0*(")?;
    count(None, sink)?;
    sink.write_char(')')?;
    for (ones, net) in support {
        write!(sink, "{net:+}*")?;
        match kernel.is_power {
            true => sink.write_str("2^(")?,
            false => {
                sink.write_str("INDEX({")?;
                for (at, value) in kernel.values.iter().enumerate() {
                    let comma = if at == 0 { "" } else { "," };
                    write!(sink, "{comma}{}", natural(value)?)?;
                }
                sink.write_str("},1+")?;
            }
        }
        if kernel.counts_agreements {
            write!(sink, "{}-(", computation.n - ones.len())?;
            count(None, sink)?;
            sink.write_str(")+2*(")?;
            count(Some(ones), sink)?;
            sink.write_char(')')?;
        } else {
            count(Some(ones), sink)?;
        }
        sink.write_char(')')?;
    }
    Ok(())
}

/// Writes a formula for the sum of the values of the features of a cell that are 1. A cell without features is an
/// error.
fn choice(
    input: &Input,
    missing_words: &[&str],
    value: &dyn Fn(usize) -> BigInt,
    sink: &mut Sink,
) -> Result<(), Stop> {
    let cell = format!("{}2", column(input.place));
    // Without a feature of its own, a missing cell is an error like any other unknown text.
    let end = match input.missing {
        Some(missing) => {
            let missing = whole(&value(missing))?;
            let words = missing_words.iter().map(|word| text(word));
            let words = words.collect::<Result<Vec<_>, _>>()?.join(",");
            write!(
                sink,
                "IF(SUMPRODUCT(--EXACT({cell}&\"\",{{\"\",{words}}})),{missing},"
            )?;
            ")"
        }
        None => "",
    };
    match &input.cells {
        Cells::Values(values) => {
            let mut is = format!("EXACT({cell}&\"\",{{");
            let mut weights = String::new();
            for (at, (own, feature)) in values.iter().zip(input.features()).enumerate() {
                let comma = if at == 0 { "" } else { "," };
                is += &format!("{comma}{}", text(own)?);
                weights += &format!("{comma}{}", whole(&value(feature))?);
                if is.len() > 4 * FORMULA_CHARACTERS_MAX {
                    break;
                }
            }
            is += "})";
            write!(
                sink,
                "IF(SUMPRODUCT(--{is}),SUMPRODUCT({is}*{{{weights}}}),NA())"
            )?;
        }
        Cells::Flag { off, on, .. } => {
            let mut choice = "NA()".to_owned();
            for (words, value) in [(off, BigInt::ZERO), (on, value(input.first))] {
                for word in words {
                    choice = format!("IF({},{},{choice})", is_word(&cell, word)?, whole(&value)?);
                }
            }
            sink.write_str(&choice)?;
        }
        Cells::Thresholds(thresholds) => {
            // VALUE would also read dates, percentages and other spellings, which the service refuses.
            write!(sink, "LOOKUP(IF(ISNUMBER({cell}),{cell},NA()),{{-9E+307")?;
            for threshold in *thresholds {
                write!(sink, ",{}", short(*threshold)?)?;
            }
            sink.write_str("},{0")?;
            let mut sum = BigInt::ZERO;
            for feature in input.features() {
                sum += value(feature);
                write!(sink, ",{}", whole(&sum)?)?;
            }
            sink.write_str("})")?;
        }
        Cells::Number => {
            let detail = "a column holds numbers, and only whole features are exact";
            return Err(detail.to_owned().into());
        }
    }
    Ok(sink.write_str(end)?)
}

/// A condition on a cell.
fn is_word(cell: &str, word: &Word) -> Result<String, String> {
    Ok(match word {
        Word::Exact(own) => format!("EXACT({cell}&\"\",{})", text(own)?),
        Word::AnyCase(own) if own == "true" || own == "false" => {
            let is = format!("LOWER({cell}&\"\")={}", text(own)?);
            let logical = own.to_uppercase();
            format!("IF(ISLOGICAL({cell}),{cell}={logical}(),{is})")
        }
        Word::AnyCase(own) => format!("LOWER({cell}&\"\")={}", text(own)?),
        Word::Number(own) => format!("IF(ISNUMBER({cell}),{cell}={},FALSE)", short(*own)?),
    })
}

/// The letters of a column, from 0.
fn column(mut place: usize) -> String {
    let mut letters = Vec::new();
    loop {
        letters.insert(0, char::from(b'A' + (place % 26) as u8));
        place /= 26;
        if place == 0 {
            return letters.into_iter().collect();
        }
        place -= 1;
    }
}

fn whole(number: &BigInt) -> Result<String, String> {
    natural(number.magnitude()).map(|_| number.to_string())
}

fn natural(number: &BigUint) -> Result<String, String> {
    let digits = number.to_string();
    match digits.len() <= DIGITS_MAX {
        true => Ok(digits),
        false => Err(format!(
            "a number in a formula keeps {DIGITS_MAX} digits, and a weight has {}",
            digits.len()
        )),
    }
}

fn short(number: f64) -> Result<String, String> {
    let digits = format!("{number:e}");
    let digits = digits
        .split('e')
        .next()
        .unwrap_or_default()
        .bytes()
        .filter(u8::is_ascii_digit)
        .count();
    if number != 0.0 && !MAGNITUDES.contains(&number.abs()) {
        return Err(format!("a formula cannot hold the number {number:e}"));
    }
    match digits <= DIGITS_MAX {
        true => Ok(format!("{number:?}").to_uppercase()),
        false => Err(format!(
            "a number in a formula keeps {DIGITS_MAX} digits, and {number} has {digits}"
        )),
    }
}

fn text(text: &str) -> Result<String, String> {
    // A formula with a line break would continue in the next cell when you paste it.
    let is_break =
        |character: char| character.is_control() || matches!(character, '\u{2028}' | '\u{2029}');
    if let Some(found) = text.chars().find(|&character| is_break(character)) {
        return Err(format!(
            "a text in a formula has no control characters, and one has {}",
            found.escape_unicode()
        ));
    }
    if text.chars().count() > TEXT_CHARACTERS_MAX {
        return Err(format!(
            "a text in a formula has at most {TEXT_CHARACTERS_MAX} characters"
        ));
    }
    Ok(format!("\"{}\"", text.replace('"', "\"\"")))
}
