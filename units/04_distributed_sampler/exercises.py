"""Unit 04, DistributedSampler: who gets which sample, in which step and epoch, and what that does to an evaluation."""

from __future__ import annotations

import math
from functools import partial
from types import SimpleNamespace

import numpy as np

from autograder.exercise import ANYTHING, Case, Exercise, Finding, Mistake, Run
from autograder.exercises.kinds import PlainExercise, holds
from autograder.exercises.source import harness_of, reference_of

ITEMS = Mistake("items", "These are the items, ten times the ids. A sampler never touches the data: it says which "
                "samples to fetch.", "Return ids, numbers from 0 to n - 1.", lambda c: ten_times(c.right))  # fmt: skip
OWN_ORDER = Mistake("own_order", "Each rank has the right samples, but not in the order in which they were dealt.",
                    "Leave each share in the order of the deal: do not sort or shuffle it afterwards.")  # fmt: skip
BAD_DEALS = [
    Mistake("ignores_rank", "Every rank gets the same samples: four ranks then do four times the work and learn "
            "nothing more.", "What a rank gets must depend on `rank`."),
    Mistake("out_of_range", "A share holds an id that no sample has.", "The ids are 0 to n - 1."),
    Mistake("sample_twice", "A sample was dealt out more than once, so it counts more than the others.",
            "Every sample belongs to one rank, once: follow the sample that is named above."),
    Mistake("sample_left_out", "A sample was dealt to nobody: it is never trained on.",
            "Follow the sample that is named above: which rank should have it?"),
    Mistake("not_integers", "The ids have the right values, but they are floating-point numbers: no list and no data "
            "set takes 3.0 for an index, and a float32 does not even hold the ids above 2**24.",
            "Keep the ids integers all the way: `torch.arange(n)`, `dtype=int`."),
]  # fmt: skip


def torch_order(n: int, seed: int) -> np.ndarray:
    """The order that `torch.randperm(n, generator=g)` gives after `g.manual_seed(seed)`, shape (n,), for n below 200
    million.

    Fisher and Yates' shuffle on the 32-bit numbers of the Mersenne twister (randperm_cpu of ATen/native).
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
    """The order dealt out like cards: rank r gets the entries r, r + p, r + 2p, ..."""
    return [order[rank::world_size].tolist() for rank in range(world_size)]


def blocks(order: np.ndarray, world_size: int) -> list[list[int]]:
    """The order cut into contiguous pieces, one for each rank."""
    return [block.tolist() for block in np.array_split(order, world_size)]


def cut(ids: list, size: int) -> list[list]:
    """A list in pieces of `size`; the last one may be shorter."""
    return [list(ids[start : start + size]) for start in range(0, len(ids), size)]


def flat(lists: list[list]) -> list:
    """The entries of lists, one list after the other."""
    return [entry for entries in lists for entry in entries]


def ten_times(ids):
    """The items of nested lists of ids."""
    return [ten_times(i) for i in ids] if isinstance(ids, list) else 10 * ids


def has_floats(ids) -> bool:
    """True if a float stands anywhere in nested lists of ids."""
    return any(map(has_floats, ids)) if isinstance(ids, list) else isinstance(ids, float)


def are_numbers(ids) -> bool:
    """True if nested lists of ids hold numbers alone, of at most 15 digits."""
    if isinstance(ids, (list, tuple)):
        return all(map(are_numbers, ids))
    return isinstance(ids, (int, float)) and abs(ids) < 1e15


def are_shares(shares, depth: int = 1) -> bool:
    """True if these are lists of ids, one for each rank; depth: how many lists each id of a rank's stands in."""
    return isinstance(shares, (list, tuple)) and bool(shares) and are_numbers(shares) and _all_within(shares, depth)


def _all_within(lists, depth: int) -> bool:
    """True if what stands in lists are lists of lists, `depth` times, and then no lists."""
    kinds = [isinstance(one, (list, tuple)) for one in lists]
    return all(kinds) and all(_all_within(one, depth - 1) for one in lists) if depth else not any(kinds)


