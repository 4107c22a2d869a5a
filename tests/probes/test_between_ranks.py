"""Without a jail two processes hear of each other in every way that the probe tries: it would see that a jail leaks."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from probes.between_ranks import WAYS


def test_without_a_jail_every_way_is_open(tmp_path):
    command = [sys.executable, "-m", "probes.between_ranks"]
    give, look = (json.dumps([*command, what]) for what in ("give", "look"))
    done = subprocess.run([*command, "two", give, look], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    closed = set() if os.access(os.devnull, os.W_OK) and os.geteuid() == 0 else {"times"}
    assert set(json.loads(done.stdout)) == set(WAYS) - closed, done.stderr
    assert not list(tmp_path.iterdir())
