"""The program of a forked rank: takes its job from the relay's socket, runs the student's source, returns plain
data."""

from __future__ import annotations

import contextlib
import functools
import glob
import importlib
import io
import itertools
import os
import random
import socket
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib.abc import MetaPathFinder
from types import CodeType, FunctionType, ModuleType
from typing import NamedTuple

import numpy as np

from labkit.cells.slicing import Chunk, execute
from labkit.launch.apart import Apart, Raised
from labkit.launch.arguments import WatchedFunction
from labkit.launch.each_rank import EachRank
from labkit.launch.process import let_look_into
from labkit.relay import wire

MAX_PRINTED = 64 << 10


class Printer(io.TextIOBase):
    """stdout and stderr of a rank: every complete line goes to the relay, which knows the order in which things were
    said."""

    encoding = "utf-8"

    def __init__(self, sock: socket.socket):
        self._sock, self._line, self._left = sock, "", MAX_PRINTED
        self._lock = threading.Lock()  # records of several threads must not mix

    def writable(self):
        return True

    def write(self, text: str) -> int:
        self._line += text
        if "\n" in self._line:
            whole, self._line = self._line.rsplit("\n", 1)
            self._say(whole)
        return len(text)

    def flush(self):
        pass

    def finish(self):
        if self._line:
            self._say(self._line)
            self._line = ""

    def _say(self, text: str):
        if self._left > 0:
            text = text[: self._left]
            self._left -= len(text) + 1
            with self._lock:
                wire.send(self._sock, wire.PRINT, {"text": text})

    def note(self, meta: dict, payload: bytes = b"") -> None:
        """Tell whoever waits for this rank something that is not printed: a record of type NOTE."""
        with self._lock:
            wire.send(self._sock, wire.NOTE, meta, payload)


def rebuild(value, torch=None, placeholders=None):
    """Plain data as the student's function gets it: `Tensor` becomes a torch tensor, arrays are writable, COMM the
    communicator."""
    if isinstance(value, wire.Tensor):
        return _rebuild_tensor(value, torch)
    if isinstance(value, wire.Placeholder):
        return (placeholders or {})[value.name]
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, (list, tuple)):
        return type(value)(rebuild(v, torch, placeholders) for v in value)
    if isinstance(value, dict):
        return {k: rebuild(v, torch, placeholders) for k, v in value.items()}
    return value


def _rebuild_tensor(value: wire.Tensor, torch):
    plain = torch.from_numpy(np.array(value.values)).to(getattr(torch, value.dtype))
    if value.layout == "strided" and plain.dim():
        wide = torch.zeros(*plain.shape[:-1], 2 * plain.shape[-1], dtype=plain.dtype)
        wide[..., ::2] = plain
        return wide[..., ::2]
    return plain


def student_traceback(error: BaseException, labels: set[str]) -> list[str]:
    """The traceback reduced to the student's own lines: "cell 7, line 3, in f: return 1 / 0"."""
    rows = []
    frames = traceback.StackSummary.extract(traceback.walk_tb(error.__traceback__), lookup_lines=False)
    for frame in frames:
        if frame.filename in labels and frame.filename != "harness":
            rows.append(
                f"{os.path.basename(frame.filename)}, line {frame.lineno}, in {frame.name}: "
                f"{(frame.line or '').strip()}"
            )
    if isinstance(error, SyntaxError) and error.filename in labels:
        rows.append(f"{error.filename}, line {error.lineno}: {(error.text or '').strip()}")
    return rows[-8:]


def is_out_of_memory(error: BaseException) -> bool:
    """True if this exception, of Python, torch or C++, says that memory is exhausted."""
    text = _text_of(error)
    return (
        isinstance(error, MemoryError)
        or "can't allocate memory" in text
        or "std::bad_alloc" in text
        or "Cannot allocate memory" in text
    )


def seed_everything(seed: int, torch=None) -> None:
    """A different seed on every rank: a program that forgets to broadcast must not look right by luck."""
    random.seed(seed)
    np.random.seed(seed % (1 << 32))
    if torch is not None:
        # torch.manual_seed notes its stack for each kind of accelerator
        torch.default_generator.manual_seed(seed % (1 << 63))


