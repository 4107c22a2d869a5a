"""`make lab`, as a student meets it: JupyterLab serves, with its extensions, and a browser shows
the start page, which leads to the notebooks.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import psutil
import pytest
from machine import CHROMIUM, needs
from served import lab_address

from labkit.jupyter.server_extension import end_tasks

ROOT = Path(__file__).resolve().parents[2]
# Where something hangs; on a quiet machine a second start takes less than 15 s, and an end one, or up to five more
# where a kernel does not listen.
DEADLINE_S, END_DEADLINE_S = 120, 60


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    with running_lab(tmp_path_factory.mktemp("lab")) as lab:
        yield lab


@contextlib.contextmanager
def running_lab(folder: Path):
    """{"url", "token", "work", "log", "server"} of a Lab started by the command behind `make lab`, on a free
    port. At the end it is told to stop; it must end by itself, or AssertionError is raised.
    """
    work, log = folder / "work", folder / "output.txt"
    command = [
        sys.executable,
        ROOT / "tools" / "bootstrap.py",
        "lab",
        "--work",
        work,
        "--no-browser",
        "--ServerApp.port=0",
    ]
    with log.open("wb") as output:
        server = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
    children = []
    try:
        url, token = lab_address(server, log, DEADLINE_S)
        lab = {"url": url, "token": token, "work": work, "log": log, "server": server}
        open_url(lab, "/lab").close()
        yield lab
        _wait_for_kernels(lab)
        children = psutil.Process(server.pid).children(recursive=True)
        server.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(timeout=END_DEADLINE_S)
        said = log.read_text()
        assert server.returncode == 0, f"{END_DEADLINE_S} s after SIGTERM: {server.returncode}\n{said}"
        assert said.rstrip().endswith("received signal 15, stopping"), said
    finally:
        if server.poll() is None:
            children = psutil.Process(server.pid).children(recursive=True)
            server.kill()
            server.wait()
        for process in children:
            if process.is_running():
                process.kill()


def _wait_for_kernels(lab: dict) -> None:
    """Until no kernel is starting: one that is told to stop meanwhile says so in Lab's output."""
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end:
        with open_url(lab, "/api/kernels") as answer:
            if all(kernel["execution_state"] != "starting" for kernel in json.load(answer)):
                return
        time.sleep(0.1)


def open_url(lab: dict, path: str):
    request = urllib.request.Request(lab["url"] + path, headers={"Authorization": f"token {lab['token']}"})
    return urllib.request.urlopen(request, timeout=60)


def test_lab_serves_and_prints_its_address(lab):
    output = lab["log"].read_text()
    assert len(output.splitlines()) < 30, output


def test_lab_has_its_extensions(lab):
    with open_url(lab, "/lab") as answer:
        page = answer.read().decode()
    settings = json.loads(re.search(r'<script id="jupyter-config-data"[^>]*>(.*?)</script>', page, flags=re.DOTALL)[1])
    assert {"@jupyter/nbgrader", "jupyterlab-jupytext", "course-start"} <= {
        extension["name"] for extension in settings["federated_extensions"]
    }
    disabled = set(settings["disabledExtensions"])
    assert {"@jupyter/nbgrader:create-assignment", "@jupyter/nbgrader:formgrader"} <= disabled, (
        "these are for instructors"
    )
    assert not {"@jupyter/nbgrader", "@jupyter/nbgrader:validate-assignment", "jupyterlab-jupytext"} & disabled


def test_lab_shows_the_students_folder(lab):
    with open_url(lab, "/api/contents") as answer:
        shown = {entry["name"] for entry in json.load(answer)["content"]}
    course = {folder.name for folder in (ROOT / "notebooks").iterdir() if folder.is_dir()}
    assert course and course <= shown


def test_the_server_has_the_start_page_for_those_who_may_see_it(lab):
    with open_url(lab, "/course/start") as answer:
        page = answer.read().decode()
        assert answer.headers["Cache-Control"] == "no-store"
    for folder in (ROOT / "notebooks").glob("[0-9]*"):
        assert f'href="/lab/tree/{folder.name}/' in page
    with open_url(lab, "/course/doctor") as answer:
        assert "machine" in answer.read().decode()
    with open_url({**lab, "token": "nobody's"}, "/course/start") as answer:  # the login page
        assert "/login" in answer.url and "course-start" not in answer.read().decode()


