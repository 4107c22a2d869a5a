"""`python isolation_trials.py TRIAL...`: runs trials in the jail of whoever runs it and prints {trial: what came out}
as JSON.

A program of its own, so that the tests can run it as root and as an ordinary user.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil

from autograder.answers import sources
from autograder.grading import isolation
from autograder.judging import bank
from autograder.registry import find
from labkit.cells.slicing import Chunk
from labkit.launch.launcher import Launcher, LauncherError, Limits, make_jobs
from labkit.launch.mpi_job import MpiRunner
from labkit.relay import wire
from labkit.relay.wire import COMM

SLOT = 3990
LIMITS = Limits(cpu_seconds=8, memory_bytes=1 << 30, file_bytes=16 << 20, deadline=40)
ROOT = Path(__file__).resolve().parents[2]
TRIALS: dict[str, Callable] = {}


def trial(function):
    TRIALS[function.__name__] = function
    return function


class Place:
    """A launcher in the jail, and cases in it."""

    def __init__(self, frameworks: tuple[str, ...] = ("torch",)):
        os.environ["A_TOKEN"] = "the instructor's"
        self.spec = isolation.spec(SLOT)
        self.launcher = Launcher(frameworks, isolation=self.spec).start()

    def run(self, source: str, ranks: int = 1, runtime: str = "plain", limits: Limits = LIMITS, arguments: tuple = ()):
        jobs = make_jobs([Chunk("cell 1", 1, source)], "f", [arguments] * ranks, runtime=runtime)
        if runtime == "mpi4py":
            runner = MpiRunner(ranks, limits, self.spec)
            try:
                return runner.run(jobs)
            finally:
                runner.close()
        return self.launcher.run(jobs, limits=limits)

    def values(self, *arguments, **named) -> list:
        outcome, _ = self.run(*arguments, **named)
        return [rank.value if rank.state == "returned" else [rank.state, rank.error] for rank in outcome.ranks]

    def processes(self) -> set[psutil.Process]:
        """The launcher's processes, itself included."""
        launcher = psutil.Process(self.launcher.pid)
        return {launcher, *launcher.children(recursive=True)}


LOOK = """
import ctypes, errno, importlib.util, os, socket, sys

def readable(path):
    try:
        with open(path, "rb") as file:
            file.read(1)
        return True
    except OSError:
        return False

def call(name):
    ctypes.set_errno(0)
    libc = ctypes.CDLL(None, use_errno=True)
    getattr(libc, name)(0, 0, 0, 0, 0)
    return errno.errorcode.get(ctypes.get_errno(), "worked")

def f(paths):
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    return {
        "seen": [path for path in paths if os.path.lexists(path)],
        "imported": [name for name in ("autograder", "autograder.judging.judge", "nbgrader.apps") if _found(name)],
        "course": sorted(os.listdir(os.path.dirname(os.path.dirname(sys.modules["labkit"].__file__)))),
        "token": [name for name, text in os.environ.items() if "instructor" in text],
        "leader": [name for name in ("mem", "environ", "maps") if readable(f"/proc/1/{name}")],
        "handles": [number for number in range(64) if os.path.exists(f"/proc/1/fd/{number}")],
        "pids": sorted(int(name) for name in os.listdir("/proc") if name.isdigit()),
        "user": [os.getuid(), os.geteuid(), os.getgid(), os.getgroups()],
        "capabilities": [int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")],
        "no_new_privs": status["NoNewPrivs"].strip(),
        "devices": [name for _, name in socket.if_nameindex()],
        "calls": {name: call(name) for name in ("unshare", "setns", "ptrace", "mount", "pivot_root", "inotify_init1")},
        "open": [name for name in os.listdir("/proc/self/fd") if int(name) > 2 and os.path.exists(f"/proc/self/fd/{name}")],
        "written": [path for path in (sys.prefix, os.path.dirname(os.__file__), "/", "/etc", "/usr/lib") if _written(path)],
    }

def _found(name):
    try:
        __import__(name)
    except ImportError:
        return False
    return True

def _written(path):
    try:
        open(os.path.join(path, "x"), "w").close()
    except OSError:
        return False
    return True
"""


@trial
def look(place: Place):
    with tempfile.NamedTemporaryFile() as file, tempfile.NamedTemporaryFile(dir=Path.home()) as own:
        paths = [
            *(str(ROOT / name) for name in ("autograder", "units", "tests", "solutions", ".git")),
            file.name,
            own.name,
            os.path.expanduser("~/secret"),
        ]
        return place.values(LOOK, arguments=(paths,))[0]


