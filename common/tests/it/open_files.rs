//! The limit on open files.

use echo_common::open_files;

#[test]
fn the_soft_limit_ends_at_the_hard_one_and_stays_there() {
    let raised = open_files::raise().unwrap();
    assert_eq!(raised.soft, raised.hard);
    assert!(raised.was_soft <= raised.soft);
    let again = open_files::raise().unwrap();
    assert_eq!((again.soft, again.was_soft), (raised.soft, raised.soft));
    assert_eq!(open_files::limits(), again);
}
