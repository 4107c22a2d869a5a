"""Running a command as an ordinary user, where the tests run as root: with the interpreter in sight even if it lies in a private home."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

UID = 61233
# Shows `needed` below folders that only root may enter, in a mount namespace of its own, and becomes the user.
_ENTER = """
import ctypes, json, os, sys
uid, covered, command = json.loads(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
def must(result, what):
    if result != 0:
        sys.exit(f"{what}: {os.strerror(ctypes.get_errno())}")
must(libc.unshare(0x20000), "unshare")
must(libc.mount(None, b"/", None, 1 << 18 | 16384, None), "private")
for cover, needed in covered.items():
    handles = [os.open(path, os.O_PATH) for path in needed]
    must(libc.mount(b"tmpfs", cover.encode(), b"tmpfs", 0, b"mode=0755"), "tmpfs")
    for path, handle in zip(needed, handles):
        os.makedirs(path, exist_ok=True)
        must(libc.mount(f"/proc/self/fd/{handle}".encode(), path.encode(), None, 4096 | 16384, None), path)
os.setgroups([])
os.setresgid(uid, uid, uid)
os.setresuid(uid, uid, uid)
libc.prctl(4, 1, 0, 0, 0)
os.execv(command[0], command)
"""


def run(command: list[str], needed: list[Path], timeout: float, uid: int = UID) -> subprocess.CompletedProcess:
    """Run `command` as user `uid` with a home and a temporary folder of its own. needed: folders it must be able to read."""
    folders = {os.path.realpath(path) for path in (*needed, sys.prefix, sys.base_prefix)}
    covered: dict[str, list[str]] = {}
    for folder in sorted(folders):
        cover = next((str(p) for p in reversed(Path(folder).parents) if not p.stat().st_mode & stat.S_IXOTH), None)
        if cover is not None:
            covered.setdefault(cover, []).append(folder)
    home = tempfile.mkdtemp(prefix="user-", dir="/tmp")
    os.chown(home, uid, uid)
    environment = {**os.environ, "HOME": home, "TMPDIR": home, "USER": "student", "MPLCONFIGDIR": f"{home}/matplotlib"}
    try:
        entered = [sys.executable, "-I", "-c", _ENTER, json.dumps([uid, covered, command])]
        return subprocess.run(entered, env=environment, cwd="/", capture_output=True, text=True, timeout=timeout)
    finally:
        shutil.rmtree(home, ignore_errors=True)
