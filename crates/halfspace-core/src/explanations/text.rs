//! An explanation as a text table and as a bar chart.

use std::fmt;

use super::explanation::{Explanation, Literal, Power, Term, TermWeight};
use crate::figures::bars::{Bar, BarChart};
use crate::figures::words::{number, wrapped};

/// The longest line of prose, in characters.
const LINE_CHARACTERS: usize = 100;

impl fmt::Display for Literal {
    /// The name, with every control character as a space.
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.replace(char::is_control, " ");
        let not = if self.negated { "not " } else { "" };
        write!(to, "{not}{name}")
    }
}

impl fmt::Display for TermWeight {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(weight) => write!(to, "{weight}"),
            Self::Power(power) => write!(to, "{}", String::from(power.clone())),
        }
    }
}

impl TermWeight {
    /// The length of the bar: the number, or the exponent of the power.
    pub(super) fn length(&self) -> f64 {
        match self {
            Self::Number(number) => number.as_f64().unwrap_or_default(),
            Self::Power(power) => power.exponent as f64,
        }
    }
}

impl Term {
    /// The condition under which the term counts.
    pub(super) fn condition(&self) -> String {
        let literals: Vec<_> = self.literals.iter().map(Literal::to_string).collect();
        match literals.is_empty() {
            true => "always".to_owned(),
            false => literals.join(" and "),
        }
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in wrapped(&self.rule, LINE_CHARACTERS) {
            writeln!(to, "{line}")?;
        }
        writeln!(to)?;
        let terms = &self.terms;
        let number = |value: Option<String>| value.unwrap_or_default();
        let row = |term: &Term| {
            let value = number(term.value.map(|value| value.to_string()));
            let uses = number(term.uses.map(|uses| uses.to_string()));
            ([term.weight.to_string(), value, uses], term.condition())
        };
        let bias = self.bias.iter();
        let bias = bias.map(|bias| {
            (
                [bias.to_string(), String::new(), String::new()],
                "bias".into(),
            )
        });
        let rows: Vec<_> = terms.iter().map(row).chain(bias).collect();
        let columns = [
            ("weight", true),
            ("value", terms.iter().any(|term| term.value.is_some())),
            ("uses", terms.iter().any(|term| term.uses.is_some())),
        ];
        let head = (columns.map(|(name, _)| name.to_owned()), "term".to_owned());
        let wide = |at: usize| {
            let cells = rows.iter().chain([&head]).map(|(cells, _)| cells[at].len());
            cells.max().unwrap_or(0)
        };
        let widths = [0, 1, 2].map(wide);
        for (cells, condition) in [&head].into_iter().chain(&rows) {
            for (at, (cell, (_, is_shown))) in cells.iter().zip(columns).enumerate() {
                if is_shown {
                    write!(to, "{cell:>width$}  ", width = widths[at])?;
                }
            }
            writeln!(to, "{condition}")?;
        }
        let notes = self.notes();
        if !notes.is_empty() {
            writeln!(to)?;
        }
        notes.iter().try_for_each(|note| writeln!(to, "{note}"))
    }
}

impl Explanation {
    fn notes(&self) -> Vec<String> {
        let share = self.share.as_ref().map(|share| {
            format!(
                "The terms have the share {} of the squared weights.",
                number(share.decimal)
            )
        });
        share.into_iter().chain(self.detail.clone()).collect()
    }

    /// The terms as a bar chart. The bars of powers are their exponents.
    pub fn to_svg(&self) -> String {
        let base = self.terms.iter().find_map(|term| match &term.weight {
            TermWeight::Power(Power { base, .. }) => Some(base),
            _ => None,
        });
        let bars = self.terms.iter().map(|term| Bar {
            low: None,
            high: None,
            before: None,
            label: term.condition(),
            value: term.weight.length() * term.value.unwrap_or(1.0),
            text: match (&term.weight, term.value) {
                (weight, Some(value)) => {
                    format!("{} \u{d7} {}", number(weight.length()), number(value))
                }
                (TermWeight::Number(weight), None) if weight.is_f64() => {
                    number(term.weight.length())
                }
                (weight, None) => weight.to_string(),
            },
        });
        let bias = self.bias.iter().map(|bias| format!("The bias is {bias}."));
        let whose = if self.of_example {
            "example"
        } else {
            "hypothesis"
        };
        let has_values = self.terms.iter().any(|term| term.value.is_some());
        let axis = if has_values {
            "weight \u{d7} value"
        } else {
            "weight"
        };
        let chart = BarChart {
            title: format!("The heaviest terms of the {whose}"),
            axis: base.map_or_else(|| axis.to_owned(), |base| format!("exponent of {base}")),
            bars: bars.collect(),
            notes: std::iter::once(self.rule.clone())
                .chain(bias)
                .chain(self.notes())
                .collect(),
        };
        chart.to_svg()
    }
}
