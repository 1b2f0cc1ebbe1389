//! The server that a line is measured with.

use super::check::Check;
use super::file;
use super::place::FileError;
use super::{Knob, OptionSet, Side};
use serde::{Deserialize, Serialize};

/// Options that Hadoop's server has, too; see `scripts/hadoop`.
const OF_HADOOP: [&str; 2] = ["readers", "handlers"];

/// Whose server it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Peer {
    /// echo-server.
    #[default]
    Echo,
    /// Hadoop's own, from the jars that HADOOP_JARS names.
    Hadoop,
}

impl Peer {
    /// As it is started by hand, from the sources' root.
    pub fn program(self) -> &'static str {
        match self {
            Peer::Echo => "echo-server",
            Peer::Hadoop => "scripts/hadoop/serve.sh",
        }
    }
}

impl Check<'_> {
    /// Whose server a line wants; one of Hadoop's has few options.
    pub(super) fn peer(
        &self,
        line: &file::Line,
        options: &OptionSet,
        knob: &Knob,
    ) -> Result<Peer, FileError> {
        let Some(named) = &line.peer else { return Ok(Peer::Echo) };
        let peer = match named.get_ref().as_str() {
            "echo" => Peer::Echo,
            "hadoop" => Peer::Hadoop,
            other => {
                let wrong = format!("peer {other:?}; allowed: echo, hadoop");
                return self.refuse(named.span(), wrong);
            }
        };
        if knob.of == Side::Simulate {
            return self.refuse(named.span(), "a simulated line has no peer");
        }
        let of_knob = (knob.of == Side::Server).then_some(knob.option.as_str());
        let mut given = options.of(Side::Server).map(|(option, _)| option).chain(of_knob);
        let foreign = given.find(|option| !OF_HADOOP.contains(option));
        match foreign {
            Some(option) if peer == Peer::Hadoop => {
                let allowed = OF_HADOOP.join(", ");
                let wrong = format!("Hadoop's server has no option {option:?}; allowed: {allowed}");
                self.refuse(named.span(), wrong)
            }
            _ => Ok(peer),
        }
    }
}
