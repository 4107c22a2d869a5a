"""Unit 12: what input pipelines should do, by plain formulas, and what is read out of the samples that ranks got."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain

import numpy as np

from autograder.exercise import Finding


def in_runs(things: Sequence, sizes: Iterable[int]) -> list[list]:
    """Things cut into runs of these sizes; what is left is in none."""
    cut, at = [], 0
    for size in sizes:
        cut.append(list(things[at : at + size]))
        at += size
    return cut


def by_luck(n: int, sizes: Sequence[int]) -> bool:
    """True if a shuffle cuts n samples into runs of these sizes in their order more often than once in 20,000 times."""
    ways, left = 1, n
    for size in sizes:
        ways, left = ways * math.comb(left, size), left - size
    return ways <= 20_000


# -- the shuffle buffer ------------------------------------------------------------------------------------------------


def buffered(
    stream: Sequence[int], size: int, seed: int | np.random.Generator, rest: str = "shuffled", place: bool = True
) -> list[int]:
    """A stream through a shuffle buffer. rest: what becomes of what is in the buffer at the end: "shuffled", "kept" in
    order or "lost". place: whether the new element takes the place of the one that leaves, or the end of the list."""
    rng, buffer, out = np.random.default_rng(seed), list(stream[:size]), []
    for element in stream[size:]:
        k = int(rng.integers(size))
        out.append(buffer[k])
        if place:
            buffer[k] = element
        else:
            buffer = [*buffer[:k], *buffer[k + 1 :], element]
    last = {"shuffled": lambda: [buffer[k] for k in rng.permutation(len(buffer))], "kept": lambda: buffer}
    return out + (last[rest]() if rest in last else [])


def block_by_block(stream: Sequence[int], size: int, seed: int) -> list[int]:
    """Each block of `size` elements shuffled for itself."""
    rng, out = np.random.default_rng(seed), []
    for at in range(0, len(stream), size):
        block = list(stream[at : at + size])
        out += [block[k] for k in rng.permutation(len(block))]
    return out


# -- rates and bands ---------------------------------------------------------------------------------------------------


def rate(read, decode, step, workers, cores, ranks) -> float:
    """Samples a second of one of `ranks` accelerators that share the cores of a machine."""
    if workers == 0:
        return min(1 / (read + decode + step), cores / (ranks * decode))
    return min(workers / (read + decode), cores / (ranks * decode), 1 / step)


def bands(
    make: list[list[float]],
    step: float,
    depth: int,
    barrier: bool = True,
    one_worker: bool = True,
    until: str = "taken",
    last: bool = True,
) -> list[list[float]]:
    """The seconds of each rank that it is busy, waiting for data, waiting for others. barrier: whether a step ends
    together. one_worker: whether a batch is begun when the one before is made. until: a batch waits until it is
    "taken", until its step is "computed" on its rank, or until that is "over" on all ranks. last: whether the ranks
    wait for each other after the last step, too."""
    p, steps = len(make), len(make[0])
    made, end = [0.0] * p, [0.0] * p
    taken: list[list[float]] = [[] for _ in range(p)]
    spent = [[0.0, 0.0, 0.0] for _ in range(p)]
    for k in range(steps):
        done = []
        for r in range(p):
            if depth:
                free = taken[r][k - depth] if k >= depth else 0.0
            else:
                free = taken[r][k - 1] if k and until == "computed" else end[r]
            made[r] = (max(made[r], free) if one_worker else free) + make[r][k]
            start = max(made[r], end[r])
            taken[r].append(start)
            spent[r][0] += step
            spent[r][1] += start - end[r]
            done.append(start + step)
        for r in range(p):
            end[r] = max(done) if barrier and (last or k < steps - 1) else done[r]
            spent[r][2] += end[r] - done[r]
            taken[r][k] = {"taken": taken[r][k], "computed": done[r], "over": end[r]}[until]
    return spent


def waits_at_the_end(spent: list[list[float]]) -> list[list[float]]:
    """Bands of ranks that have not waited for each other, and do so once, when they are through."""
    last = max(map(sum, spent))
    return [[busy, data, last - busy - data] for busy, data, _ in spent]


# -- packing -----------------------------------------------------------------------------------------------------------


def first_fit(
    lengths: Sequence[int], capacity: int, decreasing: bool = True, pick: Callable | None = None
) -> list[list[int]]:
    """The sequences of each row: each goes into the first that has room, by default the longest first. pick: `min`
    or `max`, by the room that is left, in place of the first.
    """
    order = sorted(range(len(lengths)), key=lambda k: -lengths[k]) if decreasing else range(len(lengths))
    rows: list[list[int]] = []

    def room(row: list[int]) -> int:
        return capacity - sum(lengths[j] for j in row)

    for k in order:
        fitting = [row for row in rows if room(row) >= lengths[k]]
        row = next(iter(fitting), None) if pick is None else pick(fitting, key=room, default=None)
        if row is None:
            rows.append([k])
        else:
            row.append(k)
    return rows


# -- what ranks got ----------------------------------------------------------------------------------------------------


def _nested(value: object, deep: int) -> bool:
    """True if these are lists of lists, so many times, none of them empty above the innermost."""
    if not isinstance(value, list):
        return False
    return deep == 0 or (len(value) > 0 and all(_nested(one, deep - 1) for one in value))


def shard_mistake(table: list, files: list[str], level: str) -> Finding | str | None:
    """The mistake in files dealt out: table[seed][epoch][rank][worker] is a list of them."""
    if not _nested(table, 4):
        return "not_files"
    epochs = [epoch for seed in table for epoch in seed]
    flat = [worker for epoch in epochs for rank in epoch for worker in rank]
    if not all(isinstance(one, list) and all(isinstance(name, str) and name in files for name in one) for one in flat):
        return "not_files"
    for number, epoch in enumerate(table[0]):
        if found := _dealt_wrongly(epoch, files, number):
            return found
    if level != "another order in each epoch":
        return next((found for epoch in epochs if (found := _dealt_wrongly(epoch, files, 0))), None)
    first = table[0]
    if all(epoch == first[0] for epoch in first):
        another = any(epoch != seed[0] for seed in table[1:] for epoch in seed)
        return "product_in_the_seed" if another else "same_every_epoch"
    ranks = [[sorted(name for worker in rank for name in worker) for rank in epoch] for epoch in first]
    if len(ranks[0]) > 1 and all(one == ranks[0] for one in ranks):
        return "shards_then_shuffles"
    if len(ranks[0]) > 1 and all(sorted(one) == sorted(ranks[0]) for one in ranks):
        return "same_groups"
    if all(worker == sorted(worker) for worker in flat):
        return "share_sorted"
    if any(first[0] == other[0] for other in table[1:]):
        return "ignores_the_seed"
    of_seeds = [[[sorted(chain(*rank)) for rank in epoch] for epoch in seed] for seed in table]
    return "groups_ignore_the_seed" if len(ranks[0]) > 1 and of_seeds[0] in of_seeds[1:] else None


def _dealt_wrongly(epoch: list, files: list[str], number: int) -> Finding | str | None:
    ranks = [Counter(name for worker in rank for name in worker) for rank in epoch]
    held = sum(ranks, Counter())
    again, missing = sorted(name for name in held if held[name] > 1), sorted(set(files) - set(held))
    workers_alike = len(epoch[0]) > 1 and all(sorted(w) == sorted(rank[0]) for rank in epoch for w in rank)
    if again and len(ranks) > 1 and all(rank == ranks[0] for rank in ranks):
        return "every_rank_reads_all"
    if again and workers_alike:
        return "every_worker_reads_all"
    if again and missing:
        return Finding("orders_differ", f"Epoch {number}: {again[0]} is read twice, {missing[0]} by nobody.")
    if again:
        return Finding("reads_twice", f"Epoch {number}: {again[0]} is read {held[again[0]]} times.")
    if missing:
        return Finding("drops_files", f"Epoch {number}: {len(missing)} of {len(files)} files are read by nobody.")
    totals = [rank.total() for rank in ranks]
    if max(totals) - min(totals) > 1:
        return Finding("uneven_ranks", f"Ranks 0, 1, ... read {', '.join(map(str, totals))} files.")
    sizes = next((s for rank in epoch if max(s := [len(w) for w in rank]) - min(s) > 1), None)
    return sizes and Finding("uneven_workers", f"The workers of a rank read {', '.join(map(str, sizes))} files.")


def step_mistake(n: int, batch_size: int, before: dict, shares: list, states: list) -> Finding | str | None:
    """The mistake in one global batch: the share of each rank, and the state each rank would save."""
    got, p, taken = [k for share in shares for k in share], len(shares), before["taken"]
    want = min(batch_size, n - taken)
    last = taken + batch_size >= n
    where = f"Epoch {before['epoch']}, {taken} of {n} taken: {len(got)} samples on {p} ranks, not {want}."
    after = {"seed": before["seed"], "epoch": before["epoch"], "taken": taken + want}
    if after["taken"] == n:
        after |= {"epoch": before["epoch"] + 1, "taken": 0}
    if len(got) == p * batch_size and p > 1:
        return Finding("batch_size_per_rank", where)
    if last and states[0].get("epoch") == before["epoch"] + 1 and states[0]["taken"] == batch_size != after["taken"]:
        return Finding("drops_the_last_batch", where)
    if len(got) != want:
        if len(got) == want // p * p:
            return Finding("drops_the_remainder", where)
        fewer = "drops_the_last_batch" if last else "wrong_number"
        return Finding(fewer if len(got) < want else "pads_the_last_batch" if last else "wrong_number", where)
    sizes = [len(share) for share in shares]
    if max(sizes) - min(sizes) > 1:
        return Finding("uneven_shares", f"Ranks 0, 1, ... got {', '.join(map(str, sizes))} samples.")
    wrong = next((s for s in states if {key: s[key] for key in after if key in s} != after), None)
    if wrong is None:
        return "states_differ" if any(s != states[0] for s in states) else None
    own = all(s["taken"] == taken + size for s, size in zip(states, sizes, strict=True))
    if (own and p > 1) or any(s != states[0] for s in states):
        return Finding("counts_its_own", f"taken is {', '.join(str(s['taken']) for s in states)} on ranks 0, 1, ...")
    if last and wrong["epoch"] == before["epoch"]:
        return Finding("never_ends_the_epoch", f"All {n} samples are taken, and the state says {wrong}.")
    return Finding(
        "counts_batches" if wrong["taken"] == taken + 1 else "wrong_state", f"Expected {after}, not {wrong}."
    )


def order_mistake(n: int, steps: list[dict]) -> Finding | str | None:
    """The mistake in the samples of whole epochs. steps: {"epoch", "ranks", "shares"} of each global batch."""
    for epoch in sorted({step["epoch"] for step in steps}):
        of = [step for step in steps if step["epoch"] == epoch]
        batches = [sorted(k for share in step["shares"] for k in share) for step in of]
        if any(len(set(batch)) < len(batch) for batch in batches):
            return Finding("not_one_order", f"Epoch {epoch}: two ranks got the same sample in one step.")
        if len(batches) > 1 and all(set(batch) <= set(batches[0]) for batch in batches):
            return "always_from_the_start"
        held = Counter(k for batch in batches for k in batch)
        again = sorted(k for k in held if held[k] > 1)
        if again:
            missing = sorted(set(range(n)) - set(held))
            stopped = len({step["ranks"] for step in of}) > 1
            text = f"Epoch {epoch}: sample {again[0]} came twice" + (
                f", sample {missing[0]} never." if missing else "."
            )
            return Finding("order_depends_on_ranks" if stopped else "not_one_order", text)
    return None
