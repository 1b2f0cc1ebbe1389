//! Checks one frame that a client sent, also while it is incomplete: whatever can be refused is
//! refused before memory is spent on it.

use crate::call::{asked_reply_len, charge, extensions_len};
use crate::limits::ReadLimits;
use crate::refusal::Refusal;
use echo_common::wire::native::{self, HEADER_LEN, Header, Kind, Status};
use echo_common::wire::split::{Split, split};

/// One checked call at the front of some bytes.
pub(crate) struct Checked {
    /// Bytes of the frame, the length word included.
    pub(crate) length: usize,
    /// What it counts against the connection's owed bytes.
    pub(crate) weight: usize,
    pub(crate) is_stats: bool,
    /// Flags or a status, so that its reply is not the frame itself.
    pub(crate) has_flags: bool,
    pub(crate) wants_stages: bool,
}

/// Flags that a call may carry.
const FLAGS_KNOWN: u8 = native::FLAG_HAS_KEY
    | native::FLAG_WANT_STAGES
    | native::FLAG_RESP_SIZE
    | native::FLAG_ACKS_ALL
    | native::FLAG_NO_REPLY
    | native::FLAG_WANT_HELD
    | native::FLAG_WANT_EXECUTION;

/// acks=0 and acks=all.
const ACKS_BOTH: u8 = native::FLAG_NO_REPLY | native::FLAG_ACKS_ALL;

/// Checks the frame at the front of `bytes`; `None` while it is incomplete and right so far.
/// A frame may be `more` bytes longer than the limit.
#[inline]
pub(crate) fn check(
    bytes: &[u8],
    limits: &ReadLimits,
    more: usize,
) -> Result<Option<Checked>, Refusal> {
    let found = split(bytes, limits.frame_size_max + more);
    let found = found.map_err(|error| Refusal::length(&error))?;
    let Some(head) = bytes.first_chunk::<HEADER_LEN>() else { return Ok(None) };
    let header = Header::decode(head).map_err(|error| Refusal::header(&error))?;
    let is_stats = match header.kind {
        Kind::Call => false,
        Kind::Stats => true,
        Kind::Replica | Kind::Join => return check_replica(found, &header),
        kind => return Err(Refusal::malformed(format!("a client may not send {kind:?} frames"))),
    };
    if header.flags != 0 {
        return check_flagged(bytes, &header, &found, limits);
    }
    let Split::Frame(length) = found else { return Ok(None) };
    let weight = charge(&header, &[]);
    let has_flags = header.status != 0;
    Ok(Some(Checked { length, weight, is_stats, has_flags, wants_stages: false }))
}

/// The same for a frame with flags: what they announce must be there, and possible.
#[inline(never)]
fn check_flagged(
    bytes: &[u8],
    header: &Header,
    found: &Split,
    limits: &ReadLimits,
) -> Result<Option<Checked>, Refusal> {
    let is_stats = header.kind == Kind::Stats;
    if header.flags & !FLAGS_KNOWN != 0 || is_stats {
        return Err(Refusal::malformed(format!("unknown flags {:#04x}", header.flags)));
    }
    if header.flags & ACKS_BOTH == ACKS_BOTH {
        let why = "a call cannot want no reply and one that all have acknowledged";
        return Err(Refusal::malformed(why.into()));
    }
    if header.rest_len() < extensions_len(header) {
        return Err(Refusal::malformed("the frame is too short for its flags".into()));
    }
    let Split::Frame(length) = *found else { return Ok(None) };
    let rest = &bytes[HEADER_LEN..length];
    let asked = asked_reply_len(header, rest).unwrap_or(0);
    if asked > limits.frame_size_max - native::BODY_MIN {
        let why = format!(
            "a reply of {asked} bytes was asked, frames are limited to {}",
            limits.frame_size_max
        );
        return Err(Refusal::new(Status::FrameTooLarge, why));
    }
    let wants_stages = header.flags & native::FLAG_WANT_STAGES != 0;
    let weight = charge(header, rest);
    Ok(Some(Checked { length, weight, is_stats, has_flags: true, wants_stages }))
}

/// The same for frames that a leader sends.
#[cold]
fn check_replica(found: Split, header: &Header) -> Result<Option<Checked>, Refusal> {
    let rest_min = match header.kind {
        Kind::Join => native::EPOCH_LEN + native::SINCE_LEN,
        _ => native::EPOCH_LEN,
    };
    if header.flags != 0 || header.rest_len() < rest_min {
        let why = format!("a frame of kind {:?} with flags or without its words", header.kind);
        return Err(Refusal::malformed(why));
    }
    let Split::Frame(length) = found else { return Ok(None) };
    let (is_stats, has_flags, wants_stages) = (false, true, false);
    Ok(Some(Checked { length, weight: length, is_stats, has_flags, wants_stages }))
}
