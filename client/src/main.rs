//! echo-client; what it does is in the library beside this file.

use std::process::ExitCode;

fn main() -> ExitCode {
    echo_client::program()
}
