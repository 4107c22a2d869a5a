"""The port to Horovod or to torch.distributed, judged by what a script does on 2, 3 and 1 ranks.

    result = judge(Path("tensorflow2_mnist_hvd.py"), key=key, launcher=launcher)

Two ranks: everything divides, and all start equal: the run has to equal the sequential one on the global minibatches.
Three ranks on two machines: nothing divides, and every rank starts with weights of its own, so that a missing broadcast
shows. Lines are judged on their own: what went wrong in one step costs that step, and what could not be seen because of
it says so.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from autograder.exercise import PUBLIC_KEY
from autograder.homework.mnist_rubric import full, line, lines_of, lost, needs_person
from autograder.homework.port import source as port_source
from autograder.homework.port import used, words
from autograder.homework.port.evidence import (
    LONG,
    THREE,
    TWO,
    Evidence,
    ScriptRuns,
    is_not_initialised,
    stuck_in,
    who_waits,
)
from autograder.homework.port.metrics import global_metrics, run_log
from autograder.homework.port.runs import BATCH, DDP, EPOCHS, ObservedRun, RecordedUpdate
from autograder.homework.rubric import Flag, LineResult, PartResult, shown
from labkit.launch.launcher import Launcher
from labkit.watch.hang import list_ranks

CLOSE = 0.02  # relative difference up to which two gradients are the same (compressed ones are, too)
SAME = 1e-5  # the same for weights of two ranks
COMPRESSED = 0.2  # of the bytes of gradients in single precision: what is sent less of cannot be their mean
OFTEN = 0.7  # of the steps: a rate that only the others reach is not the run's


def judge(script: Path, *, key: str = PUBLIC_KEY, launcher: Launcher) -> PartResult:
    """The findings on all lines of the port, and on the bonus for a warm-up.

    script: the file. key: where data, seeds and learning rates come from. launcher: runs the ranks, in its jail if it
    has one.
    """
    text = Path(script).read_bytes().decode("utf-8", errors="replace")
    source = port_source.read(text)
    lines = [*lines_of("port"), *lines_of("bonus")]
    if source.error:
        where = f", line {source.line}" if source.line else ""
        said = f"The script is no Python program: {shown(source.error)}{where}."
        return PartResult(
            "port", [lost(one.name, "script_failed", said, words.HOROVOD.teach["script_failed"]) for one in lines]
        )
    if not source.uses_horovod and not source.uses_distributed:
        said = (
            "The script uses neither Horovod nor torch.distributed: on every rank it does what the sequential one does."
        )
        teach = (words.DDP if source.uses_torch else words.HOROVOD).teach["not_ported"]
        return PartResult("port", [lost(one.name, "not_ported", said, teach) for one in lines])
    if source.horovod_for_torch:
        said = "The script trains with horovod.torch, which nobody watches here: a person reads it."
        return PartResult("port", [needs_person(one.name, said) for one in lines])
    runs = ScriptRuns(Path(script).name, text, key, launcher, ddp=not source.uses_horovod)
    evidence = Evidence(runs, source)
    return PartResult("port", findings_of(evidence), flags_of(evidence), facts_of(evidence))


# -- each step, in numbers ---------------------------------------------------------------------------------------------


def findings_of(evidence: Evidence) -> list[LineResult]:
    """The results of all lines of the port."""
    judges: dict[str, Callable[[Evidence], LineResult]] = {
        "init": init,
        "devices": devices,
        "shards": shards,
        "steps": steps,
        "learning_rate": learning_rate,
        "gradients": gradients,
        "broadcast": broadcast,
        "rank_zero": rank_zero,
        "global_metrics": global_metrics,
        "run_log": run_log,
        "warmup": warmup,
    }
    found = {name: judged(evidence) for name, judged in judges.items()}
    alone = found["gradients"].diagnosis in ("gradients_not_sent", "gradients_not_used")
    if alone and found["shards"].verdict == "passed":
        said = "By the gradients that it applies, each rank has trained on the images of all ranks, and not only on"
        said += " those that its model was shown: read which images it takes."
        found["shards"] = needs_person("shards", said, found["gradients"].diagnosis)
    return list(found.values())


def flags_of(evidence: Evidence) -> list[Flag]:
    """The flags for a person."""
    paths = {path for seen in evidence.runs.made.values() for rank in seen.ranks for path in rank.outside}
    if not paths:
        return []
    said = ", ".join(shown(path) for path in sorted(paths)[:3])
    return [Flag("looks_outside", f"The script looked for files that are none of its own: {said}.")]


def facts_of(evidence: Evidence) -> dict:
    """The measurements, for the page."""
    runs = [
        {
            "ranks": seen.setting.world_size,
            "images": seen.setting.images,
            "ended": seen.failure or "returned",
            "steps": seen.counts,
            "first_rate": seen.ranks[0].steps[0].rate if seen.counts[0] else None,
            "last_rate": seen.ranks[0].steps[-1].rate if seen.counts[0] else None,
            "cpu_seconds": [round(end.get("cpu", 0.0), 2) for end in seen.ends],
        }
        for seen in evidence.runs.made.values()
    ]
    return {"runs": runs, "rate": evidence.two.rate, "batch_size": BATCH, **getattr(evidence, "measured", {})}


def init(evidence: Evidence) -> LineResult:
    """Step 1, and that the script comes to its end."""
    several = [evidence.runs(TWO), evidence.runs(THREE)]
    for seen in filter(is_not_initialised, several):
        return lost("init", "not_initialised", evidence.failure_of(seen)[1], evidence.teach["not_initialised"])
    ended = [rank for seen in several for rank in seen.ranks if rank.ended or rank.steps]
    if ended and not any(rank.initialised for rank in ended):
        return lost(
            "init",
            "not_initialised",
            f"{evidence.words.init} was never called: each rank believes to be alone.",
            evidence.teach["not_initialised"],
        )
    for seen in several:
        diagnosis, sentence = evidence.failure_of(seen)
        if diagnosis and not (diagnosis == "script_hangs" and stuck_in(seen)):
            earned = line("init").points / 2 if any(rank.initialised for rank in seen.ranks) else 0.0
            return lost("init", diagnosis, sentence, evidence.teach[diagnosis], earned)
    if evidence.one.failure and not any(seen.failure for seen in several):
        sentence = evidence.failure_of(evidence.one)[1]
        return lost("init", "fails_on_one_rank", sentence, evidence.teach["fails_on_one_rank"], line("init").points - 1)
    return full("init", "It runs on 1, 2 and 3 ranks, and every rank knows how many there are.")


def devices(evidence: Evidence) -> LineResult:
    """Step 2, from a run on machines that are said to have GPUs; growth, and of a script that never ran all, from the
    source."""
    pinned, growth = evidence.pinned, evidence.source.growth
    points = line("devices").points
    if pinned == "unseen":
        said = "The script speaks of local ranks, but with --device gpu no rank puts anything on a GPU."
        return needs_person("devices", said, "device_unseen")
    if pinned in ("", "same"):
        said = "No GPU is chosen." if not pinned else "All ranks choose the same GPU."
        return lost("devices", "not_pinned", said, evidence.teach["not_pinned"], points / 4 if growth else 0.0)
    if pinned == "rank":
        said = f"The GPU is chosen by {evidence.words.rank}: on the second machine there is none with such a number."
        return lost("devices", "pinned_by_rank", said, evidence.teach["pinned_by_rank"], points / 4 if growth else 0.0)
    if not growth:
        said = "The GPU is chosen by the local rank, but its memory does not grow as needed."
        return lost("devices", "no_memory_growth", said, evidence.teach["no_memory_growth"], points / 2)
    read = "" if evidence.ran else " (read from the source)"
    return full("devices", f"The GPU is chosen by the local rank, and its memory grows{read}.")


def shards(evidence: Evidence) -> LineResult:
    """Step 3: disjoint parts that cover the data."""
    looked = [seen for seen in evidence.ran if all(rank.batches for rank in seen.ranks)]
    if not looked:
        return evidence.not_reached("shards")
    found = [_shards_of(seen) for seen in looked]
    for diagnosis, sentence in found:
        if diagnosis:
            return lost("shards", diagnosis, sentence, evidence.teach[diagnosis])
    return full("shards", found[0][1])


def steps(evidence: Evidence) -> LineResult:
    """Step 4: the number of steps of an epoch."""
    for setting in (THREE, TWO):
        seen = evidence.runs(setting)
        if seen.failure == "hung" and stuck_in(seen) == "steps":
            return lost("steps", "unequal_steps", who_waits(seen), evidence.teach["unequal_steps"])
    if not evidence.ran:
        return evidence.not_reached("steps")
    whole = [seen for seen in evidence.ran if not seen.failure or stuck_in(seen) == "metrics" or seen.epochs(0)[:-1]]
    if not whole:
        return evidence.not_reached("steps")
    for seen in whole:
        diagnosis, sentence = _steps_of(seen)
        if diagnosis:
            return lost("steps", diagnosis, sentence, evidence.teach[diagnosis])
    return full("steps", _steps_of(whole[0])[1])


def learning_rate(evidence: Evidence) -> LineResult:
    """Step 5: the rates that the optimizer used."""
    if not evidence.ran:
        return evidence.not_reached("learning_rate")
    seen = evidence.ran[0]
    if _climbs(seen):
        long = evidence.runs.training(LONG)
        seen = long if min(long.counts) else seen
    diagnosis, sentence, part = _rate_of(seen)
    if diagnosis:
        return lost(
            "learning_rate", diagnosis, sentence, evidence.teach[diagnosis], part * line("learning_rate").points
        )
    return full("learning_rate", sentence)


def gradients(evidence: Evidence) -> LineResult:
    """Step 6: what was applied is the mean of what each rank should have computed."""
    if not evidence.ran:
        return evidence.not_reached("gradients")
    reason, measured = "", {}
    names: list[tuple[str, str]] = []
    for seen in evidence.ran:
        computed = evidence.runs.expected(seen, run=seen.setting == TWO)
        if isinstance(computed, str):
            reason = computed
            continue
        names.append(_gradients_of(seen, computed))
        names.append(_sent_for(seen) if not names[-1][0] else ("", ""))
        if seen.setting == TWO and computed["weights"] is not None and seen.ranks[0].final is not None:
            moved = np.linalg.norm(computed["weights"] - seen.ranks[0].steps[0].weights)
            measured["from_sequential"] = float(
                np.linalg.norm(seen.ranks[0].final - computed["weights"]) / max(moved, 1e-12)
            )
    evidence.measured = measured
    if not names:
        return needs_person("gradients", f"What the ranks should have computed is not known: {reason}.")
    for diagnosis, sentence in names:
        if diagnosis:
            return lost("gradients", diagnosis, sentence, evidence.teach[diagnosis])
    diagnosis, sentence = evidence.used_gradients
    if diagnosis:
        return evidence.not_used("gradients", diagnosis, sentence)
    # a broadcast has been by then: whether they are equal is the broadcast's line
    second = [rank.steps[1].weights if len(rank.steps) > 1 else None for rank in evidence.two.ranks]
    never_equal = all(weights is not None for weights in second) and _spread(second) > SAME
    if not evidence.two.failure and not never_equal and _spread([rank.final for rank in evidence.two.ranks]) > SAME:
        said = "The gradients are averaged, but at the end the ranks hold different weights."
        return lost("gradients", "weights_differ", said, evidence.teach["weights_differ"], line("gradients").points / 2)
    if not never_equal and measured.get("from_sequential", 0.0) > 0.1:
        said = "The gradients are averaged, but the run is not the sequential one on the global minibatches"
        return needs_person("gradients", f"{said}: weights are off by {measured['from_sequential']:.0%} of their way.")
    return full(
        "gradients",
        "In every step the mean over the ranks is applied: the run is the sequential one on global minibatches.",
    )


def broadcast(evidence: Evidence) -> LineResult:
    """Step 7, where every rank starts with weights of its own."""
    for setting in (TWO, THREE):
        seen = evidence.runs(setting)
        if seen.failure in ("hung", "raised") and stuck_in(seen) == "broadcast":
            text = " ".join((*seen.outcome.hang.rows, seen.outcome.hang.sentence)) if seen.outcome.hang else ""
            if "root rank" in text.lower():
                said = "The ranks do not agree on whose weights are sent: every rank must name the same root."
                return lost("broadcast", "wrong_root", said, evidence.teach["wrong_root"])
            return lost("broadcast", "script_hangs", who_waits(seen), evidence.teach["script_hangs"])
    seen = evidence.three
    if min(seen.counts) < 1 or any(rank.steps[0].weights is None for rank in seen.ranks):
        return evidence.not_reached("broadcast")
    diagnosis, sentence, part = _broadcast_of(seen)
    unused = evidence.used_weights if part else ("", "")
    if unused[0]:
        return evidence.not_used("broadcast", *unused)
    if diagnosis:
        return lost("broadcast", diagnosis, sentence, evidence.teach[diagnosis], part * line("broadcast").points)
    return full("broadcast", sentence)


def rank_zero(evidence: Evidence) -> LineResult:
    """Step 8: who writes, and who prints."""
    ended = [seen for seen in evidence.ran if all(rank.ended for rank in seen.ranks)]
    if not ended:
        return evidence.not_reached("rank_zero")
    seen = ended[0]
    diagnosis, sentence, part = _writes_of(seen)
    if diagnosis:
        return lost("rank_zero", diagnosis, sentence, evidence.teach[diagnosis], part * line("rank_zero").points)
    return full("rank_zero", sentence)


def warmup(evidence: Evidence) -> LineResult:
    """The rates of the first epochs, where the script warms up by itself or has an option for it."""
    if not evidence.ran:
        return evidence.not_reached("warmup")
    seen = evidence.two if min(evidence.two.counts) else evidence.three
    option = next((one for rank in seen.ranks for one in rank.options), None)
    if _climbs(seen):
        seen = evidence.runs.training(LONG)
    elif option is not None:
        steps = "step" in option["option"]
        word = [] if option["takes"] == "nothing" else ["12" if steps else "3"]
        seen = evidence.runs.training(replace(LONG, epochs=6, more=(shown(option["option"], 40), *word)))
    if not min(seen.counts):
        return evidence.not_reached("warmup")
    rates = np.array([step.rate for step in seen.ranks[0].steps])
    target = seen.rate * seen.setting.world_size
    top = int(np.argmax(rates >= rates.max() * (1 - 1e-4)))
    if rates[0] > 0.8 * rates.max():
        said = f"The first step uses {rates[0]:.4g}, the largest rate of the run is {rates.max():.4g}."
        return lost("warmup", "no_warmup", said, evidence.teach["no_warmup"])
    if not math.isclose(rates.max(), target, rel_tol=0.02) or (np.diff(rates[: top + 1]) < -1e-9).any():
        said = f"The rate begins at {rates[0]:.4g} and gets to {rates.max():.4g}; lr * {evidence.words.size} is"
        said += f" {target:.4g}."
        return lost("warmup", "warmup_never_ends", said, evidence.teach["warmup_never_ends"], 2.0)
    return full("warmup", f"The rate climbs from {rates[0]:.4g} to {target:.4g} in {top} steps of {len(rates)}.")


def _shards_of(seen: ObservedRun) -> tuple[str, str]:
    """(diagnosis, sentence) of the images that each rank trained on."""
    n, p = seen.setting.images, seen.setting.world_size
    by_epoch = [seen.epochs(r) or [rank.steps] for r, rank in enumerate(seen.ranks)]
    for epoch in range(min(map(len, by_epoch))):
        drawn = [[number for step in parts[epoch] for number in step.numbers] for parts in by_epoch]
        sets = [set(numbers) for numbers in drawn]
        if not all(sets):
            continue
        whole = set().union(*sets)
        twice = sum(map(len, sets)) - len(whole)
        where = f"On {p} ranks, {n} images"
        allowed = min(max(0, sum(map(len, drawn)) - n), p * BATCH - 1)
        if twice > allowed:
            return _overlap_of(seen, sets, twice, where)
        again = sum(map(len, drawn)) - sum(map(len, sets))  # within a rank: a dataset that repeats while it shuffles
        if len(whole) <= n - p * BATCH and not again and not seen.failure and _steps_of(seen)[0] == "":
            return "left_out", f"{where}: only {len(whole)} of them are trained on in an epoch."
    return "", f"On {p} ranks every image of an epoch is seen by one rank."


def _overlap_of(seen: ObservedRun, sets: list[set], twice: int, where: str) -> tuple[str, str]:
    n, p = seen.setting.images, seen.setting.world_size
    common = set.intersection(*sets)
    if len(common) >= 0.9 * max(map(len, sets)):
        part = "all of them" if len(common) > 0.8 * n else f"the same {len(common)}"
        return "same_data", f"{where}: every rank trains on {part}."
    if (
        seen.setting.ranks_per_node
        and not sets[0] & sets[1]
        and len(sets[0] & sets[2]) > 0.9 * min(len(sets[0]), len(sets[2]))
    ):
        return (
            "sharded_by_local_rank",
            f"{where}: ranks 0 and 2, both the first of their machine, train on the same ones.",
        )
    sizes = [len(one) for one in sets]
    all_pairs = all(one & other for one, other in itertools.combinations(sets, 2))  # as it comes by chance
    if all_pairs and (max(sizes) < 0.6 * n or p == 2):
        return (
            "own_shuffle",
            f"{where}: the ranks' parts are drawn from different orders; {twice} images are seen by more than one"
            " rank.",
        )
    return "overlap", f"{where}: {twice} of them are seen by more than one rank."


def _steps_of(seen: ObservedRun) -> tuple[str, str]:
    """(diagnosis, sentence) of the number of steps in an epoch."""
    n, p, counts = seen.setting.images, seen.setting.world_size, seen.counts
    where = f"On {p} ranks, with {n} images in minibatches of {BATCH}"
    sizes = sorted(size for rank in seen.ranks for step in rank.steps for size in step.sizes[:1])
    usual = sizes[len(sizes) // 2] if sizes else BATCH
    if len(set(counts)) > 1 and not seen.failure:
        return "unequal_steps", f"{where}, the ranks make {', '.join(map(str, counts))} steps."
    low, high = n // (BATCH * p), math.ceil(math.ceil(n / p) / BATCH)
    per_epoch = [len(part) for part in seen.epochs(0)]
    per_epoch = per_epoch[:-1] if seen.failure and len(per_epoch) > 1 else per_epoch
    made = max(per_epoch, key=lambda count: abs(count - (low + high) / 2), default=0)
    if usual != BATCH:
        return "wrong_batch_size", f"{where}, a rank's minibatch holds {usual} images."
    if low <= made <= high:
        return "", f"{where}, every rank makes {made} steps in an epoch."
    right = f"{low}" if low == high else f"{low} or {high}"
    said = f"{where}, every rank makes {made} steps in an epoch instead of {right}."
    if made in (n // BATCH, -(-n // BATCH)):
        return "steps_not_divided", said
    return ("too_few_steps" if made < low else "too_many_steps"), said


def _climbs(seen: ObservedRun) -> bool:
    """True if the rate grows during the run."""
    rates = [step.rate for step in seen.ranks[0].steps]
    return len(rates) > 1 and max(rates) > rates[0] * 1.01


def _rate_of(seen: ObservedRun) -> tuple[str, str, float]:
    """(diagnosis, sentence, part of the points) of the largest rate that each rank used."""
    p, base = seen.setting.world_size, seen.rate
    tops = [max(step.rate for step in rank.steps) for rank in seen.ranks]
    often = min(float(np.quantile([step.rate for step in rank.steps], OFTEN)) for rank in seen.ranks)
    said = (
        f"With --lr {base:.5g} on {p} ranks the optimizer uses {', '.join(f'{top:.5g}' for top in dict.fromkeys(tops))}"
    )

    def all_are(*factors: float) -> bool:
        wanted = factors if len(factors) == p else factors * p
        return all(math.isclose(top, base * factor, rel_tol=2e-3) for top, factor in zip(tops, wanted, strict=True))

    if all_are(p) and p > 1 and often <= base * 1.01:
        return "rate_not_scaled", f"{said}, but {often:.5g} in most of the steps.", 0.0
    if all_are(p):
        return "", f"{said}.", 1.0
    said += f" instead of {base * p:.5g}."
    if seen.setting.ranks_per_node and all_are(2, 2, 1):
        return "scaled_by_local_size", said, 0.0
    if max(tops) > min(tops) * 1.001:
        return "rates_differ", said, 0.0
    for factor, name, part in (
        (1, "rate_not_scaled", 0),
        (p * p, "rate_scaled_twice", 0),
        (1 / p, "rate_divided", 0),
        (p**0.5, "rate_square_root", 0.4),
    ):
        if all_are(factor):
            return name, said, part
    return "wrong_rate", said, 0.0


def _spread(vectors: list[np.ndarray | None]) -> float:
    """The largest difference between the first vector and another, relative to its size; 0 where one is missing."""
    if any(vector is None for vector in vectors):
        return 0.0
    size = max(float(np.linalg.norm(vectors[0])), 1e-12)
    return max(float(np.linalg.norm(vector - vectors[0])) / size for vector in vectors)


def _gradients_of(seen: ObservedRun, computed: dict) -> tuple[str, str]:
    """(diagnosis, sentence) of the gradients that the ranks applied."""
    p = len(seen.ranks)
    named: list[str] = []
    for k, rows in enumerate(computed["steps"]):
        own = [np.asarray(row[0]) for row in rows]
        mean = np.mean(own, axis=0)
        applied = [rank.steps[k].gradient for rank in seen.ranks]
        candidates = {
            "": [mean] * p,
            "gradients_apart": own,
            "gradients_summed": [mean * p] * p,
            "gradients_divided_again": [mean / p] * p,
            "gradients_of_rank_0": [own[0]] * p,
        }
        fits = [
            name
            for name, wanted in candidates.items()
            if all(_near(a, w) for a, w in zip(applied, wanted, strict=True))
        ]
        if fits[:2] == [
            "",
            "gradients_apart",
        ]:  # all ranks had the same images: whether they averaged is seen from what they sent
            fits = [""] if min(rank.steps[k].reduced for rank in seen.ranks) >= 0.9 * mean.size else ["gradients_apart"]
        named.append(fits[0] if fits else "wrong_gradients")
    wrong = [name for name in named if name]
    if not wrong:
        return "", ""
    if not named[0] and set(named[1:]) == {"gradients_apart"}:
        return "averaged_first_only", f"On {p} ranks gradients are averaged in the first step, and in no other."
    said = {
        "gradients_apart": "every rank applies its own gradients"
        + ("" if _together(seen) else ": these are independent runs"),
        "gradients_summed": "the gradients are added up and not averaged",
        "gradients_divided_again": f"the averaged gradients are divided by {p} once more",
        "gradients_of_rank_0": "rank 0's gradients are applied on all ranks",
        "wrong_gradients": "what is applied is neither the mean over the ranks nor any usual mistake",
    }[wrong[0]]
    return wrong[0], f"On {p} ranks {said} ({len(wrong)} of {len(named)} steps)."


def _sent_for(seen: ObservedRun) -> tuple[str, str]:
    """(diagnosis, sentence) where gradients are right and too little was sent for that: each rank has computed those of
    the others as well."""
    p, steps = len(seen.ranks), min(seen.counts)
    size = sum(math.prod(shape) for shape in seen.ranks[0].shapes)
    if seen.means is DDP:  # as the relay has counted
        sent = sum(rank.collective_bytes + rank.sent_bytes for rank in seen.outcome.ranks)
        apart = any(used.on_other_images(seen, k) for k in range(steps))
        alike = seen.altered.alike if seen.altered and apart else 0  # there nobody has the same gradients
        sent = (sent - alike) / 4 / p
    else:
        sent = min(sum(map(_exchanged, [*rank.steps, rank.after])) for rank in seen.ranks) - used.brought_alike(seen)
    if sent >= COMPRESSED * size * steps:
        return "", ""
    own = " of its own" if seen.altered and seen.altered.alike else ""
    said = f"On {p} ranks the mean is applied, but a rank sends {sent / steps:,.0f} numbers{own} a step for {size:,}"
    return "gradients_not_sent", f"{said} gradients: every rank has computed those of the others as well."


def _exchanged(step: RecordedUpdate) -> int:
    """Elements of all collectives since the update before."""
    return step.reduced + sum(elements for _, elements, _ in step.broadcasts)


def _together(seen: ObservedRun) -> bool:
    """True if the ranks have the same weights before the last update of which they are known."""
    known = min(sum(step.weights is not None for step in rank.steps) for rank in seen.ranks)
    last = [rank.steps[known - 1].weights for rank in seen.ranks] if known else []
    return len(last) > 1 and all(np.allclose(one, last[0], rtol=0, atol=SAME) for one in last)


def _near(applied: np.ndarray | None, wanted: np.ndarray) -> bool:
    if applied is None:
        return False
    return float(np.linalg.norm(applied - wanted)) <= CLOSE * max(float(np.linalg.norm(wanted)), 1e-7)


def _broadcast_of(seen: ObservedRun) -> tuple[str, str, float]:
    """(diagnosis, sentence, part of the points), where every rank started with weights of its own."""
    ranks = seen.ranks
    count = min(seen.counts)
    spreads = [_spread([rank.steps[k].weights for rank in ranks]) for k in range(count)]
    if count < 2:
        spreads.append(_spread([rank.final for rank in ranks]))
    size = sum(math.prod(shape) for shape in ranks[0].shapes)
    sent = [sum(n for root, n, real in rank.steps[k].broadcasts if real) for rank in ranks[:1] for k in range(count)]
    roots = {root for rank in ranks for step in rank.steps for root, _, real in step.broadcasts if real}
    when = "before the first step" if spreads[0] <= SAME else "after the first step"
    if min(spreads[:2]) > SAME:
        after = f"after {count - 1} steps they still differ by {spreads[-1]:.1%}" if count > 1 else "they still differ"
        said = f"Every rank was started with weights of its own; {after}."
        late = next((k for k, spread in enumerate(spreads) if spread <= SAME), None)
        if late is not None:
            return (
                "broadcast_late",
                f"Every rank was started with weights of its own; they are equal only after {late} steps.",
                0.0,
            )
        if any(sent) and roots == {0}:
            return "model_not_broadcast", f"{said} Something is broadcast, but not all of the model.", 0.0
        return "no_broadcast", said, 0.0
    if roots and roots != {0}:
        return "wrong_root", f"All ranks take the weights of {list_ranks(roots)}.", 1 / 3
    first = ranks[0].steps[0 if spreads[0] <= SAME or count < 2 else 1]
    if not any(sent[:2]) and first.reduced >= 1.9 * size:  # once for the gradients, and once more
        return (
            "weights_averaged",
            f"The weights of the ranks are equal {when}, but nothing was broadcast: they were averaged.",
            1 / 2,
        )
    if not _weights_sent(seen, 0 if spreads[0] <= SAME or count < 2 else 1, size):
        said = f"The weights of the ranks are equal {when}, but nobody has sent them: they were made alike."
        return "no_broadcast", said, 0.0
    again = sum(elements >= 0.9 * size for elements in sent)
    if again > EPOCHS + 1:
        return "broadcast_again", f"The weights are broadcast in {again} of {count} steps.", 2 / 3
    return "", f"Every rank was started with weights of its own; {when} all hold rank 0's.", 1.0


def _weights_sent(seen: ObservedRun, at: int, size: int) -> bool:
    """True if the weights, `size` numbers, may have come from another rank before the update `at`: something was
    broadcast, or more than gradients reduced, or they came through a file or in messages, which have no step."""
    if seen.setting.shared or any(rank.sent_bytes for rank in seen.outcome.ranks):
        return True
    before = [rank.steps[: at + 1] for rank in seen.ranks]
    broadcast = min(sum(elements for step in steps for _, elements, _ in step.broadcasts) for steps in before)
    if broadcast >= (
        0.9 * size if seen.means is DDP else 1
    ):  # of what Horovod broadcasts in place, the size is unknown
        return True
    return min(sum(map(_exchanged, steps)) for steps in before) >= (at + 1.9) * size


def _writes_of(seen: ObservedRun) -> tuple[str, str, float]:
    """(diagnosis, sentence, part of the points) of files and of what was printed."""
    p = seen.setting.world_size
    writers = [r for r, rank in enumerate(seen.ranks) if rank.files]
    others = [r for r in writers if r]
    names = ", ".join(shown(name, 40) for name in next((seen.ranks[r].files for r in others), [])[:3])
    said = f"Of {p} ranks, {list_ranks(writers)} wrote files ({names})." if others else ""
    if others:
        if writers == list(range(p)):
            return "all_ranks_write", said, 0.0
        if 0 not in writers:
            return "wrong_rank_writes", said, 0.0
        if seen.setting.ranks_per_node and writers == [0, 2]:
            return "one_rank_per_machine_writes", said, 0.0
        return "all_ranks_write", said, 0.0
    lines = [len(seen.printed(r)) for r in range(p)]
    if lines[0] and min(lines[1:]) >= max(EPOCHS, lines[0] / 2):
        return "all_ranks_print", f"On {p} ranks every rank prints its lines ({', '.join(map(str, lines))}).", 0.5
    if not lines[0] and max(lines[1:]) >= EPOCHS:
        return (
            "all_ranks_print",
            f"Rank 0 prints nothing, and {list_ranks([r for r in range(1, p) if lines[r]])} do.",
            0.5,
        )
    return "", f"On {p} ranks only rank 0 writes files and reports.", 1.0
