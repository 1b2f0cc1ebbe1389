//! The limit on open files.

use echo_common::open_files;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

#[test]
fn the_soft_limit_ends_at_the_hard_one_and_stays_there() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    // One below the hard limit, so that there is something to raise and no other test feels it.
    let lowered = Rlimit { current: maximum.map(|hard| hard - 1), maximum };
    setrlimit(Resource::Nofile, lowered).unwrap();
    let raised = open_files::raise().unwrap();
    assert_eq!(raised.soft, raised.hard);
    assert_eq!(raised.was_soft, lowered.current.unwrap_or(u64::MAX));
    let again = open_files::raise().unwrap();
    assert_eq!((again.soft, again.was_soft), (raised.soft, raised.soft));
    assert_eq!(open_files::limits(), again);
}