APART = """
import fcntl, os, signal, socket, time
import torch, torch.distributed as dist

def f():
    rank = dist.get_rank()
    heard = []
    signal.signal(signal.SIGUSR1, lambda *a: heard.append("signal"))
    server = socket.socket(socket.AF_UNIX)
    server.bind("\\0rank%d" % rank)
    server.listen()
    for folder in ("/tmp", "/dev/shm"):
        open(folder + "/rank%d" % rank, "w").close()
    try:
        fcntl.flock(open(os.__file__), fcntl.LOCK_EX | fcntl.LOCK_NB)
        heard.append("lock")
    except OSError:
        pass
    dist.barrier()
    other = 1 - rank
    for folder in ("/tmp", "/dev/shm"):
        if os.path.exists(folder + "/rank%d" % other):
            heard.append(folder)
    with socket.socket(socket.AF_UNIX) as sock:
        try:
            sock.connect("\\0rank%d" % other)
            heard.append("socket")
        except OSError:
            pass
    for pid in range(3, 100):
        try:
            os.kill(pid, signal.SIGUSR1)
            heard.append("pid")
        except OSError:
            pass
    dist.barrier()
    return heard
"""


@trial
def apart(place: Place):
    return place.values(APART, ranks=2, runtime="torch")


GREEDY = """
import mmap, os, resource, sys

def processes():
    wait, ours = os.pipe()
    count = 0
    try:
        while count < 1000:
            if os.fork() == 0:
                os.close(ours)
                os.read(wait, 1)
                os._exit(0)
            count += 1
    except OSError:
        pass
    os.close(ours)
    for _ in range(count):
        os.wait()
    return count

def memory():
    try:
        return len(bytearray(3 << 30))
    except MemoryError:
        return "refused"

def disk(folder):
    written = 0
    for number in range(400):
        try:
            with open(f"{folder}/{number}", "wb") as file:
                written += file.write(bytes(1 << 20))
        except OSError:
            break
    for name in os.listdir(folder):
        if name.isdigit():
            os.remove(f"{folder}/{name}")
    return written >> 20

def raised():
    raisable = []
    for name in ("RLIMIT_NPROC", "RLIMIT_DATA", "RLIMIT_CPU", "RLIMIT_FSIZE", "RLIMIT_NOFILE"):
        try:
            resource.setrlimit(getattr(resource, name), (resource.RLIM_INFINITY,) * 2)
            raisable.append(name)
        except (OSError, ValueError):
            pass
    return raisable

def f():
    return [processes(), memory(), disk("/tmp"), disk("/dev/shm"), raised()]
"""


@trial
def greedy(place: Place):
    return place.values(GREEDY, limits=replace(LIMITS, cpu_seconds=60))[0]


SHARED_MEMORY = """
import mmap, time
def f():
    kept = []
    for _ in range(40):
        block = mmap.mmap(-1, 32 << 20)
        block.write(bytes(len(block)))
        kept.append(block)
        time.sleep(0.05)
    time.sleep(30)
"""


@trial
def memory_that_no_limit_counts(place: Place):
    outcome, ends = place.run(SHARED_MEMORY, limits=replace(LIMITS, memory_bytes=256 << 20))
    return [outcome.ranks[0].state, ends[0].get("over")]


BACKGROUND = """
import os, signal, time
def f():
    for number in range(1, 32):
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_IGN)
    for _ in range(3):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(300)
            os._exit(0)
    return "left"
"""


@trial
def background(place: Place):
    before = place.processes()
    values = place.values(BACKGROUND)
    end = time.monotonic() + 10
    while place.processes() - before and time.monotonic() < end:
        time.sleep(0.01)
    return [values, len(place.processes() - before)]


WORKERS = """
import multiprocessing, sys
from multiprocessing import shared_memory
import torch
from torch.utils.data import DataLoader, TensorDataset

def double(number, lock, queue):
    with lock:
        queue.put(2 * number)

def f():
    rows = list(DataLoader(TensorDataset(torch.arange(8.0)), batch_size=2, num_workers=2, multiprocessing_context="fork"))
    context = multiprocessing.get_context("fork")
    lock, queue = context.Lock(), context.Queue()
    workers = [context.Process(target=double, args=(k, lock, queue)) for k in range(2)]
    for worker in workers:
        worker.start()
    doubled = sorted(queue.get() for _ in workers)
    for worker in workers:
        worker.join()
    memory = shared_memory.SharedMemory(create=True, size=100)
    memory.close()
    memory.unlink()
    return [float(sum(row[0].sum() for row in rows)), doubled]
"""


@trial
def workers(place: Place):
    return place.values(WORKERS)[0]


@trial
def mpi(place: Place):
    source = "import os\ndef f(comm):\n    return [comm.allreduce(1), os.getuid(), os.path.exists('/tmp/job')]"
    return place.values(source, ranks=2, runtime="mpi4py", arguments=(COMM,))


