"""The program of each rank of a notebook: an ipyparallel engine with a traced communicator, and the cells sent to it.

`python -m labkit.ranks.engine` (under mpiexec) starts one; on one machine it is forked instead (`labkit.ranks.forker`).
The functions below it are called from the notebook through ipyparallel.
"""

from __future__ import annotations

import ast
import base64
import builtins
import contextlib
import ctypes
import faulthandler
import importlib
import json
import linecache
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import zlib
from pathlib import Path
from types import TracebackType
from typing import Any

from labkit.cells.slicing import Chunk, execute
from labkit.launch.horovod_tracing import trace_without_autograph
from labkit.watch import recorder

RECORDING = "application/vnd.labkit.recording+json"  # as what a rank on another node sends its recording
_SEND_EVERY = 0.5  # s, while it changes
PREDEFINED = ("rank", "world_size", "comm", "np", "torch", "dist")
_IMPORTED_WHEN_USED = {"torch": "torch", "dist": "torch.distributed"}
_SLOW_TO_IMPORT = {"torch", "tensorflow", "keras", "horovod"}


def main() -> None:
    """Join the cluster that the environment names, as the rank that mpiexec says, until told to stop."""
    folder, flight = _folders()
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    # Matplotlib's figures go to the notebook; what a library writes to the terminal goes there, too.
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    os.environ["IPYTHONDIR"] = str(folder)
    # Engines are ended, they do not exit: what TensorFlow keeps in Python's temporary folder until then goes with the
    # cluster's.
    tempfile.tempdir = str(folder / "tmp")
    os.makedirs(tempfile.tempdir, exist_ok=True)

    from ipyparallel.engine.app import IPEngine

    from labkit.mpi import traced

    communicator = traced.install()
    rank, world_size = communicator.Get_rank(), communicator.Get_size()
    if int(os.environ.get("LABKIT_NODES", "1")) > 1:
        set_clock(_rank_0_is_ahead(communicator))
    recorder.open(flight, rank, world_size)
    stack = open(flight / f"rank{rank}.stack", "wb", buffering=0)
    faulthandler.register(signal.SIGUSR1, file=stack, all_threads=False)
    faulthandler.enable(file=stack, all_threads=False)  # where a crash happened

    os.environ["IPP_CONNECTION_INFO"] = _connection(folder / "profile" / "security" / "ipcontroller-engine.json")
    engine = IPEngine.instance()
    engine.initialize(
        [
            f"--profile-dir={folder / 'profile'}",
            "--IPEngine.enable_nanny=False",  # one process more for every rank; the notebook looks after them itself
            "--IPEngine.timeout=60",
            "--log-level=ERROR",
        ]
    )
    engine.user_ns = {"rank": rank, "world_size": world_size, "comm": communicator}
    sys.path[:] = [*filter(None, sys.path), ""]  # as in the kernel: no file beside the notebook stands in for another
    engine.start()


def _folders() -> tuple[Path, Path]:
    """The folders of this rank's files and of its recording. On another node than the notebook's they are its own,
    until it ends."""
    if not is_remote():
        return Path(os.environ["LABKIT_RANKS"]), Path(os.environ["LABKIT_FLIGHT"])
    folder = Path(tempfile.mkdtemp(prefix="labkit-rank-"))
    _remove_afterwards(folder)
    # taken by a thread: the program may sit in MPI when it comes
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    threading.Thread(target=_end_when_told, args=(folder,), daemon=True).start()
    (folder / "profile").mkdir()
    os.environ["LABKIT_FLIGHT"] = str(folder / "flight")
    return folder, folder / "flight"


def _end_when_told(folder: Path) -> None:
    signal.sigwait({signal.SIGTERM})
    if _messenger is not None:  # another rank died in the middle of a cell: the notebook asks where this one stood
        _messenger.tell(asked=True)
        time.sleep(0.2)  # Open MPI gives a rank a second; the message goes out in another thread
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


