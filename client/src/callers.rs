//! Who makes the calls of a worker, and on which connections.

use std::collections::VecDeque;

/// Who makes the calls of this worker.
#[derive(Clone, Debug)]
pub(crate) enum Callers {
    /// Each connection has callers of its own: as many as this says for it.
    PerConnection(Vec<usize>),
    /// Fewer callers than connections: each goes on to the connection that has been idle longest,
    /// so that all are used.
    Rotating(usize),
    /// Each call goes to the next connection in turn, whatever is in flight there: a slow
    /// connection holds up every caller in the end, and all connections get equally many calls.
    InTurn(usize),
}

impl Callers {
    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        match self {
            Callers::PerConnection(windows) => windows.iter().map(|&window| window as u64).sum(),
            Callers::Rotating(callers) | Callers::InTurn(callers) => *callers as u64,
        }
    }
}

/// Callers that go from connection to connection.
#[derive(Debug)]
pub(crate) struct Rotation {
    idle_callers: u64,
    /// The longest idle first, or the next in turn. A connection that was lost stays in until its
    /// turn comes.
    connections: VecDeque<usize>,
    /// Whether connections take turns with calls in flight on them, too.
    in_turn: bool,
}

impl Rotation {
    /// The rotation over `connections` idle connections, if callers rotate at all.
    pub(crate) fn of(callers: &Callers, connections: usize) -> Option<Rotation> {
        let (callers, in_turn) = match *callers {
            Callers::PerConnection(_) => return None,
            Callers::Rotating(callers) => (callers, false),
            Callers::InTurn(callers) => (callers, true),
        };
        let idle_callers = callers as u64;
        Some(Rotation { idle_callers, connections: (0..connections).collect(), in_turn })
    }

    /// The connection for the next call, if there is an idle caller for it. `tried` must follow,
    /// unless the connection is gone.
    pub(crate) fn next(&mut self) -> Option<usize> {
        if self.idle_callers == 0 {
            return None;
        }
        self.connections.pop_front()
    }

    /// Whether a call was started on what `next` gave.
    pub(crate) fn tried(&mut self, connection: usize, started: bool) {
        if !started {
            self.connections.push_front(connection);
            return;
        }
        self.idle_callers -= 1;
        if self.in_turn {
            self.connections.push_back(connection);
        }
    }

    /// Calls on a connection have ended: so many callers are idle, and the connection is.
    pub(crate) fn came_back(&mut self, callers: u64, connection: usize) {
        self.idle_callers += callers;
        if !self.in_turn {
            self.connections.push_back(connection);
        }
    }

    /// Calls have ended together with their connection.
    pub(crate) fn callers_came_back(&mut self, callers: u64) {
        self.idle_callers += callers;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_take_turns_over_all_connections() {
        let mut rotation = Rotation::of(&Callers::Rotating(2), 5).unwrap();
        let mut order = Vec::new();
        for _ in 0..10 {
            let first = rotation.next().unwrap();
            rotation.tried(first, true);
            order.push(first);
            rotation.came_back(1, first);
        }
        assert_eq!(order, [0, 1, 2, 3, 4, 0, 1, 2, 3, 4]);
    }

    #[test]
    fn in_turn_every_connection_gets_equally_many_calls_whatever_is_in_flight() {
        let mut rotation = Rotation::of(&Callers::InTurn(7), 3).unwrap();
        let mut order = Vec::new();
        while let Some(next) = rotation.next() {
            rotation.tried(next, true);
            order.push(next);
        }
        assert_eq!(order, [0, 1, 2, 0, 1, 2, 0], "as many as there are callers");
        rotation.came_back(2, 2);
        for expected in [1, 2] {
            let next = rotation.next().unwrap();
            assert_eq!(next, expected, "not where calls ended");
            rotation.tried(next, true);
        }
        assert_eq!(rotation.next(), None);
    }

    #[test]
    fn there_are_never_more_calls_than_callers() {
        let mut rotation = Rotation::of(&Callers::Rotating(2), 5).unwrap();
        for expected in [Some(0), Some(1), None] {
            let next = rotation.next();
            assert_eq!(next, expected);
            next.into_iter().for_each(|index| rotation.tried(index, true));
        }
        rotation.callers_came_back(1);
        assert_eq!(rotation.next(), Some(2));
        rotation.tried(2, false);
        assert_eq!(rotation.next(), Some(2), "a call that was not started changes nothing");
    }
}
