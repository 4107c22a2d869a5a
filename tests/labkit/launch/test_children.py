"""What a forked rank does before the student's code runs."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import os, socket, tempfile
import torch
from labkit.launch.children import Birth, Children
from labkit.launch.launcher import Limits

told, tell = os.pipe()
torch.set_num_threads = lambda number: os.write(tell, f"{os.getpid()} {number}".encode())
mine, theirs = socket.socketpair()
folder = tempfile.mkdtemp()
children = Children(1, listens=True)
birth = Birth(0, theirs, [mine], {"ranks": 1, "limits": vars(Limits())}, folder, None, None)
children.fork(birth, 0)
(pid,) = children.alive
children.complete()
theirs.close()
os.close(tell)
mine.sendall(b"no record at all" * 9)
while children.alive:
    children.wait(mine, None, "")
assert os.read(told, 99).decode() == f"{pid} 1"
os.rmdir(folder)
print(children.ends[0])
"""


def test_a_rank_settles_torchs_threads_before_its_job_and_its_last_words_are_kept():
    """Where torch makes its pool of threads in two threads at once, it aborts the process."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "'exit': 1" in done.stdout and "WireError: not a record of this format" in done.stdout
