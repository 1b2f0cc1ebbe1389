//! What options mean, without a process.

use super::*;
use crate::hadoop::Busy;
use clap::CommandFactory;
use echo_common::wire::hadoop::fault::Package;
use echo_common::wire::hadoop::service::OmPayload;

fn plan(arguments: &[&str], cpus: &[usize]) -> Plan {
    let arguments = [&["echo-server"], arguments].concat();
    let options = Options::try_parse_from(arguments).expect("legal options");
    options.plan(cpus).expect("options that fit this machine")
}

#[test]
fn the_definition_is_sound() {
    Options::command().debug_assert();
}

#[test]
fn x01_the_defaults_are_those_that_are_promised() {
    let plan = plan(&[], &[0, 1]);
    let config = &plan.config;
    assert_eq!(config.address, SocketAddr::from(([127, 0, 0, 1], 9862)));
    assert_eq!(config.readers, 1);
    let usable = pinning::usable_cpus(&[0, 1]);
    assert_eq!(config.handlers, usable);
    assert_eq!((config.reader_cpus.len(), config.handler_cpus.len()), (0, usable));
    assert_eq!(config.assign, Assign::RoundRobin);
    assert_eq!(config.limits.when_full, WhenFull::Wait);
    assert_eq!(config.limits.queue_capacity, 1000.max(100 * usable));
    assert_eq!(config.limits.max_frame_size, FRAME_MAX_DEFAULT);
    assert_eq!(config.limits.max_packet_size, Some(PACKET_MAX_DEFAULT));
    let hadoop = &config.hadoop;
    assert_eq!((hadoop.package, hadoop.busy), (Package::Ipc, Busy::Error));
    assert!(hadoop.services.echo.is_empty());
    assert_eq!(hadoop.services.om_payload, OmPayload::AsAsked);
    assert_eq!(config.limits.max_owed_bytes, 4 << 20);
    assert_eq!(config.limits.calls_per_connection, 1024);
    assert_eq!(config.limits.handshake_timeout, Some(Duration::from_secs(10)));
    assert_eq!(config.limits.frame_timeout, Some(Duration::from_secs(60)));
    assert_eq!(config.limits.write_stall_timeout, Some(Duration::from_secs(60)));
    assert_eq!(config.limits.idle_timeout, None);
    assert!(config.allow.is_empty() && config.remote_stats && !config.costs.are_emulated());
    assert!(!plan.notes.iter().any(|note| note.contains("warning")), "{:?}", plan.notes);
}

#[test]
fn pins_go_round_the_cpus_in_the_order_of_the_list() {
    let cpus = [2, 5, 7];
    let check = |arguments: &[&str], readers: &[usize], handlers: &[usize]| {
        let arguments = [&["--readers", "2", "--handlers", "4"], arguments].concat();
        let config = plan(&arguments, &cpus).config;
        assert_eq!(config.reader_cpus, readers, "{arguments:?}");
        assert_eq!(config.handler_cpus, handlers, "{arguments:?}");
    };
    check(&["--pin", "none"], &[], &[]);
    check(&["--pin", "handlers"], &[], &[2, 5, 7, 2]);
    check(&["--pin", "all"], &[2, 5], &[2, 5, 7, 2]);
    check(&["--pin"], &[2, 5], &[2, 5, 7, 2]);
    check(&["--pin", "all", "--cpus", "7,2"], &[7, 2], &[7, 2, 7, 2]);
}

#[test]
fn cpus_outside_the_mask_are_named() {
    let options = Options::try_parse_from(["echo-server", "--cpus", "2,3"]).expect("legal");
    let why = options.plan(&[2, 5]).err().expect("a refusal");
    assert!(why.contains("--cpus") && why.contains("CPU 3") && why.contains("2,5"), "{why}");
}

#[test]
fn more_threads_than_cpus_are_said() {
    let notes = plan(&["--readers", "10", "--handlers", "4"], &[3]).notes;
    assert!(notes.iter().any(|note| note.contains("14 threads")), "{notes:?}");
    let notes = plan(&["--handlers", "0"], &[3]).notes;
    assert!(!notes.iter().any(|note| note.contains("threads (")), "{notes:?}");
}
