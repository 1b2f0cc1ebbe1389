//! A number out of a client's JSON report: a small total function from text and report to a number.
//!
//! ```text
//! calls_per_s
//! latency_us.p99
//! max(server.readers[].busy_share)
//! replicas.calls_held / outcomes.ok
//! 1e6 * mean(server.readers[].cpu_us_per_call)
//! ```
//!
//! `[]` stands for each element of a list and needs one of `max`, `min`, `mean`, `sum` around the
//! path. `*` and `/` are done from left to right. What is missing or null gives no number.

use serde_json::Value;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Which number, see the module's text.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    text: String,
    first: Operand,
    rest: Vec<(Operator, Operand)>,
}

/// Why a metric's text is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{wrong}; allowed: paths such as latency_us.p99, max(server.readers[].busy_share), numbers, \
     and * or / between them"
)]
pub struct MetricError {
    wrong: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Times,
    Over,
}

#[derive(Clone, Debug, PartialEq)]
enum Operand {
    Number(f64),
    Path { aggregate: Option<Aggregate>, steps: Vec<Step> },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Aggregate {
    Max,
    Min,
    Mean,
    Sum,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Field(String),
    Each,
}

impl Metric {
    /// The number in `report`, if everything that it is made of is there.
    pub fn of(&self, report: &Value) -> Option<f64> {
        let mut result = self.first.of(report)?;
        for (operator, operand) in &self.rest {
            let number = operand.of(report)?;
            result = match operator {
                Operator::Times => result * number,
                Operator::Over => result / number,
            };
        }
        result.is_finite().then_some(result)
    }
}

impl Metric {
    /// Whether it takes max, min, mean or sum of a list, and does nothing else.
    pub fn is_of_list(&self) -> bool {
        let of_list = matches!(&self.first, Operand::Path { aggregate: Some(_), .. });
        of_list && self.rest.is_empty()
    }

    /// The paths that it is made of, as they are written: `server.readers[].busy_share`.
    pub fn paths(&self) -> Vec<String> {
        let operands =
            [&self.first].into_iter().chain(self.rest.iter().map(|(_, operand)| operand));
        operands.filter_map(Operand::path).collect()
    }

    /// The numbers of the list one by one; none if it is of no list.
    pub fn each_of(&self, report: &Value) -> Vec<f64> {
        let mut found = Vec::new();
        if let Operand::Path { steps, .. } = &self.first
            && self.is_of_list()
        {
            collect(report, steps, &mut found);
        }
        found
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.text)
    }
}

impl FromStr for Metric {
    type Err = MetricError;

    fn from_str(text: &str) -> Result<Metric, MetricError> {
        let mut operands = Vec::new();
        let mut operators = Vec::new();
        let mut rest = text;
        loop {
            let end = rest.find(['*', '/']).unwrap_or(rest.len());
            operands.push(operand(rest[..end].trim())?);
            match rest[end..].chars().next() {
                None => break,
                Some('*') => operators.push(Operator::Times),
                Some(_) => operators.push(Operator::Over),
            }
            rest = &rest[end + 1..];
        }
        let mut operands = operands.into_iter();
        let first = operands.next().expect("the loop pushes one before it ends");
        let rest = operators.into_iter().zip(operands).collect();
        Ok(Metric { text: text.trim().to_owned(), first, rest })
    }
}

fn operand(text: &str) -> Result<Operand, MetricError> {
    let refuse = |wrong: &str| MetricError { wrong: format!("{wrong} in metric {text:?}") };
    if let Ok(number) = text.parse::<f64>() {
        return Ok(Operand::Number(number));
    }
    let (aggregate, path) = match text.split_once('(') {
        None => (None, text),
        Some((name, inner)) => {
            let aggregate = match name.trim() {
                "max" => Aggregate::Max,
                "min" => Aggregate::Min,
                "mean" => Aggregate::Mean,
                "sum" => Aggregate::Sum,
                _ => return Err(refuse("an unknown function")),
            };
            let inner = inner.strip_suffix(')').ok_or_else(|| refuse("a bracket is missing"))?;
            (Some(aggregate), inner.trim())
        }
    };
    let mut steps = Vec::new();
    for part in path.split('.') {
        let (field, each) = match part.strip_suffix("[]") {
            Some(field) => (field, true),
            None => (part, false),
        };
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if field.is_empty() || !field.chars().all(word) {
            return Err(refuse("no path"));
        }
        steps.push(Step::Field(field.to_owned()));
        if each {
            steps.push(Step::Each);
        }
    }
    match (aggregate, steps.contains(&Step::Each)) {
        (None, true) => Err(refuse("a list without max, min, mean or sum around it")),
        (Some(_), false) => Err(refuse("nothing to take max, min, mean or sum of")),
        _ => Ok(Operand::Path { aggregate, steps }),
    }
}

