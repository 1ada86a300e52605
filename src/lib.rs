//! halfspace: learning as a service.

pub mod bits;
pub mod formats;
pub mod jobs;
pub mod learners;
pub mod records;
pub mod storage;
