"""The second homework, `train_a_mesh`, as the registry knows it."""

from __future__ import annotations

import itertools
import os
import re

import autograder.homework.inside as inside
from autograder.homework.assignment import Assignment, JudgedParts, JudgeRequest
from autograder.homework.folder import MIB, CollectedFiles
from autograder.homework.mesh.lines import RUBRIC, missing
from autograder.homework.rubric import PartResult
from autograder.homework.shared_runs import shared_runs

SCRIPT = "mesh_training.py"
_LOGS = (".jsonl", ".ndjson", ".json", ".log", ".txt")
_PICTURES = (".png", ".jpg", ".jpeg", ".svg", ".gif", ".eps", ".ps", ".webp", ".html", ".tif", ".tiff")
_AXES = (r"_?d(?:ata)?_?(\d{1,4})", r"_?t(?:ensor)?_?(\d{1,4})", r"_?p(?:ipeline)?_?(\d{1,4})")
_RUN = re.compile(r"(?:run|log|mesh|runlog|run_log)" + "".join(_AXES) + r"(?:_?c(?:ontext)?_?(\d{1,4}))?")
_SHORT = re.compile(r"(?:run|log|mesh)_?(\d{1,4})x(\d{1,4})x(\d{1,4})(?:x(\d{1,4}))?")
_FIGURES = {
    "step_time.pdf": re.compile(r"(step_?)?times?|step_?seconds|throughput"),
    "memory.pdf": re.compile(r"mem(ory)?(_(per|by)_(rank|stage))?"),
    "losses.pdf": re.compile(r"loss(es)?(_curves?)?"),
}
_NAMES = {f"mesh_d{d}_t{t}_p{p}_c{c}": f"run_d{d}_t{t}_p{p}" + (f"_c{c}" if c > 1 else "") + ".jsonl"
          for d, t, p, c in itertools.product((1, 2, 3, 4, 6, 8, 16), repeat=4)}  # fmt: skip
USUAL = {
    "script": SCRIPT,
    "notebook": "train_a_mesh.ipynb",
    "discussion": "discussion.md",
    "plan": "plan.toml",
    **_NAMES,
}
CAPS = {"script": MIB, "notebook": 16 * MIB, "discussion": MIB, "plan": MIB, "meshes.csv": MIB}


def role_of(path: str) -> tuple[str, int]:
    """(role, how unusual the name is) of a file; ("", 0) where it is none of the homework's."""
    stem, ending = os.path.splitext(os.path.basename(path))
    oddness, ending = int(stem != stem.lower()), ending.lower()
    stem = re.sub(r"[\s_.\-]+", "_", stem.lower()).strip("_")
    if ending == ".py":
        return ("script", oddness) if stem in ("mesh_training", "train_mesh", "train_a_mesh_script") else ("", 0)
    if ending == ".ipynb":
        return ("notebook", oddness) if stem == "train_a_mesh" else ("", 0)
    if stem in ("discussion", "answer", "answers") and ending in (".md", ".txt", ".rst"):
        return "discussion", oddness + (stem != "discussion")
    if ending in (".toml", ".json") and stem in ("plan", "plans"):
        return "plan", oddness + (stem != "plan") + (ending != ".toml")
    if ending in (".csv", ".tsv") and stem in ("meshes", "mesh", "table", "mesh_table", "results"):
        return "meshes.csv", oddness + (stem != "meshes")
    if ending in _LOGS and (match := _RUN.fullmatch(stem) or _SHORT.fullmatch(stem)):
        d, t, p, c = (int(one or 1) for one in match.groups())
        return f"mesh_d{d}_t{t}_p{p}_c{c}", oddness + 2 * _LOGS.index(ending)
    if ending == ".pdf" or ending in _PICTURES:
        for role, pattern in _FIGURES.items():
            if pattern.fullmatch(stem):
                return ("" if ending == ".pdf" else "not:") + role, oddness + (f"{stem}.pdf" != role)
    return "", 0


def _cap(role: str) -> int:
    return CAPS.get(role, 16 * MIB if role.endswith(".pdf") else 8 * MIB)


def _script(asked: JudgeRequest) -> PartResult:
    path = asked.homework.files.get("script")
    if path is None:
        said = asked.homework.absent("script", SCRIPT)
        return PartResult("script", missing(("script", "bonus"), said, "Save your script under that name."))
    from autograder.homework.mesh import script  # only where one is judged

    return script.judge(path, asked.key, asked.launcher)


def _measured(asked: JudgeRequest) -> PartResult:
    from autograder.homework.mesh import measured

    return measured.judge(asked.homework, asked.nonce, asked.launcher)


def _figures(asked: JudgeRequest) -> PartResult:
    from autograder.homework.mesh import figures

    asked.figures.read_all(asked.figures.roles)
    return inside.bounded(figures.judge, asked.homework, asked.figures)


def _plan(asked: JudgeRequest) -> PartResult:
    from autograder.homework.mesh import plan

    return plan.judge(asked.homework.files.get("plan"), asked.homework.absent("plan", "plan.toml"))


TRAIN_A_MESH = Assignment(
    name="train_a_mesh",
    title="Train a mesh",
    rubric=RUBRIC,
    files=CollectedFiles("train_a_mesh", role_of, _cap, USUAL),
    judges=(
        JudgedParts(("script", "bonus"), _script, starts=True),
        JudgedParts(("measured",), _measured),
        JudgedParts(("figures",), _figures, draws=lambda role: role.endswith(".pdf")),
        JudgedParts(("plan",), _plan),
    ),
    not_judged=frozenset({"notebook", "discussion"}),
    compare=shared_runs,
)
