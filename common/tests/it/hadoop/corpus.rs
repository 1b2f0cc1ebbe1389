//! The inputs of the fuzz targets, as ordinary tests.

use super::kit::Recording;
use super::promises::{check_cut_conversation, check_cut_replies, check_packet, check_preamble};
use std::path::PathBuf;

fn replay(target: &str, check: impl Fn(&[u8])) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut count = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        check(&std::fs::read(entry.unwrap().path()).unwrap());
        count += 1;
    }
    assert!((10..=200).contains(&count), "{count} inputs in {}", folder.display());
}

#[test]
fn the_inputs_of_the_preamble_target() {
    replay("hadoop_preamble", check_preamble);
}

#[test]
fn the_inputs_of_the_request_target() {
    replay("hadoop_request", check_packet);
}

#[test]
fn the_inputs_of_the_response_target() {
    replay("hadoop_response", check_cut_replies);
}

#[test]
fn the_inputs_of_the_conversation_target() {
    replay("hadoop_conversation", check_cut_conversation);
}

/// The recordings too, with the sizes of pieces in front of them.
#[test]
fn the_recordings_as_inputs_of_the_stream_targets() {
    for recording in Recording::all() {
        let cut = |stream: Vec<Vec<u8>>| [&[3, 1, 0, 7][..], &stream.concat()].concat();
        check_cut_conversation(&cut(recording.to_server));
        check_cut_replies(&cut(recording.to_client));
    }
}
