"""Gradients on a mesh, (data, pipeline, tensor): real tensors on its ranks, what they should be after a step, and their
norm, each also with one thing done otherwise.
"""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np

from autograder.exercise import Case, Finding, Run, Tensor
from autograder.exercises.kinds import ReportExercise
from autograder.exercises.source import harness_of
from autograder.values import full_precision

REPLICATED = ("norm.weight", "attention.bias")
DRAWN = {  # between which numbers, and its shape
    "attention.weight": (-2.0, 2.0, (2, 5)),
    "mlp.norm": (-2.0, 2.0, (13,)),
    "embedding": (0.5, 3.0, (8, 9)),
    "norm.weight": (0.5, 2.0, (3,)),
    "attention.bias": (0.5, 2.0, (3,)),
}
# So many names that a number sent for each is more than a rank may send for the norm
MANY = DRAWN | {f"layers.{k}.bias": (-2.0, 2.0, (1 + k % 2,)) for k in range(20)}


def drawn_gradients(rng: np.random.Generator, shape, replicated, drawn=DRAWN) -> list[dict[str, np.ndarray]]:
    """For each rank its shards, the parameters that all tensor ranks hold alike, and on the first and last stage the
    embedding. Replicas hold the same parameters, and other gradients."""
    data, pipeline, tensor = shape
    found: list[dict[str, np.ndarray]] = []
    for _ in range(data):
        for stage in range(pipeline):
            names = [name for name in drawn if name != "embedding" or stage in (0, pipeline - 1)]
            alike = {name: full_precision(rng, *drawn[name]) for name in names if name in replicated}
            for _ in range(tensor):
                found.append({name: alike[name] if name in alike else full_precision(rng, *drawn[name])
                              for name in names})  # fmt: skip
    return found


def averaged(c, *, mean=True, tied="sum", times_tensor=False, everybody=False) -> list[dict[str, np.ndarray]]:
    """The gradients on every rank afterwards, or with one thing done otherwise. tied: "sum", "mean", "apart",
    or "first": the sum on the first stage alone. everybody: means over all ranks, not over replicas."""
    data, pipeline, tensor = c.shape
    found = []
    for rank, own in enumerate(c.gradients):
        _, stage, column = np.unravel_index(rank, c.shape)

        def over_data(name, stage=stage, column=column):
            if everybody:
                return sum(one[name] for one in c.gradients) / len(c.gradients)
            places = (np.ravel_multi_index((d, stage, column), c.shape) for d in range(data))
            return sum(c.gradients[r][name] for r in places) / (data if mean else 1)

        new = {name: over_data(name) for name in own}
        if "embedding" in own and pipeline > 1 and tied != "apart" and not (tied == "first" and stage):
            new["embedding"] = over_data("embedding", 0) + over_data("embedding", pipeline - 1)
            new["embedding"] = new["embedding"] / (2 if tied == "mean" else 1)
        if times_tensor:
            new |= {name: new[name] * tensor for name in c.replicated if name in new}
        found.append(new)
    return found


def norms(
    c, *, axes=(1, 2), each=False, twice=False, never=False, alike=False, root=True, of_norms=False, gradients=None
) -> list[float]:
    """The norm as each rank has it. axes: over which ranks' squares are added up. each: what is replicated counts on
    every rank that holds it. twice: the tied embedding on both stages. never: the embedding of a single stage on none.
    alike: the embedding on one tensor rank, as if it were replicated. of_norms: norms are added, not their squares."""
    _, pipeline, _ = c.shape
    squares = np.zeros(c.shape)
    for rank, own in enumerate(averaged(c) if gradients is None else gradients):
        place = np.unravel_index(rank, c.shape)
        for name, values in own.items():
            whole = name in c.replicated or (alike and name == "embedding")
            again = whole and place[2] > 0 and not each
            tied = name == "embedding" and place[1] > 0 and pipeline > 1 and not twice
            lone = name == "embedding" and pipeline == 1 and never
            squares[place] += 0.0 if again or tied or lone else float((values**2).sum())
    if of_norms:
        return np.broadcast_to(np.sqrt(squares).sum(axes, keepdims=True), c.shape).ravel().tolist()
    found = np.broadcast_to(squares.sum(axes, keepdims=True), c.shape)
    return (np.sqrt(found) if root else found).ravel().tolist()


def lost_in_float32(c) -> float:
    """The relative error of the norm if its squares are added up in float32, in the order of names and ranks."""
    total = np.float32(0)
    for place, own in zip(np.ndindex(*c.shape), averaged(c), strict=True):
        part = np.float32(0)
        for name, values in own.items() if place[0] == 0 else ():
            if not (name in c.replicated and place[2]) and not (name == "embedding" and place[1]):
                part = np.float32(part + np.float32((values**2).sum()))
        total = np.float32(total + part)
    norm = norms(c)[0]
    return abs(float(total) ** 0.5 / norm - 1) if norm else 0.0


def as_tensors(gradients: list[dict]) -> list[dict]:
    return [{"gradients": {name: Tensor(values, "float64") for name, values in own.items()}} for own in gradients]


def as_norms(values: list[float]) -> list[dict]:
    return [{"norm": Tensor(np.array(value), "float64")} for value in values]


class MeshGradientsExercise(ReportExercise):
    """Ranks are given their gradients, change them in place, and return the norm."""

    inputs, parts = "free", ("gradients", "norm")
    harness = harness_of(__file__, "mesh_gradients")

    def cases(self, rng):
        one, stages, three = self.levels
        return [
            self._case(rng, one, (3, 1, 2)),
            self._case(rng, stages, (1, 3, 1), []),
            self._case(rng, three, (2, 2, 2)),
            self._case(rng, three, (1, 2, 2), ["embedding"], MANY),
        ]

    @staticmethod
    def _case(rng, level, shape, replicated=REPLICATED, drawn=DRAWN):
        for _ in range(50):  # until float32 loses digits of the norm, which rounding to the right side may hide
            found = drawn_gradients(rng, shape, replicated, drawn)
            known = {"shape": shape, "gradients": found, "replicated": replicated}
            if lost_in_float32(SimpleNamespace(**known)) > 5e-9:
                break
        arguments = [
            ({name: Tensor(values, "float64") for name, values in own.items()}, list(replicated), shape)
            for own in found
        ]
        says = f"data, pipeline, tensor = {shape}"
        if replicated != REPLICATED:
            says += f", replicated = {replicated}"
        if drawn is MANY:
            says += f", {len(MANY)} names"
        return Case(level, math.prod(shape), arguments, says, known)

    def expected(self, case: Case) -> list:
        c = self.worked(case)
        pairs = zip(as_tensors(averaged(c)), as_norms(norms(c)), strict=True)
        return [gradients | norm for gradients, norm in pairs]

    def facts(self, case: Case, run: Run):
        values = [one.value.get("gradients") for one in run.ranks if isinstance(one.value, dict)]
        if any(isinstance(held, dict) and "replaced" in held for held in values):
            return "not_in_place"
        data, pipeline, tensor = case.known["shape"]
        own = sum(values.nbytes for one in case.known["gradients"] for values in one.values())
        tied = 2 * case.known["gradients"][0]["embedding"].nbytes * data * tensor * (pipeline > 1)
        needed, sent = 2 * (data - 1) / data * own + tied, sum(run.link_bytes.values())
        if sent <= needed + 128 * case.world_size:
            return None
        return Finding("too_many_bytes", f"{sent:.0f} B on all links; {needed:.0f} and a few for each rank do.")
