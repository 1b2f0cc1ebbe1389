//! What all calls of a run have in common, and what their replies must hold.

use super::service::Answer;
use super::settings::Settings;
use crate::call_table::Sequence;
use crate::payload::Payload;
use crate::reason::Reason;
use crate::stages::next_random;
use echo_common::wire::hadoop::client::{CallTemplate, ClientId, put_context};
use echo_common::wire::hadoop::context::Context;
use echo_common::wire::hadoop::fields::ProtoError;
use echo_common::wire::hadoop::preamble::{Auth, Preamble};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

/// The calls of a run.
#[derive(Debug)]
pub(crate) struct Calls {
    settings: Settings,
    payload: Payload,
    /// What stands before and behind the payload in a call's message.
    before: Vec<u8>,
    after: Vec<u8>,
    /// Client ids are made from it.
    seed: u64,
    /// The counter of connections that share their client id.
    counter: Arc<AtomicU32>,
}

/// What a reply is to the call that it answers.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict<'a> {
    Right,
    Wrong,
    Refused(Reason, &'a [u8]),
}

impl Calls {
    /// Calls of `payload_len` bytes whose replies have `reply_len` bytes.
    pub(crate) fn new(settings: Settings, payload_len: usize, reply_len: usize) -> Calls {
        // Its keys are random.
        let seed = RandomState::new().build_hasher().finish();
        // As Ozone's clients call themselves.
        let name = format!("client-{:012X}", seed >> 16);
        let (before, after) = settings.service.message(payload_len, reply_len, &name);
        Calls {
            // The field may be a string.
            payload: Payload::text(payload_len, reply_len),
            settings,
            before,
            after,
            seed,
            counter: Arc::default(),
        }
    }

    pub(super) fn payload(&self) -> &Payload {
        &self.payload
    }

    /// What stands before the payload in a call's message.
    pub(super) fn before(&self) -> &[u8] {
        &self.before
    }

    /// What stands behind the payload in a call's message.
    pub(super) fn after(&self) -> &[u8] {
        &self.after
    }

    /// Bytes of a call's message.
    #[inline]
    pub(super) fn message_len(&self) -> usize {
        self.before.len() + self.payload.len() + self.after.len()
    }

    pub(super) fn reply_max(&self) -> u32 {
        self.settings.reply_max
    }

    /// The client id of connection `number`: a random UUID.
    pub(super) fn client_id(&self, number: u64) -> ClientId {
        let number = if self.settings.shares_client_id { 0 } else { number };
        // Two numbers of a sequence that has no number twice.
        let mut state = self.seed.wrapping_add(number.wrapping_mul(2).wrapping_mul(STEP));
        let mut id = [0; 16];
        id[..8].copy_from_slice(&next_random(&mut state).to_be_bytes());
        id[8..].copy_from_slice(&next_random(&mut state).to_be_bytes());
        id[6] = id[6] & 0x0f | 0x40;
        id[8] = id[8] & 0x3f | 0x80;
        id
    }

    /// The ids for the calls of one connection.
    pub(crate) fn sequence(&self) -> Sequence {
        if self.settings.shares_client_id {
            Sequence::shared(Arc::clone(&self.counter))
        } else {
            Sequence::own()
        }
    }

    /// What connection `number` sends first: preamble and context.
    pub(crate) fn opening(&self, number: u64) -> Vec<u8> {
        let mut out = Preamble { service_class: 0, auth: Auth::Simple }.encode().to_vec();
        let context = Context {
            effective_user: Some(self.settings.user.as_bytes()),
            real_user: None,
            protocol: Some(self.settings.service.method().protocol),
        };
        put_context(&mut out, &self.client_id(number), &context);
        out
    }

    /// The beginning of every call of connection `number`.
    pub(super) fn template(&self, number: u64) -> CallTemplate {
        CallTemplate::new(self.client_id(number), &self.settings.service.method())
    }

    /// Looks at the message of a successful reply to `id`. One that cannot be read is as wrong as
    /// one that holds something else.
    #[inline]
    pub(super) fn verdict<'a>(
        &self,
        id: u64,
        message: Result<&'a [u8], ProtoError>,
    ) -> Verdict<'a> {
        match message.and_then(|message| self.settings.service.answer(message)) {
            Ok(Answer::Payload(bytes)) if self.is_right(id, bytes) => Verdict::Right,
            Ok(Answer::Refused(reason, words)) => Verdict::Refused(reason, words),
            Ok(Answer::Payload(_)) | Err(_) => Verdict::Wrong,
        }
    }

    #[inline]
    fn is_right(&self, id: u64, bytes: &[u8]) -> bool {
        bytes.len() == self.payload.reply_len()
            && (!self.settings.compares || self.payload.matches(id, 0, bytes))
    }
}

/// By how much the state of `next_random` moves on.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

#[cfg(test)]
mod tests {
    use super::super::Service;
    use super::*;
    use std::collections::BTreeSet;

    fn calls(shares_client_id: bool) -> Calls {
        let settings = Settings {
            service: Service::Om,
            user: "alice".to_owned(),
            shares_client_id,
            compares: false,
            reply_max: 0,
        };
        Calls::new(settings, 5, 5)
    }

    #[test]
    fn client_ids_are_uuids_of_their_own_or_one_for_all() {
        let numbers = || (0..3u64).flat_map(|worker| (0..100).map(move |c| worker << 32 | c));
        let own = calls(false);
        let ids: BTreeSet<_> = numbers().map(|number| own.client_id(number)).collect();
        assert_eq!(ids.len(), 300);
        assert!(ids.iter().all(|id| id[6] >> 4 == 4 && id[8] >> 6 == 2));
        let shared = calls(true);
        assert_eq!(numbers().map(|n| shared.client_id(n)).collect::<BTreeSet<_>>().len(), 1);
        assert_ne!(own.client_id(0), shared.client_id(0), "two runs are two clients");
    }

    /// Byte for byte the beginning of a session of Hadoop's own client, but for the client id.
    #[test]
    fn a_connection_opens_as_that_of_a_java_client() {
        let calls = calls(false);
        let opening = calls.opening(7);
        let mut expected = b"hrpc\x09\0\0\0\0\0\x5f\x1a\x08\x02\x10\0\x18\x05\x22\x10".to_vec();
        expected.extend_from_slice(&calls.client_id(7));
        expected.extend_from_slice(b"\x28\x01\x43\x12\x07\x0a\x05alice\x1a\x38");
        expected.extend_from_slice(b"org.apache.hadoop.ozone.om.protocol.OzoneManagerProtocol");
        assert_eq!(opening, expected);
    }
}
