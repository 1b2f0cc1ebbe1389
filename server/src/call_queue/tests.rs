//! The call queue against a plain list, and under real threads.

use super::*;
use crate::fake::{Dice, for_each_seed};
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// A run of numbered calls; taking apart one that holds the number 666 panics.
#[derive(Debug, PartialEq, Eq)]
struct Numbers(VecDeque<u32>);

const POISON: u32 = 666_666;

impl Run for Numbers {
    fn count(&self) -> u32 {
        self.0.len() as u32
    }

    fn split_front(&mut self, count: u32) -> Numbers {
        assert!(0 < count && count < self.count(), "split {count} of {}", self.count());
        assert!(!self.0.contains(&POISON), "poison: taken apart");
        Numbers(self.0.drain(..count as usize).collect())
    }
}

fn numbers(next: &mut u32, count: usize) -> Numbers {
    let first = *next;
    *next += count as u32;
    Numbers((first..*next).collect())
}

fn flat(runs: impl IntoIterator<Item = Numbers>) -> Vec<u32> {
    runs.into_iter().flat_map(|run| run.0).collect()
}

#[test]
fn calls_come_out_once_in_order_and_never_more_than_fit() {
    for_each_seed(256, |dice| {
        let capacity = [1, 2, 7, 100][dice.within(0..4)];
        let queue = CallQueue::new(capacity, 1, 1, WhenFull::Reject, 0);
        let mut model: VecDeque<u32> = VecDeque::new();
        let (mut next, mut depth_max, mut closed) = (0, 0, false);
        for _ in 0..200 {
            match dice.within(0..8) {
                0..4 => {
                    let runs = dice.within(0..4);
                    let mut pass: VecDeque<Numbers> =
                        (0..runs).map(|_| numbers(&mut next, 1 + dice.within(0..12))).collect();
                    let offered: Vec<u32> = pass.iter().flat_map(|run| run.0.clone()).collect();
                    let put = queue.put(0, &mut pass);
                    assert_eq!(put.blocked_ns, None, "rejecting never waits");
                    let room = if closed { 0 } else { capacity - model.len() };
                    let fit = room.min(offered.len());
                    model.extend(&offered[..fit]);
                    assert_eq!(flat(pass), offered[fit..], "what did not fit comes back");
                    depth_max = depth_max.max(model.len());
                }
                4 if dice.one_in(40) => {
                    queue.close();
                    closed = true;
                }
                _ if model.is_empty() && !closed => {}
                _ => {
                    let most = 1 + dice.within(0..20);
                    let mut batch = Vec::new();
                    let take = queue.take(0, most as u32, &mut batch);
                    assert_eq!(take.is_none(), model.is_empty(), "the end, and only then");
                    let taken = flat(batch);
                    assert!(taken.len() <= most, "{} of at most {most}", taken.len());
                    let expected: Vec<u32> = model.drain(..taken.len()).collect();
                    assert_eq!(taken, expected);
                    assert!(take.is_none() || !taken.is_empty(), "a take of nothing");
                }
            }
            assert_eq!(queue.depth(), (model.len(), depth_max));
            assert!(model.len() <= capacity);
        }
    });
}

/// Readers and handlers as threads. Returns what was taken and what was given back, and checks
/// that they come to what was put.
fn under_threads(
    capacity: usize,
    (readers, handlers): (usize, usize),
    when_full: WhenFull,
    backlog_max: usize,
) {
    const PASSES: u32 = 300;
    let queue = CallQueue::new(capacity, readers, handlers, when_full, backlog_max);
    let back = Mutex::new(Vec::new());
    let taken = Mutex::new(Vec::new());
    let putting = AtomicUsize::new(readers);
    let put: u32 = thread::scope(|scope| {
        let counts: Vec<_> = (0..readers)
            .map(|reader| {
                let (queue, back, putting) = (&queue, &back, &putting);
                scope.spawn(move || {
                    let mut dice = Dice::new(reader as u64 + 1);
                    let first = reader as u32 * 1_000_000;
                    let mut next = first;
                    for _ in 0..PASSES {
                        let runs = 1 + dice.within(0..3);
                        let mut pass = (0..runs)
                            .map(|_| numbers(&mut next, 1 + dice.within(0..9)))
                            .collect::<VecDeque<_>>();
                        queue.put(reader, &mut pass);
                        assert!(pass.is_empty() || when_full == WhenFull::Reject);
                        lock(back).extend(flat(pass));
                    }
                    if putting.fetch_sub(1, Ordering::AcqRel) == 1 {
                        queue.close();
                    }
                    next - first
                })
            })
            .collect();
        for handler in 0..handlers {
            let (queue, taken) = (&queue, &taken);
            scope.spawn(move || {
                let mut dice = Dice::new(handler as u64 + 100);
                let mut batch = Vec::new();
                while queue.take(handler, 1 + dice.within(0..9) as u32, &mut batch).is_some() {
                    lock(taken).extend(flat(batch.drain(..)));
                }
            });
        }
        counts.into_iter().map(|count| count.join().expect("a reader")).sum()
    });
    let (taken, back) = (lock(&taken), lock(&back));
    let all: HashSet<u32> = taken.iter().chain(back.iter()).copied().collect();
    assert_eq!(taken.len() + back.len(), put as usize, "calls were lost or doubled");
    assert_eq!(all.len(), put as usize, "calls were doubled");
    assert!((1..=capacity).contains(&queue.depth().1), "{} of {capacity}", queue.depth().1);
    assert!(when_full == WhenFull::Reject || back.is_empty());
}

