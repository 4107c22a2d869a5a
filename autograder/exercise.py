"""The vocabulary of an exercise: what is asked, on which cases, what is right, and which mistakes have a name.

An exercise module (``units/NN_topic/exercises.py``) holds nothing but subclasses of `Exercise`. Everything
here is data and plain formulas on numpy arrays: no torch, no MPI, no process is started. Running the cases is the
judge's job.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import re
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from autograder.case import ANYTHING, COMM, Case, Finding, Opaque, RankRun, Run, Tensor, Typed
from autograder.compare import same
from labkit.environment import without_frameworks

__all__ = [
    "ANYTHING",
    "COMM",
    "Case",
    "Diagnosis",
    "Exercise",
    "Finding",
    "Mistake",
    "Opaque",
    "RankRun",
    "Record",
    "Run",
    "Tensor",
    "Typed",
    "drawn",
    "drawn_further",
    "names_of",
    "rng_for",
]

VERDICTS = ("passed", "wrong", "raised", "hung", "crashed", "out_of_memory", "too_slow", "missing")
PUBLIC_KEY = "public"


@dataclass(frozen=True)
class Diagnosis:
    """A mistake with a name. why: what the student's code does (one sentence). how: how to mend it (one sentence)."""

    why: str
    how: str = ""


@dataclass(frozen=True)
class Mistake:
    """A mistake, said once: its name, why (one sentence: what the student's code does), how (one sentence: how to mend
    it).

    value: what the mistake gives in a case, computed from what `Exercise.worked` returns for it: whatever
        `Exercise.per_rank` takes, or None where the mistake does not show. No `value`: `Exercise.facts`, the judge or a
        hang names this mistake.
    """

    name: str
    why: str
    how: str = ""
    value: Callable[[Any], Any] | None = None

    def giving(self, value: Callable[[Any], Any]) -> Mistake:
        """The same mistake, recognised by the values it gives here."""
        return replace(self, value=value)

    def but(self, **changes: str) -> Mistake:
        """The same mistake in other words (why, how) or under another name."""
        return replace(self, **changes)


@dataclass(frozen=True)
class Record:
    """The measure by which right answers are compared: a number that is measured in one case, the smaller the better.

    name, unit: "virtual time", "s"; "bytes sent", "B"; or any other words, "forward passes alive", "". case: whether a
        case is the one; under every key exactly one of an exercise's cases is, and it says the same of itself.
    value: the number, read from the case and its run once the answer has passed; None where it does not count.
    best: the smallest value that an answer of the bank has. bound: what no answer can do without, where that is known,
        and why: the reason, or its source, in one sentence. says: the case in words, where its own depend on the key.
    counted: whether the relay or the judge counts it, where no answer can reach. What a harness counts beside the
        answer's own code is shown to its author and stands in no class's table.
    """

    name: str
    unit: str
    case: Callable[[Case], bool]
    value: Callable[[Case, Run], float | None]
    best: Callable[[Case], float]
    bound: Callable[[Case], float] | None = None
    why: str = ""
    says: str = ""
    counted: bool = True


def diagnoses_of(mistakes: Iterable[Mistake]) -> dict[str, Diagnosis]:
    """name -> text. Of two mistakes with one name the later one counts: an exercise says better what a shared list says
    in general.
    """
    return {m.name: Diagnosis(m.why, m.how) for m in mistakes}


def _once(compute: Callable) -> Callable:
    """`compute`, a method of a case, that computes once for each case and keeps what came of it with the case: every
    mistake of a report, and every wrong answer of a class, asks again. Nobody changes what it returns."""

    @functools.wraps(compute)
    def kept(exercise: Exercise, case: Case):
        values = vars(case).setdefault("_computed", {})
        if (compute, exercise) not in values:
            values[compute, exercise] = compute(exercise, case)
        return values[compute, exercise]

    return kept


