"""Unit 19, faults: checkpoints that are never half, other numbers of ranks, stopping together, stragglers, silent
corruption, the interval between checkpoints, and survivors that continue.

A save is killed for real, in a child process, at every byte and before every change of a name; a rank dies for real
(`Case.kills`). What was computed twice shows in the time that the harness charges.
"""

from __future__ import annotations

import math
from functools import partial
from itertools import chain

import numpy as np

from autograder.case import Answer, name_of
from autograder.compare import difference
from autograder.exercise import ANYTHING, Case, Exercise, Finding, Mistake, Run, Tensor
from autograder.exercises.kinds import PlainExercise
from autograder.exercises.readings.faults import (
    bounds,
    dealt_by_number,
    flipped,
    last_of_equals,
    lost_otherwise,
    lost_to,
    owners,
    rest_of_the_epoch,
    stragglers,
    train,
    wall_time,
)
from autograder.exercises.source import harness_of
from autograder.values import full_precision, wide_integers

# -- one file, old or new ----------------------------------------------------------------------------------------------


class WriteWhole(PlainExercise):
    """Atomic write: a file that is never half-written"""

    signature = "write_whole(path: str, data: bytes) -> None"
    withheld = ("labkit.checkpoint.write",)
    apart = True
    levels = {"contents of the file": 1, "killed at any moment": 2, "a power cut": 1}
    given = ("old", "new", "killed")
    # Every trial has a folder and a process of its own. The limit on the size of a file kills it after k bytes of any
    # file, whoever writes them and how; `dies_at` before a change of a name.
    harness = harness_of(__file__, "write_whole")
    mistakes = [
        Mistake("not_there", "After the call the file at `path` does not hold these bytes.",
                "Whatever you do on the way, at the end `path` holds `data`."),
        Mistake("leaves_files", "Another file is left in the folder: it will fill the disk.",
                "`os.replace` renames the new file, so that nothing is left under its first name."),
        Mistake("OSError", "Python stopped at the line above. If it mentions a cross-device link: a file can be "
                "renamed only within one file system, and another folder, such as /tmp, may be on another one.",
                "Write the new file into the folder of `path`."),
        Mistake("forgets_the_rest", "`write` took fewer bytes than it was given, as on a full disk, and the rest was "
                "forgotten: the file is incomplete.",
                "`file.write` of a file from `open(path, \"wb\")` writes everything or raises; `os.write` and "
                "unbuffered files return how many bytes they have written."),
        Mistake("half_a_file", "Killed while it wrote, it left a file at `path` that is neither old nor new.",
                "Write under another name in the same folder, then `os.replace` it."),
        Mistake("nothing_left", "Killed at the wrong moment, it left no file at `path`, where there had been one.",
                "`os.replace` replaces the old file by the new one in a single step. Do not remove the old one "
                "yourself."),
        Mistake("writes_in_place", "A process had the old file open, and its bytes changed while it was reading: the "
                "file was written to, not replaced.",
                "Write under another name in the same folder, then `os.replace` it."),
        Mistake("never_again", "A killed save has left its unfinished file, and the next save fails because of it, or "
                "keeps some of its bytes.",
                "Open the other file with \"wb\": whatever is there is overwritten."),
        Mistake("takes_the_error_for_success", "The disk was full, the write raised an OSError, and the incomplete "
                "file replaced the old one all the same.",
                "Let the exception propagate: no `except` before the replace."),
        Mistake("error_hidden", "The disk was full, and the function returned as if the new file were there: the old "
                "checkpoint is mistaken for the new one.",
                "Let the exception propagate; an `except` that removes the unfinished file ends with `raise`."),
        Mistake("not_on_the_disk", "The new name may be on the disk before the bytes are: after a power cut the file "
                "is empty or incomplete.",
                "Before the replace: `file.flush()`, then `os.fsync(file.fileno())`."),
    ]  # fmt: skip

    def draw(self, rng):
        whole, moment, plug = self.levels
        for level, old, new in ((whole, 9, 6), (whole, 0, 5), (moment, 7, 6), (moment, 0, 4), (plug, 6, 8)):
            content = {name: rng.integers(33, 127, n).tolist() for name, n in (("old", old), ("new", new))}
            content["new"][0] = content["new"][-1] = 10  # a byte is a byte, at the ends, too
            yield level, content | {"killed": level == moment}
        yield whole, {"old": [9] * 6, "new": [10] * 6, "killed": False}  # as long as the old one
        yield whole, {"old": [9] * 6, "new": [], "killed": False}
        yield whole, {"old": [9] * 6, "new": [255, 0, 13, 128, 13, 10], "killed": False}  # no text

    def read_right(self, answer, old, new, killed):
        allowed = {"old" if old else "none", "new"}
        if not isinstance(answer, dict) or answer.get("finished") != "new" or answer["nothing done"]:
            return "not_there"
        if len(answer["left"]) > 1:
            return Finding("leaves_files", f"In the folder: {', '.join(sorted(map(str, answer['left'])))}.")
        if answer["short"]:
            return "forgets_the_rest"
        trials = [("after byte", "bytes"), ("before change of a name", "names"), ("before system call", "moments")]
        for where, name in trials:
            if name == "moments" and answer["open"] != "old":
                return "writes_in_place"
            for k, state in enumerate(answer[name]):
                if state not in allowed:
                    found = "nothing_left" if state == "none" else "half_a_file"
                    return Finding(found, f"Killed {where} {k}: {state}.")
        if "new" != answer["again"] or "new" != answer.get("longer", "new"):
            return "never_again"
        if answer["full"] == "half":
            return "takes_the_error_for_success"
        if answer["hidden"]:
            return "error_hidden"
        return None if answer["synced"] else "not_on_the_disk"

    def facts(self, case: Case, run: Run):
        """The demand of each level: a file that is right, and then one that is so at every moment."""
        found = super().facts(case, run)
        name = getattr(found, "diagnosis", found)
        later = [m.name for m in self.mistakes[{0: 3, 1: 10, 2: 11}[list(self.levels).index(case.level)] :]]
        return None if name in later else found


