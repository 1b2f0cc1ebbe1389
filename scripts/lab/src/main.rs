//! The lab: runs experiments with the two programs and says what they showed. What it does is in
//! the library beside this file.

use std::process::ExitCode;

fn main() -> ExitCode {
    echo_lab::program()
}