def _remove_afterwards(folder: Path) -> None:
    """Have a folder removed when this process is gone, even if it is killed: by a shell that waits for the end of its
    input."""
    global _remover
    words = ["sh", "-c", 'read -r _; rm -rf "$0"', str(folder)]
    _remover = subprocess.Popen(words, stdin=subprocess.PIPE, start_new_session=True)


_remover: subprocess.Popen | None = None  # as long as this is kept, its input stays open


def is_remote() -> bool:
    """True if the notebook runs on another node, from where it cannot read this rank's recording."""
    return os.environ["LABKIT_HOST"] != os.uname().nodename


def _connection(file: Path) -> str:
    """The text of the controller's connection file; the controller is still starting when the engines do."""
    if "IPP_CONNECTION_INFO" in os.environ:  # from another node
        return os.environ["IPP_CONNECTION_INFO"]
    while True:
        try:
            text = file.read_text()
            json.loads(text)
            return text
        except (OSError, ValueError):
            time.sleep(0.02)


def _end_with_parent(parent: int) -> None:
    """A rank whose mpiexec is gone has nobody left who would end it."""
    while os.getppid() == parent:
        time.sleep(0.5)
    if is_remote():
        shutil.rmtree(Path(os.environ["LABKIT_FLIGHT"]).parent, ignore_errors=True)
    os._exit(1)


def _shell():
    from IPython import get_ipython

    return get_ipython()


# --- called from the notebook


def identify() -> tuple[int, int, str, int]:
    """This rank's number, process id, host and world size; the first call also gives the namespace what can be given
    late."""
    import numpy

    shell = _shell()
    shell.user_ns.setdefault("np", numpy)
    if hasattr(sys.stdout, "flush_interval"):
        sys.stdout.flush_interval = sys.stderr.flush_interval = 0.05
    return shell.user_ns["rank"], os.getpid(), os.uname().nodename, shell.user_ns["world_size"]


def start_process_group() -> str:
    """`init_process_group("mpi")`; returns "" or what went wrong."""
    try:
        import torch.distributed as dist

        if not dist.is_initialized():
            dist.init_process_group("mpi")
        return ""
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def run_cell(source: str, label: str, first_line: int, sent: bytes, deadline: float) -> dict[str, Any]:
    """Run the body of a cell; its output goes to the notebook through ipyparallel.

    source: Python and magics, beginning at line `first_line` of the cell called `label`; sent: what `pack` made of the
    names that the cell takes from the notebook; deadline: in s, after which a rank on another node says by itself where
    it stands. Returns {"state": "returned"} or {"state": "raised", "error", "message", "line", "traceback"}.
    """
    shell = _shell()
    try:
        tree = _parsed(source, label, first_line, shell)
        _import_what_it_uses(tree, shell.user_ns)
        _take_in(sent, shell.user_ns)
        trace_without_autograph()
        recorder.mark("running")  # the deadline counts from here
        _tell_from_now_on(deadline)
        _execute(tree, source, label, shell.user_ns)
        shell.events.trigger("post_execute")  # figures that were drawn and not shown yet
        result = {"state": "returned"}
        recorder.mark("returned")
    except BaseException as error:  # SystemExit and KeyboardInterrupt must not end the rank
        told = describe_error(error)
        recorder.mark("raised", f"{told['error']}: {told['message']}".removesuffix(": "), told["line"])
        result = {"state": "raised", **told}
    _tell_no_more()
    sys.stdout.flush()
    sys.stderr.flush()
    _give_memory_back()
    return result


