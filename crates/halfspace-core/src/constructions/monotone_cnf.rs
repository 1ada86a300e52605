//! A monotone CNF with a given number of satisfying assignments.
//!
//! This is Lemma 8 of R. Khardon, D. Roth and R. Servedio, "Efficiency versus convergence of Boolean kernels for
//! on-line learning algorithms". Let F be a formula over l variables, and x a further variable. `x and F` has as many
//! satisfying assignments as F, and `x or F`, where x joins each clause, has 2^l more. So the binary digits of the
//! wanted number, from the lowest 1 upwards, say which of the two adds each further variable. The formula needs at most
//! one clause per variable.

use num_bigint::BigUint;

/// Largest number of variables.
pub const VARIABLES_MAX: u32 = 1024;

/// Errors of [`build`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CnfError {
    /// The number of variables is not from 1 to [`VARIABLES_MAX`].
    #[error("the number of variables is {0}, but must be from 1 to {VARIABLES_MAX}")]
    Variables(u32),
    /// The number of satisfying assignments is 0, or not below 2^variables.
    #[error(
        "the number of satisfying assignments must be from 1 to 2^{variables} - 1, because a \
         monotone CNF with a clause has at least 1 and not all of the 2^{variables} assignments"
    )]
    Satisfying { variables: u32 },
}

/// Builds the clauses of a monotone CNF over `variables` variables that exactly `satisfying` of the 2^variables
/// assignments satisfy. A clause lists its variables, numbered from 1, in ascending order. There is at least one
/// clause, and at most one per variable.
///
/// # Errors
/// Returns an error if no such formula exists or there are too many variables.
pub fn build(variables: u32, satisfying: &BigUint) -> Result<Vec<Vec<u32>>, CnfError> {
    if !(1..=VARIABLES_MAX).contains(&variables) {
        return Err(CnfError::Variables(variables));
    }
    let lowest = match satisfying.trailing_zeros() {
        Some(lowest) if satisfying.bits() <= u64::from(variables) => lowest as u32,
        _ => return Err(CnfError::Satisfying { variables }),
    };
    // If the lowest 1 is digit d, the clause x1 over d + 1 variables has 2^d satisfying assignments.
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
    fn monotone_cnf_has_exactly_the_wanted_number_of_assignments() {
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
    fn monotone_cnf_for_half_of_all_assignments_is_the_first_variable() {
        assert_eq!(build(5, &big(16)), Ok(vec![vec![1]]));
        assert_eq!(build(1024, &(big(1) << 1023)), Ok(vec![vec![1]]));
        assert_eq!(build(6, &big(60)), Ok(vec![vec![1, 4, 5, 6]]));
    }

    #[test]
    fn monotone_cnf_refuses_variables_and_counts_out_of_range() {
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
