//! One connection: the calls in flight on it, what it owes its socket, where its replies stand.

use crate::call_table::CallTable;
use crate::conversation::{Conversation, Framing};
use crate::faulty::Wrong;
use crate::hadoop;
use crate::link::Link;
use crate::outbox::{Flushed, Outbox};
use crate::outcome::{Extras, Failure, Ledger, LostKind};
use crate::read_pass::{self, read_pass};
use crate::reason::Reason;
use crate::reply_reader::{Ending, Reading};
use crate::stages::Sampler;
use std::io::{self, ErrorKind};

/// A connection that is set up.
pub(crate) struct Connection<'a> {
    number: u64,
    link: Link,
    table: CallTable,
    conversation: Conversation<'a>,
    outbox: Outbox,
}

/// What a worker lends to the connection it serves.
pub(crate) struct Desk {
    pub(crate) ledger: Ledger,
    pub(crate) sampler: Sampler,
    pub(crate) read_buffer: Box<[u8]>,
    pub(crate) scratch: Vec<u8>,
}

impl Desk {
    /// Empty buffers and an empty ledger.
    pub(crate) fn new(extras: Extras, sampler: Sampler) -> Desk {
        Desk {
            ledger: Ledger::new(extras),
            sampler,
            read_buffer: read_pass::buffer(),
            scratch: Vec::new(),
        }
    }
}

/// How a pass of reading ended.
#[derive(Debug)]
pub(crate) enum ReadEnd {
    /// The socket is empty; its next readable edge goes on.
    Drained,
    /// The budget is used up; there may be more, and no edge will say so.
    More,
    /// The connection is gone.
    Lost(Lost),
}

/// The loss of a connection and what there is to say about it.
#[derive(Debug)]
pub(crate) struct Lost {
    pub(crate) kind: LostKind,
    pub(crate) text: Option<String>,
}

impl<'a> Connection<'a> {
    /// Connection `number`, with room for `window` calls in flight.
    pub(crate) fn new(
        link: Link,
        framing: &'a Framing,
        number: u64,
        window: usize,
        open_loop: bool,
    ) -> Connection<'a> {
        Connection {
            number,
            link,
            table: framing.table(window, open_loop),
            conversation: Conversation::new(framing, number),
            outbox: Outbox::default(),
        }
    }

    /// The same, where replies must come in the order of calls.
    pub(crate) fn in_order(self) -> Connection<'a> {
        Connection { table: self.table.in_order(), ..self }
    }

    /// How many more calls may be started.
    #[inline]
    pub(crate) fn free(&self) -> usize {
        self.table.free()
    }

    /// How many calls wait for their reply.
    #[inline]
    pub(crate) fn open(&self) -> usize {
        self.table.open()
    }

    /// Whether started calls are not yet written.
    #[inline]
    pub(crate) fn owes(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// The socket has bytes, or its end.
    #[inline]
    pub(crate) fn note_readable(&mut self) {
        self.link.note_readable();
    }

    /// Gives the socket what an emulated network has held long enough.
    pub(crate) fn deliver(&mut self) -> io::Result<()> {
        self.link.deliver()
    }

    /// Reads what has come and ends the calls it answers. A short read means that the socket is
    /// empty, unless the peer has `closed`: then only the end of the stream is the end. Returns
    /// the time of the last read.
    #[inline]
    pub(crate) fn read(&mut self, closed: bool, desk: &mut Desk) -> (ReadEnd, u64) {
        let Desk { ledger, read_buffer, .. } = desk;
        ledger.faulty.on(self.number);
        let (end, now) = read_pass(
            self,
            |connection| &mut connection.link,
            read_buffer,
            closed,
            |Connection { table, conversation, .. }, bytes, now_ns| {
                conversation.feed(bytes, &mut Reading { table, ledger, now_ns })
            },
        );
        for id in self.table.take_overtaken() {
            ledger.overtaken(id, None);
        }
        (end.in_mid_reply(self.conversation.in_mid_reply()), now)
    }

    /// Enters `calls` new calls; `flush` writes them.
    #[inline]
    pub(crate) fn start(&mut self, calls: u64, measured: bool, now_ns: u64, desk: &mut Desk) {
        if desk.ledger.keys.is_some() {
            for _ in 0..calls {
                self.start_keyed(now_ns, measured, desk);
            }
            return desk.ledger.started(calls, measured, now_ns);
        }
        if desk.sampler.passes(calls) {
            self.table.start_all(calls as usize, now_ns, measured, self.outbox.ids());
        } else {
            for _ in 0..calls {
                let id = self.table.start(now_ns, measured, desk.sampler.pick());
                self.outbox.push(id);
            }
        }
        desk.ledger.started(calls, measured, now_ns);
    }

    /// Enters a call that was due before it is sent now; `flush` writes it.
    pub(crate) fn start_due(&mut self, due_ns: u64, measured: bool, now_ns: u64, desk: &mut Desk) {
        let id = if desk.ledger.keys.is_some() {
            self.start_keyed(due_ns, measured, desk)
        } else {
            let id = self.table.start(due_ns, measured, desk.sampler.pick());
            self.outbox.push(id);
            id
        };
        self.table.sent(id, now_ns);
        desk.ledger.started(1, measured, now_ns);
    }

    /// Enters a call with a key of its own.
    fn start_keyed(&mut self, due_ns: u64, measured: bool, desk: &mut Desk) -> u64 {
        let id = self.table.start(due_ns, measured, desk.sampler.pick());
        if let Some(keys) = &mut desk.ledger.keys {
            let drawn = keys.draw();
            self.table.has_key(id, drawn.index);
            self.outbox.push_keyed(id, drawn.key);
        }
        id
    }

    /// Enters a call that nobody answers; `flush` writes it.
    #[inline]
    pub(crate) fn push(&mut self, id: u64) {
        self.outbox.push(id);
    }

    /// Calls of which bytes are owed.
    pub(crate) fn unwritten(&self) -> usize {
        self.outbox.len()
    }

    /// Whether bytes that were written are still held by an emulated network.
    pub(crate) fn holds(&self) -> bool {
        self.link.holds()
    }

    /// Nothing more is written: the server sees an end.
    pub(crate) fn end_writing(&self) -> io::Result<()> {
        self.link.end_writing()
    }

    /// Writes what is owed, as far as the socket takes it.
    #[inline]
    pub(crate) fn flush(&mut self, desk: &mut Desk) -> Result<(), io::Error> {
        match self.conversation.flush(&mut self.outbox, &mut self.link, &mut desk.scratch) {
            Flushed::All | Flushed::Blocked => Ok(()),
            Flushed::Broken(error) => Err(error),
        }
    }

    /// Ends the calls that were started at or before `started_until_ns`.
    pub(crate) fn expire(&mut self, started_until_ns: u64, now_ns: u64, ledger: &mut Ledger) {
        let mut timed_out = 0;
        ledger.faulty.on(self.number);
        self.table.expire(started_until_ns, |id, call| {
            ledger.failed(call, Failure::TimedOut, now_ns);
            ledger.faulty.name(Wrong::TimedOut, id, None);
            timed_out += 1;
        });
        if timed_out > 0 {
            let table = &self.table;
            let unwritten = self.outbox.drop_unwritten(|id| !table.is_open(id));
            self.table.expect_late(timed_out - unwritten);
        }
    }

    /// Ends all calls in flight, because of `failure`.
    pub(crate) fn end_all(&mut self, failure: Failure, now_ns: u64, ledger: &mut Ledger) {
        ledger.faulty.on(self.number);
        self.table.expire(u64::MAX, |id, call| {
            ledger.failed(call, failure, now_ns);
            ledger.faulty.name(Wrong::by(failure), id, None);
        });
    }
}

