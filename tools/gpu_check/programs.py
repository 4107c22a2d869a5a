"""The course's programs that choose a GPU themselves, run as a student runs them: exit status and their own figures."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from gpu_check.setting import Setting
from gpu_check.table import Row, judged, not_run

ROOT = Path(__file__).resolve().parents[2]
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node")


def rows(setting: Setting, rank: int, world: int) -> Iterator[Row]:
    """One row for each program."""
    end = time.monotonic() + 0.9 * setting.seconds
    with tempfile.TemporaryDirectory() as folder:
        for path, more, figure in programs(setting, folder):
            name = Path(path).name
            if setting.small:
                yield not_run(name, "left out by --small")
            elif not (ROOT / path).exists():
                yield not_run(name, f"{path} is not here")
            elif name == "ddp.py" and not find_spec("filelock"):
                yield not_run(name, "its data need the package filelock")
            else:
                yield program_row(path, more, figure, folder, end - time.monotonic(), setting)


def programs(setting: Setting, folder: str) -> Iterator[tuple[str, list[str], str]]:
    """(the program, what stands before it, and after it behind a "+"; the figure of its record that is shown)."""
    ranks = str(max(1, setting.gpus)) if setting.device == "cuda" else "2"
    device = "gpu" if setting.device == "cuda" else "cpu"
    size = [] if setting.device == "cuda" else ["--image-size", "32", "--width", "8", "--batch-size", "8"]
    yield "solutions/07_horovod/resnet34_throughput.py", ["+", "--device", device, *size], "images_per_second"
    yield "job_scripts/programs/c10d.py", [*TORCHRUN, ranks, "+", "--megabytes", "16"], "all_reduce_seconds"
    run = ["--epochs", "1", "--images", "2048", "--checkpoint", f"{folder}/checkpoint.pt"]
    yield "job_scripts/programs/ddp.py", [*TORCHRUN, ranks, "+", *run], "accuracy"


def program_row(path: str, more: list[str], figure: str, folder: str, seconds: float, setting: Setting) -> Row:
    """Run it in a session of its own, which ends with it, and read the record that it writes."""
    name = Path(path).name
    before, after = more[: more.index("+")], more[more.index("+") + 1 :]
    record = Path(folder) / "record.json"
    record.unlink(missing_ok=True)
    command = [sys.executable, *before, str(ROOT / path), *after, "--json", str(record)]
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "GLOO_SOCKET_IFNAME": os.environ.get("GLOO_SOCKET_IFNAME", "lo")}
    if setting.device == "cpu":
        environ["CUDA_VISIBLE_DEVICES"] = ""
    with open(Path(folder) / "said", "w+", encoding="utf-8") as said:
        process = subprocess.Popen(command, cwd=folder, env=environ, stdout=said, stderr=said, start_new_session=True)
        try:
            status = process.wait(max(1.0, seconds))
        except subprocess.TimeoutExpired:
            return judged(name, False, "not ended", f"within {seconds:.0f} s")
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        said.seek(0)
        return result_row(name, status, said.read(), record, figure)


def result_row(name: str, status: int, said: str, record: Path, figure: str) -> Row:
    """status, said: its exit status and what it wrote. figure: the name of a number in its record."""
    if status != 0:
        last = [line for line in said.strip().splitlines() if line.strip()][-1:] or [""]
        return judged(name, False, f"exit status {status}: {last[0][:200]}", "exit status 0")
    if not record.exists():
        return judged(name, False, "no record", "a record as JSON")
    value = json.loads(record.read_text(encoding="utf-8").splitlines()[-1]).get(figure)
    shown = f"{figure} {value:,.4g}" if isinstance(value, (int, float)) else "runs"
    return judged(name, True, shown, "exit status 0", value if isinstance(value, (int, float)) else None, figure)
