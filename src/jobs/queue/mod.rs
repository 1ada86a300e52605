//! The queue: from a submitted job to its stored end.
//!
//! - [`submit`] stores a job, or computes the job at once for a waiting client. [`subjobs`] stores a job with subjobs.
//! - [`scheduler`] claims jobs for free permits, and [`worker`] computes a claimed job under a lease, which
//!   [`lease_renewer`] renews.
//! - [`compute`] is one computation in a thread of low priority, and [`completion`] the form of its end in the store.
//! - [`checkpoints`] stores states of running jobs. [`yielding`] and [`parking`] hand a permit to another job and
//!   back. [`shares`] counts the seconds of owners.
//! - [`free_permits`] lends free permits to threads that help a computation.
//! - [`hub`] wakes those who wait for a job in this process.
//! - [`place`] explains to clients why a job waits.

pub(super) mod checkpoints;
pub(super) mod completion;
pub(super) mod compute;
pub(super) mod free_permits;
pub(super) mod hub;
pub(super) mod lease_renewer;
pub(super) mod parking;
pub(super) mod place;
pub(super) mod scheduler;
pub(super) mod shares;
pub(super) mod subjobs;
pub(super) mod submit;
pub(super) mod worker;
pub(super) mod yielding;