class Exercise:
    """Base class. A subclass is one exercise; its docstring's first line is the title.

    unit: "03_collectives". function: the name the student defines. signature: as the student reads it.
    levels: name -> points, in the order of the card. A level passes when all its cases do.
    runtime: "plain" (no communication; world_size 1), "torch" (torch.distributed is initialised, the relay is the
        network), "mpi4py" (real mpiexec; one argument is COMM), "horovod" (real Horovod over loopback, with TensorFlow
        and torch at hand; the student or the harness calls `hvd.init()`).
    inputs: what may become of arguments. "kept" (each is afterwards as it was: values, shape, type, `requires_grad`,
        `.grad`, which objects a list or a dict holds, a module's mode and what is trained of it; whoever changes one
        gets the diagnosis ``modifies_input``), a tuple with the names of those that the text allows to be changed,
        "free" (nobody looks), or "result" (what counts is the first tensor or array argument after the call, not the
        returned value).
    harness: Python source defining ``harness(f, *arguments)``, run on every rank instead of ``f(*arguments)``; it may
        import torch, numpy, torch.distributed. Write it as a function in the unit's `harness.py`, and say
        ``harness_of(__file__, name)`` here. It runs beside the student's code: put no expected value into it.
    shares_files: whether the ranks of a case see each other's files (checkpoints). If not, a grader keeps them apart:
        what they tell each other goes over the relay.
    apart: whether the harness calls the function in child processes only and looks from outside at what they have done
        (`labkit.launch.apart`): where it reports what it has seen, the student's code must not be beside it.
    rank_at: the place of the argument that says for which rank the harness calls the function, where one process plays
        all ranks: 1 for `f(n, rank, world_size)`. An answer that is right is called once more with each rank in a
        process of its own (`autograder.judging.each_rank`). None: the harness plays no ranks.
    may_lose: detours that no case has to show (`autograder.values`: "float64 -> float32", "int32 promoted", "integers
        of both widths", or a type for all of its own), each with the reason. Whatever is not listed here must show in a
        case, under every key.
    any_type: why a result may be of another type than the signature names (an array for a list, a float for an int); ""
        where it may not.
    never_alone: why no case runs on one rank, for an exercise on ranks that has none; "" where one does.
    talks: whether a right answer communicates at all, with more than one rank. Where it does, an answer that never did
        is refused, whatever it returns (see `needs_bytes` for more).
    all_hear: whether every rank's result depends on the others in every case with more than one rank. Then at least one
        byte must reach each, even where the numbers look as if a rank could know them: zeros, a fraction of small
        counts, a sum of equal matrices.
    uses: functions of earlier exercises the student's code may call; where the student's own do not work, the
        references stand in.
    withheld: functions of labkit that are an answer, "labkit.scale.formula.bubble": they cannot be called in a case,
        nor read in a jail.
    reference: source of a right answer, needed only where a later exercise `uses` this one: one of the bank's,
        ``reference_of(__file__, "right_NAME")``.
    mistakes: every `Mistake` that has a name here: recognised by its values, found by `facts`, or to replace the
        general text of a hang (see `labkit.watch.hang.KINDS`). Where two give the same values in a case, the first in
        this order is named.
    records: what right answers are compared by, each a `Record`; none where all right answers cost the same.

    A class that has a `signature` is an exercise: its `function` is the signature's name, its `unit` that of its
    module, and its `diagnoses` (name -> text) come from `mistakes`, unless it says them itself.
    """

    unit: str
    function: str
    signature: str
    levels: dict[str, int]
    runtime: str = "torch"
    inputs: str | tuple[str, ...] = "kept"
    harness: str = ""
    shares_files: bool = False
    apart: bool = False
    rank_at: int | None = None
    may_lose: dict[str, str] = {}
    any_type: str = ""
    never_alone: str = ""
    talks: bool = True
    all_hear: bool = False
    uses: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()
    reference: str = ""
    mistakes: tuple[Mistake, ...] | list[Mistake] = ()
    diagnoses: dict[str, Diagnosis] = {}
    records: tuple[Record, ...] | list[Record] = ()

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        own = vars(cls)
        if "signature" in own:
            cls.function = own.get("function", cls.signature.partition("(")[0])
            module = cls.__module__.rpartition(".unit_")[2]
            cls.unit = own.get("unit", module if module != cls.__module__ else getattr(cls, "unit", ""))
        if "mistakes" in own and "diagnoses" not in own:
            cls.diagnoses = diagnoses_of(cls.mistakes)
        for name in ("expected", "misconceptions"):
            if inspect.isfunction(own.get(name)):
                setattr(cls, name, _once(own[name]))

    def cases(self, rng: np.random.Generator) -> list[Case]:
        """The cases. Their number, levels, ranks, sizes and dtypes are fixed and public; only values come from `rng`.

        What a level stands for must hold under every key: force it (no share equal by chance, no fraction below one
        half), or draw again.
        """
        raise NotImplementedError

    def further(self, rng: np.random.Generator) -> list[Case]:
        """Cases that count besides the others under the key of a class, and that no check in a notebook has: for a
        level whose own cases have so few inputs that a table could hold them all.
        """
        return []

    def expected(self, case: Case) -> list:
        """One right value per rank, by a plain formula. `ANYTHING` where a rank's value does not matter."""
        raise NotImplementedError

    def worked(self, case: Case) -> Any:
        """The values from which the `value` of each mistake is computed: the case, `p` ranks, and whatever the case's
        `known` names.
        """
        return SimpleNamespace(**{"case": case, "p": case.world_size, **case.known})

    def per_rank(self, case: Case, value: Any) -> list:
        """One value per rank from what a mistake's `value` gives: a list is that already. An exercise in which all
        ranks hold the same says so here.
        """
        return value

    @_once
    def misconceptions(self, case: Case) -> dict[str, list | None]:
        """name -> the values (one per rank, `ANYTHING` allowed) that mistake produces in this case; None where it does
        not show.

        It does not show where it gives what is right, or what an earlier mistake gives. Every name shows in at least
        one case (tests/autograder/exercises/test_exercises.py proves it).
        """
        worked, shown = self.worked(case), {}
        seen = [self.expected(case)]
        for mistake in self.mistakes:
            if mistake.value is None:
                continue
            value = mistake.value(worked)
            values = None if value is None else self.per_rank(case, value)
            if values is None or any(_look_alike(values, other, case) for other in seen):
                shown.setdefault(mistake.name, None)
            else:
                shown[mistake.name] = values
                seen.append(values)
        return shown

    def needs_bytes(self, case: Case) -> list[int] | None:
        """Bytes that must reach each rank from the others before it can know what it returns; a right answer with less
        is refused.

        None: the bound that `autograder.judging.carried` finds for any exercise from its arguments and its expected
        values. Say more where that is too little, or zeros where ranks need nothing of each other although their values
        look as if they did.
        """
        return None

    def contradiction(self, case: Case, run: Run) -> str:
        """A sentence if what ranks say of their computing and memory cannot be, by what the relay saw; "" if it can.

        Such an answer is refused, however right its numbers: for example a stage that says that it computed a
        micro-batch before the micro-batch had come.
        """
        return ""

    def of_exception(self, case: Case, kind: str, text: str) -> str | None:
        """The name of the mistake that an exception of type `kind` comes from, which says `text`; None where that can
        be anything.
        """
        return None

    def facts(self, case: Case, run: Run) -> Finding | str | None:
        """A broken rule that values alone do not show (too many bytes, a forbidden collective, a wrong distribution),
        or None.

        Asked when the values are right, and when they are wrong: then it is told where no misconception gives these
        values. What nobody waited for and memory that was used before its wait are found by the judge, in every
        exercise of runtime "torch".
        """
        return None

    @property
    def may_change(self) -> tuple[str, ...] | None:
        """Names of the arguments that may be changed; None where nobody looks at any."""
        named = isinstance(self.inputs, tuple)
        return self.inputs if named else () if self.inputs == "kept" else None

    @property
    def returns(self) -> str:
        """The type that the signature names for the result; "" where any will do."""
        return "" if self.any_type else self.signature.partition("->")[2].strip()

    @property
    def needs_frameworks(self) -> bool:
        """True if its cases want TensorFlow, or Horovod too, which not every Python of the course has
        (`labkit.environment`).
        """
        return self.runtime in ("tensorflow", "horovod")

    @property
    def lacking(self) -> str:
        """The sentence about frameworks that its cases want and that are not here; "" where nothing is lacking."""
        return without_frameworks(horovod=self.runtime == "horovod") if self.needs_frameworks else ""

    @property
    def points(self) -> int:
        return sum(self.levels.values())

    @property
    def title(self) -> str:
        return (self.__doc__ or self.function).strip().splitlines()[0]


