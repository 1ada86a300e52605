//! Generated data: the examples and the plan that a request and a seed define.

use halfspace_core::learners::engine::random::Seed;
use halfspace_core::learners::engine::run::Run;
use halfspace_core::learners::sample::data::Data;
use halfspace_core::learners::sample::generate::{Generated, Plan};
use halfspace_core::memory;
use halfspace_formats::{Assume, GeneratedSpec};

/// Draws the examples that a finite plan and a seed define, exactly as a job with this seed would.
///
/// Also returns their distribution if they are clean examples of binary weights, because a confidence may be claimed
/// only for those.
///
/// # Errors
/// If the plan has no count, if the examples would take more than `bytes_max`, or if the work on this thread has too
/// little memory or time.
pub fn draw(
    spec: &GeneratedSpec,
    seed: u64,
    bytes_max: u64,
) -> Result<(Data, Option<Assume>), String> {
    let Some(count) = spec.count else {
        return Err("the generated examples are unlimited; set a count to store them".to_owned());
    };
    let bytes = count.saturating_mul(spec.n.div_ceil(64) as u64 * 8);
    if bytes > bytes_max {
        return Err(format!(
            "{count} examples take {bytes} bytes, more than state_bytes_max: {bytes_max}"
        ));
    }
    memory::need(bytes).map_err(|full| full.to_string())?;
    let plan = plan(spec, Seed(seed));
    let is_clean = plan.is_clean() && plan.target.binary_weights().is_some();
    let run = Run::default();
    let data = Generated::materialise(plan, Seed(seed), &run);
    if run.stop.raised().is_some() {
        return Err("the memory or the time for the examples ended".to_owned());
    }
    Ok((data, is_clean.then_some(spec.sampling.into())))
}

/// The plan of generated data. A target that the request leaves out is drawn from the seed.
pub(super) fn plan(spec: &GeneratedSpec, seed: Seed) -> Plan {
    Plan {
        target: spec.target.concept(spec.n, seed),
        sampling: spec.sampling,
        count: spec.count,
        noise: spec.noise,
        density: spec.density,
    }
}
