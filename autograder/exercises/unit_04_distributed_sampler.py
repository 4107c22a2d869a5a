"""Unit 04, DistributedSampler: who gets which sample, in which step and in which epoch, and what that does to an evaluation."""

from __future__ import annotations

import math

import numpy as np

from autograder.exercise import ANYTHING, Case, Diagnosis, Exercise, Finding, Mistake, Run
from autograder.exercises.kinds import PlainExercise

UNIT = "04_distributed_sampler"

# Ids may come as a list, a range, an array, a tensor or an iterator; batches as a list of such. A set has no order.
AS_LISTS = """
def as_lists(ids):
    if hasattr(ids, "tolist"):
        ids = ids.tolist()
    if isinstance(ids, (set, frozenset)):
        return "a set, which has no order"
    if isinstance(ids, (str, dict)) or not hasattr(ids, "__iter__"):
        return ids
    return [as_lists(i) for i in ids]
"""

IGNORES_RANK = Mistake(
    "ignores_rank",
    "Every rank gets the same samples: four ranks then do four times the work and learn nothing more.",
    "What a rank gets must depend on `rank`.",
)
ITEMS = Mistake(
    "items",
    "These are the items, ten times the ids. A sampler never touches the data: it says which samples to fetch.",
    "Return ids, numbers from 0 to n - 1.",
)
OUT_OF_RANGE = Mistake(
    "out_of_range", "There is an id among them that no sample has.", "The ids are 0 to n - 1."
)
SAMPLE_TWICE = Mistake(
    "sample_twice",
    "A sample was dealt out more than once, so it counts more than the others.",
    "Every sample has one rank and one place: follow the one that is named above.",
)
NOT_INTEGERS = Mistake(
    "not_integers",
    "The ids are right as numbers, but they are floating-point numbers: no list and no data set takes 3.0 for an index, and a float32 "
    "does not even hold the ids above 2**24.",
    "Keep ids integers on the whole way: `torch.arange(n)`, `dtype=int`.",
)
SAMPLE_LEFT_OUT = Mistake(
    "sample_left_out",
    "A sample was dealt to nobody: it is never trained on.",
    "Follow the sample that is named above: which rank should have it?",
)
OWN_ORDER = Mistake(
    "own_order",
    "Each rank has the right samples, but not in the order in which they were dealt.",
    "Rank r gets r, r + world_size, r + 2 world_size, ..., in this order.",
)


def torch_order(n: int, seed: int) -> np.ndarray:
    """What `torch.randperm(n, generator=g)` gives after `g.manual_seed(seed)`, shape (n,), for n below some 200 million.

    Fisher and Yates' shuffle on the 32-bit numbers of the Mersenne twister (ATen/native/TensorFactories.cpp, randperm_cpu).
    """
    numbers = np.random.RandomState(seed).randint(0, 2**32, max(n - 1, 0), dtype=np.uint32).tolist()
    order = np.arange(n)
    for i, number in enumerate(numbers):
        j = i + number % (n - i)
        order[i], order[j] = order[j], order[i]
    return order


def evened(order: np.ndarray, world_size: int, drop_last: bool = False) -> np.ndarray:
    """An order cut down, or filled up from its own beginning, to a multiple of the world size."""
    n = len(order)
    return order[: n - n % world_size] if drop_last else np.resize(order, n + -n % world_size)


def strides(order: np.ndarray, world_size: int) -> list[list[int]]:
    """Dealt out like cards: rank r gets entries r, r + p, r + 2p, ..."""
    return [order[rank::world_size].tolist() for rank in range(world_size)]


def blocks(order: np.ndarray, world_size: int) -> list[list[int]]:
    """Cut into as many pieces as there are ranks."""
    return [block.tolist() for block in np.array_split(order, world_size)]


def cut(ids: list, size: int) -> list[list]:
    """A list in pieces of `size`; the last one may be shorter."""
    return [list(ids[start : start + size]) for start in range(0, len(ids), size)]


def only_distinct(expected, candidates: dict) -> dict:
    """The candidates of a case of one value; None for what cannot be told from the right answer or from an earlier candidate."""
    seen, shown = [expected], {}
    for name, value in candidates.items():
        new = value is not None and value not in seen
        shown[name] = [value] if new else None
        if new:
            seen.append(value)
    return shown


def has_floats(ids) -> bool:
    """Whether a float stands anywhere in nested lists of ids."""
    return any(map(has_floats, ids)) if isinstance(ids, list) else isinstance(ids, float)


def deal_mistake(shares, n: int) -> Finding | None:
    """What is wrong with a deal in which each of n samples should be held once; None where every sample is."""
    world_size = len(shares)
    flat = np.array([sample for share in shares for sample in share], dtype=np.int64)
    if flat.size and (flat.min() < 0 or flat.max() >= n):
        return Finding("out_of_range", f"Id {int(flat[(flat < 0) | (flat >= n)][0])} of n = {n}.")
    if world_size > 1 and flat.size and all(share == shares[0] for share in shares):
        return Finding("ignores_rank")
    held = np.bincount(flat, minlength=n)
    if (held == 0).any():
        missing = np.flatnonzero(held == 0)
        return Finding("sample_left_out", f"Nobody has sample {missing[0]}{' and others' if len(missing) > 1 else ''}.")
    if (held > 1).any():
        sample = int(np.argmax(held > 1))
        owners = [str(rank) for rank, share in enumerate(shares) for s in share if s == sample]
        return Finding("sample_twice", f"Sample {sample} was dealt {held[sample]} times, to ranks {', '.join(owners)}.")
    return None


