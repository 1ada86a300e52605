//! Proposes a separating hyperplane, or examples that exclude one, with a convex program in floating point over a few
//! examples. The caller checks the proposal exactly.
//!
//! The vectors a_i are the examples times their labels, scaled to length 1. The program minimises |w|^2 / 2 - t subject
//! to a_i.w >= t on the examples that need a.w > 0, and a_i.w >= 0 on the others. Its dual seeks the point nearest to 0
//! in the convex hull of the first kind plus the cone of the second. This point is w, and the multipliers are its
//! coordinates. If a separating hyperplane exists, w is the one of largest margin over the a_i. Otherwise w is 0, and
//! the multipliers name the examples that exclude every separator. We chose this form because it is feasible and
//! bounded in both cases, and interior-point solvers are weakest on infeasible input.
//!
//! If the multipliers name many examples, [`vertex`] reduces them to a few by a linear program.

use crate::learners::engine::run::{Interrupt, Run};

use super::interior_point::{Constraint, Proposal, minimise};

/// Proposes a hyperplane and multipliers for the rows a_i. The flag of a row tells whether it needs a.w > 0, and at
/// least one row must. The result is `None` if the solver finds nothing usable.
///
/// # Errors
/// Returns the interrupt if the run stops.
pub fn nearest_point(rows: &[(Vec<f64>, bool)], run: &Run) -> Result<Option<Proposal>, Interrupt> {
    let coordinates = rows[0].0.len();
    let constraints: Vec<Constraint> = rows.iter().map(|row| constraint(row, 0.0)).collect();
    let proposal = minimise(coordinates, &raise_t(coordinates), &constraints, run)?;
    Ok(proposal.map(|mut proposal| {
        proposal.variables.truncate(coordinates);
        proposal
    }))
}

/// Proposes multipliers for rows that exclude every separator, with few of them positive.
///
/// The linear program maximises t subject to a_i.w >= t + c_i (or c_i), with c_i between 0 and 1. All multipliers
/// that exclude separators are feasible in its dual. The c_i are in general position, so the optimum is a single
/// vertex, which has at most one more positive multiplier than coordinates.
///
/// # Errors
/// Returns the interrupt if the run stops.
pub fn vertex(rows: &[(Vec<f64>, bool)], run: &Run) -> Result<Option<Proposal>, Interrupt> {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let coordinates = rows[0].0.len();
    let unequal = |(row, index): (&(Vec<f64>, bool), u32)| {
        let multiple = f64::from(index) * GOLDEN;
        constraint(row, multiple - libm::floor(multiple))
    };
    let constraints: Vec<Constraint> = rows.iter().zip(1..).map(unequal).collect();
    minimise(0, &raise_t(coordinates), &constraints, run)
}

/// The constraint a.w >= t + least, or a.w >= least. The last variable is t.
fn constraint((values, is_strict): &(Vec<f64>, bool), least: f64) -> Constraint {
    // Only the direction of a row matters.
    let norm = libm::sqrt(values.iter().map(|x| x * x).sum());
    let has_direction = norm > 0.0 && norm.is_finite();
    let scale = if has_direction { norm } else { 1.0 };
    let mut values: Vec<f64> = values.iter().map(|value| value / scale).collect();
    values.push(if *is_strict { -1.0 } else { 0.0 });
    Constraint { values, least }
}

/// The objective that maximises t.
fn raise_t(coordinates: usize) -> Vec<f64> {
    let mut linear = vec![0.0; coordinates];
    linear.push(-1.0);
    linear
}