def _give_memory_back() -> None:
    """Returns the memory that a cell has freed to the system: the C library would keep it (glibc; elsewhere nothing is
    done). Models are many tensors below the size from which it takes memory that it can return by
    itself."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


# --- on another node than the notebook's, which cannot read this rank's recording


class _Messenger(threading.Thread):
    """While a cell runs, sends the recording to the notebook: when it has changed, when the deadline has passed, when
    asked to."""

    def __init__(self, deadline: float):
        super().__init__(daemon=True)
        self.program, self.publisher = threading.get_ident(), _shell().display_pub
        self.late = time.monotonic() + deadline + 0.1
        self.ended = threading.Event()
        self.sent = b""

    def run(self) -> None:
        self.tell()
        while not self.ended.wait(self._pause()):
            self.tell(asked=time.monotonic() >= self.late)

    def _pause(self) -> float:
        left = self.late - time.monotonic()
        return min(_SEND_EVERY, left) if left > 0 else _SEND_EVERY

    def tell(self, asked: bool = False) -> None:
        """asked: also if nothing has changed, and with the line at which a rank stands that does not communicate."""
        data = recorder.copy(_notebook_is_ahead, self._line() if asked else "")
        if asked or data != self.sent:
            self.sent = data
            packed = base64.b64encode(zlib.compress(data, 1)).decode()
            self.publisher.publish({RECORDING: {"recording": packed, "asked": asked}})

    def _line(self) -> str:
        for frame, number in reversed(list(traceback.walk_stack(sys._current_frames()[self.program]))):
            if _is_students(frame.f_code.co_filename):
                return f"{recorder.file_label(frame.f_code.co_filename)}, line {number}"
        return ""


_messenger: _Messenger | None = None
_notebook_is_ahead = 0.0  # s between this node's clock and the notebook's


def _tell_from_now_on(deadline: float) -> None:
    global _messenger
    if is_remote():
        _messenger = _Messenger(deadline)
        _messenger.start()


def _tell_no_more() -> None:
    global _messenger
    messenger, _messenger = _messenger, None
    if messenger is not None:
        messenger.ended.set()
        messenger.join()
        messenger.tell()


def _rank_0_is_ahead(communicator) -> float:
    """By how many seconds the clock of rank 0's node is ahead of ours, to some microseconds: the quickest of ten
    questions. All ranks must call this."""
    rank, quickest = communicator.Get_rank(), (float("inf"), 0.0)
    for asking in range(1, communicator.Get_size()):
        for _ in range(10):
            if rank == 0:
                communicator.recv(source=asking)
                communicator.send(time.monotonic(), dest=asking)
            elif rank == asking:
                asked = time.monotonic()
                communicator.send(None, dest=0)
                theirs = communicator.recv(source=0)
                answered = time.monotonic()
                quickest = min(quickest, (answered - asked, theirs - (asked + answered) / 2))
    return quickest[1]


def clock() -> float:
    """The time on this node in the seconds of its recordings."""
    return time.monotonic()


def set_clock(later: float) -> None:
    """Have the times of recordings that are sent `later` seconds later than until now."""
    global _notebook_is_ahead
    _notebook_is_ahead += later


def _parsed(source: str, label: str, first_line: int, shell) -> ast.Module:
    """The cell as a tree in which lines have the numbers that the student sees: the line with %%ranks counts, and so do
    the blank lines that IPython takes away."""
    lines = [""] * (first_line - 1) + source.split("\n")
    linecache.cache[label] = (len(source), None, [line + "\n" for line in lines], label)
    tree = ast.parse(shell.transform_cell(source), label)
    ast.increment_lineno(tree, first_line - 1 + blank_lines(source))
    return tree


def _execute(tree: ast.Module, source: str, label: str, namespace: dict[str, Any]) -> None:
    """Run the cell and show the value of its last expression, unless a semicolon ends it."""
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr) and not source.rstrip().endswith(";"):
        last = ast.Expression(tree.body.pop().value)
    exec(compile(tree, label, "exec"), namespace)
    value = eval(compile(last, label, "eval"), namespace) if last is not None else None
    if value is not None:
        from IPython.display import display

        namespace["_"] = value
        display(value)


def blank_lines(source: str) -> int:
    """The number of blank lines at the beginning of a cell."""
    count = 0
    for line in source.split("\n"):
        if line.strip():
            break
        count += 1
    return count


def _import_what_it_uses(tree: ast.AST, namespace: dict[str, Any]) -> None:
    """torch takes seconds to import: `torch` and `dist` are there from the first cell that names them, and no deadline
    runs."""
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for name in used & _IMPORTED_WHEN_USED.keys() - namespace.keys():
        namespace[name] = importlib.import_module(_IMPORTED_WHEN_USED[name])
    for node in ast.walk(tree):
        imported = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        imported += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for name in {name.partition(".")[0] for name in imported} & _SLOW_TO_IMPORT:
            with contextlib.suppress(Exception):  # the cell itself will say it, at its line
                importlib.import_module(name)


def pack(plain: dict[str, bytes], chunks: list[Chunk], instances: dict[str, bytes]) -> bytes:
    """Pickled data, definitions (as source), and pickled data that needs those definitions, as one message for
    `run_cell`."""
    return pickle.dumps((plain, [(chunk.label, chunk.line, chunk.source) for chunk in chunks], instances))


def _take_in(sent: bytes, namespace: dict[str, Any]) -> None:
    plain, chunks, instances = pickle.loads(sent)
    for name, value in plain.items():
        namespace[name] = pickle.loads(value)
    for chunk in chunks:
        _import_what_it_uses(ast.parse(chunk[2]), namespace)
    execute([Chunk(*chunk) for chunk in chunks], namespace)
    for name, value in instances.items():
        namespace[name] = pickle.loads(value)


def pull(name: str) -> tuple[bool, Any]:
    """(True, the value of a name on this rank), or (False, why there is none)."""
    namespace = _shell().user_ns
    if name not in namespace:
        return False, f"rank {namespace['rank']} has no {name}"
    try:
        pickle.dumps(namespace[name])
    except Exception as error:
        return False, f"{name} on rank {namespace['rank']} cannot be sent: {error}"
    return True, namespace[name]


def describe_error(error: BaseException) -> dict[str, str]:
    """Name, message, line and traceback of an exception: the student's own lines, and where in which library it
    began."""
    frames = [found for found in traceback.walk_tb(error.__traceback__) if _is_students(found[0].f_code.co_filename)]
    shown = []
    for frame, number in frames:
        where = f"{recorder.file_label(frame.f_code.co_filename)}, line {number}"
        function = frame.f_code.co_name
        shown.append(f"{where}" + (f", in {function}" if function != "<module>" else ""))
        text = linecache.getline(frame.f_code.co_filename, number).strip()
        if text:
            shown.append(f"    {text}")
    line = f"{recorder.file_label(frames[-1][0].f_code.co_filename)}, line {frames[-1][1]}" if frames else ""
    inside = _library_of(error.__traceback__)
    if inside:
        shown.append(f"    (inside {inside})")
    if isinstance(error, SyntaxError) and error.filename:
        line = f"{error.filename}, line {error.lineno}"
        shown = [line, f"    {(error.text or '').strip()}"]
    message = _message(error)
    return {"error": type(error).__name__, "message": message, "line": line, "traceback": "\n".join(shown)}


def _message(error: BaseException) -> str:
    try:
        text = error.msg if isinstance(error, SyntaxError) else str(error)
    except Exception:
        text = "(its message cannot be shown)"
    return "\n".join([text, *getattr(error, "__notes__", ())]).strip()[:2000]


def _is_students(filename: str) -> bool:
    return not recorder.is_library(filename) and not filename.startswith("<")


def _library_of(trace: TracebackType | None) -> str:
    """The module in which the exception was raised, when that is not the student's code nor the course's."""
    last = None
    for frame, _ in traceback.walk_tb(trace):
        last = frame
    if last is None or _is_students(last.f_code.co_filename):
        return ""
    module = last.f_globals.get("__name__", "")
    return "" if module.startswith(("labkit", "probes", "importlib")) or module == builtins.__name__ else module
