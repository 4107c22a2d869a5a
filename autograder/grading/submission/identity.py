"""What decides a result: the answer, the course's code, the packages, the key. The same digest, the same result."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.metadata
import importlib.util
import json
import platform
from dataclasses import asdict
from pathlib import Path

from autograder.grading.store import Store
from autograder.grading.submission.grades import FORMAT, Graded
from autograder.grading.submission.judging import exercise_of
from autograder.grading.submission.rebuilding import Rebuilt
from autograder.registry import overlay_digests

# -- the cache's key ------------------------------------------------------------------------------------------------------------------


def digest(rebuilt: Rebuilt, unit: str | None, key: str, level: str) -> str:
    """What decides about a result: code of the student that a check or test reaches, the exercises and the judge, the key, isolation."""
    parts: list = [FORMAT, who_judges(), unit, key, level, rebuilt.refused, [asdict(flag) for flag in rebuilt.flags]]
    parts += [rebuilt.files] if rebuilt.files else []
    for item in rebuilt.items:
        exercise = exercise_of(item, unit)
        chunks, note = (None, "") if exercise is None else rebuilt.chunks(item, exercise)
        if exercise is None and not item.part and not rebuilt.refused:
            chunks = rebuilt.chunks_of_test(item)
        parts.append([item.grade_id, item.points, item.source, note, chunks and [[c.label, c.line, c.source] for c in chunks]])
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def kept_result(store: Store, digest: str) -> Graded | None:
    """What was judged before; None where there is nothing, or nothing that can be read."""
    kept = store.result(digest)
    with contextlib.suppress(ValueError):
        return None if kept is None else Graded.from_json(kept)
    return None


def who_judges() -> list:
    """What changes when judging does: our code, the exercises of the overlay as they are loaded, the versions of what they run on."""
    return [_our_code(), overlay_digests(), _versions()]


@functools.cache
def _our_code() -> str:
    """A hash of everything that judges."""
    found = hashlib.sha256()
    root = Path(__file__).resolve().parents[3]
    for path in sorted(path for package in ("autograder", "labkit", "probes") for path in root.glob(f"{package}/**/*.py")):
        found.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes())
    return found.hexdigest()


@functools.cache
def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in ("numpy", "torch", "mpi4py", "tensorflow-cpu", "horovod"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found
