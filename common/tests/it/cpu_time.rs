//! CPU time is that of the thread or process it is asked for.

use echo_common::cpu_time::{
    context_switches, current_thread_id, process_context_switches, process_cpu_ns, thread_cpu_ns,
    thread_times,
};
use std::hint::black_box;
use std::sync::mpsc::channel;
use std::thread;

fn burn_a_millisecond() {
    let start = thread_cpu_ns();
    while thread_cpu_ns() < start + 1_000_000 {
        (0..1000u64).for_each(|i| {
            black_box(i);
        });
    }
}

#[test]
fn a_threads_work_is_in_its_own_time_and_in_the_processs() {
    let before = process_cpu_ns();
    thread::spawn(burn_a_millisecond).join().unwrap();
    assert!(process_cpu_ns() - before >= 1_000_000, "an ended thread's time stays");
}

#[test]
fn a_living_thread_can_be_asked_for_and_an_ended_one_is_none() {
    let (tell, told) = channel();
    let (end, ended) = channel::<()>();
    let thread = thread::spawn(move || {
        burn_a_millisecond();
        tell.send(current_thread_id()).unwrap();
        // Ends with an error when the other side lets go.
        let _ = ended.recv();
    });
    let tid = told.recv().unwrap();
    assert_ne!(tid, current_thread_id());
    match thread_times(tid) {
        Some(times) => assert!(times.run_ns >= 1_000_000 && times.slices > 0, "{times:?}"),
        None => println!("skipped: this kernel does not count per thread"),
    }
    assert!(context_switches(tid).is_some());
    assert!(process_context_switches().is_some());
    drop(end);
    thread.join().unwrap();
    assert_eq!(thread_times(i32::MAX), None);
    assert_eq!(context_switches(i32::MAX), None);
}
