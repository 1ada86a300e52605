//! The conversion of kernel hypotheses to their document and back.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use halfspace_core::bits::BitVector;
use halfspace_core::learners::kernel::conjunction_kernel::{Conjunctions, Kernel};
use halfspace_core::learners::kernel::kernel_expansion::KernelExpansion;
use halfspace_core::learners::sample::block::RowBits;

/// The conjunctions that a kernel counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct KernelDocument {
    /// All conjunctions, or those without negated literals.
    pub conjunctions: Conjunctions,
    /// The largest number of literals of a conjunction; null for any number.
    #[schema(minimum = 1)]
    pub max_literals: Option<u64>,
}

/// A mistake of the learner. The same example may occur several times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SupportVector {
    /// The bits of the example.
    #[schema(pattern = "^[01]+$")]
    pub x: String,
    /// The label: 1 or -1.
    #[schema(minimum = -1, maximum = 1)]
    pub y: i8,
}

/// The kernel of an expansion.
pub(super) fn kernel_document(expansion: &KernelExpansion) -> KernelDocument {
    KernelDocument {
        conjunctions: expansion.kernel().conjunctions(),
        max_literals: expansion.kernel().max_literals(),
    }
}

/// The support vectors of an expansion in their order.
pub(super) fn support_document(expansion: &KernelExpansion) -> Vec<SupportVector> {
    let vectors = (0..expansion.len()).map(|index| SupportVector {
        x: bit_string(expansion, index),
        y: if expansion.is_positive(index) { 1 } else { -1 },
    });
    vectors.collect()
}

fn bit_string(expansion: &KernelExpansion, index: usize) -> String {
    let (n, mut row, mut packed) = (expansion.kernel().n(), Vec::new(), Vec::new());
    let words = expansion.row(index, &mut row).packed(n, &mut packed);
    BitVector::from_words(n, words.to_vec()).to_bit_string()
}

/// Makes the expansion of a document.
///
/// # Errors
/// A description of the fault.
pub(super) fn expansion(
    n: usize,
    kernel: &KernelDocument,
    support: &[SupportVector],
) -> Result<KernelExpansion, String> {
    if n == 0 {
        return Err("n is 0".to_owned());
    }
    if kernel.max_literals == Some(0) {
        return Err("max_literals is 0".to_owned());
    }
    let kernel =
        Kernel::new(n, kernel.conjunctions, kernel.max_literals).map_err(|e| e.to_string())?;
    let mut expansion = KernelExpansion::new(kernel);
    for (vector, number) in support.iter().zip(1..) {
        let bits = BitVector::from_bit_string(vector.x.as_bytes()).map_err(|at| {
            let place = at + 1;
            format!("support vector {number}: character {place} is neither 0 nor 1")
        })?;
        if bits.n() != n {
            let given = bits.n();
            return Err(format!(
                "support vector {number} has {given} bits, but n is {n}"
            ));
        }
        if !matches!(vector.y, 1 | -1) {
            return Err(format!(
                "support vector {number}: its label is neither 1 nor -1"
            ));
        }
        let pushed = expansion.push(RowBits::Packed(bits.words()), vector.y == 1);
        pushed.map_err(|limit| limit.to_string())?;
    }
    Ok(expansion)
}
