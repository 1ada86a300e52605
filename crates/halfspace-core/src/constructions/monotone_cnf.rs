//! A monotone CNF with exactly as many satisfying assignments as wanted.
//!
//! Lemma 8 of R. Khardon, D. Roth and R. Servedio, "Efficiency versus convergence of Boolean
//! kernels for on-line learning algorithms". With one more variable x, `x and F` has as many
//! satisfying assignments as F, and `x or F` (x joined to each clause) has 2^l more, for F over l
//! variables. So the binary digits of the number wanted, read from the lowest one that is 1, say
//! how each further variable joins. At most one clause a variable comes of it.

use num_bigint::BigUint;

/// The most variables.
pub const VARIABLES_MAX: u32 = 1024;

/// Why there is no such formula.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CnfError {
    /// There must be a variable, and not too many.
    #[error("{0} variables; there are from 1 to {VARIABLES_MAX}")]
    Variables(u32),
    /// No monotone formula with a clause is satisfied by none or by all assignments.
    #[error(
        "a monotone CNF over {variables} variables with a clause is satisfied by at least 1 of the \
         2^{variables} assignments, and not by all: ask for 1 to 2^{variables} - 1"
    )]
    Satisfying { variables: u32 },
}

/// The clauses of a monotone CNF over `variables` that exactly `satisfying` of the 2^variables
/// assignments satisfy. A clause lists its variables, from 1, ascending; there is at least one
/// clause and at most one a variable.
///
/// # Errors
/// When there is no such formula, or too many variables.
pub fn build(variables: u32, satisfying: &BigUint) -> Result<Vec<Vec<u32>>, CnfError> {
    if !(1..=VARIABLES_MAX).contains(&variables) {
        return Err(CnfError::Variables(variables));
    }
    let lowest = match satisfying.trailing_zeros() {
        Some(lowest) if satisfying.bits() <= u64::from(variables) => lowest as u32,
        _ => return Err(CnfError::Satisfying { variables }),
    };
    // Over as many variables as the lowest 1 stands high, and one more, x1 alone is satisfied by
    // the number that this 1 is worth.
    let mut clauses = vec![vec![1]];
    for variable in lowest + 2..=variables {
        if satisfying.bit(u64::from(variable - 1)) {
            clauses.iter_mut().for_each(|clause| clause.push(variable));
        } else {
            clauses.push(vec![variable]);
        }
    }
    Ok(clauses)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn big(number: u64) -> BigUint {
        BigUint::from(number)
    }

    fn satisfying(variables: u32, clauses: &[Vec<u32>]) -> u64 {
        let holds = |assignment: &u64| {
            let is_true = |variable: &u32| assignment >> (variable - 1) & 1 == 1;
            clauses.iter().all(|clause| clause.iter().any(is_true))
        };
        (0..1_u64 << variables).filter(holds).count() as u64
    }

    #[test]
    fn every_count_is_met_exactly() {
        for variables in 1..=9 {
            for wanted in 1..1 << variables {
                let clauses = build(variables, &big(wanted)).expect("in range");
                assert!((1..=variables as usize).contains(&clauses.len()));
                assert_eq!(satisfying(variables, &clauses), wanted, "{clauses:?}");
                for clause in &clauses {
                    assert!(clause.is_sorted_by(|a, b| a < b));
                }
            }
        }
    }

    #[test]
    fn half_of_all_is_the_first_variable() {
        assert_eq!(build(5, &big(16)), Ok(vec![vec![1]]));
        assert_eq!(build(1024, &(big(1) << 1023)), Ok(vec![vec![1]]));
        assert_eq!(build(6, &big(60)), Ok(vec![vec![1, 4, 5, 6]]));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        assert_eq!(build(0, &big(1)), Err(CnfError::Variables(0)));
        assert_eq!(build(1025, &big(1)), Err(CnfError::Variables(1025)));
        for (variables, satisfying) in [(3, big(0)), (3, big(8)), (1, big(2)), (64, big(1) << 64)] {
            let expected = Err(CnfError::Satisfying { variables });
            assert_eq!(build(variables, &satisfying), expected);
        }
        let most = build(64, &big(u64::MAX)).expect("all but one");
        assert_eq!(most, [(1..=64).collect::<Vec<_>>()]);
    }
}
