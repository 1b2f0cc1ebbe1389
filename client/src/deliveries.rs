//! Everything that a run is asked to write: its places are found and tried before the run, and each
//! is written after it whatever became of the others.

use crate::histogram_log::{self, HistogramLog};
use crate::notice;
use crate::options::{Format, Options};
use crate::output::{self, OutputError, Place};
use crate::plan::Plan;
use crate::report;
use crate::run::RunResult;
use std::path::Path;

/// Where the outputs go.
#[derive(Debug)]
pub(crate) struct Deliveries {
    report: Option<Place>,
    hgrm: Option<Place>,
    /// Written while the run goes on.
    log: Option<HistogramLog>,
}

/// Why nothing is run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unfit {
    #[error("{one} and {other} name the same file, {path}; allowed: one file for each")]
    Same { one: &'static str, other: &'static str, path: String },
    #[error(transparent)]
    Output(#[from] OutputError),
}

impl Deliveries {
    /// Finds and tries all places.
    pub(crate) fn prepare(options: &Options) -> Result<Deliveries, Unfit> {
        if prints(options) {
            output::check_standard_output()?;
        }
        if options.output.is_none() && output::standard_output_may_be_closed() {
            notice::warning(
                "standard output is closed or goes to /dev/null: no report will be seen",
            );
        }
        let named =
            [("--output", &options.output), ("--hgrm", &options.hgrm), ("--hlog", &options.hlog)];
        let find = |path: Option<&Path>| path.map(Place::find).transpose();
        let mut places = Vec::new();
        for (option, path) in named {
            places.push((option, path.as_deref(), find(path.as_deref())?));
        }
        check_apart(options, &places)?;
        for (.., place) in &mut places {
            place.iter_mut().try_for_each(Place::open)?;
        }
        let mut places = places.into_iter().map(|(.., place)| place);
        let mut next = || places.next().flatten();
        let (report, hgrm, log) = (next(), next(), next());
        let log = log.map(HistogramLog::create).transpose()?;
        Ok(Deliveries { report, hgrm, log })
    }

    /// The log, for the run to write to.
    pub(crate) fn take_log(&mut self) -> Option<HistogramLog> {
        self.log.take()
    }

    /// Writes everything; gives what could not be written. The report comes first: another output
    /// may be a pipe that nobody empties. So may standard output, which comes behind its file.
    pub(crate) fn deliver(self, plan: &Plan, mut result: RunResult) -> Vec<OutputError> {
        let log = result.histogram_log.take();
        let table = self
            .hgrm
            .map(|place| (place, histogram_log::percentile_table(&mut result.ledger.latency)));
        let report = report::build(plan, result);
        let prints = prints(&plan.options);
        let to_file = self.report.map(|place| place.write(&report::json(&report)));
        let printed = prints.then(|| {
            output::print(&match plan.options.format {
                Format::Text => report::text(&report),
                Format::Json => report::json(&report),
            })
        });
        let to_hgrm = table.map(|(place, table)| place.write(&table));
        let to_hlog = log.map(HistogramLog::finish);
        let all = [to_file, printed, to_hgrm, to_hlog];
        all.into_iter().flatten().filter_map(Result::err).collect()
    }
}

/// Whether the report goes to standard output.
fn prints(options: &Options) -> bool {
    options.format == Format::Text || options.output.is_none()
}

type Named<'a> = (&'static str, Option<&'a Path>, Option<Place>);

/// No output may take another one's place.
fn check_apart(options: &Options, places: &[Named<'_>]) -> Result<(), Unfit> {
    for (at, (other, path, place)) in places.iter().enumerate() {
        let (Some(path), Some(place)) = (path, place) else { continue };
        let before = places[..at].iter();
        let twin =
            before.filter(|(.., twin)| twin.as_ref().is_some_and(|twin| twin.is_same(place)));
        let twin = twin.map(|(one, ..)| *one).next();
        let stdout = || prints(options) && place.is_standard_output();
        if let Some(one) = twin.or_else(|| stdout().then_some("standard output")) {
            return Err(Unfit::Same { one, other, path: path.display().to_string() });
        }
    }
    Ok(())
}