class SaveInBackground(PlainExercise):
    """Saving in the background"""

    signature = "save_in_background(state: dict, write: Callable) -> Callable"
    levels = {"a copy of the state": 2, "training does not wait": 1, "errors are reported": 1}
    given = ("values", "momentum", "step", "fails")
    harness = harness_of(__file__, "save_in_background")
    mistakes = [
        Mistake("never_written", "`write` was not called, or more than once.", "Call it once, in a thread."),
        Mistake("written_later", "What was written is not the state at the moment of the call: training continued to "
                "change the same memory.",
                "Copy first: clone every tensor, however deeply it is nested (`copy.deepcopy`)."),
        Mistake("tensors_not_copied", "The dicts were copied, but tensors or lists in them share the same memory.",
                "`dict(state)` copies names, not numbers: copy every list and clone every tensor, whatever its dtype "
                "(`copy.deepcopy`)."),
        Mistake("not_a_copy", "`write` got something other than the state: other names, types or dtypes.",
                "Pass the same dicts and lists, with tensors of the same dtype and the same numbers "
                "(`copy.deepcopy`)."),
        Mistake("begins_when_waited_for", "Nothing was written before the caller waited for it: nothing was gained.",
                "Start the thread immediately: `thread.start()`."),
        Mistake("waits_for_the_disk", "The function returned only after everything had been written: nothing was "
                "gained.",
                "Start a thread and return; the function that you return waits for the thread."),
        Mistake("does_not_wait", "The function that you returned came back before the state had been written.",
                "`thread.join()`."),
        Mistake("error_lost", "The write failed, and nobody was told: the old checkpoint is mistaken for the new one.",
                "Keep the exception and raise it when the caller waits. `concurrent.futures` does that: "
                "`future.result()`."),
        Mistake("another_error", "What the caller got is not the exception that `write` raised, but a new one: its "
                "error number, for example, is lost.",
                "Keep the exception itself, and raise it: `raise failed[0]`."),
        Mistake("error_of_another_save", "A save went well, and the error of another one was raised for it.",
                "Keep the exception in a variable of this call, not of the module."),
        Mistake("one_memory_for_all", "A second save began while the first was still being written, and one of them "
                "wrote the state of the other.",
                "Each call needs its own copy and its own thread."),
        Mistake("one_after_the_other", "A save was begun while another was still being written, and had to wait until "
                "that one was done.",
                "A thread for each save: in a pool that all saves share, a save waits until a worker is free."),
    ]  # fmt: skip

    def draw(self, rng):
        moment, nobody, error = self.levels
        for level, fails in ((moment, ""), (nobody, ""), (error, "OSError"), (error, "another")):
            values = [full_precision(rng, -1, 1, (3,)).tolist() for _ in range(2)]
            yield level, {"values": values[0], "momentum": values[1], "step": int(rng.integers(9, 99)), "fails": fails}

    def read_right(self, answer, values, momentum, step, fails):
        wrote = answer.get("wrote", []) if isinstance(answer, dict) else []
        right = [values, momentum, step, [[1, 2], [[1.0, 1.0], [2.0, 2.0]], [0.5, 0.25]]]
        if len(wrote) != 1:
            return "never_written"
        if answer["returned"] == "after the write":
            return "waits_for_the_disk"
        if difference(right, wrote[0]) is not None:
            return "tensors_not_copied" if wrote[0][2] == step else "written_later"
        if not answer["same"]:
            return "not_a_copy"
        if not answer["begins"]:
            return "begins_when_waited_for"
        if not answer["done"]:
            return "does_not_wait"
        if fails and answer["heard"] == "nothing":
            return "error_lost"
        if fails and answer["heard"] == "another error":
            return "another_error"
        if fails:
            apart = answer["apart"] == ["nothing", "the error"]
            return None if apart and "an exception" not in answer["next"] else "error_of_another_save"
        if answer["next"] != [1, 2]:
            return "one_memory_for_all"
        return None if answer["together"] else "one_after_the_other"

    def facts(self, case: Case, run: Run):
        found = super().facts(case, run)
        moment = list(self.levels)[0]
        of_waiting = ("waits_for_the_disk", "begins_when_waited_for", "one_after_the_other")
        return None if case.level == moment and found in of_waiting else found


# -- another number of ranks -------------------------------------------------------------------------------------------


class ResumeOrder(PlainExercise):
    """The rest of the epoch on a different number of ranks"""

    signature = (
        "resume_order(order: list[int], step: int, per_rank: int, old: int, rank: int, world_size: int)"
        " -> list[list[int]]"
    )
    given = ("order", "step", "per_rank", "old", "world_size")
    levels = {"the same number of ranks": 1, "another number of ranks": 2}
    mistakes = [
        Mistake("not_lists", "A rank did not return one list of samples for each step that is left.",
                "A list of lists: this rank's samples of each step."),
        Mistake("restarts_epoch", "The epoch starts over: samples that were used before the stop are used twice.",
                "step * per_rank * old samples of the order are used up."),
        Mistake("position_of_new_ranks", "The position in the order was computed with the new number of ranks: samples "
                "are used twice, or never.",
                "Before the stop every step took per_rank * old samples."),
        Mistake("other_batch", "The global minibatch has changed with the number of ranks: that is a different "
                "training run.",
                "Keep it at per_rank * old samples; each rank takes a different part of it."),
        Mistake("drops_the_rest", "Samples of a minibatch are lost where the number of ranks does not divide it.",
                "The shares may differ by one: `batch[rank::world_size]` loses no sample."),
        Mistake("fills_up", "Where the number of ranks does not divide a minibatch, some of its samples are taken "
                "twice, so that all ranks have the same number.",
                "Use every sample once; the shares may differ by one: `batch[rank::world_size]`."),
        Mistake("no_empty_list", "A rank without a sample in a step left this step out: the ranks take different "
                "numbers of steps, and some wait forever.",
                "Return an empty list for such a step."),
        Mistake("drops_the_last", "The last, smaller minibatch is missing.",
                "It counts as a step, too."),
        Mistake("same_on_all", "All ranks take the same samples.", "Each takes its own share of the minibatch."),
        Mistake("uneven", "Some ranks take more than one sample more than others.",
                "`batch[rank::world_size]`, or shares as in unit 01."),
        Mistake("other_samples", "Together the ranks do not take the samples that uninterrupted training takes in this "
                "step.",
                "Step k after the stop takes the k-th minibatch after those that have been used."),
    ]  # fmt: skip

    def draw(self, rng):
        same, other = self.levels
        for level, n, step, per_rank, old, p in (
            (same, 24, 2, 2, 3, 3),
            (same, 23, 1, 4, 2, 2),
            (other, 32, 2, 2, 4, 2),
            (other, 29, 2, 3, 2, 4),
            (other, 37, 3, 2, 4, 3),
            (other, 20, 0, 2, 3, 2),
            (other, 11, 1, 2, 4, 1),
            (other, 24, 3, 4, 2, 3),
            (other, 25, 2, 2, 4, 5),  # the last step has one sample
            (other, 65, 1, 5, 5, 11),  # and here 15: 11 * (15 / 11) < 15 in floating point
            (same, 21, 1, 4, 2, 2),  # the last step has 5: 3 and 2, not 4 and 1
        ):
            order = (rng.permutation(n) + 100).tolist()
            yield level, {"order": order, "step": step, "per_rank": per_rank, "old": old, "world_size": p}

    def read_right(self, answer, order, step, per_rank, old, world_size):
        p, batch = world_size, per_rank * old
        right = rest_of_the_epoch(order, step * batch, batch)
        found = self._shape(answer, p)
        if found is None:
            return "not_lists"
        together = [sorted(chain.from_iterable(parts)) for parts in zip(*found, strict=False)]
        wanted = [sorted(one) for one in right]
        uneven = any(max(map(len, parts)) - min(map(len, parts)) > 1 for parts in zip(*found, strict=False))
        if len({len(mine) for mine in found}) == 1 and together == wanted:
            return "uneven" if uneven else None
        if p > 1 and all(mine == found[0] for mine in found) and any(found[0]):
            return "same_on_all"
        dealt = sorted(chain.from_iterable(chain.from_iterable(found)))
        if len({len(mine) for mine in found}) > 1 and dealt == sorted(chain.from_iterable(right)):
            return "no_empty_list"

        def batches(begin, size):
            return [sorted(one) for one in rest_of_the_epoch(order, begin, size)]

        if step and together == batches(0, batch):
            return "restarts_epoch"
        if old != p and step and together in (batches(step * per_rank * p, size) for size in (batch, per_rank * p)):
            return "position_of_new_ranks"
        if old != p and together == batches(step * batch, per_rank * p):
            return "other_batch"
        if together == [one for one in wanted if len(one) == batch] != wanted:
            return "drops_the_last"
        if [sorted(set(one)) for one in together] == wanted and together != wanted:
            return "fills_up"
        fewer = len(together) == len(wanted) and all(
            set(a) <= set(b) for a, b in zip(together, wanted, strict=True)
        )  # fmt: skip
        return "drops_the_rest" if fewer else "other_samples"

    @staticmethod
    def _shape(answer, p):
        if not isinstance(answer, list) or len(answer) != p:
            return None
        for mine in answer:
            if not isinstance(mine, list) or not all(isinstance(one, list) for one in mine):
                return None
            if not all(isinstance(k, int) for one in mine for k in one):
                return None
        return answer


