//! The conversion of kernel hypotheses to their document and back.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use halfspace_core::learners::kernel::conjunction_kernel::{Conjunctions, Kernel};
use halfspace_core::learners::kernel::kernel_expansion::KernelExpansion;

use super::support_bits;

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
    /// The bits of the example, one character per feature. Absent if `ones` lists them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, pattern = "^[01]+$")]
    pub x: Option<String>,
    /// The numbers of the features that are 1, from 0 and ascending, if they are few.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub ones: Option<Vec<u32>>,
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
    let mut words = Vec::new();
    let vector = |index| {
        let (x, ones) =
            support_bits::write(expansion.kernel().n(), expansion.row(index, &mut words));
        let y = if expansion.is_positive(index) { 1 } else { -1 };
        SupportVector { x, ones, y }
    };
    (0..expansion.len()).map(vector).collect()
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
        let bits = support_bits::read(n, vector.x.as_deref(), vector.ones.as_deref())
            .map_err(|fault| format!("support vector {number}: {fault}"))?;
        if !matches!(vector.y, 1 | -1) {
            return Err(format!(
                "support vector {number}: its label is neither 1 nor -1"
            ));
        }
        let pushed = expansion.push(bits.as_bits(), vector.y == 1);
        pushed.map_err(|limit| limit.to_string())?;
    }
    Ok(expansion)
}
