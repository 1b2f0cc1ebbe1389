//! From demands and a question to an answer. Nothing here is measured or printed.

use super::demands::{Circumstances, Demands, StageDemand};
use super::{BUSY_MAX, CORES_MAX};
use crate::model::laws::{effective_readers, most_calls_per_s};
use crate::model::queues::{shared_queue, single_queue};
use crate::model::readers::{Prediction, Stage};
use serde::Serialize;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Question {
    /// Calls per second that shall be carried, above 0.
    pub target_per_s: f64,
    /// The 99 % latency that is allowed, in microseconds; none if any is.
    pub p99_us: Option<f64>,
    /// Load and cores.
    pub circumstances: Circumstances,
    /// Numbers of readers that are considered, from 1.
    pub readers_max: u64,
}

/// One number of readers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// How many.
    pub readers: u64,
    /// What they are worth, connections being dealt as they are: c / ceil(c / r).
    pub effective: f64,
    /// How busy the busiest would be at the target; above 1 if it cannot be.
    pub busy_at_target: f64,
    /// The 99 % latency at the target, in microseconds: what was measured at light load, or the
    /// times of the stages, and the waits of readers and handlers on top. None if calls would wait
    /// for ever.
    pub p99_us: Option<f64>,
    /// What the closed loop of all callers would do.
    pub predicted: Prediction,
    /// The stage with the lowest bound.
    pub binds: Stage,
}

/// What it comes to.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Advice {
    /// So many readers do.
    Readers {
        /// The smallest number that does.
        readers: u64,
    },
    /// No number of readers does, and here is why.
    None {
        /// What stands in the way.
        stage: Stage,
        /// In words, one line.
        why: String,
        /// The number of readers behind which nothing is gained: what to run all the same.
        best: u64,
    },
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// What it comes to.
    pub advice: Advice,
    /// The target's work in readers: X D.
    pub readers_busy: f64,
    /// What limits with a single reader: "not the readers" if it is not they.
    pub binds_with_one: Stage,
    /// All numbers of readers that were considered.
    pub rows: Vec<Row>,
}

impl Answer {
    /// The number of readers to run.
    pub fn readers(&self) -> u64 {
        match self.advice {
            Advice::Readers { readers } => readers,
            Advice::None { best, .. } => best,
        }
    }

    /// The row of so many readers.
    pub fn row(&self, readers: u64) -> Option<&Row> {
        self.rows.iter().find(|row| row.readers == readers)
    }

    /// What one more reader than advised buys in the closed loop, as a share of its rate; none if
    /// that many were not considered.
    pub fn gain_of_one_more(&self) -> Option<f64> {
        let (here, more) = (self.row(self.readers())?, self.row(self.readers() + 1)?);
        Some(more.predicted.calls_per_s / here.predicted.calls_per_s - 1.0)
    }
}

/// Answers.
pub fn answer(demands: &Demands, question: &Question) -> Answer {
    let rows: Vec<Row> =
        (1..=question.readers_max).map(|readers| row(demands, question, readers)).collect();
    let first = rows.iter().find(|row| is_enough(row, question)).map(|row| row.readers);
    let obstacle = obstacle(demands, question, &rows);
    let advice = match (obstacle, first) {
        (Some((stage, why)), _) => Advice::None { stage, why, best: best(&rows) },
        (None, Some(readers)) => Advice::Readers { readers },
        (None, None) => {
            let (stage, why) = no_number(question, &rows);
            Advice::None { stage, why, best: best(&rows) }
        }
    };
    Answer {
        advice,
        readers_busy: question.target_per_s * reader_s(demands),
        binds_with_one: rows.first().map_or(Stage::Readers, |row| row.binds),
        rows,
    }
}

/// How long a call holds a reader when it has most to do, in seconds.
fn reader_s(demands: &Demands) -> f64 {
    let served = if demands.handlers == 0 { held_us(&demands.handler) } else { 0.0 };
    (held_us(&demands.reader) + served) / 1e6
}

fn held_us(stage: &StageDemand) -> f64 {
    stage.cpu_us(stage.calls_per_pass).max(stage.paced_us)
}

fn row(demands: &Demands, question: &Question, readers: u64) -> Row {
    let circumstances = &question.circumstances;
    let predicted = demands.system(readers, circumstances).predict();
    let effective = effective_readers(readers, circumstances.clients);
    Row {
        readers,
        effective,
        busy_at_target: question.target_per_s * reader_s(demands) / effective,
        p99_us: p99_us(demands, question, effective),
        binds: predicted.binds(),
        predicted,
    }
}

/// Light load's latency and the waits that the target brings. Sums of quantiles are an upper
/// estimate: seldom is one call unlucky twice.
fn p99_us(demands: &Demands, question: &Question, effective: f64) -> Option<f64> {
    let alone_us = demands.light_p99_us.unwrap_or(
        demands.delay_us
            + held_us(&demands.reader)
            + held_us(&demands.handler)
            + demands.client.cpu_us(1.0),
    );
    let target = question.target_per_s;
    let at_reader = single_queue(target / effective, reader_s(demands), 1.0).quantile_s(0.99);
    let at_handlers = if demands.handlers == 0 {
        0.0
    } else {
        shared_queue(demands.handlers, target, held_us(&demands.handler) / 1e6).quantile_s(0.99)
    };
    let p99_us = alone_us + (at_reader + at_handlers) * 1e6;
    p99_us.is_finite().then_some(p99_us)
}

