//! Whether replies come in the order in which the calls of a connection were started.

/// The order of one connection's calls.
#[derive(Debug)]
pub(super) struct Order {
    /// By slot, how many calls had been started before its own one.
    numbers: Box<[u64]>,
    started: u64,
    /// The latest call that was answered, plus one.
    answered: u64,
    /// Calls whose reply came behind that of a later one, since they were last taken out.
    overtaken: Vec<u64>,
}

impl Order {
    pub(super) fn new(slots: usize) -> Order {
        let numbers = vec![0; slots].into_boxed_slice();
        Order { numbers, started: 0, answered: 0, overtaken: Vec::new() }
    }

    /// The call in `slot` is started.
    pub(super) fn started(&mut self, slot: usize) {
        self.numbers[slot] = self.started;
        self.started += 1;
    }

    /// The call `id` in `slot` is answered.
    pub(super) fn answered(&mut self, slot: usize, id: u64) {
        match self.numbers[slot] {
            number if number < self.answered => self.overtaken.push(id),
            number => self.answered = number + 1,
        }
    }

    /// Takes out the calls that were found.
    pub(super) fn take_overtaken(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.overtaken)
    }
}
