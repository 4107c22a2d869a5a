"""The first homework, `scaling_mnist`: a port of a sequential script to Horovod or to torch.distributed, its scaling
test and its plots."""

from __future__ import annotations

import os
import re

import autograder.homework.inside as inside
from autograder.homework.assignment import Assignment, JudgedParts, JudgeRequest
from autograder.homework.folder import MIB, CollectedFiles, Homework
from autograder.homework.mnist_rubric import MORE_SIZES, RUBRIC, SIZES, lines_of, lost
from autograder.homework.port import source
from autograder.homework.rubric import PartResult
from autograder.homework.shared_runs import shared_runs
from labkit import runlog
from labkit.environment import frameworks_left_out, without_frameworks
from labkit.launch.horovod_rendezvous import FRAMEWORKS
from labkit.runlog import RunLog

# -- which file is what ------------------------------------------------------------------------------------------------

PORTS = ("tensorflow2_mnist_hvd.py", "torch_mnist_ddp.py")
ASKED = PORTS[1:] if frameworks_left_out() else PORTS  # in a course without frameworks the second one alone
USUAL = {"script": ASKED[0], "notebook": "scaling_mnist.ipynb", "discussion": "discussion.md"}
ALSO = {"script": ASKED[1:]}
# bytes
CAPS = {"script": MIB, "notebook": 16 * MIB, "discussion": MIB, "scaling.csv": MIB, "pdf": 16 * MIB, "run": 16 * MIB}
_PORTED = ("hvd", "horovod", "ddp", "distributed")  # in the name of a port
_LOGS = (".jsonl", ".ndjson", ".json", ".dat", ".log", ".txt")  # the first one wins
_PICTURES = (".png", ".jpg", ".jpeg", ".svg", ".gif", ".eps", ".ps", ".webp", ".html", ".tif", ".tiff")
_RANKS = (
    r"(?:n|np|p|ranks?|procs?|gpus?|nodes?|workers?)?_?0*(\d{1,4})_?(?:n|np|p|ranks?|procs?|gpus?|nodes?|workers?)?"
)
_RUN = re.compile(rf"(?:run|runs|run_?log|log|metrics|training|history)_?{_RANKS}")
_ACCURACY = re.compile(rf"(?:accuracy|accuracies|acc)_?(?:curves?_?|plot_?)?{_RANKS}")
_SCALING = re.compile(r"(?:scaling|scale)(?:_?(?:test|plot|results?|table|figure|curve|mnist))?")


def role_of(path: str) -> tuple[str, int]:
    """(role, how unusual the name is) of a file; ("", 0) where it is none of the homework's."""
    name = os.path.basename(path)
    stem, ending = os.path.splitext(name)
    usual, ending = stem == stem.lower(), ending.lower()
    stem = re.sub(r"[\s_.\-]+", "_", stem.lower()).strip("_")
    oddness = 0 if usual else 1
    if ending == ".py" and any(word in stem for word in _PORTED):
        return "script", oddness if stem in ("tensorflow2_mnist_hvd", "torch_mnist_ddp") else 2
    if ending == ".ipynb":
        return ("notebook", oddness) if stem == "scaling_mnist" else ("", 0)
    if stem in ("discussion", "answer", "answers") and ending in (".md", ".txt", ".rst"):
        return "discussion", oddness + (stem != "discussion")
    if ending in _LOGS and (match := _RUN.fullmatch(stem)):
        return _of_size("run_{}", match), 2 * _LOGS.index(ending) + oddness
    if ending == ".pdf" or ending in _PICTURES:
        wrong = "" if ending == ".pdf" else "not:"
        if match := _ACCURACY.fullmatch(stem):
            role = _of_size("accuracy_{}.pdf", match)
            return (wrong + role if role else ""), oddness
        if _SCALING.fullmatch(stem):
            return f"{wrong}scaling.pdf", oddness + (stem != "scaling")
    if ending in (".csv", ".tsv") and _SCALING.fullmatch(stem):
        return "scaling.csv", oddness + (stem != "scaling")
    return "", 0


