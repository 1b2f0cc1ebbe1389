//! Where the outputs of a run go: each is written whatever becomes of the others.

use crate::kit::{Client, Ended, HANG, PROGRAM, Peer, check_sums, outcome, with_peer};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::Value;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::thread;

/// The end of a run of 20 calls with the report as text.
fn run_to(outputs: &str) -> Ended {
    let peer = Peer::echo();
    let fixed = format!("--server {} --server-stats off -n 20", peer.address);
    Client::start(&format!("{fixed} {outputs}")).end()
}

fn json_of(text: &str) -> Value {
    let json = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    check_sums(&json);
    json
}

/// A histogram on a full disk took the whole report with it.
#[test]
fn an_output_that_fails_takes_no_other_with_it() {
    let full = "/dev/full";
    for failing in [&["-o"][..], &["--hgrm"], &["--hlog"], &["-o", "--hgrm", "--hlog"]] {
        let folder = tempfile::tempdir().unwrap();
        let place = |option: &str| folder.path().join(option.trim_start_matches('-'));
        let outputs: Vec<String> = ["-o", "--hgrm", "--hlog"]
            .map(|option| match failing.contains(&option) {
                true => format!("{option} {full}"),
                false => format!("{option} {}", place(option).display()),
            })
            .into();
        let ended = run_to(&outputs.join(" "));
        assert_eq!(ended.code, Some(74), "{failing:?}: {ended:?}");
        assert!(ended.stdout.contains("Successful executions: 20"), "{failing:?}: {ended:?}");
        assert_eq!(ended.stderr.matches(full).count(), failing.len(), "each is named: {ended:?}");
        for option in ["-o", "--hgrm", "--hlog"] {
            assert_eq!(place(option).exists(), !failing.contains(&option), "{failing:?}");
        }
        if !failing.contains(&"-o") {
            json_of(&fs::read_to_string(place("-o")).unwrap());
        }
    }
}

#[test]
fn a_standard_output_that_fails_takes_no_file_with_it() {
    let (peer, folder) = (Peer::echo(), tempfile::tempdir().unwrap());
    let [json, hgrm] = ["json", "hgrm"].map(|name| folder.path().join(name));
    let script = format!(
        "exec \"$0\" --server {} -n 20 -o {} --hgrm {} --hlog /dev/full >/dev/full",
        peer.address,
        json.display(),
        hgrm.display()
    );
    let ended = Client::spawn(Command::new("sh").args(["-c", &script, PROGRAM])).end();
    assert_eq!(ended.code, Some(74), "{ended:?}");
    assert!(ended.stderr.contains("standard output") && ended.stderr.contains("/dev/full"));
    json_of(&fs::read_to_string(json).unwrap());
    assert!(fs::read_to_string(hgrm).unwrap().contains("Total count    =           20]"));
}

/// The report was lost without a word: std drops what goes to a closed standard output.
#[test]
fn a_standard_output_that_takes_nothing_is_seen_before_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report");
    let run = |outputs: &str| {
        let peer = Peer::echo();
        let script = format!(
            "exec \"$0\" --server {} --server-stats off --progress none -n 20 {}",
            peer.address,
            outputs.replace("REPORT", &file.display().to_string())
        );
        let ended = Client::spawn(Command::new("sh").args(["-c", &script, PROGRAM])).end();
        (ended, peer.connections.load(Ordering::SeqCst))
    };
    for unfit in ["1</dev/null", "--format json 1</dev/null", "-o REPORT 1</dev/null"] {
        let (ended, connections) = run(unfit);
        assert_eq!((ended.code, connections), (Some(74), 0), "{unfit}: {ended:?}");
        let line = "error: cannot write to standard output: it is not open for writing";
        assert_eq!(ended.stderr.trim_end(), line, "{unfit}");
    }
    // It cannot be told from the null device as Python and Node open it, where all is well.
    for closed in [">&-", ">&- <&-", "--format json >&-", "1<>/dev/null"] {
        let (ended, _) = run(closed);
        assert_eq!(ended.code, Some(0), "{closed}: {ended:?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{closed}: {ended:?}");
        assert!(ended.stderr.starts_with("warning: standard output is closed or"), "{ended:?}");
    }
    for nothing_is_lost in
        [">/dev/null", ">>/dev/null", "-o REPORT >&-", "--format json -o REPORT 1</dev/null"]
    {
        let (ended, _) = run(nothing_is_lost);
        assert_eq!((ended.code, &*ended.stderr), (Some(0), ""), "{nothing_is_lost}");
        if nothing_is_lost.contains("REPORT") {
            json_of(&fs::read_to_string(&file).unwrap());
        }
    }
}

