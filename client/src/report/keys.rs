//! What the replies said about keys, under --keys: order, loss, duplicates and payloads, each as a
//! number.

use super::OutcomeCounts;
use crate::keys::{KeyFindings, KeyViolation};
use serde::Serialize;

/// The calls by their keys; the warm-up's are in the checks of order, too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct KeyFigures {
    /// How many there are to draw from, and how many were drawn.
    pub(crate) keys: u64,
    pub(crate) used: u64,
    /// Replies whose execution was compared with that of the key's call before.
    pub(crate) checked: u64,
    pub(crate) order_violations: u64,
    pub(crate) handler_changes: u64,
    /// Second replies to one call.
    pub(crate) duplicates: u64,
    /// Measured calls that ended without a reply.
    pub(crate) lost: u64,
    /// Measured calls whose reply had wrong bytes or a wrong length.
    pub(crate) wrong_payload: u64,
    /// The first violations of order.
    pub(crate) violations: Vec<KeyViolation>,
}

impl KeyFigures {
    /// The findings of a run with so many keys, if calls had any.
    pub(super) fn of(
        keys: Option<u64>,
        findings: &KeyFindings,
        outcomes: &OutcomeCounts,
    ) -> Option<KeyFigures> {
        Some(KeyFigures {
            keys: keys?,
            used: findings.used,
            checked: findings.checked,
            order_violations: findings.order_violations,
            handler_changes: findings.handler_changes,
            duplicates: findings.duplicates,
            lost: outcomes.timed_out + outcomes.connection_lost + outcomes.abandoned,
            wrong_payload: outcomes.mismatch,
            violations: findings.shown.clone(),
        })
    }

    /// Whether the server kept every promise.
    pub(super) fn all_well(&self) -> bool {
        let wrong = self.order_violations + self.handler_changes + self.duplicates;
        wrong + self.lost + self.wrong_payload == 0
    }
}