def _look_alike(values: list, others: list, case: Case) -> bool:
    return all(same(a, b, case.rtol, case.atol) for a, b in zip(values, others, strict=True))


def names_of(signature: str) -> list[str]:
    """Names of the arguments in a signature such as "f(x: list[int], k: int = 3) -> float"."""
    inside = signature.partition("->")[0].strip().partition("(")[2].removesuffix(")")
    while (flat := re.sub(r"\[[^][]*\]", "", inside)) != inside:  # types in brackets, from the innermost on
        inside = flat
    return re.findall(r"(\w+)\s*(?::[^,]*)?(?:,|$)", inside)


@functools.lru_cache(maxsize=256)
def drawn(exercise: Exercise, key: str = PUBLIC_KEY) -> tuple[Case, ...]:
    """The exercise's cases under a key, in their order. They are drawn once in a process: nobody changes a case."""
    return tuple(exercise.cases(rng_for(exercise, key)))


@functools.lru_cache(maxsize=256)
def drawn_further(exercise: Exercise, key: str = PUBLIC_KEY) -> tuple[Case, ...]:
    """The exercise's further cases under a key; none under the public one."""
    return () if key == PUBLIC_KEY else tuple(exercise.further(rng_for(exercise, f"{key}/further")))


def rng_for(exercise: Exercise, key: str = PUBLIC_KEY) -> np.random.Generator:
    """The random generator of an exercise's values: decided by the key and the exercise alone, the same on every
    machine.
    """
    digest = hashlib.sha256(f"{key}\0{exercise.unit}\0{exercise.function}".encode()).digest()
    return np.random.default_rng(np.frombuffer(digest, dtype=np.uint32))


def seed_of(key: str, *names: object) -> int:
    """The seed of what runs beside a student's code under a key: 128 bits, another one for other names.

    A student's code may read it. So it is too long to be searched, and neither the key, nor a seed with other names,
    nor the generator of a case's values (`rng_for`) follows from it. The public key's are those that pages were run
    with.
    """
    text = "/".join(map(str, (key, *names))).encode()
    if key == PUBLIC_KEY:
        return zlib.crc32(text)
    return int.from_bytes(hashlib.sha256(b"seed\0" + text).digest()[:16], "big")
