"""The harnesses of unit 19's exercises: functions that run around the student's (`autograder.exercises.source`)."""

import errno
import os
import resource
import shutil
import signal
import stat
import tempfile
import threading
import time

import torch
import torch.distributed as dist

from labkit.launch.saves import Saves
from labkit.relay.charging import ask, compute

CHANGES = ("replace", "rename", "renames", "remove", "unlink", "link", "truncate", "ftruncate")


def content(path, old, new):
    if not os.path.isfile(path):
        return "none"
    with open(path, "rb") as file:
        found = file.read()
    return "old" if found == old else "new" if found == new else "half"


def inode_of(place, folder=None):
    try:
        return os.stat(place, dir_fd=folder).st_ino
    except OSError:
        return None


def apart(path):
    # Another folder may be another file system, as /tmp often is: no name can be changed between the two.
    home = os.path.realpath(os.path.dirname(path))

    def within(real):
        def change(source, *rest, **options):
            place = os.path.realpath(os.fsdecode(source))
            if not options and os.path.commonpath([home, place]) != home:
                raise OSError(errno.EXDEV, "Invalid cross-device link: the new file lies on another file system")
            return real(source, *rest, **options)

        change.__name__ = real.__name__
        return change

    for name in ("replace", "rename", "renames", "link"):
        setattr(os, name, within(getattr(os, name)))


def read(place):
    with open(place, "rb") as file:
        return file.read()


def noting(noted, path, data, dies_at=None):
    calls, synced, through = [], {}, set()

    def syncs(real):
        def sync(*fd):
            real(*fd)
            for place in os.listdir(os.path.dirname(path)) if not fd else []:
                place = os.path.join(os.path.dirname(path), place)
                if os.path.isfile(place):
                    synced[os.stat(place).st_ino] = read(place)
            for one in fd:
                one = one if isinstance(one, int) else one.fileno()
                if stat.S_ISREG(os.fstat(one).st_mode):
                    synced[os.fstat(one).st_ino] = read(f"/proc/self/fd/{one}")

        return sync

    def changes(real):
        def change(source, *rest, **options):
            if len(calls) == dies_at:
                os.kill(os.getpid(), signal.SIGKILL)
            calls.append(real.__name__)
            inode = inode_of(source, options.get("src_dir_fd"))
            result = real(source, *rest, **options)
            if os.path.exists(path) and os.stat(path).st_ino == inode:
                noted["synced"] = (inode in through or synced.get(inode) == data) and read(path) == data
            return result

        return change

    def opens(real):
        def open_(place, flags, *rest, **options):
            fd = real(place, flags, *rest, **options)
            if flags & (os.O_SYNC | os.O_DSYNC):
                through.add(os.fstat(fd).st_ino)
            return fd

        return open_

    os.open = opens(os.open)
    for name in ("fsync", "fdatasync", "sync"):
        setattr(os, name, syncs(getattr(os, name)))
    for name in CHANGES:
        setattr(os, name, changes(getattr(os, name)))


def end_of(f, path, old, new, most_bytes=None, dies_at=None, full=False):
    # How the child ended: "killed", "raised" or "returned". It writes `new`, in a process of its own. full: a write
    # that does not fit raises.
    child = os.fork()
    if child == 0:
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN if full else signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            apart(path)
            if dies_at is not None:
                noting({}, path, new, dies_at)
            if most_bytes is not None:
                hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
                resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, hard))
            f(path, new)
            os._exit(0)
        finally:
            os._exit(1)
    status = os.waitpid(child, 0)[1]
    return "killed" if os.WIFSIGNALED(status) else "raised" if os.WEXITSTATUS(status) else "returned"


def with_old(folder, old):
    # The name does not tell which trial it is. It may end as a temporary file's does.
    path = os.path.join(tempfile.mkdtemp(dir=folder), "checkpoint" if old else "checkpoint.tmp")
    if old:
        with open(path, "wb") as file:
            file.write(old)
    return path


