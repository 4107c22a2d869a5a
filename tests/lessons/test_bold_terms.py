"""A term that a page sets in bold stands in the glossary."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import jupytext
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
sys.path.insert(0, str(ROOT))

import build_notebooks as builder  # noqa: E402

from tools.site import glossary  # noqa: E402

MOST_WORDS = 3  # what is longer is a sentence that matters, no term
NAMES = {"Megatron-LM", "PaLM", "Llama 3", "DeepSeek-V3", "MobileNet", "Optuna", "JAX"}  # models, papers, programs
# Words that a page stresses, which mean no more than they do anywhere else.
STRESSED = set(
    """
    expected, level, slowest, threads, receives, sends, into its argument, whole, blocks, empty list, item,
    not, strides, and divide once, frozen, not used, For graders, at least, last, after, three mistakes, who
    is late, your third guess, bound, bound itself, falls, first steps, grows, hides, images per second,
    three, wait, copy, prepare, train, sums, before, one number, workers, added, averages, none,
    once, your, journal, logarithmic, manager, in one buffer, stage 2, stage 3, column, inside, groups of p,
    leaders, levels, pieces, averaged
    """.replace("\n    ", " ")
    .strip()
    .split(", ")
)


def stressed_words(unit: str) -> set[str]:
    """The short phrases in bold within a page's sentences: no code, no quotation, no number."""
    found = set()
    for cell in jupytext.read(builder.source_of(ROOT, unit), fmt="py:percent").cells:
        if cell.cell_type == "markdown":
            found |= set(re.findall(r"(?<=[\w,;:(] )\*\*([^*]+?)\*\*", cell.source.replace("\n", " ")))
    return {one for one in found if len(one.split()) <= MOST_WORDS and re.fullmatch(r"[A-Za-z][\w -]*", one)}


def is_in_the_glossary(phrase: str) -> bool:
    """True if one of the glossary's words is in the phrase, or the phrase in one of them."""
    said = re.sub(r"[\s-]+", " ", phrase.lower())
    words = [re.sub(r"[\s-]+", " ", word.lower()) for term in glossary.terms(ROOT) for word in (term.name, *term.also)]
    return any(word in said or said.removesuffix("s") in word for word in words)


@pytest.mark.parametrize("unit", builder.units(ROOT))
def test_a_term_in_bold_is_in_the_glossary(unit):
    unknown = {one for one in stressed_words(unit) - STRESSED - NAMES if not is_in_the_glossary(one)}
    assert not unknown, "explain them in docs/glossary.md, or say in STRESSED that they are no terms"