def _of_size(role: str, match: re.Match) -> str:
    size = int(match[1])
    return role.format(size) if size in SIZES + MORE_SIZES else ""


def _cap(role: str) -> int:
    return CAPS.get(role) or CAPS["pdf" if role.endswith(".pdf") else "run"]


# -- the judges --------------------------------------------------------------------------------------------------------


def read_logs(homework: Homework) -> tuple[dict[int, RunLog], dict[int, str]]:
    """(size -> run log, size -> why a log could not be read)."""
    logs: dict[int, RunLog] = {}
    broken: dict[int, str] = {}
    for size in homework.sizes:
        try:
            logs[size] = runlog.read(homework.files[f"run_{size}"], size)
        except runlog.RunLogError as error:
            broken[size] = str(error)
        except Exception as error:  # a parser that stumbles is our fault, but there is no log either way
            broken[size] = f"the reader of run logs stopped with {type(error).__name__}"
    return logs, broken


def _needs_horovod(homework: Homework) -> bool:
    """True if the script is a port to Horovod."""
    script = homework.files.get("script")
    return script is not None and source.read(script.read_bytes().decode("utf-8", errors="replace")).uses_horovod


def _missing(homework: Homework) -> str:
    return without_frameworks() if _needs_horovod(homework) else ""


def _port(asked: JudgeRequest) -> PartResult:
    """The parts "port" and "bonus"."""
    script = asked.homework.files.get("script")
    if script is not None:
        from autograder.homework.port import judge as port  # only where one is judged

        if sentence := _missing(asked.homework):
            raise RuntimeError(sentence)
        return port.judge(script, key=asked.key, launcher=asked.launcher)
    said = asked.homework.absent("script", " or ".join(ASKED))
    teach = "Save your port under that name, beside the logs."
    lines = [*lines_of("port"), *lines_of("bonus")]
    return PartResult("port", [lost(line.name, "missing_file", said, teach) for line in lines])


def _scaling(asked: JudgeRequest) -> PartResult:
    from autograder.homework.scaling import judge as scaling
    from autograder.homework.scaling import rerun

    logs, broken = read_logs(asked.homework)
    asked.figures.read_all([role for role in asked.figures.roles if role == "scaling.pdf"])
    script, launcher = asked.homework.files.get("script"), asked.launcher
    again = rerun.timer(script, launcher) if launcher is not None and _needs_horovod(asked.homework) else None
    return scaling.judge(asked.homework, logs, asked.figures, broken=broken, nonce=asked.nonce, again=again)


def _plots(asked: JudgeRequest) -> PartResult:
    from autograder.homework.plots import judge as plots

    logs, broken = read_logs(asked.homework)
    asked.figures.read_all(asked.figures.roles)
    return inside.bounded(plots.judge, asked.homework, logs, asked.figures, broken=broken)


def _beside(result: PartResult) -> str:
    """The measurements of the run logs beside those of the table."""
    from autograder.homework.scaling.beside import measured

    return measured(result.facts) if result.part == "scaling" else ""


SCALING_MNIST = Assignment(
    name="scaling_mnist",
    title="Scaling MNIST",
    rubric=RUBRIC,
    files=CollectedFiles("scaling_mnist", role_of, _cap, USUAL, ALSO),
    judges=(
        # the warm-up is seen in the runs that judge the port
        JudgedParts(
            ("port", "bonus"),
            _port,
            starts=True,
            missing=_missing,
            frameworks=lambda homework: FRAMEWORKS if _needs_horovod(homework) else ("torch",),
        ),
        JudgedParts(("scaling",), _scaling, draws=lambda role: role == "scaling.pdf"),
        JudgedParts(("plots",), _plots, draws=lambda role: role.startswith("accuracy_")),
    ),
    not_judged=frozenset({"notebook", "discussion"}),
    beside=_beside,
    compare=shared_runs,
)
