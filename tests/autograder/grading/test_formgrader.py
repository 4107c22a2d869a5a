"""An instructor's afternoon in a browser: autograde by the button, the card in the formgrader, feedback, validation,
and the export."""

from __future__ import annotations

import contextlib
import csv
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import nbformat
import psutil
import pytest
from machine import CHROMIUM, needs
from released_course import CHECK, OWN_EXERCISE, OWN_UNIT, SOLUTION, course_release
from served import lab_address

UNIT = "77_own_unit"
START_S = 60
BUTTON_S = 120  # from a click to what it does: the first one imports the frameworks
SCRIPT = "<img src='x' onerror='window.hacked = true'><script>window.hacked = true</script>"
WRITTEN = '{"grade": true, "grade_id": "why", "locked": false, "points": 3, "schema_version": 3, "solution": true, "task": false}'
SOURCE = f"""{OWN_UNIT}
# %% [markdown] nbgrader={WRITTEN}
# ### BEGIN SOLUTION
# - 3 points: the rubric of this question
# ### END SOLUTION
"""

pytestmark = needs("browser")


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    """The root of a class of two: ada is right, ernst is wrong and left a script in his notebook."""
    assert SOLUTION in SOURCE and CHECK in SOURCE
    root = tmp_path_factory.mktemp("class") / "dl"
    unit = root / "overlay" / "solutions" / UNIT
    unit.mkdir(parents=True)
    (unit / "own_unit.py").write_text(SOURCE)
    (root / "overlay" / "exercises").mkdir()
    (root / "overlay" / "exercises" / f"unit_{UNIT}.py").write_text(OWN_EXERCISE)
    made = course_release(root, "--units", UNIT)
    assert made.returncode == 0, made.stderr
    hand_in(root, "ada", "def halve(x):\n    return x / 2\n", "Because.")
    hand_in(root, "ernst", "def halve(x):\n    return x // 2 + 1\n", f"Because. {SCRIPT}")
    return root


def hand_in(root: Path, student: str, answer: str, written: str) -> None:
    notebook = nbformat.read(root / "release" / UNIT / "own_unit.ipynb", as_version=4)
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "solve_halve":
            cell.source = answer
            html = {"text/html": SCRIPT, "text/plain": "what he printed"}
            cell.outputs = [nbformat.v4.new_output("display_data", html)]
        elif cell.metadata.get("nbgrader", {}).get("grade_id") == "why":
            cell.source = written
    folder = root / "submitted" / student / UNIT
    folder.mkdir(parents=True)
    nbformat.write(notebook, folder / "own_unit.ipynb")
    (folder / "plot.html").write_text("<script>document.title = 'ran'</script><p>a plot</p>")


@pytest.fixture(scope="module")
def server(root) -> str:
    """The address, with its token, of a JupyterLab in the root of the class."""
    log = root.parent / "server.txt"
    options = [
        "--no-browser",
        "--ServerApp.port=0",
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.root_dir={root}",
        "--allow-root",
    ]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *options],
            cwd=root,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield lab_address(process, log, START_S)
    finally:
        children = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for child in children:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
        psutil.wait_procs(children, timeout=10)


@pytest.fixture(scope="module")
def page(server, tmp_path_factory):
    """A browser's page, signed in."""
    from playwright.sync_api import sync_playwright

    quiet = [
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
    ]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch_persistent_context(
            str(tmp_path_factory.mktemp("profile")),
            executable_path=CHROMIUM,
            headless=True,
            args=[*quiet, "--disable-sync", "--disable-dev-shm-usage", "--no-sandbox"],
            viewport={"width": 1280, "height": 1000},
        )
        try:
            page = browser.new_page()
            page.set_default_timeout(60_000)
            page.goto(f"{server[0]}/formgrader/?token={server[1]}")
            yield page
        finally:
            browser.close()


def shoot(page, name: str) -> None:
    """Keeps a screenshot where somebody wants to look at it."""
    if os.environ.get("COURSE_SCREENSHOTS"):
        page.screenshot(path=Path(os.environ["COURSE_SCREENSHOTS"]) / f"{name}.png")


