"""The indexes: of mistakes, which has every diagnosis of every exercise; of claims, which says what lessons say; the
glossary.
"""

from __future__ import annotations

import html
import re
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest

from tools.build_notebooks import solved_of, units
from tools.site import claims, glossary, mistakes
from tools.site.symptoms import SYMPTOMS, symptom
from tools.site.text import as_markdown, slug

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def notebooks():
    found = {}
    for unit in units(ROOT):
        found[unit] = nbformat.read(solved_of(ROOT, unit), as_version=4)
    return found


# ------------------------------------------------------------------------------------------------------------ mistakes


@pytest.fixture(scope="module")
def index():
    exercises = mistakes.public_exercises()
    return exercises, mistakes.pages(exercises, {exercise.unit: exercise.unit for exercise in exercises})


def test_every_diagnosis_of_every_exercise_is_in_the_index_of_mistakes(index):
    exercises, pages = index
    lines = [line for page in pages.values() for line in page.splitlines() if line.startswith("- **")]
    assert len(exercises) > 100
    for exercise in exercises:
        of_exercise = [line for line in lines if f"`{exercise.function}`" in line]
        for name, text in exercise.diagnoses.items():
            entry = f"**{as_markdown(name.replace('_', ' '))}**, [`{exercise.function}`]"
            found = [line for line in of_exercise if entry in line]
            assert len(found) == 1, (exercise.function, name)
            assert as_markdown(text.why) in found[0] and as_markdown(text.how) in found[0]


def test_the_overview_leads_to_every_page_and_counts_its_entries(index):
    _, pages = index
    overview = pages.pop(f"{mistakes.FOLDER}/index.md")
    for path, page in pages.items():
        key = Path(path).stem
        says, count = SYMPTOMS[key][0], sum(line.startswith("- **") for line in page.splitlines())
        assert f"[{says}]({key}.md)** ({count})" in overview
        assert page.startswith(f"# {says}\n")
    pages[f"{mistakes.FOLDER}/index.md"] = overview


@pytest.mark.parametrize(
    ("function", "name", "key"),
    [
        ("mean_over_ranks", "sum_for_mean", "too_large"),
        ("mean_over_ranks", "divided_twice", "too_small"),
        ("send_matrix", "deadlock", "hangs"),
        ("send_matrix", "everybody_has_it", "some_ranks"),
        ("ring_all_reduce", "too_many_bytes", "costs"),
        ("who_am_i", "swapped", "places"),
        ("estimate_pi", "ZeroDivisionError", "stops"),
    ],
)
def test_a_mistake_stands_under_what_a_student_sees(index, function, name, key):
    _, pages = index
    entry = f"**{as_markdown(name.replace('_', ' '))}**, [`{function}`](#{mistakes.anchor(function)})"
    assert [path for path, page in pages.items() if entry in page] == [f"mistakes/{key}.md"]


def test_a_sentence_that_says_it_outright_counts_first():
    assert symptom("any_name", "Every step is p times too long.") == "too_large"
    assert symptom("any_name", "This is the mean, not the sum.") == "too_small"
    assert symptom("any_name", "The wrong thing was written.") == "rules"


def test_text_is_shown_as_it_stands():
    shown = as_markdown("x * y <b> [z](w) $a$ and `code * here`, 2**24")
    assert shown == r"x \* y \<b\> \[z\](w) \$a\$ and `code * here`, 2\*\*24"
    assert as_markdown("a ` alone") == "a ' alone"


# -------------------------------------------------------------------------------------------------------------- claims


def test_the_lessons_say_what_the_index_of_claims_says(notebooks):
    assert not claims.stale(notebooks)


def test_every_claim_leads_to_its_section():
    page = claims.page({claim.unit: claim.unit for claim in claims.claims()})
    for claim in claims.claims():
        assert f"](units/{claim.unit}.ipynb#{slug(claim.section)})" in page
        assert as_markdown(claim.says) in page and as_markdown(claim.verdict) in page


def test_a_lesson_that_has_changed_is_noticed(notebooks, monkeypatch):
    first, *rest = claims.claims()
    others = [replace(first, shown="what nobody says"), replace(rest[0], section="No such section"), *rest[1:]]
    monkeypatch.setattr(claims, "claims", lambda: others)
    said = claims.stale(notebooks)
    assert any(f"{first.unit}: does not say 'what nobody says'" in line for line in said)
    assert any("has no section 'No such section'" in line for line in said)
    monkeypatch.setattr(claims, "claims", lambda: rest[1:])
    assert any("is in no claim of its unit.toml" in line for line in claims.stale(notebooks))


# ------------------------------------------------------------------------------------------------------------ glossary


def test_the_glossary_leads_to_units_that_are_there():
    terms = glossary.terms(ROOT)
    assert [term.name.lower() for term in terms] == sorted(term.name.lower() for term in terms)
    for term in terms:
        paths = re.findall(r"\]\(([^)]+)\)", term.links)
        assert paths and all((ROOT / "docs" / path).is_file() for path in paths), term.name
        assert 1 <= len(re.findall(r"[.?!](?:\s|$)", term.says)) <= 3, term.name


def test_a_term_is_found_in_the_plural_and_not_within_another_word():
    patterns = {anchor: re.compile(pattern, re.IGNORECASE) for anchor, pattern in glossary.patterns(ROOT).items()}
    assert patterns["term-rank"].search("four ranks") and not patterns["term-rank"].search("a ranking")
    assert patterns["term-all-reduce"].search("An all-reduce\nof") and not patterns["term-reduce-to-a-root"].search(
        "all-reduce"
    )
    assert patterns["term-ring-all-reduce"].search("the ring all-reduce")


def test_a_line_that_is_no_entry_is_refused(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / glossary.SOURCE).write_text("- **rank** One process. Unit [00](x)\n")
    with pytest.raises(ValueError, match="docs/glossary.md: a line is not"):
        glossary.terms(tmp_path)


def test_formulas_become_mathml():
    from tools.site.extension import mathml

    shown = mathml(r"\frac{n}{p} < \beta", "block")
    assert "<mfrac>" in shown and "β" in html.unescape(shown) and r'alttext="\frac{n}{p} &lt; \beta"' in shown
