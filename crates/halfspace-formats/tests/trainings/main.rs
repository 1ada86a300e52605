//! Trainings over data as this crate reads and stores them: from memory, block by block, and interrupted.

mod checkpoints;
mod separability;
mod stored_examples;
