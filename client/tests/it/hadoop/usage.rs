//! Options of Hadoop RPC that are refused before any socket is opened.

use crate::kit::Client;

fn refused(arguments: &str, expected: &[&str]) {
    let ended = Client::start(&format!("--server 127.0.0.1:1 {arguments}")).end();
    assert_eq!((ended.code, &*ended.stdout), (Some(2), ""), "{arguments}: {ended:?}");
    for part in expected {
        assert!(ended.stderr.contains(part), "{arguments}: no {part:?} in {}", ended.stderr);
    }
}

#[test]
fn what_is_no_service_user_or_word_is_refused_with_what_is_allowed() {
    refused("--protocol hadop", &["--protocol", "native", "hadoop"]);
    refused("--protocol hadoop --service omm", &["--service", "om, test, or NAME:VERSION"]);
    refused("--protocol hadoop --service a.B:x", &["--service", "om, test, or NAME:VERSION"]);
    refused("--protocol hadoop --client-id mine", &["--client-id", "own", "shared"]);
    refused("--protocol hadoop --user=", &["--user", "allowed: 1 to 1024"]);
    refused("--protocol hadoop --max-reply-size 3GiB", &["--max-reply-size", "allowed:"]);
}

#[test]
fn options_of_one_protocol_are_refused_with_the_other() {
    refused("--service om", &["--service is for --protocol hadoop"]);
    refused("--user alice --protocol native", &["--user is for --protocol hadoop"]);
    refused("--protocol hadoop --stages 10", &["--stages is for --protocol native"]);
    let test = "--protocol hadoop --service test";
    refused(&format!("{test} --payload-resp 1k"), &["--payload-resp 1024", "allowed: 128"]);
    refused(&format!("{test} --hadoop-echo size"), &["--hadoop-echo is for --service om"]);
    refused("--protocol hadoop --payload-resp 128MiB", &["--max-reply-size 128MiB", "or 0"]);
}