MESSAGES = """
import os
import tempfile
import numpy as np
from mpi4py import MPI

def f(comm):
    n, me, wrong = comm.size, comm.rank, []
    for k in (0, 1, 512, 5000, 1 << 19):
        mine = np.arange(k, dtype=np.float64) + me
        total, all_, boxes = np.empty(k), np.empty((n, k)), np.empty((n, k))
        comm.Allreduce(mine, total)
        comm.Alltoall(np.tile(mine, (n, 1)), all_)
        requests = [comm.Irecv(boxes[r], r) for r in range(n)] + [comm.Isend(mine, r) for r in range(n)]
        MPI.Request.Waitall(requests)
        rows = np.arange(k) + np.arange(n)[:, None]
        wrong += [k] * (not all(np.array_equal(a, b) for a, b in ((total, rows.sum(0)), (all_, rows), (boxes, rows))))
    part = comm.Split(me % 2, me)
    wrong += ["part"] * (part.allreduce(1) != (n + 1 - me % 2) // 2)
    table, own = np.zeros(n), np.array([me + 1.0])
    window = MPI.Win.Create(table, disp_unit=8, comm=comm)
    window.Fence()
    for r in range(n):
        window.Put(own, r, me)
    window.Fence()
    wrong += ["window"] * (table.tolist() != list(range(1, n + 1)))
    shared = MPI.Win.Allocate_shared(8 if me else 16, 8, comm=comm)
    tables = [np.frombuffer(shared.Shared_query(r)[0]) for r in range(n)]
    tables[me][-1] = me
    comm.Barrier()
    wrong += ["shared"] * ([len(t) for t in tables] != [2, 1, 1] or [t[-1] for t in tables] != [0, 1, 2])
    with open("note", "w") as file, tempfile.TemporaryFile() as other:
        file.write("mine")
        other.write(b"mine")
    return [*wrong, sorted(os.listdir("."))]
"""


@trial
def messages_of_mpi(place: Place):
    return place.values(MESSAGES, ranks=3, runtime="mpi4py", arguments=(COMM,))


@trial
def ends_of_mpi(place: Place):
    source = "import os\ndef f(comm):\n    os.kill(os.getpid(), 9) if comm.rank else comm.Barrier()"
    outcome, ends = place.run(source, ranks=2, runtime="mpi4py", arguments=(COMM,))
    return [outcome.ranks[1].state, ends[1]]


FORGED = """
import os
def f(comm):
    folder = "/tmp/job/case1"
    if comm.Get_rank() == 0:
        names = os.listdir(folder)
        for name in names:
            os.remove(os.path.join(folder, name))
        os.mkfifo(folder + "/rank0.flight")
        os.symlink("/etc/passwd", folder + "/rank1.flight")
        with open(folder + "/rank2.flight", "wb") as file:
            file.write(b"labkit-flight-01" + bytes([255]) * 100)
    comm.Barrier()
    return "returned"
"""


@trial
def forged_recordings(place: Place):
    return place.values(FORGED, ranks=2, runtime="mpi4py", arguments=(COMM,))


EXERCISES = (
    ("04", "strided_share"),
    ("06", "train_ddp"),
    ("10", "scaled_step"),  # float16: PyTorch looks at the processor
    ("06", "save_checkpoint"),
    ("01", "sum_counts"),
    ("07", "keras_callbacks"),
)


@trial
def right_answers(place: Place):
    """One of each runtime, among them DDP and Keras; {exercise: verdict}."""
    verdicts = {}
    for unit, name in EXERCISES:
        exercise = find(name, unit)
        source = next(iter(sources(exercise.unit, name).values()))
        verdicts[name] = bank.try_source(exercise, source, place.launcher).verdict
    return verdicts


@trial
def failed_jails(place: Place):
    """A root or a case that cannot be built is the machine's failure, never a verdict."""
    said = []
    for change in ({"binds": [*place.spec["binds"], "/no/such/folder"]}, {"tmp_bytes": "nonsense"}):
        with Launcher(("numpy",), isolation={**place.spec, **change}) as launcher:
            try:
                launcher.run(make_jobs([Chunk("cell 1", 1, "def f():\n    return 1")], "f", [()], runtime="plain"))
                said.append("ran")
            except LauncherError as error:
                said.append(str(error))
    return said


@trial
def killed_launcher(place: Place):
    """How many of its processes are there after the launcher is killed in the middle of a case."""
    with Launcher(("numpy",), isolation=place.spec) as launcher:
        case = launcher.case(2, LIMITS)
        job, payload = make_jobs(
            [Chunk("cell 1", 1, BACKGROUND + "\n    time.sleep(300)")], "f", [()], runtime="plain"
        )[0]
        wire.send(case.sockets[0], wire.JOB, job, payload)
        wire.receive(case.sockets[0])
        family = psutil.Process(launcher.pid).children(recursive=True)
        psutil.Process(launcher.pid).kill()
        gone, alive = psutil.wait_procs(family, timeout=10)
        case.end()
    return [len(gone) >= 3, len(alive)]


def main() -> None:
    place = Place()
    try:
        print(json.dumps({name: TRIALS[name](place) for name in sys.argv[1:] or TRIALS}))
    finally:
        place.launcher.close()


if __name__ == "__main__":
    main()