def test_a_kernel_finds_the_course_and_mpi(lab):
    """A kernel inherits Lab's environment: labkit is there, and MPI starts in a process that no launcher started."""
    from jupyter_client.blocking import BlockingKernelClient

    request = urllib.request.Request(
        lab["url"] + "/api/kernels", data=b"{}", method="POST", headers={"Authorization": f"token {lab['token']}"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        kernel = json.load(answer)["id"]
    connection = Path(os.environ["JUPYTER_RUNTIME_DIR"]) / f"kernel-{kernel}.json"
    client = BlockingKernelClient(connection_file=str(connection))
    client.load_connection_file()
    client.start_channels()
    try:
        client.kernel_info(reply=True, timeout=120)  # `wait_for_ready` takes a busy machine's kernel for dead
        printed = []
        code = "import labkit, os; from mpi4py import MPI; print(MPI.COMM_WORLD.size, os.environ['OMP_NUM_THREADS'])\n"
        code += "MPI.Finalize()"  # which removes MPI's folder: a kernel that takes long to end is killed
        client.execute_interactive(code, timeout=120, output_hook=lambda message: printed.append(message["content"]))
        assert {"name": "stdout", "text": "1 1\n"} in printed, printed
    finally:
        client.stop_channels()
        request = urllib.request.Request(
            f"{lab['url']}/api/kernels/{kernel}", method="DELETE", headers={"Authorization": f"token {lab['token']}"}
        )
        urllib.request.urlopen(request, timeout=60).close()


def test_a_lab_that_is_told_to_stop_while_it_answers_ends(tmp_path):
    """What a browser asks for when it opens a notebook: the formats it can be saved as. A thread imports them, for half
    a second.
    """
    with running_lab(tmp_path) as lab:
        server = psutil.Process(lab["server"].pid)
        before = {thread.id for thread in server.threads()}

        def ask():
            with contextlib.suppress(OSError), open_url(lab, "/api/nbconvert"):
                pass

        threading.Thread(target=ask, daemon=True).start()
        until = time.monotonic() + 20
        while not {thread.id for thread in server.threads()} - before:
            assert time.monotonic() < until
            time.sleep(0.001)


def test_the_tasks_of_a_stopped_loop_end():
    """One that waits, one that was hit by Ctrl-C and whose result is asked for, one that does not let itself be
    cancelled.
    """
    ended, held = [], [True]

    async def wait():
        try:
            await asyncio.sleep(1000)
        finally:
            await asyncio.sleep(0.05)
            ended.append("wait")

    async def interrupted():
        raise KeyboardInterrupt

    async def stubborn():
        while held:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(1000)

    with contextlib.closing(asyncio.new_event_loop()) as loop:
        waiting, hit = loop.create_task(wait()), loop.create_task(interrupted())
        hit.add_done_callback(lambda task: task.result())
        with pytest.raises(KeyboardInterrupt):
            loop.run_forever()
        end_tasks(loop)
        assert waiting.cancelled() and ended == ["wait"] and not asyncio.all_tasks(loop)

        left = loop.create_task(stubborn())
        loop.run_until_complete(asyncio.sleep(0))
        start = time.monotonic()
        end_tasks(loop, limit=0.1)
        assert not left.done() and 0.1 <= time.monotonic() - start < 5
        held.clear()
        end_tasks(loop)
        assert left.done()


@needs("browser")
def test_a_browser_shows_the_start_page_its_exercise_and_a_notebook_whose_code_is_not_cut(lab, tmp_path):
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
            str(tmp_path / "profile"),
            executable_path=CHROMIUM,
            headless=True,
            args=[*quiet, "--disable-sync", "--disable-dev-shm-usage", "--no-sandbox"],
            viewport={"width": 1280, "height": 800},
        )
        try:
            page = browser.new_page()
            page.goto(f"{lab['url']}/lab?token={lab['token']}", timeout=60_000)
            page.locator(".course-start h1").wait_for(state="visible", timeout=60_000)
            page.locator(".course-doctor .box").wait_for(state="visible", timeout=60_000)
            page.locator(".jp-DirListing-item", has_text="00_start_here").wait_for(timeout=60_000)
            assert not page.locator(".jp-LauncherCard").count()
            shot = page.screenshot(path=os.environ.get("COURSE_SCREENSHOT", str(tmp_path / "lab.png")))
            assert shot.startswith(b"\x89PNG") and len(shot) > 10_000

            page.locator("[data-unit='01_mpi_pi'] summary").click(position={"x": 3, "y": 8})
            page.locator("[data-unit='01_mpi_pi'] a[data-cell='fair_share']").click()
            cell = page.locator(".jp-CodeCell.jp-mod-active", has_text="def fair_share")
            cell.wait_for(state="visible", timeout=60_000)

            page.goto(f"{lab['url']}/lab/tree/09_multi_node_image_lab/multi_node_image_lab.ipynb", timeout=60_000)
            # Lab opens the other notebook's tab again, too, and a cell of that one is first and hidden
            page.locator(".lm-TabBar-tab.lm-mod-current", has_text="multi_node_image_lab.ipynb").wait_for(
                timeout=60_000
            )
            editor = page.locator(".jp-CodeCell .cm-content:visible").first
            editor.wait_for(state="visible", timeout=60_000)
            page.wait_for_function(
                "[...document.querySelectorAll('.jp-CodeCell .cm-scroller')].every(e => e.scrollWidth <= "
                "e.clientWidth)",
                timeout=20_000,
            )
            assert "cm-lineWrapping" in editor.get_attribute("class")
        finally:
            browser.close()
