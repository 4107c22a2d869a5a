"""The site itself: a unit and a homework built by Sphinx; and, in a browser without a network, all of it."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from machine import needs
from served import chromium, served

from autograder import content
from tools.build_notebooks import source_of, units
from tools.site import cli, mistakes
from tools.site.audit import audit

ROOT = Path(__file__).resolve().parents[3]
SOME = ("06_ddp", "scaling_mnist")


@pytest.fixture(scope="module")
def few_mistakes():
    """The index of these units alone: reading every exercise takes seconds."""
    patch = pytest.MonkeyPatch()
    some = [exercise for exercise in mistakes.public_exercises() if exercise.unit in SOME]
    patch.setattr(mistakes, "public_exercises", lambda: some)
    yield
    patch.undo()


@pytest.fixture(scope="module")
def built(tmp_path_factory, few_mistakes):
    to = tmp_path_factory.mktemp("site") / "site"
    assert cli.build(to, only=SOME) == ""
    return to


@pytest.fixture(scope="module")
def without(tmp_path_factory, few_mistakes):
    to = tmp_path_factory.mktemp("site") / "site"
    assert cli.build(to, solutions=False, only=SOME) == ""
    return to


# What scrolls sideways and cannot be reached with the keyboard (axe calls it scrollable-region-focusable).
UNREACHED = """() => [...document.querySelectorAll(".bd-content *")]
    .filter((e) => e.scrollWidth > e.clientWidth + 1 && ["auto", "scroll"].includes(getComputedStyle(e).overflowX))
    .filter((e) => e.tabIndex < 0 && !e.querySelector("a[href], button, input, textarea, summary, [tabindex='0']"))
    .map((e) => e.outerHTML.slice(0, 200))"""


def words(page: Path) -> str:
    """The text of a page, blanks taken out."""
    return re.sub(r"\s+", "", html.unescape(re.sub(r"<[^>]+>", "", page.read_text())))


def solution_lines(unit: str) -> list[str]:
    """Lines of code of a unit's solutions that nobody writes by chance, blanks taken out."""
    text = source_of(ROOT, unit).read_text()
    blocks = re.findall(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", text, flags=re.S)
    code = [block for block in blocks if "- 1 point: " not in block]
    lines = [re.sub(r"\s+", "", line) for block in code for line in block.splitlines()]
    return [line for line in lines if len(line) >= 30]


def test_nothing_is_broken_nothing_comes_from_outside_every_figure_is_told(built, without):
    for folder in (built, without):
        report = audit(folder)
        assert not report.troubles and report.pages > 12 and report.pictures >= 4
        assert not list(folder.rglob("*.ipynb")) and not (folder / "_sources").exists()


def test_a_unit_is_a_page(built):
    text = (built / "units" / "06_ddp.html").read_text()
    assert "Show a solution" in text and "<math" in text and 'id="exercise-uneven-loss"' in text
    assert "programs/train_ddp.html" in text
    assert "prev-next" in text and "theme-switch" in text and "search-button" in text
    assert text.count('class="term') > 10 and "glossary.html#term-bucket" in text
    once = re.findall(r"glossary\.html#(term-[\w-]+)", text)
    assert len(set(once)) == len(once)


def test_a_unit_has_its_part_and_its_neighbours_and_the_first_page_has_parts(built):
    unit, front = (built / "units" / "06_ddp.html").read_text(), (built / "index.html").read_text()
    assert 'href="../index.html#part-1-data-parallelism">Part 1 of 1: Data parallelism</a>' in unit
    assert 'href="../homework/scaling_mnist_handout.html"' in unit.partition("</nav>")[0] + unit.partition("<nav")[2]
    assert 'id="part-1-data-parallelism"' in front and 'id="homework"' in front and "Begin here" in front


def test_solutions_are_folded_or_left_out(built, without):
    released = re.sub(r"\s+", "", (ROOT / "notebooks" / "06_ddp" / "ddp.ipynb").read_text())
    own = [line for line in solution_lines("06_ddp") if line not in released]
    there, not_there = (words(folder / "units" / "06_ddp.html") for folder in (built, without))
    assert len(own) > 10 and all(line in there for line in own)
    assert not [line for line in own if line in not_there]
    assert "raiseNotImplementedError" in not_there and "raiseNotImplementedError" in there
    assert "1point:" in there and "1point:" not in not_there  # what an answer to the written question should say


def test_without_solutions_a_homework_shows_nothing_of_the_finished_one(built, without):
    for folder, shown in ((built, True), (without, False)):
        text = (folder / "homework" / "scaling_mnist.html").read_text()
        assert ("cell_output" in text) is shown
        assert ("Show a solution" in text) is shown


def test_a_folder_that_is_no_site_is_kept(tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(FileExistsError, match="something else than a site"):
        cli.build(tmp_path, only=SOME)


# ------------------------------------------------------------------------------------------- the whole site, in a browser


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Where the whole site is served, on this machine alone."""
    to = tmp_path_factory.mktemp("whole") / "site"
    assert cli.main(["--to", str(to)]) == 0
    with served(to) as address:
        yield address


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@needs("browser")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_pages_stay_within_the_screen_and_ask_nobody_else(address, browser, theme, width):
    context = browser.new_context(viewport={"width": width, "height": 844}, color_scheme=theme)
    page, asked, failed = context.new_page(), [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("response", lambda got: failed.append((got.url, got.status)) if got.status >= 400 else None)
    page.on("requestfailed", lambda request: failed.append((request.url, request.failure)))
    for name in ("index", "units/03_collectives", "units/08_scaling", "mistakes/hangs", "claims", "glossary"):
        page.goto(f"{address}/{name}.html", wait_until="networkidle")
        assert page.evaluate("document.documentElement.dataset.theme") == theme
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        assert not page.evaluate(UNREACHED), name
    # The browser asks for the icon when it likes; going to the next page may end that.
    assert not [(url, why) for url, why in failed if why != "net::ERR_ABORTED" or "favicon" not in url]
    assert all(url.startswith((address, "data:")) for url in asked)
    context.close()


@needs("browser")
@pytest.mark.timeout(300)
def test_the_first_page_shows_parts_paths_a_card_and_a_hang(address, browser):
    page = browser.new_page()
    page.goto(f"{address}/index.html")
    headings = page.eval_on_selector_all("h2, h3", "all => all.map(one => one.firstChild.textContent)")
    course = content.course(ROOT)
    assert [f"Part {k}: {part.title}" for k, part in enumerate(course.parts, 1)] == [
        h for h in headings if "Part " in h
    ]
    assert {route.title for route in course.routes} <= set(headings)
    samples = page.eval_on_selector_all(".sample", "all => all.map(one => one.innerText)")
    assert len(samples) == 2 and "1 of 2 points" in samples[0] and "did not come to an end" in samples[1]
    page.goto(f"{address}/units/08_scaling.html")
    around = page.eval_on_selector_all("nav.place a", "all => all.map(one => one.innerText)")
    assert around == ["Part 3 of 5: Is it worth it?", "← 07 · Horovod", "09 · Multi-node image lab →"]
    foot = page.eval_on_selector_all(
        ".left-prev .prev-next-title, .right-next .prev-next-title", "all => all.map(one => one.innerText)"
    )
    assert foot == ["07 · Horovod", "09 · Multi-node image lab"]
    page.close()


@needs("browser")
@pytest.mark.timeout(300)
def test_no_code_of_a_unit_scrolls_sideways_at_1280_pixels(address, browser):
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    for unit in units(ROOT):
        page.goto(f"{address}/units/{unit}.html", wait_until="load")
        wide = page.evaluate(
            """() => { document.querySelectorAll("details").forEach((one) => { one.open = true; });
            return [...document.querySelectorAll(".cell_input pre")].filter((e) => e.scrollWidth > e.clientWidth + 1)
            .map((e) => e.innerText); }"""
        )
        assert not wide, unit
    page.close()


@needs("browser")
@pytest.mark.timeout(300)
def test_the_search_finds_a_word(address, browser):
    page = browser.new_page()
    page.goto(f"{address}/search.html?q=straggler")
    page.wait_for_selector("#search-results li a", timeout=30_000)
    links = page.eval_on_selector_all("#search-results li a", "all => all.map(one => one.getAttribute('href'))")
    assert any("units/19_faults.html" in link for link in links)
    page.close()
