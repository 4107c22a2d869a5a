"""Unit 02: messages from one rank to another, with torch.distributed."""

from __future__ import annotations

import numpy as np

from autograder.exercise import ANYTHING, Case, Diagnosis, Exercise, Finding, Run, Tensor
from autograder.values import SURPLUS
from labkit.watch.hang import direction, list_ranks

UNIT = "02_point_to_point"

PARTNER_RETURNED = Diagnosis(
    "A rank waits for a message to or from a rank that has already returned. Every send needs one recv on "
    "the rank it names, and every recv one send.",
    "Go through the ranks one by one: whom does this rank send to, and does that rank receive from it? Ranks "
    "outside the exchange wait for nobody.",
)
WRONG_TAG = Diagnosis(
    "Both sides name each other, but different tags: a recv takes only a message that carries its own tag.",
    "Leave the tag out on both sides, or write the same number.",
)
COLLECTIVE = Diagnosis(
    "The result was made by a collective, which every rank has to call. Here the data is meant to travel in "
    "messages between two ranks.",
    "Use send and recv, or isend and irecv.",
)
NOT_WAITED = Diagnosis(
    "A message was started and never waited for. isend and irecv return at once, before anything has moved; "
    "only wait() tells you that it has.",
    "Keep the request that isend or irecv returns and call its wait() before you use the tensor or return.",
)


def different_numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Numbers of which no two are equal, whole ones up to 900, and of which no narrower type holds a float64 or an integer."""
    values = (1 + rng.permutation(900)[: np.prod(shape)]).reshape(shape)
    if dtype == "float64":
        return values * SURPLUS
    wide = {"int64": 2**53, "int32": 2**24}
    return (2 * values + 1 + wide[dtype] if dtype in wide else values).astype(dtype)


def full(value: float) -> Tensor:
    """The 3 x 4 matrix of the first exercises."""
    return Tensor(np.full((3, 4), value, dtype=np.float32))


def messages(run: Run) -> list:
    """The sends of a run: one event per message."""
    return [e for e in run.events if direction(e.kind) == "send"]


def never_waited(run: Run) -> list[int]:
    """Ranks that returned without having waited for something they had started."""
    return [r for r, rank in enumerate(run.ranks) if rank.unwaited]


def on_ranks(ranks: list[int]) -> str:
    """For a card: "On rank 1." or "On ranks 0, 1 and 3." """
    return f"On {list_ranks(ranks)}."


def describe_messages(run: Run) -> str:
    """For a card: "rank 0 sent 1 message to rank 1; rank 2 sent 3 messages to rank 0"."""
    pairs: dict[tuple[int, int | None], int] = {}
    for e in messages(run):
        pairs[e.rank, e.peer] = pairs.get((e.rank, e.peer), 0) + 1
    words = [f"rank {a} sent {n} message{'s' if n > 1 else ''} to rank {b}" for (a, b), n in sorted(pairs.items(), key=str)]
    return ("; ".join(words) or "no message was sent") + "."


def collectives_called(run: Run) -> str:
    """Names of the collectives of a run, or an empty string."""
    return ", ".join(sorted({name for r in run.ranks for name in r.collectives}))


class WhoAmI(Exercise):
    """Who am I?"""

    unit = UNIT
    function = "who_am_i"
    signature = "who_am_i() -> tuple[int, int]"
    talks = False  # every rank knows it by itself
    levels = {"any number of ranks": 1}
    diagnoses = {
        "swapped": Diagnosis(
            "You returned the number of ranks first and the rank second.", "Return `rank, world_size` in this order."
        ),
        "counts_from_one": Diagnosis("Ranks are counted from 0: the first is rank 0, the last is rank world_size - 1."),
        "always_rank_zero": Diagnosis(
            "Every rank says that it is rank 0.", "Ask `dist.get_rank()`: it answers differently on every rank."
        ),
        "last_rank": Diagnosis(
            "The second number is the highest rank, not how many ranks there are.",
            "`dist.get_world_size()` is the highest rank plus one.",
        ),
        "always_four": Diagnosis(
            "The number of ranks is written down as 4, but a program has as many ranks as it was started with."
        ),
        "always_two": Diagnosis(
            "The number of ranks is written down as 2, but a program has as many ranks as it was started with."
        ),
        "rank_zero_only": Diagnosis(
            "Only rank 0 returned something.", "All ranks run the same function, and all of them have an answer to give."
        ),
    }

    def cases(self, rng):
        return [Case("any number of ranks", p, ()) for p in (2, 4, 3, 5)]

    def expected(self, case):
        return [(r, case.world_size) for r in range(case.world_size)]

    def misconceptions(self, case):
        p = case.world_size
        return {
            "swapped": [(p, r) for r in range(p)],
            "counts_from_one": [(r + 1, p) for r in range(p)],
            "always_rank_zero": [(0, p)] * p,
            "last_rank": [(r, p - 1) for r in range(p)],
            "always_four": None if p in (4, 5) else [(r, 4) for r in range(p)],  # on 5 ranks it looks like `last_rank`
            "always_two": None if p in (2, 3) else [(r, 2) for r in range(p)],
            "rank_zero_only": [(0, p)] + [None] * (p - 1),
        }


# What the network sees of `isend(...).wait()` is what it sees of `send`. So the calls are counted: `calls` is [blocking, not blocking].
COUNTING = """
import contextlib

