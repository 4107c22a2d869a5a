"""The vocabulary of an exercise: what is asked, on which cases, what is right, and which mistakes have a name.

An exercise module (``autograder/exercises/unit_NN_topic.py``) holds nothing but subclasses of `Exercise`. Everything here is data
and plain formulas on numpy arrays: no torch, no MPI, no process is started. Running the cases is the judge's job.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from labkit.relay.wire import COMM, Opaque, Tensor

__all__ = [
    "ANYTHING",
    "COMM",
    "Case",
    "Diagnosis",
    "Exercise",
    "Finding",
    "Opaque",
    "RankRun",
    "Run",
    "Tensor",
    "Typed",
    "rng_for",
]

VERDICTS = ("passed", "wrong", "raised", "hung", "crashed", "out_of_memory", "too_slow", "missing")
PUBLIC_KEY = "public"


class _Sentinel:
    def __init__(self, name: str):
        self._name = name

    def __repr__(self) -> str:
        return self._name


ANYTHING = _Sentinel("ANYTHING")  # an expected value that is not looked at (for example on the ranks that are not the root)


@dataclass(frozen=True)
class Typed:
    """An expected numpy array whose dtype counts as well as its values, because the text asks for it. (A `Tensor`'s always counts.)"""

    values: np.ndarray


@dataclass(frozen=True)
class Case:
    """One run of the student's function on `world_size` ranks.

    arguments: one tuple of positional arguments per rank, or a single tuple that every rank gets. An argument is None, a bool, a
        number, a string, a list, tuple or dict of such, a numpy array (the rank gets a numpy array), a `Tensor` (the rank gets a
        torch tensor), or `COMM` (the rank gets its mpi4py communicator; runtime "mpi4py").
    says: what the card tells about the case, for example "n = 10, float64".
    known: anything `expected` and the diagnoses need to remember; never sent to the ranks.
    late: ranks that start only when all others wait or have returned. Makes "it worked because it happened to be first" fail.
    rtol, atol: tolerance of floating-point comparisons; integers are compared exactly. None: what the type of the expected value
        promises (`autograder.compare.TOLERANCES`), so that float64 is not mistaken for float32. Sums in another order pass.
    alpha, beta: seconds per message and per byte of the relay's network (virtual time).
    ranks_per_node: runtime "horovod": `hvd.local_rank()` counts within nodes of so many ranks; 0: all ranks on one node.
    """

    level: str
    world_size: int
    arguments: Any
    says: str = ""
    known: dict[str, Any] = field(default_factory=dict)
    late: tuple[int, ...] = ()
    rtol: float | None = None
    atol: float | None = None
    alpha: float = 5e-6
    beta: float = 1e-10
    ranks_per_node: int = 0

    def arguments_of(self, rank: int) -> tuple:
        return self.arguments[rank] if isinstance(self.arguments, list) else self.arguments


@dataclass(frozen=True)
class Diagnosis:
    """A mistake with a name. why: what the student's code does (one sentence). how: how to mend it (one sentence)."""

    why: str
    how: str = ""


@dataclass(frozen=True)
class Finding:
    """A diagnosis reached from facts rather than from the returned values; `detail` is shown before its `why`."""

    diagnosis: str
    detail: str = ""


@dataclass(frozen=True)
class RankRun:
    """What one rank did. value: what it returned, as plain data (`Tensor`, numpy array, number, list, dict ...).

    after: its positional arguments as they were when the function had returned (same plain data).
    printed: what it printed. sends, sent_bytes: point-to-point messages it sent. recvs, received_bytes: those it received.
    collectives: names of the collectives it called, in order ("all_reduce", "broadcast", ...).
    collective_bytes: bytes it handed to them. finish: virtual time at which it returned, seconds.
    unwaited: isend/irecv and asynchronous collectives it never waited for. carried: bytes it handed to Horovod's collectives;
        infinite where it called MPI more often than can be recorded.
    """

    value: Any
    after: tuple = ()
    printed: str = ""
    sends: int = 0
    sent_bytes: int = 0
    recvs: int = 0
    received_bytes: int = 0
    collectives: tuple[str, ...] = ()
    collective_bytes: int = 0
    finish: float = 0.0
    unwaited: int = 0
    carried: float = 0.0


@dataclass(frozen=True)
class Run:
    """What happened in one case: one `RankRun` per rank, all printed lines in their causal order, and the virtual time it took.

    printed: [(rank, line), ...]. elapsed: virtual seconds until the last rank returned. events: `labkit.watch.events.Event` list.
    """

    ranks: tuple[RankRun, ...]
    printed: tuple[tuple[int, str], ...] = ()
    elapsed: float = 0.0
    events: tuple = ()


class Exercise:
    """Base class. A subclass is one exercise; its docstring's first line is the title.

    unit: "03_collectives". function: the name the student defines. signature: as the student reads it.
    levels: name -> points, in the order of the card. A level passes when all its cases do.
    runtime: "plain" (no communication; world_size 1), "torch" (torch.distributed is initialised, the relay is the network),
        "mpi4py" (real mpiexec; one argument is COMM), "horovod" (real Horovod over loopback, with TensorFlow and torch at hand;
        the student or the harness calls `hvd.init()`).
    inputs: "kept" (changing an argument in place is the diagnosis ``modifies_input``), "free" (nobody looks), or "result" (what
        counts is the first tensor or array argument after the call, not the returned value).
    harness: Python source defining ``harness(f, *arguments)``, run on every rank instead of ``f(*arguments)``; it may import
        torch, numpy, torch.distributed. It runs beside the student's code: put no expected value into it.
    shares_files: whether the ranks of a case see each other's files (checkpoints). If not, a grader keeps them apart: what they tell
        each other goes over the relay.
    may_lose: detours that no case has to show (`autograder.values`: "float64 -> float32", "int32 promoted", "integers of both widths",
        or a type for all of its own), each with the reason. Whatever is not listed here must show in a case, under every key.
    talks: whether a right answer communicates at all, with more than one rank. Where it does, an answer that never did is refused, whatever
        it returns (see `needs_bytes` for more).
    all_hear: whether every rank's result depends on the others in every case with more than one rank. Then at least one byte must
        reach each, even where the numbers look as if a rank could know them: zeros, a fraction of small counts, a sum of equal matrices.
    uses: functions of earlier exercises the student's code may call; where the student's own do not work, the references stand in.
    reference: Python source of a right answer, needed only where a later exercise `uses` this one.
    diagnoses: name -> Diagnosis, for misconceptions, for findings, and to replace the general text of a hang
        (see `labkit.watch.hang.KINDS`).
    """

    unit: str
    function: str
    signature: str
    levels: dict[str, int]
    runtime: str = "torch"
    inputs: str = "kept"
    harness: str = ""
    shares_files: bool = False
    may_lose: dict[str, str] = {}
    talks: bool = True
    all_hear: bool = False
    uses: tuple[str, ...] = ()
    reference: str = ""
    diagnoses: dict[str, Diagnosis] = {}

    def cases(self, rng: np.random.Generator) -> list[Case]:
        """The cases. Their number, levels, ranks, sizes and dtypes are fixed and public; only values come from `rng`.

        What a level stands for must hold under every key: force it (no share equal by chance, no fraction below one half), or draw again.
        """
        raise NotImplementedError

    def expected(self, case: Case) -> list:
        """One right value per rank, by a plain formula. `ANYTHING` where a rank's value does not matter."""
        raise NotImplementedError

    def misconceptions(self, case: Case) -> dict[str, list | None]:
        """name -> the values (one per rank, `ANYTHING` allowed) that mistake produces in this case; None where it does not show.

        In every case, all of these and `expected` are pairwise distinct (tests/autograder/exercises/test_exercises.py proves it), and every name shows
        in at least one case.
        """
        return {}

    def needs_bytes(self, case: Case) -> list[int] | None:
        """Bytes that must reach each rank from the others before it can know what it returns; a right answer with less is refused.

        None: the bound that `autograder.judging.carried` finds for any exercise from its arguments and its expected values. Say more where that is
        too little, or zeros where ranks need nothing of each other although their values look as if they did.
        """
        return None

    def facts(self, case: Case, run: Run) -> Finding | str | None:
        """A broken rule that values alone do not show (too many bytes, a forbidden collective, a wrong distribution), or None.

        Asked when the values are right, and when they are wrong: then it is told where no misconception gives these values.
        What nobody waited for and memory that was used before its wait are found by the judge, in every exercise of runtime "torch".
        """
        return None

    @property
    def needs_frameworks(self) -> bool:
        """Whether its cases want TensorFlow and Horovod, which not every Python of the course has (`labkit.environment`)."""
        return self.runtime == "horovod"

    @property
    def points(self) -> int:
        return sum(self.levels.values())

    @property
    def title(self) -> str:
        return (self.__doc__ or self.function).strip().splitlines()[0]


def rng_for(exercise: Exercise, key: str = PUBLIC_KEY) -> np.random.Generator:
    """The random generator of an exercise's values: decided by the key and the exercise alone, the same on every machine."""
    digest = hashlib.sha256(f"{key}\0{exercise.unit}\0{exercise.function}".encode()).digest()
    return np.random.default_rng(np.frombuffer(digest, dtype=np.uint32))
