"""Judges what a ported script reports: are loss and accuracy those of all ranks, and is its run log true?

A mean over all ranks can be taken in several right ways (means of minibatches or of images, weighted by ranks or by
images). Every one of them is computed from what the ranks did, and so is what rank 0 alone would report.
"""

from __future__ import annotations

import itertools
import math

from autograder.homework.mnist_rubric import full, line, lost, needs_person
from autograder.homework.port.evidence import LONG, Evidence, stuck_in, who_waits
from autograder.homework.port.runs import BATCH, ObservedRun
from autograder.homework.rubric import LineResult, shown
from labkit.runlog import RunLog

NEAR = 2e-3  # relative to a loss, absolute for an accuracy
OTHER_CLOCK = 1.5  # times what a log says that its training took, a run may take by our clock


# -- loss and accuracy -------------------------------------------------------------------------------------------------


def global_metrics(evidence: Evidence) -> LineResult:
    """Step 8: metrics averaged over all ranks."""
    for setting in (evidence.two.setting, evidence.three.setting):
        seen = evidence.runs(setting)
        if seen.failure == "hung" and stuck_in(seen) == "metrics":
            return lost("global_metrics", "metrics_on_one_rank", who_waits(seen), evidence.teach["metrics_on_one_rank"])
    whole = [seen for seen in evidence.ran if all(rank.ended for rank in seen.ranks)]
    if not whole:
        return evidence.not_reached("global_metrics")
    seen = whole[0]
    computed = evidence.runs.expected(seen)
    if isinstance(computed, str):
        return needs_person("global_metrics", f"What the ranks should have computed is not known: {computed}.")
    log, _ = seen.run_log()
    if seen.failure and (log is None or not log.epochs):
        return evidence.not_reached("global_metrics")
    if log is None:
        return _without_log(evidence, seen, computed)
    verdicts: dict[str, set[str]] = {"training": set(), "validation": set()}
    worst = ""
    for e, epoch in enumerate(log.epochs):
        for what, values in (
            ("training", (epoch.loss, epoch.accuracy)),
            ("validation", (epoch.val_loss, epoch.val_accuracy)),
        ):
            parts = _parts_of(seen, computed, e, what)
            if parts is None:
                continue
            for value, which in zip(values, ("loss", "accuracy"), strict=True):
                verdict = _whose(value, parts, which, seen)
                verdicts[what].add(verdict)
                if verdict in ("own", "summed", "unknown") and not worst:
                    right = sorted(_means(parts, which))[0]
                    worst = f"Epoch {e + 1}, {what} {which}: the log has {value:.4g}, over all ranks it is {right:.4g}"
    return _metrics_finding(evidence, verdicts, worst, seen.setting.world_size)


def _metrics_finding(evidence: Evidence, verdicts: dict[str, set[str]], worst: str, p: int) -> LineResult:
    training, validation = verdicts["training"], verdicts["validation"]
    points = line("global_metrics").points
    if not training or "missing" in training:
        return lost(
            "global_metrics",
            "no_metrics",
            "The run log has no loss or no accuracy of the training.",
            evidence.teach["no_metrics"],
        )
    if "own" in training:
        return lost(
            "global_metrics",
            "metrics_of_one_rank",
            f"{worst}: it is rank 0's own.",
            evidence.teach["metrics_of_one_rank"],
        )
    if "summed" in training | validation:
        return lost(
            "global_metrics",
            "metrics_summed",
            f"{worst}: the ranks' means were added up.",
            evidence.teach["metrics_summed"],
        )
    if "unknown" in training:
        return needs_person("global_metrics", f"{worst}, and rank 0 alone has another value, too.")
    if "own" in validation:
        said = f"{worst}: it is that of rank 0's part."
        return lost(
            "global_metrics", "validation_of_one_rank", said, evidence.teach["validation_of_one_rank"], points / 2
        )
    return full("global_metrics", f"On {p} ranks the run log has the means over the images of all ranks.")


