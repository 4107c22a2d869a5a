"""The process that starts the ranks of a notebook, and outlives it just long enough to end them.

A kernel can be killed at any moment, and nobody would then end its engines or remove their files. So the kernel starts
this program (`python -I -S reaper.py FOLDER`), which starts everything else. When the kernel's end of its standard
input closes, for whatever reason, it ends all it started and removes FOLDER.

It reads one JSON object per line: {"start": name, "command": [...], "environment": {...}, "log": path} or {"stop":
name}, and writes {"ended": name, "status": exit status, negative for a signal} when something ends by itself or was
stopped. Only the standard library, without site-packages: it must start in milliseconds.
"""

import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time

_PATIENCE = 20.0  # s between asking a process to end and ending it; mpiexec removes its files on all nodes in that time
_PR_SET_PDEATHSIG = 1


def main(folder):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a terminal that closes signals everybody; the kernel decides
    parent = os.getppid()
    children = {}
    buffer = b""
    try:
        while os.getppid() == parent:
            ready, _, _ = select.select([0], [], [], 0.05)
            if ready:
                data = os.read(0, 1 << 16)
                if not data:
                    break
                *lines, buffer = (buffer + data).split(b"\n")
                for line in lines:
                    obey(json.loads(line), children)
            for name in [name for name, child in children.items() if child.poll() is not None]:
                tell(ended=name, status=children.pop(name).returncode)
    finally:
        for child in children.values():
            end(child)
        shutil.rmtree(folder, ignore_errors=True)


def obey(order, children):
    if "start" in order:
        with open(order["log"], "ab") as log:
            children[order["start"]] = subprocess.Popen(
                order["command"],
                env=order["environment"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=end_with_parent,
                cwd=order.get("cwd"),
            )
    elif order.get("stop") in children:
        child = children.pop(order["stop"])
        end(child)
        tell(ended=order["stop"], status=child.returncode)


def end_with_parent():
    """Runs in the child: should the reaper itself be killed, the kernel of the operating system ends the child."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def end(child):
    """End a process and all that descend from it. Ranks that sit in MPI hear nothing softer than SIGKILL. What mpiexec
    itself has started to reach other nodes (srun, ssh) ends by itself a little later than mpiexec: when the daemons
    there have removed their files."""
    helpers = [pid for pid in descendants(child.pid, deep=False) if not is_python(pid)]
    spared = {pid for helper in helpers for pid in (helper, *descendants(helper))}
    family = descendants(child.pid)
    if child.poll() is None:
        child.terminate()  # mpiexec ends ranks on other nodes, too; the controller its helpers
    for pid in family:
        if pid not in spared:
            kill(pid)
    deadline = time.monotonic() + _PATIENCE
    while (child.poll() is None or any(map(is_running, helpers))) and time.monotonic() < deadline:
        time.sleep(0.01)
    family += descendants(child.pid)
    if child.poll() is None:
        child.kill()
    for pid in family:
        kill(pid)
    child.wait()


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def is_python(pid):
    """True if a process runs the same interpreter as this one: a rank, or a helper of the controller."""
    try:
        return os.path.samefile(f"/proc/{pid}/exe", "/proc/self/exe")
    except OSError:
        return False


def is_running(pid):
    return state_and_parent(pid)[0] not in ("", "Z", "X")


def state_and_parent(pid):
    """("S", number of the parent) or another letter for the state; ("", 0) where there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            state, parent = file.read().rpartition(b")")[2].split()[:2]
        return state.decode(), int(parent)
    except (OSError, ValueError):
        return "", 0


def descendants(pid, deep=True):
    """The processes that descend from `pid`, found in /proc; with deep=False its children only."""
    children = {}
    for entry in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if entry.isdigit():
            children.setdefault(state_and_parent(entry)[1], []).append(int(entry))
    found, queue = [], [pid]
    while queue:
        for child in children.get(queue.pop(), []):
            found.append(child)
            if deep:
                queue.append(child)
    return found


def tell(**message):
    try:
        os.write(1, json.dumps(message).encode() + b"\n")
    except BrokenPipeError:
        pass


if __name__ == "__main__":
    main(sys.argv[1])
