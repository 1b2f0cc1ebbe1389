//! The description of this very host makes sense.

use echo_common::{host, pinning};

#[test]
fn this_host_describes_itself() {
    let allowed = pinning::allowed_cpus();
    let host = host::describe(&allowed);
    assert_eq!(pinning::parse_cpu_list(&host.cpus_allowed).as_ref(), Ok(&allowed));
    assert!(host.kernel.as_ref().is_some_and(|kernel| !kernel.contains('\n')), "{host:?}");
    assert!(host.cpus_online.is_none_or(|online| online >= allowed.len()), "{host:?}");
    assert!(host.memory_bytes.is_some_and(|bytes| bytes > 1 << 20), "{host:?}");
}

#[test]
fn host_load_only_grows_and_its_shares_stay_inside_one() {
    let Some(earlier) = host::load() else {
        println!("skipped: no /proc/stat");
        return;
    };
    let change = host::load().expect("it was there a moment ago").since(&earlier);
    for share in [change.busy_share, change.idle_share, change.steal_share].into_iter().flatten() {
        assert!((0.0..=1.0).contains(&share), "{change:?}");
    }
}