#[test]
fn threads_lose_and_double_nothing_and_all_come_to_an_end() {
    for when_full in [WhenFull::Wait, WhenFull::Reject] {
        for capacity in [1, 3, 50] {
            for threads in [(1, 1), (3, 1), (1, 4), (3, 3)] {
                under_threads(capacity, threads, when_full, 0);
                under_threads(capacity, threads, when_full, 2);
            }
        }
    }
}

#[test]
fn closing_lets_waiting_readers_and_sleeping_handlers_go() {
    let queue = CallQueue::new(2, 2, 3, WhenFull::Wait, 0);
    thread::scope(|scope| {
        let sleepers: Vec<_> = (0..2)
            .map(|handler| {
                let queue = &queue;
                scope.spawn(move || queue.take(handler, 1, &mut Vec::new()))
            })
            .collect();
        let rest = {
            while lock(&queue.state).sleepers < 2 {
                thread::yield_now();
            }
            // Nobody takes any more: a handler is claimed but counts as awake from now on.
            lock(&queue.state).looking = 1;
            let putter = scope.spawn(|| {
                let mut pass = VecDeque::from([Numbers((0..5).collect())]);
                let put = queue.put(1, &mut pass);
                assert!(put.blocked_ns.is_some());
                flat(pass)
            });
            while lock(&queue.state).waiting.is_empty() {
                thread::yield_now();
            }
            queue.close();
            putter.join().expect("a reader")
        };
        let taken: Vec<_> =
            sleepers.into_iter().map(|one| one.join().expect("a handler")).collect();
        assert_eq!(rest, [2, 3, 4], "what was not in the queue comes back");
        assert_eq!(taken.iter().flatten().count(), 2, "what was in is taken: {taken:?}");
    });
}

#[test]
fn q10_a_panic_under_the_lock_does_not_end_the_others() {
    let queue = CallQueue::new(4, 1, 1, WhenFull::Reject, 0);
    let poisoned = thread::scope(|scope| {
        let putter = scope.spawn(|| {
            let mut pass = VecDeque::from([
                Numbers([1, 2].into()),
                Numbers([POISON, 3, 4, 5].into()),
                Numbers([6].into()),
            ]);
            queue.put(0, &mut pass);
        });
        putter.join().is_err()
    });
    assert!(poisoned, "the test's own run did not panic");
    let mut next = 100;
    for round in 0..1000 {
        let mut pass = VecDeque::from([numbers(&mut next, 2)]);
        queue.put(0, &mut pass);
        assert!(pass.is_empty(), "no room in round {round}");
        let mut batch = Vec::new();
        queue.take(0, 100, &mut batch).expect("not closed");
        let taken = flat(batch);
        assert!(taken.ends_with(&[next - 2, next - 1]), "round {round}: {taken:?}");
        assert_eq!(queue.depth().0, 0);
    }
}

/// A run that may keep its handler for long, or not.
#[derive(Debug)]
struct Pace {
    is_slow: bool,
}

impl Run for Pace {
    fn count(&self) -> u32 {
        1
    }

    fn split_front(&mut self, count: u32) -> Pace {
        unreachable!("{count} of one call")
    }

    fn is_slow(&self) -> bool {
        self.is_slow
    }
}

#[test]
fn slow_runs_are_taken_alone() {
    let queue: CallQueue<Pace> = CallQueue::new(100, 1, 1, WhenFull::Wait, 16);
    let is_slow = [false, false, true, true, false, true];
    let mut pass = is_slow.map(|is_slow| Pace { is_slow }).into();
    queue.put(0, &mut pass);
    let mut batch = Vec::new();
    for expected in [&[false, false][..], &[true], &[true], &[false], &[true]] {
        queue.take(0, 100, &mut batch).expect("runs are left");
        assert!(batch.drain(..).map(|run| run.is_slow).eq(expected.iter().copied()));
    }
}

/// A handler that served a slow run counted as awake: what came meanwhile was left to it.
#[test]
fn what_comes_while_a_handler_serves_a_slow_run_wakes_another() {
    let queue: CallQueue<Pace> = CallQueue::new(100, 1, 2, WhenFull::Wait, 16);
    let mut slow = Vec::new();
    queue.put(0, &mut [Pace { is_slow: true }].into());
    queue.take(0, 100, &mut slow).expect("a run");
    let (taken, takes) = std::sync::mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut batch = Vec::new();
            while queue.take(1, 100, &mut batch).is_some() {
                taken.send(batch.drain(..).count()).expect("the test listens");
            }
        });
        for round in 0..200 {
            queue.put(0, &mut [Pace { is_slow: round % 3 == 0 }].into());
            let count = takes.recv_timeout(std::time::Duration::from_secs(20));
            assert_eq!(count, Ok(1), "nobody was woken for run {round}");
        }
        // Done with the slow run, handler 0 finds the end like any other.
        queue.close();
        slow.clear();
        assert_eq!(queue.take(0, 100, &mut slow), None);
    });
}
