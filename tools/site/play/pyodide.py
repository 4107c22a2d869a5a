"""Python for the browser: Pyodide, from the npm package of that name, one version with one hash."""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

from autograder import content

VERSION = "314.0.7"
INTEGRITY = "sha512-0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A=="
FILES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "pyodide-lock.json", "python_stdlib.zip")
CACHE = content.ENGINE / ".cache" / "play"
PATIENCE_S = 120


class NoPyodide(RuntimeError):
    """Raised where the package cannot be had; the text says why, and what would help."""


def package(cache: Path = CACHE) -> Path:
    """The package as a file, fetched once by npm. Raises NoPyodide; nothing is kept that has another hash."""
    path = cache / f"pyodide-{VERSION}.tgz"
    if path.is_file() and integrity(path) == INTEGRITY:
        return path
    npm = shutil.which("npm")
    if npm is None:
        raise NoPyodide("npm is not there (Debian: apt install npm)")
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        command = [npm, "pack", f"pyodide@{VERSION}", "--silent", "--pack-destination", folder]
        try:
            ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise NoPyodide(f"npm did not fetch pyodide {VERSION} within {PATIENCE_S} s") from None
        fetched = Path(folder) / path.name
        if ran.returncode or not fetched.is_file():
            last = (ran.stderr.strip().splitlines() or ["it says nothing"])[-1]
            raise NoPyodide(f"npm cannot fetch pyodide {VERSION}: {last}")
        if integrity(fetched) != INTEGRITY:
            raise NoPyodide(f"what npm fetched as pyodide {VERSION} is another file: its hash is {integrity(fetched)}")
        fetched.replace(path)
    return path


def integrity(path: Path) -> str:
    """The hash of a file, as npm's lock files write it."""
    return "sha512-" + base64.b64encode(hashlib.sha512(path.read_bytes()).digest()).decode()


def unpack(archive: Path, to: Path) -> int:
    """Puts the files that a browser loads into a folder; returns their bytes."""
    to.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive) as package:
        for name in FILES:
            (to / name).write_bytes(package.extractfile(f"package/{name}").read())
    return sum((to / name).stat().st_size for name in FILES)
