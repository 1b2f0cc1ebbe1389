//! CPU lists, who goes where, and that pinning is believed only after a look at the mask.

use echo_common::pinning::{
    CPU_ID_END, CpuListError, PinError, allowed_cpus, check_inside, current_mask, format_cpu_list,
    parse_cpu_list, pin_current_thread, plan, usable_cpus,
};
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use std::collections::HashSet;
use std::thread;

fn check(text: &str, expected: &[usize]) {
    assert_eq!(parse_cpu_list(text).as_deref(), Ok(expected), "{text:?}");
}

fn check_refused(text: &str, expected: &str) {
    let error = parse_cpu_list(text).expect_err(text).to_string();
    assert!(error.contains(expected) && error.contains("allowed: "), "{text:?}: {error}");
    assert!(!error.contains('\n'), "{text:?}: {error}");
}

#[test]
fn lists_are_read_in_their_order() {
    check("0", &[0]);
    check("0-3,5", &[0, 1, 2, 3, 5]);
    check(" 7, 2-3 ", &[7, 2, 3]);
    check("4-4", &[4]);
    check("1023", &[1023]);
}

#[test]
fn bad_lists_are_refused_by_name() {
    check_refused("", "`` is not");
    check_refused("1,,2", "`` is not");
    check_refused("0-", "`0-` is not");
    check_refused("-1", "`-1` is not");
    check_refused("+1", "`+1` is not");
    check_refused("a\nb", "`a\\nb` is not");
    check_refused("0-3-5", "is not");
    check_refused("3-1", "3-1 runs backwards");
    check_refused("0-3,2", "CPU 2 is listed twice");
    check_refused("1024", "CPU 1024 is too large");
    check_refused("0-99999999999999999999", "too large");
}

#[test]
fn a_cpu_outside_the_process_is_named_with_what_is_allowed() {
    assert_eq!(check_inside(&[2, 1], &[0, 1, 2]), Ok(()));
    let error = check_inside(&[1, 5, 6], &[0, 1, 2, 4]).unwrap_err();
    assert_eq!(error, CpuListError::Outside { cpu: 5, allowed: "0-2,4".to_string() });
    let shown = error.to_string();
    assert!(shown.contains("CPU 5") && shown.contains("allowed: 0-2,4"), "{shown}");
}

#[test]
fn a_pinned_thread_has_the_mask_that_was_asked_for_and_its_neighbours_keep_theirs() {
    let allowed = allowed_cpus();
    for &cpu in &allowed {
        let mask = thread::spawn(move || {
            pin_current_thread(cpu).unwrap();
            // What a pinned thread starts inherits its mask.
            thread::spawn(current_mask).join().unwrap()
        });
        assert_eq!(mask.join().unwrap(), [cpu]);
    }
    assert_eq!(current_mask(), allowed);
    assert!((1..=allowed.len()).contains(&usable_cpus(&allowed)));
}

#[test]
fn a_cpu_that_cannot_be_had_is_an_error_and_leaves_the_mask_alone() {
    let allowed = allowed_cpus();
    for cpu in [CPU_ID_END, usize::MAX] {
        assert_eq!(pin_current_thread(cpu), Err(PinError::TooLarge { cpu }));
    }
    let Some(cpu) = (0..CPU_ID_END).rev().find(|cpu| !allowed.contains(cpu)) else {
        println!("skipped: this process may use every CPU there can be");
        return;
    };
    let result = thread::spawn(move || (pin_current_thread(cpu), current_mask())).join().unwrap();
    let mask = format_cpu_list(&allowed);
    assert_eq!(result, (Err(PinError::Refused { cpu, mask }), allowed));
}

proptest! {
    #[test]
    fn a_plan_uses_every_cpu_before_any_twice(
        cpus in btree_set(0usize..1024, 0..40),
        threads in 0usize..200,
    ) {
        let cpus: Vec<usize> = cpus.into_iter().rev().collect();
        let planned = plan(&cpus, threads);
        prop_assert_eq!(planned.len(), if cpus.is_empty() { 0 } else { threads });
        for round in planned.chunks(cpus.len().max(1)) {
            prop_assert_eq!(round.iter().collect::<HashSet<_>>().len(), round.len());
            prop_assert!(round.iter().all(|cpu| cpus.contains(cpu)));
        }
    }

    #[test]
    fn one_more_thread_moves_none_of_the_others(
        cpus in btree_set(0usize..1024, 1..40),
        threads in 0usize..200,
    ) {
        let cpus: Vec<usize> = cpus.into_iter().collect();
        prop_assert_eq!(&plan(&cpus, threads + 1)[..threads], &plan(&cpus, threads)[..]);
    }

    #[test]
    fn a_printed_list_reads_back_as_it_was(
        cpus in btree_set(0usize..1024, 1..60).prop_map(Vec::from_iter).prop_shuffle(),
    ) {
        prop_assert_eq!(parse_cpu_list(&format_cpu_list(&cpus)), Ok(cpus));
    }

    #[test]
    fn any_text_is_a_list_of_distinct_cpus_or_an_error(
        text in prop_oneof![any::<String>(), "[0-9,\\- ]{0,20}"],
    ) {
        if let Ok(cpus) = parse_cpu_list(&text) {
            prop_assert!(cpus.iter().all(|&cpu| cpu < CPU_ID_END));
            prop_assert_eq!(cpus.iter().collect::<HashSet<_>>().len(), cpus.len());
        }
    }

    #[test]
    fn printing_any_list_ends(cpus in vec(any::<usize>(), 0..20)) {
        format_cpu_list(&cpus);
    }
}
