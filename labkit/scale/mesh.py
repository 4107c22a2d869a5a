"""A mesh: which ranks share a layer's matrices, a sequence, a model's layers, and which hold the same parameters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

AXES = ("tensor", "context", "pipeline", "data")


@dataclass(frozen=True)
class Mesh:
    """The number of ranks along each axis. order: the axes, from the one on which neighbouring ranks differ to the one
    that changes last; as it stands, the ranks of a tensor group have neighbouring numbers, so that they share a
    node. experts: the routed experts of a mixture are dealt out to so many replicas, neighbours along `context` and
    `data`."""

    tensor: int = 1
    context: int = 1
    pipeline: int = 1
    data: int = 1
    order: tuple[str, ...] = AXES
    experts: int = 1

    def __post_init__(self):
        if sorted(self.order) != sorted(AXES):
            raise ValueError(f"an order of {self.order}: name each of {AXES} once")
        if min(self.tensor, self.context, self.pipeline, self.data) < 1:
            raise ValueError(f"{self}: each axis has at least one rank")
        if self.experts < 1 or self.replicas % self.experts:
            raise ValueError(f"experts on {self.experts} of {self.replicas} replicas: not in whole groups")

    @property
    def size(self) -> int:
        """The number of ranks."""
        return self.tensor * self.context * self.pipeline * self.data

    @property
    def replicas(self) -> int:
        """The number of ranks that hold the same parameters: those that differ in `data` and `context` alone."""
        return self.data * self.context

    @property
    def copies(self) -> int:
        """The number of ranks that hold the same experts of a mixture."""
        return self.replicas // self.experts

    def with_experts(self, rank: int) -> tuple[list[int], list[int]]:
        """The ranks that a layer's experts are dealt out to, this one among them, and those that hold the same experts
        as this one. Raises ValueError where there is no such rank."""
        at = self.coordinates(rank)
        replicas = self.ranks[at["pipeline"], :, :, at["tensor"]].ravel().tolist()
        group, place = divmod(at["data"] * self.context + at["context"], self.experts)
        return replicas[group * self.experts : (group + 1) * self.experts], replicas[place :: self.experts]

    def coordinates(self, rank: int) -> dict[str, int]:
        """The coordinates of a rank, one for each axis. Raises ValueError where there is no such rank."""
        if not 0 <= rank < self.size:
            raise ValueError(f"rank {rank} of {self.size}")
        found = {}
        for axis in self.order:
            rank, found[axis] = divmod(rank, getattr(self, axis))
        return found

    def rank(self, **coordinates: int) -> int:
        """The rank at these coordinates; 0 on the axes that are not named. Raises ValueError outside the mesh."""
        rank, stride = 0, 1
        for axis in self.order:
            at, length = coordinates.pop(axis, 0), getattr(self, axis)
            if not 0 <= at < length:
                raise ValueError(f"{axis} {at} of {length}")
            rank, stride = rank + at * stride, stride * length
        if coordinates:
            raise ValueError(f"{sorted(coordinates)} is no axis of {AXES}")
        return rank

    @cached_property
    def ranks(self) -> np.ndarray:
        """All ranks as an array of (pipeline, data, context, tensor)."""
        lengths = [getattr(self, axis) for axis in reversed(self.order)]
        numbers = np.arange(self.size).reshape(lengths)
        places = list(reversed(self.order))
        return numbers.transpose([places.index(axis) for axis in ("pipeline", "data", "context", "tensor")])

    def groups(self, *axes: str) -> list[list[int]]:
        """The groups of ranks that differ in these axes alone: each in rising order, the groups by their first rank.
        `groups("data", "context")`: the ranks that hold the same parameters."""
        if not axes or set(axes) - set(AXES):
            raise ValueError(f"{axes}: name some of {AXES}")
        kept = [place for place, axis in enumerate(("pipeline", "data", "context", "tensor")) if axis not in axes]
        gone = [place for place in range(4) if place not in kept]
        rows = self.ranks.transpose([*kept, *gone]).reshape(-1, int(np.prod([self.ranks.shape[p] for p in gone])))
        return sorted(sorted(row) for row in rows.tolist())


def every_mesh(ranks: int, tensor_at_most: int = 8, context_at_most: int = 1) -> Iterator[Mesh]:
    """All meshes of so many ranks, tensor groups first: for a search by trying each."""
    divisors = [n for n in range(1, ranks + 1) if ranks % n == 0]
    for tensor in (n for n in divisors if n <= tensor_at_most):
        for context in (n for n in divisors if n <= context_at_most and ranks // tensor % n == 0):
            rest = ranks // tensor // context
            for pipeline in (n for n in divisors if rest % n == 0):
                yield Mesh(tensor, context, pipeline, rest // pipeline)
