//! What a follower answers, and what a link learns from it.

use super::{Link, Phase, frame_len};
use crate::replica_log::ReplicaLog;
use echo_common::wire::native::{
    CONNECTION_ID, HEADER_LEN, Header, Holding, Introduction, Kind, Status,
};
use echo_common::wire::split::{Split, split};
use std::io::{self, ErrorKind};

/// The longest answer of a follower: an error with its text.
const ANSWER_MAX: usize = 4096;

impl Link {
    pub(super) fn take_frames<W>(&mut self, log: &ReplicaLog<W>, now_ns: u64) -> io::Result<()> {
        loop {
            let length = match split(&self.input, ANSWER_MAX).map_err(io::Error::other)? {
                Split::Frame(length) => length,
                Split::NeedLength | Split::NeedBody { .. } => return Ok(()),
            };
            let frame = self.input.split_to(length);
            let Some((head, body)) = frame.split_first_chunk::<HEADER_LEN>() else {
                return Err(ErrorKind::InvalidData.into());
            };
            let header = Header::decode(head).map_err(io::Error::other)?;
            self.take_frame(&header, body, log, now_ns)?;
        }
    }

    fn take_frame<W>(
        &mut self,
        header: &Header,
        body: &[u8],
        log: &ReplicaLog<W>,
        now_ns: u64,
    ) -> io::Result<()> {
        self.pace.answered();
        if header.kind == Kind::Error
            && header.status == Status::TooBusy as u16
            && header.id != CONNECTION_ID
        {
            // Being busy all the time is no progress: the follower's time limit goes on.
            self.pace.too_busy();
            return Ok(());
        }
        self.progress_ns = now_ns;
        match (header.kind, self.phase) {
            (Kind::Reply, Phase::InSync { since, next }) => {
                let Some(held) = body.first_chunk().map(|held| u64::from_be_bytes(*held)) else {
                    return Err(unexpected("a reply without what it holds"));
                };
                if held > self.sent_max {
                    return Err(unexpected("it holds calls that it was not sent"));
                }
                // Replies of several handlers overtake one another.
                let before = self.unacknowledged;
                for sequence in next..held.min(self.sent) {
                    let payload = log.payload(sequence).map_or(0, |payload| payload.len());
                    self.unacknowledged -= frame_len(payload);
                }
                if held > next {
                    self.gained = true;
                    self.pace.taken(before - self.unacknowledged);
                }
                self.sent = self.sent.max(held);
                self.phase = Phase::InSync { since, next: next.max(held) };
                Ok(())
            }
            (Kind::Join, Phase::Greeting) => {
                let Some(introduction) = body.first_chunk().map(Introduction::decode) else {
                    return Err(unexpected("it does not say who it is"));
                };
                if introduction.server == 0 {
                    // What a server answers that takes the question for a join.
                    return Err(unexpected("it does not say who it is: another version"));
                }
                if introduction.server == self.config.epoch {
                    return Err(unexpected("it is this server itself"));
                }
                self.introduction = Some(introduction);
                self.phase = Phase::Introduced;
                Ok(())
            }
            (Kind::Join, Phase::Joining { from }) => {
                let Some(holding) = body.first_chunk().map(Holding::decode) else {
                    return Err(unexpected("a join without what it holds"));
                };
                self.joined(from, holding, log, now_ns)
            }
            (Kind::Error, _) => {
                let text = String::from_utf8_lossy(body).escape_debug().to_string();
                Err(io::Error::other(format!("it refuses: {text}")))
            }
            _ => Err(unexpected("a frame that answers nothing")),
        }
    }

    /// The follower is in sync now.
    fn joined<W>(
        &mut self,
        from: u64,
        holding: Holding,
        log: &ReplicaLog<W>,
        now_ns: u64,
    ) -> io::Result<()> {
        let Holding { since, next } = holding;
        if !(from..=log.next()).contains(&next) || since > next {
            return Err(unexpected("it holds calls that there are not"));
        }
        if since != self.before.0 {
            if since != from || next != from {
                return Err(unexpected("it neither goes on nor begins anew"));
            }
            self.before = (from, log.digest_below(from));
        }
        self.phase = Phase::InSync { since, next };
        (self.sent, self.sent_max) = (next, next);
        self.unacknowledged = 0;
        self.in_sync_ns = now_ns;
        self.joins += 1;
        Ok(())
    }
}

fn unexpected(what: &'static str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}
