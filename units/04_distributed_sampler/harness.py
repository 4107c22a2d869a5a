"""The harnesses of unit 04's exercises: functions that run around the student's (`autograder.exercises.source`)."""

import builtins
import itertools

import torch
import torch.utils.data.distributed as stock

from autograder.exercises.harness import as_lists, has_text


def stock_indices(stock_indices, n, world_size, shuffle, seed, epoch, drop_last):
    made = []
    original = stock.DistributedSampler.__init__

    def counted(self, *arguments, **options):
        made.append(self)
        original(self, *arguments, **options)

    stock.DistributedSampler.__init__ = counted
    try:
        rest = (shuffle, seed, epoch, drop_last)
        more = 2 * n + 1 if n < 1000 else 7  # a list of n * more numbers is an answer's way of padding
        stock_indices(n, 0, more, *rest)  # the same order for other ranks: whoever keeps it must not pad it
        rest = (world_size, *rest)
        ids = [as_lists(stock_indices(n, rank, *rest)) for rank in range(world_size)]
    finally:
        stock.DistributedSampler.__init__ = original
    return {"ids": ids, "library": bool(made)}


class SimpleDataSet(torch.utils.data.Dataset):
    def __init__(self, length):
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        if not 0 <= index < self.length:
            raise IndexError(f"there is no sample {index} among {self.length}")
        return 10 * index


def training_batches(training_batches, n, global_batch_size, epochs, seed):
    return as_lists(training_batches(SimpleDataSet(n), global_batch_size, epochs, seed))


def minibatch_shares(minibatch_shares, order, batch_size, world_size):
    shares, before = [], list(order)
    for rank in range(world_size):
        given = list(before)  # a change in one call shall not disturb the next, but it shall be seen
        shares.append(as_lists(minibatch_shares(given, batch_size, rank, world_size)))
        if given != before:
            order[:] = given
    return shares


def exact_accuracy(exact_accuracy, n, flags):
    asked = []

    def is_correct(i):
        if not 0 <= i < n:
            raise IndexError(f"there is no sample {i} among {n}")
        asked.append(int(i))
        return bool(flags[int(i)])

    accuracy = exact_accuracy(n, is_correct)
    if isinstance(accuracy, torch.Tensor) and accuracy.numel() == 1:
        accuracy = accuracy.item()
    return {"accuracy": accuracy, "asked": asked}


def epoch_generators(epoch_generators, seeds, epochs, world_size, ranks):
    unsalted, process, salted = builtins.hash, 0, []

    def hash_in_a_process(value):
        if not has_text(value):
            return unsalted(value)
        salted.append(value)
        return unsalted((process, unsalted(value)))

    made, before = {}, torch.get_rng_state()
    builtins.hash = hash_in_a_process
    try:
        for seed, epoch, process in itertools.product(seeds, range(epochs), ranks):
            pair = epoch_generators(seed, epoch, process, world_size)
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                return {"made": type(pair).__name__}
            if not all(isinstance(g, torch.Generator) for g in pair):
                return {"made": ", ".join(type(g).__name__ for g in pair)}
            made[seed, epoch, process] = pair
        process = world_size
        again = epoch_generators(seeds[0], 1, world_size - 1, world_size)
    finally:
        builtins.hash = unsalted
    kept = torch.equal(torch.get_rng_state(), before)
    everyone = [g for pair in [*made.values(), again] for g in pair]
    if len({id(g) for g in everyone}) < len(everyone):
        return {"made": "torch.Generator", "shared": True}

    def draw(generator):
        return torch.randint(2**53, (4,), generator=generator).tolist()

    def table(which):
        return [[[draw(made[s, e, r][which]) for r in ranks] for e in range(epochs)] for s in seeds]

    def cut(which):
        numbers = {pair[which].initial_seed() for pair in made.values()}
        return len({number % 2**32 for number in numbers}) < len(numbers)

    streams = {"order": table(0), "noise": table(1), "again": [draw(g) for g in again]}
    return {**streams, "salted": bool(salted), "kept": kept, "cut": [cut(0), cut(1)]}
