"""Unit 16, tensor parallelism: layers cut by columns, rows, heads, channels, vocabulary and sequence; what each cut
costs on the wire."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from autograder.exercise import ANYTHING, Finding, Mistake, Tensor
from autograder.exercises.kinds import fits, tells_apart
from autograder.exercises.readings import divided
from autograder.exercises.readings.divided import DividedLayer, as_tensors, divided_case, drawn, part
from autograder.exercises.readings.messages import messages
from autograder.exercises.source import harness_of

OWN_ONLY = Mistake("own_only", "Each rank returned the result of its own share only.",
                   "It needs the shares of the others, too: one collective.")  # fmt: skip
TOO_MANY_BYTES = Mistake("too_many_bytes", "The numbers are right, but more bytes went over the links than this cut "
                         "of the layer costs.",
                         "Send the results of the layer only, and send them once.")  # fmt: skip
NO_COMMUNICATION = Mistake("no_communication", "The numbers are right, but nothing was sent: every rank computed the "
                           "whole layer.",
                           "Compute with your own share of the weights; the rest comes from the other ranks."
                           )  # fmt: skip
ACCEPTS = Mistake("accepts_any_size", "The ranks cannot share this evenly, but the function went on.",
                  "Check first, before any communication: `if size % p: raise ValueError(...)`.")  # fmt: skip
BIAS_TOO_OFTEN = Mistake("bias_on_every_rank", "The bias was added on every rank before the sum, which contains it p "
                         "times.",
                         "Add it once, behind the all_reduce.")  # fmt: skip
BIAS_DIVIDED = Mistake("bias_divided", "The output is right, but each rank added a p-th of the last bias before the "
                       "sum, so that its gradient is a p-th, too.",
                       "Add the whole bias behind the sum: then its gradient is whole.")  # fmt: skip
NO_BIAS = Mistake("no_bias", "The bias is missing.", "Add it once, behind the all_reduce.")  # fmt: skip
TANH = Mistake("gelu_by_tanh", "This is GELU's approximation by tanh: it differs from GELU by up to 5e-4.",
               "Call `F.gelu(...)` without approximate=\"tanh\".")  # fmt: skip
NO_GELU = Mistake("no_gelu", "GELU is missing: without it the two layers are together one linear layer.",
                  "Apply `F.gelu(...)` to the hidden activations, between columns and rows.")  # fmt: skip
BIAS_ON_ONE = Mistake("bias_on_one_rank", "The output is right, but the last bias was added on one rank only, and the "
                      "others' copies of it get no gradient: after the first step the copies differ.",
                      "Add it on every rank, behind the sum.")  # fmt: skip
CUT_OFF = Mistake("gradients_cut_off", "The output is right, but nothing before the sum has a gradient: the backward "
                  "pass ends at the sum.",
                  "Its `backward` has to return the gradient; `.detach()`, `torch.no_grad()` or None end the pass."
                  )  # fmt: skip
USES_COLLECTIVE = Mistake("uses_collective", "The values are right, but a collective was called.",
                          "Here only neighbours exchange messages: isend, irecv, send and recv.")  # fmt: skip

HOOK_STAYS = Mistake("hook_stays", "The first pass was right. From the second one on the gradient of x is summed once "
                     "more: each call adds a hook to the same tensor, and those of earlier calls still work.",
                     "Sum in the backward pass of a function of your own, or hook a copy (`x.view_as(x)`): its hook "
                     "ends with the step.")  # fmt: skip
ONE_RANK = Mistake("only_one_rank", "Only rank 0 holds the sum.",
                   "After a reduce one rank has it, after all_reduce all.")  # fmt: skip


def after_evaluation(case):
    """The same MLP; a forward pass without a backward pass goes before, and `.grad` holds an earlier step's ones."""
    arguments = [(*one[:-1], "evaluation") for one in case.arguments]
    says = f"{case.says}, after an evaluation; the gradients are added to ones"
    return replace(case, arguments=arguments, says=says, known=case.known | {"evaluated": True})


def evaluated(case) -> bool:
    return case.known.get("evaluated", False)


