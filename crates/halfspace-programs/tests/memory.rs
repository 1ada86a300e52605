//! The memory that writing a program takes: at most a small multiple of the longest program, whatever the hypothesis,
//! and never more than the budget grants.

use std::alloc::System;

use halfspace_core::bits::BitVector;
use halfspace_core::learners::arithmetic::decimal::Decimal;
use halfspace_core::learners::arithmetic::power_sum::Base;
use halfspace_core::learners::hypothesis::Hypothesis;
use halfspace_core::learners::kernel::conjunction_kernel::{Conjunctions, Kernel};
use halfspace_core::learners::kernel::kernel_expansion::KernelExpansion;
use halfspace_core::learners::linear::linear_weights::{
    IntegerWeights, LinearWeights, Reading, RealWeights,
};
use halfspace_core::learners::sample::block::RowBits;
use halfspace_core::learners::winnow::winnow_weights::WinnowWeights;
use halfspace_core::memory::{CountingAllocator, MemoryBudget};
use halfspace_formats::{ColumnKind, StatedColumn, TableEncoding};
use halfspace_programs::{Language, NoProgram, Program, Rows, SOURCE_BYTES_MAX};

#[global_allocator]
static ALLOCATOR: CountingAllocator<System> = CountingAllocator(System);

/// Peak memory of an export, as a multiple of the longest program.
const PEAK_MAX: u64 = 6;

fn integers(n: usize) -> Hypothesis {
    let weights = IntegerWeights::new(Reading::Signed, vec![1 << 40; n], None);
    Hypothesis::Linear(LinearWeights::Integer(weights))
}

fn kernel(n: usize, literals: Option<u64>, vectors: usize, ones: usize) -> Hypothesis {
    let kernel = Kernel::new(n, Conjunctions::Monotone, literals).expect("a kernel");
    let mut expansion = KernelExpansion::new(kernel);
    for vector in 0..vectors {
        let mut example = BitVector::zeros(n);
        (0..ones).for_each(|at| example.set((at + vector * 7) % n, true));
        expansion
            .push(RowBits::Packed(example.words()), vector % 3 > 0)
            .expect("room");
    }
    Hypothesis::Kernel(expansion)
}

fn winnow(n: usize, most: i32) -> Hypothesis {
    let base = Base::of_decimal(&Decimal::parse("1.1").expect("a decimal")).expect("a base");
    let exponents = (0..n as i32).map(|at| at % most - most / 2).collect();
    let theta = Decimal::parse("3.5").expect("a decimal");
    Hypothesis::Winnow(WinnowWeights::new(base, theta, n, exponents))
}

#[test]
fn program_generation_takes_a_small_multiple_of_the_limit() {
    let real = RealWeights::new(Some(Reading::Signed), vec![0.1; 1 << 20], None);
    let hypotheses = [
        integers(1 << 20),
        integers(1 << 17),
        integers(1_500),
        Hypothesis::BinaryWeights(BitVector::zeros(1 << 20)),
        Hypothesis::Linear(LinearWeights::Real(real)),
        winnow(1 << 20, 3),
        winnow(1 << 10, 1 << 10),
        kernel(1 << 20, Some(2), 4, 1 << 20),
        kernel(1 << 20, Some(2), 64, 1 << 18),
        kernel(1_000, Some(3), 2_000, 900),
        kernel(60, None, 20_000, 30),
    ];
    let mut states = 0;
    for (at, hypothesis) in hypotheses.iter().enumerate() {
        for language in Language::ALL {
            states += usize::from(peak(
                hypothesis,
                None,
                language,
                &format!("hypothesis {at}"),
            ));
        }
    }
    let values = (0..400_000).map(|at| at.to_string()).collect();
    let columns = vec![
        StatedColumn {
            name: "v".to_owned(),
            kind: ColumnKind::Nominal { values },
            missing: true,
            scale: None,
            fill: None,
        },
        StatedColumn {
            name: "t".to_owned(),
            kind: ColumnKind::Thermometer {
                thresholds: (0..50_000).map(|at| f64::from(at) / 3.0).collect(),
            },
            missing: false,
            scale: None,
            fill: None,
        },
    ];
    let table = TableEncoding::stated(columns, None).expect("columns");
    let hypothesis = integers(450_001);
    for language in Language::ALL {
        states += usize::from(peak(&hypothesis, Some(&table), language, "a table"));
    }
    assert!(states > 10, "{states} programs");
}

/// Writes a program under a budget. Returns whether there is a program.
fn peak(
    hypothesis: &Hypothesis,
    table: Option<&TableEncoding>,
    language: Language,
    name: &str,
) -> bool {
    let predictor = hypothesis.clone().into();
    let program = Program {
        title: "a test",
        predictor: &predictor,
        rows: table.map_or(Rows::Numbers(None), Rows::Table),
        classes: None,
    };
    let budget = MemoryBudget::new(1 << 30);
    let grant = budget.try_take(0).expect("room");
    let source = grant.within(|| program.source(language));
    let most = PEAK_MAX * SOURCE_BYTES_MAX as u64;
    assert!(
        grant.peak() < most,
        "{name}, {language:?}: {} bytes",
        grant.peak()
    );
    // Almost all bytes were requested before they were allocated.
    assert!(
        grant.peak() < grant.bytes() + (2 << 20),
        "{name}, {language:?}: {} of {}",
        grant.peak(),
        grant.bytes()
    );
    match source {
        Ok(source) => assert!(source.len() <= SOURCE_BYTES_MAX),
        Err(NoProgram::Inexact(inexact)) => {
            assert!(!inexact.limit.is_empty());
            return false;
        }
        Err(NoProgram::NoMemory(full)) => panic!("{name}, {language:?}: {full}"),
    }
    let small = MemoryBudget::new(1 << 20);
    let grant = small.try_take(0).expect("room");
    let refused = grant.within(|| program.source(language));
    if let Ok(source) = refused {
        assert!(source.len() < 1 << 20, "{name}, {language:?}");
    }
    true
}