def write_whole(f, old, new, killed):
    old, new = bytes(old), bytes(new)
    folder = tempfile.mkdtemp()
    try:
        return trials(f, folder, old, new, killed)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def trials(f, folder, old, new, killed):
    path, reader = with_old(folder, old), None
    if old:
        reader = open(path, "rb")

    def prepare():
        noted = {"synced": False}
        apart(path)
        noting(noted, path, new)
        return noted

    saves = Saves(path, old, new)
    noted = f.reported(prepare, saves, path, new)
    synced = noted["synced"] if saves.synced is None else saves.synced
    report = {"finished": content(path, old, new), "synced": synced, "left": os.listdir(os.path.dirname(path))}
    report["open"] = "old"
    if reader:
        with reader:
            report["open"] = "old" if reader.read() == old else "changed"
    report["bytes"], report["names"], report["again"], report["short"] = [], [], "new", False
    report["nothing done"] = False
    report["full"], report["hidden"], report["moments"] = "old", False, saves.states if killed else []
    if killed:
        upset(f, folder, old, new, report)
        path = with_old(folder, old)
        end = end_of(f, path, old, new, most_bytes=len(new) // 2, full=True)
        found = content(path, old, new)
        report["full"] = "half" if report["full"] == "half" else found
        report["hidden"] |= end == "returned" and found in ("old", "none")
        path = with_old(folder, old)
        if end_of(f, path, old, new + new, most_bytes=2 * len(new) - 1) == "killed":
            end_of(f, path, old, new)
            if report.get("longer", "new") == "new":
                report["longer"] = content(path, old, new)
    for k in range(len(new) * killed):
        path = with_old(folder, old)
        end = end_of(f, path, old, new, most_bytes=k)
        report["bytes"].append(content(path, old, new))
        report["short"] |= end != "killed" and report["bytes"][-1] == "half"
        report["nothing done"] |= end == "returned" and report["bytes"][-1] in ("old", "none")
        if end == "killed" and k == len(new) // 2:
            end_of(f, path, old, new)
            report["again"] = content(path, old, new)
    for k in range(8 * killed):
        path = with_old(folder, old)
        end = end_of(f, path, old, new, dies_at=k)
        report["names"].append(content(path, old, new))
        if end != "killed":
            report["nothing done"] |= report["names"][-1] in ("old", "none")
            break
    return report


def upset(f, folder, old, new, report):
    # What the process cannot foresee: it is stopped from outside, as in every other call.
    for how in ("full", "cut", "dies"):
        path, data = with_old(folder, old), new + new if how == "dies" else new
        saves = Saves(path, old, data, how)
        end = f.ended(lambda path=path: apart(path), saves, path, data)
        found = content(path, old, data)
        if how == "full":
            report["full"], report["hidden"] = found, end == "returned" and found in ("old", "none")
        elif how == "cut":
            report["short"] |= found == "half"
            report["nothing done"] |= end == "returned" and found in ("old", "none")
        elif end == "killed":
            report["moments"] += saves.states
            f.ended(lambda path=path: apart(path), Saves(path, old, new), path, new)
            report["longer"] = content(path, old, new)


class Failed(Exception):
    pass


def kinds(state):  # names, types and dtypes, without the numbers
    if isinstance(state, dict):
        return [[repr(name), kinds(one)] for name, one in state.items()]
    if isinstance(state, list):
        return ["list", *map(kinds, state)]
    return str(state.dtype) if torch.is_tensor(state) else type(state).__name__


def save_in_background(f, values, momentum, step, fails):
    w = torch.tensor(values, dtype=torch.float64)
    parts = [{"momentum": torch.tensor(momentum, dtype=torch.float64), "lr": 0.1}]
    state = {"model": {"w": w}, "optimizer": parts, "step": step, "seen": {0: 5, 1: torch.tensor([1, 2])}}
    moments = [torch.full((2,), value, dtype=torch.float64) for value in (1.0, 2.0)]
    state |= {"moments": moments, "losses": [0.5, 0.25]}
    wanted = kinds(state)
    may_write, begun, changed, written, same = *[threading.Event() for _ in range(3)], [], []
    error = OSError if fails == "OSError" else Failed
    raised = error(28, "no space left on the device")
    run = threading.Thread.run

    def begins_late(thread):  # what a thread reads, it reads when the training has gone on
        changed.wait(0.4)
        run(thread)

    def write(state):
        begun.set()
        may_write.wait(0.4)
        same.append(kinds(state) == wanted)
        rest = [state["seen"][1].tolist(), [one.tolist() for one in state["moments"]], list(state["losses"])]
        momentum = state["optimizer"][0]["momentum"].tolist()
        written.append([state["model"]["w"].tolist(), momentum, int(state["step"]), rest])
        if fails:
            raise raised

    threading.Thread.run = begins_late
    try:
        wait = f(state, write)
    except error:
        return {"wrote": written, "returned": "after the write", "heard": "at once", "done": 1}
    finally:
        threading.Thread.run = run
    returned = "after the write" if written else "before"
    with torch.no_grad():
        w += 1.0
        state["optimizer"][0]["momentum"].mul_(0.5)
        for one in (state["seen"][1], *state["moments"]):
            one += 1
    state["step"] += 1
    state["losses"].append(0.125)
    changed.set()
    begins = begun.wait(2)
    threading.Timer(0.05, may_write.set).start()
    heard = "nothing"
    join = threading.Thread.join

    def impatient(thread, timeout=None):  # the disk is slower than anybody's patience
        return join(thread, timeout if timeout is None else min(timeout, 0.001))

    threading.Thread.join = impatient
    try:
        wait()
    except error as found:
        heard = "the error" if found is raised else "another error"
    finally:
        threading.Thread.join = join
    done = len(written)
    may_write.wait()
    for _ in range(40 * begun.is_set()):
        if written:
            break
        time.sleep(0.01)
    report = {"wrote": written, "returned": returned, "heard": heard, "done": done, "begins": begins}
    report |= {"same": all(same), "next": saves_again(f)}
    return report | ({"apart": one_fails(f, error)} if fails else {"together": saves_together(f)})


def saves_again(f):  # what two saves have written, the second begun while the first was still at it, and their errors
    may_write, wrote = threading.Event(), []

    def write(state):
        may_write.wait(0.2)
        wrote.append(int(state["w"][0]))

    try:
        waits = [f({"w": torch.full((2,), k)}, write) for k in (1, 2)]
        may_write.set()
        for wait in waits:
            wait()
    except Exception:
        wrote.append("an exception")
    return sorted(wrote, key=str)


def saves_together(f):  # True if many saves, more than a shared pool has workers, are all being written at once
    count, together = 40, []
    all_of_them = threading.Barrier(count)

    def write(state):
        try:
            all_of_them.wait(2)
            together.append(int(state["w"][0]))
        except threading.BrokenBarrierError:
            pass

    for wait in [f({"w": torch.full((2,), k)}, write) for k in range(count)]:
        wait()
    return sorted(together) == [*range(count)]


def one_fails(f, error):  # what is heard of each of two saves, the second of which fails while the first is at it
    failed, heard = threading.Event(), []

    def write(state):
        if int(state["w"][0]) == 2:
            failed.set()
            raise error("no space left on the device")
        failed.wait(2)
        time.sleep(0.02)  # whoever keeps the error for all saves has it now

    for wait in [f({"w": torch.full((2,), k)}, write) for k in (1, 2)]:
        try:
            wait()
            heard.append("nothing")
        except error:
            heard.append("the error")
    return heard


def train_until_told(f, when, steps, between):
    done, asked = [0], [0]

    def step():
        compute(1e-3, "S")
        dist.all_reduce(torch.ones(100))
        done[0] += 1
        asked[0] = 0

    def told():  # between: the signal comes while the step before is being decided, after it was asked for
        asked[0] += 1
        return 0 <= when <= done[0] or between and when == done[0] + 1 and asked[0] > 1

    return {"returned": f(step, told, steps), "done": done[0]}


def checked_all_reduce(f, x, when, index, bit):
    def flip(sent):
        if sent.numel() >= x.numel() and sent.dtype == torch.float64:
            sent.view(-1).view(torch.int64)[index] ^= (1 << bit) if bit < 63 else -(1 << 63)

    def all_reduce(vector):
        sent = vector.clone()
        if when == "before":
            flip(sent)
        dist.all_reduce(sent)
        if when == "after":
            flip(sent)
        vector.copy_(sent)

    answer = f(x, all_reduce)
    try:
        total, ok = answer
    except (TypeError, ValueError):
        return {"sum": None, "ok": None}
    if isinstance(ok, torch.Tensor) and ok.numel() == 1:
        ok = bool(ok)
    return {"sum": total, "ok": ok}


class SameStepAgain(RuntimeError):
    pass


class MoreThanTheShards(RuntimeError):
    pass


def train_through(f, w, shards, steps, judge, lr, behind):
    asked = {}

    def gradient(w, step, shard):
        step, shard = range(steps)[step], range(shards)[shard]
        at = w.detach().double() + torch.zeros(n, dtype=torch.float64)
        asked[step, shard] = asked.get((step, shard), 0) + 1
        if asked[step, shard] > 9:
            raise SameStepAgain(f"shard {shard} of step {step} for the tenth time")
        return torch.from_numpy(ask(judge, [at.numpy(), step, shard]).copy())

    def update(w, gradients):
        gradients = list(gradients)
        if len(gradients) > shards:
            raise MoreThanTheShards(f"{len(gradients)} gradients of {shards} shards")
        total = torch.zeros_like(w)
        for one in gradients:
            total = total + one
        return w - lr * total

    n = len(w)
    weights = f(w, gradient, update, shards, steps)
    if behind:  # where a rank dies that has called nothing behind the last step
        try:
            dist.barrier()
        except dist.DistBackendError:
            pass
    return weights
