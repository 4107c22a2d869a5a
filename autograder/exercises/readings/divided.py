"""The layers of unit 16 by plain formulas, whole and divided over ranks."""

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


def tanh_gelu(x):
    return 0.5 * x * (1 + np.tanh(_inner(x)))


def tanh_gelu_slope(x):
    t = np.tanh(_inner(x))
    return 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x**2)


def _inner(x):
    return math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)


def softmax(scores, axis: int = -1):
    with np.errstate(invalid="ignore"):  # of a query that sees nothing
        e = np.exp(scores - scores.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def attention(q, k, v, *, causal: bool = True, scale: float | None = None, axis: int = -1, ahead=0,
              zeroed=False, hidden=-np.inf):  # fmt: skip
    """(..., s, d) each: what every query takes from the values. axis: of the softmax. ahead: of how many tokens ahead
    of it a query knows. zeroed: it is masked behind the softmax. hidden: the score of what it does not see."""
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(scale or q.shape[-1])
    seen = np.tri(*scores.shape[-2:], ahead, dtype=bool) if causal else True
    if zeroed:
        return seen * softmax(scores, axis) @ v
    return softmax(np.where(seen, scores, hidden), axis) @ v


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
        """The mistake of an answer with wrong values that no mistake's value shows."""
        return None


def talked(run: Run) -> Finding | None:
    """Find a call of another rank by a function that raised as it must, but too late: a barrier carries no byte."""
    for rank, rank_run in enumerate(run.ranks):
        called = [*rank_run.collectives, *["send"] * rank_run.sends]
        if called:
            return Finding("accepts_any_size", f"Rank {rank} called {', '.join(called)} before it raised ValueError.")
    return None


def not_finite(value) -> bool:
    """True if there is an inf or a nan in a tensor or a number, or in a pair of such."""
    if isinstance(value, (tuple, list)):
        return any(map(not_finite, value))
    return not np.isfinite(np.asarray(getattr(value, "values", value), dtype=complex)).all()


def drawn(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return full_precision(rng, -1.0, 1.0, shape)


def divided_case(level: str, p: int, known: dict, arguments, says: str, **options) -> Case:
    """A case in which rank r gets what `arguments(r)` says: arrays become tensors."""
    per_rank = [tuple(as_tensors(one) for one in arguments(r)) for r in range(p)]
    return Case(level, p, per_rank, says, known, **options)


def part(a: np.ndarray, p: int, r: int, axis: int = 0) -> np.ndarray:
    return np.array_split(a, p, axis)[r]


def mlp_case(
    rng, level: str, p: int, n: int, d: int, h: int, rows: bool = False, again: bool = False, **options
) -> Case:
    """An MLP of d, h and d numbers over n tokens. rows: each rank has n / p of the tokens, not all. again: the second
    step with the same weights is the one that counts."""
    known = {"x": drawn(rng, n, d), "up": drawn(rng, h, d), "a": drawn(rng, h), "down": drawn(rng, d, h),
             "d": drawn(rng, d), "g": drawn(rng, n, d) if level != "the output" else None, "again": again}  # fmt: skip

    def arguments(r):
        mine = [part(known["up"], p, r), part(known["a"], p, r), part(known["down"], p, r, 1), known["d"]]
        x, g = (part(t, p, r) if rows and t is not None else t for t in (known["x"], known["g"]))
        return x, *mine, g, again

    says = f"n = {n}, d = {d}, h = {h}{', the second step' * again}"
    return divided_case(level, p, known, arguments, says, **options)


def solve_mlp(c: SimpleNamespace, gelu=gelu, gelu_slope=gelu_slope) -> None:
    """The sequential MLP, its gradients, and what each rank's part of the hidden activations gives alone."""
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
    """The MLP's results with g where f belongs and f where g does: p times x goes in, p times the gradient back."""
    other = SimpleNamespace(**{**vars(c), "x": c.p * c.x, "g": c.p * c.given})
    solve_mlp(other)
    parts = {"output": [output + c.d for output in other.outputs]}
    if c.g is not None:
        parts["gradient of x"] = other.shares
        parts |= _weights(other)
    return parts


def with_tanh(c: SimpleNamespace, cut=lambda whole: whole) -> list[dict] | None:
    """The MLP's results with GELU's approximation by tanh. cut: the tokens' rows as the ranks have them."""
    return _otherwise(c, cut, tanh_gelu, tanh_gelu_slope)


def without_gelu(c: SimpleNamespace, cut=lambda whole: whole) -> list[dict] | None:
    """The MLP's results with its hidden activations as they are. cut: the tokens' rows as the ranks have them."""
    return _otherwise(c, cut, lambda x: x, np.ones_like)


def without_first_bias(c: SimpleNamespace) -> list[dict] | None:
    """The MLP's results without its first bias, which then has no gradient."""
    return _otherwise(c, lambda whole: whole, a=0 * c.a)


def bias_on_one(c: SimpleNamespace) -> list[dict] | None:
    """The MLP's results where the last bias is used on rank 0 only."""
    return changed(c, {"gradient of down_bias": [c.given.sum(0) * (r == 0) for r in range(c.p)]})


def cut_off(c: SimpleNamespace) -> list[dict] | None:
    """The MLP's results where nothing before the sum has a gradient."""
    names = ("x", "up", "up_bias", "down")
    if c.g is None:
        return None
    rights = c.right if isinstance(c.right, list) else [c.right] * c.p
    return changed(c, {f"gradient of {name}": [0 * right[f"gradient of {name}"] for right in rights] for name in names})


def _otherwise(c: SimpleNamespace, cut, *activation, **known) -> list[dict] | None:
    """The MLP's results with another activation, a function and its slope, or with something else of `known`."""
    other = SimpleNamespace(**vars(c) | known)
    solve_mlp(other, *activation)
    if c.g is None:
        return changed(c, {"output": cut(other.out)})
    parts = {"output": cut(other.out), "gradient of x": cut(other.gx), **_weights(other)}
    if "a" in known:
        parts["gradient of up_bias"] = [0 * one for one in parts["gradient of up_bias"]]
    return changed(c, parts)


def _weights(c: SimpleNamespace) -> dict[str, list]:
    return {name: [c.weights(r)[name] for r in range(c.p)] for name in c.weights(0)}


def of_own_rows(c: SimpleNamespace) -> list[dict] | None:
    """Gradients where each rank takes those of the others' tokens for zeros."""
    if c.g is None:
        return None
    found: list[dict] = []
    for r in range(c.p):
        own = np.zeros_like(c.g)
        own[part(np.arange(len(own)), c.p, r)] = part(c.g, c.p, r)
        other = SimpleNamespace(**vars(c) | {"g": own})
        solve_mlp(other)
        found.append({"gradient of x": part(other.shares[r], c.p, r), **other.weights(r)})
    return changed(c, {name: [one[name] for one in found] for name in found[0]})


def changed(c: SimpleNamespace, parts: dict) -> list[dict] | None:
    """The right results with some parts changed: an array on every rank, a list by rank. None where a part is not
    there.
    """
    rights = c.right if isinstance(c.right, list) else [c.right] * c.p
    if not set(parts) <= set(rights[0]):
        return None
    return [
        {**right, **{name: v[r] if isinstance(v, list) else v for name, v in parts.items()}}
        for r, right in enumerate(rights)
    ]


def heads_divided(c: SimpleNamespace):
    """Attention whole and, as `c.mixed`, what each rank's heads add to the output, with one thing done otherwise."""

    def mixed(size=c.size, across=False, reread="", **how):
        """The parts that each rank's heads add to the output. reread: "in", "out" or both, without a transpose."""
        outputs = []
        for r in range(c.p):
            parts = [c.x @ part(w, c.p, r).T for w in (c.q, c.k, c.v)]
            split = (size, -1) if across else (-1, size)
            q, k, v = (a.reshape(len(c.x), *split).transpose((2, 0, 1) if across else (1, 0, 2)) for a in parts)
            if "in" in reread:
                q, k, v = (a.reshape(q.shape) for a in parts)
            made = attention(q, k, v, **how)
            back = made if "out" in reread else made.transpose((1, 2, 0) if across else (1, 0, 2))
            back = back.reshape(len(c.x), -1)
            outputs.append(back @ part(c.out, c.p, r, 1).T)
        return outputs

    c.mixed = mixed
    return sum(mixed()) if c.even else "ValueError"


def convolution_divided(c: SimpleNamespace):
    """The convolution, what each rank makes of its own share (`c.own`), and rows with a wrong halo (`c.with_halo`)."""
    whole, reach = convolved(c.x, c.w), c.k // 2
    if c.how == "C_out":
        c.own = np.array_split(whole, c.p, 1)
        return whole
    if c.how == "C_in":
        c.own = [convolved(part(c.x, c.p, r, 1), part(c.w, c.p, r, 1)) for r in range(c.p)]
        return whole
    pieces = np.array_split(c.x, c.p, 2)
    c.own = [convolved(piece, c.w) for piece in pieces]

    def beyond(piece, edge, repeat):
        return np.repeat(edge, piece.shape[2], 2) if repeat else np.zeros_like(piece)

    def with_halo(above, below, rows=reach, far=False, repeat=False):
        results = []
        for r, piece in enumerate(pieces):
            a, b = above(r), below(r)
            top = pieces[a] if 0 <= a < c.p else beyond(piece, piece[:, :, :1], repeat)
            bottom = pieces[b] if 0 <= b < c.p else beyond(piece, piece[:, :, -1:], repeat)
            top = top[:, :, :rows] if far else top[:, :, -rows:]
            bottom = bottom[:, :, -rows:] if far else bottom[:, :, :rows]
            around = np.concatenate([top, piece, bottom], 2)
            results.append(convolved(around, c.w, reach - top.shape[2], reach - bottom.shape[2]))
        return results

    c.with_halo = with_halo
    return np.array_split(whole, c.p, 2)


def loss_divided(c: SimpleNamespace):
    """(loss, gradient) by rank, and as `c.answer` with one thing done otherwise."""
    c.n = len(c.y)
    rows, starts = np.arange(c.n), np.cumsum([0, *c.widths[:-1]])
    cut = np.split(c.logits, starts[1:], axis=1)
    whole_max = c.logits.max(1)

    def answer(target=None, own_max=False, own_sum=False, hit=1.0, every_row=False, skipped=0, starts=starts):
        """(loss, gradient) of each rank, with one thing done otherwise."""
        tops = [piece.max(1, initial=-1e300) if own_max else whole_max for piece in cut]
        with np.errstate(all="ignore"):
            parts = [np.exp(piece - top[:, None]) for piece, top in zip(cut, tops, strict=True)]
            total = sum(one.sum(1) for one in parts)
            here = [(c.y >= lo + skipped) & (c.y < lo + w) for lo, w in zip(starts, c.widths, strict=True)]
            found = sum(
                np.where(h, piece[rows, np.where(h, c.y - lo, 0)], 0)
                for h, piece, lo in zip(here, cut, starts, strict=True)
                if piece.size
            )
            found, results = found if target is None else target(cut, starts), []
            for one, top, h, lo in zip(parts, tops, here, starts, strict=True):
                gradient = one / (one.sum(1) if own_sum else total)[:, None]
                at = (c.y - lo)[h]
                gradient[slice(None) if every_row else rows[h], at] -= hit
                results.append((float((np.log(total) + top - found).mean()), gradient / c.n))
        return results

    def clamped(cut, starts):
        return sum(
            piece[rows, np.clip(c.y - lo, 0, piece.shape[1] - 1)]
            for piece, lo in zip(cut, starts, strict=True)
            if piece.size
        )

    def not_below_zero(cut, starts):
        found = c.logits[rows, c.y]
        return np.maximum(found, 0) if len(c.widths) > 1 else found

    c.answer, c.clamped, c.not_below_zero = answer, clamped, not_below_zero
    return answer()


def blocks_divided(c: SimpleNamespace):
    """Attention of each rank's tokens, and as `c.by_blocks` to some blocks only, or masked otherwise: rank r
    takes block b for block taken_for(r, b)."""
    c.qs, c.ks, c.vs = (np.array_split(whole, c.p) for whole in (c.q, c.k, c.v))

    def by_blocks(which, causal=c.causal, taken_for=lambda r, b: b):
        results, m = [], len(c.qs[0])
        for r, q in enumerate(c.qs):
            blocks = which(r) if callable(which) else which
            k, v = (np.concatenate([whole[b] for b in blocks]) for whole in (c.ks, c.vs))
            scores = q @ k.T / math.sqrt(q.shape[1])
            keys = np.concatenate([np.arange(m) + taken_for(r, b) * m for b in blocks])
            if causal:
                scores = np.where(keys <= r * m + np.arange(m)[:, None], scores, -np.inf)
            results.append(softmax(scores) @ v)
        return results

    c.by_blocks = by_blocks
    return by_blocks(range(c.p))