/// Texts about lost connections that a worker keeps for the report.
const NOTES_MAX: usize = 4;

/// Keeps the text of a lost connection, once, as long as there is room.
pub(crate) fn keep_note(notes: &mut Vec<String>, text: Option<String>) {
    if let Some(text) = text
        && notes.len() < NOTES_MAX
        && !notes.contains(&text)
    {
        notes.push(text);
    }
}

impl Lost {
    /// The loss that an error of the operating system means.
    pub(crate) fn by(error: &io::Error) -> Lost {
        match error.raw_os_error() {
            Some(errno) => Lost { kind: LostKind::Os(errno), text: None },
            None => Lost { kind: LostKind::Protocol, text: Some(error.to_string()) },
        }
    }
}

impl ReadEnd {
    /// What a connection that takes no bytes because of `error` was lost by, after a last pass of
    /// reading that ended so. The peer's own words come first. The end of the stream alone does
    /// not hide a reset: the write has used it up. A pipe that is broken is the echo of an end
    /// that had come in good order before.
    pub(crate) fn after_failed_write(self, error: &io::Error) -> Lost {
        match self {
            ReadEnd::Lost(lost)
                if lost.kind != LostKind::Eof || error.kind() == ErrorKind::BrokenPipe =>
            {
                lost
            }
            _ => Lost::by(error),
        }
    }
}

impl From<Ending> for Lost {
    fn from(ending: Ending) -> Lost {
        let text = Some(ending.to_string());
        let kind = match ending {
            Ending::Refused(status, _) => LostKind::Refused(Reason::Status(status)),
            Ending::Header(_) | Ending::TooLong { .. } | Ending::NotAnAnswer(_) => {
                LostKind::Protocol
            }
        };
        Lost { kind, text }
    }
}

impl From<hadoop::Ending> for Lost {
    fn from(ending: hadoop::Ending) -> Lost {
        let text = Some(ending.to_string());
        let kind = match ending {
            hadoop::Ending::Refused { reason, .. } => LostKind::Refused(reason),
            hadoop::Ending::Unreadable(_) => LostKind::Protocol,
        };
        Lost { kind, text }
    }
}