fn is_enough(row: &Row, question: &Question) -> bool {
    let in_time = match (question.p99_us, row.p99_us) {
        (None, _) => true,
        (Some(allowed_us), Some(p99_us)) => p99_us <= allowed_us,
        (Some(_), None) => false,
    };
    row.busy_at_target <= BUSY_MAX && in_time
}

/// What stands in the way whatever the readers, with the reason.
fn obstacle(demands: &Demands, question: &Question, rows: &[Row]) -> Option<(Stage, String)> {
    let (target, circumstances) = (question.target_per_s, &question.circumstances);
    let handler_s = held_us(&demands.handler) / 1e6;
    let handlers = demands.handlers as f64;
    if demands.handlers > 0 && target * handler_s > BUSY_MAX * handlers {
        let most = BUSY_MAX * most_calls_per_s(handler_s, handlers);
        let wanted = (target * handler_s / BUSY_MAX).ceil();
        return Some((
            Stage::Handlers,
            format!(
                "not the readers: {handlers} handler{} of {:.1} us a call carry at most {most:.0} \
                 calls/s at {:.0} % busy; the target takes {wanted} handlers",
                if demands.handlers == 1 { "" } else { "s" },
                handler_s * 1e6,
                100.0 * BUSY_MAX,
            ),
        ));
    }
    let cpu_us = demands.cpu_us(circumstances);
    if let Some(cores) = circumstances.cores
        && target * cpu_us / 1e6 > CORES_MAX * cores as f64
    {
        let most = CORES_MAX * most_calls_per_s(cpu_us / 1e6, cores as f64);
        let wanted = (target * cpu_us / 1e6 / CORES_MAX).ceil();
        let whose = if circumstances.client_apart { "server" } else { "server and client" };
        return Some((
            Stage::Cores,
            format!(
                "{cores} cores allow at most {most:.0} calls/s at {:.0} % busy: {cpu_us:.1} us of \
                 CPU a call, {whose}; the target takes {wanted} cores",
                100.0 * CORES_MAX,
            ),
        ));
    }
    let client_s = held_us(&demands.client) / 1e6;
    let workers = demands.workers as f64;
    if target * client_s > workers {
        let most = most_calls_per_s(client_s, workers);
        return Some((
            Stage::Client,
            format!(
                "not the readers: {workers} client worker{} of {:.1} us a call make at most \
                 {most:.0} calls/s",
                if demands.workers == 1 { "" } else { "s" },
                client_s * 1e6,
            ),
        ));
    }
    let most = rows.iter().map(|row| row.predicted.calls_per_s).fold(0.0, f64::max);
    let few = rows.iter().all(|row| row.predicted.calls_per_s < target);
    let callers_bind = rows.last().is_some_and(|row| row.binds == Stage::Callers);
    (few && callers_bind).then(|| {
        let callers = circumstances.callers;
        let why = format!(
            "{callers} callers make at most {most:.0} calls/s: each waits for its own call; more \
             callers are needed"
        );
        (Stage::Callers, why)
    })
}

/// Why none of the numbers does although nothing else stands in the way.
fn no_number(question: &Question, rows: &[Row]) -> (Stage, String) {
    let least = |of: fn(&Row) -> f64| rows.iter().map(of).fold(f64::INFINITY, f64::min);
    let busy = least(|row| row.busy_at_target);
    let why = if busy > BUSY_MAX {
        format!(
            "with 1 to {} readers on {} connections the busiest is at least {:.0} % busy; allowed \
             are {:.0} %",
            question.readers_max,
            question.circumstances.clients,
            100.0 * busy,
            100.0 * BUSY_MAX,
        )
    } else {
        let p99_us = least(|row| row.p99_us.unwrap_or(f64::INFINITY));
        format!("99 % of the calls take {p99_us:.0} us at best, whatever the readers")
    };
    (Stage::Readers, why)
}

/// The fewest readers with nearly the largest rate.
fn best(rows: &[Row]) -> u64 {
    let most = rows.iter().map(|row| row.predicted.calls_per_s).fold(0.0, f64::max);
    let near = rows.iter().find(|row| row.predicted.calls_per_s >= NEARLY * most);
    near.map_or(1, |row| row.readers)
}

/// A smaller gain than the rest of this is not worth a reader.
const NEARLY: f64 = 0.95;

#[cfg(test)]
mod tests {
    use super::super::Origin;
    use super::*;
    use crate::model::readers::CallerOrder;

