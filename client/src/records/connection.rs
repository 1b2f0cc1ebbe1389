//! One connection: the calls in flight on it and what they carry, what it owes its socket, and
//! where its replies stand.

use super::call::Content;
use super::desk::Desk;
use super::record::{Name, Shape};
use crate::call_frames::{BLOCKS_MAX, STAGES_ROOM};
use crate::call_table::{CallTable, EndedCall, Found, slot_of, wants_stages};
use crate::connection::ReadEnd;
use crate::faulty::{RecordName, Wrong};
use crate::link::Link;
use crate::outcome::{Failure, Ledger};
use crate::read_pass::read_pass;
use crate::reason::Reason;
use crate::reply_reader::{ERROR_TEXT_MAX, Ending};
use echo_common::clock::now_ns;
use echo_common::wire::native::{
    CONNECTION_ID, FLAG_NO_REPLY, FLAG_WANT_HELD, FLAG_WANT_STAGES, HEADER_LEN, Header, Held, Kind,
    Stages,
};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Write};

/// Bytes of an error frame at most: its text is cut by the server.
const ERROR_FRAME_MAX: usize = 4096;

/// A connection that is set up.
pub(super) struct Connection {
    number: u64,
    link: Link,
    table: CallTable,
    /// By slot of the table.
    contents: Box<[Content]>,
    /// Bytes that the link has not taken; those up to `written` it has.
    out: Vec<u8>,
    written: usize,
    /// Calls that nobody answers: where each ends in `out`. They are done when that is written.
    unanswered: VecDeque<(usize, u64)>,
    /// The beginning of a frame.
    partial: Vec<u8>,
}

impl Connection {
    /// Connection `number`, with room for `window` calls in flight.
    pub(super) fn new(link: Link, number: u64, window: usize) -> Connection {
        Connection {
            number,
            link,
            table: CallTable::new(window, false),
            contents: (0..window).map(|_| Content::default()).collect(),
            out: Vec::new(),
            written: 0,
            unanswered: VecDeque::new(),
            partial: Vec::new(),
        }
    }

    /// The same, where replies must come in the order of calls.
    pub(super) fn in_order(self) -> Connection {
        Connection { table: self.table.in_order(), ..self }
    }

    /// How many calls wait for their reply.
    pub(super) fn open(&self) -> usize {
        self.table.open()
    }

    /// Whether another call may be started.
    pub(super) fn has_room(&self) -> bool {
        self.table.free() > 0
    }

    /// Bytes of started calls that the link has not taken.
    pub(super) fn owed(&self) -> usize {
        self.out.len() - self.written
    }

    /// The socket has bytes, or its end.
    pub(super) fn note_readable(&mut self) {
        self.link.note_readable();
    }

    /// Gives the socket what an emulated network has held long enough.
    pub(super) fn deliver(&mut self) -> io::Result<()> {
        self.link.deliver()
    }

    /// Starts a call.
    pub(super) fn start(&mut self, call: Content, now_ns: u64, desk: &mut Desk<'_>) {
        let measured = call.is_measured();
        let id = self.table.start(now_ns, measured, desk.sampler.pick());
        let (flag, room) =
            if wants_stages(id) { (FLAG_WANT_STAGES, &STAGES_ROOM[..]) } else { (0, &[][..]) };
        let bytes = call.records * desk.shape.len();
        let header = Header::new(Kind::Call, desk.flags | flag, id, room.len(), bytes);
        self.out.extend_from_slice(&header.encode());
        self.out.extend_from_slice(room);
        call.put(desk.shape, &mut self.out);
        desk.ledger.started(1, measured, now_ns);
        desk.tally.sent(&call);
        self.contents[slot_of(id)] = call;
        if desk.flags & FLAG_NO_REPLY != 0 {
            self.unanswered.push_back((self.out.len(), id));
        }
    }

    /// Writes what is owed, as far as the link takes it.
    pub(super) fn flush(&mut self, desk: &mut Desk<'_>) -> io::Result<()> {
        let flushed = self.write();
        if !self.unanswered.is_empty() {
            self.end_unanswered(desk);
        }
        if self.written == self.out.len() {
            self.out.clear();
            self.written = 0;
        }
        flushed
    }

