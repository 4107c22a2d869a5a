"""The evidence on a port: its runs on one, two and three ranks, and the reason where a run came to no end."""

from __future__ import annotations

import functools
import time
from dataclasses import replace

from autograder.homework.mnist_rubric import lost, needs_person
from autograder.homework.port import source as port_source
from autograder.homework.port import used, words
from autograder.homework.port.runs import (
    BATCH,
    DDP,
    HOROVOD,
    NotComputable,
    ObservedRun,
    RunSetting,
    crossed_gradients,
    expected,
    watch,
)
from autograder.homework.rubric import LineResult, shown
from labkit.launch.launcher import Launcher, Limits

TWO = RunSetting(2, 64)
THREE = RunSetting(3, 97, apart=True, ranks_per_node=2)  # ranks 0 and 1 on one machine, rank 2 on another
ONE = RunSetting(1, 40, epochs=1, arrays=0)
LONG = RunSetting(2, 64, epochs=20, arrays=0)  # for a warm-up that is longer than the other runs
GPUS = replace(THREE, gpus=2, arrays=0)  # each rank ends where it has chosen a GPU
ALTERED = RunSetting(2, 32, apart=True, epochs=1, altered="all")  # what the ranks send is altered on its way: two steps
LIMITS = Limits(cpu_seconds=30, memory_bytes=2 << 30, file_bytes=64 << 20, deadline=150.0)
HURRY = replace(LIMITS, cpu_seconds=6, deadline=40.0)  # once the script has proved endless
SLEEPY = replace(LIMITS, deadline=40.0)  # once its runs have taken so long, all together:
BROKEN = "Where what the ranks send is altered on its way, the script does not come to its end."
PATIENT_S = 200.0  # a run takes ten seconds or twenty


class ScriptRuns:
    """The script's runs, each made when it is first asked for."""

    def __init__(self, name: str, text: str, key: str, launcher: Launcher, ddp: bool = False):
        self.name, self.text, self.key, self.launcher = shown(name, 60), text, key, launcher
        self.means = DDP if ddp else HOROVOD
        self.made: dict[RunSetting, ObservedRun] = {}
        self._expected: dict[tuple, dict | str] = {}
        self._left = PATIENT_S

    def __call__(self, setting: RunSetting) -> ObservedRun:
        unending = next((seen for seen in self.made.values() if not seen.ends and not any(seen.counts)), None)
        if setting not in self.made and unending is not None:  # its processes could hardly be ended: not once more
            self.made[setting] = replace(unending, setting=setting)
        if setting not in self.made:
            endless = any(seen.failure == "too_slow" for seen in self.made.values())
            limits = HURRY if endless else SLEEPY if self._left < 0 else LIMITS
            seen = self._watch(setting, limits)
            if seen.failure == "raised" and _first_error(seen)["type"] == "FileNotFoundError" and not setting.shared:
                # ranks may read what rank 0 has written: then they need one folder, as on a cluster
                shared = self._watch(replace(setting, shared=True), limits)
                seen = seen if shared.failure == "raised" else shared
            if _might_resume(seen):
                seen = self._watch(setting, limits, patience=20)
            self.made[setting] = seen
        return self.made[setting]

    def once(self, setting: RunSetting) -> ObservedRun:
        """A run that says nothing on the others."""
        return self._watch(setting, SLEEPY)

    def _watch(self, setting: RunSetting, limits: Limits, **how) -> ObservedRun:
        began = time.monotonic()
        seen = watch(self.launcher, self.name, self.text, self.key, setting, limits, means=self.means, **how)
        self._left -= (time.monotonic() - began) / max(seen.outcome.slowed, 1.0)
        return seen

    def training(self, setting: RunSetting) -> ObservedRun:
        """The run of that setting. Where one mistake ends it before it has begun, it is put right, so that the other
        steps can be seen: a missing `hvd.init()` or `init_process_group()`, and a broadcast that not all ranks call
        (nobody waits for it then)."""
        seen = self(setting)
        if seen.failure == "raised" and is_not_initialised(seen):
            setting = replace(setting, init=True)
            seen = self(setting)
        if seen.failure == "hung" and stuck_in(seen) == "broadcast" and max(seen.counts) <= 1:
            return self(replace(setting, no_broadcast=True))
        return seen

    def crossed(self, seen: ObservedRun) -> list | str:
        """The result of `crossed_gradients`, or the reason why there is none."""
        try:
            return crossed_gradients(self.launcher, seen)
        except NotComputable as reason:
            return str(reason)

    def expected(self, seen: ObservedRun, run: bool = False) -> dict | str:
        """The result of `expected`, or the reason why there is none."""
        place = (seen.setting, run)
        if place not in self._expected:
            try:
                self._expected[place] = expected(self.launcher, seen, tests=True, run=run)
            except NotComputable as reason:
                self._expected[place] = str(reason)
        return self._expected[place]


