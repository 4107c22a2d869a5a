"""The numbers that each rank adds to the sums of one trial: whether it is a part of the work.

Ranks that have all done the same work can still share a sum: each adds the whole result, divided by their number. Then
the summands are multiples of each other, which partial sums and gradients of other rows are not. And on a mesh of one
axis the squares of what each rank should add are known (`probes.mesh_shares`): of whatever rows, heads and columns it
has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from autograder.homework.mesh import sizes
from autograder.homework.mesh.altered import dealt
from autograder.homework.mesh.cases import Trial
from labkit.meshrun.counting import axis_of
from labkit.relay.operation import Operation
from labkit.relay.progress import Altering

FEW = 64  # bytes: losses and norms
SOME = 1024  # bytes: other numbers about every parameter, such as the squares of its gradient
SUMS = ("all_reduce", "reduce_scatter", "reduce")
ALIKE = 1e-3  # squared sine of the angle between summands that are multiples of each other
NOTHING = 1e-8  # of another's squares: a rank has added nothing but rounding
ENOUGH = 0.4  # of the bytes that a division needs
NEAR = 1e-6  # of the squares of a gradient


class Shares(NamedTuple):
    """The numbers that parts of the work add to sums, as `probes.mesh_shares` gives them. rows: for replicas. columns:
    for ranks of a tensor group."""

    rows: np.ndarray
    columns: dict[str, np.ndarray]


class Summed:
    """Looks at the sums of one trial, and leaves them to `altered` where there is one.

    alike: axis -> bytes of all ranks in sums to which some ranks that differ along it added multiples of each other.
    others: the same of all other sums along it. products: axis -> of the other sums of more than so many bytes, (ranks,
    ranks) of the products of what they added.
    """

    def __init__(self, trial: Trial, altered: Altering | None = None):
        self.trial, self.altered = trial, altered
        self.others, self.alike = Counter(), Counter()
        n = trial.mesh.size
        self.products = {axis: {least: np.zeros((n, n)) for least in (FEW, SOME)} for axis in ("data", "tensor")}

    def handed(self, op: Operation) -> bytes:
        """The bytes that travel in place of those that a rank hands over."""
        return op.payload if self.altered is None else self.altered.handed(op)

    def arrives(self, ops: Sequence[Operation]) -> None:
        """Looks at a collective, and lets it be altered."""
        self._look(ops)
        if self.altered is not None:
            self.altered.arrives(ops)

    @np.errstate(all="ignore")
    def _look(self, ops: Sequence[Operation]) -> None:
        axis = self._axis(ops)
        if not axis:
            return
        added = np.array([np.frombuffer(op.payload, np.float64) for op in ops])
        products, ranks = added @ added.T, [op.rank for op in ops]
        if not np.triu(products, 1).any():
            return  # pieces side by side: put together, not summed
        pairs = [pair for pair in combinations(range(len(ops)), 2) if _multiples(products, *pair, axis)]
        for one in {axis_of(self.trial.mesh, (ranks[j], ranks[k])) for j, k in pairs}:
            self.alike[one] += added.nbytes
        self.others[axis] += 0 if pairs else added.nbytes
        if axis in self.products and not pairs:
            for least, known in self.products[axis].items():
                known[np.ix_(ranks, ranks)] += products if added[0].nbytes > least else 0.0

    def _axis(self, ops: Sequence[Operation]) -> str:
        """The axis along which a collective sums something that is looked at; else ""."""
        first, trial = ops[0], self.trial
        summed = first.kind in SUMS and first.reduce in ("sum", "avg")
        lengths = {len(op.payload) for op in ops}
        if (
            not (summed or first.kind == "all_to_all")
            or {op.dtype for op in ops} != {"float64"}
            or len(lengths) > 1
            or len(ops) < 2
            or not FEW < (nbytes := lengths.pop())
            or nbytes % sizes.FLOAT
        ):
            return ""
        axis = axis_of(trial.mesh, first.members)
        if axis == "tensor":  # an activation, or a part of it, and no gradients of parameters
            whole = nbytes * trial.mesh.tensor % sizes.hop(trial.settings, trial.mesh) == 0
            return axis if summed and whole else ""
        return axis if axis == "data" or (axis == "context" and summed) else ""

    def needed(self, axis: str) -> float:
        """Bytes that all ranks add to sums in all steps, where the work along an axis is divided."""
        settings, mesh = self.trial.settings, self.trial.mesh
        return self.trial.steps * sizes.summed(settings, mesh)["tensor" if axis == "tensor" else "data"]

    def undivided(self, axis: str) -> bool:
        """True if what is summed along an axis was the same on several ranks, and hardly anything else was summed. (Who
        makes equal weights equal once more adds the same, too.)"""
        return self.mostly_alike(axis) and self.few(axis)

    def mostly_alike(self, axis: str, share: float = ENOUGH) -> bool:
        """True if several ranks added the same to more than so much of what an axis needs."""
        return self.alike[axis] > share * self.needed(axis)

    def few(self, axis: str) -> bool:
        """True if not enough was summed along an axis to say anything of it."""
        summed = self.others[axis] + (self.others["data"] if axis == "context" else 0)
        return summed < ENOUGH * self.needed(axis)

    def of_parts(self, axis: str, shares: Shares) -> bool:
        """True if what every rank has added along "data" or "tensor", the only axis of the mesh, is what a part of the
        work adds, all by the same multiple."""
        possible = self._of_rows(shares.rows) if axis == "data" else self._of_columns(shares.columns)
        for products in self.products[axis].values():
            share = products.diagonal() / products.sum()
            if any(all(np.abs(ways - own).min() < NEAR for own in share) for ways in possible):
                return True
        return False

    def _of_rows(self, rows: np.ndarray) -> list[np.ndarray]:
        """The shares that subsets of the rows have; and those of replicas that sum their gradients for each
        micro-batch, by every way to deal rows that is known."""
        found = [_subsets(rows) / rows.sum()]
        for way in dealt(self.trial.settings, self.trial.mesh.data):
            own = [sum(rows[np.ix_(part, part)].sum() for part in replica) for replica in way]
            together = way.swapaxes(0, 1).reshape(way.shape[1], -1)
            found.append(np.array(own) / sum(rows[np.ix_(part, part)].sum() for part in together))
        return found

    def _of_columns(self, columns: dict[str, np.ndarray]) -> list[np.ndarray]:
        """The shares that heads and hidden features have, by every way to add biases, to sum what goes back to q, k and
        v, and to divide the loss."""
        settings, t = self.trial.settings, self.trial.mesh.tensor
        by = (1, settings.micro_batches, settings.batch, settings.tokens, settings.tokens / settings.micro_batches)
        backward = ("attention backward", "attention apart")
        ways = product(backward, by, ((0.0,), (0.0, 1.0), (1 / t,)))
        return [_of_heads(columns, t, name, scale**2, biases) for name, scale, biases in ways]


def _of_heads(columns: dict[str, np.ndarray], t: int, back: str, scale: float, biases: tuple[float, ...]) -> np.ndarray:
    """The shares of every part of an attention with every part of an MLP. biases: the parts of them that a rank may
    add."""
    n = len(columns[back])
    parts = [np.isin(np.arange(n), some) for some in combinations(range(n), n // t)]

    def squares(name: str, back: str, part: np.ndarray, bias: float) -> float:
        forward, behind = np.append(part, bias), part.astype(float)
        return forward @ columns[name] @ forward + scale * (behind @ columns[back] @ behind)

    found = []
    for bias in biases:
        attention = [squares("attention", back, part, bias) for part in parts]
        mlp = [squares(mlp, f"{mlp} backward", part, bias) for mlp in ("mlp", "mlp dealt") for part in parts]
        found += [one + other for one, other in product(attention, mlp)]
    whole, bias = np.ones(n), float(any(biases))
    return np.array(found) / (squares("attention", back, whole, bias) + squares("mlp", "mlp backward", whole, bias))


def _multiples(products: np.ndarray, j: int, k: int, axis: str) -> bool:
    """True if two ranks have added multiples of each other; or one of them nothing but rounding, which along context is
    what a part has to do with positions behind it."""
    least, most = sorted((products[j, j], products[k, k]))
    if least <= NOTHING * most:
        return axis != "context" and bool(np.isfinite(most)) and most > 0
    return bool(products[j, k] ** 2 > (1 - ALIKE) * least * most)


def _subsets(rows: np.ndarray) -> np.ndarray:
    """The squares of the gradient of every subset of the rows that is neither empty nor all of them."""
    n = len(rows)
    chosen = (np.arange(1, (1 << n) - 1)[:, None] >> np.arange(n) & 1).astype(float)
    return ((chosen @ rows) * chosen).sum(1)


__all__ = ["Shares", "Summed"]
