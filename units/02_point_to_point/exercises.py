"""Unit 02: messages from one rank to another, with torch.distributed."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np

from autograder.exercise import ANYTHING, Case, Exercise, Finding, Mistake, Run, Tensor
from autograder.exercises.readings.messages import collective, describe_messages, messages, needless_barrier
from autograder.exercises.source import harness_of
from autograder.values import SURPLUS

PARTNER_RETURNED = Mistake("returned_early", "A rank waits for a message to or from a rank that has already returned. "
                           "Every send needs one recv on the rank it names, and every recv one send.",
                           "Go through the ranks one by one: whom does this rank send to, and does that rank receive "
                           "from it? Ranks outside the exchange wait for nobody.")  # fmt: skip
WRONG_TAG = Mistake("mismatched_tag", "The two sides name each other, but use different tags: a recv takes only a "
                    "message with its own tag.",
                    "Leave the tag out on both sides, or write the same number.")  # fmt: skip
COLLECTIVE = Mistake("uses_collective", "The result was made by a collective, which every rank has to call. Here the "
                     "data is meant to travel in messages between two ranks.",
                     "Use send and recv, or isend and irecv.")  # fmt: skip
NOT_WAITED = Mistake("forgot_wait", "A message was started and never waited for. isend and irecv return at once, "
                     "before anything has moved; only wait() tells you that it has.",
                     "Keep the request that isend or irecv returns; call its wait() before you use the tensor or "
                     "return.")  # fmt: skip
NOT_RECEIVED = Mistake("not_received", "The message arrived, but zeros were returned: it went into another tensor, or "
                       "was overwritten afterwards.",
                       "recv fills the tensor it is given (it returns the sender's rank, not the data): return that "
                       "tensor.")  # fmt: skip
BARRIER = Mistake("needless_barrier", "The messages are right, but all ranks also wait in a barrier, even those that "
                  "take no part. A message needs no barrier: recv returns when it has arrived.",
                  "Leave `dist.barrier()` out: a rank waits for its own messages and for nothing else.")  # fmt: skip
MESSAGES = [PARTNER_RETURNED, WRONG_TAG, COLLECTIVE, NOT_WAITED]


class WhoAmI(Exercise):
    """Who am I?"""

    signature = "who_am_i() -> tuple[int, int]"
    talks = False  # every rank knows it by itself
    levels = {"any number of ranks": 1}
    mistakes = [
        Mistake("swapped", "You returned the number of ranks first and the rank second.",
                "Return `rank, world_size` in this order.", lambda c: [(c.p, r) for r in range(c.p)]),
        Mistake("counts_from_one", "Ranks are counted from 0: the first is rank 0, the last is rank world_size - 1.",
                value=lambda c: [(r + 1, c.p) for r in range(c.p)]),
        Mistake("always_rank_zero", "Every rank says that it is rank 0.",
                "Ask `dist.get_rank()`: it answers differently on every rank.", lambda c: [(0, c.p)] * c.p),
        Mistake("last_rank", "The second number is the highest rank, not how many ranks there are.",
                "`dist.get_world_size()` is the highest rank plus one.", lambda c: [(r, c.p - 1) for r in range(c.p)]),
        Mistake("always_four",
                "The number of ranks is fixed as 4; a program has as many as it was started with.",
                value=lambda c: [(r, 4) for r in range(c.p)]),
        Mistake("always_two", "The number of ranks is fixed as 2; a program has as many as it was started with.",
                value=lambda c: [(r, 2) for r in range(c.p)]),
        Mistake("asks_nobody", "Every rank says that it is alone. Variables such as RANK, LOCAL_RANK and WORLD_SIZE "
                "are set by some launchers and not by others.",
                "Ask `dist.get_rank()` and `dist.get_world_size()`: they know under every launcher.",
                lambda c: [(0, 1)] * c.p),
        Mistake("rank_on_its_node", "The ranks begin again at 0 after the fourth, as ranks do that are counted on "
                "their node alone.", "Return `dist.get_rank()` as it is: it counts all ranks.",
                lambda c: [(r % 4, c.p) for r in range(c.p)]),
        Mistake("not_integers", "The numbers are right, but they are floating-point numbers: `range(4.0)` is an error.",
                "Return what `dist.get_rank()` and `dist.get_world_size()` return."),
        Mistake("rank_zero_only", "Only rank 0 returned something.",
                "All ranks run the same function, and all have an answer.", lambda c: [(0, c.p)] + [None] * (c.p - 1)),
    ]  # fmt: skip

    def cases(self, rng):
        return [Case("any number of ranks", p, ()) for p in (2, 4, 3, 5, 1, 9)]

    def expected(self, case):
        return [(r, case.world_size) for r in range(case.world_size)]

    def facts(self, case, run):
        values = [rank.value for rank in run.ranks if isinstance(rank.value, (tuple, list))]
        return "not_integers" if any(isinstance(number, float) for pair in values for number in pair) else None


def full(value: float) -> Tensor:
    """The 3 x 4 matrix of the first exercises."""
    return Tensor(np.full((3, 4), value, dtype=np.float32))


def is_full(value: object, number: float) -> bool:
    values = getattr(value, "values", value)
    return isinstance(values, np.ndarray) and values.shape == (3, 4) and bool((values == number).all())


def holds_nan(value: object) -> bool:
    values = getattr(value, "values", value)
    return isinstance(values, np.ndarray) and values.dtype.kind == "f" and bool(np.isnan(values).any())


class MatrixMessage(Exercise):
    """A matrix travels from `source` to `destination`, as one message.

    A mistake gives the number in each rank's matrix; `holders` are the ranks that should hold `value` at the
    end.
    """

    levels = {"from rank 0 to rank 1": 1, "between any two ranks": 1}
    inputs = "free"
    harness = harness_of(__file__, "sends_counted")
    may_lose = {
        "int64": "the only integers handed out are the harness' own, which counts calls",
        "integers of both widths": "the only integers handed out are the harness' own, which counts calls",
    }
    routes: list[tuple[int, int, int]]  # (ranks, source, destination); the first two are of the first level, with ones
    copies: bool  # whether the source holds the matrix, too, at the end
    forbidden: tuple[str, int]  # the mistake of calling the other kind of send and recv, and which `calls` count that
    TRAVEL = [
        Mistake("everybody_has_it", "Every rank holds the filled matrix.",
                "Only the source fills its matrix; the others start from zeros, and only the destination receives.",
                lambda c: [c.value] * c.p),
        Mistake("zero_to_one", "Ranks 0 and 1 are written into the code. The matrix must travel from `source` to "
                "`destination`, whichever they are.",
                "Compare the rank with the two arguments: `if rank == source: ... elif rank == destination: ...`."),
        Mistake("always_ones", "The matrix is filled with ones, whatever `value` is.",
                "torch.full((3, 4), value)", lambda c: [float(r in c.holders) for r in range(c.p)]),
        Mistake("wrong_way", "The message went the wrong way, from the destination to the source.",
                "The source sends to `destination`, the destination receives from `source`."),
        NOT_RECEIVED,
        Mistake("no_message", "No message was sent: the destination has to get its numbers, not make them itself."),
        Mistake("more_than_one_message", "The matrix must travel as one message, and the other ranks take no part.",
                "send takes a tensor of any shape."),
        Mistake("only_a_part_sent", "The message was smaller than the matrix: the destination made up the rest itself.",
                "Send the whole 3 x 4 tensor, 12 numbers of 4 bytes."),
        Mistake("zero_times_infinity", "Zeros were made by multiplying by 0: infinity times 0 is nan, no number.",
                "Make zeros of their own, `torch.zeros(3, 4)`, or write them: `matrix.zero_()`."),
        *MESSAGES, BARRIER,
    ]  # fmt: skip

    def cases(self, rng):
        first, other = self.levels
        values = [1.0, 1.0, *(float(v) for v in rng.permutation(np.arange(2, 100)))]

        def case(level, route, value, word=""):
            p, source, destination = route
            arguments = (value, source, destination, np.zeros(2, np.int64))
            return Case(level, p, arguments, f"{word}{source} -> {destination}")

        ones = [case(first, route, 1.0, "ones, ") for route in self.routes[:2]]
        others = [case(other, route, value) for route, value in zip(self.routes[2:], values[2:], strict=False)]
        # Zeros are a message like any other; 0 times infinity is no number.
        return [*ones, *others, case(other, (3, 1, 2), 0.0, "zeros, "), case(other, (3, 2, 1), np.inf, "infinities, ")]

    def worked(self, case):
        value, source, destination, _ = case.arguments
        holders = {source, destination} if self.copies else {destination}
        return SimpleNamespace(p=case.world_size, value=value, source=source, destination=destination, holders=holders)

    def expected(self, case):
        c = self.worked(case)
        return self.per_rank(case, [c.value if r in c.holders else 0.0 for r in range(c.p)])

    def per_rank(self, case, value):
        return [full(number) for number in value]

    def needs_bytes(self, case):
        """The destination is told `value`, too, but the numbers it returns must come from the source."""
        return [full(0).values.nbytes if r == case.arguments[2] else 0 for r in range(case.world_size)]

    def facts(self, case, run):
        value, source, destination, _ = case.arguments
        name, which = self.forbidden
        if found := wrong_messages(run, source, destination):
            return found
        if any(np.asarray(rank.after[3])[which] for rank in run.ranks):
            return name
        if np.isinf(value) and any(holds_nan(rank.value) for rank in run.ranks):
            return "zero_times_infinity"
        left = value if self.copies else 0
        if value and is_full(run.ranks[source].value, left) and is_full(run.ranks[destination].value, 0):
            return Finding("not_received", describe_messages(run))
        return needless_barrier(run)


def wrong_messages(run: Run, source: int, destination: int) -> Finding | None:
    """The mistake in the messages of a run that should have exactly one, from `source` to `destination`."""
    sent = [(e.rank, e.peer) for e in messages(run)]
    if found := collective(run, but="barrier"):
        return found
    if not sent:
        return Finding("no_message")
    if (source, destination) not in sent:
        return Finding("wrong_way" if (destination, source) in sent else "zero_to_one", describe_messages(run))
    if len(sent) > 1:
        return Finding("more_than_one_message", describe_messages(run))
    if run.ranks[source].sent_bytes < full(0).values.nbytes:
        return Finding("only_a_part_sent", f"The message had {run.ranks[source].sent_bytes} bytes.")
    return None


class SendMatrix(MatrixMessage):
    """One matrix from one rank to another"""

    signature = "send_matrix(value: float, source: int, destination: int) -> torch.Tensor"
    never_alone = "it goes from one rank to another"
    routes = [(2, 0, 1), (4, 0, 1), (3, 2, 0), (4, 1, 3), (5, 4, 2), (2, 1, 0)]
    copies = True
    forbidden = ("not_blocking", 1)
    mistakes = [
        *MatrixMessage.TRAVEL,
        Mistake("not_blocking", "The matrix arrived, but by isend or irecv. Here the calls must block: the next line "
                "runs when the message is complete.",
                "`dist.send(matrix, dst=destination)`, `dist.recv(matrix, src=source)`."),
        Mistake("deadlock", "Ranks wait in recv for a message that nobody can send, because the sender waits as well.",
                "Exactly one rank sends (the source) and exactly one receives (the destination)."),
    ]  # fmt: skip


class MoveMatrix(MatrixMessage):
    """The same without blocking, and the buffer used again"""

    signature = "move_matrix(value: float, source: int, destination: int) -> torch.Tensor"
    never_alone = "it goes from one rank to another"
    routes = [(4, 0, 1), (2, 0, 1), (3, 2, 0), (4, 1, 3), (5, 4, 2)]
    copies = False
    forbidden = ("blocking", 0)
    mistakes = [
        Mistake("not_cleared", "The source still holds the matrix: it was copied, not moved.",
                "After wait() has returned, fill the source's tensor with zeros.",
                lambda c: [c.value if r in (c.source, c.destination) else 0.0 for r in range(c.p)]),
        *MatrixMessage.TRAVEL,
        Mistake("blocking", "The matrix arrived, but by send or recv, which wait until the message is complete.",
                "`request = dist.isend(...)` or `dist.irecv(...)` starts the message, `request.wait()` waits for it."),
        Mistake("reused_buffer", "The source wrote to its tensor between isend and wait(): the destination may get the "
                "old numbers or the new ones.",
                "Until wait() has returned the tensor belongs to the message. Wait first, then fill it with zeros."),
    ]  # fmt: skip


class PrintInTurn(Exercise):
    """Printing in turn"""

    signature = "print_in_turn(line: str) -> None"
    never_alone = "gloo sends nothing to oneself, and a token that goes round a ring of one would be sent so"
    levels = {"in order": 1, "with slow ranks": 1}
    inputs = "free"
    harness = harness_of(__file__, "printed_alone")
    mistakes = [
        Mistake("out_of_order", "The lines came out in another order than the ranks. Nothing made a rank wait for the "
                "line before its own: which rank starts first is luck.",
                "Rank 0 prints and then sends a token to rank 1; every other rank first receives it from the left, "
                "prints, and passes it on."),
        Mistake("not_while_holding_the_token", "The token goes round, but a rank does not print while it has it, so "
                "the next rank can overtake it.",
                "Receive, print, send, in this order."),
        Mistake("not_printed", "Some ranks printed nothing.",
                "Every rank prints its own line, the first and the last, too; an empty line is a line. Print to "
                "standard output, with `print(line)` alone."),
        Mistake("printed_twice", "Some ranks printed more than their one line."),
        Mistake("printed_by_another", "Each rank must print its own line. Here one rank printed for others.",
                "Send a token, not the text."),
        Mistake("wrong_text", "A rank printed something else than its line.", "Print `line` alone: `print(line)`."),
        *MESSAGES,
        COLLECTIVE.but(why="The ranks were put in order by a collective, which makes every rank wait for all. Here a "
                       "rank waits only for the one before it.",
                       how="Pass a token from rank to rank with send and recv."),
        Mistake("deadlock", "Every rank waits for the token, and nobody has it: somebody must start.",
                "Rank 0 does not receive: it prints at once and sends the token to rank 1."),
    ]  # fmt: skip

    def cases(self, rng):
        order, slow = self.levels
        words = ["amber", "birch", "cobalt", "dune", "ember", "fjord", "grove", "harbour", "iris", "juniper"]

        def lines(p):
            return [(str(w),) for w in rng.permutation(words)[:p]]

        return [
            Case(order, 3, lines(3), late=(0,)),
            Case(order, 2, lines(2), late=(0,)),
            Case(slow, 4, lines(4), "rank 1 starts last", late=(1,)),
            Case(slow, 5, lines(5), "ranks 0 and 3 start last", late=(0, 3)),
            Case(order, 2, [(f"  {line} ",) for (line,) in lines(2)], "blanks before and behind the lines", late=(0,)),
            Case(order, 3, [*lines(1), ("",), ("kelp",)], "the line of rank 1 is empty", late=(0,)),
        ]

    def expected(self, case):
        return [ANYTHING] * case.world_size

    def facts(self, case, run):
        p, own = case.world_size, [line for (line,) in case.arguments]
        printed = [(r, line) for r, line in run.printed if line.strip() or "" in own]
        order = [r for r, _ in printed]
        if found := collective(run):
            return found
        for rank, text in printed:
            if text and text in own and text != own[rank]:
                return Finding("printed_by_another")
        for rank in range(p):
            if rank not in order:
                return Finding("not_printed", f"Rank {rank} printed nothing.")
        for rank, text in printed:
            if text != own[rank]:
                return Finding("wrong_text", f'Rank {rank} printed "{text[:60]}".')
        if len(order) > p:
            rank = max(order, key=order.count)
            return Finding("printed_twice", f"Rank {rank} printed {order.count(rank)} lines.")
        if order == list(range(p)):
            return None
        token = {(e.rank, e.peer) for e in messages(run)} >= {(r, r + 1) for r in range(p - 1)}
        detail = f"The lines came from ranks {', '.join(map(str, order))}."
        return Finding("not_while_holding_the_token" if token else "out_of_order", detail)


def two_points(c: SimpleNamespace) -> tuple[float, float] | None:
    """Latency and time per byte from the first and the last measurement alone; None where both are of one size."""
    if c.sizes[-1] == c.sizes[0]:
        return None
    slope = (c.times[-1] - c.times[0]) / (c.sizes[-1] - c.sizes[0]) / 2
    return float(c.times[0] / 2 - slope * c.sizes[0]), float(slope)


def sorted_apart(c: SimpleNamespace) -> tuple[float, float]:
    """The line through sizes and times of which each is sorted by itself."""
    slope, alpha = np.polyfit(np.sort(c.sizes), np.sort(c.times) / 2, 1)
    return float(alpha), float(slope)


def last_of_each_size(c: SimpleNamespace) -> tuple[float, float]:
    """The line through the last measurement of each size."""
    times = dict(zip(c.sizes.tolist(), c.times / 2, strict=True))
    beta, alpha = np.polyfit(list(times), list(times.values()), 1)
    return float(alpha), float(beta)


def first_of_each_size(c: SimpleNamespace) -> tuple[float, float]:
    """The line through the first measurement of each size."""
    sizes, first = np.unique(c.sizes, return_index=True)
    beta, alpha = np.polyfit(sizes, c.times[first] / 2, 1)
    return float(alpha), float(beta)


def between_neighbours(c: SimpleNamespace) -> tuple[float, float]:
    """The slopes between neighbouring sizes, averaged by their distance; nan where two measurements are of one size."""
    order = np.argsort(c.sizes)
    n, t = c.sizes[order].astype(float), c.times[order] / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        beta = np.average(np.diff(t) / np.diff(n), weights=np.diff(n))
    return float(np.mean(t - beta * n)), float(beta)


def without_the_first(c: SimpleNamespace) -> tuple[float, float]:
    """The line through all measurements but the first."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of one size alone it is no line
        beta, alpha = np.polyfit(c.sizes[1:], c.times[1:] / 2, 1)
    return float(alpha), float(beta)