def row_of(page, student: str):
    return page.locator("tr", has=page.get_by_text(student, exact=True)).first


@pytest.mark.timeout(420)
def test_an_afternoon_in_the_formgrader(page, server, root):
    address, _ = server

    # Autograde, by the button in the row of each student.
    page.goto(f"{address}/formgrader/manage_submissions/{UNIT}")
    for student in ("ada", "ernst"):
        row_of(page, student).locator("td.autograde a").click()
        message = page.locator(".modal-dialog .modal-body")
        message.wait_for(state="visible", timeout=BUTTON_S * 1000)
        assert "Successfully autograded" in message.inner_text(), message.inner_text()
        page.locator(".modal-dialog button", has_text=re.compile("close|ok|×", re.I)).last.click()
        message.wait_for(state="hidden")
        page.locator(".modal-backdrop").wait_for(state="detached")
    shoot(page, "manage_submissions")
    scores = {student: row_of(page, student).locator("td.score").inner_text() for student in ("ada", "ernst")}
    assert scores == {"ada": "2 / 5", "ernst": "0 / 5"}, scores

    # What the instructor sees of ernst: the card, and no script that runs.
    page.goto(f"{address}/formgrader/gradebook/{UNIT}/own_unit")
    submissions = page.locator("#main-table a.name-hidden")
    submissions.nth(1).wait_for()
    shoot(page, "gradebook")
    links = [link.get_attribute("href") for link in submissions.all()]
    assert len(links) == 2
    shown = []
    for link in links:
        page.goto(address + link if link.startswith("/") else link)
        page.get_by_text("of 2 points").first.wait_for()
        shown.append(page.locator("body").inner_text())
        assert page.evaluate("window.hacked") is None, "a student's script ran in the instructor's browser"
        shoot(page, f"submission_{len(shown)}")
    assert sorted("2 of 2 points" in text for text in shown) == [False, True]
    assert not any("the rubric of this question" in text for text in shown)

    # A person grades the written answer, where nbgrader's form is.
    score = page.locator("input.score").last
    with page.expect_response(lambda answer: "/api/grade/" in answer.url and answer.request.method == "PUT"):
        score.fill("3")
        score.blur()

    # A page that a student has handed in is shown, and runs nothing.
    page.goto(f"{address}{links[0].partition('?')[0].rstrip('/')}/plot.html")
    assert page.locator("p").inner_text() == "a plot" and page.title() != "ran"

    # Feedback, by the button.
    page.goto(f"{address}/formgrader/manage_submissions/{UNIT}")
    row_of(page, "ada").locator("td.generate-feedback a").click()
    page.locator(".modal-dialog .modal-body").wait_for(state="visible", timeout=BUTTON_S * 1000)
    feedback = root / "feedback" / "ada" / UNIT / "own_unit.html"
    assert "2 of 2 points" in feedback.read_text() and "the rubric of this question" not in feedback.read_text()


@pytest.mark.timeout(180)
def test_validate_says_what_a_check_says(page, server):
    address, token = server
    page.goto(f"{address}/lab/tree/submitted/ernst/{UNIT}/own_unit.ipynb?token={token}")
    button = page.get_by_role("button", name="Validate", exact=False).first
    button.wait_for(state="visible")
    button.click()
    dialog = page.locator(".jp-Dialog-content", has_text=re.compile("halve|failed|pass", re.I))
    dialog.wait_for(state="visible", timeout=BUTTON_S * 1000)
    shoot(page, "validate")
    assert "halve" in dialog.inner_text() and "Traceback" not in dialog.inner_text()


@pytest.mark.timeout(120)
def test_the_gradebook_is_exported_after_that(page, root, tmp_path):
    command = [Path(sys.executable).parent / "nbgrader", "export", "--to", tmp_path / "grades.csv"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    rows = {row["student_id"]: float(row["score"]) for row in csv.DictReader((tmp_path / "grades.csv").open())}
    assert rows.keys() == {"ada", "ernst"}
    # 2 points for ada's code, and 3 for the written answer of whoever the formgrader showed last
    assert sorted(rows.values()) in ([0, 5], [2, 3]), rows
