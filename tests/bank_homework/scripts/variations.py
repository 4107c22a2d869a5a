"""Scripts as students could have written them: whole files in this folder, and small variations of them.

A variation is (file, [(old, new), ...]): each `old` stands exactly once in the file. What is wrong with it is in its name.
"""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).resolve().parent
VARIATIONS: dict[str, tuple[str, list[tuple[str, str]]]] = {"warmup": ("loop.py", []), "early_stopping": ("loop.py", [])}


def text_of(name: str) -> str:
    """The script called `name`: a file, or a variation."""
    if name.endswith(".py"):
        return (HERE / name).read_text(encoding="utf-8")
    file, edits = VARIATIONS[name]
    text = text_of(file)
    for old, new in edits:
        assert text.count(old) == 1, f"{name}: {text.count(old)} times in {file}: {old!r}"
        text = text.replace(old, new)
    return text