def _without_log(evidence: Evidence, seen: ObservedRun, computed: dict) -> LineResult:
    """Judges a run without a log: full points if means over all ranks of loss and accuracy were reduced."""
    ends = itertools.accumulate(len(part) for part in seen.epochs(0))
    for e, end in enumerate(ends):
        parts = _parts_of(seen, computed, e, "training")
        if parts is None:
            continue
        given = [out for done, _, out in seen.ranks[0].reductions if done == end]
        if all(
            any(_near(v, m, which) for v in _made_of(given) for m in _means(parts, which))
            for which in ("loss", "accuracy")
        ):
            return full("global_metrics", "There is no run log, but loss and accuracy are averaged over all ranks.")
    said = "There is no run log, and no mean over the ranks was seen either."
    return lost("global_metrics", "no_log", said, evidence.teach["no_log"])


def _parts_of(seen: ObservedRun, computed: dict, epoch: int, what: str) -> list[list[tuple[float, int, int]]] | None:
    """The (mean loss, right answers, images) of each minibatch of this epoch, a list per rank; None if not known."""
    if what == "validation":
        found = computed["tests"].get(epoch)
        return (
            [[(float(loss), correct, count)] for loss, correct, count in (found[r] for r in sorted(found))]
            if found
            else None
        )
    by_rank = [seen.epochs(r) for r in range(len(seen.ranks))]
    if any(epoch >= len(parts) for parts in by_rank):
        return None
    first = sum(len(part) for part in by_rank[0][:epoch])
    last = first + len(by_rank[0][epoch])
    if last > len(computed["steps"]):
        return None
    rows = computed["steps"][first:last]
    return [[(float(row[r][1]), int(row[r][2]), int(row[r][3])) for row in rows] for r in range(len(seen.ranks))]


def _value(part: list[tuple[float, int, int]], which: str, weighted: bool) -> float:
    """The mean over the images of these minibatches, or the mean of their means."""
    values = [loss if which == "loss" else correct / count for loss, correct, count in part]
    weights = [count if weighted else 1 for _, _, count in part]
    return sum(v * w for v, w in zip(values, weights, strict=True)) / sum(weights)


def _means(parts: list[list[tuple[float, int, int]]], which: str) -> set[float]:
    """The right ways to take a mean over all ranks."""
    together = [one for part in parts for one in part]
    found = {_value(together, which, weighted) for weighted in (True, False)}
    return found | {sum(_value(part, which, weighted) for part in parts) / len(parts) for weighted in (True, False)}


def _near(value: float, wanted: float, which: str) -> bool:
    return abs(value - wanted) <= NEAR * (max(abs(wanted), 1e-3) if which == "loss" else 1.0)


def _made_of(given: list[list[float]]) -> list[float]:
    """The numbers that a script may have made of reduced values: these and their ratios, such as a sum over a count."""
    flat = [x for values in given for x in values][:200]
    return flat + [a / b for a in flat for b in flat if b and a is not b]


def _whose(value: float, parts: list, which: str, seen: ObservedRun) -> str:
    """ "global", "own" of rank 0, "summed", "either" where that cannot be told, "missing" or "unknown"."""
    if math.isnan(value):
        return "missing"
    right = any(_near(value, mean, which) for mean in _means(parts, which))
    own = any(_near(value, _value(parts[0], which, weighted), which) for weighted in (True, False))
    if right or own:
        return "either" if right and own else "global" if right else "own"
    if any(_near(value, len(parts) * mean, which) for mean in _means(parts, which)):
        return "summed"
    reduced = [(came, out) for _, came, out in seen.ranks[0].reductions if came != out]
    results = _made_of([out for _, out in reduced[-60:]])
    if any(math.isclose(value, result, rel_tol=1e-5) for result in results):
        return "global"  # of something else than is computed here, but of all ranks
    return "unknown"