fn pipe_in(folder: &Path) -> PathBuf {
    let path = folder.join("pipe");
    mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    path
}

/// The try before the run was the end for the pipe's reader, and the report found none.
#[test]
fn the_reader_of_a_pipe_gets_the_whole_of_each_output() {
    for option in ["-o", "--hgrm", "--hlog"] {
        let folder = tempfile::tempdir().unwrap();
        let path = pipe_in(folder.path());
        let (sender, read) = mpsc::channel();
        let pipe = path.clone();
        thread::spawn(move || sender.send(fs::read_to_string(pipe).unwrap()));
        let ended = run_to(&format!("{option} {}", path.display()));
        assert_eq!(ended.code, Some(0), "{option}: {ended:?}");
        assert!(ended.stdout.contains("Successful executions: 20"));
        let text = read.recv_timeout(HANG).unwrap();
        match option {
            "-o" => assert_eq!(outcome(&json_of(&text), "ok"), 20),
            "--hgrm" => assert!(text.contains("Total count    =           20]"), "{text}"),
            _ => assert!(text.contains(",HISTF"), "{text}"),
        }
    }
}

#[test]
fn one_signal_ends_a_client_whose_pipe_nobody_opens() {
    let peer = Peer::echo();
    let folder = tempfile::tempdir().unwrap();
    let path = pipe_in(folder.path());
    let client = Client::start(&with_peer(&peer, &format!("-n 20 -o {}", path.display())));
    client.signal("TERM");
    let ended = client.end();
    assert_eq!(ended.code, None, "the signal itself: {ended:?}");
    assert_eq!(peer.connections.load(Ordering::SeqCst), 0);
}

#[test]
fn one_signal_ends_a_client_whose_pipe_nobody_empties() {
    let peer = Peer::echo();
    let folder = tempfile::tempdir().unwrap();
    let path = pipe_in(folder.path());
    // A report that is longer than what a pipe holds.
    let arguments = format!("-n 600 --clients 600 --workers 600 -o {}", path.display());
    let client = Client::start(&with_peer(&peer, &arguments));
    let mut pipe = File::open(&path).unwrap();
    pipe.read_exact(&mut [0]).unwrap();
    // Its run is over: it writes.
    client.signal("TERM");
    let ended = client.end();
    assert_eq!(ended.code, Some(143), "{ended:?}");
    assert!(ended.stderr.contains("before everything was written"), "{ended:?}");
}

#[test]
fn two_outputs_in_one_file_are_refused_however_it_is_spelled() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.json");
    fs::create_dir(folder.path().join("sub")).unwrap();
    let again = folder.path().join("sub/../a.json");
    let check = |one: &str, other: &str, arguments: &str| {
        let peer = Peer::echo();
        let client = Client::start(&format!("--server {} -n 5 {arguments}", peer.address));
        let ended = client.end();
        assert_eq!(ended.code, Some(2), "{arguments}: {ended:?}");
        for part in [one, other, "allowed: one file for each"] {
            assert!(ended.stderr.contains(part), "{part}: {ended:?}");
        }
        assert_eq!(peer.connections.load(Ordering::SeqCst), 0);
    };
    let (first, second) = (file.display(), again.display());
    for text in [None, Some("what was there")] {
        text.iter().for_each(|text| fs::write(&file, text).unwrap());
        check("--output", "--hlog", &format!("-o {first} --hlog {second}"));
        check("--output", "--hgrm", &format!("-o {second} --hgrm {first}"));
        check("--hgrm", "--hlog", &format!("--hgrm {first} --hlog {first}"));
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "what was there");
    let pipe = pipe_in(folder.path());
    check("--output", "--hlog", &format!("-o {0} --hlog {0}", pipe.display()));
}

#[test]
fn the_file_of_standard_output_is_not_replaced_by_another_output() {
    let (peer, folder) = (Peer::echo(), tempfile::tempdir().unwrap());
    let file = folder.path().join("report");
    let run = |outputs: &str| {
        let script = format!(
            "exec \"$0\" --server {} --server-stats off --progress none -n 20 {outputs} >{}",
            peer.address,
            file.display()
        );
        Client::spawn(Command::new("sh").args(["-c", &script, PROGRAM])).end()
    };
    for option in ["-o", "--hgrm", "--hlog"] {
        let ended = run(&format!("{option} {}", file.display()));
        assert_eq!(ended.code, Some(2), "{option}: {ended:?}");
        assert!(ended.stderr.contains("standard output"), "{ended:?}");
    }
    let ended = run(&format!("--format json -o {}", file.display()));
    assert_eq!(ended.code, Some(0), "nothing else goes there: {ended:?}");
    json_of(&fs::read_to_string(&file).unwrap());
}