class Reshard(Exercise):
    """Resharding for a different number of ranks"""

    signature = "reshard(shard: torch.Tensor, n: int, old: int, new: int) -> torch.Tensor"
    never_alone = "it goes from one number of ranks to another"
    levels = {"everything arrives": 2, "minimal traffic": 2}
    mistakes = [
        Mistake("keeps_its_shard", "The function returned the shard that it was given.",
                "Compare where rank r's part begins and ends among `old` and among `new` ranks.",
                lambda c: [c.x[c.a[r] : c.a[r + 1]] for r in range(c.p)]),
        Mistake("equal_shares", "The shares are not those of `tensor_split` where the number of ranks does not divide "
                "n.",
                "The first n % p ranks have one more.",
                lambda c: [c.x[min(r, c.new) * -(-c.n // c.new) : min(r + 1, c.new) * -(-c.n // c.new)]
                           for r in range(c.p)]),
        Mistake("drops_remainder", "Each part has n // new numbers: the last ones are lost.",
                "The first n % new ranks have one more.",
                lambda c: [c.x[r * (c.n // c.new) : (r + 1) * (c.n // c.new)] if r < c.new else c.x[:0]
                           for r in range(c.p)]),
        Mistake("the_whole", "A rank has all numbers: they may not fit.", "Return only this rank's part.",
                lambda c: [c.x] * c.p),
        Mistake("neighbours_only", "Numbers that come from a rank further away than a neighbour are missing.",
                "A new shard may overlap with any of the old ones: compare its bounds with those of all ranks."),
        Mistake("gathers_everything", "The shards are right, but every rank received all of them on the way: sharding "
                "is meant to avoid that.",
                "Send each rank only its own numbers, with `all_to_all` or with messages."),
        Mistake("too_many_bytes", "The shards are right, but more bytes were sent than necessary.",
                "Numbers that a rank keeps are not sent; the others go straight from the old owner to the new one."),
    ]  # fmt: skip

    def cases(self, rng):
        arrive, stays = self.levels
        return [
            self._case(rng, level, *rest)
            for level, *rest in (
                (arrive, 13, 4, 2, "float64", (0,)),
                (arrive, 11, 2, 3, "int64", ()),
                (arrive, 10, 1, 4, "float64", ()),
                (arrive, 3, 2, 4, "float64", (1,)),  # fewer numbers than new ranks
                (arrive, 3, 4, 2, "int32", ()),  # and than old ones
                (stays, 120, 4, 3, "float64", ()),
                (stays, 90, 2, 4, "float64", ()),
                (stays, 50, 3, 1, "int32", ()),  # int64 in its place is too many bytes
                (stays, 50, 3, 1, "float32", ()),  # and so is float64
            )
        ]

    @staticmethod
    def _case(rng, level, n, old, new, dtype, late):
        p = max(old, new)
        x = wide_integers(rng, (n,), dtype) if "int" in dtype else full_precision(rng, -1, 1, (n,)).astype(dtype)
        a, b = ([*map(int, bounds(n, q)), *[n] * (p - q)] for q in (old, new))
        known = {"x": x, "n": n, "old": old, "new": new, "a": a, "b": b, "dtype": dtype}
        arguments = [(Tensor(x[a[r] : a[r + 1]], dtype), n, old, new) for r in range(p)]
        return Case(level, p, arguments, f"n = {n}, {old} -> {new}, {dtype}", known, late=late)

    def per_rank(self, case, value):
        return [Tensor(one, case.known["dtype"]) for one in value]

    def expected(self, case):
        c = self.worked(case)
        return [Tensor(c.x[c.b[r] : c.b[r + 1]], c.dtype) for r in range(c.p)]

    def needs_bytes(self, case):
        """The bytes that lie with another rank."""
        c, size = self.worked(case), np.dtype(case.known["dtype"]).itemsize
        stays = [max(0, min(c.a[r + 1], c.b[r + 1]) - max(c.a[r], c.b[r])) for r in range(c.p)]
        return [size * (c.b[r + 1] - c.b[r] - stays[r]) for r in range(c.p)]

    def facts(self, case: Case, run: Run):
        wrong = [difference(w, r.value) for w, r in zip(self.expected(case), run.ranks, strict=True)]
        if any(wrong):
            return "neighbours_only" if self._only_far_ones_wrong(case, run) else None
        if case.level == list(self.levels)[0]:
            return None
        n, old, new = (case.known[name] for name in ("n", "old", "new"))
        size = case.known["x"].itemsize
        moved = size * int((owners(n, old) != owners(n, new)).sum())
        called = {name for rank in run.ranks for name in rank.collectives} - {"barrier"}
        if any(name.startswith("all_gather") for name in called):
            return "gathers_everything"
        travelled = sum(run.link_bytes.values())
        if called and all(name.startswith("all_to_all") for name in called):
            # of these the relay counts what is handed over, and a rank's own part is among it
            travelled = moved + max(0, sum(rank.collective_bytes for rank in run.ranks) - size * n)
        if travelled > moved + 0.5:
            return Finding("too_many_bytes", f"{travelled:,.0f} B travelled; {moved:,} have to.")
        return None

    def _only_far_ones_wrong(self, case: Case, run: Run) -> bool:
        c = self.worked(case)
        owner = owners(c.n, c.old)
        for r, (right, rank) in enumerate(zip(self.expected(case), run.ranks, strict=True)):
            found = getattr(rank.value, "values", None)
            if np.shape(found) != np.shape(right.values) or rank.value.dtype != right.dtype:
                return False
            if (np.abs(owner[c.b[r] : c.b[r + 1]] - r)[found != right.values] < 2).any():
                return False
        return True


# -- stopping ----------------------------------------------------------------------------------------------------------


class TrainUntilTold(Exercise):
    """All stop, or none"""

    signature = "train_until_told(step: Callable, told: Callable, steps: int) -> int"
    levels = {"the same step on all ranks": 2, "told before the first step, or never": 1, "few bytes": 1}
    harness = harness_of(__file__, "train_until_told")
    mistakes = [
        Mistake("missing_rank", "A rank that was told leaves, and the others wait for it forever in the next step.",
                "Ask all ranks: all-reduce the flag (MAX) before every step, and all leave together."),
        Mistake("asks_one_rank", "Only rank 0 is asked: a signal to another rank is ignored.",
                "A signal may come to any rank: all-reduce the flag with MAX.", lambda c: c.until(c.when[:1])),
        Mistake("exactly_one", "Two ranks were told before the same step, and nobody stopped: the code waits "
                "for exactly one.",
                "Stop for any number but 0: MAX, or a sum > 0.", lambda c: c.until([]) if c.twins else None),
        Mistake("waits_for_all_signals", "Training stops only when every rank has been told.",
                "One is enough: MAX, not MIN.",
                lambda c: c.until([max(c.when) if min(c.when) >= 0 else -1])),
        Mistake("one_step_late", "One more step was taken after a rank was told.", "Ask before each step, the first "
                "one, too.",
                lambda c: c.until([w + 1 for w in c.when if w >= 0])),
        Mistake("never_stops", "The signal is ignored.", "Ask before each step.", lambda c: c.until([])),
        Mistake("wrong_count", "The number of steps that was returned is not the number of steps that were taken.",
                "Count the calls of `step`."),
        Mistake("too_many_bytes", "The ranks stop as they should, but they send more than one number for each step.",
                "One all-reduce of one number before each step."),
    ]  # fmt: skip

    def cases(self, rng):
        same, edge, few = self.levels
        first, second, third, fourth = (int(k) for k in rng.integers(1, 6, 4))
        drawn = [
            (same, [-1, first, -1], 7, ()),
            (same, [-1, -1, second], 7, ()),
            (same, [second + 2, second + 3, second], 9, (2,)),
            (same, [-1, -1, -1, third + 1], 8, (0,)),
            (same, [fourth, -1, fourth], 7, ()),
            (edge, [-1, 0, -1], 5, ()),
            (edge, [-1, -1], 3 + fourth, ()),
            (few, [-1, -1, 3, -1], 4 + first, ()),
            (edge, [4], 5, ()),  # one rank, before the last step
            (edge, [-1], 0, ()),  # nothing is left to do
        ]
        return [self._case(*rest, between=k == 1) for k, rest in enumerate(drawn)]

    @staticmethod
    def _case(level, when, steps, late, between):
        """between: the signal comes while the step before is being decided, where `told` is asked twice."""
        arguments = [(w, steps, between) for w in when]
        says = f"told after {when} steps (-1: never), {steps} steps"
        return Case(level, len(when), arguments, says, {"when": when, "steps": steps}, late=late)

    def worked(self, case):
        c = super().worked(case)
        c.twins = any(c.when.count(w) > 1 for w in c.when if w >= 0)
        c.until = lambda when: [self._report(min([w for w in when if w >= 0] + [c.steps]))] * c.p
        return c

    @staticmethod
    def _report(steps):
        return {"returned": steps, "done": steps}

    def expected(self, case):
        c = self.worked(case)
        return c.until(c.when)

    def needs_bytes(self, case):
        return [int(case.known["steps"] > 0)] * case.world_size

    def facts(self, case: Case, run: Run):
        expected = self.expected(case)[0]["done"]
        values = [rank.value for rank in run.ranks]
        if any(difference(self._report(expected), value) is not None for value in values):
            done = all(isinstance(v, dict) and v.get("done") == expected for v in values)
            return "wrong_count" if done else None
        most = 400 * expected + 8 * (expected + 1)
        given = max(rank.collective_bytes + rank.sent_bytes for rank in run.ranks)
        if case.level == list(self.levels)[2] and given > most:
            return Finding("too_many_bytes", f"A rank handed over {given:,} B; {most:,} would do.")
        return None


# -- stragglers --------------------------------------------------------------------------------------------------------


class Stragglers(PlainExercise):
    """Finding stragglers"""

    signature = "stragglers(times: np.ndarray, k: float) -> list[int]"
    levels = {"one slow rank": 1, "outliers": 2, "no slow rank": 1}
    may_lose = {"float64": "who is slow does not hang on the last digits of a measured time"}
    mistakes = [
        Mistake("nobody_without_spread", "Where most ranks take the same time, the spread is 0, and no rank was "
                "returned.",
                "With a spread of 0, a rank is slow if it is more than 2 % above the centre.",
                lambda c: [] if c.spread == 0 else c.right)
    ] + [
        Mistake(name, why, how, lambda c, slip=slip: stragglers(c.times, c.k, slip))
        for name, slip, why, how in (
            ("mean_of_the_steps", "mean of the steps", "A rank's times were averaged: one long step, in which it wrote "
             "a checkpoint, makes it a straggler.", "Take each rank's median over the steps."),
            ("centre_of_all_steps", "centre of the steps", "The centre is the median of all steps of all ranks.",
             "The median of the ranks' medians."),
            ("upper_median", "upper median", "Of an even number of values the upper one of the two in the middle was "
             "taken: `sorted(x)[len(x) // 2]`.", "The mean of the two: `np.median`, `statistics.median`."),
            ("mean_and_deviation", "mean and deviation", "The limit was computed from mean and standard deviation: "
             "a slow rank raises both, and hides behind them.", "Use the median, and the median of the distances to "
             "it."),
            ("names_the_fast", "fast ones, too", "A rank that is faster than the others was returned.",
             "A slow rank is above the centre, not merely far from it."),
            ("any_excess", "any excess", "Ranks that are hardly slower than the others were returned.",
             "A slow rank is also more than 2 % above the centre."),
            ("lower_median", "lower median", "Of an even number of values the lower one of the two in the middle was "
             "taken: `torch.median` does that.", "The mean of the two: `np.median`, `statistics.median`."),
            ("limit_counts", "limit counts", "A rank is named that is exactly at the limit.",
             "More than k spreads, and more than 2 %: >, not >=."),
            ("spread_without_factor", "mad without factor", "The factor 1.4826 is missing: the limit is too low.",
             "spread = 1.4826 * median of the distances."),
            ("slowest_first", "slowest first", "The slow ranks are in the order of their times.", "Return them in the "
             "order of the ranks."),
            ("slowest_only", "slowest only", "Only the slowest rank was returned.", "Return all that are above the "
             "limit."),
            ("spread_of_the_steps", "spread of the steps", "The spread is that of all steps, not of the ranks' "
             "medians.", "Distances of the ranks' medians to their median."),
            ("two_hundredths_of_a_second", "seconds", "The least distance is 0.02 s, whatever a step takes.",
             "2 % of the centre: `0.02 * centre`."),
        )
    ]  # fmt: skip

    def draw(self, rng):
        one, misled, nobody = self.levels
        base = 0.1 + 0.002 * rng.permutation(8) / 8

        def times(p, steps=9):
            return base[:p, None] + 0.0001 * rng.uniform(-1, 1, (p, steps))

        slow = rng.permutation(6)
        plain, spiked, two, fast, near, wide = times(6), times(6), times(8), times(6), times(6), times(6)
        plain[slow[0]] += 0.03
        spiked[slow[1]] += 0.03
        spiked[slow[2], int(rng.integers(9))] += 3.0
        two[slow[0]], two[slow[1]] = two[slow[0]] + 0.04, two[slow[1]] + 0.03
        fast[slow[3]] -= 0.03
        near[:] = 0.1
        near[slow[4]] += 0.001
        wide[:] = 0.1
        wide += np.array([-4, -2, 0, 1, 3, 22])[np.argsort(slow)][:, None] * 0.001
        uneven = times(6) + 0.02 * rng.permutation(np.linspace(-1, 1, 9))  # long steps are long on all ranks
        uneven[slow[5]] += 0.025
        three = times(8)
        for rank, more in zip(np.sort(slow[:3]), (0.03, 0.05, 0.04), strict=True):
            three[rank] += more
        halves = 0.1 + np.array([0, 0, 0, 4, 4, 20])[np.argsort(slow)][:, None] * 0.001 * np.ones(5)
        little = 0.1 + np.array([0, 0.1, 0, 0.2, 0.1, 3])[np.argsort(slow)][:, None] * 0.001 * np.ones(5)
        still = 1.0 + np.array([0, 0, 0, 0, 0, 50])[np.argsort(slow)][:, None] * 0.001 * np.ones(5)
        for level, some, k in (
            (one, plain, 5.0), (one, uneven, 2.0), (one, little, 2.0), (one, still, 2.0),
            (misled, spiked, 5.0), (misled, two, 5.0), (misled, three, 5.0), (misled, wide, 5.5), (misled, halves, 1.0),
            (misled, self._even_steps(), 5.0), (misled, plain * 1e-4, 2.0),
            (nobody, fast, 5.0), (nobody, near, 5.0), (nobody, self._between(slow), 6.0),
            (nobody, np.zeros((4, 3)), 5.0),  # steps that the clock does not resolve
            (misled, *self._even_distances()), (misled, *self._even_ranks()), (misled, self._uneven_steps(), 3.0),
            (one, still * 2.0**-24, 2.0), (one, *self._exactly_2_percent()), (nobody, *self._exactly_k_spreads()),
        ):  # fmt: skip
            yield level, {"times": some, "k": k}

    @staticmethod
    def _even_steps():
        """Four steps: of ranks 1 and 4 the two in the middle differ; by their mean one is slow, the other is not."""
        times = 0.1 + 0.00001 * np.arange(10)[:, None] * np.ones(4)
        times[1], times[4] = [0.1, 0.1003, 0.1063, 0.106], [0.1034, 0.1, 0.1032, 0.1003]
        times[3], times[5] = 0.15, 0.14
        return times

    @staticmethod
    def _even_ranks():
        """Eight ranks: with the upper one of two middle values nobody is slow, with the lower one four ranks are."""
        return np.array([1.8, 1.8, 1.7, 1.3, 1.9, 1.3, 1.3, 1.2])[:, None] * np.ones(3), 1.0

    @staticmethod
    def _even_distances():
        """Eight ranks: with the lower or upper one of two middle distances others are slow, or nobody."""
        return np.array([2.0, 1.9, 1.7, 1.8, 1.6, 1.7, 1.8, 1.5])[:, None] * np.ones(3), 1.5

    @staticmethod
    def _uneven_steps():
        """Five ranks whose long steps are so long that the median of all times is above that of the ranks' times."""
        times = np.array([1.0, 1.01, 1.02, 1.03, 1.1])[:, None] * np.ones(5)
        times[:4, 3:] = 2.0
        times[0, 3:] = 9.0
        return times

    @staticmethod
    def _exactly_2_percent():
        """Rank 2 is 2 % above the centre to the last bit, rank 4 more, and rank 5 hardly."""
        return np.array([50.0, 50.0, 51.0, 50.0, 52.0, 50.5, 50.0])[:, None] * np.ones(3), 2.0

    @staticmethod
    def _exactly_k_spreads():
        """A rank that is k spreads above the centre to the last bit: 4 (1.4826 / 2) above 1."""
        return np.array([0.5, 0.5, 1.0, 1.5, 1 + 2 * 1.4826])[:, None] * np.ones(3), 4.0

    @staticmethod
    def _between(slow):
        """Six ranks, one of them above k MADs and below k times 1.4826 of them."""
        return (0.1 + np.array([-4, -2, 0, 0, 2, 15])[np.argsort(slow)][:, None] * 0.001) * np.ones(5)

    def right(self, times, k):
        return stragglers(times, k)

    def worked(self, case):
        c = super().worked(case)
        own = np.median(c.times, axis=1)
        c.spread = np.median(np.abs(own - np.median(own)))
        return c


class LostTo(PlainExercise):
    """Who keeps the others waiting?"""

    signature = "lost_to(posted: np.ndarray, ended: np.ndarray) -> tuple[list[float], float]"
    levels = {"time lost to ranks": 2, "time lost to the network": 1}
    rtol = 1e-9
    mistakes = [
        Mistake(name, why, how, lambda c, slip=slip: c.of(slip))
        for name, slip, why, how in (
            ("blames_who_waits", "waits", "The rank that waited longest in the collective is charged: that is the one "
             "that came first.", "The rank that comes last waits least."),
            ("blames_against_the_first", "first", "The last rank is charged with all the time since the first one "
             "came. But even without it, the others would have waited for the second-to-last.",
             "Charge it with its time minus that of the second-to-last."),
            ("blames_against_the_mean", "mean", "The last rank is charged with its distance from the mean.",
             "Charge it with its time minus that of the second-to-last."),
            ("waiting_is_network", "network", "Time in which ranks waited for the last one was charged to the network.",
             "The network's time begins when the last rank has come."),
            ("end_of_the_last_to_call", "own end", "The network's time ends when the rank that called last has its "
             "result. Others may still wait for theirs.",
             "ended.max() - posted.max(), for each step."),
            ("mean_of_the_network", "ends", "The network's time ends at the mean of the times at which the ranks have "
             "their results.",
             "When the last rank has its own: ended.max() - posted.max(), for each step."),
            ("mean_for_sum", "per step", "These are seconds per step.", "Add up the steps."),
            ("one_step_of_each_rank", "once", "Where a rank comes last in several steps, it is charged for the last of "
             "them only: numpy's `lost[last] += late` adds once for each index, however often it occurs.",
             "`np.add.at(lost, last, late)`, or a loop over the steps."),
        )
    ]  # fmt: skip

    def draw(self, rng):
        ranks, network = self.levels
        for level, steps, p in ((ranks, 5, 4), (ranks, 6, 3), (ranks, 4, 2), (network, 5, 4), (network, 4, 5)):
            posted = np.cumsum(np.ones(steps))[:, None] + rng.uniform(0, 0.1, (steps, p))
            posted[: steps // 2 + 1, int(rng.integers(p))] += 0.2
            took = rng.uniform(0.02, 0.05, (steps, 1)) + rng.uniform(0.005, 0.01, (steps, p))
            if level == network:
                took[steps // 2] += 0.4
            yield level, {"posted": posted, "ended": posted.max(axis=1, keepdims=True) + took}
        ties = np.array([[1.0, 1.5, 1.5, 1.25], [2.0, 2.5, 2.25, 2.0], [4.0, 4.0, 4.0, 4.0]])  # two, or all, come last
        yield ranks, {"posted": ties, "ended": ties.max(axis=1, keepdims=True) + np.full((3, 4), 0.125)}

    def right(self, posted, ended):
        return list(lost_to(posted, ended))

    def worked(self, case):
        c = super().worked(case)
        c.of = lambda slip: lost_otherwise(c.posted, c.ended, slip, last_of_equals)
        return c

    def read(self, answer, posted, ended):
        """The name of a mistake, also if the first of several ranks that come last together is blamed."""
        for name, slip in (("blames_against_the_first", "first"), ("blames_against_the_mean", "mean")):
            if difference(lost_otherwise(posted, ended, slip), answer, self.rtol) is None:
                return name
        rounding = posted.size * np.finfo(np.float32).eps * ended.max()  # the times are large, their differences small
        right = self.right(posted=posted, ended=ended)
        return "lost_digits" if difference(right, answer, 0.0, rounding) is None else None


# -- silent corruption -------------------------------------------------------------------------------------------------


class CheckedAllReduce(Exercise):
    """An all-reduce with a checksum"""

    signature = "checked_all_reduce(x: torch.Tensor, all_reduce: Callable) -> tuple[torch.Tensor, bool]"
    levels = {"rounding is not a fault": 1, "a flip before the sum": 2, "a flip after the sum": 1, "few bytes": 1}
    harness = harness_of(__file__, "checked_all_reduce")
    mistakes = [
        Mistake("limit_too_high", "A fault that changes the sum by more than 1e-10 of all magnitudes was not seen: the "
                "limit is too high, or the checksums went through float32.",
                "`difference <= 1e-10 * magnitudes` and nothing added to it, everything in float64.",
                lambda c: c.says(lambda r: True) if c.tiny else None),
        Mistake("not_a_number_is_fine", "Where the sum is not a number, no comparison is true: `difference > limit` "
                "finds nothing.",
                "`ok = difference <= limit`.", lambda c: c.says(lambda r: not c.fault or c.nan)),
        Mistake("infinite_limit", "A bit flipped, the sum became infinite, and it passed: infinite numbers were let "
                "through, or the limit was computed from the result and is infinite, too.",
                "`difference <= 1e-10 * magnitudes`, with the magnitudes from before the sum.",
                lambda c: c.says(lambda r: True) if c.infinite else None),
        Mistake("checksums_may_flip", "A bit of the checksums flipped, too, so that they passed: they went through the "
                "same `all_reduce` as the vector, and were as long as it.",
                "Send them with `dist.all_reduce`: what goes through it arrives intact.",
                lambda c: c.says(lambda r: True) if c.short or c.single else None),
        Mistake("verdict_may_flip", "A bit of the verdict flipped: it went through the same `all_reduce` as the "
                "vector, and was as long as it.",
                "Send it with `dist.all_reduce`: what goes through it arrives intact.",
                lambda c: c.says(lambda r: r == c.who) if c.single else None),
        Mistake("compares_after_the_sum", "A number that was wrong before the sum is in every rank's sum: comparing "
                "the ranks' results, or hashes of them, detects nothing.",
                "Compare with a value from before the sum: add up each rank's entries, then these totals over the "
                "ranks.",
                lambda c: None if c.short else c.says(lambda r: c.fault != "after")),
        Mistake("each_for_itself", "One rank detects the fault, the others continue.",
                "All-reduce the verdict, too (MIN).", lambda c: c.says(lambda r: c.fault != "after" or r != c.who)),
        Mistake("one_rank_is_outvoted", "A rank has found the fault, and still the verdict is True: it is that of "
                "another rank, or needs all of them to find it.",
                "One False is enough: all-reduce the verdicts, True as 1, with MIN.",
                lambda c: c.says(lambda r: c.fault != "before") if c.fault == "after" else None),
        Mistake("false_alarm", "There was no fault, only rounding.",
                "Numbers of both signs cancel: compare with 1e-10 of the sum of the magnitudes, and add up in float64.",
                lambda c: c.says(lambda r: False)),
        Mistake("too_many_bytes", "The faults are found, but many more bytes than the vector's were sent.",
                "Two sums for each rank and the verdict are enough."),
    ]  # fmt: skip

    def cases(self, rng):
        rounding, flips, alone, few = self.levels
        return [
            self._case(rng, level, *rest)
            for level, *rest in (
                (rounding, 3, 40, "", 0, ()),
                (rounding, 4, 7, "", 0, (1,)),
                (rounding, 2, 1, "", 0, ()),
                (rounding, 3, 30, "", 0, (), True),
                (rounding, 1, 9, "", 0, ()),
                (flips, 3, 12, "before", 61, ()),
                (flips, 2, 2, "before", 61, (), False, False, 0),  # as many numbers as there are checksums
                (flips, 2, 2, "before", 61, (), False, False, 1),
                (flips, 3, 5, "before", 62, ()),
                (flips, 2, 1, "before", 63, (0,)),
                (flips, 2, 4, "before", 62, (), False, True),
                (alone, 4, 10, "after", 50, ()),
                (alone, 3, 6, "after", 62, ()),
                (few, 4, 300, "before", 51, ()),
            )
        ] + [
            self._near_the_limit(rng, flips, 3, 8, 3.0),
            self._near_the_limit(rng, flips, 3, 8, 3.0, most=50),
            self._near_the_limit(rng, rounding, 3, 8, 0.7),
            self._nothing_but_zeros(rounding, 2, 3),
            self._case(rng, alone, 3, 1, "after", 51, ()),  # the verdict is as long as x
            self._near_the_limit(rng, flips, 3, 8, 1.2, signs=(1,), scale=2.0**-100),  # near it, and small
        ]

    @staticmethod
    def _nothing_but_zeros(level, p, n):
        x = np.zeros((p, n))
        known = {"x": x, "fault": "", "who": 0, "nan": False, "infinite": False, "sums": x[0], "tiny": 0}
        arguments = [(Tensor(one, "float64"), "", 0, 0) for one in x]
        return Case(level, p, arguments, f"n = {n}, zeros, no fault", known)

    @staticmethod
    def _near_the_limit(rng, level, p, n, tiny, most=1, signs=(-1, 1), scale=1.0):
        """A bit of a number flips before the sum, and changes it by `tiny` limits: below one it passes for rounding.
        The number is 1.5; the magnitudes of the others make up the limit, one of them `most` times as large. signs: of
        the others. scale: a power of two by which all are multiplied in the end."""
        change, bit = 2.0**-27, 25
        x = rng.uniform(0.5, 1.5, (p, n)) * rng.choice(signs, (p, n))
        who, index = (int(k) for k in rng.integers([p, n]))
        x[(who + 1) % p, index] *= most
        x[who, index] = 0.0
        x *= (change / (tiny * 1e-10) - 1.5) / np.abs(x).sum()
        x[who, index] = 1.5
        x, change = x * scale, change * scale
        known = {"x": x, "fault": "before", "who": who, "nan": False, "infinite": False, "tiny": tiny}
        known["sums"] = x.sum(axis=0)
        if tiny < 1:
            known["fault"] = ""
            known["sums"][index] += change
        arguments = [(Tensor(x[r], "float64"), "before" if r == who else "", index, bit) for r in range(p)]
        says = f"n = {n}, the sum of rank {who} is off by {tiny:g}e-10 of all magnitudes"
        return Case(level, p, arguments, says, known)

    @staticmethod
    def _case(rng, level, p, n, fault, bit, late, small=False, infinite=False, index=None):
        """In half of the cases without a fault the numbers cancel: their sum is rounding and nothing else. small: the
        numbers of rank 0 are smaller than the rounding of the others'. infinite: bit 62 turns 1.0 into infinity. index:
        of the flip; drawn. After the sum a bit does not flip on rank 0, whose verdict is not everybody's."""
        x = full_precision(rng, 1, 1.9, (p, n))
        if not fault and n > 9:
            x[:, : n // 2] *= 1e6 * rng.uniform(1, 2, (p, n // 2))
            x[:, n // 2 :] = -x[:, : n - n // 2] * (1 + 1e-12 * rng.uniform(-1, 1, (p, n - n // 2)))
        elif not fault:
            x[1::2] = -x[: p // 2 * 2 : 2] * (1 + 1e-12 * rng.uniform(-1, 1, (p // 2, n)))  # so do the ranks
        x[0] *= 1e-12 if small else 1.0
        who, drawn = (int(k) for k in rng.integers([p, n]))
        index = drawn if index is None else index
        if fault == "after" and p > 1:
            who = max(who, 1)
        if fault:
            x[who, index] = 1.0 if infinite else float(rng.uniform(1.2, 1.7))
        if fault == "after" and bit == 62:
            x[:, index] = rng.uniform(1.2, 1.7, p) / p  # so that the sum becomes no number
        sums = x.sum(axis=0)
        if fault == "after":
            sums[index] = flipped(sums[index], bit)
        known = {"x": x, "fault": fault, "who": who, "sums": sums, "tiny": 0}
        known |= {"nan": fault and bit == 62 and not infinite, "infinite": infinite}
        arguments = [(Tensor(x[r], "float64"), fault if r == who else "", index, bit) for r in range(p)]
        says = f"n = {n}, " + (f"a bit flips {fault} the sum on rank {who}" if fault else "no fault")
        return Case(level, p, arguments, says, known, late=late)

    def worked(self, case):
        c = super().worked(case)
        total = ANYTHING if c.fault else Tensor(c.sums, "float64")
        c.short = c.fault == "before" and c.x.shape[1] <= 2  # no longer than the checksums
        c.single = c.fault == "after" and c.x.shape[1] == 1  # no longer than the verdict
        c.says = lambda ok: [{"sum": total, "ok": bool(ok(r))} for r in range(c.p)]
        return c

    def expected(self, case):
        c = self.worked(case)
        return c.says(lambda r: not c.fault)

    def facts(self, case: Case, run: Run):
        n = case.known["x"].shape[1]
        most = 8 * n + 64
        given = max(rank.collective_bytes + rank.sent_bytes for rank in run.ranks)
        if case.level == list(self.levels)[3] and given > most:
            return Finding("too_many_bytes", f"A rank handed over {given:,} B; {most:,} would do.")
        return None


# -- how often ---------------------------------------------------------------------------------------------------------


class YoungInterval(PlainExercise):
    """Young's interval"""

    signature = "young_interval(save: float, mtbf: float, machines: int) -> float"
    withheld = ("labkit.scale.trouble.young_daly",)
    levels = {"one machine": 1, "many machines": 1}
    rtol = 1e-9
    mistakes = [
        Mistake("forgets_the_two", "The factor 2 is missing.", "sqrt(2 * save * mtbf of the whole).",
                lambda c: math.sqrt(c.save * c.mtbf / c.machines)),
        Mistake("of_one_machine", "This is the interval of one machine alone.",
                "With many machines, the next failure comes sooner: mtbf / "
                "machines.", lambda c: math.sqrt(2 * c.save * c.mtbf)),
        Mistake("more_machines_fail_less", "With more machines the interval gets longer here.", "mtbf / machines.",
                lambda c: math.sqrt(2 * c.save * c.mtbf * c.machines)),
        Mistake("divides_the_interval", "The interval was divided by the number of machines, not the time between "
                "failures.",
                "mtbf / machines, under the root.", lambda c: math.sqrt(2 * c.save * c.mtbf) / c.machines),
        Mistake("no_root", "The root is missing.", "sqrt(2 * save * mtbf of the whole).",
                lambda c: 2 * c.save * c.mtbf / c.machines),
        Mistake("whole_seconds", "The interval was cut to whole seconds.", "Return the root as it is.",
                lambda c: float(int(math.sqrt(2 * c.save * c.mtbf / c.machines)))),
        Mistake("whole_mtbf", "The time between failures was cut to whole seconds.", "Divide with `/`, not with `//`.",
                lambda c: math.sqrt(2 * c.save * (c.mtbf // c.machines))),
        Mistake("no_less_than_a_save", "An interval shorter than a save was replaced by the time of a save.",
                "sqrt(2 * save * mtbf of the whole), and nothing else.",
                lambda c: max(c.save, math.sqrt(2 * c.save * c.mtbf / c.machines))),
        Mistake("less_the_save", "The time of a save was subtracted, which is Daly's correction, not Young's formula.",
                "sqrt(2 * save * mtbf of the whole), and nothing else.",
                lambda c: math.sqrt(2 * c.save * c.mtbf / c.machines) - c.save),
    ]  # fmt: skip

    def draw(self, rng):
        for level, machines in (("one machine", 1), ("many machines", 16), ("many machines", 2048)):
            while True:
                save, mtbf = (int(k) for k in rng.integers([5, 10], [90, 99]))
                if math.isqrt(2 * save * mtbf) ** 2 != 2 * save * mtbf:  # a whole number would be one in float32, too
                    break
            yield level, {"save": float(save), "mtbf": mtbf * 10_000.0, "machines": machines}
        # no formula that helps itself: failures come faster than a save takes
        yield "many machines", {"save": 600.0, "mtbf": 5000.0, "machines": 64}
        for level, machines in (("one machine", 1), ("many machines", 3)):  # no whole numbers, and small ones
            yield level, {"save": 0.0123, "mtbf": 2.71, "machines": machines}

    def right(self, save, mtbf, machines):
        return math.sqrt(2 * save * mtbf / machines)


class WallTime(PlainExercise):
    """Total time with failures"""

    signature = "wall_time(work: int, interval: int, save: int, restart: int, failures: list[int]) -> int"
    levels = {"no failure": 1, "failures": 2, "a failure during a save or restart": 1}
    mistakes = [
        Mistake(name, why, how, lambda c, slip=slip: c.of(slip))
        for name, slip, why, how in (
            ("saves_at_the_end", "saves at the end", "A save after the last piece of work was counted.",
             "When the work is done, nothing needs to be saved."),
            ("counts_half_a_save", "counts half a save", "A failure came in the middle of a save, and the save was "
             "counted.",
             "A save counts only when it is complete."),
            ("keeps_what_was_computed", "keeps what was computed", "Work since the last save survives a failure "
             "here.", "A failure destroys all work that is not in a complete save."),
            ("loses_everything", "from the beginning", "After a failure the work begins from the start.",
             "It resumes from the last complete save."),
            ("same_second_is_late", "same second", "Work that ends in the second of a failure is lost here.",
             "It is complete: only work that ends after the failure is lost."),
            ("restarts_at_once", "restarts at once", "The restarts take no time.",
             "`restart` seconds after each failure."),
            ("restart_is_safe", "restart is safe", "A failure in the middle of a restart is not counted.",
             "The restart begins again at that failure."),
            ("restart_ends_first", "restart ends first", "A restart in which a failure comes is finished before the "
             "next one begins.", "The restart begins again at that failure."),
            ("skips_a_failure", "skips a failure", "A failure in the second in which a restart ends is skipped.",
             "The restart is complete, but the job stops once more: another restart."),
        )
    ]  # fmt: skip

    def draw(self, rng):
        none, some, bad = self.levels
        shift = int(rng.integers(1, 9))
        for level, work, interval, save, restart, failures in (
            (none, 100 + shift, 20, 3, 7, []),
            (none, 60, 20, 5, 7, []),
            (none, 0, 20, 5, 7, []),
            (none, 10, 20, 5, 7, [10, 99]),  # done before the first save, and in time
            (some, 100, 20 + (shift if shift != 3 else 9), 3, 10, [50]),  # not while it is saving
            (some, 120, 15, 4, 9, [10, 10 + 9 + 40, 300]),
            (some, 90 + shift, 30, 2, 6, [20, 60, 130]),
            (some, 50, 10, 0, 5, [25]),  # saves in no time
            (bad, 80, 20, 6, 10, [20 + shift % 5]),
            (bad, 80, 20, 6, 16, [15, 15 + shift]),
            (bad, 80, 20, 6, 12, [0, 55]),
            (bad, 40, 3, 1, 12, [15, 26, 60]),  # one in the restart, and one behind it
            (bad, 80, 20, 6, 30, [15, 45, 101]),  # when a restart ends, and when a save does
            (some, 10, 5, 1, 0, [7]),  # restarts in no time
            (bad, 0, 20, 0, 7, [0]),  # done before it begins
            (bad, 50, 10, 0, 5, [20]),  # when a save in no time ends
        ):
            names = ("work", "interval", "save", "restart", "failures")
            yield level, dict(zip(names, (work, interval, save, restart, failures), strict=True))

    def draw_further(self, rng):
        none, some, bad = self.levels
        for level in (none, none, some, some, bad, bad):
            interval, save, restart = int(rng.integers(10, 50)), int(rng.integers(3, 9)), int(rng.integers(3, 30))
            done = int(rng.integers(1, 6))  # saves before the failure
            at = done * (interval + save) + int(rng.integers(1, interval))
            at += interval + int(rng.integers(1, save)) - at % (interval + save) if level == bad else 0
            known = {"work": interval * (done + 2) + int(rng.integers(1, interval)), "interval": interval}
            yield level, known | {"save": save, "restart": restart, "failures": [at] if level != none else []}

    def right(self, work, interval, save, restart, failures):
        return wall_time(work, interval, save, restart, failures)

    def worked(self, case):
        c = super().worked(case)
        c.of = lambda slip: wall_time(c.work, c.interval, c.save, c.restart, c.failures, slip)
        return c


# -- survivors ---------------------------------------------------------------------------------------------------------

SHARD = 1e-3  # virtual seconds of a shard's gradient


def gradient_of_a_shard(
    slopes: np.ndarray, targets: np.ndarray, w: np.ndarray, step: int, shard: int
) -> tuple[float, str, np.ndarray]:
    """(virtual seconds that a rank of `train_through` pays, the timeline's label, the gradient at `w` of a shard in a
    step)."""
    return SHARD, str(step), slopes[shard] * (w - targets[step, shard])


class TrainThrough(Exercise):
    """The survivors continue"""

    signature = (
        "train_through(w: torch.Tensor, gradient: Callable, update: Callable, shards: int, steps: int) -> torch.Tensor"
    )
    never_alone = "one rank dies, and others go on"
    levels = {"no rank dies": 1, "one rank dies": 3, "several ranks die": 2}
    harness = harness_of(__file__, "train_through")
    mistakes = [
        Mistake("RankGone", "A rank died, and the exception that says so was not caught (or was raised again).",
                "`except dist.DistBackendError as gone:`, remove `gone.ranks` from the list of ranks alive, and use "
                "a new group of the others from then on."),
        Mistake("SameStepAgain", "The same step fails again and again: the dead rank still belongs to the group.",
                "Call `dist.new_group` with the ranks alive, once after each death, and pass `group=` from then on."),
        Mistake("MoreThanTheShards", "`update` was given more rows than there are shards: it may count them, or take "
                "their mean.",
                "One gradient for each shard, in their order: leave out rows that only fill up a table."),
        Mistake("keeps_what_failed", "The weights contain the contents of a tensor after a failed collective, which "
                "are arbitrary numbers.",
                "After a failure fill the tensor again, with gradients that you still have or recompute."),
        Mistake("skips_the_step", "The step in which a rank died was not repeated: its update is missing.",
                "Repeat the step with the new group, from the weights before it.",
                lambda c: c.deaths and train(c, skipped=c.deaths)),
        Mistake("loses_the_shards", "The shards of the dead rank are missing from the gradient.",
                "In every step, deal all shards out among the ranks alive."),
        Mistake("dealt_by_number", "After a death the shards are dealt out by rank numbers, which now have gaps: some "
                "shards are computed twice and others by nobody.",
                "Deal them out by a rank's position among the ranks alive: alive.index(rank).",
                lambda c: c.deaths and train(c, dealt=dealt_by_number(*c.targets.shape[1::-1], c.p, c.kills))),
        Mistake("sums_in_another_order", "The weights are right to a few digits, not to the last bit: the gradients "
                "were added in a different order than on one rank.",
                "Collect the gradients of all shards, and pass them to `update` in the order of the shards."),
        Mistake("dealt_unevenly", "The weights are right, but one rank computes more shards in a step than it has to, "
                "and the others wait for it.",
                "Shares that differ by one at most: range(place, shards, len(alive))."),
        Mistake("computes_too_much", "The weights are right, but more gradients were computed than necessary.",
                "Each shard once in a step, by one rank; after a death only the failed step again."),
    ]  # fmt: skip

    def cases(self, rng):
        nobody, one, more = self.levels
        return [
            self._case(rng, level, *rest)
            for level, *rest in (
                (nobody, 3, 7, 4, {}, (1,)),
                (nobody, 4, 6, 3, {}, ()),
                (nobody, 4, 3, 3, {}, ()),  # a rank without a shard
                (one, 4, 12, 8, {2: 6}, ()),
                (one, 2, 6, 5, {0: 0}, ()),
                (one, 3, 6, 4, {1: 3}, ()),  # in the last step
                (one, 2, 2, 2, {1: 2}, ()),  # behind it, if anything is called there
                (more, 4, 8, 6, {0: 1, 2: 3}, ()),
                (more, 4, 8, 5, {0: 1, 2: 2}, ()),  # the second one while the step is taken again
                (more, 4, 8, 5, {1: 2, 3: 2}, ()),  # two at once
                (more, 4, 8, 3, {0: 1, 1: 2, 2: 3}, ()),  # three in the same step, one after the other
            )
        ]

    @staticmethod
    def _case(rng, level, p, shards, steps, kills, late):
        # all bits of a number are drawn, so that sums in another order differ in the last ones
        known = {"w": rng.uniform(-1, 1, 9), "slopes": rng.uniform(0.5, 2, (shards, 9))}
        known |= {"targets": rng.uniform(-1, 1, (steps, shards, 9)), "lr": 0.03, "kills": kills}
        known["deaths"] = tuple(kills.values())
        judge = name_of(known["w"], known["targets"])
        form = (((9,), "float64"), range(steps), range(shards))
        answers = {judge: Answer(partial(gradient_of_a_shard, known["slopes"], known["targets"]), form)}
        behind = steps in kills.values()
        given = (Tensor(known["w"], "float64"), shards, steps, judge, 0.03, behind)
        dies = ", ".join(f"rank {r} dies in place of operation {k}" for r, k in kills.items())
        says = f"{shards} shards, {steps} steps" + (f", {dies}" if dies else "")
        options = {"late": late, "kills": kills, "answers": answers, "rtol": 0, "atol": 0}
        return Case(level, p, given, says, known, **options)

    def per_rank(self, case, value):
        return None if not isinstance(value, np.ndarray) else [Tensor(value, "float64")] * case.world_size

    def expected(self, case):
        return [Tensor(train(self.worked(case)), "float64")] * case.world_size

    def facts(self, case: Case, run: Run):
        c = self.worked(case)
        alive = [rank for rank in run.ranks if not rank.gone]
        right = Tensor(train(c), "float64")
        if any(difference(right, rank.value, 0, 0) for rank in alive):
            if all(difference(right, rank.value) is None for rank in alive):
                return "sums_in_another_order"
            if any(isinstance(rank.value, Tensor) and not np.abs(rank.value.values).max() < 100 for rank in alive):
                return "keeps_what_failed" if c.kills else None
            done = [e for e in run.events if e.ended is not None and e.kind.startswith("all_")]
            few = c.kills and min(sum(e.rank == r for e in done) for r in range(c.p) if r not in c.kills) < len(
                c.targets
            )
            return self._lost(c, alive) or ("skips_the_step" if few else None)
        steps, shards = c.targets.shape[:2]
        most = self._most(case)
        each = [round(rank.busy / SHARD) for rank in alive]
        computed = max(each)
        if not c.kills and sum(each) == steps * shards and computed > most:
            return Finding("dealt_unevenly", f"In {steps} steps the ranks computed {each} gradients.")
        if computed > most:
            return Finding("computes_too_much", f"A rank computed {computed} gradients; {most} would do.")
        return None

    def needs_bytes(self, case):
        """The gradients that no rank can have computed itself: `facts` allows it `_most`."""
        steps, shards, n = case.known["targets"].shape
        return [8 * n * max(0, steps * shards - self._most(case))] * case.world_size

    @staticmethod
    def _most(case: Case) -> int:
        """The gradients that a rank computes at most: even shares, and the failed steps again."""
        steps, shards = case.known["targets"].shape[:2]
        return (steps + len(case.kills)) * math.ceil(shards / (case.world_size - len(case.kills)))

    def contradiction(self, case, run):
        steps, shards = case.known["targets"].shape[:2]
        return run.uncharged(together=steps * shards * SHARD)

    @staticmethod
    def _lost(c, alive):
        """Shards of the dead that nobody takes, dealt out in turn or in blocks, from the step of the death or the one
        behind it."""
        shards = len(c.slopes)
        edges = bounds(shards, c.p)
        blocks = {r: list(range(edges[r], edges[r + 1])) for r in range(c.p)}
        turns = {r: list(range(r, shards, c.p)) for r in range(c.p)}
        for dealt in (blocks, turns):
            for skipped in ((), c.deaths):
                without = {}
                for r, operation in c.kills.items():
                    without.setdefault(operation, []).extend(dealt[r])
                lost = Tensor(train(c, skipped, without), "float64")
                if c.kills and all(difference(lost, rank.value) is None for rank in alive):
                    return "loses_the_shards"
        return None
