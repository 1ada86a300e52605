//! Which build of a kernel runs: the process-wide switch, and the list of instruction sets.

use std::sync::atomic::{AtomicU8, Ordering};

/// The builds of the kernels that a process may run on. Results are the same on both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kernels {
    /// The build for the best instruction set that the machine was found to have.
    #[default]
    Detected,
    /// The plain twins that specify the kernels.
    Scalar,
}

static IN_USE: AtomicU8 = AtomicU8::new(Kernels::Detected as u8);

/// Puts every kernel of this process, in all threads, on one kind of build.
pub fn use_kernels(kernels: Kernels) {
    IN_USE.store(kernels as u8, Ordering::Relaxed);
}

/// The kind of build in use.
#[inline]
pub fn kernels() -> Kernels {
    if IN_USE.load(Ordering::Relaxed) == Kernels::Scalar as u8 {
        Kernels::Scalar
    } else {
        Kernels::Detected
    }
}

/// Compiles a function for each instruction set and picks one when the program runs.
///
/// The baseline of x86-64 lacks even a population count, so that a kernel without this is several
/// times slower. Baselines (and with them NEON, which aarch64 always has) need no line.
macro_rules! multiversioned {
    ($function:item) => {
        #[multiversion::multiversion(targets(
            "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl+avx512vpopcntdq+avx2+bmi1+bmi2+lzcnt+popcnt",
            "x86_64+avx2+bmi1+bmi2+lzcnt+popcnt",
        ))]
        $function
    };
}

pub(super) use multiversioned;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::{BitVector, select_bit, selected_sum};

    #[test]
    fn the_switch_changes_the_build_and_not_the_result() {
        let row = BitVector::from_bit_string(b"1011").expect("bits");
        let results: Vec<_> = [Kernels::Scalar, Kernels::Detected]
            .into_iter()
            .map(|chosen| {
                use_kernels(chosen);
                assert_eq!(kernels(), chosen);
                (
                    selected_sum(&[1, 2, 4, 8], row.words()),
                    select_bit(row.words(), 1),
                )
            })
            .collect();
        assert_eq!(results, [(13, 2), (13, 2)]);
    }
}
