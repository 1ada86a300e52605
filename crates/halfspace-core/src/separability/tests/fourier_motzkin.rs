//! Decides systems of homogeneous inequalities by the elimination of J. Fourier and T. S. Motzkin.
//!
//! The method is exact, simple and exponential, and it shares no idea with the code under test.

use std::collections::BTreeSet;

use num_integer::Integer;

/// Whether some w has a.w > 0 for the strict rows and a.w >= 0 for the others.
pub fn is_feasible(rows: impl IntoIterator<Item = (Vec<i128>, bool)>) -> bool {
    let mut rows: BTreeSet<(Vec<i128>, bool)> = rows.into_iter().map(normal).collect();
    let coordinates = rows.first().map_or(0, |(row, _)| row.len());
    for j in 0..coordinates {
        let (without, with): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.0[j] == 0);
        let (above, below): (Vec<_>, Vec<_>) = with.into_iter().partition(|row| row.0[j] > 0);
        rows = without.into_iter().collect();
        for (a, a_strict) in &above {
            for (b, b_strict) in &below {
                let sum = |k: usize| a[k] * -b[j] + b[k] * a[j];
                let row = (0..coordinates).map(sum).collect();
                rows.insert(normal((row, *a_strict || *b_strict)));
            }
        }
    }
    rows.iter().all(|(_, is_strict)| !is_strict)
}

fn normal((row, is_strict): (Vec<i128>, bool)) -> (Vec<i128>, bool) {
    let divisor = row.iter().fold(0, |gcd: i128, x| gcd.gcd(x)).max(1);
    (row.iter().map(|x| x / divisor).collect(), is_strict)
}
