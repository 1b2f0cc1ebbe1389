//! The answer for people.

use super::BUSY_MAX;
use super::answer::{Advice, Answer, Question};
use super::calibrate::Run;
use super::check::{Check, RATE_OFF_MAX, RESPONSE_OFF_MAX};
use super::demands::{Demands, Origin, StageDemand};
use crate::model::readers::Stage;
use echo_common::quantity::grouped;
use std::fmt::Write;

/// Everything but the check. Writing to a string cannot fail, here and below.
pub(super) fn text(
    question: &Question,
    demands: &Demands,
    runs: &[Run],
    answer: &Answer,
) -> String {
    let mut out = String::new();
    ask(&mut out, question);
    measured(&mut out, runs);
    demand(&mut out, demands);
    rows(&mut out, demands, answer);
    advice(&mut out, question, answer);
    out
}

fn ask(out: &mut String, question: &Question) {
    let c = &question.circumstances;
    let _ = write!(out, "target: {} calls/s", grouped(question.target_per_s.round() as u64));
    if let Some(p99_us) = question.p99_us {
        let _ = write!(out, ", 99 % within {p99_us} us");
    }
    let cores = c.cores.map_or("cores enough".to_owned(), |cores| format!("{cores} cores"));
    let whose = if c.client_apart { "for the server alone" } else { "for server and client" };
    let _ = writeln!(out, "; {} connections, {} callers; {cores} {whose}", c.clients, c.callers);
}

fn measured(out: &mut String, runs: &[Run]) {
    if runs.is_empty() {
        return;
    }
    *out += "\nmeasured with 1 reader: CPU us a call (calls a pass)\n";
    *out += "connections  callers    calls/s  mean us   99% us          reader         handler\
             \x20         client  reader busy\n";
    for run in runs {
        let seen = |cpu_us: f64, calls: f64| format!("{cpu_us:.2} ({calls:.1})");
        let handler = run.handler.map_or("-".to_owned(), |handler| {
            seen(handler.cpu_us_per_call, handler.calls_per_pass)
        });
        let _ = writeln!(
            out,
            "{:>11}  {:>7}  {:>9}  {:>7.1}  {:>7.1}  {:>14}  {handler:>14}  {:>14}  {:>11}",
            run.clients,
            run.callers,
            grouped(run.calls_per_s.round() as u64),
            run.mean_us,
            run.p99_us,
            seen(run.reader.cpu_us_per_call, run.reader.calls_per_pass),
            seen(run.client.cpu_us_per_call, run.client.calls_per_pass),
            run.reader_busy_share.map_or("-".to_owned(), percent),
        );
    }
    let most = runs.iter().filter(|run| run.is_disturbed()).filter_map(|run| run.others_share);
    if let Some(most) = most.max_by(f64::total_cmp) {
        let _ = writeln!(
            out,
            "the host was busy: others took up to {} of its CPUs. What was measured here is worse \
             than it would be alone; predictions are for a quiet host.",
            percent(most),
        );
    }
}

fn demand(out: &mut String, demands: &Demands) {
    let how = match demands.origin {
        Origin::Measured => "from the measurement",
        Origin::Given => "given",
    };
    let _ = writeln!(out, "\ndemands, {how}:");
    let handler = format!("handler, {} of them", demands.handlers);
    let client = format!("client, {} of them", demands.workers);
    for (name, stage) in
        [("reader", &demands.reader), (&handler, &demands.handler), (&client, &demands.client)]
    {
        let _ = writeln!(out, "  {name:<20} {}", stage_text(stage));
    }
    let _ = writeln!(out, "  {:<20} {:.1} us", "anything else", demands.delay_us);
}

fn stage_text(stage: &StageDemand) -> String {
    let mut text = format!("{:.2} us a call", stage.call_us);
    if stage.pass_us > 0.0 {
        let _ = write!(
            text,
            " and {:.2} us a pass: {:.2} us at {:.1} calls a pass",
            stage.pass_us,
            stage.cpu_us(stage.calls_per_pass),
            stage.calls_per_pass,
        );
    }
    if stage.paced_us > 0.0 {
        let _ = write!(text, ", paced {} us (emulated)", stage.paced_us);
    }
    text
}

