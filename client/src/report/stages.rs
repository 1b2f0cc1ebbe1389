//! Where the sampled calls spent their time: the server's stages, and the rest.

use super::ratio;
use crate::latency::Summary;
use crate::stages::StageTimes;
use serde::Serialize;

/// The parts of a call in microseconds. The means of the stages and the rest add up to the mean
/// of the total.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct StageFigures {
    /// Calls that asked for their stages, those of the warm-up too.
    pub(crate) asked: u64,
    /// Calls that brought their stages.
    pub(crate) count: u64,
    pub(crate) decoded: PartFigures,
    pub(crate) queued: PartFigures,
    pub(crate) taken: PartFigures,
    pub(crate) served: PartFigures,
    pub(crate) written: PartFigures,
    /// Client and network: what is left of the call's own latency.
    pub(crate) rest: PartFigures,
    pub(crate) total: PartFigures,
    /// Mean latency of the sampled calls by that of all calls: whether they stand for all.
    pub(crate) total_to_all_calls: Option<f64>,
    /// Calls whose stages behind the reader came to more than their latency.
    pub(crate) overruns: u64,
    /// Calls that came within the pass in which they were read: `decoded` is from their sending.
    pub(crate) late: u64,
    /// Calls with a stage of 4.29 s, the most that a reply says: it may have been longer.
    pub(crate) cut: u64,
}

/// One part; all are none if nothing was sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct PartFigures {
    pub(crate) mean: Option<f64>,
    pub(crate) p50: Option<f64>,
    pub(crate) p95: Option<f64>,
    pub(crate) p99: Option<f64>,
    pub(crate) max: Option<f64>,
}

impl From<Option<Summary>> for PartFigures {
    fn from(summary: Option<Summary>) -> PartFigures {
        summary.map_or_else(PartFigures::default, |s| PartFigures {
            mean: Some(s.mean),
            p50: Some(s.p50),
            p95: Some(s.p95),
            p99: Some(s.p99),
            max: Some(s.max),
        })
    }
}

impl PartFigures {
    /// Mean, median, 95 %, 99 % and maximum.
    pub(crate) fn figures(&self) -> [Option<f64>; 5] {
        [self.mean, self.p50, self.p95, self.p99, self.max]
    }
}

impl StageFigures {
    /// The figures of what was sampled, beside the mean latency of all calls.
    pub(crate) fn of(times: &mut StageTimes, mean_of_all_us: Option<f64>) -> StageFigures {
        let (parts, total) = times.summary();
        let [decoded, queued, taken, served, written, rest] = parts.map(PartFigures::from);
        let means = total.map(|total| total.mean).zip(mean_of_all_us);
        StageFigures {
            asked: times.asked,
            count: total.map_or(0, |total| total.count),
            decoded,
            queued,
            taken,
            served,
            written,
            rest,
            total: total.into(),
            total_to_all_calls: means.and_then(|(sampled, all)| ratio(sampled, all)),
            overruns: times.overruns,
            late: times.late,
            cut: times.cut,
        }
    }

    /// The parts in the order of a call's life, named.
    pub(crate) fn parts(&self) -> [(&'static str, &PartFigures); 6] {
        [
            ("decoded", &self.decoded),
            ("queued", &self.queued),
            ("taken", &self.taken),
            ("served", &self.served),
            ("written", &self.written),
            ("rest", &self.rest),
        ]
    }

    /// The sum of the parts' means; none if nothing was sampled.
    pub(crate) fn sum_of_means_us(&self) -> Option<f64> {
        self.parts().iter().map(|(_, part)| part.mean).sum()
    }
}