def deal_mistake(shares, n: int) -> Finding | None:
    """The mistake in a deal that should give each of n samples to one rank, once; None if it does."""
    dealt = np.array(flat(shares), dtype=np.int64)
    if dealt.size and (dealt.min() < 0 or dealt.max() >= n):
        return Finding("out_of_range", f"Id {int(dealt[(dealt < 0) | (dealt >= n)][0])} of n = {n}.")
    if len(shares) > 1 and dealt.size and all(share == shares[0] for share in shares):
        return Finding("ignores_rank")
    held = np.bincount(dealt, minlength=n)
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
    levels = {"equal shares": 1, "unequal shares": 1}
    reference = reference_of(__file__, "right_range")
    mistakes = [
        Mistake("blocks", "Each rank got a block of consecutive ids. That is unit 01's way; here they are dealt out "
                "one by one.", "Rank r gets r, r + world_size, r + 2 world_size, ...: a range with a step.",
                lambda c: blocks(np.arange(c.n), c.p)),
        Mistake("drops_the_rest", "Shares of n // world_size leave the last n % world_size samples to nobody.",
                "Let the range run to n: on some ranks it then has one sample more.",
                lambda c: strides(evened(np.arange(c.n), c.p, True), c.p) if c.n > c.p else None),
        Mistake("padded", "All shares are equally long because some samples were dealt twice.",
                "Shares may differ by one here; leave the short ones short.",
                lambda c: strides(evened(np.arange(c.n), c.p), c.p)),
        Mistake("starts_at_one", "The deal starts one place too late: nobody has sample 0.",
                "Rank 0 has sample 0, so start at `rank`.",
                lambda c: [list(range(rank + 1, c.n, c.p)) for rank in range(c.p)]),
        ITEMS, *BAD_DEALS, OWN_ORDER.but(how="Rank r gets r, r + world_size, r + 2 world_size, ..., in this order."),
        Mistake("dealt_otherwise", "Every sample has exactly one rank, but not the one a dealer would give it to.",
                "Rank r gets r, r + world_size, r + 2 world_size, ..., in this order."),
        Mistake("RuntimeError", "Python stopped at the line above. If it speaks of bounds: `torch.arange` refuses a "
                "start beyond the end, which a rank has that comes after the last sample.",
                "With `range(rank, n, world_size)` or `torch.arange(n)[rank::world_size]` such a rank has an empty "
                "share."),
    ]  # fmt: skip

    def draw(self, rng):
        for level, rest in (("equal shares", 0), ("unequal shares", 2)):
            for p in (4, 3):
                yield level, {"n": p * rng.integers(3 - rest // 2, 8) + rest, "world_size": p}
        yield "equal shares", {"n": rng.integers(3, 8), "world_size": 1}
        for n, p in ((3, 5), (1, 2), (66_002, 3), (0, 2)):  # the third has more samples than two bytes number
            yield "unequal shares", {"n": n, "world_size": p}

    def draw_further(self, rng):
        for p in map(int, rng.integers(5, 20, 2)):
            n = p * int(rng.integers(3, 12))
            yield "equal shares", {"n": n, "world_size": p}
            yield "unequal shares", {"n": n + int(rng.integers(1, p)), "world_size": p}

    def right(self, n, world_size):
        return strides(np.arange(n), world_size)

    def read(self, shares, n, world_size):
        if not are_shares(shares):
            return None
        if [sorted(share) for share in shares] == self.right(n, world_size):
            return "own_order"
        return deal_mistake(shares, n) or "dealt_otherwise"

    def read_right(self, shares, n, world_size):
        return "not_integers" if has_floats(shares) else None


class StockIndices(PlainExercise):
    """What the stock sampler does"""

    signature = (
        "stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last) -> ids of this rank, in their order"
    )
    levels = {"padding": 1, "drop_last": 1, "shuffle": 1, "fewer samples than ranks": 1}
    rank_at = 1
    harness = harness_of(__file__, "stock_indices")
    mistakes = [
        Mistake("ignores_drop_last", "With drop_last nothing may be dealt twice, but here the shares were padded "
                "or left uneven.", "With drop_last cut the order to a multiple of world_size.",
                lambda c: strides(evened(c.order, c.p), c.p) if c.drop_last else None),
        Mistake("always_drops", "Samples were dropped although drop_last is False.",
                "Without drop_last pad the order instead of cutting it.",
                lambda c: strides(evened(c.order, c.p, True), c.p) if c.fills else None),
        Mistake("no_padding", "The shares differ in length: a rank with one sample less may make one step less, and "
                "the others wait for it for ever.",
                "Without drop_last the order is padded from its own beginning until all shares are equally long.",
                lambda c: strides(c.order, c.p) if c.fills else None),
        Mistake("padded_once", "The order was appended to itself once. With very few samples that is not enough, and "
                "some ranks stay short.", "Repeat the order until it is long enough, then cut.",
                lambda c: strides(np.concatenate([c.order, c.order[: -c.n % c.p]]), c.p) if c.fills else None),
        Mistake("padded_too_much", "There is more padding than needed: where n divides there is none, never a whole "
                "round.", "The number of samples to add is `-n % world_size`.",
                lambda c: strides(np.resize(c.order, (c.n // c.p + 1) * c.p), c.p) if c.fills else None),
        Mistake("drops_a_round_too_many", "More was dropped than necessary: every rank could have at least one sample "
                "more.", "Keep n - n % world_size samples: where n divides, all of them.",
                lambda c: strides(c.order[: max((c.n - c.p) // c.p, 0) * c.p], c.p) if c.drop_last else None),
        Mistake("blocks", "Each rank got a block of consecutive ids of the order; the stock sampler deals like a card "
                "dealer.", "Take every world_size-th entry, starting at `rank`.",
                lambda c: blocks(evened(c.order, c.p, c.drop_last), c.p)),
        Mistake("not_shuffled", "shuffle=True changed nothing.", "Shuffle the order before you deal it out.",
                lambda c: c.dealt(np.arange(c.n)) if c.shuffle else None),
        Mistake("ignores_epoch", "The epoch does not change the order: every epoch sees the same minibatches again.",
                "Seed the generator with seed + epoch.",
                lambda c: c.dealt(torch_order(c.n, c.seed)) if c.shuffle else None),
        Mistake("ignores_seed", "The seed does not change the order: every run is the same.",
                "Seed the generator with seed + epoch.",
                lambda c: c.dealt(torch_order(c.n, c.epoch)) if c.shuffle else None),
        Mistake("pads_before_shuffling", "The order was padded first and shuffled afterwards, giving another order "
                "than torch's.", "Shuffle n ids, then pad.",
                lambda c: strides(np.resize(np.arange(c.n), c.filled)[torch_order(c.filled, c.seed + c.epoch)], c.p)
                    if c.shuffle and c.fills else None),
        ITEMS, *BAD_DEALS, OWN_ORDER,
        Mistake("other_seed_at_zero", "With seed 0 and epoch 0 this is not the stock sampler's order: 0 was "
                "treated as 'not given'.",
                "0 is a seed and an epoch like any other: seed the generator with seed + epoch, without an `if` and "
                "without an `or`."),
        Mistake("uses_library", "The ids are right, but DistributedSampler itself did the work. Here you build it.",
                "`torch.randperm` with a generator and slices of a list are enough."),
        Mistake("other_padding", "The shares are equally long, but they were padded with other samples than the "
                "stock sampler uses.",
                "Append the beginning of the order itself, as often as needed, before you deal it out."),
        Mistake("always_shuffles", "The samples were shuffled although shuffle is False.",
                "Without shuffle the order is 0 to n - 1."),
        Mistake("orders_differ", "Every rank shuffled for itself, so the ranks deal from different packs: some "
                "samples are dealt twice, others never.",
                "The order must be the same on all ranks: a generator seeded with seed + epoch, and nothing else."),
        Mistake("shuffles_its_share", "Each rank shuffled its own share only: in all epochs a rank sees the same few "
                "samples.", "First shuffle the whole order, in the same way on all ranks, then deal it out."),
        Mistake("other_shuffle", "All ranks agree on an order and every sample is dealt, but it is not the order of "
                "the stock sampler.", "`torch.randperm(n, generator=g)` with `g.manual_seed(seed + epoch)`."),
    ]  # fmt: skip

    def draw(self, rng):
        def case(level, p, n, shuffle=False, drop_last=False, at=None):
            seed, epoch = at or seed_and_epoch(rng, n, shuffle)
            options = {"shuffle": shuffle, "seed": seed, "epoch": epoch, "drop_last": drop_last}
            return level, {"n": n, "world_size": p, **options}

        yield case("padding", 4, 4 * int(rng.integers(3, 6)) + 1)
        yield case("padding", 5, 5 * int(rng.integers(2, 5)) + 2)
        yield case("padding", 3, 3 * int(rng.integers(3, 6)))
        yield case("drop_last", 4, 4 * int(rng.integers(3, 6)) + 3, drop_last=True)
        yield case("drop_last", 2, 2 * int(rng.integers(4, 8)), drop_last=True)
        yield case("shuffle", 3, 3 * int(rng.integers(4, 8)), shuffle=True)
        yield case("shuffle", 4, 4 * int(rng.integers(3, 6)) + 2, shuffle=True)
        yield case("shuffle", 5, 5 * int(rng.integers(3, 5)) + 3, shuffle=True, drop_last=True)
        yield case("shuffle", 3, 3 * int(rng.integers(4, 8)) + 1, shuffle=True, at=(0, 0))
        yield case("shuffle", 1, int(rng.integers(5, 12)), shuffle=True)
        yield case("fewer samples than ranks", 5, 2)
        yield case("fewer samples than ranks", 12, 5, shuffle=True)
        yield case("fewer samples than ranks", 4, 3, drop_last=True)
        yield case("fewer samples than ranks", 11, 2)  # the order is needed five times and a half
        yield case("padding", 2, 66_001, at=(7, 2))  # more samples than two bytes number
        yield case("drop_last", 4, 4, drop_last=True, at=(7, 2))
        yield case("shuffle", 3, 8, shuffle=True, at=(2**31 + 5, 1))  # a seed that no int32 holds
        yield case("fewer samples than ranks", 5, 3, shuffle=True, drop_last=True, at=(7, 2))
        yield case("fewer samples than ranks", 1031, 2, at=(7, 2))  # needed more often than Python recurses

    def order(self, n, shuffle, seed, epoch, **others) -> np.ndarray:
        return torch_order(n, seed + epoch) if shuffle else np.arange(n)

    def right(self, world_size, drop_last, **case):
        return strides(evened(self.order(**case), world_size, drop_last), world_size)

    def worked(self, case):
        c = super().worked(case)
        c.order, c.fills, c.filled = self.order(**case.known), not c.drop_last, c.n + -c.n % c.p
        c.dealt = lambda order: strides(evened(order, c.p, c.drop_last), c.p)
        return c

    def per_rank(self, case, value):
        return [{"ids": value, "library": ANYTHING}]

    def read_right(self, answer, **case):
        if answer["library"]:
            return Finding("uses_library", "A DistributedSampler was made.")
        return "not_integers" if has_floats(answer["ids"]) else None

    def read(self, answer, **case):
        if not holds(answer, "ids") or not are_shares(answer["ids"]):
            return None
        ids, right, n, drop_last = answer["ids"], self.right(**case), case["n"], case["drop_last"]
        if all(share == ids[0] for share in ids) and ids[0]:
            return "ignores_rank"
        if [sorted(share) for share in ids] == [sorted(share) for share in right]:
            return "own_order"
        if len({len(share) for share in ids}) > 1 or (drop_last and sum(map(len, ids)) > n):
            return "ignores_drop_last" if drop_last else "no_padding"
        if len(ids[0]) != len(right[0]):
            too_few = "drops_a_round_too_many" if drop_last else "always_drops"
            return "padded_too_much" if len(ids[0]) > len(right[0]) else too_few
        found = deal_mistake(ids, n)
        order = flat(zip(*ids, strict=True))  # as it was before it was dealt out
        if case["shuffle"]:
            return self._shuffled(ids, order, found, **case)
        if found and found.diagnosis in ("out_of_range", "ignores_rank"):
            return found
        if drop_last:
            shuffled = "always_shuffles" if order != sorted(order) else None
            return "sample_twice" if len(set(order)) < len(order) else shuffled
        if found and found.diagnosis == "sample_left_out":
            return found
        if order[:n] == list(range(n)):
            return "other_padding"
        return "always_shuffles" if sorted(order[:n]) == list(range(n)) else found

    def _shuffled(self, ids, order, found: Finding | None, **case):
        """The mistake in equal shares that were to be shuffled. found: what `deal_mistake` says of them."""
        n, p = case["n"], case["world_size"]
        shares = strides(evened(np.arange(n), p), p)
        if n >= 2 * p and all(set(share) <= set(own) for share, own in zip(ids, shares, strict=True)):
            return "shuffles_its_share"
        if found and found.diagnosis in ("out_of_range", "ignores_rank"):
            return found
        if order[:n] == self.order(**case).tolist():
            return "other_padding"
        if case["seed"] == case["epoch"] == 0 and sorted(order[:n]) == list(range(n)):
            return "other_seed_at_zero"  # the cases before this one have other seeds, and there it was right
        held, wanted = (np.bincount(np.array(ids, int), minlength=n) for ids in (order, flat(self.right(**case))))
        alike = sorted(held.tolist()) == sorted(wanted.tolist())
        return "other_shuffle" if alike else Finding("orders_differ", found.detail if found else "")


def seed_and_epoch(rng, n: int, shuffle: bool) -> tuple[int, int]:
    """A seed and an epoch with an order that none of the usual slips gives: a slip costs the same under every key.

    Without shuffle the slip is to shuffle all the same, and that must show.
    """
    while True:
        seed, epoch = int(rng.integers(3, 1000)), int(rng.integers(2, 90))
        if shuffle:
            right = torch_order(n, seed + epoch)
            slips = [
                seed,
                epoch,
                0,
                seed * epoch,
                seed - epoch,
                int(f"{seed}{epoch}"),
                seed + epoch + 1,
                seed + epoch - 1,
            ]
            orders = [np.arange(n), *(torch_order(n, abs(slip)) for slip in slips)]
        else:
            right = np.arange(n)
            orders = [torch_order(n, slip) for slip in (seed, epoch, seed + epoch, 0)[: 4 if n > 2 else 3]]
        if all((order != right).any() for order in orders):
            return seed, epoch


class TrainingBatches(Exercise):
    """Epochs of a training loop"""

    talks = False  # sampler and seed are enough
    signature = "training_batches(dataset, global_batch_size, epochs, seed) -> list"
    levels = {"one epoch": 1, "three epochs": 2, "incomplete batches": 1}
    harness = harness_of(__file__, "training_batches")
    mistakes = [
        Mistake("forgot_set_epoch", "Every epoch deals out the same order: the sampler shuffles in a new way only "
                "when you tell it which epoch begins.",
                "Call `sampler.set_epoch(epoch)` at the beginning of every epoch, before you go through the loader.",
                lambda c: c.made(seeds=[c.seed] * c.epochs)),
        Mistake("set_epoch_late", "The new epoch was set after the loader had been asked for its batches: each epoch "
                "runs in the order of the one before.",
                "Call `sampler.set_epoch(epoch)` before the loop over the loader.",
                lambda c: c.made(seeds=[c.seed, *range(c.seed, c.seed + c.epochs - 1)])),
        Mistake("epochs_from_one", "Epoch 0 was run in the order of epoch 1.",
                "Epochs count from 0: call `sampler.set_epoch(epoch)` with the epoch that begins.",
                lambda c: c.made(seeds=range(c.seed + 1, c.seed + 1 + c.epochs))),
        Mistake("global_batch_on_every_rank", "Each rank takes a whole global batch per step, so together they take p "
                "times as much as asked for.",
                "The loader's batch_size is the local one: `global_batch_size // dist.get_world_size()`.",
                lambda c: c.made(local=c.batch)),
        Mistake("not_shuffled", "The samples were not shuffled.",
                "`DistributedSampler(..., shuffle=True)`, which is its default.",
                lambda c: c.made(orders=[np.arange(c.n)] * c.epochs)),
        Mistake("ignores_seed", "This is the order of seed 0: the seed was not passed on.",
                "`DistributedSampler(dataset, seed=seed)`.", lambda c: c.made(seeds=range(c.epochs))),
        Mistake("drops_samples", "The sampler dropped samples instead of padding.",
                "The sampler's drop_last must stay False here.", lambda c: c.made(drop_last=True)),
        Mistake("drops_last_batch", "The last, shorter batch of each epoch is missing.",
                "The loader's drop_last must stay False here.",
                lambda c: [[[b for b in batches if len(b) == c.batch // c.p] for batches in rank] for rank in c.right]),
        Mistake("not_in_epochs", "The result does not have one entry per epoch.",
                "Start a new list of batches in every epoch, 0 to epochs - 1, and collect these in an outer list.",
                lambda c: [flat(rank) for rank in c.right]),
        Mistake("batches_not_apart", "The samples of an epoch are in one list, not in batches.",
                "Append each batch as it comes.", lambda c: unbatched(c.right)),
        Mistake("last_epoch_only", "Only the batches of the last epoch came back.",
                "Collect the batches of every epoch.", lambda c: [rank[-1:] for rank in c.right]),
        Mistake("epochs_not_apart", "All entries are the same object, a list that keeps growing or the "
                "loader itself: a change in a later epoch shows in all of them.",
                "Start a new list in every epoch and put the loader's batches into it.",
                lambda c: [[rank[-1]] * c.epochs for rank in c.right]),
        Mistake("first_epoch_only", "Only the batches of the first epoch came back.",
                "The `return` is inside the loop: move it after the loop.", lambda c: [rank[:1] for rank in c.right]),
        Mistake("ids", "These are ids. The loader's batches hold items, here ten times the id.",
                "Return what the loader yields.",
                lambda c: [[[[item // 10 for item in batch] for batch in batches] for batches in rank]
                    for rank in c.right]),
        Mistake("everybody_sees_everything", "Every rank went through the whole data set: p ranks do p times the work.",
                "Give the loader a DistributedSampler: `DataLoader(dataset, batch_size=..., sampler=sampler)`."),
        Mistake("other_batch_size", "Each rank has its samples in the right order, but cut into batches of a different "
                "size.", "A step takes global_batch_size samples, the same number on every rank. Where fewer are left, "
                "the loader makes the batch shorter by itself: do not limit batch_size."),
        Mistake("ranks_overlap", "The ranks deal from different packs: within one epoch some samples are trained on "
                "twice and others never.", "All ranks need the same seed and the same epoch, and each its own rank."),
        Mistake("other_seed_at_zero", "With seed 0 these are not the sampler's orders: 0 was treated as 'not given'.",
                "0 is a seed like any other: hand it on without an `if` and without an `or`."),
        Mistake("other_items", "A batch holds an item that the data set does not have: the items were changed, or put "
                "into a type that is too narrow for them.", "Return what the loader yields, as it comes."),
        Mistake("samples_missing", "Some samples are in nobody's batches, and no others took their place.",
                "Keep every batch that the loader yields, even the last, short one."),
        Mistake("uneven_shares", "Some ranks have more samples than others in an epoch, so they make more or longer "
                "steps and wait for the others for ever.",
                "Let the DistributedSampler deal: it pads the shares to one length."),
        Mistake("other_order", "Together the ranks see every sample in every epoch, but not in the order "
                "of DistributedSampler.",
                "`DistributedSampler(dataset, seed=seed)` with `set_epoch(epoch)`, and nothing else that shuffles."),
        Mistake("ValueError", "PyTorch refused an argument. A loader takes either a sampler or shuffle=True, never "
                "both, and a sampler's rank is one of 0 to num_replicas - 1.",
                "Let the sampler shuffle, and leave num_replicas and rank to it: it asks the process group."),
    ]  # fmt: skip

    def cases(self, rng):
        def case(level, p, n, batch, epochs, seed=None, **options):
            seed = int(rng.integers(5, 1000)) if seed is None else seed
            says = f"n = {n}, global batch {batch}, {epochs} {'epoch' if epochs == 1 else 'epochs'}, seed {seed}"
            known = {"n": n, "batch": batch, "epochs": epochs, "seed": seed}
            return Case(level, p, (n, batch, epochs, seed), says=says, known=known, **options)

        return [
            case("one epoch", 2, 24, 8, 1),
            case("three epochs", 4, 24, 8, 3),
            case("three epochs", 3, 18, 6, 3, late=(1,)),
            case("incomplete batches", 4, 21, 16, 3),
            case("incomplete batches", 5, 3, 10, 3),
            case("incomplete batches", 1, 7, 3, 2),
            case("incomplete batches", 5, 2, 10, 1),  # filled up with more than there are: the order, and once more
            case("incomplete batches", 3, 7, 12, 1),  # a share of 3 is less than a batch, and more than 7 // 3
            case("one epoch", 2, 6600, 2200, 1, seed=7),  # items that two bytes do not hold
            case("three epochs", 3, 18, 6, 3, seed=0),
            case("incomplete batches", 5, 1, 5, 1, seed=7),  # filled up with four times as many as there are
        ]

    def made(self, case, orders=None, drop_last=False, local=None, seeds=None) -> list[list[list[list[int]]]]:
        """[rank][epoch][batch][item], with each part open to a mistake."""
        n, p, seed = case.known["n"], case.world_size, case.known["seed"]
        seeds = range(seed, seed + case.known["epochs"]) if seeds is None else seeds
        orders = [torch_order(n, seed) for seed in seeds] if orders is None else orders
        shares = [strides(10 * evened(order, p, drop_last), p) for order in orders]
        return [[cut(share[rank], local or case.known["batch"] // p) for share in shares] for rank in range(p)]

    def expected(self, case):
        return self.made(case)

    def worked(self, case):
        c = super().worked(case)
        c.made, c.right = partial(self.made, case), self.made(case)
        return c

    def misconceptions(self, case):
        shown = super().misconceptions(case)
        if case.known["n"] < case.world_size:  # with three samples two orders are often the same
            shown = {name: values if name == "drops_samples" else None for name, values in shown.items()}
        return shown

    def facts(self, case: Case, run: Run):
        values, right = [rank.value for rank in run.ranks], self.made(case)
        if values == right:
            return None
        n, p, epochs = case.known["n"], case.world_size, case.known["epochs"]
        for name, epoch in (("first_epoch_only", 0), ("last_epoch_only", -1)):
            if values == [rank[epoch] for rank in right]:
                return name
        shares, wanted = unbatched(values), unbatched(right)
        if any(len(rank) != epochs for rank in shares):
            number = len(shares[0])
            return Finding("not_in_epochs", f"{number} entries for {epochs} {'epoch' if epochs == 1 else 'epochs'}.")
        if shares == wanted:
            return "other_batch_size"
        everything = set(range(0, 10 * n, 10))
        if strangers := set(flat(flat(shares))) - everything:
            return Finding("other_items", f"Item {min(strangers, key=str)}.")
        if n > p and all(set(share) == everything for share in flat(shares)):
            return "everybody_sees_everything"
        lengths = [[len(share) for share in rank] for rank in shares]
        if case.known["seed"] == 0 and lengths == [[len(share) for share in rank] for rank in wanted]:
            return "other_seed_at_zero"  # the cases before this one have other seeds, and there it was right
        if epochs > 1 and all(share == rank[0] for rank in shares for share in rank):
            together = sum(len(rank[0]) for rank in shares)
            return (
                "epochs_not_apart" if together == epochs * sum(len(rank[0]) for rank in wanted) else "forgot_set_epoch"
            )
        for epoch in range(epochs):
            held = flat(rank[epoch] for rank in shares)
            if lost := everything - set(held):
                again = len(held) - len(set(held)) > -n % p  # more than the padding
                name = "ranks_overlap" if again else "samples_missing"
                return Finding(name, f"In epoch {epoch} no rank has item {min(lost)}.")
        return "uneven_shares" if len({len(share) for share in flat(shares)}) > 1 else "other_order"


def unbatched(ranks: list) -> list[list[list[int]]]:
    """[rank][epoch][item] of what is [rank][epoch][batch][item]."""
    return [[flat(batches) for batches in rank] for rank in ranks]


class MinibatchShares(PlainExercise):
    """Split the sequential minibatch"""

    signature = "minibatch_shares(order, batch_size, rank, world_size) -> for each minibatch, this rank's ids"
    levels = {
        "unequal shares": 1,
        "a short last minibatch": 1,
        "fewer samples than ranks": 1,
        "equal shares": 1,
    }
    rank_at = 2
    harness = harness_of(__file__, "minibatch_shares")
    mistakes = [
        Mistake("stock_then_cut", "The whole order was dealt out and each share was cut into batches, as "
                "DistributedSampler and a loader do. Where the minibatch does not divide, a step then mixes "
                "samples of two minibatches.", "First cut the order into minibatches, then deal out each of them.",
                lambda c: [cut(share, math.ceil(c.m / c.p)) for share in strides(evened(c.order, c.p), c.p)]),
        Mistake("deal_goes_on", "The deal goes on where the last minibatch ended, so a different rank begins. Here "
                "each minibatch starts with rank 0.",
                "Count positions within the minibatch: `minibatch[rank::world_size]`.",
                lambda c: [[[int(c.order[k]) for k in step if k % c.p == rank] for step in c.steps]
                    for rank in range(c.p)]),
        Mistake("blocks", "Each minibatch was cut into blocks; the text asks for strides.",
                "Rank r takes positions r, r + world_size, ... of the minibatch: `minibatch[rank::world_size]`.",
                lambda c: split(c.order, c.m, c.p, blocks)),
        Mistake("drops_the_rest", "A minibatch that does not divide loses its last samples: each rank took batch_size "
                "// world_size of them.",
                "Let the slice run to the end of the minibatch; the first ranks get one sample more.",
                lambda c: split(c.order, c.m, c.p, lambda ids, p: strides(evened(ids, p, drop_last=True), p))),
        Mistake("drops_the_last_minibatch", "The last, short minibatch is missing.",
                "It is a step like the others, with fewer samples.",
                lambda c: split(c.order[: c.n - c.rest], c.m, c.p) if c.rest >= c.m / 2 else None),
        Mistake("rounds_the_number", "The number of minibatches was rounded, so a last one that is less than half "
                "full is lost.", "Round up: n samples are ceil(n / batch_size) minibatches.",
                lambda c: split(c.order[: c.n - c.rest], c.m, c.p) if 0 < c.rest < c.m / 2 else None),
        Mistake("padded", "Short shares were padded, so some samples count twice in their step and the gradient is "
                "different.", "Leave them short: unit 05 weights them by their counts.",
                lambda c: split(c.order, c.m, c.p, lambda ids, p: strides(evened(ids, p), p))),
        Mistake("leaves_out_empty", "A rank with no samples in a minibatch has no entry for it. It then makes fewer "
                "steps than the others, and they wait for it in the all-reduce.",
                "Append the empty list, too: every rank has one entry per minibatch.",
                lambda c: [[ids for ids in share if ids] for share in c.right]),
        Mistake("none_for_empty", "The result has None where a rank has no sample.",
                "Return an empty list there: a loop over it does nothing, a loop over None fails.",
                lambda c: [[ids or None for ids in share] for share in c.right]),
        Mistake("not_split", "Every rank gets the whole minibatch.", "Take `minibatch[rank::world_size]` of it.",
                lambda c: split(c.order, c.m, c.p, lambda ids, p: [ids.tolist()] * p)),
        Mistake("whole_minibatches", "Whole minibatches were dealt out: one rank has all of the first, another all of "
                "the second.", "All ranks work on the same minibatch in the same step, each on its share.",
                lambda c: [cut(c.order.tolist(), c.m)[rank :: c.p] for rank in range(c.p)]),
        Mistake("batch_size_per_rank", "batch_size was used on each rank, so a step uses world_size times as "
                "many samples.", "batch_size is the global one, of the sequential minibatch: all ranks share it.",
                lambda c: split(c.order, c.m * c.p, c.p)),
        Mistake("ignores_order", "These are positions in the order (or it was not used), not the ids that are there.",
                "Index `order` with the positions.", lambda c: split(np.arange(c.n), c.m, c.p)),
        Mistake("by_id", "The rank was chosen by the sample's id. In a shuffled order a minibatch holds any ids, "
                "so the lengths of the shares depend on chance.",
                "Count positions within the minibatch, not ids: `minibatch[rank::world_size]`.",
                lambda c: [[[i for i in c.order[step].tolist() if i % c.p == rank] for step in c.steps]
                    for rank in range(c.p)]),
        Mistake("sorted", "The ids of a share were sorted.", "Leave them in the order of the minibatch.",
                lambda c: [[sorted(ids) for ids in share] for share in c.right]),
        Mistake("not_in_minibatches", "The ids are in one flat list.", "Return a list with one list per minibatch.",
                lambda c: [flat(share) for share in c.right]),
        ITEMS, *BAD_DEALS,
        Mistake("out_of_range", "A share holds an id that is not in the order.",
                "Take the ids from `order` as they are, any integers, and in no type that is too narrow for them."),
        Mistake("mixes_minibatches", "In some step the ranks together do not hold the sequential minibatch: they hold "
                "samples of another one.",
                "First cut the order into minibatches of batch_size, then deal out each of them."),
        Mistake("one_minibatch_too_many", "There are more entries than minibatches: the last ones are empty on every "
                "rank.",
                "n samples are ceil(n / batch_size) minibatches; where n divides, n // batch_size + 1 is one too "
                "many."),
        Mistake("own_order", "Each rank has the right samples of each minibatch, but in a different order.",
                "Leave them in the order of the minibatch."),
        Mistake("split_otherwise", "In every step the ranks hold the right minibatch together, but it was not dealt "
                "out by strides.", "Rank r takes positions r, r + world_size, ... of the minibatch."),
    ]  # fmt: skip

    def draw(self, rng):
        def case(level, n, p, m, permuted=True):
            order = rng.permutation(n) if permuted else np.arange(n)
            while permuted and n < 6 and (order == np.arange(n)).all():
                order = rng.permutation(n)
            says = f"n = {n}, {p} ranks, minibatch {m}, order {'permuted' if permuted else '0, 1, 2, ...'}"
            return level, {"order": order.tolist(), "batch_size": m, "world_size": p}, {"says": says}

        first, second, third, fourth = self.levels
        yield case(first, 24, 3, 8)
        yield case(first, 24, 3, 8, permuted=False)
        yield case(first, 20, 4, 5)
        yield case(second, 23, 2, 8)
        yield case(second, 22, 3, 6)
        yield case(second, 19, 2, 8)  # the last one is less than half full
        yield case(third, 12, 5, 4)
        yield case(third, 3, 5, 4)
        yield case(fourth, 24, 4, 8)
        yield case(fourth, 24, 2, 8, permuted=False)
        yield case(fourth, 24, 1, 8)
        yield case(third, 9, 5, 4)  # a last one of a single sample
        yield case(second, 303, 3, 60)  # ids that no byte holds
        yield case(first, 3600, 2, 3, permuted=False)  # more minibatches than Python recurses
        order = [40_000, 2**24 + 1, 2**31 + 5, 7, 300, 2]  # any ids: what int16, float32 and int32 do not hold
        yield second, {"order": order, "batch_size": 4, "world_size": 2}

    def right(self, order, batch_size, world_size):
        return split(order, batch_size, world_size)

    def worked(self, case):
        c = super().worked(case)
        c.order, c.n, c.m = np.array(c.order), len(c.order), c.batch_size
        c.steps, c.rest = cut(np.arange(c.n), c.m), c.n % c.m
        return c

    def read_right(self, shares, **case):
        return "not_integers" if has_floats(shares) else None

    def read(self, shares, order, batch_size, world_size):
        if not are_shares(shares, 2):
            return None
        right, n, p = self.right(order, batch_size, world_size), len(order), world_size
        if [[sorted(ids) for ids in share] for share in shares] == [[sorted(ids) for ids in share] for share in right]:
            return "own_order"
        packs = (np.array(order), evened(order, p), evened(np.array(order), p, True))
        sizes = {batch_size // p, math.ceil(batch_size / p)} - {0}
        if any(shares == [cut(share, size) for share in strides(pack, p)] for pack in packs for size in sizes):
            return "stock_then_cut"
        ids = flat(flat(share) for share in shares)
        if strangers := set(map(int, ids)) - set(order):
            return Finding("out_of_range", f"Id {min(strangers)}.")
        found = deal_mistake([flat(share) for share in shares], n) if max(order) < n else None
        if found and found.diagnosis != "sample_twice":
            return found
        wanted = cut(order, batch_size)
        steps = {len(share) for share in shares}
        if steps != {len(wanted)}:
            kept, own = ([[ids for ids in share if ids] for share in lists] for lists in (shares, right))
            if kept == own:
                return "one_minibatch_too_many" if min(steps) > len(wanted) else "leaves_out_empty"
            return found or self._stranger(shares, wanted) or "mixes_minibatches"
        return self._stranger(shares, wanted) or found or "split_otherwise"

    @staticmethod
    def _stranger(shares, wanted) -> Finding | None:
        """The first step in which the ranks hold a sample that is not in its minibatch."""
        for step, minibatch in enumerate(wanted):
            for rank, share in enumerate(shares):
                strangers = [i for i in (share[step] if step < len(share) else []) if i not in minibatch]
                if strangers:
                    where = f"In step {step} rank {rank} has sample {strangers[0]}, which is not in minibatch {step}."
                    return Finding("mixes_minibatches", where)
        return None


def split(order, size: int, world_size: int, deal=strides) -> list[list[list[int]]]:
    """[rank][minibatch][ids]: an order in minibatches of `size`, each dealt out by `deal`."""
    steps = [deal(np.array(minibatch), world_size) for minibatch in cut(order, size)]
    return [[step[rank] for step in steps] for rank in range(world_size)]


class ExactAccuracy(Exercise):
    """An accuracy that counts everybody once"""

    signature = "exact_accuracy(n, is_correct) -> accuracy over all n samples, on every rank"
    all_hear = True
    levels = {"equal shares": 1, "unequal shares": 1, "fewer samples than ranks": 1}
    uses = ("strided_share",)
    harness = harness_of(__file__, "exact_accuracy")
    mistakes = [
        Mistake("rank_0_only", "Only one rank knows the accuracy: a reduce leaves the sum on one rank only.",
                "`dist.all_reduce` leaves it on every rank.", lambda c: [c.right] + [None] * (c.p - 1)),
        Mistake("count", "This is the number of correct samples, not their fraction.", "Divide by n.",
                lambda c: int(c.flags.sum())),
        Mistake("percent", "This is the accuracy in percent.", "Return a number from 0 to 1.", lambda c: 100 * c.right),
        Mistake("divided_by_ranks", "The accuracy was divided by the number of ranks. A sum of counts needs no such "
                "division.", "Divide by n, and nothing else.", lambda c: c.right / c.p),
        Mistake("everybody_evaluates_everything", "The accuracy is right, but every rank looked at every sample: "
                "the ranks save no time.",
                "Each rank looks at its share; counts are added up over the ranks."),
        Mistake("rank_0_evaluates_everything", "The accuracy is right, but one rank looked at all samples while the "
                "others waited.", "Each rank looks at its share; counts are added up over the ranks."),
        Mistake("evaluated_twice", "Some samples were looked at more than once. If they count more than once, the "
                "accuracy depends on the number of ranks.",
                "Deal out without padding: `strided_share(n, rank, world_size)`."),
        Mistake("padding_counted", "Samples that were dealt twice, to make all shares equally long, count twice in "
                "this accuracy.",
                "Deal out without padding and divide by n; nobody needs equal shares in an evaluation."),
        Mistake("samples_left_out", "Some samples were never looked at: this is the accuracy on the others.",
                "With n % world_size samples left over, some ranks have one sample more."),
        Mistake("unfair", "The accuracy is right, but the shares differ by more than one sample, and the largest "
                "determines the time.", "`strided_share(n, rank, world_size)` is fair."),
        Mistake("one_ranks_accuracy", "Each rank reports the accuracy on its own samples as if it were that of all.",
                "Add up the counts of all ranks with all_reduce, and divide once."),
        Mistake("mean_of_means", "The accuracies of the ranks were averaged: a rank with fewer samples got as much "
                "weight as one with more.",
                "Add up counts of correct samples, which weight every sample equally, and divide once, by n."),
        Mistake("local_over_n", "The correct samples of one rank were divided by the samples of all ranks.",
                "Add up the counts over the ranks first."),
        Mistake("times_world_size", "This is the accuracy times the number of ranks: accuracies were added up, or the "
                "sum of all counts was divided by one rank's samples, or the complete count was added up again.",
                "Add up each rank's own count once, and divide by n."),
        Mistake("maximum", "This is the accuracy of the best rank.",
                "Add up counts: `dist.ReduceOp.SUM`, and divide once, by n."),
        Mistake("rounded", "The accuracy was rounded.", "Return it unrounded, and round only when you print it."),
        Mistake("narrow_count", "The counts were kept in a type that is too narrow for them: uint8 ends at 255, "
                "int16 at 32,767, float16 has no odd number above 2048, bfloat16 none above 256.",
                "Count in int64, which is what `torch.tensor(3)` is, or in float64."),
        Mistake("integer_division", "The fraction is gone: integers were divided with `//` or rounded.",
                "Divide with `/`."),
        Mistake("ZeroDivisionError", "A rank divided by the number of its own samples, and with fewer samples than "
                "ranks some have none.", "Add up the counts over the ranks and divide once, by n."),
        Mistake("missing_rank", "A rank does not take part in the all_reduce that the others wait in: one without "
                "samples that returned early, for example.",
                "Every rank must call it; a rank without samples adds zero."),
        Mistake("IndexError", "Python stopped at the line above. If it says that there is no such sample, a rank asked "
                "for one beyond the last.",
                "The ids are 0 to n - 1: end the share there. It may also be that no sample is right, or that all are: "
                "an array of counts may then be shorter."),
    ]  # fmt: skip

    def cases(self, rng):
        def case(level, p, n, hits=None, **options):
            """hits: so many samples are right; many are an odd number that a narrow type cannot count and a wider one
            rounds."""
            while True:
                flags = rng.random(n) < 0.6 if hits is None else rng.permutation(np.arange(n) < hits)
                case = Case(level, p, (n, flags), says=f"n = {n}", known={"n": n, "flags": flags}, **options)
                if hits is not None or self.telling(case):
                    return case

        first, second, third = self.levels
        return [
            case(first, 4, 24),
            case(first, 2, 10),
            case(first, 2, 4100, hits=2467),
            case(second, 4, 22, late=(0,)),
            case(second, 3, 14),
            case(third, 5, 3),
            case(first, 1, 24, hits=15),
            case(first, 2, 66_002, hits=65_541),  # more than two bytes count
            case(first, 2, 4, hits=0),
            case(second, 2, 5, hits=5),
        ]

    def telling(self, case) -> bool:
        """True if the usual mistakes show, each with a number of its own, for strides and for blocks."""
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
        return self.per_rank(case, float(case.known["flags"].mean()))

    def worked(self, case):
        return SimpleNamespace(right=float(case.known["flags"].mean()), **vars(super().worked(case)))

    def per_rank(self, case, value):
        values = value if isinstance(value, list) else [value] * case.world_size
        return [{"accuracy": one, "asked": ANYTHING} for one in values]

    def facts(self, case: Case, run: Run):
        """Judged by what each rank looked at: how the samples were dealt out is the student's choice."""
        n, flags = case.known["n"], case.known["flags"]
        values = [rank.value["accuracy"] for rank in run.ranks]
        asked = [np.array(rank.value["asked"], dtype=np.int64) for rank in run.ranks]
        held, right = np.bincount(np.concatenate(asked), minlength=n), float(flags.mean())
        if not held.any():
            return Finding("samples_left_out", "No rank has looked at a sample.")
        known = [isinstance(value, int | float) and math.isclose(value, right, rel_tol=1e-5) for value in values]
        if all(known):
            return self._effort(n, [len(share) for share in asked], held)
        numbers = all(isinstance(value, int | float) for value in values)
        own = [flags[share].mean() if len(share) else 0.0 for share in asked]
        if numbers and np.allclose(values, own, rtol=1e-5, atol=1e-9):
            return "one_ranks_accuracy"  # first of all: by chance one rank's own may be that of all
        one_knows = known[0] or sum(known) == 1  # what a reduce leaves on another rank may be right by chance
        return "rank_0_only" if one_knows else self._miscounted(values, flags, asked, held)

    @staticmethod
    def _miscounted(values, flags: np.ndarray, asked: list[np.ndarray], held: np.ndarray) -> Finding | str | None:
        """The mistake in counting or dividing that gives these numbers. held: how often each sample was looked at."""

        def all_are(*numbers) -> bool:
            return any(np.allclose(values, number, rtol=1e-5, atol=1e-9) for number in numbers)

        n, p, right = len(flags), len(values), flags.mean()
        counts = np.array([len(share) for share in asked])
        correct = np.array([flags[share].sum() for share in asked])
        means = correct / np.maximum(counts, 1)
        everything = correct.sum() / counts.sum()
        twice = np.flatnonzero(held > 1)
        again = f"{', '.join(map(str, twice[:6]))}{', ...' if len(twice) > 6 else ''}"
        padded = Finding("padding_counted", f"Looked at more than once: {again}.")
        left_out = Finding("samples_left_out", f"{int((held == 0).sum())} of {n} samples were not looked at.")
        narrow = all_are(correct.sum() % 256 / n) or abs(values[0] - right) < right / 128
        table = [
            (padded if len(twice) else left_out, all_are(everything)),
            ("mean_of_means", all_are(means.mean(), means[counts > 0].mean())),
            ("local_over_n", all_are(correct / n)),
            ("integer_division", all(value in (0, 1) for value in values)),
            ("maximum", all_are(means.max())),
            ("padding_counted" if len(twice) else "samples_left_out", all_are(correct.sum() / n)),
            ("rounded", all_are(*(round(right, digits) for digits in (1, 2, 3, 4)))),
            ("narrow_count", n > 256 and len(set(values)) == 1 and narrow),
            ("times_world_size", all_are(means.sum(), p * right, correct.sum() / np.maximum(counts, 1))),
            (left_out, (held == 0).any()),
            ("evaluated_twice", len(twice)),
        ]
        return next((name for name, holds in table if holds), None)

    @staticmethod
    def _effort(n: int, sizes: list[int], held: np.ndarray) -> Finding | None:
        """The mistake, if any, in how the right accuracy was computed."""
        left_out, most, all_of = int((held == 0).sum()), max(sizes), int(np.argmax(sizes))
        each = ", ".join(map(str, sizes))
        table = [
            ("everybody_evaluates_everything", 1 < len(sizes) and min(sizes) >= n, f"Each rank looked at {n} samples."),
            ("samples_left_out", left_out, f"{left_out} of {n} samples were not looked at."),
            ("evaluated_twice", held.max() > 1, f"Sample {np.argmax(held > 1)} was looked at {held.max()} times."),
            ("rank_0_evaluates_everything", most == n >= len(sizes) > 1, f"Rank {all_of} looked at all {n} samples."),
            ("unfair", most - min(sizes) > 1, f"Ranks 0, 1, ... looked at {each} samples."),
        ]
        return next((Finding(name, detail) for name, holds, detail in table if holds), None)


class EpochGenerators(PlainExercise):
    """One order, many noises"""

    signature = "epoch_generators(seed, epoch, rank, world_size) -> (order, noise), two torch.Generator"
    levels = {"the order": 1, "the noise": 1}
    given = ("seeds", "epochs", "world_size", "ranks")
    rank_at = 2
    # All generators are made before the first one is used: generators that share their state cannot hide it. Every rank
    # is a process of its own, and so is the run that is repeated tomorrow; here all calls are made in one, so the salt
    # that Python gives the hash of a text in each process is given here.
    harness = harness_of(__file__, "epoch_generators")
    mistakes = [
        Mistake("not_generators", "Two objects of type torch.Generator were asked for.",
                "`torch.Generator().manual_seed(number)` makes one; return two of them, order first."),
        Mistake("shared_generator", "Two of the generators are one and the same object (torch.manual_seed always "
                "returns the global one): drawing noise then also changes the order.",
                "Make a new `torch.Generator()` for each of the two, in every call."),
        Mistake("unseeded", "The same call gave different numbers the second time: no run can be repeated, and no two "
                "ranks agree on an order.", "Everything random must follow from the four arguments."),
        Mistake("salted_hash", "The seed goes through `hash()` of a text, which Python salts differently in every "
                "process: the ranks do not agree on an order, and tomorrow's run draws other numbers than today's.",
                "Calculate with the four integers, or use `hashlib.sha256(text.encode())`, which is the same "
                "everywhere."),
        Mistake("changes_the_global", "The two generators are right, but PyTorch's global generator was "
                "changed: whatever else draws from it (dropout, initial weights, a loader's base seed) starts "
                "over with every call.",
                "`torch.manual_seed` seeds the global generator: seed one of your own, "
                "`torch.Generator().manual_seed(number)`."),
        Mistake("orders_differ", "The ranks would shuffle into different orders: some samples are then dealt twice "
                "and others never.", "The order depends on seed and epoch, never on the rank."),
        Mistake("same_order_every_epoch", "Two epochs have the same order, as if set_epoch had been forgotten.",
                "The order depends on seed and epoch."),
        Mistake("order_ignores_seed", "A different seed gives the same order.", "The order depends on seed and epoch, "
                "on every digit of the seed."),
        Mistake("same_noise", "Ranks draw the same noise: all images of a step are rotated and shifted alike, and four "
                "ranks see no more variety than one.", "The noise depends on the rank, too."),
        Mistake("same_noise_every_epoch", "A rank draws the same noise in every epoch: the network learns by heart "
                "what should be new each time.", "The noise depends on the epoch, too."),
        Mistake("noise_ignores_seed", "A different seed gives the same noise.", "The noise depends on the seed, too."),
        Mistake("streams_meet", "Rank and epoch were combined so that the same number comes twice, as in 1 + 0 = 0 "
                "+ 1: one rank draws in this epoch what another draws in the next.",
                "Give every pair (epoch, rank) its own number, for any number of ranks: for example epoch * "
                "world_size + rank."),
        Mistake("streams_overlap", "One stream begins where another goes on, as if both came from one generator that "
                "was moved on by a few numbers: one rank draws now what another draws a moment later.",
                "Seed every generator with a number of its own; do not draw from it to move it on."),
        Mistake("only_32_bits", "Two generators were seeded with different numbers and draw the same: "
                "`manual_seed` takes a longer number, but a generator on the CPU uses its lowest 32 bits alone.",
                "Keep what tells your numbers apart below 2**32: shift or multiply by less, or hash all four "
                "integers together."),
    ]  # fmt: skip

    def draw(self, rng):
        # Up to 10 ranks 10 * epoch + rank, or their digits glued together, are numbers of their own; not beyond.
        # Of 1001 ranks these: whatever k is, from 1 to 1000, two of them differ by k, so that epoch * k + rank meets.
        some = sorted({*range(33), *range(32, 1000, 32), 99, 100, 101, 200, 256, 500, 777, 999, 1000})
        for p, epochs in ((3, 100), (4, 100), (12, 30), (1, 100), (1001, 2)):
            order, seeds = p == 3, [int(rng.integers(1000, 10_000)), 0]
            ranks = list(range(p)) if p < 1000 else some
            known = {"seeds": seeds, "epochs": epochs, "world_size": p, "ranks": ranks, "order": order}
            yield "the order" if order else "the noise", known
        # What % would not tell, and what 32 bits would not once the seed is shifted by 20 or 19.
        apart = [0, 1, 10, 100, 128, 256, 500, 512, 999, 1000, 1024, 2000, 2048, 5000, 7919, 4096, 8192]
        for level in self.levels:
            known = {"seeds": [1234 + more for more in apart], "epochs": 2, "world_size": 2, "ranks": [0, 1]}
            yield level, known | {"order": level == "the order"}

    def read_right(self, value, seeds, ranks, order, **case):
        """Any streams will do, if they are as different as they should be."""
        if not isinstance(value, dict) or "order" not in value:
            if isinstance(value, dict) and value.get("shared"):
                return "shared_generator"
            made = value.get("made") if isinstance(value, dict) else type(value).__name__
            return Finding("not_generators", f"What came back: {made}.")
        # shape (seeds, epochs, ranks): a stream is known by its first four 53-bit numbers
        which = value["order" if order else "noise"]
        streams = [[[tuple(numbers) for numbers in ranks] for ranks in epochs] for epochs in which]
        found = stream_mistake(streams, seeds, ranks, order)
        if tuple(value["again"][0 if order else 1]) != streams[0][1][-1]:
            found = Finding("unseeded")
        if found and value["salted"] and found.diagnosis in ("unseeded", "orders_differ"):
            return "salted_hash"
        if found and found.diagnosis != "unseeded" and value["cut"][0 if order else 1]:
            return Finding("only_32_bits", found.detail)
        return found or (None if value["kept"] else "changes_the_global")


def stream_mistake(streams, seeds: list[int], ranks: list[int], order: bool) -> Finding | None:
    """The mistake in streams: all ranks have one order, and nothing else may come twice.

    streams: [seed][epoch][k] of the k-th of `ranks`.
    """
    for seed, of_seed in zip(seeds, streams, strict=True):
        epochs = [dict(zip(ranks, of_epoch, strict=True)) for of_epoch in of_seed]
        places = [(epoch, rank) for epoch in range(len(epochs)) for rank in ranks]
        apart = [(epoch, rank) for epoch, rank in places if epochs[epoch][rank] != epochs[epoch][0]]
        if order and apart:
            where = "Seed {}, epoch {}: ranks 0 and {} have different streams for the order."
            return Finding("orders_differ", where.format(seed, *apart[0]))
        seen: dict[tuple, tuple[int, int]] = {}
        for epoch, rank in places:
            before, other = seen.setdefault(epochs[epoch][rank], (epoch, rank))
            if order and before < epoch:
                return Finding(
                    "same_order_every_epoch", f"Seed {seed}: epochs {before} and {epoch} have the same stream."
                )
            if not order and (before, other) != (epoch, rank):
                name = "same_noise_every_epoch" if other == rank else "streams_meet"
                where = f"Seed {seed}: rank {rank} in epoch {epoch} draws what rank {other} draws in epoch {before}."
                return Finding("same_noise" if before == epoch else name, where)
        if where := overlap(seen):
            return Finding("streams_overlap", f"Seed {seed}: {where}")
    for epoch, of_seeds in enumerate(zip(*streams, strict=True)):
        for rank, *of_rank in zip(ranks, *of_seeds, strict=True):
            first: dict[tuple, int] = {}
            for seed, stream in zip(seeds, of_rank, strict=True):
                if stream in first:
                    name = "order_ignores_seed" if order else "noise_ignores_seed"
                    where = f"Rank {rank} in epoch {epoch}: seeds {first[stream]} and {seed} give the same stream."
                    return Finding(name, where)
                first[stream] = seed
    return None


def overlap(streams: dict[tuple, tuple[int, int]]) -> str:
    """A sentence on two streams that have a number in common; "" where no two have. streams: the epoch and the rank in
    which a stream was first drawn from."""
    seen: dict[int, tuple[int, int]] = {}
    for stream, (epoch, rank) in streams.items():
        for number in stream:
            before, other = seen.setdefault(number, (epoch, rank))
            if (before, other) != (epoch, rank):
                return f"a number of rank {rank} in epoch {epoch} is also one of rank {other} in epoch {before}."
    return ""
