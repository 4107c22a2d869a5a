"""Whose values are in a sum? Inputs that carry their rank in a digit, and the reading of a sum that went wrong.

What rank r contributes to an element is k * 10**r with k = 1, 2 or 3. A sum over four ranks then reads like 2132: the units are
rank 0's, the tens rank 1's. A missing rank shows as a 0, a rank counted twice as a doubled digit. A student sees it on the card,
and `read` sees it here, whether anybody thought of the mistake before or not.

In float64 and in integers each number is multiplied by a `unit` of its type, so that no narrower type holds it: the same digits stand
twice in an integer, 212000000000212, and a float64 has a tail, 2132.0000635.
"""

from __future__ import annotations

import numpy as np

from autograder.exercise import Case, Finding, Run, Tensor
from autograder.values import SURPLUS

WIDE = (10, 3)  # base and highest digit, for every dtype that holds 10**p exactly
NARROW = (5, 2)  # for bfloat16, float16 and uint8 on up to 3 ranks: twice 2 + 10 + 50 is still exact

UNREADABLE = -1


def unit(world_size: int, dtype: str) -> int | float:
    """What every contribution is multiplied by. Any sum of twice as many contributions is still exact, in every order."""
    if dtype == "int64":
        return 10 ** (18 - world_size) + 1
    if dtype == "int32":
        return 10 ** (9 - world_size) + 1
    return SURPLUS if dtype == "float64" else 1


