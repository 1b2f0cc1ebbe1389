//! Whose name calls are made in, unless an option says it.

use std::env;
use std::fs;

/// What Hadoop's own clients call themselves without Kerberos: `HADOOP_USER_NAME`, or who runs
/// this process.
pub(crate) fn login_name() -> String {
    let variable = |name| env::var(name).ok().filter(|value| !value.is_empty());
    let user = rustix::process::geteuid().as_raw();
    variable("HADOOP_USER_NAME")
        .or_else(|| name_in(&fs::read_to_string("/etc/passwd").ok()?, user))
        .or_else(|| variable("USER"))
        .unwrap_or_else(|| user.to_string())
}

/// The name of a user by number in a table such as /etc/passwd.
fn name_in(table: &str, user: u32) -> Option<String> {
    let user = user.to_string();
    table.lines().find_map(|line| {
        let mut parts = line.split(':');
        let (name, number) = (parts.next()?, parts.nth(1)?);
        (number == user && !name.is_empty()).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_number() {
        let table = "root:x:0:0:root:/root:/bin/sh\n# comment\n\nalice:x:1000:100::/home/alice:\n";
        assert_eq!(name_in(table, 0).as_deref(), Some("root"));
        assert_eq!(name_in(table, 1000).as_deref(), Some("alice"));
        assert_eq!(name_in(table, 100), None);
        assert!(!login_name().is_empty());
    }
}