    /// The ticket: 28.4 us in a reader and nothing else that anybody queues for.
    fn demands() -> Demands {
        Demands {
            origin: Origin::Given,
            reader: StageDemand::given(28.4, 0.0),
            handler: StageDemand::default(),
            client: StageDemand::default(),
            handlers: 100,
            workers: 1,
            delay_us: 720.0,
            light_p99_us: None,
        }
    }

    fn question(target_per_s: f64, clients: u64) -> Question {
        Question {
            target_per_s,
            p99_us: None,
            circumstances: Circumstances {
                cores: None,
                client_apart: false,
                clients,
                callers: 100,
                caller_order: CallerOrder::Turns,
            },
            readers_max: 10,
        }
    }

    fn obstacle(answer: &Answer) -> (Stage, &str) {
        match &answer.advice {
            Advice::None { stage, why, .. } => (*stage, why),
            advice => panic!("{advice:?}"),
        }
    }

    /// Experiments.md, section 10: 120,000 calls/s are 3.4 busy readers; with 5 the busiest is
    /// 68 % busy, with 30 connections and with 10, where 6 to 9 bring nothing.
    #[test]
    fn the_worked_example_has_its_answer() {
        for clients in [30, 10] {
            let answer = answer(&demands(), &question(120_000.0, clients));
            assert_eq!(answer.advice, Advice::Readers { readers: 5 });
            assert!((answer.readers_busy - 3.408).abs() < 1e-9);
            assert!((answer.row(5).unwrap().busy_at_target - 0.6816).abs() < 1e-9);
            assert!(answer.row(4).unwrap().busy_at_target > BUSY_MAX);
            assert_eq!(answer.binds_with_one, Stage::Readers);
            assert_eq!(answer.row(5).unwrap().predicted.binds_next(), Stage::Callers);
        }
        let answer = answer(&demands(), &question(120_000.0, 10));
        for readers in 6..=9 {
            let row = answer.row(readers).unwrap();
            assert_eq!(row.busy_at_target, answer.row(5).unwrap().busy_at_target);
        }
        assert!(answer.gain_of_one_more().unwrap() < 0.03);
    }

    #[test]
    fn a_latency_bound_can_ask_for_more_readers_or_for_what_none_can_give() {
        let bound = |p99_us| Question { p99_us: Some(p99_us), ..question(120_000.0, 30) };
        let relaxed = answer(&demands(), &bound(2000.0));
        assert_eq!(relaxed.advice, Advice::Readers { readers: 5 });
        let strict = answer(&demands(), &bound(950.0));
        assert!(strict.readers() > 5, "{:?}", strict.advice);
        let none = answer(&demands(), &bound(700.0));
        assert!(obstacle(&none).1.contains("99 % of the calls take"), "{:?}", none.advice);
    }

    #[test]
    fn slow_handlers_are_named_and_not_the_readers() {
        let demands = Demands {
            handlers: 1,
            handler: StageDemand::given(1000.0, 0.0),
            reader: StageDemand::given(5.0, 0.0),
            ..demands()
        };
        let answer = answer(&demands, &question(120_000.0, 30));
        let (stage, why) = obstacle(&answer);
        assert_eq!((stage, answer.binds_with_one), (Stage::Handlers, Stage::Handlers));
        assert!(why.starts_with("not the readers: 1 handler of 1000.0 us"), "{why}");
        assert!(why.ends_with("takes 172 handlers"), "{why}");
        assert_eq!(answer.readers(), 1, "more buy nothing");
    }

    #[test]
    fn few_cores_are_named_with_what_they_allow() {
        let demands = Demands {
            handler: StageDemand::given(5.0, 0.0),
            client: StageDemand::given(6.6, 0.0),
            ..demands()
        };
        let mut question = question(120_000.0, 30);
        question.circumstances.cores = Some(2);
        let on_two = answer(&demands, &question);
        let (stage, why) = obstacle(&on_two);
        assert_eq!(stage, Stage::Cores);
        assert!(why.starts_with("2 cores allow at most 42500 calls/s"), "{why}");
        assert!(why.ends_with("takes 6 cores"), "{why}");
        assert_eq!(on_two.readers(), 2);
        question.circumstances.client_apart = true;
        let apart = answer(&demands, &question);
        assert!(obstacle(&apart).1.contains("33.4 us of CPU a call, server;"));
        question.circumstances.cores = Some(8);
        assert_eq!(answer(&demands, &question).advice, Advice::Readers { readers: 5 });
    }

    #[test]
    fn too_few_callers_or_connections_are_named() {
        let few = answer(&demands(), &question(150_000.0, 30));
        assert_eq!(obstacle(&few).0, Stage::Callers);
        let client = Demands { client: StageDemand::given(10.0, 0.0), ..demands() };
        assert_eq!(obstacle(&answer(&client, &question(120_000.0, 30))).0, Stage::Client);
        let mut question = question(120_000.0, 3);
        question.circumstances.callers = 1000;
        let few = answer(&demands(), &question);
        let (stage, why) = obstacle(&few);
        assert_eq!(stage, Stage::Readers);
        assert!(why.starts_with("with 1 to 10 readers on 3 connections"), "{why}");
    }
}
