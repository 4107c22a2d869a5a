"""Checks for the course's exercises and its homework, `from autograder import check, check_homework`; the recap of a
unit and its card.
"""

from __future__ import annotations

__all__ = ["check", "check_homework", "recap", "unit_card"]


def __getattr__(name: str):
    if name in ("recap", "unit_card"):
        from autograder.start.card import unit_card
        from autograder.start.recap import recap

        return {"recap": recap, "unit_card": unit_card}[name]
    if name in __all__:
        from autograder.check import check, check_homework
        from labkit.launch import launcher

        launcher.for_notebook()  # begins its imports in the background: the first check then finds it warm
        globals().update(
            check=check, check_homework=check_homework
        )  # the function, in place of the module which the import has put here
        return globals()[name]
    raise AttributeError(f"module 'autograder' has no attribute {name!r}")
