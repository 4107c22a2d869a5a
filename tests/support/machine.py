"""What a machine may lack that some tests need, and how they say so."""

from __future__ import annotations

import shutil
from collections.abc import Iterable

import pytest

from autograder.grading.isolation import Item

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
NO_CHROMIUM = "no Chromium on this machine (Debian: apt install chromium)"
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)


def cannot_enforce(missing: Iterable[Item]) -> str:
    """Which protections of the grader's jail do not hold here, and what would make them."""
    missing = tuple(missing)
    remedies = dict.fromkeys(item.remedy for item in missing if item.remedy)
    return " ".join([f"this machine cannot enforce: {', '.join(item.name for item in missing)}.", *remedies])