@contextlib.contextmanager
def withheld(names: Sequence[str]) -> Iterator[None]:
    """Within, these functions of the course ("labkit.scale.formula.bubble", or a method's name with its class) cannot
    be called, whoever has them and under whatever name: the code that they run is another one. The old one is kept
    nowhere in memory; afterwards it comes from the module's file once more, if that is there (`files_of`)."""
    functions = [(_named(name), name) for name in names]
    _forget([function for (_, function), _ in functions])
    for (_, function), name in functions:
        function.__code__ = _refusal(name)
    try:
        yield
    finally:
        for (module, function), _ in functions:
            function.__code__ = _code_of(module, function) or function.__code__


def files_of(names: Sequence[str]) -> list[str]:
    """The files, source and compiled, in which the code of these functions stands. The modules are imported here: where
    a jail covers the files nobody can import them any more."""
    sources = sorted({str(_named(name)[0].__file__) for name in names})
    return [*sources, *(path for source in sources for path in _compiled(source))]


def _compiled(source: str) -> list[str]:
    folder, name = os.path.split(source)
    stem = os.path.join(glob.escape(os.path.join(folder, "__pycache__")), glob.escape(name.removesuffix(".py")))
    return sorted(glob.glob(f"{stem}.*.pyc"))


def _named(name: str) -> tuple[ModuleType, FunctionType]:
    """The module and the function of a name such as "labkit.scale.mesh.Mesh.coordinates"."""
    module, _, attribute = name.rpartition(".")
    if module.rpartition(".")[2][:1].isupper():
        module, _, owner = module.rpartition(".")
        attribute = f"{owner}.{attribute}"
    home = importlib.import_module(module)
    return home, functools.reduce(getattr, attribute.split("."), home)


def _refusal(name: str) -> CodeType:
    """The code of a function that takes any arguments and says that this one is to be written."""
    said = f"{name} is what this exercise asks for: write it yourself"
    names: dict = {"__name__": "labkit"}
    exec(f"def refuse(*arguments, **named):\n    raise RuntimeError({said!r})", names)
    return names["refuse"].__code__


def _code_of(module: ModuleType, function: FunctionType) -> CodeType | None:
    """The code of one of the module's functions, by the module's file; None where it is not in there."""
    left = [module.__spec__.loader.get_code(module.__name__)]
    while left:
        code = left.pop()
        if code.co_qualname == function.__qualname__:
            return code
        left += [one for one in code.co_consts if isinstance(one, CodeType)]
    return None


class _Known(NamedTuple):
    """The library's functions before the first rank was forked. functions: as `_functions_of` has them. classes: those
    of the library. newest: the last module that had been imported."""

    functions: tuple[tuple, ...] = ()
    classes: frozenset[type] = frozenset()
    newest: str = ""


_known = _Known()


def know_the_library() -> None:
    """Note the library's functions as they are. Where ranks are forked this is done once, before: a rank that looks for
    them among all modules touches, and so copies, a great part of the memory that it shares with the others."""
    global _known
    functions, classes = _functions_of([vars(sys.modules[name]) for name in _library_modules("")])
    _known = _Known(functions, classes, next(reversed(sys.modules)))


def _forget(withheld: Sequence[FunctionType]) -> None:
    """Note nothing of these functions any more, above all not their code."""
    global _known
    if withheld and _known.functions:
        kept = tuple(one for one in _known.functions if not any(one[2] is function for function in withheld))
        _known = _known._replace(functions=kept)


def _library_modules(newest: str) -> Iterator[str]:
    """The library's modules that were imported after the one called `newest`; "": all of them."""
    for name in reversed(sys.modules):
        if name == newest:
            return
        if name.partition(".")[0] == "labkit":
            yield name


def _functions_of(
    places: Sequence[dict], known: frozenset[type] = frozenset()
) -> tuple[tuple[tuple, ...], frozenset[type]]:
    """Everything callable in these namespaces and in their classes, as (namespace, name, value, code); and the classes.
    known: classes that are left out."""
    classes = {value for place in places for value in place.values() if isinstance(value, type)} - known
    classes = {one for one in classes if one.__module__.partition(".")[0] in ("labkit", "harness")}
    functions = tuple(
        (place, key, value, getattr(value, "__code__", None))
        for place in [*places, *map(vars, classes)]
        for key, value in place.items()
        if callable(value)
    )
    return functions, frozenset(classes)


