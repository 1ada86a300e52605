//! The form of a fault test, short or long, and the seed of its random choices.

use std::env;

#[derive(Clone, Copy, Debug)]
pub struct Scale {
    long: bool,
    seed: u64,
}

impl Scale {
    #[expect(clippy::disallowed_methods, reason = "no setting of the service")]
    /// `HALFSPACE_FAULTS=long` selects the long form. `HALFSPACE_FAULTS_SEED` replaces the seed 1.
    pub fn from_environment() -> Self {
        let long = env::var("HALFSPACE_FAULTS").is_ok_and(|form| form == "long");
        let seed = env::var("HALFSPACE_FAULTS_SEED").map_or(1, |seed| {
            seed.parse()
                .expect("HALFSPACE_FAULTS_SEED is a whole number")
        });
        Self { long, seed }
    }

    /// `long` in the long form, `short` otherwise.
    pub fn of<T>(self, short: T, long: T) -> T {
        if self.long { long } else { short }
    }

    pub fn seed(self) -> u64 {
        self.seed
    }
}

/// Prints one line of the table of counts, which `scripts/faults` collects.
pub fn report(fault: &str, counts: &str) {
    println!("FAULT {fault}: {counts}");
}
