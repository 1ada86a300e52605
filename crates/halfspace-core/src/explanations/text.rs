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
        let rows = self.terms.iter().map(|term| {
            let uses = term.uses.map_or_else(String::new, |uses| uses.to_string());
            (term.weight.to_string(), uses, term.condition())
        });
        let bias = self
            .bias
            .iter()
            .map(|bias| (bias.to_string(), String::new(), "bias".to_owned()));
        let rows: Vec<_> = rows.chain(bias).collect();
        let wide = |head: &str, cell: fn(&(String, String, String)) -> &str| {
            rows.iter()
                .map(|row| cell(row).len())
                .max()
                .unwrap_or(0)
                .max(head.len())
        };
        let weights = wide("weight", |row| &row.0);
        if self.terms.iter().any(|term| term.uses.is_some()) {
            let uses = wide("uses", |row| &row.1);
            writeln!(to, "{:>weights$}  {:>uses$}  term", "weight", "uses")?;
            for (weight, used, condition) in &rows {
                writeln!(to, "{weight:>weights$}  {used:>uses$}  {condition}")?;
            }
        } else {
            writeln!(to, "{:>weights$}  term", "weight")?;
            for (weight, _, condition) in &rows {
                writeln!(to, "{weight:>weights$}  {condition}")?;
            }
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
            value: term.weight.length(),
            text: match &term.weight {
                TermWeight::Number(weight) if weight.is_f64() => number(term.weight.length()),
                weight => weight.to_string(),
            },
        });
        let bias = self.bias.iter().map(|bias| format!("The bias is {bias}."));
        let chart = BarChart {
            title: "The heaviest terms of the hypothesis".to_owned(),
            axis: base.map_or_else(|| "weight".to_owned(), |base| format!("exponent of {base}")),
            bars: bars.collect(),
            notes: std::iter::once(self.rule.clone())
                .chain(bias)
                .chain(self.notes())
                .collect(),
        };
        chart.to_svg()
    }
}
