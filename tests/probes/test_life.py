"""What is seen of the files that a script writes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WATCHED = """
import sys
from pathlib import Path
from probes.life import FileWatch, Folders

base, library = Path(sys.argv[1]), sys.argv[2]
sys.path.insert(0, library)
watch = FileWatch(Folders(base, 1, shared=False), print)
import never_imported_before
if len(sys.argv) > 3:
    Path(library, "result.txt").write_text("1")
print(*watch.written())
"""


def written(tmp_path: Path, *more: str) -> str:
    """The files that a script is said to write which imports a module for the first time in its owner's life."""
    library = tmp_path / "library"
    library.mkdir()
    (tmp_path / "ranks").mkdir()
    (library / "never_imported_before.py").write_text("VALUE = 1\n")
    settings = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", WATCHED, str(tmp_path / "ranks"), str(library), *more]
    asked = {**settings, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60, env=asked)
    return done.stdout.strip()


def test_bytecode_is_none_of_the_files_that_a_script_writes(tmp_path):
    assert written(tmp_path) == ""


def test_a_file_beside_it_is_one(tmp_path):
    assert written(tmp_path, "writes") == str(tmp_path / "library" / "result.txt")