fn rows(out: &mut String, demands: &Demands, answer: &Answer) {
    let emulated = if demands.are_emulated() { ", emulated" } else { "" };
    let _ = writeln!(out, "\npredicted{emulated}: all callers, as fast as they can");
    *out += "readers  worth  busy at target   99% us    calls/s  mean us  busiest reader  binds\n";
    for row in &answer.rows {
        let _ = writeln!(
            out,
            "{:>7}  {:>5.2}  {:>14}  {:>7}  {:>9}  {:>7.1}  {:>14}  {}",
            row.readers,
            row.effective,
            percent(row.busy_at_target),
            row.p99_us.map_or("-".to_owned(), |us| format!("{us:.0}")),
            grouped(row.predicted.calls_per_s.round() as u64),
            row.predicted.response_s * 1e6,
            percent(row.predicted.load(Stage::Readers).busiest_share),
            stage_name(row.binds),
        );
    }
}

fn advice(out: &mut String, question: &Question, answer: &Answer) {
    let readers = answer.readers();
    let Some(row) = answer.row(readers) else { return };
    let noun = if readers == 1 { "reader" } else { "readers" };
    let _ = match &answer.advice {
        Advice::Readers { .. } => writeln!(
            out,
            "\nanswer: {readers} {noun}. The target is {:.1} readers' work; the busiest is {} \
             busy, allowed are {}.",
            answer.readers_busy,
            percent(row.busy_at_target),
            percent(BUSY_MAX),
        ),
        Advice::None { why, .. } => writeln!(
            out,
            "\nanswer: no number of readers. {}. The most that this pair does is {} calls/s, with \
             {readers} {noun}.",
            upper_first(why),
            grouped(row.predicted.calls_per_s.round() as u64),
        ),
    };
    let _ = write!(out, "with 1 reader the {} bind", stage_name(answer.binds_with_one));
    if readers > 1 {
        let _ = write!(out, "; with {readers}, the {}", stage_name(row.binds));
    }
    let _ =
        writeln!(out, "; if readers took no time, the {}.", stage_name(row.predicted.binds_next()));
    if let Some(gain) = answer.gain_of_one_more() {
        let _ = writeln!(out, "one more reader buys {:.1} % of calls/s.", (100.0 * gain).max(0.0));
    }
    staircase(out, question, answer, row.effective);
}

/// Numbers of readers that are worth no more than the one advised.
fn staircase(out: &mut String, question: &Question, answer: &Answer, worth: f64) {
    let Advice::Readers { readers } = answer.advice else { return };
    let more = answer.rows.iter().find(|more| more.effective > worth);
    let Some(more) = more.filter(|more| more.readers > readers + 1) else { return };
    let _ = writeln!(
        out,
        "{} connections make {} to {} readers worth no more than {readers}, as long as all \
         connections carry equally many calls.",
        question.circumstances.clients,
        readers + 1,
        more.readers - 1,
    );
}

/// The check for people.
pub(super) fn check_text(checks: &[Check]) -> String {
    let mut out = String::from(
        "\nreaders      calls/s predicted   measured  error    mean us predicted  measured  \
         error\n",
    );
    for check in checks {
        let _ = writeln!(
            out,
            "{:>7}  {:>21}  {:>9}  {:>+5.1} %  {:>16.1}  {:>8.1}  {:>+5.1} %  {}{}",
            check.readers,
            grouped(check.predicted_calls_per_s.round() as u64),
            grouped(check.measured_calls_per_s.round() as u64),
            100.0 * check.rate_off,
            check.predicted_mean_us,
            check.measured_mean_us,
            100.0 * check.response_off,
            match check {
                Check { disturbed: true, .. } => "no result: the host was busy",
                check if check.holds() => "holds",
                _ => "does not hold",
            },
            if check.ahead { "" } else { " (the calibration itself)" },
        );
    }
    let _ = writeln!(
        out,
        "a prediction holds if calls/s are within {} and the mean within {}.",
        percent(RATE_OFF_MAX),
        percent(RESPONSE_OFF_MAX),
    );
    out
}

