"""How a notebook's ranks are ended: ranks at once, and what mpiexec has started to reach other nodes when it has tidied
up there."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from labkit.launch import reaper

# In the place of mpiexec: a "rank", which hears nothing softer than SIGKILL, and a "srun", which hears from the end of
# its input that mpiexec is gone and then needs a moment for what it has to do.
MPIEXEC = """
{python} -c 'import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); open("rank", "w"); time.sleep(100)' &
exec 3> >(touch srun; read -r _; sleep 0.5; touch tidied)
exec sleep 100
"""


def test_srun_may_tidy_up_and_a_rank_may_not_linger(tmp_path: Path):
    script = MPIEXEC.format(python=sys.executable)
    mpiexec = subprocess.Popen(["bash", "-c", script], cwd=tmp_path, stdin=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 30
        while not ((tmp_path / "rank").exists() and (tmp_path / "srun").exists()):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        family = reaper.descendants(mpiexec.pid)
        ranks = [pid for pid in family if reaper.is_python(pid)]
        assert len(ranks) == 1 and len(family) >= 2
        reaper.end(mpiexec)
        assert (tmp_path / "tidied").exists()
        assert not any(map(reaper.is_running, family))
    finally:
        for pid in reaper.descendants(mpiexec.pid):
            reaper.kill(pid)
        mpiexec.kill()
        mpiexec.wait()
