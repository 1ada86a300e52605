//! The program `halfspace`. The library holds all code, so that the compiler works on the code once and on all
//! cores.

use std::process::ExitCode;

fn main() -> ExitCode {
    halfspace::commands::main()
}
