"""Whose values are in a sum? Inputs that carry their rank in a digit, and the reading of a sum that went wrong.

What rank r contributes to an element is k * 10**r with k = 1, 2 or 3. A sum over four ranks then reads like 2132: the
units are rank 0's, the tens rank 1's. A missing rank shows as a 0, a rank counted twice as a doubled digit. A student
sees it on the card, and `read` sees it here, whether anybody thought of the mistake before or not.

In float64 and in integers each number is multiplied by a `unit` of its type, so that no narrower type holds it: the
same digits stand twice in an integer, 212000000000212, and a float64 has a tail, 2132.0000635.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from autograder.exercise import Case, Finding, Run, Tensor
from autograder.values import SURPLUS

WIDE = (10, 3)  # base and highest digit, for every dtype that holds 10**p exactly
NARROW = (5, 2)  # for bfloat16, float16 and uint8 on up to 3 ranks: twice 2 + 10 + 50 is still exact

UNREADABLE = -1


def unit(world_size: int, dtype: str) -> int | float:
    """The factor of every contribution. Any sum of twice as many contributions is still exact, in every
    order."""
    if dtype == "int64":
        return 10 ** (18 - world_size) + 1
    if dtype == "int32":
        return 10 ** (9 - world_size) + 1
    return SURPLUS if dtype == "float64" else 1


def summands(
    rng: np.random.Generator, world_size: int, shape: tuple[int, ...], dtype: str
) -> tuple[list[np.ndarray], int]:
    """One array per rank, and the base: from an element of any sum of them one can tell who is in it, and how often.

    No two elements get the same digits, as long as there are enough of them: whatever confuses places shows. In the
    first element rank 0's digit is odd, so that in integers of 32 and 64 bits the sum is one that no float holds.
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