# -- the run log -------------------------------------------------------------------------------------------------------


def run_log(evidence: Evidence) -> LineResult:
    """The finding on the script's run log: it must be readable and say what happened."""
    points = line("run_log").points
    whole = [seen for seen in evidence.ran if all(rank.ended for rank in seen.ranks)]
    if not whole:
        return evidence.not_reached("run_log")
    seen = whole[0]
    p = seen.setting.world_size
    log, why = seen.run_log()
    if log is None and why:
        said = f"On {p} ranks the log is no run log: {shown(why, 200)}."
        return lost("run_log", "log_unreadable", said, evidence.teach["log_unreadable"])
    if log is None:
        said = f"On {p} ranks rank 0 wrote no run log into the file of --log."
        return lost("run_log", "no_log", said, evidence.teach["no_log"])
    if log.format != "jsonl":
        said = "It is a table of metrics: no times, no samples, nothing on where it was made."
        return lost("run_log", "old_format", said, evidence.teach["old_format"], points / 2)
    if not log.complete or any(not len(epoch.step_seconds) for epoch in log.epochs):
        said = shown(next(iter(log.problems), "Epochs without times of steps."), 200)
        return lost("run_log", "log_incomplete", f"On {p} ranks: {said}", evidence.teach["log_incomplete"], points - 3)
    return _told_as_it_was(evidence, seen, log, points)


def _told_as_it_was(evidence: Evidence, seen: ObservedRun, log: RunLog, points: float) -> LineResult:
    """The finding on a complete log: it must say of the run what was seen of it."""
    p = seen.setting.world_size
    told = {
        "ranks": (log.world_size, p),
        "images per step": (log.batch_size, BATCH),
        "the code of --nonce": (log.nonce, seen.nonce),
        "steps": (sum(len(epoch.step_seconds) for epoch in log.epochs), seen.counts[0]),
    }
    for what, (given, right) in told.items():
        if given != right:
            said = f"On {p} ranks the log says {what}: {shown(given, 40)}; it was {right}."
            return lost("run_log", "log_of_other_run", said, evidence.teach["log_of_other_run"], points - 2)
    trained = [sum(sum(step.sizes) for step in rank.steps) for rank in seen.ranks]
    logged = [
        sum(epoch.samples_per_rank[r] if r < len(epoch.samples_per_rank) else 0 for epoch in log.epochs)
        for r in range(p)
    ]
    if all(rank.batches for rank in seen.ranks) and logged != trained:
        said = (
            f"The log has {', '.join(map(str, logged))} images of the ranks; they trained on"
            f" {', '.join(map(str, trained))}."
        )
        return lost("run_log", "wrong_samples", said, evidence.teach["wrong_samples"], points - 1)
    if _by_our_clock(seen, 0.02) and (said := _by_our_clock(evidence.runs.training(LONG), 0.2)):
        return needs_person("run_log", said, "other_clock")
    return full("run_log", f"On {p} ranks it says who ran what, for how long, on how many images.")


def _by_our_clock(seen: ObservedRun, slack: float) -> str:
    """A sentence where the log's times cannot be those of the run: what the rank has told came at other times, by the
    clock of this process. "" where they can be, and where nothing is known."""
    log, _ = seen.run_log()
    if log is None or not log.epochs or seen.ranks[0].updated is None:
        return ""
    first, last = seen.ranks[0].updated
    trained = sum(epoch.seconds + epoch.validation_seconds for epoch in log.epochs)
    told = trained - log.epochs[0].step_seconds[0] - log.epochs[-1].validation_seconds
    if trained > seen.wall + slack:
        return f"The log says that its epochs took {trained:.1f} s. The whole run took {seen.wall:.1f} s by our clock."
    if OTHER_CLOCK * told + slack < last - first:
        return (
            f"The log says that it took {told:.2f} s from the first step to the last. It was {last - first:.2f} s by"
            " our clock."
        )
    return ""