def _first_error(seen: ObservedRun) -> dict:
    return next(
        (rank.error for rank in seen.outcome.ranks if rank.state == "raised"), {"type": "", "text": "", "rows": []}
    )


def is_not_initialised(seen: ObservedRun) -> bool:
    """True if the run ended because `hvd.init()`, or `init_process_group()`, had not been called."""
    return "has not been initialized" in _first_error(seen)["text"]


def _might_resume(seen: ObservedRun) -> bool:
    """True if a stalled run waits outside of any collective and of any training step (a pause in tf.data): it is run
    again with a longer patience."""
    if seen.failure != "hung":
        return False
    return any(
        "a Horovod operation" in row and not rank.after.numbers
        for row, rank in zip(seen.outcome.hang.rows, seen.ranks, strict=False)
    )


def stuck_in(seen: ObservedRun) -> str:
    """The place where a run stands still: "broadcast", "steps", "metrics" or ""."""
    report = seen.outcome.hang
    if report is None:
        return ""
    rows = " ".join((*report.rows, report.sentence)).lower()
    if "broadcast" in rows or "root rank" in rows:
        return "broadcast"
    waiting = [r for r, rank in enumerate(seen.ranks) if rank.after.numbers]
    if waiting:
        counts = seen.counts
        next_epoch = any(counts[r] and any(done == counts[r] for done, _ in seen.ranks[r].tests) for r in waiting)
        return "metrics" if next_epoch and len(waiting) < len(counts) else "steps" if len(waiting) < len(counts) else ""
    return "metrics" if any(seen.counts) else ""