def sum_case(
    rng: np.random.Generator, level: str, world_size: int, shape: tuple, dtype: str = "float64", **options
) -> Case:
    """A case whose only argument is the tensor to be summed over the ranks. `known`: parts (one array per rank), base,
    unit, dtype."""
    parts, base = summands(rng, world_size, shape, dtype)
    sizes = " x ".join(map(str, shape))
    size = f"n = {sizes}" if len(shape) == 1 else f"shape {sizes}" if shape else "one number"
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
    """The number of units in each element, int64, and whether it is a whole number of them, 0 or more."""
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
    """The number of times that each rank is contained in each element of a sum, shape (ranks, elements); `UNREADABLE`
    where one cannot tell."""
    units, whole = in_units(np.asarray(value).ravel(), scale)
    whole &= units < base ** len(parts)
    rest = np.where(whole, units, 0)
    counts = np.empty((len(parts), units.size), dtype=np.int64)
    for rank, part in enumerate(parts):
        digit, own = rest // base**rank % base, in_units(part.ravel(), scale)[0] // base**rank
        counts[rank] = np.where(whole & (digit % own == 0), digit // own, UNREADABLE)
    return counts


def returned(run: Run) -> list:
    """The value that each rank returned, tensors as arrays."""
    return [rank_run.value.values if isinstance(rank_run.value, Tensor) else rank_run.value for rank_run in run.ranks]


def arrays(run: Run) -> list[np.ndarray] | None:
    """`returned`, or None where a rank returned something else than an array of numbers."""
    values = returned(run)
    return values if all(isinstance(v, np.ndarray) and v.dtype.kind in "iuf" for v in values) else None


def in_shape(case: Case, run: Run) -> list[np.ndarray] | None:
    """`arrays`, or None where one has not the shape of the sum."""
    values = arrays(run)
    return None if values is None or any(v.shape != total(case).shape for v in values) else values


def read(case: Case, run: Run) -> Finding | None:
    """Names what happened to a sum over all ranks by looking at whose values are in it; None when it is right or
    unreadable."""
    values, right = in_shape(case, run), total(case)
    if values is None:
        return None
    # how often each rank is contained in each element that a rank holds: (ranks that hold a sum, ranks contained in it,
    # elements)
    counts = np.stack([decode(value, case.known["parts"], case.known["base"], case.known["unit"]) for value in values])
    if (counts == 1).all():
        return None
    if all(np.allclose(value * float(case.world_size), right, rtol=1e-2, atol=0) for value in values):
        return Finding("averaged")
    return None if (counts == UNREADABLE).any() else Finding(_name(counts), _first_wrong(counts))


_NAMES = (  # the first that holds is the name; what makes a case simpler than the next stands before it
    ("own_only", lambda s: (s.counts == s.own).all()),
    ("drops_remainder", lambda s: s.n > s.p and s.n % s.p and s.right[:, : s.n - s.n % s.p].all()),
    ("running_sum", lambda s: (s.counts == np.tri(s.p, dtype=np.int64)[:, :, None]).all()),
    ("doubled_own", lambda s: (s.counts == 1 + s.own).all()),
    ("only_one_rank", lambda s: s.complete.sum() == 1 and (s.counts <= 1).all()),
    ("rank_0_left_out", lambda s: (s.counts[:, 0] == 0).all() and (s.counts[:, 1:] == 1).all()),
    ("overwrites", lambda s: (s.counts.sum(axis=1) == 1).all()),
    ("never_gathered", lambda s: not s.complete.any() and (s.counts <= 1).all() and (s.right.sum(axis=0) == 1).all()),
    ("counted_twice", lambda s: (s.counts >= 1).all()),
    ("ranks_missing", lambda s: (s.counts <= 1).all()),
    ("mixed_up", lambda s: True),
)


def _name(counts: np.ndarray) -> str:
    p, _, n = counts.shape
    own, right = np.eye(p, dtype=np.int64)[:, :, None], (counts == 1).all(axis=1)  # right: (rank, element)
    seen = SimpleNamespace(counts=counts, own=own, right=right, complete=right.all(axis=1), p=p, n=n)
    return next(name for name, holds in _NAMES if holds(seen))


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
    """`read` for a vector that was cut into chunks, which may also get lost, stay padded, change places or be mixed
    up."""
    return wrong_length(case, run) or read(case, run) or rearranged(case, run) or mixed_up(case, run)


def wrong_length(case: Case, run: Run) -> Finding | None:
    """A sum that is right but shorter or longer than the input, because the input was cut into equal chunks. 1-D cases
    only."""
    right, values = total(case), arrays(run)
    if values is None or any(v.ndim != 1 for v in values):
        return None
    if all(v.size < right.size and np.array_equal(v, right[: v.size]) for v in values):
        return Finding("drops_remainder", f"{values[0].size} of {right.size} elements came back.")
    if all(v.size > right.size and np.array_equal(v[: right.size], right) for v in values):
        return Finding("keeps_padding", f"{values[0].size} elements came back instead of {right.size}.")
    return None


def rearranged(case: Case, run: Run) -> Finding | None:
    """All sums are right, but they stand in other places than they should."""
    right, values = total(case).ravel(), arrays(run)
    if values is None or any(not np.array_equal(np.sort(v, axis=None), np.sort(right)) for v in values):
        return None
    elsewhere = [rank for rank, value in enumerate(values) if not np.array_equal(value.ravel(), right)]
    return Finding("wrong_order", f"Rank {elsewhere[-1]} holds the right sums in another order.") if elsewhere else None


def mixed_up(case: Case, run: Run) -> Finding | None:
    """Numbers of different elements were added to each other: every digit is one that a rank could have brought, but
    for elsewhere."""
    parts, values = case.known["parts"], in_shape(case, run)
    base, scale = case.known["base"], case.known["unit"]
    if values is None:
        return None
    highest = max(int(in_units(part, scale)[0].max()) // base**rank for rank, part in enumerate(parts))
    units, whole = in_units(np.stack(values), scale)
    if not whole.all() or (units >= base ** len(parts)).any():
        return None
    offset = units - in_units(total(case), scale)[0]
    if (offset == offset.flat[0]).all():  # one and the same number added everywhere: something else
        return None
    if (units[..., None] // base ** np.arange(len(parts)) % base > 2 * highest).any():
        return None
    rank, element = np.argwhere(offset != 0)[0]
    return Finding("mixed_up", f"Rank {rank}'s element {element} holds numbers that belong to other elements.")
