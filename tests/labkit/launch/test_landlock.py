"""A rank without a cell gives up what others could see, where the kernel has Landlock."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from labkit.launch import landlock

PROGRAM = """
import os, sys
from pathlib import Path
from labkit.launch import jail, landlock

jail._prctl(jail._NO_NEW_PRIVS, 1)
own, others = map(Path, sys.argv[1:])
assert landlock.shut_in(str(own))

def works(act, *arguments):
    try:
        act(*arguments)
    except PermissionError:
        return False
    return True

(own / "note").write_text("mine")
(own / "note").rename(own / "kept")
import json.decoder, socket
print(works(os.listdir, others), works((others / "sign").write_text, ""), works((others / "there").read_text),
      works(open, os.devnull, "w"), (own / "kept").read_text())
"""


@pytest.mark.skipif(not landlock.version(), reason="this kernel has no Landlock")
def test_only_its_own_folder_and_the_libraries_are_left(tmp_path):
    for name in ("own", "others"):
        (tmp_path / name).mkdir()
    (tmp_path / "others" / "there").write_text("of another")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, tmp_path / "own", tmp_path / "others"],
        cwd=tmp_path,  # which is not on its path
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.split() == ["False", "False", "False", "True", "mine"], done.stderr


def test_where_there_is_none_nothing_changes(tmp_path, monkeypatch):
    monkeypatch.setattr(landlock, "version", lambda: 0)
    assert not landlock.shut_in(str(tmp_path))
