//! Formulas of Excel for the second row of a sheet, with the columns of the file from A.
//!
//! Excel compares texts without regard to case, so texts are compared by EXACT. Excel keeps 15 digits of a number.

use num_bigint::{BigInt, BigUint};

use super::computation::{Cells, Computation, Input, KernelScore, Score, Word};
use crate::tables::cell::MISSING;

/// The longest formula, and the longest text in a formula, in characters.
const FORMULA_CHARACTERS_MAX: usize = 8_192;
const TEXT_CHARACTERS_MAX: usize = 255;

/// The last column is XFD.
const COLUMNS_MAX: usize = 16_384;

/// Digits of a number that Excel keeps.
const DIGITS_MAX: usize = 15;

pub(super) fn write(computation: &Computation, _: &str) -> Result<String, String> {
    computation.check_integral(53)?;
    if computation.columns > COLUMNS_MAX {
        return Err(format!("a sheet has at most {COLUMNS_MAX} columns"));
    }
    let score = match &computation.score {
        Score::Sum { weights, constant } => {
            let value =
                |features: &[usize]| features.iter().map(|&feature| &weights[feature]).sum();
            let mut terms = vec![whole(constant)?];
            for input in &computation.inputs {
                terms.push(choice(input, &value)?);
            }
            terms.join("+")
        }
        Score::Kernel(kernel) => of_kernel(computation, kernel)?,
        Score::Monomials(_) | Score::Real { .. } => return Err(computation.not_integral()),
    };
    let [negative, positive] = &computation.classes;
    let formula = format!("=IF({score}>=0,{},{})", text(positive)?, text(negative)?);
    match formula.chars().count() {
        length if length > FORMULA_CHARACTERS_MAX => Err(format!(
            "a formula has at most {FORMULA_CHARACTERS_MAX} characters, and this one has {length}"
        )),
        _ => Ok(formula + "\n"),
    }
}

fn of_kernel(computation: &Computation, kernel: &KernelScore) -> Result<String, String> {
    let ones_of = |ones: &[usize], support: &[usize]| -> BigInt {
        ones.iter()
            .filter(|feature| support.contains(feature))
            .count()
            .into()
    };
    let all: Vec<usize> = (0..computation.n).collect();
    // Each column appears in this sum, so that a cell without features is an error.
    let counts = |support: &[usize], only_own: bool| -> Result<String, String> {
        let mut terms = vec!["0".to_owned()];
        for input in &computation.inputs {
            let is_own = input.features().any(|feature| support.contains(&feature));
            if is_own || !only_own {
                terms.push(choice(input, &|ones| ones_of(ones, support))?);
            }
        }
        Ok(terms.join("+"))
    };
    let mut score = format!("0*({})", counts(&[], false)?);
    for (ones, net) in &kernel.support {
        let count = match kernel.counts_agreements {
            true => format!(
                "{}-({})+2*({})",
                computation.n - ones.len(),
                counts(&all, true)?,
                counts(ones, true)?
            ),
            false => counts(ones, true)?,
        };
        let value = match kernel.is_power {
            true => format!("2^({count})"),
            false => {
                let values: Result<Vec<_>, _> = kernel.values.iter().map(natural).collect();
                format!("INDEX({{{}}},1+{count})", values?.join(","))
            }
        };
        score += &format!("{net:+}*{value}");
        if score.len() > 4 * FORMULA_CHARACTERS_MAX {
            return Err(format!(
                "a formula has at most {FORMULA_CHARACTERS_MAX} characters"
            ));
        }
    }
    Ok(score)
}

/// A formula for a value of the features of a cell that are 1. An error for a cell without features.
fn choice(input: &Input, value: &dyn Fn(&[usize]) -> BigInt) -> Result<String, String> {
    let cell = format!("{}2", column(input.place));
    let first = input.first;
    let missing = match input.missing {
        Some(missing) => whole(&value(&[missing]))?,
        None => "NA()".to_owned(),
    };
    let missing_words: Vec<String> = MISSING
        .iter()
        .map(|word| format!("\"{}\"", String::from_utf8_lossy(word)))
        .collect();
    let is_missing = format!(
        "SUMPRODUCT(--EXACT({cell}&\"\",{{\"\",{}}}))",
        missing_words.join(",")
    );
    // VALUE would also read dates, percentages and other spellings that the service refuses.
    let number = format!("IF(ISNUMBER({cell}),{cell},NA())");
    let present = match &input.cells {
        Cells::Values(values) => {
            let mut texts = Vec::new();
            let mut weights = Vec::new();
            for (at, own) in values.iter().enumerate() {
                texts.push(text(own)?);
                weights.push(whole(&value(&[first + at]))?);
            }
            let is = format!("EXACT({cell}&\"\",{{{}}})", texts.join(","));
            format!(
                "IF(SUMPRODUCT(--{is}),SUMPRODUCT({is}*{{{}}}),NA())",
                weights.join(",")
            )
        }
        Cells::Flag { off, on, .. } => {
            let mut choice = "NA()".to_owned();
            for (words, value) in [(off, value(&[])), (on, value(&[first]))] {
                for word in words {
                    let is = match word {
                        Word::Exact(own) => format!("EXACT({cell}&\"\",{})", text(own)?),
                        Word::AnyCase(own) if own == "true" || own == "false" => {
                            let is = format!("LOWER({cell}&\"\")={}", text(own)?);
                            let logical = own.to_uppercase();
                            format!("IF(ISLOGICAL({cell}),{cell}={logical}(),{is})")
                        }
                        Word::AnyCase(own) => format!("LOWER({cell}&\"\")={}", text(own)?),
                        Word::Number(own) => {
                            format!("IF(ISNUMBER({cell}),{cell}={},FALSE)", short(*own)?)
                        }
                    };
                    choice = format!("IF({is},{},{choice})", whole(&value)?);
                }
            }
            choice
        }
        Cells::Thresholds(thresholds) => {
            let mut bounds = vec!["-9E+307".to_owned()];
            let mut weights = vec![whole(&value(&[]))?];
            for (at, threshold) in thresholds.iter().enumerate() {
                bounds.push(short(*threshold)?);
                let ones: Vec<usize> = (first..=first + at).collect();
                weights.push(whole(&value(&ones))?);
            }
            format!(
                "LOOKUP({number},{{{}}},{{{}}})",
                bounds.join(","),
                weights.join(",")
            )
        }
        Cells::Number => {
            return Err("a column holds numbers, and only whole features are exact".to_owned());
        }
    };
    Ok(format!("IF({is_missing},{missing},{present})"))
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
    match digits <= DIGITS_MAX {
        true => Ok(format!("{number:?}").to_uppercase()),
        false => Err(format!(
            "a number in a formula keeps {DIGITS_MAX} digits, and {number} has {digits}"
        )),
    }
}

fn text(text: &str) -> Result<String, String> {
    if text.chars().count() > TEXT_CHARACTERS_MAX {
        return Err(format!(
            "a text in a formula has at most {TEXT_CHARACTERS_MAX} characters"
        ));
    }
    Ok(format!("\"{}\"", text.replace('"', "\"\"")))
}
