//! What was predicted, drawn beside what was measured.

use crate::chart::{Mark, Series};
use crate::predict::Predicted;
use crate::words;

/// In legends.
const MODEL: &str = "the model's prediction, in the colour of its line";
pub(super) const KNEE: &str = "where the law bends, in the colour of its line";

/// The predictions of some lines, each curve once: lines that differ in what the model does not
/// know have one.
#[derive(Default)]
pub(super) struct Laws {
    pub(super) series: Vec<Series>,
    /// Where they bend, with the colours of their lines.
    pub(super) knees: Vec<(usize, Mark)>,
    /// The same in words, those that lie beyond the last value, too.
    bends: Vec<String>,
}

impl Laws {
    /// One line's: places along the knob, and what was said of them.
    pub(super) fn add<'p>(
        &mut self,
        colour: usize,
        line: &str,
        said: impl Iterator<Item = (f64, &'p Predicted)>,
    ) {
        let said: Vec<(f64, &Predicted)> = said.collect();
        let mut points: Vec<Mark> =
            said.iter().map(|(x, p)| Mark { x: *x, y: p.calls_per_s, bar: None }).collect();
        let last = points.iter().map(|point| point.x).reduce(f64::max);
        let first = points.iter().map(|point| point.x).reduce(f64::min);
        let (Some(first), Some(last)) = (first, last) else { return };
        let knee = said.iter().find_map(|(_, predicted)| predicted.knee);
        if let Some(knee) = knee {
            self.bends.push(format!("{} ({line})", words::number(knee.at)));
        }
        let seen = knee.filter(|knee| (first..=last).contains(&knee.at));
        if let Some(knee) = seen {
            // Between two values of the knob the law would be cut short.
            let bend = Mark { x: knee.at, y: knee.calls_per_s, bar: None };
            points.push(bend);
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            self.knees.push((colour, bend));
        }
        if !self.series.iter().any(|other| other.points == points) {
            let name = MODEL.to_owned();
            self.series.push(Series { name, colour, dashed: true, points, ..Series::default() });
        }
    }
    /// Where they bend, for below the chart.
    pub(super) fn note(&self) -> Option<String> {
        let bends = Some(self.bends.join(", ")).filter(|bends| !bends.is_empty())?;
        Some(format!("The law bends at {bends}."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Scalar;
    use crate::predict::Knee;
    use serde_json::json;

    fn said(rates: &[(f64, f64)], knee: Option<Knee>) -> Vec<(f64, Predicted)> {
        let one = |(x, calls_per_s): &(f64, f64)| {
            let at: Scalar = serde_json::from_value(json!(x)).unwrap();
            let (group, line, binds) = ("g".to_owned(), "x".to_owned(), "b".to_owned());
            let calls_per_s = *calls_per_s;
            (*x, Predicted { group, line, at, calls_per_s, response_us: None, binds, knee })
        };
        rates.iter().map(one).collect()
    }

    fn add(laws: &mut Laws, line: &str, said: &[(f64, Predicted)]) {
        laws.add(0, line, said.iter().map(|(x, predicted)| (*x, predicted)));
    }

    /// Between 1 and 2 a straight line would cut the bend at 1.25 off.
    #[test]
    fn a_bend_between_two_values_of_the_knob_is_a_point_of_the_curve() {
        let mut laws = Laws::default();
        let knee = |at| Some(Knee { at, calls_per_s: 500.0 });
        add(&mut laws, "quarter", &said(&[(1.0, 400.0), (2.0, 500.0)], knee(1.25)));
        let xs: Vec<f64> = laws.series[0].points.iter().map(|point| point.x).collect();
        assert_eq!((xs, laws.knees.len()), (vec![1.0, 1.25, 2.0], 1));
        add(&mut laws, "far", &said(&[(1.0, 100.0), (2.0, 200.0)], knee(80.0)));
        assert_eq!((laws.series[1].points.len(), laws.knees.len()), (2, 1), "beyond the chart");
        assert_eq!(laws.note().unwrap(), "The law bends at 1.25 (quarter), 80 (far).");
    }

    #[test]
    fn lines_of_one_law_have_one_curve_and_one_without_a_bend_has_no_note() {
        let mut laws = Laws::default();
        for line in ["a", "b"] {
            add(&mut laws, line, &said(&[(1.0, 400.0), (2.0, 500.0)], None));
        }
        assert_eq!((laws.series.len(), laws.knees.len(), laws.note()), (1, 0, None));
        add(&mut laws, "nothing is known", &[]);
        assert_eq!(laws.series.len(), 1);
    }
}
