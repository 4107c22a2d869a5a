"""What a layer gives when it is divided over ranks: the layers of unit 16 by plain formulas, whole and by shares."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np

from autograder.exercise import Case, Exercise, Finding, Run, Tensor
from autograder.exercises.kinds import fits
from autograder.values import full_precision

_erf = np.vectorize(math.erf, otypes=[float])


def gelu(x):
    return x * 0.5 * (1 + _erf(x / math.sqrt(2)))


def gelu_slope(x):
    return 0.5 * (1 + _erf(x / math.sqrt(2))) + x * np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)


def softmax(scores):
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attention(q, k, v, *, causal: bool = True, scale: float | None = None):
    """(..., s, d) each: what every query takes from the values."""
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(scale or q.shape[-1])
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    return softmax(scores) @ v


def convolved(x, weight, above: int | None = None, below: int | None = None):
    """(n, c, h, w) with (o, c, k, k): stride 1, zeros around; above, below: rows of zeros there, k // 2 unless said."""
    k = weight.shape[-1]
    rows = (k // 2 if above is None else above, k // 2 if below is None else below)
    padded = np.pad(x, ((0, 0), (0, 0), rows, (k // 2, k // 2)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (k, k), axis=(2, 3))
    return np.einsum("nchwij,ocij->nohw", windows, weight)


def as_tensors(value):
    """Arrays, also in dicts, as float64 tensors; the rest as it is."""
    if isinstance(value, dict):
        return {name: as_tensors(one) for name, one in value.items()}
    return Tensor(np.array(value, dtype=np.float64), "float64") if isinstance(value, (np.ndarray, float)) else value


class DividedLayer(Exercise):
    """A layer divided over the ranks.

    known: what the layer is made of, whole. `right` computes from it what `worked` returns: the right value, one for
    all ranks or a list with one for each. `most` is how many bytes may go over all links together.
    """

    all_hear = True

    def right(self, c: SimpleNamespace):
        raise NotImplementedError

    def most(self, c: SimpleNamespace) -> float:
        raise NotImplementedError

    def worked(self, case):
        c = super().worked(case)
        c.right = self.right(c)
        return c

    def per_rank(self, case, value):
        values = value if isinstance(value, list) else [value] * case.world_size
        return [as_tensors(one) for one in values]

    def expected(self, case):
        return self.per_rank(case, self.worked(case).right)

    def facts(self, case: Case, run: Run):
        right = fits(case, self.expected(case), [rank.value for rank in run.ranks])
        return self.rules(case, run) if right else self.wrong(case, run)

    def rules(self, case: Case, run: Run) -> Finding | str | None:
        """The first rule that an answer with the right values breaks."""
        found = sum(run.link_bytes.values())
        limit = self.most(self.worked(case))
        if found > limit * (1 + 1e-9):
            return Finding("too_many_bytes", f"{found:,.0f} B went over the links; {limit:,.0f} B are enough.")
        return None

    def wrong(self, case: Case, run: Run) -> Finding | str | None:
        """What no mistake's value shows of an answer with wrong ones."""
        return None


def drawn(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return full_precision(rng, -1.0, 1.0, shape)


def divided_case(level: str, p: int, known: dict, arguments, says: str, **options) -> Case:
    """A case in which rank r gets what `arguments(r)` says: arrays become tensors."""
    per_rank = [tuple(as_tensors(one) for one in arguments(r)) for r in range(p)]
    return Case(level, p, per_rank, says, known, **options)


def part(a: np.ndarray, p: int, r: int, axis: int = 0) -> np.ndarray:
    return np.array_split(a, p, axis)[r]


def mlp_case(rng, level: str, p: int, n: int, d: int, h: int, rows: bool = False, **options) -> Case:
    """An MLP of d, h and d numbers over n tokens. rows: each rank has n / p of the tokens, not all."""
    known = {"x": drawn(rng, n, d), "up": drawn(rng, h, d), "a": drawn(rng, h), "down": drawn(rng, d, h),
             "d": drawn(rng, d), "g": drawn(rng, n, d) if level != "the output" else None}  # fmt: skip

    def arguments(r):
        mine = [part(known["up"], p, r), part(known["a"], p, r), part(known["down"], p, r, 1), known["d"]]
        x, g = (part(t, p, r) if rows and t is not None else t for t in (known["x"], known["g"]))
        return x, *mine, g

    return divided_case(level, p, known, arguments, f"n = {n}, d = {d}, {h} inside", **options)


def solve_mlp(c: SimpleNamespace) -> None:
    """The sequential MLP, its gradients, and what each rank's part of the inner numbers gives alone."""
    inner = c.x @ c.up.T + c.a
    cut = [part(np.arange(len(c.a)), c.p, r) for r in range(c.p)]
    c.outputs = [gelu(inner[:, i]) @ c.down[:, i].T for i in cut]
    c.out = sum(c.outputs) + c.d
    c.given = np.zeros_like(c.out) if c.g is None else c.g
    slope = (c.given @ c.down) * gelu_slope(inner)
    whole = {"up": slope.T @ c.x, "up_bias": slope.sum(0), "down": c.given.T @ gelu(inner)}
    c.shares = [slope[:, i] @ c.up[i] for i in cut]
    c.gx = sum(c.shares)
    c.scaled = lambda name, factor: [factor * (whole[name][:, i] if name == "down" else whole[name][i]) for i in cut]
    c.weights = lambda r: {f"gradient of {name}": c.scaled(name, 1)[r] for name in whole}


def exchanged(c: SimpleNamespace) -> dict[str, list]:
    """What comes of the MLP with g where f belongs and f where g does: p times x goes in, p times the gradient back."""
    other = SimpleNamespace(**{**vars(c), "x": c.p * c.x, "g": c.p * c.given})
    solve_mlp(other)
    parts = {"output": [output + c.d for output in other.outputs]}
    if c.g is not None:
        parts["gradient of x"] = other.shares
        parts |= {name: [other.weights(r)[name] for r in range(c.p)] for name in other.weights(0)}
    return parts


def changed(c: SimpleNamespace, parts: dict) -> list[dict] | None:
    """What is right, some parts changed: an array on every rank, a list by rank. None where a part is not there."""
    rights = c.right if isinstance(c.right, list) else [c.right] * c.p
    if not set(parts) <= set(rights[0]):
        return None
    return [
        {**right, **{name: v[r] if isinstance(v, list) else v for name, v in parts.items()}}
        for r, right in enumerate(rights)
    ]


MLP_HARNESS = """
def harness(f, x, up, up_bias, down, down_bias, upstream):
    names = ("x", "up", "up_bias", "down", "down_bias")
    leaves = [t.clone().requires_grad_() for t in (x, up, up_bias, down, down_bias)]
    out = f(*leaves)
    if upstream is None:
        return {"output": out.detach()}
    out.backward(upstream)
    given = {f"gradient of {n}": t.grad for n, t in zip(names, leaves, strict=True)}
    return {"output": out.detach(), **given}
"""
