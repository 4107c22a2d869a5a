"""Checks for the course's exercises: `from autograder import check`."""

from __future__ import annotations

__all__ = ["check"]


def __getattr__(name: str):
    if name == "check":
        from autograder.check import check
        from labkit import launcher

        launcher.shared()  # begins to import torch in the background: the first check then finds it warm
        globals()["check"] = check  # the function, in place of the module of that name which the import has put here
        return check
    raise AttributeError(f"module 'autograder' has no attribute {name!r}")
