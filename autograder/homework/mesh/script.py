"""The script: run on meshes drawn from the key and held against the sequential training.

A line is judged by the trials that are for it, and says what the first of them that failed shows. Where the losses are
those of the sequential training but nothing was sent along the axis, the work was not divided: every rank has done all
of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

import numpy as np

from autograder.homework.mesh import memory, sizes
from autograder.homework.mesh.altered import AXES, Reference, secret_of
from autograder.homework.mesh.cases import FREE, STEPS, Trial, limited, trials, with_limits
from autograder.homework.mesh.lines import RUBRIC, for_a_person, full, guarded, lost
from autograder.homework.mesh.parts import Scaling, drawn
from autograder.homework.mesh.runs import FILE, Ran, Runs, RunTrouble, expected, reference
from autograder.homework.mesh.summed import Shares
from autograder.homework.rubric import ONE_CAUSE, Flag, LineResult, PartResult, ended
from labkit.launch.launcher import Launcher

RTOL = 1e-9
LEAST, HALF, MOST = 0.4, 0.9, 1.05  # of the bytes that an axis needs: nothing divided, not all of it, too many
MOST_OF_IT = 0.98  # of a gradient; the rest may be rounding alone
TINY = 1e-6  # of a number: rounding to float32, not another way to compute it
ENOUGH = 0.4  # of what context ranks must send: so much was changed, else nothing can be said
SMALL = 4096  # bytes that a rank may send to everybody in one step: losses, norms
SOME = 0.1  # of the sums of activations: no part of the work is the same on several ranks
UNKNOWN = "unknown_summands"
_SUMMED = {"data": "the gradient of some of the rows", "tensor": "what some heads and hidden features give"}
_TROUBLE = {
    "raised": "Run it on as few ranks as show the error: `simulation.run` or two processes on your machine.",
    "hung": "Every rank of a group calls the same collectives in the same order; a receive needs its send.",
    "too_slow": "The models of the check are tiny: a step takes milliseconds.",
    "crashed": "Run it on your machine, and look at the last lines.",
    "wrong_steps": "Call log.step(loss, norm) after each step, on every rank.",
    "not_started": "At the top level of the script stand imports, functions and classes; what is to be run stands"
    ' under `if __name__ == "__main__":`.',
}


def judge(script: Path, key: str, launcher: Launcher) -> PartResult:
    """The parts "script" and "bonus"."""
    asked = trials(key)
    wanted = {settings: STEPS for settings in (*(trial.settings for trial in asked), *with_limits(asked))}
    ranks = Runs(launcher, script, key)
    given = dict(zip(wanted, expected(launcher, [(vars(s), n) for s, n in wanted.items()]), strict=True))
    saved = next(trial for trial in asked if trial.name == "saved")
    names, factor = drawn(secret_of(key), saved.settings)
    weights, losses = reference(launcher, "scaled", vars(saved.settings), saved.steps, saved.steps, names, factor)
    scaling = Scaling(np.array(weights), np.array(losses), factor)
    try:
        found = _run_all(ranks, limited(asked, given), scaling)
    finally:
        ranks.close()
    view = View(found, given, scaling, _used(found, launcher), _shares(found, launcher))
    findings = [view.line(line.name) for part in ("script", "bonus") for line in RUBRIC.lines_of(part)]
    return PartResult("script", findings, view.flags(), {"trials": [_fact(ran) for ran in found.values()]})


def _shares(found: dict[str, Ran], launcher: Launcher) -> Shares:
    """The numbers that parts of the work add to the sums of the trials of one axis."""
    rows, columns = (
        reference(launcher, name, vars(found[axis].trial.settings), found[axis].trial.steps)
        for name, axis in (("rows", "data"), ("columns", "tensor"))
    )
    return Shares(np.array(rows), {name: np.array(products) for name, products in columns.items()})


def _used(found: dict[str, Ran], launcher: Launcher) -> dict[str, tuple[str, ...] | None]:
    """Trial whose messages were altered -> the axes along which its losses show it; None where they are those of no way
    to train that is known."""
    asked = {name: ran for name, ran in found.items() if ran.altered is not None and ran.trouble is None}
    used = _matched({name: [ran.altered.usual()] for name, ran in asked.items()}, found, launcher)
    left = {name: ran.altered.others() for name, ran in asked.items() if used[name] is None}
    return used | _matched(_begun(left, found, launcher), found, launcher)


def _begun(ways: Mapping[str, list[Reference]], found: dict[str, Ran], launcher: Launcher) -> dict:
    """The ways that have the loss of the first step: what replicas do shows later, and few ways are left for that."""

    def first(how: dict) -> dict:
        return {**how, "scales": None, "micro_batches": None}

    flat = {(name, repr(first(way.how))): first(way.how) for name, several in ways.items() for way in several}
    asked = [(vars(found[name].trial.settings), 1, name, how) for (name, _), how in flat.items()]
    answers = reference(launcher, "altered", asked, {}) if asked else []
    near = {at: _near(found[at[0]].steps[:, 0, 0], losses[0]) for at, (losses, _) in zip(flat, answers, strict=True)}
    return {name: [way for way in several if near[name, repr(first(way.how))]] for name, several in ways.items()}


def _matched(ways: Mapping[str, list[Reference]], found: dict[str, Ran], launcher: Launcher) -> dict:
    flat = [(name, way) for name, several in ways.items() for way in several]
    asked = [(vars(found[name].trial.settings), found[name].trial.steps, name, way.how) for name, way in flat]
    sums = {name: found[name].altered.sums() for name in ways}
    matched = dict.fromkeys(ways)
    answers = reference(launcher, "altered", asked, sums) if asked else []
    for (name, way), (losses, share) in zip(flat, answers, strict=True):
        if matched[name] is None and share > MOST_OF_IT and _near(found[name].steps[:, :, 0], np.array(losses)):
            matched[name] = way.axes
    return matched


def _run_all(ranks: Runs, asked: list[Trial], scaling: Scaling) -> dict[str, Ran]:
    found: dict[str, Ran] = {}
    for trial in asked:
        before = found.get(trial.after)
        if "one" in found and found["one"].trouble:
            found[trial.name] = Ran(trial, trouble=found["one"].trouble)  # what fails alone fails everywhere
        elif before is not None and before.trouble:
            found[trial.name] = Ran(trial, trouble=before.trouble)
        else:
            parts = before.parts if before else None
            found[trial.name] = ranks.run(trial, scaling.of(parts) if trial.scaled else parts)
    return found


def _fact(ran: Ran) -> dict:
    mesh = ran.trial.mesh
    return {
        "name": ran.trial.name,
        "mesh": [mesh.data, mesh.tensor, mesh.pipeline, mesh.context],
        "trouble": ran.trouble.kind if ran.trouble else "",
        "sent": {axis: round(n) for axis, n in ran.sent.items()},
        "held": ran.held,
        "peaks": ran.peaks,
        "first": ran.first,
        "altered": dict(ran.altered.bytes) if ran.altered else {},
    }


class View:
    """The findings, line by line. given: settings -> (steps, ...) of the sequential training (`runs.expected`).
    scaling: of the checkpoint. used: of trials whose messages were altered (`_used`). shares: of parts of the work in
    sums."""

    def __init__(
        self,
        found: dict[str, Ran],
        given: dict,
        scaling: Scaling | None = None,
        used: Mapping[str, tuple[str, ...] | None] | None = None,
        shares: Shares | None = None,
    ):
        self.found, self.given, self.scaling, self.used = found, given, scaling, dict(used or {})
        self.shares = shares
        self.causes: dict[str, RunTrouble] = {}  # line -> what it was lost for, where that was seen for the first time
        self.followers: dict[str, list[str]] = {}  # line -> those that were lost for the same reason

    def line(self, name: str) -> LineResult:
        """The verdict on a line."""
        return guarded(name, getattr(self, f"_{name}", self._equal_on), name)

    # -- what did not come to its end

    def _troubled(self, name: str, ran: Ran) -> LineResult:
        trouble = ran.trouble
        cause = next((line for line, seen in self.causes.items() if trouble.same(seen)), None)
        if cause is None:
            self.causes[name] = trouble
            found = lost(name, trouble.kind, ended(f"On {ran.where} {trouble.said}"), _TROUBLE[trouble.kind])
            found.rows = list(trouble.rows)
            return found
        self.followers.setdefault(cause, []).append(name)
        tried = f"On {ran.where} it ends in the same way." if self.found["one"].trouble is None else "It was not tried."
        return lost(name, trouble.kind, f"This follows from `{_short(cause)}`. {tried}", _TROUBLE[trouble.kind])

    def flags(self) -> list[Flag]:
        """The flags for a person: one for each reason that cost several lines. Points for what was never written are
        not offered."""
        found = []
        for cause, names in self.followers.items():
            if self.causes[cause].kind in ("raised", "hung") and self.causes[cause].what != "NotImplementedError":
                points = sum(RUBRIC.line(name).points for name in names)
                told = ", ".join(f"`{_short(name)}`" for name in names)
                said = f"`{_short(cause)}` failed, and for the same reason {told}. If it is one mistake, a person gives"
                found.append(Flag(ONE_CAUSE, f"{said} what these would have earned, at most {points:g} points."))
        return found

    def _of(self, line: str) -> list[Ran]:
        return [ran for ran in self.found.values() if line in (ran.trial.line, ran.trial.also)]

    def _sequential(self, ran: Ran, first: int = 0) -> np.ndarray:
        return self.given[ran.trial.settings][first : first + ran.trial.steps]

    # -- equal to the sequential training

    def _equal_on(self, name: str) -> LineResult:
        for ran in self._of(name):
            if ran.trial.altered:
                if wrong := self._not_used(name, ran):
                    return wrong
                continue
            if ran.trial.stretched:
                if wrong := self._not_used_by_context(name, ran):
                    return wrong
                continue
            if ran.trouble:
                return self._troubled(name, ran)
            if wrong := self._wrong_losses(name, ran):
                return wrong
            if undivided := _undivided(ran):
                said = f"On {ran.where} the losses are right, but hardly anything was sent along {undivided}."
                return lost(name, "not_divided", said, _TEACH_DIVIDED)
            if alike := _alike(ran):
                return lost(name, "not_divided", f"On {ran.where} the losses are right, but {alike}", _TEACH_DIVIDED)
            if said := self._not_the_activations(ran):
                teach = "A stage computes its layers from what the one before it has sent, and sends what comes of it."
                return lost(name, "not_the_activations", f"On {ran.where} the losses are right, but {said}", teach)
            if wrong := _half_right(name, ran):
                return wrong
        return self._unknown_summands(name, name) or full(
            name, "; ".join(dict.fromkeys(ran.where for ran in self._of(name)))
        )

    def _unknown_summands(self, name: str, line: str) -> LineResult | None:
        """The finding on sums whose summands nobody can tell from parts of the work, or None. line: whose trials are
        looked at."""
        plain = [ran for ran in self._of(line) if ran.summed is not None and not ran.trial.altered]
        for axis, what in _SUMMED.items() if line in (*_SUMMED, "mixed") else ():
            divided = [ran for ran in plain if getattr(ran.trial.mesh, axis) > 1]
            for ran in divided:
                if axis == "tensor" and ran.summed.mostly_alike(axis, SOME):
                    said = (
                        f"On {ran.where} the losses are right, but some of what ranks add to the sums along tensor is"
                    )
                    return for_a_person(name, f"{said} the same on several of them, up to a factor.", UNKNOWN)
                if ran.summed.few(axis):
                    said = f"On {ran.where} the losses are right, but hardly anything was summed along {axis}."
                    return for_a_person(name, said, "not_summed")
            alone = self.found.get(axis)
            if not divided or self.shares is None or alone is None or alone.trouble:
                continue
            right = _near(alone.steps[:, :, 0], self._sequential(alone)[:, 0])
            if right and not alone.summed.of_parts(axis, self.shares):
                said = f"On {alone.where} the losses are right, but what each rank adds to the sums along {axis} is not"
                return for_a_person(name, f"{said} {what}, by any way to divide them that is known here.", UNKNOWN)
        return None

    def _not_used_by_context(self, name: str, ran: Ran) -> LineResult | None:
        """The finding on the trial in which all that context ranks hand each other was changed, or None where the first
        loss shows it."""
        at = f"On {ran.where}, with what context ranks send changed on its way,"
        if ran.trouble:
            return for_a_person(name, ended(f"{at} {ran.trouble.said}"), "not_to_be_altered")
        if not _near(ran.steps[:, :1, 0], self._sequential(ran)[:1, 0]):
            return None
        if ran.stretched.bytes < ENOUGH * sizes.between_parts(ran.trial.settings, ran.trial.mesh):
            said = "What context ranks send could not be changed on its way."
            return for_a_person(name, said, "not_altered")
        said = f"{at} the first loss stayed as if nothing had been changed."
        teach = "A rank has its part of every sequence, and the keys and values of the other parts it receives."
        return lost(name, "not_used", said, teach)

    def _wrong_losses(self, name: str, ran: Ran) -> LineResult | None:
        losses, right = ran.steps[:, :, 0], self._sequential(ran)[:, 0]
        norms, right_norms = ran.steps[:, :, 1], self._sequential(ran)[:, 1]
        if _near(losses, right):
            return None
        at = f"On {ran.where}"
        if np.ptp(losses[:, 0]) > RTOL * abs(right[0]):
            said = f"{at} ranks tell different losses of the first step: {losses[:, 0].min():.6g} to"
            said += f" {losses[:, 0].max():.6g}. The sequential one is {right[0]:.10g}."
            teach = "The loss is the mean over the whole minibatch, and every rank tells the same: one all-reduce."
            return lost(name, "own_loss", said, teach)
        step = int(np.argmax(~_close(losses, right).all(0)))
        apart = _tiny(losses[:, step], right[step])
        if apart and _tiny(norms[:, 0], right_norms[0]):  # Adam does not notice a factor of the gradient
            said = (
                f"{at} the loss of step {step + 1} is {losses[0, step]:.13g}; the sequential one is {right[step]:.13g}."
            )
            return lost(name, "rounded", f"{said} {apart}", _TEACH_TINY)
        if not _near(losses[:, 0], right[0]):
            times = losses[0, 0] / right[0]
            said = f"{at} the loss of the first step is {losses[0, 0]:.10g}, {times:.6g} times the sequential"
            said += f" {right[0]:.10g}."
            teach = "Nothing has been updated yet: this is the forward pass, its rows of the minibatch, or the mean."
            return lost(name, "wrong_loss", said, teach)
        first = _close(norms[:, 0], right_norms[0]).all()
        said = f"{at} the loss of step {step + 1} is {losses[0, step]:.10g}; the sequential one is {right[step]:.10g}."
        if name == "one_rank" or first:
            teach = "The first gradient was right, so look at the update: moments, the number of the step, who gets"
            return lost(name, "wrong_update", said, f"{teach} which weights.")
        teach = (
            f"The norm of the first gradient is {norms[0, 0] / right_norms[0]:.6g} times the right one: look at what"
        )
        teach += " is summed or averaged over which ranks, and over micro-batches."
        return lost(name, "wrong_gradient", said, teach)

    def _not_the_activations(self, ran: Ran) -> str:
        """A sentence about what stages sent onward, if it cannot be what leaves a block in the sequential training (the
        squares of all rows add up, however they are dealt out); else ""."""
        leaves = self._sequential(ran)[:, 2:].sum(0)
        possible = [sum(some) for k in range(1, len(leaves) + 1) for some in combinations(leaves, k)]
        for (stage, later), squares in ran.onward.items():
            shares = (squares, squares / ran.trial.mesh.tensor)  # a part from each tensor rank, or all of it
            if squares and not any(abs(share - one) <= TINY * one for share in shares for one in possible):
                return f"what stage {stage} sent to stage {later} is not what leaves any of the blocks."
        return ""

    def _not_used(self, name: str, ran: Ran) -> LineResult | None:
        """The finding on a trial whose messages were altered, or None where its losses show it as they should."""
        at = f"On {ran.where}, with what ranks send altered on its way,"
        if ran.trouble:
            return for_a_person(name, ended(f"{at} {ran.trouble.said}"), "not_to_be_altered")
        axes, used = ran.altered.axes, self.used[ran.trial.name]
        few = [axis for axis in axes if not ran.altered.reached(axis)]
        if used == axes and not few:
            return None
        silent = [axis for axis in axes if used is not None and (axis in few or axis not in used)]
        deaf = [axis for axis in silent if axis not in few]
        if deaf:
            said = f"{at} the losses stayed as if nothing had been altered along {', '.join(deaf)}."
            teach = "A rank computes its part alone, and everything else it takes from what it receives."
            return lost(name, "not_used", said, teach)
        if silent:
            said = f"What is sent along {', '.join(silent)} could not be altered on its way: no collective sums there."
            return for_a_person(name, said, "not_altered")
        said = f"{at} the losses changed, but not as in any way to train that is known here."
        return for_a_person(name, said, "another_way")

    # -- the norm

    def _norm(self, name: str) -> LineResult:
        for ran in self.found.values():
            lines = ("one_rank", *AXES, "mixed")
            if ran.trial.settings.clip == FREE and ran.trial.line in lines and not (ran.trouble or ran.trial.altered):
                if wrong := self._wrong_norm(name, ran):
                    return wrong
        for ran in self._of(name):
            if ran.trouble:
                return self._troubled(name, ran)
            if wrong := self._wrong_norm(name, ran):
                return wrong
            losses, right = ran.steps[:, :, 0], self._sequential(ran)[:, 0]
            if not _near(losses, right):
                s, step = ran.trial.settings, int(np.argmax(~_close(losses, right).all(0)))
                said = f"On {ran.where}, with a limit of {s.clip:g} and a rate of {s.rate:g}, the losses are not the"
                said += f" sequential ones: {losses[0, step]:.13g} in step {step + 1}, not {right[step]:.13g}."
                teach = (
                    "The gradient is scaled by min(1, clip / norm), the same factor on every rank, with nothing added"
                )
                teach += " to the norm; limit and rate are those of the settings."
                return lost(name, "wrong_clip", said, teach)
        several = [ran for ran in self.found.values() if ran.trial.line in ("norm", *AXES, "mixed") and _counts(ran)]
        if all(_undivided(ran) or _alike(ran) for ran in several):
            said = "The norms are right, but on no mesh of several ranks was the work divided."
            return lost(name, "not_divided", said, "Each rank has a part of the gradient, and all know the whole norm.")
        return self._used_nowhere(name) or full(name)

    def _used_nowhere(self, name: str) -> LineResult | None:
        """The finding on a script that has used what arrives on no mesh of those whose messages were altered, or
        None."""
        lines = (*AXES, "mixed")
        tried = [ran for ran in self.found.values() if ran.altered and ran.trial.line in lines and not ran.trouble]
        found = [self._not_used(name, ran) for ran in tried]
        if not found or None in found:
            return None
        return next((one for one in found if one.diagnosis == "not_used"), found[0])

    def _wrong_norm(self, name: str, ran: Ran) -> LineResult | None:
        norms, right = ran.steps[:, :, 1], self._sequential(ran)[:, 1]
        if _near(norms, right):
            return None
        step = int(np.argmax(~_close(norms, right).all(0)))
        training = _near(ran.steps[:, :, 0], self._sequential(ran)[:, 0])
        if step and not training:
            return None  # it is another training by then: the losses say so
        norms, right = norms[:, step], right[step]
        said = f"On {ran.where} the norm of the gradient of step {step + 1} is {norms[0]:.13g};"
        said += f" the sequential one is {right:.13g}."
        if apart := _tiny(norms, right):
            return lost(name, "rounded", f"{said} {apart}", _TEACH_TINY)
        if np.ptp(norms) > RTOL * right:
            teach = "Each rank has taken the norm of its own part. Sum the squares over all ranks, then take the root."
            return lost(name, "own_norm", said, teach)
        if not training:
            teach = "The losses of this mesh are not the sequential ones either: mend them first."
            return lost(name, "wrong_norm", said, teach)
        if ran.trial.mesh.tensor > 1 and norms[0] > right:
            teach = "What every rank of a tensor group holds (norms, biases, embedding, head) counts once, not t times."
            return lost(name, "counted_twice", said, teach)
        return lost(name, "wrong_norm", said, "The squares of all parameters of all ranks, each parameter once.")

    # -- the checkpoint

    def _checkpoint(self, name: str) -> LineResult:
        saved, resumed = (self.found[one] for one in ("saved", "resumed"))
        if resumed.trouble:
            return self._troubled(name, saved if saved.trouble else resumed)
        whole = self.given[resumed.trial.settings][:, 0]
        before, losses = saved.steps[:, :, 0], resumed.steps[:, :, 0]
        if not _near(before, whole[:2]):
            said = f"On {saved.where}, from which the checkpoint is, the losses were not the sequential ones."
            return lost(name, "wrong_before", said, "First the meshes, then the checkpoint.")
        at = f"Saved on {saved.where}, gone on with on {resumed.where}"
        if not _near(losses, whole[2:4]):
            return _not_resumed(name, at, losses, whole)
        if narrow := sizes.numbers(saved.parts, narrow=True):
            said = f"{at}: right to 1e-9; but {narrow:,} numbers of the parts are of a narrower type than float64."
            return lost(name, "not_float64", said, _TEACH_FLOAT64, 0.5)
        numbers, most = sizes.numbers(saved.parts), sizes.checkpoint(saved.trial.settings, saved.trial.mesh)
        least = 3 * sizes.parameters(saved.trial.settings)
        if numbers < least:
            said = f"{at}: right; but the parts of all ranks hold {numbers:,} numbers, and weights and both moments are"
            teach = "What goes on is what `train` has returned: a new process has nothing else."
            return lost(name, "not_in_the_parts", f"{said} {least:,}.", teach)
        if wrong := self._parts_not_used(name, at, whole[2:4]):
            return wrong
        if numbers > 1.25 * most:
            said = f"{at}: right; but the parts of all ranks hold {numbers:,} numbers, where {most:,} are enough."
            return lost(name, "copies", said, "Each replica saves its own shard: weights and both moments.", 2 / 3)
        return full(name, f"{at}.")

    def _parts_not_used(self, name: str, at: str, unscaled: np.ndarray) -> LineResult | None:
        """The finding on a checkpoint whose weights were scaled, or None where the losses show it as they should."""
        ran, scaling = self.found["scaled"], self.scaling
        if ran.trouble:
            return for_a_person(name, ended(f"{at}, its weights scaled: {ran.trouble.said}"), "not_to_be_altered")
        losses = ran.steps[:, :, 0]
        if _near(losses, scaling.losses) and not scaling.everywhere:
            return None
        if _near(losses, unscaled):
            said = f"{at}: right; but with weights in the parts scaled by {scaling.factor:g}, the losses are the same."
            teach = "The training goes on with the weights and moments that `train` is given, not with its own."
            return lost(name, "parts_not_used", said, teach)
        said = f"{at}: right; but the weights are not in the parts as they are, so nobody knows if they are used."
        return for_a_person(name, said, "unknown_parts")

    # -- bytes

    def _traffic(self, name: str) -> LineResult:
        ran, wrong = self.found["all axes"], []
        if ran.trouble:
            return self._troubled(name, ran)
        right = _near(ran.steps[:, :, 0], self._sequential(ran)[:, 0])
        if right and (alike := _alike(ran)):  # replicas that train on the same rows have lost their lines by that
            return lost(name, "not_divided", f"On {ran.where} {alike}", _TEACH_DIVIDED)
        needed = sizes.traffic(ran.trial.settings, ran.trial.mesh)
        least = HALF if right else LEAST
        for axis, nbytes in needed.items():
            times = ran.sent[axis] / nbytes
            if not least < times <= MOST and not ran.narrow[axis]:
                said = f"{ran.sent[axis]:,.0f} bytes along {axis}, {times:.2f} times the {nbytes:,.0f} needed"
                wrong.append((axis, said))
        elsewhere = ran.sent["world"] / ran.trial.mesh.size
        if elsewhere > SMALL:
            said = (
                f"{elsewhere:,.0f} bytes of each rank to ranks along several axes, where a loss and a norm are enough"
            )
            wrong.append(("world", said))
        if not wrong:
            unused = self._not_used(name, self.found["mixed, altered"])
            # losses that were wrong before anything was altered are lost elsewhere, and tell nothing here
            telling = ("not_used", "another_way") if right else ("not_used",)
            if unused is not None and unused.diagnosis in telling:
                return unused
            return (self._unknown_summands(name, "mixed") if right else None) or full(name)
        said = f"On {ran.where} in one step: {'; '.join(one for _, one in wrong)}."
        if any(ran.sent[axis] < needed.get(axis, 0) for axis, _ in wrong):
            return lost(name, "not_divided", said, "Along an axis with too few bytes, ranks do all of some work.")
        share = 0.5 if len(wrong) == 1 else 0.0
        return lost(name, f"too_much_{wrong[0][0]}", said, _TEACH_TRAFFIC[wrong[0][0]], share)

    # -- memory

    def _memory(self, name: str) -> LineResult:
        asked = [self.found[one] for one in ("one", "data", "all axes", "few", "many")]
        for ran in asked:
            if ran.trouble:
                return self._troubled(name, ran)
        one, data, mixed, few, many = asked
        before = memory.whole_run_first(asked[1:])
        if not before and not all(min(ran.held) for ran in (one, data, mixed)):
            said = f"On {next(ran for ran in asked if not min(ran.held)).where} no tensor was alive after a step."
            teach = "Weights and moments live in tensors from step to step, made by the thread that calls `train`."
            return lost(name, "nothing_held", said, teach)
        judged = () if before else memory.of_meshes(one, data, few, many, mixed)
        wrong = [found for found in (before, *judged) if found]
        if not wrong:
            return full(name)
        share = max(0.0, round(1 - sum(points for _, points, _, _ in wrong), 2))
        return lost(name, wrong[0][0], " ".join(said for _, _, said, _ in wrong), wrong[0][3], share)


_TEACH_DIVIDED = "Every rank has done all of the work. Each holds and computes its part, and sends what others need."
_TEACH_TINY = (
    "So small a difference is float32 somewhere (a buffer or a message made without dtype), or a small number added."
)
_TEACH_FLOAT64 = "Everything is in float64: torch.empty and torch.zeros need dtype, and nothing is cast on its way."
_TEACH_TRAFFIC = {
    "tensor": "A block needs two all-reduces forward and two backward: f once for q, k and v together.",
    "pipeline": "Between two stages travel an activation forward and its gradient backward, for each micro-batch.",
    "data": "Of the gradients a replica needs a shard of the sum (reduce-scatter), of the weights the others' shards.",
    "world": "Everything large stays within its axis; to all ranks goes a number or two.",
}


def _not_resumed(name: str, at: str, losses: np.ndarray, whole: np.ndarray) -> LineResult:
    said = f"{at}: the losses are {losses[0, 0]:.10g} and {losses[0, 1]:.10g}; without a break {whole[2]:.10g} and"
    said += f" {whole[3]:.10g}."
    if _near(losses[:, 0], whole[0]):
        teach = "It begins at the first step with the first weights: use the parts that `train` is given."
        return lost(name, "starts_anew", said, teach)
    if _near(losses[:, 0], whole[2]):
        teach = "The weights came through, the optimizer did not: both moments and the number of the step belong to it."
        return lost(name, "optimizer_lost", said, teach)
    teach = "The weights are not those that were saved, or the minibatch is not that of the next step."
    return lost(name, "weights_lost", said, teach)


def _short(name: str) -> str:
    """The first words of a line's title."""
    return RUBRIC.line(name).title.partition(":")[0]