def in_its_integers(c: SimpleNamespace) -> tuple[float, float] | None:
    """The line of the normal equations with squares in the integers of the sizes; None where they fit."""
    if int(c.sizes.max()) ** 2 <= np.iinfo(c.sizes.dtype).max:
        return None
    k, n, t = len(c.sizes), c.sizes, c.times / 2
    with np.errstate(over="ignore"):
        beta = (k * (n * t).sum() - n.sum() * t.sum()) / (k * (n * n).sum() - n.sum() ** 2)
    return float((t.sum() - beta * n.sum()) / k), float(beta)


class FitAlphaBeta(Exercise):
    """Latency and bandwidth from ping-pong times"""

    signature = "fit_alpha_beta(sizes_bytes, round_trip_s) -> tuple[float, float]"
    withheld = ("labkit.scaling.fit_alpha_beta",)
    levels = {"exact times": 1, "noisy times": 1}
    runtime = "plain"
    may_lose = {
        "float64": "times are measured to three digits or four, and so is the fit",
        "int64": "sizes of messages enter a fit, in floating point",
        "int32": "sizes of messages enter a fit, in floating point",
    }
    mistakes = [
        Mistake("round_trip", "These are the numbers of the round trip: the message went there and came back.",
                "One way takes half: divide the times by 2 before the fit.", lambda c: (2 * c.alpha, 2 * c.beta)),
        Mistake("halved_twice", "Both numbers are half of what they should be.",
                "Divide by 2 once, either the times or the results.", lambda c: (c.alpha / 2, c.beta / 2)),
        Mistake("doubled", "The times were multiplied by 2. One way takes half of the round trip.",
                "Divide by 2.", lambda c: (4 * c.alpha, 4 * c.beta)),
        Mistake("swapped_round_trip", "You returned (beta, alpha), and both are those of the round trip.",
                "Halve the times before the fit, and return alpha first.", lambda c: (2 * c.beta, 2 * c.alpha)),
        Mistake("alpha_in_microseconds", "Alpha is in microseconds. It should be in seconds, like the times.",
                value=lambda c: (1e6 * c.alpha, c.beta)),
        Mistake("only_alpha_halved", "Alpha is for one way, but beta is still for the round trip.",
                "Halve the times before the fit: that halves both numbers.", lambda c: (c.alpha, 2 * c.beta)),
        Mistake("only_beta_halved", "Beta is for one way, but alpha is still for the round trip.",
                "Halve the times before the fit: that halves both numbers.", lambda c: (2 * c.alpha, c.beta)),
        Mistake("swapped", "You returned (beta, alpha). `np.polyfit` gives the slope first.",
                "alpha is the value at size 0, beta the slope; return alpha first.", lambda c: (c.beta, c.alpha)),
        Mistake("bandwidth", "The second number is in bytes per second; beta is its inverse, seconds per byte.",
                value=lambda c: (c.alpha, 1 / c.beta)),
        Mistake("bits", "Beta is per bit. The sizes are in bytes, and beta is seconds per byte, 8 times as much.",
                value=lambda c: (c.alpha, c.beta / 8)),
        Mistake("microseconds", "You returned microseconds. Both numbers should be in seconds, like the times.",
                value=lambda c: (1e6 * c.alpha, 1e6 * c.beta)),
        Mistake("smallest_message", "Alpha is the time of the smallest message measured, including its bytes.",
                "Alpha is where the line meets size 0.", lambda c: (float(c.times.min() / 2), c.beta)),
        Mistake("through_zero", "The second number is time divided by size, as if a message of no bytes took no time.",
                "Fit both numbers: t(n) = alpha + beta n.",
                lambda c: (c.alpha, float(np.mean(c.times / 2 / c.sizes))) if c.sizes.all() else None),
        Mistake("first_of_each_size", "Where a size was measured several times, only one of its times counts, the "
                "first or the fastest.", "Fit all pairs: the scatter of one time goes into the result, the others "
                "would balance it.", first_of_each_size),
        Mistake("two_points", "The line goes through the first and the last point only, so all other measurements are "
                "wasted, and the scatter of those two goes straight into the result.",
                "Fit all points by least squares, for example with `np.polyfit(sizes_bytes, times, 1)`.", two_points),
        Mistake("between_neighbours", "The slopes between neighbouring sizes were averaged: between two measurements "
                "of one size that divides by zero, and of all the others only the first and the last count.",
                "Fit all points by least squares, for example with `np.polyfit(sizes_bytes, times, 1)`.",
                between_neighbours),
        Mistake("last_of_each_size", "Where a size was measured several times, only its last time counts.",
                "Fit all pairs; a dict keeps one time for each size.", last_of_each_size),
        Mistake("first_left_out", "The first measurement was left out, as if it were a warm-up. What came first in a "
                "list is one of the measurements, and here it is the only one of its size.",
                "Fit all pairs; who wants a warm-up leaves it out before, when measuring.", without_the_first),
        Mistake("overflows", "The squares of the sizes were computed in the integers of the array: those of 46,341 "
                "and more do not fit into 32 bits, those of 3,037,000,500 and more not into 64.",
                "Convert first: `np.asarray(sizes_bytes, dtype=float)`.", in_its_integers),
        Mistake("sorted_apart", "Sizes and times were sorted, each list by itself: the pairs are no longer pairs.",
                "The order does not matter to a fit; to sort, take the pairs.", sorted_apart),
        Mistake("arrays_only", "Sizes and times are plain lists in this case, and something was done to them that only "
                "arrays can do.",
                "Begin with `np.asarray(sizes_bytes)` and `np.asarray(round_trip_s)`, which take lists and arrays."),
    ]  # fmt: skip

    REPEATED = {"repeated": [0.93, 0.93, 0.93, 1.21], "spread": [0.8, 1, 1.2, 1.2, 1, 0.8]}  # times the right time

    def cases(self, rng):
        exact, scattered = self.levels
        found = []
        kinds = [(exact, ""), (exact, ""), (scattered, ""), (exact, "lists")]
        kinds += [(scattered, kind) for kind in self.REPEATED]
        for level, kind in kinds:
            alpha, beta = float(rng.uniform(2e-6, 9e-6)), float(rng.uniform(0.5e-10, 4e-10))
            n = alpha / beta  # the size at which latency and transfer cost the same
            if kind in self.REPEATED:  # the last measurement of each size is too slow, the others too fast
                factors = self.REPEATED[kind]
                sizes = np.round(n * np.repeat(np.linspace(0.5, 4.5, 25), len(factors))).astype(np.int64)
                times = 2 * (alpha + beta * sizes) * np.tile(factors, 25)
                says, rtol = f"25 sizes, each {len(factors)} times", 0.15
            elif level == scattered:
                sizes = np.round(n * np.linspace(0.5, 4.5, 101)).astype(np.int64)
                times = 2 * (alpha + beta * sizes)
                times[[0, -1]] *= 0.85, 1.25
                times[1:-1] *= 1 + 0.002 * rng.choice([-1, 1], size=99)
                says, rtol = "101 sizes, two odd measurements", 0.12
            else:
                sizes = np.round(n * np.array([0.5, 1, 2, 4, 8, 16])).astype(np.int64)
                if kind == "lists":  # without the first measurement they are no line
                    sizes = sizes[[4, 0, 0, 0]]
                elif found:  # the second case: another order, one size measured twice, squares of more than 32 bits
                    sizes = sizes[[3, 0, 5, 2, 1, 4, 3]].astype(np.int32)
                times, says, rtol = 2 * (alpha + beta * sizes), f"{len(sizes)} sizes", 1e-3
            arguments = (sizes.tolist(), times.tolist()) if kind == "lists" else (sizes, times)
            says += ", in lists" if kind == "lists" else ", int32" if sizes.dtype == np.int32 else ""
            known = {"alpha": alpha, "beta": beta, "sizes": sizes, "times": times}
            found.append(Case(level, 1, arguments, says, known=known, rtol=rtol, atol=0.0))
        return [*found, self._one_and_many(exact)]

    @staticmethod
    def _one_and_many(level) -> Case:
        """One message of no bytes, the first; the others have a size whose square no int64 holds."""
        alpha, beta, sizes = 0.25, 2e-10, np.array([0] + [6_000_000_001] * 11)
        times = 2 * (alpha + beta * sizes)
        known = {"alpha": alpha, "beta": beta, "sizes": sizes, "times": times}
        says, lists = "no bytes once, then 6 GB 11 times, in lists", (sizes.tolist(), times.tolist())
        return Case(level, 1, lists, says, known=known, rtol=1e-3, atol=0.0)

    def of_exception(self, case, kind, text):
        lists = isinstance(case.arguments[0], list)
        return "arrays_only" if lists and kind in ("TypeError", "AttributeError") else None

    def expected(self, case):
        return [(case.known["alpha"], case.known["beta"])]

    def per_rank(self, case, value):
        return [value]