class StridedShare(PlainExercise):
    """Like a card dealer"""

    signature = "strided_share(n, rank, world_size) -> ids of this rank's samples"
    levels = {"n divides": 1, "n does not divide": 1}
    reference = "def strided_share(n, rank, world_size):\n    return list(range(rank, n, world_size))\n"
    mistakes = [
        Mistake(
            "blocks",
            "Each rank got a block of neighbours. That is unit 01's way; here the samples are dealt out one by one.",
            "Rank r gets r, r + world_size, r + 2 world_size, ...: a range with a step.",
            lambda c: blocks(np.arange(c.n), c.world_size),
        ),
        Mistake(
            "drops_the_rest",
            "Shares of n // world_size leave the last n % world_size samples to nobody.",
            "Let the range run to n: it stops by itself, on some ranks one sample later.",
            lambda c: strides(evened(np.arange(c.n), c.world_size, True), c.world_size) if c.n > c.world_size else None,
        ),
        Mistake(
            "padded",
            "All shares are equally long because some samples were dealt twice.",
            "Shares may differ by one here; leave the short ones short.",
            lambda c: strides(evened(np.arange(c.n), c.world_size), c.world_size),
        ),
        Mistake(
            "starts_at_one",
            "The deal starts one place too late: nobody has sample 0.",
            "Rank 0 has sample 0, so start at `rank`.",
            lambda c: [list(range(rank + 1, c.n, c.world_size)) for rank in range(c.world_size)],
        ),
        ITEMS.giving(lambda c: [[10 * i for i in share] for share in c.right]),
        *(IGNORES_RANK, OUT_OF_RANGE, SAMPLE_TWICE, SAMPLE_LEFT_OUT, NOT_INTEGERS, OWN_ORDER),
        Mistake(
            "dealt_otherwise",
            "Every sample has exactly one rank, but not the one that a dealer would give it to.",
            "Rank r gets r, r + world_size, r + 2 world_size, ..., in this order.",
        ),
    ]

    def draw(self, rng):
        for level, rest in (("n divides", 0), ("n does not divide", 2)):
            for p in (4, 3):
                yield level, {"n": p * rng.integers(3 - rest // 2, 8) + rest, "world_size": p}
        for n, p in ((3, 5), (1, 2)):
            yield "n does not divide", {"n": n, "world_size": p}

    def right(self, n, world_size):
        return strides(np.arange(n), world_size)

    def read(self, shares, n, world_size):
        if [sorted(share) for share in shares] == self.right(n, world_size):
            return "own_order"
        return deal_mistake(shares, n) or "dealt_otherwise"

    def read_right(self, shares, n, world_size):
        return "not_integers" if has_floats(shares) else None


class StockIndices(Exercise):
    """What the stock sampler does"""

    unit, function = UNIT, "stock_indices"
    signature = "stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last) -> ids of this rank, in their order"
    levels = {"padding": 1, "drop_last": 1, "shuffle": 1, "fewer samples than ranks": 1}
    runtime = "plain"
    harness = (
        AS_LISTS
        + """

import torch.utils.data.distributed as stock


def harness(stock_indices, n, world_size, shuffle, seed, epoch, drop_last):
    made = []
    original = stock.DistributedSampler.__init__

    def counted(self, *arguments, **options):
        made.append(self)
        original(self, *arguments, **options)

    stock.DistributedSampler.__init__ = counted
    try:
        ids = [as_lists(stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last)) for rank in range(world_size)]
    finally:
        stock.DistributedSampler.__init__ = original
    return {"ids": ids, "library": bool(made)}
"""
    )
    diagnoses = {
        "ignores_rank": IGNORES_RANK,
        "items": ITEMS,
        "out_of_range": OUT_OF_RANGE,
        "sample_twice": SAMPLE_TWICE,
        "sample_left_out": SAMPLE_LEFT_OUT,
        "not_integers": NOT_INTEGERS,
        "other_seed_at_zero": Diagnosis(
            "With seed 0 and epoch 0 this is another order than the stock sampler's: 0 was taken for 'not given'.",
            "0 is a seed and an epoch like any other: seed the generator with seed + epoch, without an `if` and without an `or`.",
        ),
        "uses_library": Diagnosis(
            "The ids are right, but DistributedSampler itself did the work. Here you build it.",
            "`torch.randperm` with a generator and slices of a list are enough.",
        ),
        "no_padding": Diagnosis(
            "The shares differ in length: a rank with one sample less may make one step less, and the others wait for it for ever.",
            "Without drop_last the order is filled up from its own beginning until all shares are equally long.",
        ),
        "other_padding": Diagnosis(
            "The shares are equally long, but they were filled up with other samples than the stock sampler takes.",
            "Append the beginning of the order itself, as often as needed, before you deal it out.",
        ),
        "padded_too_much": Diagnosis(
            "More was filled up than needed: where n divides, nothing is, and never a whole round.",
            "The number of samples to add is `-n % world_size`.",
        ),
        "padded_once": Diagnosis(
            "The order was appended to itself once. With very few samples that is not enough, and some ranks stay short.",
            "Repeat the order until it is long enough, then cut.",
        ),
        "ignores_drop_last": Diagnosis(
            "With drop_last nothing may be dealt twice, but here the shares were filled up or left uneven.",
            "With drop_last cut the order down to a multiple of world_size.",
        ),
        "always_drops": Diagnosis(
            "Samples were dropped although drop_last is False.", "Without drop_last fill the order up instead of cutting it."
        ),
        "drops_a_round_too_many": Diagnosis(
            "More was dropped than necessary: every rank could have at least one sample more.",
            "Keep n - n % world_size samples: where n divides, all of them.",
        ),
        "drops_from_the_front": Diagnosis(
            "The first samples of the order were dropped, not the last.", "Keep `order[: n - n % world_size]`."
        ),
        "blocks": Diagnosis(
            "Each rank got a block of neighbours in the order; the stock sampler deals like a card dealer.",
            "Take every world_size-th entry, starting at `rank`.",
        ),
        "not_shuffled": Diagnosis("shuffle=True changed nothing.", "Shuffle the order before you deal it out."),
        "always_shuffles": Diagnosis(
            "The samples were shuffled although shuffle is False.", "Without shuffle the order is 0 to n - 1."
        ),
        "ignores_epoch": Diagnosis(
            "The epoch does not change the order: every epoch sees the same minibatches again.",
            "Seed the generator with seed + epoch.",
        ),
        "ignores_seed": Diagnosis(
            "The seed does not change the order: no run can be varied.", "Seed the generator with seed + epoch."
        ),
        "orders_differ": Diagnosis(
            "Every rank shuffled for itself, so the ranks deal from different packs: some samples are dealt twice, others never.",
            "The order must be the same on all ranks: a generator seeded with seed + epoch, and nothing else.",
        ),
        "shuffles_its_share": Diagnosis(
            "Each rank shuffled its own share only: in all epochs a rank sees the same few samples.",
            "First shuffle the whole order, alike on all ranks, then deal it out.",
        ),
        "pads_before_shuffling": Diagnosis(
            "The order was filled up first and shuffled then; so it is another order than torch's.",
            "Shuffle n ids, then fill up.",
        ),
        "other_shuffle": Diagnosis(
            "All ranks agree on an order and every sample is dealt, but it is not the order of the stock sampler.",
            "`torch.randperm(n, generator=g)` with `g.manual_seed(seed + epoch)`.",
        ),
        "own_order": Diagnosis(
            "Each rank has the right samples, but not in the order in which they were dealt.",
            "Leave a share as it comes out of the deal: nothing is sorted or shuffled after it.",
        ),
        "dealt_otherwise": Diagnosis(
            "Every sample was dealt, but not in the way of the stock sampler.",
            "Rank r gets entries r, r + world_size, r + 2 world_size, ... of the order, in this order.",
        ),
    }

    def cases(self, rng):
        def draw(n, shuffle):
            """A seed and an epoch with an order that none of the usual slips gives, so that a slip costs the same under every key.

            Without shuffle the slip is to shuffle all the same, and that must show.
            """
            while True:
                seed, epoch = int(rng.integers(3, 1000)), int(rng.integers(2, 90))
                if not shuffle:
                    if all(
                        (torch_order(n, k) != np.arange(n)).any() for k in (seed, epoch, seed + epoch, 0)[: 4 if n > 2 else 3]
                    ):
                        return seed, epoch
                    continue
                slips = (seed, epoch, 0, seed * epoch, seed - epoch, seed + epoch + 1, seed + epoch - 1, int(f"{seed}{epoch}"))
                orders = [np.arange(n), *(torch_order(n, abs(slip)) for slip in slips)]
                if not any((order == torch_order(n, seed + epoch)).all() for order in orders):
                    return seed, epoch

        def case(level, p, n, shuffle=False, drop_last=False, zero=False):
            seed, epoch = (0, 0) if zero else draw(n, shuffle)
            says = f"n = {n}, {p} ranks"
            says += f", shuffle, seed {seed}, epoch {epoch}" if shuffle else ""
            says += ", drop_last" if drop_last else ""
            known = {"n": n, "p": p, "shuffle": shuffle, "seed": seed, "epoch": epoch, "drop_last": drop_last}
            return Case(level, 1, (n, p, shuffle, seed, epoch, drop_last), says=says, known=known)

        return [
            case("padding", 4, 4 * int(rng.integers(3, 6)) + 1),
            case("padding", 5, 5 * int(rng.integers(2, 5)) + 2),
            case("padding", 3, 3 * int(rng.integers(3, 6))),
            case("drop_last", 4, 4 * int(rng.integers(3, 6)) + 3, drop_last=True),
            case("drop_last", 2, 2 * int(rng.integers(4, 8)), drop_last=True),
            case("shuffle", 3, 3 * int(rng.integers(4, 8)), shuffle=True),
            case("shuffle", 4, 4 * int(rng.integers(3, 6)) + 2, shuffle=True),
            case("shuffle", 5, 5 * int(rng.integers(3, 5)) + 3, shuffle=True, drop_last=True),
            case("shuffle", 3, 3 * int(rng.integers(4, 8)) + 1, shuffle=True, zero=True),
            case("fewer samples than ranks", 5, 2),
            case("fewer samples than ranks", 12, 5, shuffle=True),
            case("fewer samples than ranks", 4, 3, drop_last=True),
        ]

    def order(self, case, seed=None) -> np.ndarray:
        known = case.known
        return (
            torch_order(known["n"], known["seed"] + known["epoch"] if seed is None else seed)
            if known["shuffle"]
            else np.arange(known["n"])
        )

    def right(self, case) -> list[list[int]]:
        return strides(evened(self.order(case), case.known["p"], case.known["drop_last"]), case.known["p"])

    def expected(self, case):
        return [{"ids": self.right(case), "library": ANYTHING}]

    def misconceptions(self, case):
        n, p, shuffle, drop_last = (case.known[name] for name in ("n", "p", "shuffle", "drop_last"))
        order, right = self.order(case), self.right(case)
        padded = evened(order, p)

        def from_order(other):
            return strides(evened(other, p, drop_last), p)

        found = only_distinct(
            right,
            {
                "ignores_drop_last": strides(padded, p) if drop_last else None,
                "always_drops": strides(evened(order, p, True), p) if not drop_last else None,
                "no_padding": strides(order, p) if not drop_last else None,
                "padded_once": strides(np.concatenate([order, order[: -n % p]]), p) if not drop_last else None,
                "padded_too_much": strides(np.resize(order, (n // p + 1) * p), p) if not drop_last else None,
                "drops_a_round_too_many": strides(order[: max((n - p) // p, 0) * p], p) if drop_last else None,
                "drops_from_the_front": strides(order[n % p :], p) if drop_last and n > p else None,
                "blocks": blocks(evened(order, p, drop_last), p),
                "not_shuffled": from_order(np.arange(n)) if shuffle else None,
                "ignores_epoch": from_order(self.order(case, case.known["seed"])) if shuffle else None,
                "ignores_seed": from_order(self.order(case, case.known["epoch"])) if shuffle else None,
                "pads_before_shuffling": strides(
                    np.resize(np.arange(n), len(padded))[torch_order(len(padded), case.known["seed"] + case.known["epoch"])], p
                )
                if shuffle and not drop_last
                else None,
                "items": [[10 * i for i in share] for share in right],
            },
        )
        return {name: value and [{"ids": value[0], "library": ANYTHING}] for name, value in found.items()}

    def facts(self, case: Case, run: Run):
        value, right = run.ranks[0].value, self.right(case)
        n, p = case.known["n"], case.known["p"]
        ids = value["ids"]
        if ids == right:
            if value["library"]:
                return Finding("uses_library", "A DistributedSampler was made.")
            return "not_integers" if has_floats(ids) else None
        if all(share == ids[0] for share in ids) and ids[0]:
            return "ignores_rank"
        if [sorted(share) for share in ids] == [sorted(share) for share in right]:
            return "own_order"
        if case.known["drop_last"] and (len({len(share) for share in ids}) > 1 or sum(map(len, ids)) > n):
            return "ignores_drop_last"
        if not case.known["drop_last"] and len({len(share) for share in ids}) > 1:
            return "no_padding"
        given, wanted = sum(map(len, ids)), sum(map(len, right))
        if given > wanted:
            return "padded_too_much"
        if given < wanted:
            return "drops_a_round_too_many" if case.known["drop_last"] else "always_drops"
        if case.known["shuffle"]:
            return self._shuffled(case, ids)
        found = deal_mistake(ids, n)
        if found and found.diagnosis in ("out_of_range", "ignores_rank"):
            return found
        order = [ids[k % p][k // p] for k in range(given)]  # as it was before it was dealt out
        if case.known["drop_last"]:
            return "dealt_otherwise" if len(set(order)) == len(order) else "sample_twice"
        if found and found.diagnosis == "sample_left_out":
            return found
        if order[:n] == list(range(n)):
            return "other_padding"
        return "always_shuffles" if sorted(order[:n]) == list(range(n)) else found or Finding("dealt_otherwise")

    def _shuffled(self, case: Case, ids: list[list[int]]):
        """What went wrong with shares that are equally long."""
        n, p = case.known["n"], case.known["p"]
        if n >= 2 * p and all(
            set(share) <= set(own) for share, own in zip(ids, strides(np.resize(np.arange(n), n + -n % p), p), strict=True)
        ):
            return "shuffles_its_share"
        found = deal_mistake(ids, n)
        if found and found.diagnosis in ("out_of_range", "ignores_rank"):
            return found
        order = [ids[k % p][k // p] for k in range(sum(map(len, ids)))]
        if order[:n] == self.order(case).tolist():
            return "other_padding"
        if case.known["seed"] == case.known["epoch"] == 0 and sorted(order[:n]) == list(range(n)):
            return "other_seed_at_zero"  # the cases before this one have other seeds, and there it was right
        held = np.bincount(np.array(order, dtype=np.int64), minlength=n)
        wanted = np.bincount(np.concatenate([np.array(share, dtype=np.int64) for share in self.right(case)]), minlength=n)
        return (
            "other_shuffle"
            if sorted(held.tolist()) == sorted(wanted.tolist())
            else Finding("orders_differ", found.detail if found else "")
        )


class TrainingBatches(Exercise):
    """Epochs of a training loop"""

    unit, function = UNIT, "training_batches"
    talks = False  # sampler and seed are enough
    signature = "training_batches(dataset, global_batch_size, epochs, seed) -> for each epoch, this rank's batches"
    levels = {"one epoch": 1, "three epochs": 2, "nothing divides": 1}
    harness = (
        AS_LISTS
        + """

import torch


class SimpleDataSet(torch.utils.data.Dataset):
    def __init__(self, length):
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        if not 0 <= index < self.length:
            raise IndexError(f"there is no sample {index} among {self.length}")
        return 10 * index


def harness(training_batches, n, global_batch_size, epochs, seed):
    return as_lists(training_batches(SimpleDataSet(n), global_batch_size, epochs, seed))
"""
    )
    diagnoses = {
        "forgot_set_epoch": Diagnosis(
            "Every epoch deals out one and the same order: the sampler shuffles anew only when it is told which epoch begins.",
            "Call `sampler.set_epoch(epoch)` at the beginning of every epoch, before you go through the loader.",
        ),
        "set_epoch_late": Diagnosis(
            "The new epoch was set after the loader had been asked for its batches: each epoch runs in the order of the one before.",
            "Call `sampler.set_epoch(epoch)` before the loop over the loader.",
        ),
        "epochs_from_one": Diagnosis(
            "Epoch 0 was run in the order of epoch 1.",
            "Epochs count from 0: `sampler.set_epoch(epoch)` with the one that begins.",
        ),
        "everybody_sees_everything": Diagnosis(
            "Every rank went through the whole data set: p ranks, p times the work.",
            "Hand the loader a DistributedSampler: `DataLoader(dataset, batch_size=..., sampler=sampler)`.",
        ),
        "global_batch_on_every_rank": Diagnosis(
            "Each rank takes a whole global batch per step, so together they take p times as much as asked for.",
            "The loader's batch_size is the local one: `global_batch_size // dist.get_world_size()`.",
        ),
        "other_batch_size": Diagnosis(
            "Each rank has its samples in the right order, but cut into batches of another size.",
            "A step takes global_batch_size samples, the same number on every rank.",
        ),
        "not_shuffled": Diagnosis(
            "The samples were not shuffled.", "`DistributedSampler(..., shuffle=True)`, which is its default."
        ),
        "ignores_seed": Diagnosis(
            "This is the order of seed 0: the seed was not handed on.", "`DistributedSampler(dataset, seed=seed)`."
        ),
        "ranks_overlap": Diagnosis(
            "The ranks deal from different packs: within one epoch some samples are trained on twice and others never.",
            "All ranks need the same seed and the same epoch, and each its own rank.",
        ),
        "drops_last_batch": Diagnosis(
            "The last, shorter batch of each epoch is missing.", "The loader's drop_last must stay False here."
        ),
        "drops_samples": Diagnosis(
            "The sampler dropped samples instead of filling up.", "The sampler's drop_last must stay False here."
        ),
        "not_in_epochs": Diagnosis(
            "The result has not one entry per epoch.",
            "Start a new list of batches in every epoch, 0 to epochs - 1, and collect these lists in another one.",
        ),
        "epochs_not_apart": Diagnosis(
            "All entries are one and the same object, a list that is filled on and on or the loader itself: what a later epoch changes "
            "shows in all of them.",
            "Start a new list in every epoch and put the loader's batches into it.",
        ),
        "samples_missing": Diagnosis(
            "Some samples are in nobody's batches, and none was put in their place.",
            "Keep every batch that the loader yields, also the last, short one.",
        ),
        "batches_not_apart": Diagnosis(
            "The samples of an epoch are in one list, not in batches.", "Append each batch as it comes."
        ),
        "last_epoch_only": Diagnosis("Only the batches of the last epoch came back.", "Collect the batches of every epoch."),
        "first_epoch_only": Diagnosis(
            "Only the batches of the first epoch came back.", "The `return` stands inside the loop: move it behind."
        ),
        "ids": Diagnosis(
            "These are ids. The loader's batches hold items, here ten times the id.", "Return what the loader yields."
        ),
        "uneven_shares": Diagnosis(
            "Some ranks have more samples than others in an epoch, so they make more or longer steps and wait for the others in vain.",
            "Let the DistributedSampler deal: it fills up the shares to one length.",
        ),
        "other_order": Diagnosis(
            "Together the ranks see every sample in every epoch, but in another order than DistributedSampler gives it.",
            "`DistributedSampler(dataset, seed=seed)` with `set_epoch(epoch)`, and nothing else that shuffles.",
        ),
        "ValueError": Diagnosis(
            "PyTorch refused an argument. A loader takes either a sampler or shuffle=True, never both, and a sampler's rank is one of "
            "0 to num_replicas - 1.",
            "Let the sampler shuffle, and leave num_replicas and rank to it: it asks the process group.",
        ),
    }

    def cases(self, rng):
        def case(level, p, n, batch, epochs, **options):
            seed = int(rng.integers(5, 1000))
            says = f"n = {n}, global batch {batch}, {epochs} {'epoch' if epochs == 1 else 'epochs'}, seed {seed}"
            known = {"n": n, "batch": batch, "epochs": epochs, "seed": seed}
            return Case(level, p, (n, batch, epochs, seed), says=says, known=known, **options)

        return [
            case("one epoch", 2, 24, 8, 1),
            case("three epochs", 4, 24, 8, 3),
            case("three epochs", 3, 18, 6, 3, late=(1,)),
            case("nothing divides", 4, 21, 16, 3),
            case("nothing divides", 5, 3, 10, 3),
        ]

    def epochs(self, case, orders=None, drop_last=False, local=None, seeds=None) -> list[list[list[list[int]]]]:
        """[rank][epoch][batch][item], with each part open to a mistake."""
        n, p, epochs = case.known["n"], case.world_size, case.known["epochs"]
        seeds = [case.known["seed"] + epoch for epoch in range(epochs)] if seeds is None else seeds
        orders = [torch_order(n, seed) for seed in seeds] if orders is None else orders
        local = case.known["batch"] // p if local is None else local
        shares = [strides(10 * evened(order, p, drop_last), p) for order in orders]
        return [[cut(share[rank], local) for share in shares] for rank in range(p)]

    def expected(self, case):
        return self.epochs(case)

    def misconceptions(self, case):
        n, p, epochs, seed = case.known["n"], case.world_size, case.known["epochs"], case.known["seed"]
        right = self.epochs(case)
        local = case.known["batch"] // p
        candidates = {
            "forgot_set_epoch": self.epochs(case, seeds=[seed] * epochs),
            "set_epoch_late": self.epochs(case, seeds=[seed, *range(seed, seed + epochs - 1)]),
            "epochs_from_one": self.epochs(case, seeds=range(seed + 1, seed + 1 + epochs)),
            "global_batch_on_every_rank": self.epochs(case, local=case.known["batch"]),
            "not_shuffled": self.epochs(case, orders=[np.arange(n)] * epochs),
            "ignores_seed": self.epochs(case, seeds=range(epochs)),
            "drops_last_batch": [[[b for b in batches if len(b) == local] for batches in rank] for rank in right],
            "drops_samples": self.epochs(case, drop_last=True),
            "not_in_epochs": [[batch for batches in rank for batch in batches] for rank in right],
            "batches_not_apart": [[[item for batch in batches for item in batch] for batches in rank] for rank in right],
            "last_epoch_only": [rank[-1:] for rank in right],
            "epochs_not_apart": [[rank[-1]] * epochs for rank in right],
            "first_epoch_only": [rank[:1] for rank in right],
            "ids": [[[[item // 10 for item in batch] for batch in batches] for batches in rank] for rank in right],
        }
        if n < p:  # with three samples two orders are often the same
            candidates = {"drops_samples": candidates["drops_samples"]}
        found = only_distinct(right, candidates)
        return {name: value and value[0] for name, value in found.items()}

    def facts(self, case: Case, run: Run):
        values, right = [rank.value for rank in run.ranks], self.epochs(case)
        if values == right:
            return None
        n, p, epochs = case.known["n"], case.world_size, case.known["epochs"]
        for name, epoch in (("first_epoch_only", 0), ("last_epoch_only", -1)):
            if values == [rank[epoch] for rank in right]:
                return name
        flat = [[[item for batch in batches for item in batch] for batches in rank] for rank in values]
        if any(len(rank) != epochs for rank in flat):
            return Finding("not_in_epochs", f"{len(flat[0])} entries for {epochs} {'epoch' if epochs == 1 else 'epochs'}.")
        wanted = [[[item for batch in batches for item in batch] for batches in rank] for rank in right]
        if flat == wanted:
            return "other_batch_size"
        everything = set(range(0, 10 * n, 10))
        if n > p and all(set(share) == everything for rank in flat for share in rank):
            return "everybody_sees_everything"
        if epochs > 1 and all(share[0] == share[epoch] for share in flat for epoch in range(epochs)):
            together = sum(len(share[0]) for share in flat)
            return "epochs_not_apart" if together == epochs * sum(len(share[0]) for share in wanted) else "forgot_set_epoch"
        for epoch in range(epochs):
            held = [item for share in flat for item in share[epoch]]
            lost = everything - set(held)
            if lost:
                again = len(held) - len(set(held)) > -n % p  # more than the padding
                return Finding("ranks_overlap" if again else "samples_missing", f"In epoch {epoch} no rank has item {min(lost)}.")
        if len({len(share) for rank in flat for share in rank}) > 1:
            return "uneven_shares"
        return "other_order"


class MinibatchShares(Exercise):
    """Split the sequential minibatch"""

    unit, function = UNIT, "minibatch_shares"
    signature = "minibatch_shares(order, batch_size, rank, world_size) -> for each minibatch, this rank's ids"
    levels = {
        "minibatches that do not divide": 1,
        "a short last minibatch": 1,
        "fewer samples than ranks": 1,
        "everything divides": 1,
    }
    runtime = "plain"
    harness = (
        AS_LISTS
        + """

def harness(minibatch_shares, order, batch_size, world_size):
    shares, before = [], list(order)
    for rank in range(world_size):
        given = list(before)  # a change in one call shall not disturb the next, but it shall be seen
        shares.append(as_lists(minibatch_shares(given, batch_size, rank, world_size)))
        if given != before:
            order[:] = given
    return shares
"""
    )
    diagnoses = {
        "stock_then_cut": Diagnosis(
            "The whole order was dealt out and each share cut into batches, as DistributedSampler and a loader do it. Where the "
            "minibatch does not divide, a step then mixes samples of two minibatches.",
            "First cut the order into minibatches, then deal out each of them.",
        ),
        "mixes_minibatches": Diagnosis(
            "In some step the ranks together do not hold the sequential minibatch, but samples of another one.",
            "First cut the order into minibatches of batch_size, then deal out each of them.",
        ),
        "deal_goes_on": Diagnosis(
            "The deal goes on where the last minibatch ended, so that another rank begins. Here each minibatch starts with rank 0.",
            "Count positions within the minibatch: `minibatch[rank::world_size]`.",
        ),
        "blocks": Diagnosis(
            "Each minibatch was cut into blocks; the text asks for strides.",
            "Rank r takes positions r, r + world_size, ... of the minibatch: `minibatch[rank::world_size]`.",
        ),
        "drops_the_rest": Diagnosis(
            "A minibatch that does not divide loses its last samples: each rank took batch_size // world_size of them.",
            "Let the slice run to the end of the minibatch; the first ranks get one sample more.",
        ),
        "drops_the_last_minibatch": Diagnosis(
            "The last, short minibatch is missing.", "It is a step like the others, with fewer samples."
        ),
        "padded": Diagnosis(
            "Short shares were filled up, so some samples count twice in their step and the gradient is another one.",
            "Leave them short: unit 05 weights them by their counts.",
        ),
        "leaves_out_empty": Diagnosis(
            "A rank with no samples in a minibatch has no entry for it. It then makes fewer steps than the others, and they wait "
            "for it in the all-reduce.",
            "Append the empty list, too: every rank has one entry per minibatch.",
        ),
        "one_minibatch_too_many": Diagnosis(
            "There are more entries than minibatches: the last ones are empty on every rank.",
            "n samples are ceil(n / batch_size) minibatches; where n divides, n // batch_size + 1 is one too many.",
        ),
        "none_for_empty": Diagnosis(
            "None stands where a rank has no sample.",
            "Return an empty list there: a loop over it does nothing, a loop over None fails.",
        ),
        "whole_minibatches": Diagnosis(
            "Whole minibatches were dealt out: one rank has all of the first, another all of the second.",
            "All ranks work on the same minibatch in the same step, each on its share.",
        ),
        "batch_size_per_rank": Diagnosis(
            "batch_size was taken for each rank, so that a step uses world_size times as many samples.",
            "batch_size is the sequential (global) one: all ranks share it.",
        ),
        "not_split": Diagnosis("Every rank gets the whole minibatch.", "Take `minibatch[rank::world_size]` of it."),
        "ignores_order": Diagnosis(
            "These are positions in the order (or the order was not used): the ids stand in it.",
            "Index `order` with the positions.",
        ),
        "sorted": Diagnosis("The ids of a share were sorted.", "Leave them in the order of the minibatch."),
        "own_order": Diagnosis(
            "Each rank has the right samples of each minibatch, but in another order.",
            "Leave them in the order of the minibatch.",
        ),
        "by_id": Diagnosis(
            "The rank was chosen by the sample's id. In a shuffled order the ids of a minibatch are any, so the shares differ in length "
            "as chance will have it.",
            "Count positions within the minibatch, not ids: `minibatch[rank::world_size]`.",
        ),
        "rounds_the_number": Diagnosis(
            "The number of minibatches was rounded, so a last one that is less than half full is lost.",
            "Round up: n samples are ceil(n / batch_size) minibatches.",
        ),
        "not_integers": NOT_INTEGERS,
        "not_in_minibatches": Diagnosis("The ids are in one flat list.", "One list per minibatch, in a list."),
        "items": ITEMS,
        "ignores_rank": IGNORES_RANK,
        "out_of_range": OUT_OF_RANGE,
        "sample_twice": SAMPLE_TWICE,
        "sample_left_out": SAMPLE_LEFT_OUT,
        "split_otherwise": Diagnosis(
            "In every step the ranks hold the right minibatch together, but it was not dealt out by strides.",
            "Rank r takes positions r, r + world_size, ... of the minibatch.",
        ),
    }

    def cases(self, rng):
        def case(level, n, p, m, permuted=True):
            order = rng.permutation(n) if permuted else np.arange(n)
            while permuted and n < 6 and (order == np.arange(n)).all():
                order = rng.permutation(n)
            says = f"n = {n}, {p} ranks, minibatch {m}, order {'permuted' if permuted else '0, 1, 2, ...'}"
            return Case(level, 1, (order.tolist(), m, p), says=says, known={"order": order, "m": m, "p": p})

        first, second, third, fourth = self.levels
        return [
            case(first, 24, 3, 8),
            case(first, 24, 3, 8, permuted=False),
            case(first, 20, 4, 5),
            case(second, 23, 2, 8),
            case(second, 22, 3, 6),
            case(second, 19, 2, 8),  # the last one is less than half full
            case(third, 12, 5, 4),
            case(third, 3, 5, 4),
            case(fourth, 24, 4, 8),
            case(fourth, 24, 2, 8, permuted=False),
        ]

    @staticmethod
    def split(order: np.ndarray, m: int, p: int, deal=strides) -> list[list[list[int]]]:
        """[rank][minibatch][ids]: minibatches of m, each dealt out by `deal`."""
        steps = [deal(order[start : start + m], p) for start in range(0, len(order), m)]
        return [[step[rank] for step in steps] for rank in range(p)]

    def expected(self, case):
        return [self.split(case.known["order"], case.known["m"], case.known["p"])]

    def misconceptions(self, case):
        order, m, p = case.known["order"], case.known["m"], case.known["p"]
        n, right = len(order), self.split(order, m, p)
        full = n // m * m

        def goes_on(rank):
            return [[int(order[k]) for k in range(s, min(s + m, n)) if k % p == rank] for s in range(0, n, m)]

        return only_distinct(
            right,
            {
                "stock_then_cut": [cut(share, math.ceil(m / p)) for share in strides(evened(order, p), p)],
                "deal_goes_on": [goes_on(rank) for rank in range(p)],
                "blocks": self.split(order, m, p, blocks),
                "drops_the_rest": self.split(order, m, p, lambda ids, p: strides(evened(ids, p, drop_last=True), p)),
                "drops_the_last_minibatch": self.split(order[:full], m, p) if n - full >= m / 2 else None,
                "rounds_the_number": self.split(order[:full], m, p) if 0 < n - full < m / 2 else None,
                "padded": self.split(order, m, p, lambda ids, p: strides(evened(ids, p), p)),
                "leaves_out_empty": [[ids for ids in share if ids] for share in right],
                "none_for_empty": [[ids or None for ids in share] for share in right],
                "not_split": self.split(order, m, p, lambda ids, p: [ids.tolist()] * p),
                "whole_minibatches": [cut(order.tolist(), m)[rank::p] for rank in range(p)],
                "batch_size_per_rank": self.split(order, m * p, p),
                "ignores_order": self.split(np.arange(n), m, p),
                "by_id": [[[int(i) for i in order[s : s + m] if i % p == rank] for s in range(0, n, m)] for rank in range(p)],
                "sorted": [[sorted(ids) for ids in share] for share in right],
                "not_in_minibatches": [[i for ids in share for i in ids] for share in right],
                "items": [[[10 * i for i in ids] for ids in share] for share in right],
            },
        )

    def facts(self, case: Case, run: Run):
        shares = run.ranks[0].value
        order, m, p = case.known["order"], case.known["m"], case.known["p"]
        right = self.split(order, m, p)
        if shares == right:
            return "not_integers" if has_floats(shares) else None
        if [[sorted(ids) for ids in share] for share in shares] == [[sorted(ids) for ids in share] for share in right]:
            return "own_order"
        n = len(order)
        together = [[i for ids in share for i in ids] for share in shares]
        local = {math.floor(m / p), math.ceil(m / p)} - {0}
        if any(
            shares == [cut(share, size) for share in dealt]
            for dealt in (strides(order, p), strides(evened(order, p), p), strides(evened(order, p, True), p))
            for size in local
        ):
            return "stock_then_cut"
        found = deal_mistake(together, n)
        if found and found.diagnosis != "sample_twice":
            return found
        wanted = cut(order.tolist(), m)
        if any(len(share) != len(wanted) for share in shares):
            missing = all(
                [ids for ids in share if ids] == [ids for ids in own if ids]
                for share, own in zip(shares, self.split(order, m, p), strict=True)
            )
            if missing and all(len(share) > len(wanted) for share in shares):
                return "one_minibatch_too_many"
            return "leaves_out_empty" if missing else found or self._step(shares, wanted) or Finding("mixes_minibatches")
        return self._step(shares, wanted) or found or Finding("split_otherwise")

    @staticmethod
    def _step(shares, wanted) -> Finding | None:
        """The first step in which the ranks hold a sample that is not in its minibatch."""
        for step, minibatch in enumerate(wanted):
            for rank, share in enumerate(shares):
                strangers = [i for i in (share[step] if step < len(share) else []) if i not in minibatch]
                if strangers:
                    return Finding(
                        "mixes_minibatches",
                        f"In step {step} rank {rank} has sample {strangers[0]}, which is not in minibatch {step}.",
                    )
        return None


class ExactAccuracy(Exercise):
    """An accuracy that counts everybody once"""

    unit, function = UNIT, "exact_accuracy"
    signature = "exact_accuracy(n, is_correct) -> accuracy over all n samples, on every rank"
    all_hear = True
    levels = {"n divides": 1, "n does not divide": 1, "fewer samples than ranks": 1}
    uses = ("strided_share",)
    harness = """
import torch


def harness(exact_accuracy, n, flags):
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
"""
    diagnoses = {
        "everybody_evaluates_everything": Diagnosis(
            "The accuracy is right, but every rank looked at every sample: nothing is gained by having ranks.",
            "Each rank looks at its share; counts are added up over the ranks.",
        ),
        "rank_0_evaluates_everything": Diagnosis(
            "The accuracy is right, but one rank looked at all samples while the others waited.",
            "Each rank looks at its share; counts are added up over the ranks.",
        ),
        "evaluated_twice": Diagnosis(
            "Some samples were looked at more than once. If they count more than once, the accuracy depends on the number of ranks.",
            "Deal out without padding: `strided_share(n, rank, world_size)`.",
        ),
        "padding_counted": Diagnosis(
            "Samples that were dealt twice, to make all shares equally long, count twice in this accuracy.",
            "Deal out without padding and divide by n; nobody needs equal shares in an evaluation.",
        ),
        "samples_left_out": Diagnosis(
            "Some samples were never looked at: this is the accuracy on the others.",
            "With n % world_size samples left over, some ranks have one sample more.",
        ),
        "unfair": Diagnosis(
            "The accuracy is right, but the shares differ by more than one sample, and the largest decides how long it takes.",
            "`strided_share(n, rank, world_size)` is fair.",
        ),
        "one_ranks_accuracy": Diagnosis(
            "Each rank reports the accuracy on its own samples as if it were that of all.",
            "Add up the counts of all ranks with all_reduce, and divide once.",
        ),
        "mean_of_means": Diagnosis(
            "The accuracies of the ranks were averaged: a rank with fewer samples has as much weight as one with more.",
            "Add up counts of correct samples, which weigh every sample alike, and divide once, by n.",
        ),
        "local_over_n": Diagnosis(
            "The correct samples of one rank were divided by the samples of all ranks.", "Add up the counts over the ranks first."
        ),
        "divided_by_ranks": Diagnosis(
            "The accuracy was divided by the number of ranks. A sum of counts needs no such division.",
            "Divide by n, and nothing else.",
        ),
        "times_world_size": Diagnosis(
            "This is the accuracy once per rank: accuracies were added up, or the sum of all counts was divided by one rank's samples, "
            "or what was complete was added up again.",
            "Add up each rank's own count once, and divide by n.",
        ),
        "other_denominator": Diagnosis(
            "The correct samples were counted rightly, but not divided by n.", "Divide the sum of the counts by n."
        ),
        "maximum": Diagnosis(
            "This is the accuracy of the best rank.", "Add up counts: `dist.ReduceOp.SUM`, and divide once, by n."
        ),
        "rounded": Diagnosis("The accuracy was rounded.", "Return it as it is, and round where you print it."),
        "narrow_count": Diagnosis(
            "The counts were kept in a type that is too narrow for them: uint8 ends at 255, float16 knows no odd number above 2048, "
            "bfloat16 none above 256.",
            "Count in int64, which is what `torch.tensor(3)` is, or in float64.",
        ),
        "ranks_disagree": Diagnosis(
            "The ranks report different accuracies of one and the same model.",
            "Add up the counts over all ranks, and divide by n.",
        ),
        "count": Diagnosis("This is the number of correct samples, not their share.", "Divide by n."),
        "percent": Diagnosis("This is the accuracy in percent.", "Return a number from 0 to 1."),
        "errors": Diagnosis("This is the share of wrong samples.", "Count those for which `is_correct(i)` is True."),
        "rank_0_only": Diagnosis(
            "Only one rank knows the accuracy: a reduce leaves the sum on one rank.",
            "`dist.all_reduce` leaves it on every rank.",
        ),
        "integer_division": Diagnosis("The fraction is gone: integers were divided with `//` or rounded.", "Divide with `/`."),
        "ZeroDivisionError": Diagnosis(
            "A rank divided by the number of its own samples, and with fewer samples than ranks some have none.",
            "Add up the counts over the ranks and divide once, by n.",
        ),
        "missing_rank": Diagnosis(
            "A rank does not take part in the all_reduce that the others wait in: one without samples that returned early, for example.",
            "Every rank calls it; a rank without samples has a zero to add.",
        ),
        "IndexError": Diagnosis(
            "A rank asked for a sample that does not exist.", "The ids are 0 to n - 1: cut the share off there."
        ),
    }

    def cases(self, rng):
        def case(level, p, n, **options):
            while True:
                flags = rng.random(n) < 0.6
                case = Case(level, p, (n, flags), says=f"n = {n}", known={"n": n, "flags": flags}, **options)
                if self.telling(case):
                    return case

        def many(level, p, n, hits):
            """So many that a narrow type cannot count them; an odd number of hits, which the wider of the narrow types round."""
            flags = rng.permutation(np.arange(n) < hits)
            return Case(level, p, (n, flags), says=f"n = {n}", known={"n": n, "flags": flags})

        first, second, third = self.levels
        return [
            case(first, 4, 24),
            case(first, 2, 10),
            many(first, 2, 4100, 2467),
            case(second, 4, 22, late=(0,)),
            case(second, 3, 14),
            case(third, 5, 3),
        ]

    def telling(self, case) -> bool:
        """Whether the usual mistakes show, each with a number of its own, for strides and for blocks."""
        n, p, flags = case.known["n"], case.world_size, case.known["flags"]
        if n < p:
            return 0 < flags.sum() < n and flags.mean() != flags[evened(np.arange(n), p)].mean()
        for deal in (strides, blocks):
            local = [flags[share].mean() for share in deal(np.arange(n), p)]
            if len(set(local)) < 2 or 0 in local or 1 in local:
                return False
            if n % p and abs(np.mean(local) - flags.mean()) < 1e-3:
                return False
        others = [flags.mean(), 1 - flags.mean(), flags[evened(np.arange(n), p, True)].mean() if n % p else 2]
        others += [flags[evened(np.arange(n), p)].mean() if n % p else 3, flags.mean() / p]
        return len({round(float(o), 6) for o in others}) == len(others)

    def expected(self, case):
        return [{"accuracy": float(case.known["flags"].mean()), "asked": ANYTHING}] * case.world_size

    def misconceptions(self, case):
        right = float(case.known["flags"].mean())
        count, p = int(case.known["flags"].sum()), case.world_size
        only_0 = [{"accuracy": right if rank == 0 else None, "asked": ANYTHING} for rank in range(p)]
        everywhere = {"count": count, "percent": 100 * right, "errors": 1 - right, "divided_by_ranks": right / p}
        found = {name: [{"accuracy": value, "asked": ANYTHING}] * p for name, value in everywhere.items()}
        return {"rank_0_only": only_0, **found}

    def facts(self, case: Case, run: Run):
        """Judged by what each rank looked at: how the samples were dealt out is the student's choice."""
        n, p, flags = case.known["n"], case.world_size, case.known["flags"]
        values = [rank.value["accuracy"] for rank in run.ranks]
        asked = [np.array(rank.value["asked"], dtype=np.int64) for rank in run.ranks]
        pooled, right = np.concatenate(asked), float(flags.mean())
        if not pooled.size:
            return Finding("samples_left_out", "No rank has looked at a sample.")
        held = np.bincount(pooled, minlength=n)
        sizes = [len(share) for share in asked]

        def all_are(numbers) -> bool:
            return bool(np.allclose(values, numbers, rtol=1e-5, atol=1e-9))

        if all(isinstance(value, int | float) for value in values) and all_are(right):
            return self._effort(n, sizes, held)
        means = np.array([flags[share].mean() if len(share) else 0.0 for share in asked])
        if all(isinstance(value, int | float) for value in values) and all_are(means):
            return "one_ranks_accuracy"  # first of all: by chance one rank's own may be that of all
        if sum(isinstance(value, int | float) and math.isclose(value, right, rel_tol=1e-5) for value in values) == 1:
            return "rank_0_only"
        correct = np.array([flags[share].sum() for share in asked])
        counts = np.array(sizes)
        some = means[counts > 0]
        if all_are(flags[pooled].mean()) and (held > 1).any():
            twice = np.flatnonzero(held > 1)
            return Finding(
                "padding_counted",
                f"Looked at more than once: {', '.join(map(str, twice[:6]))}{', ...' if len(twice) > 6 else ''}.",
            )
        if all_are(flags[pooled].mean()):
            return Finding("samples_left_out", f"{int((held == 0).sum())} of {n} samples were not looked at.")
        if any(all_are(number) for number in (means.mean(), some.mean())):
            return "mean_of_means"
        if all_are(correct / n):
            return "local_over_n"
        if all(value in (0, 1) for value in values):
            return "integer_division"
        if all_are(means.max()):
            return "maximum"
        if all_are(correct.sum() / n):
            return "padding_counted" if (held > 1).any() else "samples_left_out"
        if any(all_are(round(right, digits)) for digits in (1, 2, 3, 4)):
            return "rounded"
        if n > 256 and len(set(values)) == 1 and (all_are(correct.sum() % 256 / n) or abs(values[0] - right) < right / 128):
            return "narrow_count"
        ratios = np.array(values, dtype=float) / right
        if all_are(means.sum()) or np.allclose(ratios, p) or all_are(correct.sum() / np.maximum(counts, 1)):
            return "times_world_size"
        if np.ptp(ratios) > 1e-6:
            return "ranks_disagree"
        total = correct.sum() / values[0] if values[0] else math.inf
        if math.isfinite(total) and abs(total - round(total)) < 1e-4:
            return Finding("other_denominator", f"{correct.sum()} correct samples were divided by {round(total)}; n = {n}.")
        if (held == 0).any():
            return Finding("samples_left_out", f"{int((held == 0).sum())} of {n} samples were not looked at.")
        return Finding("evaluated_twice") if (held > 1).any() else None

    @staticmethod
    def _effort(n: int, sizes: list[int], held: np.ndarray) -> Finding | None:
        """Whether the right accuracy was had in the right way."""
        if len(sizes) > 1 and min(sizes) >= n:
            return Finding("everybody_evaluates_everything", f"Each of {len(sizes)} ranks looked at {n} samples.")
        if (held == 0).any():
            return Finding("samples_left_out", f"{int((held == 0).sum())} of {n} samples were not looked at.")
        if (held > 1).any():
            return Finding("evaluated_twice", f"Sample {int(np.argmax(held > 1))} was looked at {held.max()} times.")
        if max(sizes) == n >= len(sizes) > 1:
            return Finding("rank_0_evaluates_everything", f"Rank {int(np.argmax(sizes))} looked at all {n} samples.")
        if max(sizes) - min(sizes) > 1:
            return Finding("unfair", f"Ranks 0, 1, ... looked at {', '.join(map(str, sizes))} samples.")
        return None


class EpochGenerators(Exercise):
    """One order, many noises"""

    unit, function = UNIT, "epoch_generators"
    signature = "epoch_generators(seed, epoch, rank, world_size) -> (order, noise), two torch.Generator"
    levels = {"the order": 1, "the noise": 1}
    runtime = "plain"
    # All generators are made before the first one is used: generators that share their state cannot hide it. Every rank is a process of
    # its own, and so is the run that is repeated tomorrow; here all calls are made in one, so the salt that Python gives the hash of a
    # text in each process is given here.
    harness = """
import builtins

import torch


def has_text(value):
    return isinstance(value, (str, bytes)) or (isinstance(value, (tuple, frozenset)) and any(map(has_text, value)))


def harness(epoch_generators, seeds, epochs, world_size):
    unsalted, process, salted = builtins.hash, 0, []

    def hash_in_a_process(value):
        if not has_text(value):
            return unsalted(value)
        salted.append(value)
        return unsalted((process, unsalted(value)))

    made, before = {}, torch.get_rng_state()
    builtins.hash = hash_in_a_process
    try:
        for seed in seeds:
            for epoch in range(epochs):
                for rank in range(world_size):
                    process = rank
                    pair = epoch_generators(seed, epoch, rank, world_size)
                    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                        return {"made": type(pair).__name__}
                    if not all(isinstance(g, torch.Generator) for g in pair):
                        return {"made": ", ".join(type(g).__name__ for g in pair)}
                    made[seed, epoch, rank] = pair
        process = world_size
        again = epoch_generators(seeds[0], 1, world_size - 1, world_size)
    finally:
        builtins.hash = unsalted
    kept = torch.equal(torch.get_rng_state(), before)
    everyone = [g for pair in [*made.values(), again] for g in pair]
    shared = len({id(g) for g in everyone}) < len(everyone)
    if shared:
        return {"made": "torch.Generator", "shared": True}

    def draw(generator):
        return torch.randint(2**53, (2,), generator=generator).tolist()

    def table(which):
        return [[[draw(made[s, e, r][which]) for r in range(world_size)] for e in range(epochs)] for s in seeds]

    return {"order": table(0), "noise": table(1), "again": [draw(g) for g in again], "salted": bool(salted), "kept": kept}
"""
    diagnoses = {
        "not_generators": Diagnosis(
            "Two objects of type torch.Generator were asked for.",
            "`torch.Generator().manual_seed(number)` makes one; return two of them, order first.",
        ),
        "shared_generator": Diagnosis(
            "Two of the generators are one and the same object (torch.manual_seed always returns the global one): whoever draws "
            "noise then also changes the order.",
            "Make a new `torch.Generator()` for each of the two, in every call.",
        ),
        "unseeded": Diagnosis(
            "The same call gave another stream the second time: no run can be repeated, and no two ranks agree on an order.",
            "Everything random must follow from the four arguments.",
        ),
        "salted_hash": Diagnosis(
            "The seed goes through `hash()` of a text, and Python salts that anew in every process: the ranks do not agree on an order, "
            "and tomorrow's run draws other numbers than today's.",
            "Calculate with the four integers, or take `hashlib.sha256(text.encode())`, which is the same everywhere.",
        ),
        "changes_the_global": Diagnosis(
            "The two generators are as they should be, but PyTorch's global generator is not as it was: whatever else draws from it "
            "(dropout, initial weights, a loader's base seed) begins again with every call.",
            "`torch.manual_seed` seeds the global generator: seed one of your own, `torch.Generator().manual_seed(number)`.",
        ),
        "orders_differ": Diagnosis(
            "The ranks would shuffle into different orders: some samples are then dealt twice and others never.",
            "The order depends on seed and epoch, never on the rank.",
        ),
        "same_order_every_epoch": Diagnosis(
            "Two epochs have the same order. That is the forgotten set_epoch.", "The order depends on seed and epoch."
        ),
        "order_ignores_seed": Diagnosis("Another seed gives the same order.", "The order depends on seed and epoch."),
        "same_noise": Diagnosis(
            "Ranks draw the same noise: all images of a step are turned and shifted alike, and four ranks see no more variety than "
            "one.",
            "The noise depends on the rank, too.",
        ),
        "same_noise_every_epoch": Diagnosis(
            "A rank draws the same noise in every epoch: what should be new each time is learnt by heart.",
            "The noise depends on the epoch, too.",
        ),
        "noise_ignores_seed": Diagnosis("Another seed gives the same noise.", "The noise depends on the seed, too."),
        "streams_meet": Diagnosis(
            "Rank and epoch were added up in a way that gives the same number twice, as 1 + 0 = 0 + 1: one rank draws today what "
            "another will draw tomorrow.",
            "Number all (epoch, rank) without repetition, for any number of ranks: for example epoch * world_size + rank.",
        ),
    }

    def cases(self, rng):
        def case(level, world_size, epochs=100):
            seeds = [int(rng.integers(1000, 10_000)), 0]
            says = f"{world_size} ranks, {epochs} epochs, seeds {seeds[0]} and {seeds[1]}"
            return Case(level, 1, (seeds, epochs, world_size), says=says, known={"seeds": seeds})

        # Both 10 * epoch + rank and the digits of epoch and rank glued together are numbers of their own only up to 10 ranks.
        return [case("the order", 3), case("the noise", 4), case("the noise", 12), case("the noise", 1001, epochs=2)]

    def expected(self, case):
        return [ANYTHING]  # any streams will do; `facts` compares them

    def facts(self, case: Case, run: Run):
        value = run.ranks[0].value
        if not isinstance(value, dict) or "order" not in value:
            if isinstance(value, dict) and value.get("shared"):
                return "shared_generator"
            made = value.get("made") if isinstance(value, dict) else type(value).__name__
            return Finding("not_generators", f"What came back: {made}.")
        # shape (seeds, epochs, ranks): a stream is known by its first two 53-bit numbers
        order, noise = (_names(value[which]) for which in ("order", "noise"))
        again = [tuple(numbers) for numbers in value["again"]]
        which = order if case.level == "the order" else noise
        seeds = case.known["seeds"]
        found = _order_mistake(order, seeds) if case.level == "the order" else _noise_mistake(noise, seeds)
        if again[0 if case.level == "the order" else 1] != which[0][1][-1]:
            found = Finding("unseeded")
        if found and value["salted"] and found.diagnosis in ("unseeded", "orders_differ"):
            return "salted_hash"
        return found or (None if value["kept"] else "changes_the_global")


def _names(table) -> list[list[list[tuple]]]:
    return [[[tuple(numbers) for numbers in ranks] for ranks in epochs] for epochs in table]


def _order_mistake(order, seeds) -> Finding | None:
    for seed, epochs in zip(seeds, order, strict=True):
        for epoch, ranks in enumerate(epochs):
            if len(set(ranks)) > 1:
                other = next(rank for rank, stream in enumerate(ranks) if stream != ranks[0])
                return Finding(
                    "orders_differ", f"Seed {seed}, epoch {epoch}: ranks 0 and {other} have different streams for the order."
                )
        first = [ranks[0] for ranks in epochs]
        for epoch, stream in enumerate(first):
            if first.index(stream) < epoch:
                return Finding(
                    "same_order_every_epoch", f"Seed {seed}: epochs {first.index(stream)} and {epoch} have the same stream."
                )
    for epoch, (one, other) in enumerate(zip(*order, strict=True)):
        if one[0] == other[0]:
            return Finding("order_ignores_seed", f"Epoch {epoch}: seeds {seeds[0]} and {seeds[1]} give the same stream.")
    return None


def _noise_mistake(noise, seeds) -> Finding | None:
    for seed, epochs in zip(seeds, noise, strict=True):
        seen: dict[tuple, tuple[int, int]] = {}
        for epoch, ranks in enumerate(epochs):
            for rank, stream in enumerate(ranks):
                if stream in seen:
                    before, other = seen[stream]
                    detail = f"Seed {seed}: rank {rank} in epoch {epoch} draws what rank {other} draws in epoch {before}."
                    name = "same_noise" if before == epoch else "same_noise_every_epoch" if other == rank else "streams_meet"
                    return Finding(name, detail)
                seen[stream] = (epoch, rank)
    for epoch, pairs in enumerate(zip(*noise, strict=True)):
        for rank, (one, other) in enumerate(zip(*pairs, strict=True)):
            if one == other:
                detail = f"Rank {rank} in epoch {epoch}: seeds {seeds[0]} and {seeds[1]} give the same stream."
                return Finding("noise_ignores_seed", detail)
    return None