def _counts(ran: Ran) -> bool:
    """True if it is a run of several ranks that came to its end, with nothing altered on its way."""
    return ran.trial.mesh.size > 1 and not (ran.trouble or ran.trial.altered)


def _undivided(ran: Ran) -> str:
    """An axis along which hardly anything was sent, though it has several ranks; "" where there is none."""
    needed, mesh = sizes.traffic(ran.trial.settings, ran.trial.mesh), ran.trial.mesh
    for axis in AXES:
        if getattr(mesh, axis) > 1 and ran.sent[axis] < LEAST * needed[axis]:
            return axis
    least = LEAST * sizes.between_parts(ran.trial.settings, mesh) if mesh.context > 1 else 0.0
    return "context" if ran.sent["context"] < least else ""


def _alike(ran: Ran) -> str:
    """A sentence about an axis along which ranks have added the same to sums, but for a factor; "" where there is
    none."""
    for axis in ("data", "tensor", "context"):
        if ran.summed is not None and getattr(ran.trial.mesh, axis) > 1 and ran.summed.undivided(axis):
            return f"what ranks add to the sums along {axis} is the same on several of them, up to a factor."
    return ""


def _half_right(name: str, ran: Ran) -> LineResult | None:
    """The mistake along an axis though the losses are right, or None."""
    needed, mesh = sizes.traffic(ran.trial.settings, ran.trial.mesh), ran.trial.mesh
    for axis in AXES:
        if ran.narrow[axis]:
            said = (
                f"On {ran.where} the losses are right, but {ran.narrow[axis]:,.0f} bytes of each step went along {axis}"
            )
            return lost(name, "not_float64", f"{said} in a narrower type than float64.", _TEACH_FLOAT64, 0.5)
        if getattr(mesh, axis) > 1 and ran.sent[axis] < HALF * needed[axis]:
            said = f"On {ran.where} the losses are right, but only {ran.sent[axis] / needed[axis]:.2f} times the bytes"
            said += f" were sent along {axis} that its division needs: some of the work is not divided."
            return lost(name, "half_divided", said, "Attention and MLP are both divided, in every block.", 0.5)
    if name in AXES and ran.unwaited:
        said = f"On {ran.where} a rank began {ran.unwaited} operations that it never waited for."
        teach = "Keep what isend and irecv return, and wait for it: before that the buffer is not yours."
        return lost(name, "forgot_wait", said, teach, 0.5)
    return None


def _tiny(found: np.ndarray, right: float) -> str:
    """The distance, in words, of numbers that agree but for a rounding; "" if they are further apart."""
    apart = float(np.abs(found - right).max() / abs(right))
    return f"They are {apart:.1e} of it apart; 1e-9 are allowed." if apart < TINY else ""


def _close(found: np.ndarray, right) -> np.ndarray:
    return np.isclose(found, right, rtol=RTOL, atol=0)


def _near(found: np.ndarray, right) -> bool:
    """True if the numbers of every rank are close."""
    return bool(_close(found, right).all())


__all__ = ["FILE", "RTOL", "judge"]