class ColumnLinear(DividedLayer):
    """A linear layer by columns"""

    signature = "column_linear(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor"
    levels = {"all columns on every rank": 2, "illegal numbers of columns": 1}
    all_hear, talks = False, False  # where the columns do not divide nobody says anything; `facts` asks in the others
    harness = harness_of(__file__, "column_linear")
    mistakes = [
        OWN_ONLY.giving(lambda c: np.array_split(c.right, c.p, 1) if c.even else None),
        Mistake("wrong_order", "The blocks of the ranks were joined below each other and then reshaped.",
                "all_gather joins along dimension 0. Join along dimension 1: `torch.cat(parts, dim=1)`.",
                lambda c: np.concatenate(np.array_split(c.right, c.p, 1)).reshape(c.right.shape) if c.even else None),
        NO_BIAS.but(how="Each rank adds its own piece of the bias.").giving(
            lambda c: c.x @ c.w.T if c.even else None),
        Mistake("first_bias", "Every rank added the first piece of the bias.",
                "The bias is cut like the columns: rank r adds piece r.",
                lambda c: c.x @ c.w.T + np.tile(c.b[: len(c.b) // c.p], c.p) if c.even else None),
        Mistake("summed", "The pieces of the ranks were added up.",
                "Different columns are different outputs: put them side by side.",
                lambda c: sum(np.array_split(c.right, c.p, 1)) if c.even else None),
        Mistake("rows_in_turn", "Every p-th row of `weight` was taken, from row r on. Rank r's own rows are the r-th "
                "of p equal pieces; the others' are wrong on this rank.",
                "`weight.chunk(p)[rank]`, and the same piece of the bias.",
                lambda c: np.stack([(c.x @ c.copies[j % c.p].T + c.b)[:, j] for j in range(len(c.b))], 1)
                if c.even and c.p > 1 else None),
        TOO_MANY_BYTES.but(how="Each rank sends its own columns of the output, n h / p numbers, and nothing "
                           "else."),
        NO_COMMUNICATION.but(why="Every rank computed the whole layer, with the others' rows of `weight`, too, which "
                             "are wrong on this rank.").giving(
            lambda c: [c.x @ own.T + c.b for own in c.copies] if c.even and c.p > 1 else None),
        ACCEPTS.but(why="The ranks cannot share the columns evenly, but the function went on or communicated."),
        Mistake("computes_the_whole", "The numbers are right, but each rank multiplied with more than its own rows of "
                "`weight`: nothing is saved by dividing the layer.",
                "Cut `weight` first, then multiply: `x @ weight.chunk(p)[rank].T`."),
    ]  # fmt: skip

    def cases(self, rng):
        first, second = self.levels
        return [
            self._case(rng, first, 2, 3, 4, 6),
            self._case(rng, first, 4, 3, 5, 8, late=(1,)),
            self._case(rng, first, 3, 1, 4, 9),  # an output as large as the bias
            self._case(rng, first, 1, 3, 2, 4),
            self._case(rng, second, 4, 2, 3, 6),
            self._case(rng, second, 3, 2, 3, 7),
        ]

    @staticmethod
    def _case(rng, level, p, n, d, h, **options):
        known = {"x": drawn(rng, n, d), "w": drawn(rng, h, d), "b": drawn(rng, h), "even": h % p == 0}
        copies = []
        for r in range(p):  # where it holds other numbers in place of the others' rows
            own = drawn(rng, h, d)
            part(own, p, r)[:] = part(known["w"], p, r)
            copies.append(own)
        known["copies"] = copies
        return divided_case(level, p, known, lambda r: (known["x"], copies[r], known["b"]),
                            f"n = {n}, d = {d}, h = {h}", **options)  # fmt: skip

    def right(self, c):
        return c.x @ c.w.T + c.b if c.even else "ValueError"

    def most(self, c):
        return 8 * (c.p - 1) * c.x.shape[0] * len(c.b)

    def rules(self, case, run):
        sent = sum(run.link_bytes.values())
        if not case.known["even"]:
            return divided.talked(run)
        if not sent and case.world_size > 1:
            return "no_communication"
        if found := super().rules(case, run):
            return found
        own = case.known["x"].size * len(case.known["b"]) / case.world_size
        most = max(rank.busy for rank in run.ranks)
        more = Finding("computes_the_whole", f"{most:,.0f} products on a rank; {own:,.0f} are its own.")
        return more if most > own * (1 + 1e-9) else None

    def wrong(self, case, run):
        return None if case.known["even"] else "accepts_any_size"


class RowLinear(DividedLayer):
    """A linear layer by rows"""

    signature = "row_linear(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor"
    levels = {"no bias": 1, "a bias": 1}
    mistakes = [
        OWN_ONLY.giving(lambda c: [part(c.x, c.p, r, 1) @ part(c.w, c.p, r, 1).T + c.bias for r in range(c.p)]),
        BIAS_TOO_OFTEN.giving(lambda c: c.right + (c.p - 1) * c.bias),
        NO_BIAS.giving(lambda c: c.right - c.bias),
        ONE_RANK,
        Mistake("averaged", "The partial sums were averaged, not added up.", "They are summands of one sum.",
                lambda c: (c.right - c.bias) / c.p + c.bias),
        TOO_MANY_BYTES.but(how="One all_reduce of the output is enough: x and the weights are not sent."),
    ]  # fmt: skip

    def cases(self, rng):
        first, second = self.levels
        return [
            self._case(rng, first, 2, 3, 8, 2),
            self._case(rng, first, 3, 2, 12, 3, late=(0,)),
            self._case(rng, first, 1, 3, 5, 2),
            self._case(rng, second, 4, 3, 16, 2, cancels=True),
            self._case(rng, second, 3, 2, 14, 3, cancels=True),
            self._case(rng, second, 1, 2, 5, 3),
            self._case(rng, second, 2, 1, 6, 3),  # an output as large as the bias
        ]

    @staticmethod
    def _case(rng, level, p, n, d, h, cancels=False, **options):
        """cancels: the bias adds up to zero, and its third number is zero: it is a bias all the same."""
        known = {"x": drawn(rng, n, d), "w": drawn(rng, h, d), "b": drawn(rng, h) if level == "a bias" else None}
        if cancels:
            known["b"] = np.resize([1.0, -1.0, 0.0], h) * known["b"][0]
        return divided_case(
            level, p, known, lambda r: (part(known["x"], p, r, 1), part(known["w"], p, r, 1), known["b"]),
            f"n = {n}, d = {d}, h = {h}", **options)  # fmt: skip

    def wrong(self, case, run):
        values, rights = [rank.value for rank in run.ranks], self.expected(case)
        return "only_one_rank" if fits(case, rights[:1], values[:1]) else None

    def right(self, c):
        c.bias = 0.0 if c.b is None else c.b
        return c.x @ c.w.T + c.bias

    def most(self, c):
        return 8 * 2 * (c.p - 1) * c.right.size


class TpMlp(DividedLayer):
    """An MLP by columns, then rows: f and g"""

    signature = (
        "tp_mlp(x: torch.Tensor, up: torch.Tensor, up_bias: torch.Tensor, down: torch.Tensor, "
        "down_bias: torch.Tensor) -> torch.Tensor"
    )
    levels = {"the output": 1, "all gradients": 3}
    harness = harness_of(__file__, "mlp")
    mistakes = [
        OWN_ONLY.giving(lambda c: [{"output": o + c.d} for o in c.outputs] if c.g is None else None),
        BIAS_TOO_OFTEN.giving(lambda c: c.changed(output=c.out + (c.p - 1) * c.d)),
        NO_BIAS.giving(lambda c: {"output": c.out - c.d} if c.g is None else None),
        Mistake("f_forgotten", "The output is right, and so are the gradients of the weights. The gradient of x is "
                "each rank's share only: the contributions of the other ranks' columns are missing.",
                "x goes into every rank's columns, so its gradient is the sum over the ranks: f, an all_reduce in the "
                "backward pass.",
                lambda c: c.changed(**{"gradient of x": c.shares})),
        Mistake("g_reduces_twice", "The output is right, but the gradients of everything before the sum are p times "
                "too large: g summed in the backward pass, too.",
                "Every rank already holds the whole gradient of the sum: g's backward pass returns it unchanged.",
                lambda c: c.changed(**{"gradient of x": c.p * c.gx, "gradient of up": c.scaled("up", c.p),
                                       "gradient of up_bias": c.scaled("up_bias", c.p),
                                       "gradient of down": c.scaled("down", c.p)})),
        Mistake("averaged", "The gradient of x was averaged over the ranks.", "The shares are summands: do not divide.",
                lambda c: c.changed(**{"gradient of x": c.gx / c.p})),
        BIAS_DIVIDED.giving(lambda c: c.changed(**{"gradient of down_bias": c.given.sum(0) / c.p})),
        BIAS_ON_ONE.giving(divided.bias_on_one),
        Mistake("bias_gradient_summed", "The output is right, but the gradient of the last bias is p times too large: "
                "each rank has the whole one, and they were added up over the ranks.",
                "Add the bias itself behind the sum. f belongs in front of the columns, around x.",
                lambda c: c.changed(**{"gradient of down_bias": c.p * c.given.sum(0)})),
        TANH.giving(divided.with_tanh),
        NO_GELU.giving(divided.without_gelu),
        Mistake("first_bias_missing", "The first bias is missing.",
                "Each rank adds its own piece to its hidden activations: `F.linear(..., up, up_bias)`.",
                divided.without_first_bias),
        CUT_OFF.giving(divided.cut_off),
        Mistake("x_without_gradient", "The output is right, and so are the gradients of the weights, but x has no "
                "gradient.",
                "f's `backward` has to return the sum of the gradients; `x.detach()` or None end the pass there.",
                lambda c: c.changed(**{"gradient of x": 0 * c.gx})),
        HOOK_STAYS.giving(
            lambda c: c.changed(**{"gradient of x": c.p * c.gx}) if evaluated(c.case) else None),
        Mistake("f_and_g_exchanged", "f and g are exchanged: x was summed over the ranks on the way in, and the output "
                "was not summed on the way out.",
                "In front of the columns f (forward nothing, backward a sum), behind the rows g.",
                lambda c: c.exchanged()),
        Mistake("not_two_all_reduces", "The numbers are right, but the ranks did not call exactly one all_reduce "
                "forward and one backward.",
                "f is the identity forward and an all_reduce backward; g the other way round. That is all."),
        TOO_MANY_BYTES.but(how="Each of the two all_reduces carries n d numbers: the output, and the gradient of x."),
    ]  # fmt: skip

    def cases(self, rng):
        first, second = self.levels
        return [
            divided.mlp_case(rng, first, 2, 3, 4, 6),
            divided.mlp_case(rng, first, 3, 2, 3, 9),
            divided.mlp_case(rng, second, 2, 3, 4, 6),
            divided.mlp_case(rng, second, 4, 3, 2, 12, late=(2,)),
            divided.mlp_case(rng, second, 3, 2, 5, 6),
            divided.mlp_case(rng, second, 1, 2, 3, 4),
            divided.mlp_case(rng, second, 2, 1, 3, 4),
            after_evaluation(divided.mlp_case(rng, second, 2, 2, 3, 4)),
        ]

    def right(self, c):
        divided.solve_mlp(c)
        shared = {"output": c.out}
        if c.g is None:
            return shared
        return [
            {**shared, "gradient of x": c.gx, "gradient of down_bias": c.g.sum(0), **c.weights(r)} for r in range(c.p)
        ]

    def worked(self, case):
        c = super().worked(case)
        c.changed = lambda **parts: divided.changed(c, parts)
        c.exchanged = lambda: divided.changed(c, divided.exchanged(c))
        return c

    def rules(self, case, run):
        n, d = case.known["x"].shape
        calls = 1 + (case.known["g"] is not None) + evaluated(case)
        if case.world_size == 1:  # who has nobody to talk to may say so, or not
            return None
        for rank, rank_run in enumerate(run.ranks):
            called = list(rank_run.collectives)
            if called != ["all_reduce"] * calls or rank_run.sends:
                more = f" and sent {rank_run.sends} messages" if rank_run.sends else ""
                return Finding("not_two_all_reduces", f"Rank {rank} called {', '.join(called) or 'nothing'}{more}.")
            if rank_run.collective_bytes != 8 * n * d * calls:
                return Finding("too_many_bytes", f"Rank {rank} handed {rank_run.collective_bytes} B to all_reduce; "
                               f"{8 * n * d} B each is the layer's output.")  # fmt: skip
        return None


class SequenceParallelMlp(DividedLayer):
    """The same MLP with the tokens divided outside of it"""

    signature = (
        "sequence_parallel_mlp(x: torch.Tensor, up: torch.Tensor, up_bias: torch.Tensor, down: torch.Tensor, "
        "down_bias: torch.Tensor) -> torch.Tensor"
    )
    levels = {"the output": 1, "all gradients": 2}
    harness = harness_of(__file__, "mlp")
    mistakes = [
        Mistake("own_only", "Each rank's output comes from its own hidden activations only: nothing was added up.",
                "reduce_scatter adds up over the ranks, and each keeps its rows.",
                lambda c: [{"output": part(o, c.p, r) + c.d} for r, o in enumerate(c.outputs)]
                if c.g is None else None),
        BIAS_TOO_OFTEN.but(how="Add it behind the reduce_scatter, to your own rows.").giving(
            lambda c: divided.changed(c, {"output": [o + (c.p - 1) * c.d for o in c.rows(c.out)]})),
        Mistake("bias_gradient_is_a_share", "The gradient of the last bias counts each rank's own rows only, so its "
                "copies differ after the first step.",
                "Every rank holds a copy of this bias and sees n / p rows: its gradient is summed over the ranks. f "
                "does that: all_reduce in the backward pass.",
                lambda c: divided.changed(c, {"gradient of down_bias": [g.sum(0) for g in c.rows(c.given)]})),
        BIAS_DIVIDED.giving(lambda c: divided.changed(c, {"gradient of down_bias": c.given.sum(0) / c.p})),
        BIAS_ON_ONE.but(how="Add it on every rank behind the sum, and sum its gradient over the ranks.").giving(
            divided.bias_on_one),
        Mistake("bias_gradient_on_one_rank", "Only rank 0 has the whole gradient of the last bias: the others have "
                "that of their own rows, so its copies differ after the first step.",
                "After a reduce one rank has the sum, after all_reduce all.",
                lambda c: divided.changed(c, {"gradient of down_bias": [
                    g.sum(0) if r else c.given.sum(0) for r, g in enumerate(c.rows(c.given))]})),
        HOOK_STAYS.but(why="The first pass was right. From the second one on the gradient of the last bias is summed "
                       "once more: each call adds a hook to the same parameter, and those of earlier calls still work.",
                       how="Sum in the backward pass of a function of your own, or hook a copy "
                       "(`down_bias.view_as(down_bias)`): its hook ends with the step.").giving(
            lambda c: divided.changed(c, {"gradient of down_bias": c.p * c.given.sum(0)})
            if c.again or evaluated(c.case) else None),
        Mistake("sums_earlier_gradients", "What an earlier step had left in `down_bias.grad` was summed over the ranks "
                "once more.",
                "Sum the gradient of this step, before autograd adds it to `.grad`.",
                lambda c: divided.changed(c, {"gradient of down_bias": c.given.sum(0) + c.p - 1})
                if evaluated(c.case) else None),
        Mistake("gradient_not_summed", "Each rank's gradient of x comes from its own hidden activations only.",
                "The gather's backward pass is a reduce_scatter: it adds up, and each rank keeps its rows.",
                lambda c: divided.changed(c, {"gradient of x": [part(s, c.p, r) for r, s in enumerate(c.shares)]})),
        Mistake("averaged", "The gradient of x was averaged over the ranks.", "The shares are summands: do not divide.",
                lambda c: divided.changed(c, {"gradient of x": [r / c.p for r in c.rows(c.gx)]})),
        Mistake("gradient_not_gathered", "In the backward pass each rank has the gradient of its own tokens only, and "
                "zeros for all others.",
                "The backward pass of a reduce_scatter is an all_gather: each rank's hidden activations need the "
                "gradient of all tokens.",
                divided.of_own_rows),
        TANH.giving(lambda c: divided.with_tanh(c, c.rows)),
        NO_GELU.giving(lambda c: divided.without_gelu(c, c.rows)),
        CUT_OFF.giving(divided.cut_off),
        TOO_MANY_BYTES.but(why="The numbers are right, but more bytes went over the links than an all_gather and a "
                           "reduce_scatter in each direction need.",
                           how="An all_reduce of which each rank keeps its rows sends twice the bytes of a "
                           "reduce_scatter. Send the n d numbers once in each direction."),
    ]  # fmt: skip

    def cases(self, rng):
        first, second = self.levels
        return [
            divided.mlp_case(rng, first, 2, 4, 3, 6, rows=True),
            divided.mlp_case(rng, first, 3, 6, 2, 3, rows=True, late=(0,)),
            divided.mlp_case(rng, second, 2, 6, 3, 4, rows=True),
            divided.mlp_case(rng, second, 4, 8, 2, 8, rows=True),
            divided.mlp_case(rng, second, 1, 3, 2, 4, rows=True),
            divided.mlp_case(rng, second, 2, 4, 2, 4, rows=True, again=True),
            after_evaluation(divided.mlp_case(rng, second, 2, 4, 2, 4, rows=True)),
        ]

    def right(self, c):
        divided.solve_mlp(c)
        c.rows = lambda whole: np.array_split(whole, c.p)
        out = c.rows(c.out)
        if c.g is None:
            return [{"output": one} for one in out]
        gx, bias = c.rows(c.gx), c.g.sum(0)
        return [
            {"output": out[r], "gradient of x": gx[r], "gradient of down_bias": bias, **c.weights(r)}
            for r in range(c.p)
        ]

    def most(self, c):
        backward = 0 if c.g is None else 2 * c.x.size + 2 * c.d.size
        evaluation = 2 * c.x.size * evaluated(c.case)
        return 8 * (c.p - 1) * ((2 * c.x.size + backward) * (1 + c.again) + evaluation)


class HeadAttention(DividedLayer):
    """Attention with its heads divided"""

    signature = (
        "head_attention(x: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor, "
        "head_size: int) -> torch.Tensor"
    )
    levels = {"whole heads": 2, "illegal numbers of heads": 1}
    all_hear, talks = False, False  # where heads do not divide nobody says anything
    harness = harness_of(__file__, "head_attention")
    mistakes = [
        OWN_ONLY.giving(lambda c: c.mixed() if c.even else None),
        Mistake("no_mask", "Every token sees the tokens behind it, too.",
                "The token at place i sees tokens 0 to i: mask the scores above the diagonal with -inf.",
                lambda c: sum(c.mixed(causal=False)) if c.even else None),
        Mistake("one_head", "All rows of a rank were used as one wide head.",
                "Cut q, k and v into heads of head_size rows: each has a softmax of its own.",
                lambda c: sum(c.mixed(size=c.rows)) if c.even else None),
        Mistake("one_softmax", "The scores were divided by the root of head_size, but they are sums over all rows of "
                "a rank: its heads share one softmax.",
                "Cut q, k and v into heads of head_size rows: each has scores and a softmax of its own.",
                lambda c: sum(c.mixed(size=c.rows, scale=c.size)) if c.even else None),
        Mistake("scale_of_the_width", "The scores were divided by the root of the width of a token.",
                "Divide by the root of head_size: a score is a sum of head_size products.",
                lambda c: sum(c.mixed(scale=c.x.shape[1])) if c.even else None),
        Mistake("no_scale", "The scores were not scaled.", "Divide them by the root of head_size.",
                lambda c: sum(c.mixed(scale=1)) if c.even else None),
        Mistake("scaled_twice", "The scores were divided twice by the root of head_size.",
                "Once is enough: `scaled_dot_product_attention` divides the scores itself.",
                lambda c: sum(c.mixed(scale=c.size**2)) if c.even else None),
        Mistake("softmax_over_queries", "The softmax was taken over the queries: the weights of a key add up to 1.",
                "Over the keys: scores are (queries, keys), so `softmax(-1)`.",
                lambda c: sum(c.mixed(axis=-2)) if c.even else None),
        Mistake("masked_after_the_softmax", "The weights of tokens behind a query were set to zero after the softmax, "
                "so that the remaining weights do not add up to 1.",
                "Mask the scores with -inf, then take the softmax.",
                lambda c: sum(c.mixed(zeroed=True)) if c.even else None),
        Mistake("mask_too_weak", "The scores of tokens behind a query were set to a number that is not small enough, "
                "such as 0 or -100: these tokens still count, above all where the other scores lie far below it.",
                "Set them to -inf: its exponential is 0.",
                lambda c: sum(c.mixed(hidden=0.0)) if c.even else None),
        Mistake("does_not_see_itself", "A token does not see itself: the diagonal is masked, too, and the first token "
                "sees nothing at all.",
                "Mask what is above the diagonal: `triu(1)`, or keep `tril()`."),
        Mistake("reshaped_in_and_out", "There was no transpose, neither into heads nor back: a head got all numbers of "
                "some tokens, not some numbers of every token.",
                "(tokens, rows) to (tokens, heads, head_size) by `unflatten`, then `transpose(0, 1)`; back in reverse.",
                lambda c: sum(c.mixed(reread="in out")) if c.even else None),
        Mistake("reshaped_into_heads", "The numbers were reshaped to (heads, tokens, head_size) without a transpose: a "
                "head got all numbers of some tokens, not some numbers of every token.",
                "(tokens, rows) to (tokens, heads, head_size) by `unflatten`, then `transpose(0, 1)`.",
                lambda c: sum(c.mixed(reread="in")) if c.even else None),
        Mistake("reshaped_back", "The heads are right, but they were joined without a transpose: a row holds one "
                "head's numbers of several tokens.",
                "(heads, tokens, head_size): `transpose(0, 1)` first, then `flatten(1)`.",
                lambda c: sum(c.mixed(reread="out")) if c.even else None),
        Mistake("wrong_scale", "The scores were divided by the root of all the rank's rows.",
                "Divide by the root of head_size: the other heads of the rank do not matter.",
                lambda c: sum(c.mixed(scale=c.rows)) if c.even else None),
        Mistake("wrong_order", "The heads were cut across: row 0 of every head first, then row 1.",
                "The rows of a head are neighbours: `unflatten(-1, (-1, head_size))`, heads first.",
                lambda c: sum(c.mixed(across=True)) if c.even else None),
        ONE_RANK,
        TOO_MANY_BYTES.but(how="One all_reduce of the output is enough: q, k, v and the weights are not sent."),
        ACCEPTS.but(why="The ranks' rows are no whole heads, but the function went on or communicated.",
                    how="Check first, before any communication: `if q.shape[0] % head_size: raise ValueError(...)`."),
    ]  # fmt: skip

    def needs_bytes(self, case):
        return [0] * case.world_size  # the other ranks' heads cannot be had otherwise

    def cases(self, rng):
        first, second = self.levels
        return [
            self._case(rng, first, 2, 4, 4, 2),
            self._case(rng, first, 3, 3, 6, 3, late=(1,)),
            self._case(rng, first, 2, 5, 6, 2),
            self._case(rng, first, 2, 3, 2, 3),
            self._case(rng, first, 1, 1, 2, 2),
            self._case(rng, second, 4, 3, 6, 2),
            self._case(rng, second, 2, 3, 2, 3, width=8),
            self._case(rng, first, 2, 4, 2, 2, far_below=True),
            self._case(rng, first, 1, 3, 2, 2),
        ]

    @staticmethod
    def _case(rng, level, p, s, heads, size, far_below=False, width=0, **options):
        """width: of a token, where it is more than that of the heads."""
        width = width or heads * size
        known = {"x": drawn(rng, s, width), "out": drawn(rng, width, width), "size": size, "rows": width // p,
                 "even": width % (p * size) == 0, **{name: drawn(rng, width, width) for name in "qkv"}}  # fmt: skip
        if far_below:  # every score is below -1000: exp of it is 0, and a mask of -100 hides nothing
            known |= {"x": 1 + np.abs(known["x"]), "q": 2000 + np.abs(known["q"]), "k": -1 - np.abs(known["k"])}
        return divided_case(
            level, p, known,
            lambda r: (known["x"], *(part(known[n], p, r) for n in "qkv"), part(known["out"], p, r, 1), size),
            f"{s} tokens of {width}, heads of {size}", **options)  # fmt: skip

    def right(self, c):
        return divided.heads_divided(c)

    def most(self, c):
        return 8 * 2 * (c.p - 1) * c.x.size

    def rules(self, case, run):
        if case.known["even"]:
            return super().rules(case, run)
        return divided.talked(run)

    def wrong(self, case, run):
        if not case.known["even"]:
            return "accepts_any_size"
        if fits(case, self.expected(case)[:1], [run.ranks[0].value]):
            return "only_one_rank"
        blind = sum(self.worked(case).mixed(ahead=-1))[1:]  # whatever came of the first token, which sees nothing
        rest = [Tensor(rank.value.values[1:], rank.value.dtype) for rank in run.ranks]
        return "does_not_see_itself" if len(blind) and fits(case, self.per_rank(case, blind), rest) else None


class SplitConv(DividedLayer):
    """A convolution over channels and over rows"""

    signature = "split_conv(x: torch.Tensor, weight: torch.Tensor, how: str) -> torch.Tensor"
    never_alone = "a right answer may hand its halo to `batch_isend_irecv`, which refuses an empty list"
    levels = {"C_out: output channels": 1, "C_in: input channels": 1, "H: rows": 2}
    mistakes = [
        OWN_ONLY.giving(lambda c: c.own if c.how != "H" else None),
        Mistake("wrong_order", "The channels were joined along another dimension and reshaped.",
                "all_gather joins along dimension 0, the images. Channels are dimension 1: `torch.cat(parts, dim=1)`.",
                lambda c: np.concatenate(c.own).reshape(c.right.shape) if c.how == "C_out" else None),
        Mistake("channels_in_turn", "The ranks' output channels come in turn: one of each, then the next of each.",
                "All of rank 0's, then all of rank 1's: `torch.cat(parts, dim=1)`.",
                lambda c: np.stack(c.own, 2).reshape(c.right.shape) if c.how == "C_out" else None),
        Mistake("summed", "Output channels of different ranks were added up.", "Put them side by side.",
                lambda c: sum(c.own) if c.how == "C_out" else None),
        Mistake("halo_forgotten", "At the seams each rank saw zeros where its neighbour's rows are.",
                "Fetch k // 2 rows from above and from below; zeros belong to the outer borders only.",
                lambda c: c.own if c.how == "H" else None),
        Mistake("halo_round_the_ring", "The first rank saw the last one's rows above its own, as if the image were a "
                "ring.",
                "The image ends at rank 0 and at rank p - 1: zeros there.",
                lambda c: c.with_halo(lambda r: (r - 1) % c.p, lambda r: (r + 1) % c.p) if c.how == "H" else None),
        Mistake("halo_exchanged", "The rows from above were put below, and those from below were put above.",
                "Above rank r lies rank r - 1.",
                lambda c: c.with_halo(lambda r: r + 1, lambda r: r - 1, far=True) if c.how == "H" else None),
        Mistake("wrong_edge", "The rows are those of the neighbour's far edge: rank r - 1's first, not last.",
                "Send your first rows up and your last rows down.",
                lambda c: c.with_halo(lambda r: r - 1, lambda r: r + 1, far=True) if c.how == "H" else None),
        Mistake("one_row", "One row was fetched from each side, whatever the kernel.",
                "A kernel of k rows reaches k // 2 rows beyond the seam.",
                lambda c: c.with_halo(lambda r: r - 1, lambda r: r + 1, 1) if c.how == "H" and c.k > 3 else None),
        Mistake("edge_repeated", "Beyond the image's first and last row that row was repeated.",
                "Zeros are around the image: rank 0 and rank p - 1 put them where they have no neighbour.",
                lambda c: c.with_halo(lambda r: r - 1, lambda r: r + 1, repeat=True) if c.how == "H" else None),
        TOO_MANY_BYTES.but(how="C_out: every rank's own output, once (all_gather). C_in: the output, summed once "
                           "(all_reduce). H: k // 2 rows to each neighbour."),
        USES_COLLECTIVE.but(how="A halo is k // 2 rows from each neighbour: isend and irecv."),
    ]  # fmt: skip

    def cases(self, rng):
        first, second, third = self.levels
        return [
            self._case(rng, first, 2, (2, 2, 3, 4), 4, 3),
            self._case(rng, first, 3, (2, 1, 2, 3), 6, 3, late=(1,)),
            self._case(rng, second, 2, (1, 8, 3, 3), 2, 3),
            self._case(rng, second, 3, (2, 9, 2, 3), 2, 5),
            self._case(rng, third, 2, (2, 2, 5, 3), 2, 3),
            self._case(rng, third, 4, (1, 2, 11, 3), 1, 3, late=(2,)),
            self._case(rng, third, 3, (1, 1, 8, 3), 2, 5),
            self._case(rng, first, 2, (1, 2, 3, 4), 4, 5),
        ]

    @staticmethod
    def _case(rng, level, p, shape, outputs, k, **options):
        how = level.partition(":")[0]
        known = {"x": drawn(rng, *shape), "w": drawn(rng, outputs, shape[1], k, k), "how": how, "k": k}
        cut_x, cut_w = {"C_out": (None, 0), "C_in": (1, 1), "H": (2, None)}[how]

        def arguments(r):
            x, w = (a if cut is None else part(a, p, r, cut) for a, cut in ((known["x"], cut_x), (known["w"], cut_w)))
            return x, w, how

        return divided_case(
            level, p, known, arguments, f"images {shape}, {outputs} channels out, kernel {k}", **options
        )

    def right(self, c):
        return divided.convolution_divided(c)

    def most(self, c):
        if c.how == "H":
            n, channels, _, width = c.x.shape
            return 8 * 2 * (c.p - 1) * (c.k // 2) * n * channels * width
        return 8 * (c.p - 1) * c.right.size * (2 if c.how == "C_in" else 1)

    def rules(self, case, run):
        if case.known["how"] == "H":
            called = sorted({name for rank in run.ranks for name in rank.collectives})
            if called:
                return Finding("uses_collective", f"{', '.join(called)} was called.")
        return super().rules(case, run)


class VocabCrossEntropy(DividedLayer):
    """Cross-entropy of logits divided by the vocabulary"""

    signature = "vocab_cross_entropy(logits: torch.Tensor, targets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]"
    levels = {"equal shares": 2, "large logits": 1, "any vocabulary": 1}
    harness = harness_of(__file__, "vocab_cross_entropy")
    any_type = "the loss is one number, and a float is one"
    may_lose = {"int64": "targets are small indices", "integers of both widths": "targets are int64 in torch"}
    mistakes = [
        Mistake("target_everywhere", "A target in another rank's share was looked up in the own columns all the same: "
                "its logit is in the sum more than once, or is that of another column.",
                "Take the target's logit where lo <= target < lo + width, and zero elsewhere; then sum over the ranks.",
                lambda c: c.answer(target=c.clamped)),
        Mistake("max_not_shared", "Each rank subtracted its own maximum, so the summed exponentials have different "
                "scales.",
                "all_reduce the maximum (ReduceOp.MAX) before you take exponentials.",
                lambda c: [(ANYTHING, gradient) for _, gradient in c.answer(own_max=True)]
                if np.count_nonzero(c.widths) > 1 else None),
        Mistake("target_by_maximum", "The target's logit was taken to be the largest of what the ranks hold: where it "
                "is negative, the zero of a rank that does not hold it is larger.",
                "Add up instead of ReduceOp.MAX: one rank has the logit, the others have zero.",
                lambda c: c.answer(target=c.not_below_zero)),
        Mistake("maximum_not_added", "The maximum was subtracted before `exp`, but not added to the logarithm again.",
                "The loss of a token is log sum + m - z_y; or subtract m from z_y, too.",
                lambda c: [(loss - c.logits.max(1).mean(), gradient) for loss, gradient in c.right]),
        Mistake("sum_for_mean", "The loss is the sum over the tokens, not their mean.",
                "Divide by n, as `F.cross_entropy` does.",
                lambda c: [(loss * c.n, gradient) for loss, gradient in c.right]),
        Mistake("gradient_of_the_sum", "The loss is the mean, but the gradient is that of the sum.",
                "Divide the gradient by n, too.",
                lambda c: [(loss, gradient * c.n) for loss, gradient in c.right]),
        Mistake("no_target_in_gradient", "The gradient is the softmax alone.",
                "Subtract 1 at the target, on the rank that holds it.", lambda c: c.answer(hit=0.0)),
        Mistake("target_in_every_row", "1 was subtracted in whole columns of the gradient: in the row of every token, "
                "wherever one of them has its target.",
                "Each token has one target: `gradient[rows, columns] -= 1` with an index for both.",
                lambda c: c.answer(every_row=True)),
        Mistake("own_softmax", "The gradient is the softmax over the own columns only.",
                "Divide by the sum of exponentials over all ranks.", lambda c: c.answer(own_sum=True)),
        Mistake("equal_shares_assumed", "The first column was computed as rank times the own width, but the shares "
                "have different widths here.",
                "Exchange the widths, p numbers: the first column is the sum of the widths before.",
                lambda c: [(ANYTHING, gradient) for _, gradient in
                           c.answer(starts=[r * w for r, w in enumerate(c.widths)])] if len({*c.widths}) > 1 else None),
        Mistake("not_finite", "The result is inf or nan: the exponentials of a row's logits are too large for "
                "float64, or all of them too small.",
                "Subtract the row's maximum over all ranks before `exp`."),
        Mistake("first_column_left_out", "A target that is the first column of a share was found on no rank.",
                "A share goes from lo up to, but not including, lo + width: lo <= target < lo + width.",
                lambda c: c.answer(skipped=1)),
        Mistake("losses_differ", "The gradient is right, but the ranks return different losses.",
                "What only one rank knows has to be summed over the ranks: the target's logit, zero where the target "
                "lies in another share."),
        TOO_MANY_BYTES.but(how="The maximum, the sum of exponentials and the target's logit are one number for each "
                           "token: 3 n in all, and p for the widths. The logits are not sent."),
    ]  # fmt: skip

    def cases(self, rng):
        equal, large, any_size = self.levels
        return [
            self._case(rng, equal, 8, [9, 9]),
            self._case(rng, equal, 8, [8, 8, 8, 8], late=(1,)),
            self._case(rng, equal, 4, [7]),
            self._case(rng, large, 8, [8, 8], 1e4),
            self._case(rng, large, 8, [8, 8, 8], 1e4),
            self._case(rng, any_size, 8, [12, 9, 8]),
            self._case(rng, any_size, 8, [15, 11, 10, 0], rows=1e4),
            self._case(rng, any_size, 8, [12, 0, 9]),
            self._case(rng, equal, 2, [4, 4]),  # a target in each share
        ]

    @staticmethod
    def _case(rng, level, n, widths, size=5.0, rows=0.0, **options):
        """rows: some rows lie so far above zero, others so far below."""
        p, ends = len(widths), np.cumsum(widths)
        logits = drawn(rng, n, ends[-1]) * size
        logits += rows * np.where(np.arange(n) % 2, 1, -1)[:, None]
        if size > 1e3:  # the largest of a row lie far apart on the ranks, and exp of the largest has no place
            for row, r in enumerate(rng.integers(0, p, n)):
                logits[row, ends[r] - 1] = size + drawn(rng)
        targets = rng.integers(0, ends[-1], n)
        targets[:2] = ends[0] - 2, ends[0] + 1 if p > 1 else 0  # one each in the first two shares
        edges = [edge for end, w in zip(ends, widths, strict=True) if w for edge in (end - w, end - 1)]
        targets[2 : 2 + len(edges)] = edges[: max(0, n - 2)]  # the first and the last column of each share, if they fit
        targets = rng.permutation(targets)
        if size <= 1e3:  # a target whose logit is below zero
            logits[0, targets[0]] = -abs(logits[0, targets[0]])
        known = {"logits": logits, "y": targets, "widths": widths}
        cut = np.split(logits, ends[:-1], axis=1)
        says = f"{n} tokens, {ends[-1]} columns as {', '.join(map(str, widths))}"
        return divided_case(level, p, known, lambda r: (cut[r], Tensor(targets.astype(np.int64), "int64")), says,
                            **options)  # fmt: skip

    def right(self, c):
        return divided.loss_divided(c)

    def per_rank(self, case, value):
        value = [(loss if loss is ANYTHING else float(loss), gradient) for loss, gradient in value]
        return [(as_tensors(loss), as_tensors(gradient)) for loss, gradient in value]

    def most(self, c):
        return 8 * 2 * (c.p - 1) * (3 * c.n + c.p)

    def rules(self, case, run):
        n, p = len(case.known["y"]), case.world_size
        for rank, rank_run in enumerate(run.ranks):
            handed, limit = rank_run.collective_bytes + rank_run.sent_bytes, 8 * (3 * n + p)
            objects = any(event.dtype == "uint8" for event in run.events if event.rank == rank)
            if handed > limit + 48 * objects:  # widths may travel as objects, which say more than a number
                return Finding("too_many_bytes", f"Rank {rank} handed over {handed} B; 3 n + p numbers are {limit} B.")
        return None

    def wrong(self, case, run):
        values = [rank.value for rank in run.ranks]
        if any(map(divided.not_finite, values)):
            return "not_finite"
        losses = {str(getattr(loss, "values", loss)) for loss, _ in values}
        rights = [(ANYTHING, gradient) for _, gradient in self.expected(case)]
        return "losses_differ" if len(losses) > 1 and fits(case, rights, values) else None


class RingAttention(DividedLayer):
    """Bonus: ring attention"""

    signature = "ring_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> torch.Tensor"
    levels = {"every token sees all": 1, "causal": 1, "large scores": 1}
    mistakes = [
        OWN_ONLY.but(how="It needs the keys and values of the others, too, one block after the other.").giving(
            lambda c: c.by_blocks(lambda r: [r])),
        Mistake("blocks_averaged", "Each block got a softmax of its own, and the results were averaged.",
                "The weight of a block is its sum of exponentials: keep the running maximum, sum and "
                "weighted values, and divide once at the end.",
                lambda c: None if c.causal else [
                    sum(divided.attention(q, k, v, causal=False) for k, v in zip(c.ks, c.vs, strict=True)) / c.p
                    for q in c.qs]),
        Mistake("mask_is_local", "In every block the mask counts places from the block's own beginning.",
                "Rank r's queries begin at place r n / p, the keys of rank s at place s n / p.",
                lambda c: c.by_blocks(range(c.p), taken_for=lambda r, b: r) if c.causal else None),
        Mistake("ring_the_other_way", "The mask takes the blocks as if they came round the ring the other way.",
                "Where every rank sends to the next one, rank r has after s steps the block of rank (r - s) % p.",
                lambda c: c.by_blocks(range(c.p), taken_for=lambda r, b: (2 * r - b) % c.p) if c.causal else None),
        Mistake("not_masked", "Queries saw keys of later tokens.", "causal=True: mask the keys behind each "
                "query.", lambda c: c.by_blocks(range(c.p), causal=False) if c.causal else None),
        Mistake("own_block_unmasked", "Blocks of later tokens were left out, but in its own block a query saw the keys "
                "of later tokens.", "In the own block, too, mask later tokens: `torch.triu(ones, 1)`.",
                lambda c: c.by_blocks(lambda r: range(r + 1), causal=False) if c.causal else None),
        Mistake("not_finite", "The result is inf or nan.",
                "Keep a running maximum and subtract it before `exp`; a block that is masked altogether is skipped."),
        TOO_MANY_BYTES.but(how="Each rank sends p - 1 blocks of keys and values: the block that "
                           "arrives last is not passed on."),
        USES_COLLECTIVE.but(how="Pass the block on to the next rank of the ring, p - 1 times."),
        Mistake("not_a_ring", "The values are right, but a rank sent to more than one other.",
                "Send always to the same neighbour: pass on the block that you have used."),
    ]  # fmt: skip

    def cases(self, rng):
        free, causal, large = self.levels
        first = [
            self._case(rng, free, 2, 4, 3),
            self._case(rng, free, 3, 6, 2, late=(1,)),
            self._case(rng, free, 3, 3, 2),
            self._case(rng, free, 1, 4, 2),
            self._case(rng, causal, 3, 6, 2),
            self._case(rng, causal, 4, 8, 3, late=(3,)),
        ]
        while not tells_apart(self, scores := self._case(rng, large, 3, 6, 2, size=60.0)):
            pass  # each query looks at one key, which may be one that a wrong mask leaves to it
        below = (self._case(rng, large, 2, 4, 2, size=size, against=True) for size in (60.0, 600.0))
        more = (causal, 1, 4, 2, {}), (large, 2, 4, 2, {"size": 60.0, "causal": False})
        return [*first, scores, *below, *(self._case(rng, *sizes, **options) for *sizes, options in more)]

    @staticmethod
    def _case(rng, level, p, n, d, size=1.0, against=False, causal=True, **options):
        known = {"q": drawn(rng, n, d) * size, "k": drawn(rng, n, d) * size, "v": drawn(rng, n, d),
                 "causal": causal and level != "every token sees all"}  # fmt: skip
        if size > 1:  # scores of which exp has no place, in the last block
            known["k"][-1] = np.where(known["q"][-1] < 0, -size, size) * (1 + drawn(rng, d) / 8)
            known["q"][-1] = np.where(known["q"][-1] < 0, -size, size) * (1 + drawn(rng, d) / 8)
        if against:  # every score is far below 0
            known["q"], known["k"] = size + np.abs(known["q"]), -size - np.abs(known["k"])
        return divided_case(
            level, p, known, lambda r: (*(part(known[name], p, r) for name in "qkv"), known["causal"]),
            f"{n} tokens of {d}{', causal' if known['causal'] else ''}", **options)  # fmt: skip

    def right(self, c):
        return divided.blocks_divided(c)

    def most(self, c):
        return 8 * (c.p - 1) * 2 * c.k.size

    def needs_bytes(self, case):
        if not case.known["causal"]:
            return None
        return [8 * r * 2 * part(case.known["k"], case.world_size, r).size for r in range(case.world_size)]

    def rules(self, case, run):
        called = sorted({name for rank in run.ranks for name in rank.collectives})
        if called:
            return Finding("uses_collective", f"{', '.join(called)} was called.")
        for rank in range(case.world_size):
            peers = sorted({event.peer for event in messages(run) if event.rank == rank})
            if len(peers) > 1:
                return Finding("not_a_ring", f"Rank {rank} sent to ranks {', '.join(map(str, peers))}.")
        return super().rules(case, run)

    def wrong(self, case, run):
        return "not_finite" if any(divided.not_finite(rank.value) for rank in run.ranks) else None