fn stage_name(stage: Stage) -> &'static str {
    match stage {
        Stage::Readers => "readers",
        Stage::Handlers => "handlers",
        Stage::Client => "client's workers",
        Stage::Cores => "cores",
        Stage::Callers => "callers",
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

fn upper_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::super::answer::answer;
    use super::super::calibrate::Run;
    use super::super::demands::{Circumstances, Observation};
    use super::*;
    use crate::model::readers::CallerOrder;

    fn question(clients: u64) -> Question {
        Question {
            target_per_s: 120_000.0,
            p99_us: Some(2000.0),
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

    fn lines_of(clients: u64, demands: &Demands) -> Vec<String> {
        let question = question(clients);
        let page = text(&question, demands, &[], &answer(demands, &question));
        page.lines().map(str::to_owned).collect()
    }

    #[test]
    fn the_worked_example_reads_as_its_answer() {
        let lines = lines_of(10, &demands());
        assert_eq!(
            lines[0],
            "target: 120,000 calls/s, 99 % within 2000 us; 10 connections, 100 callers; cores \
             enough for server and client"
        );
        assert!(lines.iter().any(|line| line == "demands, given:"), "{lines:?}");
        assert_eq!(
            lines[lines.len() - 4..],
            [
                "answer: 5 readers. The target is 3.4 readers' work; the busiest is 68 % busy, \
                 allowed are 70 %.",
                "with 1 reader the readers bind; with 5, the callers; if readers took no time, \
                 the callers.",
                "one more reader buys 1.0 % of calls/s.",
                "10 connections make 6 to 9 readers worth no more than 5, as long as all \
                 connections carry equally many calls.",
            ]
        );
    }

    #[test]
    fn slow_handlers_read_as_not_the_readers() {
        let slow = StageDemand::given(1000.0, 0.0);
        let lines = lines_of(30, &Demands { handlers: 1, handler: slow, ..demands() });
        let last = &lines[lines.len() - 3..];
        assert!(last[0].starts_with("answer: no number of readers. Not the readers: 1 handler"));
        assert!(last[0].ends_with("with 1 reader."), "{last:?}");
        assert_eq!(
            last[1],
            "with 1 reader the handlers bind; if readers took no time, the handlers."
        );
    }

    #[test]
    fn emulated_stages_and_busy_hosts_are_named() {
        let paced = StageDemand { paced_us: 200.0, ..StageDemand::given(0.0, 0.0) };
        let lines = lines_of(30, &Demands { reader: paced, ..demands() });
        assert!(lines.iter().any(|line| line.starts_with("predicted, emulated: ")), "{lines:?}");
        let seen = Observation { calls_per_pass: 2.0, cpu_us_per_call: 30.0 };
        let run = Run {
            readers: 1,
            clients: 30,
            callers: 100,
            calls_per_s: 20_000.0,
            mean_us: 5000.0,
            p50_us: 4000.0,
            p99_us: 9000.0,
            reader_busy_share: None,
            reader: seen,
            handler: None,
            client: seen,
            handlers: 0,
            workers: 1,
            others_share: Some(0.4),
            costs: None,
            payload: 128.0,
        };
        let mut out = String::new();
        measured(&mut out, std::slice::from_ref(&run));
        assert!(out.contains("others took up to 40 % of its CPUs"), "{out}");
        let question = question(30);
        let answer = answer(&demands(), &question);
        let page = check_text(&[Check::of(&run, &answer, true).unwrap()]);
        assert!(page.contains("no result: the host was busy"), "{page}");
        let quiet = Run { others_share: None, ..run.clone() };
        let page = check_text(&[Check::of(&quiet, &answer, false).unwrap()]);
        assert!(page.contains("+76.1 %"), "{page}");
        assert!(page.contains("does not hold (the calibration itself)"), "{page}");
        assert_eq!(Check::of(&Run { readers: 11, ..run }, &answer, true), None);
    }
}