import torch.distributed as dist
from torch.distributed import distributed_c10d


def harness(f, value, source, destination, calls):
    with counted(f, calls):
        return f(value, source, destination)


@contextlib.contextmanager
def counted(f, calls):
    inside = []

    def counting(original, which):
        def call(*arguments, **options):
            calls[which] += not inside  # `send` may be made of `isend`
            inside.append(which)
            try:
                return original(*arguments, **options)
            finally:
                inside.pop()

        return call

    names = {"send": 0, "recv": 0, "isend": 1, "irecv": 1, "batch_isend_irecv": 1}
    originals = {name: getattr(dist, name) for name in names}
    wrappers = {name: counting(original, names[name]) for name, original in originals.items()}
    places = [vars(dist), vars(distributed_c10d), f.__globals__]
    found = [(place, key, name) for place in places for key, held in list(place.items())
             for name, original in originals.items() if held is original]
    for place, key, name in found:
        place[key] = wrappers[name]
    try:
        yield
    finally:
        for place, key, name in found:
            place[key] = originals[name]
"""


def calls_counted(run: Run) -> list[tuple[int, int]]:
    """Per rank, how many blocking and how many other calls `COUNTING` has seen."""
    return [tuple(int(number) for number in np.asarray(rank.after[3])) for rank in run.ranks]


class SendMatrix(Exercise):
    """One matrix from one rank to another"""

    unit = UNIT
    function = "send_matrix"
    signature = "send_matrix(value: float, source: int, destination: int) -> torch.Tensor"
    levels = {"from rank 0 to rank 1": 1, "between any two ranks": 1}
    inputs = "free"
    harness = COUNTING
    may_lose = {
        "int64": "the only integers handed out are the harness' own, which counts calls",
        "integers of both widths": "the only integers handed out are the harness' own, which counts calls",
    }
    diagnoses = {
        "everybody_has_it": Diagnosis(
            "Every rank holds the filled matrix.",
            "Only the source fills its matrix; the others start from zeros, and only the destination receives.",
        ),
        "always_ones": Diagnosis("The matrix is filled with ones, whatever `value` is.", "torch.full((3, 4), value)"),
        "zero_to_one": Diagnosis(
            "Ranks 0 and 1 are written into the code. The matrix is to travel from `source` to `destination`, "
            "whichever they are.",
            "Compare the rank with the two arguments: `if rank == source: ... elif rank == destination: ...`.",
        ),
        "wrong_way": Diagnosis(
            "The message ran the wrong way, from the destination to the source.",
            "The source calls send(..., dst=destination), the destination recv(..., src=source).",
        ),
        "not_received": Diagnosis(
            "The message arrived, but the destination returned zeros: it went into another tensor, or was "
            "overwritten afterwards.",
            "recv fills the tensor it is given (it returns the sender's rank, not the data): return that tensor.",
        ),
        "no_message": Diagnosis(
            "No message was sent: the destination must get its numbers from the source, not make them itself."
        ),
        "more_than_one_message": Diagnosis(
            "The matrix is to travel as one message, and no other rank takes part.", "send takes a tensor of any shape."
        ),
        "only_a_part_sent": Diagnosis(
            "The message was smaller than the matrix: the destination made up the rest itself.",
            "Send the whole 3 x 4 tensor, 12 numbers of 4 bytes.",
        ),
        "uses_collective": COLLECTIVE,
        "forgot_wait": NOT_WAITED,
        "not_blocking": Diagnosis(
            "The matrix arrived, but by isend or irecv. Here the calls block: the next line runs when the message is complete.",
            "`dist.send(matrix, dst=destination)`, `dist.recv(matrix, src=source)`. The next exercise does without blocking.",
        ),
        "returned_early": PARTNER_RETURNED,
        "mismatched_tag": WRONG_TAG,
        "deadlock": Diagnosis(
            "Ranks wait in recv for a message that nobody can send, because the sender waits as well.",
            "Exactly one rank sends (the source) and exactly one receives (the destination).",
        ),
        "unsafe_send": Diagnosis(
            "Ranks wait in a send that nobody receives.",
            "Exactly one rank sends (the source) and exactly one receives (the destination).",
        ),
    }

    def cases(self, rng):
        first, other = self.levels
        values = [float(v) for v in rng.permutation(np.arange(2, 100))[:4]]
        return [
            Case(first, 2, (1.0, 0, 1, np.zeros(2, np.int64)), "ones, 0 -> 1"),
            Case(first, 4, (1.0, 0, 1, np.zeros(2, np.int64)), "ones, 0 -> 1"),
            Case(other, 3, (values[0], 2, 0, np.zeros(2, np.int64)), "2 -> 0"),
            Case(other, 4, (values[1], 1, 3, np.zeros(2, np.int64)), "1 -> 3"),
            Case(other, 5, (values[2], 4, 2, np.zeros(2, np.int64)), "4 -> 2"),
            Case(other, 2, (values[3], 1, 0, np.zeros(2, np.int64)), "1 -> 0"),
        ]

    def expected(self, case):
        value, source, destination = case.arguments[:3]
        return [full(value if r in (source, destination) else 0) for r in range(case.world_size)]

    def misconceptions(self, case):
        value, source, destination = case.arguments[:3]
        p = case.world_size
        return {
            "everybody_has_it": [full(value)] * p if p > 2 else None,
            "zero_to_one": [full(value if r < 2 else 0) for r in range(p)] if {source, destination} != {0, 1} else None,
            "always_ones": [full(1 if r in (source, destination) else 0) for r in range(p)] if value != 1 else None,
        }

    def needs_bytes(self, case):
        """The destination is told `value`, too, but the numbers it returns must come from the source."""
        return [full(0).values.nbytes if r == case.arguments[2] else 0 for r in range(case.world_size)]

    def facts(self, case, run):
        value, source, destination = case.arguments[:3]
        found = wrong_messages(run, source, destination)
        if found is None and any(others for _, others in calls_counted(run)):
            return Finding("not_blocking")
        if found is None and _is_full(run.ranks[source].value, value) and _is_full(run.ranks[destination].value, 0):
            return Finding("not_received", describe_messages(run))
        return found


def wrong_messages(run: Run, source: int, destination: int) -> Finding | None:
    """What is wrong with the messages of a run that should consist of exactly one, from `source` to `destination`."""
    sent = [(e.rank, e.peer) for e in messages(run)]
    if collectives_called(run):
        return Finding("uses_collective", f"{collectives_called(run)} was called.")
    if never_waited(run):
        return Finding("forgot_wait", on_ranks(never_waited(run)))
    if not sent:
        return Finding("no_message")
    if (source, destination) not in sent:
        return Finding("wrong_way" if (destination, source) in sent else "zero_to_one", describe_messages(run))
    if len(sent) > 1:
        return Finding("more_than_one_message", describe_messages(run))
    if run.ranks[source].sent_bytes < full(0).values.nbytes:
        return Finding("only_a_part_sent", f"The message had {run.ranks[source].sent_bytes} bytes.")
    return None


def _is_full(value, number: float) -> bool:
    values = getattr(value, "values", value)
    return isinstance(values, np.ndarray) and values.shape == (3, 4) and bool((values == number).all())


class MoveMatrix(Exercise):
    """The same without blocking, and the buffer used again"""

    unit = UNIT
    function = "move_matrix"
    signature = "move_matrix(value: float, source: int, destination: int) -> torch.Tensor"
    levels = {"from rank 0 to rank 1": 1, "between any two ranks": 1}
    inputs = "free"
    harness = COUNTING
    may_lose = {
        "int64": "the only integers handed out are the harness' own, which counts calls",
        "integers of both widths": "the only integers handed out are the harness' own, which counts calls",
    }
    diagnoses = {
        "not_cleared": Diagnosis(
            "The source still holds the matrix: this copied it, and did not move it.",
            "After wait() has returned, fill the source's tensor with zeros.",
        ),
        "everybody_has_it": Diagnosis(
            "Every rank holds the filled matrix.",
            "Only the source fills its matrix, and in the end only the destination holds it.",
        ),
        "always_ones": SendMatrix.diagnoses["always_ones"],
        "zero_to_one": SendMatrix.diagnoses["zero_to_one"],
        "forgot_wait": NOT_WAITED,
        "not_received": SendMatrix.diagnoses["not_received"],
        "blocking": Diagnosis(
            "The matrix arrived, but by send or recv, which wait until the message is complete.",
            "`request = dist.isend(...)` or `dist.irecv(...)` starts the message, `request.wait()` waits for it.",
        ),
        "reused_buffer": Diagnosis(
            "The source wrote to its tensor between isend and wait(): the destination may get the old numbers or the new ones.",
            "Until wait() has returned the tensor belongs to the message. Wait first, then fill it with zeros.",
        ),
        "wrong_way": Diagnosis(
            "The message ran the wrong way, from the destination to the source.", "isend on the source, irecv on the destination."
        ),
        "no_message": SendMatrix.diagnoses["no_message"],
        "more_than_one_message": SendMatrix.diagnoses["more_than_one_message"],
        "only_a_part_sent": SendMatrix.diagnoses["only_a_part_sent"],
        "uses_collective": COLLECTIVE,
        "returned_early": PARTNER_RETURNED,
        "mismatched_tag": WRONG_TAG,
    }

    def cases(self, rng):
        first, other = self.levels
        values = [float(v) for v in rng.permutation(np.arange(2, 100))[:3]]
        return [
            Case(first, 4, (1.0, 0, 1, np.zeros(2, np.int64)), "ones, 0 -> 1"),
            Case(first, 2, (1.0, 0, 1, np.zeros(2, np.int64)), "ones, 0 -> 1"),
            Case(other, 3, (values[0], 2, 0, np.zeros(2, np.int64)), "2 -> 0"),
            Case(other, 4, (values[1], 1, 3, np.zeros(2, np.int64)), "1 -> 3"),
            Case(other, 5, (values[2], 4, 2, np.zeros(2, np.int64)), "4 -> 2"),
        ]

    def expected(self, case):
        value, source, destination = case.arguments[:3]
        return [full(value if r == destination else 0) for r in range(case.world_size)]

    def misconceptions(self, case):
        value, source, destination = case.arguments[:3]
        p = case.world_size
        return {
            "not_cleared": [full(value if r in (source, destination) else 0) for r in range(p)],
            "everybody_has_it": [full(value)] * p if p > 2 else None,
            "zero_to_one": [full(value if r == 1 else 0) for r in range(p)] if destination != 1 and source != 1 else None,
            "always_ones": [full(1 if r == destination else 0) for r in range(p)] if value != 1 else None,
        }

    def needs_bytes(self, case):
        """The destination is told `value`, too, but the numbers it returns must come from the source."""
        return [full(0).values.nbytes if r == case.arguments[2] else 0 for r in range(case.world_size)]

    def facts(self, case, run):
        _, source, destination = case.arguments[:3]
        found = wrong_messages(run, source, destination)
        if found is None and any(blocking for blocking, _ in calls_counted(run)):
            return Finding("blocking")
        if found is None and _is_full(run.ranks[destination].value, 0):
            return Finding("not_received", describe_messages(run))
        return found


class PrintInTurn(Exercise):
    """Printing in turn"""

    unit = UNIT
    function = "print_in_turn"
    signature = "print_in_turn(line: str) -> None"
    levels = {"in order": 1, "with slow ranks": 1}
    inputs = "free"
    diagnoses = {
        "out_of_order": Diagnosis(
            "The lines came out in another order than the ranks. Nothing made a rank wait for the line before its "
            "own: starting first is luck.",
            "Rank 0 prints and then sends a token to rank 1; every other rank first receives it from the left, "
            "prints, and passes it on.",
        ),
        "not_while_holding_the_token": Diagnosis(
            "The token goes round, but a rank does not print while it holds it, so it can be overtaken by the next one.",
            "Receive, print, send, in this order.",
        ),
        "not_printed": Diagnosis("Some ranks printed nothing.", "Every rank prints its own line, the first and the last too."),
        "printed_twice": Diagnosis("Some ranks printed more than their one line."),
        "printed_by_another": Diagnosis(
            "Each rank is to print its own line. Here one rank printed for others.", "Send a token, not the text."
        ),
        "wrong_text": Diagnosis("A rank printed something else than its line.", "Print `line` alone: `print(line)`."),
        "uses_collective": Diagnosis(
            "The ranks were put in order by a collective, which makes all of them wait for all. Here a rank waits "
            "only for the one before it.",
            "Pass a token from rank to rank with send and recv.",
        ),
        "returned_early": PARTNER_RETURNED,
        "deadlock": Diagnosis(
            "Every rank waits for the token, and nobody has it: somebody must start.",
            "Rank 0 does not receive: it prints at once and sends the token to rank 1.",
        ),
        "mismatched_tag": WRONG_TAG,
        "forgot_wait": NOT_WAITED,
    }

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
        ]

    def expected(self, case):
        return [ANYTHING] * case.world_size

    def facts(self, case, run):
        p = case.world_size
        own = [case.arguments_of(r)[0] for r in range(p)]
        printed = [(r, line.strip()) for r, line in run.printed if line.strip()]
        if collectives_called(run):
            return Finding("uses_collective", f"{collectives_called(run)} was called.")
        if any(text in own and own.index(text) != r for r, text in printed):
            return Finding("printed_by_another")
        count = [sum(rank == r for rank, _ in printed) for r in range(p)]
        if 0 in count:
            return Finding("not_printed", f"Rank {count.index(0)} printed nothing.")
        if any(text != own[r] for r, text in printed):
            rank, text = next((r, text) for r, text in printed if text != own[r])
            return Finding("wrong_text", f'Rank {rank} printed "{text[:60]}".')
        if max(count) > 1:
            return Finding("printed_twice", f"Rank {count.index(max(count))} printed {max(count)} lines.")
        order = [r for r, _ in printed]
        if order == list(range(p)):
            return Finding("forgot_wait") if never_waited(run) and not messages(run) else None
        detail = f"The lines came from ranks {', '.join(map(str, order))}."
        token = {(e.rank, e.peer) for e in messages(run)} >= {(r, r + 1) for r in range(p - 1)}
        return Finding("not_while_holding_the_token" if token else "out_of_order", detail)


class FitAlphaBeta(Exercise):
    """Latency and bandwidth from ping-pong times"""

    unit = UNIT
    function = "fit_alpha_beta"
    signature = "fit_alpha_beta(sizes_bytes, round_trip_s) -> tuple[float, float]"
    levels = {"times on a line": 1, "scattered times": 1}
    runtime = "plain"
    may_lose = {
        "float64": "times are measured to three digits or four, and so is the fit",
        "int64": "sizes of messages enter a fit, in floating point",
        "integers of both widths": "sizes of messages enter a fit, in floating point",
    }
    diagnoses = {
        "round_trip": Diagnosis(
            "These are the numbers of the round trip: the message went there and came back.",
            "One way takes half: divide the times by 2 before the fit.",
        ),
        "halved_twice": Diagnosis(
            "Both numbers are half of what they should be.", "Divide by 2 once, either the times or the results."
        ),
        "doubled": Diagnosis("The times were multiplied by 2. One way takes half of the round trip.", "Divide by 2."),
        "swapped_round_trip": Diagnosis(
            "You returned (beta, alpha), and both of the round trip.", "Halve the times before the fit, and return alpha first."
        ),
        "alpha_in_microseconds": Diagnosis("Alpha is given in microseconds, but is due in seconds, as the times are."),
        "only_alpha_halved": Diagnosis(
            "Alpha is that of one way, but beta is still that of the round trip.",
            "Halve the times before the fit: both numbers follow.",
        ),
        "only_beta_halved": Diagnosis(
            "Beta is that of one way, but alpha is still that of the round trip.",
            "Halve the times before the fit: both numbers follow.",
        ),
        "swapped": Diagnosis(
            "You returned (beta, alpha). `np.polyfit` gives the slope first.",
            "alpha is the value at size 0, beta the slope; return alpha first.",
        ),
        "bandwidth": Diagnosis("The second number is the bandwidth in bytes per second; beta is its inverse, seconds per byte."),
        "bits": Diagnosis("Beta is given per bit. The sizes are bytes, and beta is seconds per byte, 8 times as much."),
        "microseconds": Diagnosis(
            "The times are given in seconds, and both numbers are due in seconds. You returned microseconds."
        ),
        "smallest_message": Diagnosis(
            "Alpha is the time of the smallest message measured, which still contains its bytes.",
            "Alpha is where the line meets size 0.",
        ),
        "through_zero": Diagnosis(
            "The second number is time divided by size, as if a message of no bytes took no time.",
            "Fit a line with both numbers free: t(n) = alpha + beta n.",
        ),
        "two_points": Diagnosis(
            "The line goes through the first and the last point only, so all other measurements are wasted, and the "
            "scatter of those two goes straight into the result.",
            "Fit all points by least squares, for example with `np.polyfit(sizes_bytes, times, 1)`.",
        ),
    }

    def cases(self, rng):
        exact, scattered = self.levels
        found = []
        for level in (exact, exact, scattered):
            alpha = float(rng.uniform(2e-6, 9e-6))
            beta = float(rng.uniform(0.5e-10, 4e-10))
            n = alpha / beta  # the size at which latency and transfer cost the same
            if level == scattered:
                sizes = np.round(n * np.linspace(0.5, 4.5, 101)).astype(np.int64)
                times = 2 * (alpha + beta * sizes)
                times[[0, -1]] *= 1.25, 0.85
                times[1:-1] *= 1 + 0.002 * rng.choice([-1, 1], size=99)
                says, rtol = "101 sizes, two odd measurements", 0.12
            else:
                sizes = np.round(n * np.array([0.5, 1, 2, 4, 8, 16])).astype(np.int64)
                if found:  # the second case: another order, one size measured twice
                    sizes = sizes[[3, 0, 5, 2, 1, 4, 3]]
                times, says, rtol = 2 * (alpha + beta * sizes), f"{len(sizes)} sizes", 1e-3
            known = {"alpha": alpha, "beta": beta, "sizes": sizes, "times": times}
            found.append(Case(level, 1, (sizes, times), says, known=known, rtol=rtol, atol=0.0))
        return found

    def expected(self, case):
        return [(case.known["alpha"], case.known["beta"])]

    def misconceptions(self, case):
        alpha, beta, sizes, times = (case.known[k] for k in ("alpha", "beta", "sizes", "times"))
        exact = case.level == list(self.levels)[0]
        slope = (times[-1] - times[0]) / (sizes[-1] - sizes[0]) / 2 if sizes[-1] != sizes[0] else None
        values = {
            "round_trip": (2 * alpha, 2 * beta),
            "halved_twice": (alpha / 2, beta / 2),
            "doubled": (4 * alpha, 4 * beta),
            "swapped_round_trip": (2 * beta, 2 * alpha),
            "alpha_in_microseconds": (1e6 * alpha, beta),
            "only_alpha_halved": (alpha, 2 * beta),
            "only_beta_halved": (2 * alpha, beta),
            "swapped": (beta, alpha),
            "bandwidth": (alpha, 1 / beta),
            "bits": (alpha, beta / 8),
            "microseconds": (1e6 * alpha, 1e6 * beta),
            "smallest_message": (float(times.min() / 2), beta),
            "through_zero": (alpha, float(np.mean(times / 2 / sizes))),
            "two_points": None if exact else (float(times[0] / 2 - slope * sizes[0]), float(slope)),
        }
        return {name: None if value is None else [value] for name, value in values.items()}


class Exchange(Exercise):
    """Exchange with a partner"""

    unit = UNIT
    function = "exchange"
    signature = "exchange(x: torch.Tensor, partner: int) -> torch.Tensor"
    levels = {"neighbours": 1, "any partners": 1}
    diagnoses = {
        "keeps_own": Diagnosis(
            "Every rank returned its own tensor.",
            "Receive into a second tensor, for example torch.empty_like(x), and return that.",
        ),
        "one_way": Diagnosis(
            "The data went one way only: from the smaller rank of each pair to the larger.", "Both send, and both receive."
        ),
        "assumes_neighbour": Diagnosis(
            "Ranks 0 and 1, 2 and 3 ... exchanged. Who belongs to whom is said by `partner`.",
            "Send to `partner` and receive from `partner`.",
        ),
        "through_float": Diagnosis(
            "The numbers went through float32 on their way, which keeps about 7 digits: the last ones are lost.",
            "torch.empty_like(x) has the dtype of x: send x as it is.",
        ),
        "nothing_for_the_single": Diagnosis(
            "A rank that is its own partner returned zeros. It has nobody to talk to: its answer is its own data.",
            "`if partner == rank: return x.clone()`.",
        ),
        "not_received": Diagnosis(
            "The tensor that is returned is not the one that the message went into.",
            "recv fills the tensor it is given: return that one.",
        ),
        "forgot_wait": NOT_WAITED,
        "uses_collective": COLLECTIVE,
        "reused_buffer": Diagnosis(
            "A rank received into the tensor it was still sending: the partner may get its own numbers back.",
            "Receive into a second tensor: `y = torch.empty_like(x)`.",
        ),
        "talks_to_others": Diagnosis("A rank sent to somebody who is not its partner."),
        "deadlock": Diagnosis(
            "Partners wait for each other: each is in a recv, and the send it needs comes later in the other's program.",
            "Let one of the two send first (the one with the smaller rank), or start the receive with irecv and send "
            "while it is open. "
            "Even and odd do not settle it here: partners may both be even.",
        ),
        "unsafe_send": Diagnosis(
            "Both partners send first, and each waits for the other to receive. With small messages you may be "
            "lucky: the MPI library buffers them.",
            "Let one of the two receive first (the one with the larger rank), or use isend. Even and odd do not "
            "settle it here: partners may both be even.",
        ),
        "returned_early": PARTNER_RETURNED,
        "mismatched_tag": Diagnosis(
            "The two partners use different tags. A tag made from the own rank differs on the two sides.",
            "Leave the tag out, or make it from both ranks, for example min(rank, partner).",
        ),
        "mismatched_dtype": Diagnosis(
            "The tensor to receive into has another dtype than the one that was sent.",
            "torch.empty_like(x) has the shape and the dtype of x.",
        ),
        "mismatched_shape": Diagnosis(
            "The tensor to receive into has another number of elements than the one that was sent.",
            "torch.empty_like(x) has the shape and the dtype of x.",
        ),
    }

    def cases(self, rng):
        near, any_ = self.levels
        return [
            self._case(rng, near, [1, 0], "float32", (4,), "0 <-> 1"),
            self._case(rng, near, [1, 0, 3, 2], "float64", (2, 3), "0 <-> 1, 2 <-> 3"),
            self._case(rng, any_, [2, 3, 0, 1], "int64", (5,), "0 <-> 2, 1 <-> 3, int64"),
            self._case(rng, any_, [2, 1, 0], "int32", (3,), "0 <-> 2, 1 alone, int32"),
            self._case(rng, any_, [4, 3, 2, 1, 0], "float64", (1,), "0 <-> 4, 1 <-> 3, 2 alone"),
        ]

    def _case(self, rng, level, partners, dtype, shape, says):
        p = len(partners)
        rows = [Tensor(v, dtype) for v in different_numbers(rng, (p, *shape), dtype)]
        return Case(
            level,
            p,
            [(x, partner) for x, partner in zip(rows, partners, strict=True)],
            says,
            known={"rows": rows, "partners": partners},
        )

    def expected(self, case):
        return [case.known["rows"][partner] for partner in case.known["partners"]]

    def misconceptions(self, case):
        rows, partners = case.known["rows"], case.known["partners"]
        p = case.world_size
        zeros = Tensor(np.zeros_like(rows[0].values), rows[0].dtype)
        rounded = [Tensor(row.values.astype("float32").astype(row.dtype), row.dtype) for row in rows]
        alone = [partners[r] == r for r in range(p)]
        neighbours = [r ^ 1 if (r ^ 1) < p else r for r in range(p)]
        return {
            "keeps_own": rows,
            "through_float": [rows[r] if alone[r] else rounded[partners[r]] for r in range(p)]
            if rows[0].dtype != "float32"
            else None,
            "one_way": [rows[partners[r]] if r > partners[r] else rows[r] for r in range(p)],
            "assumes_neighbour": [rows[n] for n in neighbours] if neighbours != partners else None,
            "nothing_for_the_single": [zeros if alone[r] else rows[partners[r]] for r in range(p)] if any(alone) else None,
        }

    def facts(self, case, run):
        partners = case.known["partners"]
        if collectives_called(run):
            return Finding("uses_collective", f"{collectives_called(run)} was called.")
        if never_waited(run):
            return Finding("forgot_wait", on_ranks(never_waited(run)))
        if any(e.peer != partners[e.rank] for e in messages(run)):
            return Finding("talks_to_others", describe_messages(run))
        values = [getattr(r.value, "values", None) for r in run.ranks]
        if all(
            isinstance(v, np.ndarray) and not v.any()
            for v, partner, r in zip(values, partners, range(len(values)), strict=True)
            if partner != r
        ):
            return Finding("not_received")
        return None


class RingPass(Exercise):
    """Once round the ring"""

    unit = UNIT
    function = "ring_pass"
    signature = "ring_pass(x: torch.Tensor) -> torch.Tensor"
    levels = {"a ring of four": 1, "rings of any size": 2}
    diagnoses = {
        "arrival_order": Diagnosis(
            "The rows are in the order in which they arrived, so every rank has another order.",
            "What arrives in step s (counted from 1) started s ranks to the left: it belongs in row (rank - s) % world_size.",
        ),
        "rows_mixed_up": Diagnosis(
            "All rows are there, but not in the order of the ranks.",
            "What arrives in step s (counted from 1) started s ranks to the left: it belongs in row (rank - s) % world_size.",
        ),
        "open_ring": Diagnosis(
            "The last rank never sent to rank 0, so the ring is not closed: this is a chain.",
            "Neighbours are counted modulo the world size: (rank + 1) % world_size and (rank - 1) % world_size.",
        ),
        "other_direction": Diagnosis(
            "Left and right are swapped: the rows are filed as if the values had come the other way round.",
            "Send to (rank + 1) % p, receive from (rank - 1) % p; after s steps you hold the value of (rank - s) % p.",
        ),
        "off_by_one": Diagnosis(
            "The right values arrived, but each was filed one row beside its own: the rows are counted from another step than the values.",
            "What arrives in the first step started one rank to the left: row (rank - 1) % p. Count from 1, or subtract one more.",
        ),
        "one_row_too_far": Diagnosis(
            "The right values arrived, but each was filed one row too far from its place, the last of them over the rank's own row.",
            "What arrives in step s (counted from 1) started s ranks to the left: it belongs in row (rank - s) % world_size.",
        ),
        "only_own": Diagnosis(
            "Only the own row is filled.",
            "In each of the p - 1 steps a rank passes on what it received last, and files what arrives.",
        ),
        "only_neighbour": Diagnosis(
            "Only one step was made: each rank knows its left neighbour's value and no other.",
            "Pass on what arrived, p - 1 times.",
        ),
        "one_step_short": Diagnosis(
            "The last row to arrive is missing: a step was left out.", "A value needs p - 1 steps to reach the last of p ranks."
        ),
        "always_sends_own": Diagnosis(
            "Every step brought the left neighbour's own value again: each rank kept sending its own.",
            "In the next step send what has just arrived.",
        ),
        "own_row_missing": Diagnosis("All rows are there but the rank's own.", "Put x into row `rank` before the first step."),
        "number_of_sends": Diagnosis(
            "The table is right, but a rank made another number of sends than p - 1.",
            "One row is one message: in each of the p - 1 steps a rank sends the row that it received last.",
        ),
        "full_circle": Diagnosis(
            "p steps were made. The last one only brings each value back to where it started.",
            "p - 1 steps are enough: for step in range(p - 1).",
        ),
        "reused_buffer": Diagnosis(
            "A rank received into the tensor it was still sending: its right neighbour may get the old numbers or the new ones.",
            "Use two tensors: send one, receive into the other, and swap their roles when wait() has returned.",
        ),
        "wrong_neighbour": Diagnosis(
            "A rank sent to somebody else than its right neighbour.", "The right neighbour is (rank + 1) % world_size."
        ),
        "uses_collective": COLLECTIVE,
        "forgot_wait": NOT_WAITED,
        "deadlock": Diagnosis(
            "Round the ring each rank waits in a recv, and the send it needs comes later in its left neighbour's program.",
            "Start one side with isend or irecv, do the other, then wait. Or let some ranks send first while their neighbours receive.",
        ),
        "unsafe_send": Diagnosis(
            "Round the ring each rank waits in a send for its right neighbour to receive. With small messages you "
            "may be lucky: the "
            "MPI library buffers them.",
            "Start the send with isend, receive, then wait for it. Or let some ranks receive first.",
        ),
        "returned_early": PARTNER_RETURNED,
        "mismatched_tag": Diagnosis(
            "Sender and receiver use different tags, for example each its own rank.",
            "Leave the tag out: messages between two ranks never overtake each other.",
        ),
        "mismatched_dtype": Diagnosis(
            "The tensor to receive into has another dtype than x.", "torch.empty_like(x) has the shape and the dtype of x."
        ),
        "mismatched_shape": Diagnosis(
            "The tensor to receive into has another number of elements than x.",
            "torch.empty_like(x) has the shape and the dtype of x.",
        ),
    }

    def cases(self, rng):
        four, any_size = self.levels
        return [
            self._case(rng, four, 4, "float64", 2),
            self._case(rng, any_size, 3, "int64", 4),
            self._case(rng, any_size, 2, "float32", 3),
            self._case(rng, any_size, 5, "int32", 1),
        ]

    def _case(self, rng, level, p, dtype, n):
        rows = different_numbers(rng, (p, n), dtype)
        return Case(level, p, [(Tensor(row, dtype),) for row in rows], f"n = {n}, {dtype}", known={"rows": rows, "dtype": dtype})

    def expected(self, case):
        return self._tables(case, lambda r, row: row)

    def misconceptions(self, case):
        p = case.world_size
        found = {
            "arrival_order": self._tables(case, lambda r, row: (r - row) % p),
            "other_direction": self._tables(case, lambda r, row: (2 * r - row) % p),
            "off_by_one": self._tables(case, lambda r, row: None if row == (r + 1) % p else (row - 1) % p),
            "one_row_too_far": self._tables(case, lambda r, row: None if row == (r - 1) % p else (row + 1) % p),
            "only_own": self._tables(case, lambda r, row: r if row == r else None),
            "only_neighbour": self._tables(case, lambda r, row: row if row in (r, (r - 1) % p) else None),
            "one_step_short": self._tables(case, lambda r, row: None if row == (r + 1) % p else row),
            "always_sends_own": self._tables(case, lambda r, row: r if row == r else (r - 1) % p),
            "own_row_missing": self._tables(case, lambda r, row: None if row == r else row),
        }
        same = {
            2: ("one_row_too_far", "other_direction", "only_neighbour", "one_step_short", "always_sends_own"),
            3: ("one_step_short",),
        }
        return {name: None if name in same.get(p, ()) else value for name, value in found.items()}

    def _tables(self, case, origin):
        """Per rank the table whose row `row` holds the values of rank origin(r, row); zeros where that is None."""
        rows = case.known["rows"]

        def table(r):
            sources = [origin(r, row) for row in range(case.world_size)]
            return Tensor(np.stack([np.zeros_like(rows[0]) if s is None else rows[s] for s in sources]), case.known["dtype"])

        return [table(r) for r in range(case.world_size)]

    def facts(self, case, run):
        p = case.world_size
        if collectives_called(run):
            return Finding("uses_collective", f"{collectives_called(run)} was called.")
        if never_waited(run):
            return Finding("forgot_wait", on_ranks(never_waited(run)))
        astray = [e for e in messages(run) if e.peer != (e.rank + 1) % p]
        if astray:
            return Finding("wrong_neighbour", f"Rank {astray[0].rank} sent to rank {astray[0].peer}.")
        sends = [r.sends for r in run.ranks]
        if max(sends) == p:
            return Finding("full_circle", f"Each rank sent {p} messages.")
        if any(sends) and not sends[-1]:
            return Finding("open_ring")
        rows = case.known["rows"]
        tables = [getattr(r.value, "values", None) for r in run.ranks]
        same_rows = all(t is not None and np.array_equal(np.sort(t, axis=0), np.sort(rows, axis=0)) for t in tables)
        right = all(t is not None and np.array_equal(t, rows) for t in tables)
        if same_rows and not right:
            return Finding("rows_mixed_up")
        if right and any(number != p - 1 for number in sends):
            return Finding("number_of_sends", f"Ranks 0, 1, ... sent {', '.join(map(str, sends))} messages; p - 1 is {p - 1}.")
        return None
