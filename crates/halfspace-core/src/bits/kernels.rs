//! The choice, for the whole process, between the builds of the kernels, and the instruction sets to compile them for.

use std::sync::atomic::{AtomicU8, Ordering};

/// The builds of the kernels that a process can use. Both give the same results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kernels {
    /// The build for the best instruction set that the machine has.
    #[default]
    Detected,
    /// The scalar twins that specify the kernels.
    Scalar,
}

static IN_USE: AtomicU8 = AtomicU8::new(Kernels::Detected as u8);

/// Switches every kernel of this process, in all threads, to one kind of build.
pub fn use_kernels(kernels: Kernels) {
    IN_USE.store(kernels as u8, Ordering::Relaxed);
}

/// Returns the kind of build in use.
#[inline]
pub fn kernels() -> Kernels {
    if IN_USE.load(Ordering::Relaxed) == Kernels::Scalar as u8 {
        Kernels::Scalar
    } else {
        Kernels::Detected
    }
}

/// Compiles a function for each instruction set and selects one at run time.
///
/// The baseline of x86-64 lacks even a population count, so without this macro a kernel is several times slower. The
/// macro adds the baseline build itself, which on aarch64 includes NEON.
macro_rules! multiversioned {
    ($function:item) => {
        #[multiversion::multiversion(targets(
            "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl+avx512vpopcntdq+avx2+bmi1+bmi2+lzcnt+popcnt",
            "x86_64+avx2+bmi1+bmi2+lzcnt+popcnt",
        ))]
        $function
    };
}

pub(crate) use multiversioned;

/// Tests that change the switch hold this lock, so that no other test changes it meanwhile.
#[cfg(test)]
pub(crate) static SWITCH: std::sync::Mutex<()> = std::sync::Mutex::new(());

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::{
        BLOCK_ROWS, BitMatrix, BlockBuffer, ColumnWeights, Comparison, Lanes, Shared, Tally,
        add_column_sums, add_powers, add_selected, add_signed, disagreements, first_over,
        intersections, limbs, pack_ascii, row_sums, rows_over, select_bit, selected_sum,
    };

    /// Returns the results of every public kernel on one random block.
    fn results(n: usize, rows: usize) -> Vec<u64> {
        let mut buffer = BlockBuffer::new(n);
        buffer.draw(rows, &mut Lanes::from_seed(5));
        buffer.reflect_rows(0x00ff_0f0f_5555_1234);
        let (block, mut row) = (buffer.as_block(), vec![0; n.div_ceil(64)]);
        block.copy_row(rows / 2, &mut row);
        let mut matrix = BitMatrix::new(n);
        matrix.push_block(block);
        let (mut distances, mut common) = ([0; BLOCK_ROWS], [0; BLOCK_ROWS]);
        disagreements(block, &row, &mut distances);
        intersections(block, &row, &mut common);
        let limit = n as u32 / 2;
        let first = first_over(block, 1..rows, &row, limit, 0b1010).unwrap_or(rows);
        let mut tally = Tally::new(n);
        tally.add(block, 0..rows);
        tally.add(block, rows / 3..rows / 2);
        let compared: Vec<Comparison> = tally.compare(rows as u32 / 2).collect();
        let mut powers = limbs(n);
        for shared in [Shared::Equal, Shared::Ones] {
            add_powers(
                &matrix,
                1..rows,
                &[0x5a5a_1234_ffff_0001],
                &row,
                shared,
                &mut powers,
            );
        }
        let mut weights: Vec<i64> = (0..n as i64).collect();
        add_selected(&mut weights, &row, 7);
        add_signed(&mut weights, &row, 1_000);
        let mut results = vec![rows_over(block, &row, limit, 0b1010), first as u64];
        results.extend(
            distances
                .iter()
                .chain(&common)
                .chain(tally.counts())
                .map(|&count| u64::from(count)),
        );
        results.extend(compared.iter().flat_map(|one| [one.at_least, one.equal]));
        let powers = powers.as_flattened().iter();
        results.extend(powers.chain(&weights).map(|sum| sum.cast_unsigned()));
        let narrow: Vec<i32> = (0..n as i32).map(|j| j * j - 999).collect();
        let (mut columns, mut signed) = (ColumnWeights::new(n), [0; BLOCK_ROWS]);
        columns.assign(&narrow);
        row_sums(block, &columns, &mut signed);
        let mut sums = vec![3; n];
        add_column_sums(block, &signed.map(|sum| sum % 1_000), &mut sums);
        results.extend(signed.iter().map(|&sum| i64::from(sum).cast_unsigned()));
        results.extend(sums.iter().map(|sum| sum.cast_unsigned()));
        results.push(selected_sum(&weights, &row).cast_unsigned());
        results.push(select_bit(&row, 2) as u64);
        let text: Vec<u8> = weights
            .iter()
            .map(|weight| b'0' + (weight & 1) as u8)
            .collect();
        assert_eq!(pack_ascii(&text, &mut row), Ok(()));
        results.extend(row);
        results.extend(matrix.words().iter());
        results
    }

    #[test]
    fn scalar_and_detected_kernels_give_the_same_results() {
        let _switch = SWITCH.lock();
        for (n, rows) in [(25, 64), (64, 3), (126, 64), (1_000, 50)] {
            let found = [Kernels::Scalar, Kernels::Detected].map(|chosen| {
                use_kernels(chosen);
                assert_eq!(kernels(), chosen);
                results(n, rows)
            });
            assert_eq!(found[0], found[1]);
        }
    }
}
