//! The data of jobs: datasets, the reads of stored data, and the space that uploads reserve.

pub(super) mod begun_dataset;
pub(super) mod datasets;
pub(super) mod reservations;
pub(super) mod stored;