    fn write(&mut self) -> io::Result<()> {
        while self.written < self.out.len() {
            match self.link.write(&self.out[self.written..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(bytes) => self.written += bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Ends the calls that are written and that nobody answers.
    fn end_unanswered(&mut self, desk: &mut Desk<'_>) {
        let now = now_ns();
        while let Some(&(end, id)) = self.unanswered.front()
            && end <= self.written
        {
            self.unanswered.pop_front();
            let Some((call, content)) = self.end(id, &[], &mut desk.ledger) else {
                continue;
            };
            desk.accumulator.ended(&content, true);
            desk.ledger.ok(call, 1, now);
            desk.tally.ok(&content, call.sent_ns, now, desk.view.in_window(now));
            desk.recycle(content);
        }
    }

    /// Whether bytes that were written are still held by an emulated network.
    pub(super) fn holds(&self) -> bool {
        self.link.holds()
    }

    /// Nothing more is written: the server sees an end.
    pub(super) fn end_writing(&self) -> io::Result<()> {
        self.link.end_writing()
    }

    /// Reads what has come and ends the calls it answers; returns the time of the last read. After
    /// a short read the socket is empty, unless the peer has `closed`.
    pub(super) fn read(&mut self, closed: bool, desk: &mut Desk<'_>) -> (ReadEnd, u64) {
        desk.ledger.faulty.on(self.number);
        let mut buffer = std::mem::take(&mut desk.read_buffer);
        let (end, now) = read_pass(
            self,
            |connection| &mut connection.link,
            &mut buffer,
            closed,
            |connection, bytes, now_ns| Ok(connection.feed(bytes, now_ns, desk)?),
        );
        desk.read_buffer = buffer;
        (end.in_mid_reply(!self.partial.is_empty()), now)
    }

    /// Takes the next bytes of the stream, all of them. A frame that came whole is not copied.
    fn feed(&mut self, mut bytes: &[u8], now_ns: u64, desk: &mut Desk<'_>) -> Result<(), Ending> {
        while !bytes.is_empty() {
            if self.partial.is_empty()
                && let Some(len) = frame_len(bytes, desk)?
                && len <= bytes.len()
            {
                let (frame, rest) = bytes.split_at(len);
                self.frame(frame, now_ns, desk)?;
                bytes = rest;
                continue;
            }
            let wanted = frame_len(&self.partial, desk)?.unwrap_or(HEADER_LEN);
            let (front, rest) = bytes.split_at(bytes.len().min(wanted - self.partial.len()));
            self.partial.extend_from_slice(front);
            bytes = rest;
            if frame_len(&self.partial, desk)? == Some(self.partial.len()) {
                let frame = std::mem::take(&mut self.partial);
                self.frame(&frame, now_ns, desk)?;
                self.partial = frame;
                self.partial.clear();
            }
        }
        Ok(())
    }

    fn frame(&mut self, frame: &[u8], now_ns: u64, desk: &mut Desk<'_>) -> Result<(), Ending> {
        let Some((head, body)) = frame.split_first_chunk() else {
            return Ok(());
        };
        let header = Header::decode(head)?;
        match header.kind {
            Kind::Reply => self.reply(&header, body, now_ns, desk),
            Kind::Error => {
                let text = &body[..body.len().min(ERROR_TEXT_MAX)];
                if header.id == CONNECTION_ID {
                    return Err(Ending::Refused(header.status, text.to_vec()));
                }
                if let Some((call, content)) = self.end(header.id, &[], &mut desk.ledger) {
                    let reason = Reason::Status(header.status);
                    desk.ledger.error_text(reason, text);
                    let name = content.first().map(Name::into);
                    desk.ledger.faulty.name(Wrong::ErrorReply, header.id, name);
                    desk.failed(content, call, Failure::ErrorReply(reason), now_ns);
                }
            }
            Kind::Call | Kind::Stats | Kind::Replica | Kind::Join => {
                return Err(Ending::NotAnAnswer(header.kind));
            }
        }
        Ok(())
    }

    fn reply(&mut self, header: &Header, body: &[u8], now_ns: u64, desk: &mut Desk<'_>) {
        let Blocks { stages, held, payload } = Blocks::split(header, body);
        let Some((call, content)) = self.end(header.id, payload, &mut desk.ledger) else {
            return;
        };
        let expected = (wants_stages(header.id), desk.flags & FLAG_WANT_HELD != 0);
        let plain = (stages.is_some(), held.is_some()) == expected && header.status == 0;
        let right = match desk.compares {
            true => content.matches(desk.shape, payload),
            false => payload.len() == content.records * desk.shape.len(),
        };
        let in_window = desk.view.in_window(now_ns);
        desk.tally.out_of_order += desk.accumulator.ended(&content, true);
        if plain && right {
            desk.ledger.ok(call, 1, now_ns);
            desk.tally.ok(&content, call.sent_ns, now_ns, in_window);
        } else {
            desk.ledger.failed(call, Failure::Mismatch, now_ns);
            let found = content.inspect(desk.shape, if plain { payload } else { &[] });
            desk.tally.damaged(&content, &found, call.sent_ns, now_ns, in_window);
            let name = found.first_name.or(content.first()).map(Name::into);
            desk.ledger.faulty.name(Wrong::Mismatch, header.id, name);
            let what = found.first.unwrap_or_else(|| "a damaged header".to_owned());
            desk.note_wrong(format!("the reply to call {} brought {what}", header.id));
        }
        if let Some(stages) = stages.filter(|_| plain && right) {
            desk.ledger.staged(call, &stages, now_ns);
        }
        if let Some(held) = held.filter(|_| plain && right) {
            desk.ledger.held(header.id, content.first().map(Name::into), held);
        }
        desk.recycle(content);
    }

    /// Ends the call `id`, if it waits, and gives what it carried. `payload` came with its answer.
    fn end(
        &mut self,
        id: u64,
        payload: &[u8],
        ledger: &mut Ledger,
    ) -> Option<(EndedCall, Content)> {
        match self.table.end(id) {
            Found::Open(call) => {
                let content = std::mem::take(&mut self.contents[slot_of(id)]);
                for id in self.table.take_overtaken() {
                    ledger.overtaken(id, content.first().map(Name::into));
                }
                Some((call, content))
            }
            Found::Late => {
                ledger.outcomes.late_replies += 1;
                None
            }
            Found::Unknown => {
                ledger.outcomes.unexpected_replies += 1;
                let name = Shape::name(payload).map(RecordName::from);
                ledger.faulty.name(Wrong::UnexpectedReply, id, name);
                None
            }
        }
    }

    /// Ends the calls that were started at or before `started_until_ns`, because of `failure`.
    pub(super) fn end_all(
        &mut self,
        started_until_ns: u64,
        failure: Failure,
        now_ns: u64,
        desk: &mut Desk<'_>,
    ) {
        let (contents, mut ended) = (&mut self.contents, 0);
        desk.ledger.faulty.on(self.number);
        self.table.expire(started_until_ns, |id, call| {
            let content = std::mem::take(&mut contents[slot_of(id)]);
            let name = content.first().map(Name::into);
            desk.ledger.faulty.name(Wrong::by(failure), id, name);
            desk.failed(content, call, failure, now_ns);
            ended += 1;
        });
        self.table.expect_late(ended);
    }
}

/// What a reply brings beside its payload.
struct Blocks<'a> {
    stages: Option<Stages>,
    held: Option<Held>,
    payload: &'a [u8],
}

impl<'a> Blocks<'a> {
    fn split(header: &Header, body: &'a [u8]) -> Blocks<'a> {
        let mut blocks = Blocks { stages: None, held: None, payload: body };
        if header.flags & FLAG_WANT_STAGES != 0
            && let Some((block, rest)) = blocks.payload.split_first_chunk()
        {
            (blocks.stages, blocks.payload) = (Some(Stages::decode(block)), rest);
        }
        if header.flags & FLAG_WANT_HELD != 0
            && let Some((block, rest)) = blocks.payload.split_first_chunk()
        {
            (blocks.held, blocks.payload) = (Some(Held::decode(block)), rest);
        }
        blocks
    }
}

/// The length of the frame at the front of `bytes`, once its header is there.
fn frame_len(bytes: &[u8], desk: &Desk<'_>) -> Result<Option<usize>, Ending> {
    let Some(head) = bytes.first_chunk() else {
        return Ok(None);
    };
    let header = Header::decode(head)?;
    let limit = HEADER_LEN + BLOCKS_MAX + desk.call_bytes_max.max(ERROR_FRAME_MAX);
    if header.frame_len() > limit {
        return Err(Ending::TooLong { length: header.length, limit });
    }
    Ok(Some(header.frame_len()))
}
