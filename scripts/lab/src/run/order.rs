//! In which order points are measured: every round measures all of them, and begins elsewhere, so
//! that no point is always the one behind a busy neighbour or in the host's bad minute.

/// The indices of `points` points in round `round` (from 0) of `rounds`.
pub(super) fn of_round(points: usize, round: u32, rounds: u32) -> Vec<usize> {
    if points == 0 {
        return Vec::new();
    }
    let shift = points * round as usize / rounds.max(1) as usize;
    // Every second round goes backwards: what changes slowly then cancels out in the medians.
    let step = |index| if round % 2 == 1 { points - index } else { index };
    (0..points).map(|index| (step(index) + shift) % points).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_has_every_point_once_and_begins_elsewhere() {
        for points in 1..12 {
            let mut firsts = Vec::new();
            for round in 0..3 {
                let order = of_round(points, round, 3);
                firsts.push(order[0]);
                let mut sorted = order.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, (0..points).collect::<Vec<_>>());
            }
            firsts.dedup();
            assert!(points < 4 || firsts.len() == 3, "{points}: {firsts:?}");
        }
        assert_eq!(of_round(0, 0, 3), Vec::<usize>::new());
    }
}
