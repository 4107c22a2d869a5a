"""The tables of messages.toml: what schedulers and failing programs say, and what that means in plain words."""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path


@functools.cache
def table(name: str):
    """One of the tables: {pattern or word: sentence or [words, what to do]}, or a list of rows that are dicts."""
    with open(Path(__file__).with_name("messages.toml"), "rb") as file:
        return tomllib.load(file)[name]