impl Operand {
    fn path(&self) -> Option<String> {
        let Operand::Path { steps, .. } = self else { return None };
        let mut path = String::new();
        for step in steps {
            match step {
                Step::Field(name) if path.is_empty() => path.push_str(name),
                Step::Field(name) => path.extend([".", name]),
                Step::Each => path.push_str("[]"),
            }
        }
        Some(path)
    }

    fn of(&self, report: &Value) -> Option<f64> {
        match self {
            Operand::Number(number) => Some(*number),
            Operand::Path { aggregate, steps } => {
                let mut found = Vec::new();
                collect(report, steps, &mut found);
                match aggregate {
                    None => found.first().copied(),
                    Some(aggregate) => aggregate.of(&found),
                }
            }
        }
    }
}

/// Finds every number at the end of the path; lists may be empty, elements may lack it.
fn collect(value: &Value, steps: &[Step], found: &mut Vec<f64>) {
    match steps.split_first() {
        None => found.extend(value.as_f64()),
        Some((Step::Field(name), rest)) => {
            if let Some(value) = value.get(name) {
                collect(value, rest, found);
            }
        }
        Some((Step::Each, rest)) => {
            for element in value.as_array().into_iter().flatten() {
                collect(element, rest, found);
            }
        }
    }
}

impl Aggregate {
    fn of(self, numbers: &[f64]) -> Option<f64> {
        let numbers = numbers.iter().copied();
        let count = numbers.len();
        match self {
            Aggregate::Max => numbers.reduce(f64::max),
            Aggregate::Min => numbers.reduce(f64::min),
            Aggregate::Sum => (count > 0).then(|| numbers.sum()),
            Aggregate::Mean => (count > 0).then(|| numbers.sum::<f64>() / count as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(text: &str, expected: Option<f64>) {
        let report = json!({
            "calls_per_s": 50_000.0,
            "missing": null,
            "zero": 0,
            "latency_us": {"p99": 7.5},
            "server": {"readers": [{"busy": 0.5}, {"busy": 0.25}, {"busy": null}], "handlers": []},
            "deep": [{"list": [{"x": 1}, {"x": 2}]}, {"list": [{"x": 4}]}],
        });
        assert_eq!(text.parse::<Metric>().unwrap().of(&report), expected, "{text}");
    }

    #[test]
    fn numbers_are_found_by_path() {
        check("calls_per_s", Some(50_000.0));
        check("latency_us.p99", Some(7.5));
        check("max(server.readers[].busy)", Some(0.5));
        check("min( server.readers[].busy )", Some(0.25));
        check("mean(server.readers[].busy)", Some(0.375));
        check("sum(deep[].list[].x)", Some(7.0));
        check("1e6 / calls_per_s", Some(20.0));
        check("calls_per_s * 2 / 4", Some(25_000.0));
    }

    #[test]
    fn a_list_is_taken_apart() {
        let report = json!({"handlers": [{"calls": 3}, {"calls": 5}, {"name": "x"}]});
        let each = |text: &str| text.parse::<Metric>().unwrap().each_of(&report);
        assert_eq!(each("sum(handlers[].calls)"), [3.0, 5.0]);
        assert!(each("sum(handlers[].calls) / 2").is_empty() && each("handlers").is_empty());
    }

    #[test]
    fn its_paths_are_those_that_it_was_written_with() {
        let paths = |text: &str| text.parse::<Metric>().unwrap().paths();
        assert_eq!(paths("1e6 * max( a.b[].c ) / calls_per_s"), ["a.b[].c", "calls_per_s"]);
        assert!(paths("2 * 3").is_empty());
    }

    #[test]
    fn what_is_missing_is_no_number() {
        for text in [
            "missing",
            "nowhere",
            "latency_us",
            "latency_us.p99.x",
            "max(server.handlers[].busy)",
            "sum(nowhere[].x)",
            "max(calls_per_s[].x)",
            "calls_per_s / zero",
            "calls_per_s * missing",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn a_metric_that_means_nothing_is_refused_in_one_line() {
        for (text, wrong) in [
            ("", "no path"),
            ("a..b", "no path"),
            ("a b", "no path"),
            ("server.readers[].busy", "a list without max"),
            ("max(calls_per_s)", "nothing to take max"),
            ("median(a[].b)", "an unknown function"),
            ("max(a[].b", "a bracket is missing"),
            ("a / ", "no path"),
            ("* a", "no path"),
        ] {
            let error = text.parse::<Metric>().unwrap_err().to_string();
            assert!(error.starts_with(wrong) && !error.contains('\n'), "{text}: {error}");
        }
    }
}