class Evidence:
    """The evidence for each line of the rubric."""

    def __init__(self, runs: ScriptRuns, source: port_source.Source):
        self.runs, self.source = runs, source
        self.words = words.DDP if runs.means is DDP else words.HOROVOD
        self.teach = self.words.teach
        self.two, self.three = runs.training(TWO), runs.training(THREE)
        self.one = runs(ONE)

    @functools.cached_property
    def pinned(self) -> str:
        """By what each rank chooses its GPU, as `port_source.Source.pinned` says it; "unseen" where it came to none."""
        if not self.ran:
            return self.source.pinned  # from the text
        setting = replace(GPUS, init=self.two.setting.init or self.three.setting.init)
        chosen = [rank.device for rank in self.runs.once(setting).ranks]
        if None in chosen:
            return "unseen" if self.source.pinned == "local_rank" else self.source.pinned
        return {(0, 1, 0): "local_rank", (0, 1, 2): "rank"}.get(tuple(chosen), "same")

    @functools.cached_property
    def altered(self) -> ObservedRun | None:
        """A run on two ranks in which what they send is altered on its way, without broadcasts where the script does
        not bear that; None where it bears neither, or where nobody stands between the ranks (Horovod)."""
        if self.runs.means is not DDP:
            return None
        two = self.two.setting
        for what in ("all", "sums"):
            setting = replace(ALTERED, altered=what, init=two.init, shared=two.shared, no_broadcast=two.no_broadcast)
            seen = self.runs.once(setting)
            if min(seen.counts, default=0) and seen.failure in ("", self.two.failure):
                return seen
        return None

    @functools.cached_property
    def used_gradients(self) -> tuple[str, str]:
        """As `used.gradients_of` says it, or `used.given_back` where nobody stands between the ranks."""
        if self.runs.means is not DDP:
            return next(filter(None, map(used.given_back, self.ran)), ("", ""))
        if self.altered is None:
            return used.UNKNOWN, BROKEN
        return used.gradients_of(self.altered, lambda: self.runs.crossed(self.altered))

    @functools.cached_property
    def used_weights(self) -> tuple[str, str]:
        """As `used.weights_of` says it; ("", "") where nobody stands between the ranks."""
        if self.runs.means is not DDP:
            return "", ""
        if self.altered is None or self.altered.setting.altered != "all":
            return used.UNKNOWN, BROKEN
        return used.weights_of(self.altered)

    # -- when a run did not come to its end

    @property
    def ran(self) -> list[ObservedRun]:
        """The runs on several ranks in which training was seen, the one on three first."""
        return [seen for seen in (self.three, self.two) if min(seen.counts, default=0) > 0]

    def first_failure(self) -> tuple[str, str]:
        """(diagnosis, sentence) of the first run that failed; ("", "") if none did."""
        for setting in (TWO, THREE, ONE):
            found = self.failure_of(self.runs(setting))
            if found[0]:
                return found
        return "", ""

    def failure_of(self, seen: ObservedRun) -> tuple[str, str]:
        """(diagnosis, sentence) of a run that did not come to its end; ("", "") where it did."""
        p = seen.setting.world_size
        where = f"On {p} rank{'s' if p > 1 else ''}"
        if seen.failure == "raised":
            error = _first_error(seen)
            at = error["rows"][-1].split(", in ")[0] if error["rows"] else ""
            said = f"{where} it stops: {error['type']}{f' at {at}' if at else ''}: {shown(error['text'], 200)}"
            if is_not_initialised(seen):
                return "not_initialised", said
            if error["type"] == "SystemExit" and error["text"] == "exit status 2":
                said += (
                    ". It has to take the options of the handout: --batch-size --epochs --lr --device --seed"
                    " --data --log --nonce"
                )
            return "script_failed", said
        if seen.failure == "died":
            r = next(r for r, rank in enumerate(seen.outcome.ranks) if rank.state == "dead")
            end = seen.ends[r] if r < len(seen.ends) else {}
            how = f"signal {end['signal']}" if end.get("signal") else f"exit status {end.get('exit')}"
            how = "too much memory" if end.get("over") == "memory" else how
            return "script_failed", f"{where} the process of rank {r} dies ({how})."
        if seen.failure == "hung":
            report = seen.outcome.hang
            rows = "; ".join(" ".join(row.split()) for row in report.rows)
            return "script_hangs", f"{where} it stands still: {rows}.".replace("a Horovod operation", "waits")
        if seen.failure == "too_slow":
            return (
                "too_slow",
                f"{where} it does not come to an end: {max(seen.counts)} steps were made in {LIMITS.cpu_seconds} s.",
            )
        return "", ""

    def not_used(self, name: str, diagnosis: str, sentence: str) -> LineResult:
        """The result of a line whose messages are not used, or of which that is not known."""
        if diagnosis == used.UNKNOWN:
            return needs_person(name, f"{sentence} Read whether the script uses what its ranks send.", diagnosis)
        return lost(name, diagnosis, sentence, self.teach[diagnosis])

    def not_reached(self, name: str) -> LineResult:
        """The result of a line about a step that no run came to."""
        diagnosis, sentence = self.first_failure()
        if diagnosis:
            return lost(name, diagnosis, f"This step was not reached. {sentence}", self.teach[diagnosis])
        return needs_person(name, f"No training step was recognised: the script trains without {self.words.training}.")


def who_waits(seen: ObservedRun) -> str:
    """The ranks that wait, in words, with the steps that each rank has made."""
    made = ", ".join(str(count) for count in seen.counts)
    p = seen.setting.world_size
    rows = "; ".join(" ".join(row.split()) for row in seen.outcome.hang.rows).replace("a Horovod operation", "waits")
    return (
        f"On {p} ranks, with {seen.setting.images} images in minibatches of {BATCH}, they stand still after {made}"
        f" steps: {rows}."
    )