def summands(rng: np.random.Generator, world_size: int, shape: tuple[int, ...], dtype: str) -> tuple[list[np.ndarray], int]:
    """One array per rank, and the base: from an element of any sum of them one can tell who is in it, and how often.

    No two elements get the same digits, as long as there are enough of them: whatever confuses places shows. In the first element
    rank 0's digit is odd, so that in integers of 32 and 64 bits the sum is one that no float holds.
    """
    base, highest = NARROW if dtype in ("bfloat16", "float16", "uint8") else WIDE
    n, choices = int(np.prod(shape)), highest**world_size
    chosen = np.concatenate(
        [rng.choice(choices, min(choices, n - start), replace=False) for start in range(0, n, choices)] or [[]]
    )
    digits = [chosen.astype(np.int64) // highest**rank % highest + 1 for rank in range(world_size)]
    odd = np.flatnonzero(digits[0] % 2)
    if odd.size:
        for digit in digits:
            digit[[0, odd[0]]] = digit[[odd[0], 0]]
    elif n:
        digits[0][0] = 1
    scale = unit(world_size, dtype)
    return [digit.reshape(shape) * base**rank * scale for rank, digit in enumerate(digits)], base


def sum_case(rng: np.random.Generator, level: str, world_size: int, shape: tuple, dtype: str = "float64", **options) -> Case:
    """A case whose only argument is the tensor to be summed over the ranks. `known`: parts (one array per rank), base, unit, dtype."""
    parts, base = summands(rng, world_size, shape, dtype)
    size = f"n = {shape[0]}" if len(shape) == 1 else f"shape {' x '.join(map(str, shape))}"
    return Case(
        level,
        world_size,
        [(Tensor(part, dtype),) for part in parts],
        says=f"{size}, {dtype}",
        known={"parts": parts, "base": base, "unit": unit(world_size, dtype), "dtype": dtype},
        **options,
    )


def total(case: Case) -> np.ndarray:
    """The right sum, shape of the input."""
    return sum(case.known["parts"])


def tensors(case: Case, values: list[np.ndarray]) -> list[Tensor]:
    """One value per rank, in the dtype of the case."""
    return [Tensor(np.asarray(value), case.known["dtype"]) for value in values]


def everywhere(case: Case, value: np.ndarray) -> list[Tensor]:
    """The same value on every rank."""
    return tensors(case, [value] * case.world_size)


def in_units(values: np.ndarray, scale: int | float) -> tuple[np.ndarray, np.ndarray]:
    """How many units each element is, int64, and whether it is a whole number of them, 0 or more."""
    values = np.asarray(values)
    if values.dtype.kind in "iu":
        values = values.astype(np.int64)
        if isinstance(scale, int):
            return values // scale, (values >= 0) & (values % scale == 0)
    flat = values.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        whole = np.isfinite(flat) & (flat >= 0) & (flat < 2.0**62)
        units = np.rint(np.where(whole, flat, 0) / scale)
        return units.astype(np.int64), whole & (units * scale == flat)


def decode(value: np.ndarray, parts: list[np.ndarray], base: int, scale: int | float = 1) -> np.ndarray:
    """How often each rank is contained in each element of a sum: shape (ranks, elements); `UNREADABLE` where one cannot tell."""
    units, whole = in_units(np.asarray(value).ravel(), scale)
    whole &= units < base ** len(parts)
    rest = np.where(whole, units, 0)
    counts = np.empty((len(parts), units.size), dtype=np.int64)
    for rank, part in enumerate(parts):
        digit, own = rest // base**rank % base, in_units(part.ravel(), scale)[0] // base**rank
        counts[rank] = np.where(whole & (digit % own == 0), digit // own, UNREADABLE)
    return counts


def returned(run: Run) -> list:
    """What each rank returned, tensors as arrays."""
    return [rank_run.value.values if isinstance(rank_run.value, Tensor) else rank_run.value for rank_run in run.ranks]


def counts_of(case: Case, run: Run) -> np.ndarray | None:
    """`decode` on every rank: shape (ranks that hold a sum, ranks contained in it, elements). None: something is unreadable."""
    parts, values = case.known["parts"], returned(run)
    if any(not isinstance(v, np.ndarray) or v.shape != parts[0].shape or v.dtype.kind not in "iuf" for v in values):
        return None
    counts = np.stack([decode(value, parts, case.known["base"], case.known["unit"]) for value in values])
    return None if (counts == UNREADABLE).any() else counts


def read(case: Case, run: Run) -> Finding | None:
    """Names what happened to a sum over all ranks by looking at whose values are in it; None when it is right or unreadable."""
    counts = counts_of(case, run)
    if counts is not None and (counts == 1).all():
        return None
    scaled = _scaled(case, run)
    if scaled is not None or counts is None:
        return scaled
    return Finding(_name(counts), _first_wrong(counts))


def _scaled(case: Case, run: Run) -> Finding | None:
    """The right sum everywhere, times one and the same number."""
    right, values = total(case), returned(run)
    if any(not isinstance(v, np.ndarray) or v.shape != right.shape or v.dtype.kind not in "iuf" for v in values):
        return None
    ratios = np.array(values, dtype=np.float64) / right
    factor = ratios.flat[0]
    if not np.isfinite(factor) or factor == 0 or not np.allclose(ratios, factor, rtol=1e-3, atol=0) or np.isclose(factor, 1):
        return None
    if np.isclose(factor, 1 / case.world_size, rtol=1e-2):
        return Finding("averaged", "")
    return Finding("multiplied", f"All ranks hold {factor:.4g} times the sum.")


def _name(counts: np.ndarray) -> str:
    ranks, _, n = counts.shape
    own = np.eye(ranks, dtype=np.int64)[:, :, None]
    right = (counts == 1).all(axis=1)  # (rank, element)
    complete = right.all(axis=1)  # (rank,)
    if (counts == own).all():
        return "own_only"
    if n > ranks and n % ranks and right[:, : n - n % ranks].all():
        return "drops_remainder"
    if (counts == np.tri(ranks, dtype=np.int64)[:, :, None]).all():
        return "running_sum"
    if (counts == 1 + own).all():
        return "doubled_own"
    if complete.sum() == 1 and (counts <= 1).all():
        return "only_one_rank"
    if (counts == 1 - own).all():
        return "own_left_out"
    if (counts[:, 0] == 0).all() and (counts[:, 1:] == 1).all():
        return "rank_0_left_out"
    if (counts.sum(axis=1) == 1).all():
        return "overwrites"
    if not complete.any() and (counts <= 1).all() and (right.sum(axis=0) == 1).all():
        return "never_gathered"
    if (counts >= 1).all():
        return "counted_twice"
    if (counts <= 1).all():
        return "ranks_missing"
    return "mixed_up"


def _first_wrong(counts: np.ndarray) -> str:
    """ "In rank 2's element 4, rank 1 is missing and rank 0 is counted twice." """
    holder, element = np.argwhere((counts != 1).any(axis=1))[0]
    column = counts[holder, :, element]
    missing = ", ".join(str(rank) for rank in np.flatnonzero(column == 0))
    wrong = []
    if missing:
        wrong.append(f"ranks {missing} are missing" if "," in missing else f"rank {missing} is missing")
    for rank in np.flatnonzero(column > 1):
        wrong.append(f"rank {rank} is counted {'twice' if column[rank] == 2 else f'{column[rank]} times'}")
    return f"In rank {holder}'s element {element}, {' and '.join(wrong)}."


def read_chunks(case: Case, run: Run) -> Finding | None:
    """`read` for a vector that was cut into chunks, which may also get lost, stay padded, change places or be mixed up."""
    return wrong_length(case, run) or read(case, run) or rearranged(case, run) or mixed_up(case, run)


def wrong_length(case: Case, run: Run) -> Finding | None:
    """A sum that is right but shorter or longer than the input, because the input was cut into equal chunks. 1-D cases only."""
    right, values = total(case), returned(run)
    if any(not isinstance(v, np.ndarray) or v.ndim != 1 or v.dtype.kind not in "iuf" for v in values):
        return None
    if all(v.size < right.size and np.array_equal(v, right[: v.size]) for v in values):
        return Finding("drops_remainder", f"{values[0].size} of {right.size} elements came back.")
    if all(v.size > right.size and np.array_equal(v[: right.size], right) for v in values):
        return Finding("keeps_padding", f"{values[0].size} elements came back instead of {right.size}.")
    return None


def rearranged(case: Case, run: Run) -> Finding | None:
    """All sums are right, but they stand in other places than they should."""
    right, found = np.sort(total(case), axis=None), None
    for rank, value in enumerate(returned(run)):
        if not isinstance(value, np.ndarray) or value.size != right.size or value.dtype.kind not in "iuf":
            return None
        if not np.array_equal(np.sort(value, axis=None), right):
            return None
        if not np.array_equal(value.ravel(), total(case).ravel()):
            found = rank
    return None if found is None else Finding("wrong_order", f"Rank {found} holds the right sums in another order.")


def mixed_up(case: Case, run: Run) -> Finding | None:
    """Numbers of different elements were added to each other: every digit is one that a rank could have brought, but for elsewhere."""
    parts, values, right = case.known["parts"], returned(run), total(case)
    base, scale = case.known["base"], case.known["unit"]
    highest = max(int(in_units(part, scale)[0].max()) // base**rank for rank, part in enumerate(parts))
    if any(not isinstance(v, np.ndarray) or v.shape != right.shape or v.dtype.kind not in "iuf" for v in values):
        return None
    values, whole = in_units(np.stack(values), scale)
    if not whole.all() or (values >= base ** len(parts)).any():
        return None
    offset = values - in_units(right, scale)[0]
    if (offset == offset.flat[0]).all():  # one and the same number added everywhere: something else
        return None
    digits = values[..., None] // base ** np.arange(len(parts)) % base
    if (digits > 2 * highest).any():
        return None
    rank, element = np.argwhere(offset != 0)[0]
    return Finding("mixed_up", f"Rank {rank}'s element {element} holds numbers that belong to other elements.")


def time_without_barriers(run: Run) -> float:
    """Virtual seconds of a run; a barrier moves nothing and costs nothing here."""
    barriers = [event for event in run.events if event.rank == 0 and event.kind == "barrier" and event.ended is not None]
    return run.elapsed - sum(event.ended - event.started for event in barriers)


def messages_between(run: Run) -> set[tuple[int, int]]:
    """(from, to) of every point-to-point message of a run."""
    return {(event.rank, event.peer) for event in run.events if event.kind in ("send", "isend")}


def forbidden_collectives(run: Run) -> Finding | None:
    """A finding when an exercise that is to be built from sends calls a collective. A barrier moves nothing and may be called."""
    for rank, rank_run in enumerate(run.ranks):
        for name in rank_run.collectives:
            if name.startswith("all_reduce"):
                return Finding("uses_all_reduce", f"Rank {rank} called {name}.")
            if name != "barrier":
                return Finding("uses_collective", f"Rank {rank} called {name}.")
    return None