class Untouched:
    """The functions of the course's library and of a harness as they were: what counts for a verdict goes through
    them. None for the harness: nobody looks."""

    def __init__(self, harness: dict | None):
        self._found: tuple[tuple[tuple, ...], ...] = ()
        if harness is not None:
            later = [vars(sys.modules[name]) for name in _library_modules(_known.newest)]
            self._found = _known.functions, _functions_of([*later, harness], _known.classes)[0]

    def check(self) -> None:
        """Raises RuntimeError if one of them has been replaced."""
        for place, key, value, code in itertools.chain(*self._found):
            if place.get(key) is not value or getattr(value, "__code__", None) is not code:
                raise RuntimeError(
                    f"{getattr(value, '__module__', 'labkit')}.{key} has been replaced. Leave the course's library and "
                    "the check's own functions as they are"
                )


def run_job(
    sock: socket.socket, job: dict, payload, placeholders=None, torch=None, about=dict, apart_by: type = EachRank
) -> bool:
    """Run one job and report it over `sock`. Returns True when the function returned. about: what else to say of it
    then. apart_by: what keeps ranks apart that one harness calls."""
    printer = Printer(sock)
    chunks = [Chunk(*c) for c in job["chunks"]]
    labels = {c.label for c in chunks}
    stdout, stderr = sys.stdout, sys.stderr
    sys.stdout = sys.stderr = printer
    warnings.filterwarnings("ignore", module="harness$")  # of the check's own code: no news for a student
    try:
        seed_everything(job["seed"] + 7919 * job["rank"], torch)
        with withheld(job.get("withheld", ())), contextlib.ExitStack() as processes:
            harness = _harness(job)
            untouched = Untouched(harness if job.get("untouched") else None)
            each_rank = functools.partial(_each_rank, apart_by)
            own = _apart if job.get("apart") else _function if job.get("rank_at") is None else each_rank
            function, watched = own(job, chunks, harness.get("harness"), sock, processes)
            untouched.check()
            arguments = rebuild(wire.decode(job["arguments"], payload), torch, placeholders)
            value = function(*arguments)
            untouched.check()
        printer.finish()
        try:
            tagged, data = wire.encode(
                [value, tuple(None if _is_comm(a, placeholders) else a for a in arguments)], torch
            )
            wire.send(sock, wire.RESULT, {"value": tagged, "changed": _changes(watched), **about()}, data)
        except wire.WireError:
            raise ValueError("the returned value is too large to look at") from None
        return True
    except (wire.Closed, BrokenPipeError, ConnectionResetError):
        return False
    except BaseException as error:
        printer.finish()
        wire.send(sock, wire.RAISED, error.report if isinstance(error, Raised) else _report_of(error, labels))
        return False
    finally:
        sys.stdout, sys.stderr = stdout, stderr


def _report_of(error: BaseException, labels: set[str]) -> dict:
    return {
        "type": "out_of_memory" if is_out_of_memory(error) else type(error).__name__,
        "text": _text_of(error)[:2000],
        "rows": student_traceback(error, labels),
    }


def _harness(job: dict) -> dict:
    """The names of the exercise's harness. It runs before the student's code, and gets the library as it is."""
    names: dict = {"__name__": "harness"}
    if job["harness"]:
        execute([Chunk("harness", 1, job["harness"])], names)
    return names


def _apart(job: dict, chunks: list[Chunk], harness: Callable, sock: socket.socket, _) -> tuple:
    """The exercise's harness around a function that is never in this process (`labkit.launch.apart`)."""
    labels = {chunk.label for chunk in chunks}
    function = Apart(chunks, job["function"], sock.fileno(), lambda error: _report_of(error, labels))
    return functools.partial(harness, function), None


def _each_rank(
    kind: type[EachRank],
    job: dict,
    chunks: list[Chunk],
    harness: Callable,
    sock: socket.socket,
    processes: contextlib.ExitStack,
) -> tuple:
    """The exercise's harness around a function that is in a process of its own for each rank
    (`labkit.launch.each_rank`)."""

    def begin(rank: int) -> None:
        seed_everything(job["seed"] + 7919 * rank, sys.modules.get("torch"))

    function = kind(chunks, job["function"], job["rank_at"], sock.fileno(), begin)
    processes.callback(function.end)
    return functools.partial(harness, function), None


