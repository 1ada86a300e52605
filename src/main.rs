//! The program `halfspace`. All code is in the library, which the compiler can then build once and on all cores.

use std::process::ExitCode;

fn main() -> ExitCode {
    halfspace::commands::main()
}