def different_numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Numbers of which no two are equal, whole ones up to 900, and of which no narrower type holds a float64 or an
    integer. Of bool: no two rows are equal."""
    if dtype == "bool":
        return np.arange(np.prod(shape)).reshape(shape) % 3 == 0
    values = (1 + rng.permutation(900)[: np.prod(shape)]).reshape(shape)
    if dtype == "float64":
        return values * SURPLUS
    wide = {"int64": 2**53, "int32": 2**24}
    return (2 * values + 1 + wide[dtype] if dtype in wide else values).astype(dtype)


OTHER_DTYPE = Mistake("mismatched_dtype", "The tensor to receive into has another dtype than the one that was sent.",
                      "torch.empty_like(x) has the shape and the dtype of x.")  # fmt: skip


class Exchange(Exercise):
    """Exchange with a partner"""

    signature = "exchange(x: torch.Tensor, partner: int) -> torch.Tensor"
    never_alone = "two ranks exchange"
    levels = {"neighbours": 1, "any partners": 1}
    mistakes = [
        Mistake("keeps_own", "Every rank returned its own tensor.",
                "Receive into a second tensor, for example torch.empty_like(x), and return that.", lambda c: c.rows),
        Mistake("through_float", "The numbers went through float32 on their way, which keeps about 7 digits.",
                "torch.empty_like(x) has the dtype of x: send x as it is.",
                lambda c: [c.rows[r] if q == r else rounded(c.rows[q]) for r, q in enumerate(c.partners)]),
        Mistake("one_way", "The data went one way only: from the smaller rank of each pair to the larger.",
                "Both send, and both receive.", lambda c: [c.rows[min(r, q)] for r, q in enumerate(c.partners)]),
        Mistake("assumes_neighbour", "Ranks 0 and 1, 2 and 3 ... exchanged. `partner` says who exchanges with whom.",
                "Exchange with `partner`.", lambda c: [c.rows[r ^ 1 if r ^ 1 < c.p else r] for r in range(c.p)]),
        Mistake("nothing_for_the_single",
                "A rank that is its own partner returned zeros. It has nobody to talk to: its answer is its own data.",
                "`if partner == rank: return x.clone()`.",
                lambda c: [0 * c.rows[q] if q == r else c.rows[q] for r, q in enumerate(c.partners)]),
        NOT_RECEIVED, *MESSAGES, BARRIER,
        Mistake("reused_buffer", "A rank received into the tensor it was sending: the partner may get its own "
                "numbers back.",
                "Receive into a second tensor: `y = torch.empty_like(x)`."),
        Mistake("talks_to_others", "A rank sent to somebody who is not its partner."),
        Mistake("deadlock", "Partners wait for each other: each is in a recv, and the send it needs comes later in the "
                "other's program.",
                "Let one of the two send first (the one with the smaller rank), or start the receive with irecv and "
                "send while it is open. Even and odd do not help here: partners may both be even."),
        Mistake("unsafe_send", "Both partners send first, and each waits for the other to receive. With small messages "
                "you may be lucky: the MPI library buffers them.",
                "Let one of the two receive first (the one with the larger rank), or use isend. Even and odd do not "
                "help here: partners may both be even."),
        WRONG_TAG.but(why="The two partners use different tags. A tag made from a rank's own number differs on the "
                          "two sides.",
                      how="Leave the tag out, or make it from both ranks, for example min(rank, partner)."),
        OTHER_DTYPE,
    ]  # fmt: skip

    def cases(self, rng):
        near, any_ = self.levels
        return [
            self._case(rng, near, [1, 0], "float32", (4,), "0 <-> 1"),
            self._case(rng, near, [1, 0, 3, 2], "float64", (2, 3), "0 <-> 1, 2 <-> 3"),
            self._case(rng, any_, [2, 3, 0, 1], "int64", (5,), "0 <-> 2, 1 <-> 3, int64"),
            self._case(rng, any_, [2, 1, 0], "int32", (3,), "0 <-> 2, 1 alone, int32"),
            self._case(rng, any_, [4, 3, 2, 1, 0], "float64", (1,), "0 <-> 4, 1 <-> 3, 2 alone"),
            self._case(rng, near, [1, 0], "float64", (), "0 <-> 1, one number"),
            self._case(rng, any_, [1, 0], "bool", (4,), "0 <-> 1, bool"),
        ]

    @staticmethod
    def _case(rng, level, partners, dtype, shape, says):
        rows = different_numbers(rng, (len(partners), *shape), dtype)
        arguments = [(Tensor(row, dtype), partner) for row, partner in zip(rows, partners, strict=True)]
        return Case(level, len(partners), arguments, says, known={"rows": rows, "partners": partners, "dtype": dtype})

    def expected(self, case):
        return self.per_rank(case, [case.known["rows"][partner] for partner in case.known["partners"]])

    def per_rank(self, case, value):
        return [Tensor(row, case.known["dtype"]) for row in value]

    def facts(self, case, run):
        partners = case.known["partners"]
        if found := collective(run, but="barrier"):
            return found
        if any(e.peer != partners[e.rank] for e in messages(run)):
            return Finding("talks_to_others", describe_messages(run))
        pairs = [(case.known["rows"][q], run.ranks[r].value.values) for r, q in enumerate(partners) if q != r]
        lost = any(sent.any() for sent, _ in pairs) and not any(received.any() for _, received in pairs)
        return "not_received" if lost else needless_barrier(run)


def rounded(values: np.ndarray) -> np.ndarray:
    """The values after a detour through float32."""
    return values.astype("float32").astype(values.dtype)


STEPS = (
    "What arrives in step s (counted from 1) started s ranks to the left: it belongs in row (rank - s) % world_size."
)


class RingPass(Exercise):
    """Once round the ring

    A mistake gives origin(r, row): the rank whose values rank r holds in that row of its table, or None for zeros.
    """

    signature = "ring_pass(x: torch.Tensor) -> torch.Tensor"
    levels = {"a ring of four": 1, "rings of any size": 2}
    mistakes = [
        Mistake("arrival_order", "The rows are in the order of arrival, so every rank has a different order.",
                STEPS, lambda c: lambda r, row: (r - row) % c.p),
        Mistake("rows_mixed_up", "All rows are there, but not in the order of the ranks.", STEPS),
        Mistake("open_ring", "The last rank never sent to rank 0, so the ring is not closed: this is a chain.",
                "Neighbours are counted modulo the world size: (rank + 1) % world_size and (rank - 1) % world_size."),
        Mistake("other_direction", "Left and right are swapped: rows are filed as if values came the other way.",
                "Send to (rank + 1) % p, receive from (rank - 1) % p; after s steps you hold the value of (rank - s) "
                "% p.", lambda c: lambda r, row: (2 * r - row) % c.p),
        Mistake("off_by_one", "The right values arrived, but each was filed in the row after its own: the rows are "
                "counted from a different step than the values.",
                "What arrives in the first step started one rank to the left: row (rank - 1) % p.",
                lambda c: lambda r, row: None if row == (r + 1) % c.p else (row - 1) % c.p),
        Mistake("one_row_too_far", "The right values arrived, but each was filed in the row before its own, the "
                "last of them over the rank's own row.", STEPS,
                lambda c: lambda r, row: None if row == (r - 1) % c.p else (row + 1) % c.p),
        Mistake("only_neighbour", "Only one step was made: each rank knows its left neighbour's value and no other.",
                "Pass it on, p - 1 times.", lambda c: lambda r, row: row if row in (r, (r - 1) % c.p) else None),
        Mistake("one_step_short", "The last row to arrive is missing: a step was left out.",
                "p - 1 steps reach all p ranks.", lambda c: lambda r, row: None if row == (r + 1) % c.p else row),
        Mistake("always_sends_own",
                "Every step brought the left neighbour's own value again: each rank kept sending its own.",
                "Next send what has just arrived.", lambda c: lambda r, row: r if row == r else (r - 1) % c.p),
        Mistake("one_buffer", "All rows except the rank's own are the row that arrived last: each was received into "
                "the same tensor, and the list holds that one tensor several times.",
                "Receive every row into a tensor of its own, or keep a copy: `arrived.clone()`.",
                lambda c: (lambda r, row: r if row == r else (r + 1) % c.p) if c.p > 2 else None),
        Mistake("own_row_missing", "All rows are there except the rank's own.",
                "Put x into row `rank` before the first step.", lambda c: lambda r, row: None if row == r else row),
        Mistake("number_of_sends", "The table is right, but a rank did not make exactly p - 1 sends.",
                "One row is one message: in each of the p - 1 steps a rank sends the row that it received last."),
        Mistake("whole_table", "The table is right, but more than one row travelled in a step: a rank that sends all "
                "it has so far sends most of it again in every step.",
                "Send only the row that arrived last: the right neighbour has the rest."),
        Mistake("full_circle", "p steps were made. The last one only brings each value back to where it started.",
                "p - 1 steps are enough: for step in range(p - 1)."),
        Mistake("reused_buffer", "A rank received into the tensor it was still sending: its right neighbour may get "
                "the old numbers or the new ones.",
                "Use two tensors: send one, receive into the other, and swap their roles when wait() has returned."),
        Mistake("wrong_neighbour", "A rank sent to another rank than its right neighbour.",
                "The right neighbour is (rank + 1) % world_size."),
        *MESSAGES, BARRIER,
        Mistake("deadlock", "Round the ring each rank waits in a recv, and the send it needs comes later in its left "
                "neighbour's program.",
                "Start one side with isend or irecv, do the other, then wait. Or let some ranks send first while "
                "their neighbours receive."),
        Mistake("unsafe_send", "Round the ring each rank waits in a send for its right neighbour to receive. With "
                "small messages you may be lucky: the MPI library buffers them.",
                "Start the send with isend, receive, then wait for it. Or let some ranks receive first."),
        WRONG_TAG.but(why="Sender and receiver use different tags, for example each side its own rank.",
                      how="Leave the tag out: messages between two ranks never overtake each other."),
        OTHER_DTYPE,
    ]  # fmt: skip

    def cases(self, rng):
        four, any_size = self.levels
        sizes = [
            (four, 4, "float64", 2),
            (any_size, 3, "int64", 4),
            (any_size, 2, "float32", 3),
            (any_size, 5, "int32", 1),
            (any_size, 1, "float64", 3),
            (any_size, 3, "int64", 0),
            (any_size, 3, "bool", 4),
        ]
        return [self._case(rng, *size) for size in sizes]

    @staticmethod
    def _case(rng, level, p, dtype, n):
        rows = different_numbers(rng, (p, n), dtype)
        known = {"rows": rows, "dtype": dtype}
        return Case(level, p, [(Tensor(row, dtype),) for row in rows], f"n = {n}, {dtype}", known=known)

    def expected(self, case):
        return self.per_rank(case, lambda r, row: row)

    def per_rank(self, case, value):
        rows, ranks = case.known["rows"], range(case.world_size)
        held = [[value(r, row) for row in ranks] for r in ranks]
        tables = [np.stack([np.zeros_like(rows[0]) if q is None else rows[q] for q in origins]) for origins in held]
        return [Tensor(table, case.known["dtype"]) for table in tables]

    def facts(self, case, run):
        p, rows, sends = case.world_size, case.known["rows"], [rank.sends for rank in run.ranks]
        if found := collective(run, but="barrier"):
            return found
        for e in messages(run):
            if e.peer != (e.rank + 1) % p:
                return Finding("wrong_neighbour", f"Rank {e.rank} sent to rank {e.peer}.")
        if max(sends) == p:
            return Finding("full_circle", f"Each rank sent {p} messages.")
        if any(sends) and not sends[-1]:
            return Finding("open_ring")
        tables = [getattr(rank.value, "values", None) for rank in run.ranks]
        if not all(t is not None and np.array_equal(np.sort(t, axis=0), np.sort(rows, axis=0)) for t in tables):
            return None
        if not all(np.array_equal(table, rows) for table in tables):
            return Finding("rows_mixed_up")
        if any(number != p - 1 for number in sends):
            detail = f"Ranks 0, 1, ... sent {', '.join(map(str, sends))} messages; p - 1 is {p - 1}."
            return Finding("number_of_sends", detail)
        sent, needed = max(rank.sent_bytes for rank in run.ranks), (p - 1) * rows[0].nbytes
        if needed and sent > 2 * needed:  # room for the number of the row beside it
            return Finding("whole_table", f"A rank sent {sent} bytes; {p - 1} rows have {needed}.")
        return needless_barrier(run)