def _function(job: dict, chunks: list[Chunk], harness: Callable | None, *_):
    """The student's function, within the exercise's harness if it has one, and who watches its arguments, or None.
    Raises NameError, and whatever the student's code does."""
    namespace = {"__name__": "__main__", "__builtins__": __builtins__}
    execute(chunks, namespace)
    if job["function"] not in namespace:
        raise NameError(f"name '{job['function']}' is not defined")
    function = namespace[job["function"]]
    watched = None
    if callable(function) and (job.get("may_change") is not None or job.get("returns")):
        function = watched = WatchedFunction(function, job.get("may_change"), job.get("returns", ""))
    return functools.partial(harness, function) if harness else function, watched


def _changes(watched: WatchedFunction | None) -> list[dict]:
    """The changes that calls of the student's function have made to their arguments, as plain data."""
    return [vars(change) for change in watched.changes.values()] if watched is not None else []


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # an exception of the student's whose own __str__ fails
        return ""


def _is_comm(argument, placeholders) -> bool:
    return any(argument is p for p in (placeholders or {}).values())


def run_rank(sock: socket.socket) -> None:
    """The life of a rank forked by the launcher: one job, and then more of the same candidate for as long as they
    return."""
    _, job, payload = wire.receive(sock)
    if job["runtime"] in ("horovod", "tensorflow"):
        _run_on_horovod(sock, job, payload)
        return
    torch = sys.modules.get("torch")
    on_relay = job["runtime"] == "torch"
    if on_relay:
        import torch

        from labkit.relay import backend as relay_backend

        sock = connection = relay_backend.Connection(sock)
        relay_backend.register(connection)
        sys.meta_path.insert(0, _NoMpi())
    surroundings = Surroundings(torch)
    while True:
        if on_relay:
            connection.begin(job["poison"] + job["rank"], job.get("deadly", False), phantoms=job.get("phantoms", False))
            torch.distributed.init_process_group(
                "relay", store=torch.distributed.HashStore(), rank=job["rank"], world_size=job["world_size"]
            )
        if not run_job(sock, job, payload, torch=torch):
            return
        _, job, payload = connection.receive() if on_relay else wire.receive(sock)
        surroundings.restore()


def _run_on_horovod(sock: socket.socket, job: dict, payload) -> None:
    """Run the job, then stay until the case is over, so that nobody else fails because we left."""
    from labkit.launch import horovod_rendezvous

    run_job(
        sock,
        job,
        payload,
        torch=sys.modules.get("torch"),
        about=lambda: {"carried": horovod_rendezvous.carried_bytes()},
    )
    with contextlib.suppress(OSError):
        sock.settimeout(None)
        sock.recv(1)


class _NoMpi(MetaPathFinder):
    """Ranks on the relay are not started by mpiexec: MPI would end them as soon as it is imported, without a word about
    the reason."""

    def find_spec(self, name, path=None, target=None):
        if name == "mpi4py" or name.startswith("mpi4py."):
            raise ImportError(
                "the ranks of this exercise talk through torch.distributed alone: mpi4py knows nothing of them. "
                "Use `import torch.distributed as dist`"
            )
        return None


class Surroundings:
    """The state of a process that a candidate's function may change without meaning to; it is restored before the next
    case."""

    def __init__(self, torch=None):
        self.torch = torch
        self.folder, self.environment, self.path = os.getcwd(), dict(os.environ), list(sys.path)
        self.float_errors, self.recursion = np.geterr(), sys.getrecursionlimit()

    def restore(self) -> None:
        """Put everything back, and leave the process group if there is one."""
        let_look_into(True)
        self.restore_settings()
        if self.torch is not None and self.torch.distributed.is_initialized():
            self.torch.distributed.destroy_process_group()

    def restore_settings(self) -> None:
        """Put everything back but the process group: the function is called again in the same one."""
        os.chdir(self.folder)
        if os.environ != self.environment:
            os.environ.clear()
            os.environ.update(self.environment)
        sys.path[:] = self.path
        np.seterr(**self.float_errors)
        sys.setrecursionlimit(self.recursion)
        if self.torch is not None:
            self.torch.set_default_dtype(self.torch.float32)
            self.torch.set_grad_enabled(True)
            self.torch.use_deterministic_algorithms(False)
            self.torch.set_num_threads(1)
