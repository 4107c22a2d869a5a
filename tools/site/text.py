"""Converts texts of the course to MyST's markdown."""

from __future__ import annotations

import re

SPECIAL = re.compile(r"([\\*_<>\[\]{}$#|~^&])")


def as_markdown(text: str) -> str:
    """A sentence in which `code` is set as code and nothing else means anything."""
    pieces = re.sub(r"\s+", " ", text).split("`")
    if len(pieces) % 2 == 0:  # a backquote without its partner is just a character
        return SPECIAL.sub(r"\\\1", text.replace("`", "'"))
    return "".join(f"`{piece}`" if k % 2 and piece else SPECIAL.sub(r"\\\1", piece) for k, piece in enumerate(pieces))


def slug(text: str) -> str:
    """An anchor: lower case, hyphens, without the points of an exercise."""
    return re.sub(r"[^a-z0-9]+", "-", bare(text).lower()).strip("-")


def bare(heading: str) -> str:
    """A heading without the points of its exercise and without the mark of a stretch."""
    return re.sub(r"\s*(\(\d+ points?\))?(\s*· stretch)?$", "", heading.strip())
