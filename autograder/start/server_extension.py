"""The start page in a Jupyter server: two addresses, /course/start and /course/doctor.

tools/start_page/ lets a student's server load this, a Lab's and a hub's, and has the part that runs in the browser.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from pathlib import Path

from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.utils import url_path_join
from tornado import web

from autograder.start.page import doctor_page, start_page

DOCTOR_LIMIT_S = 120  # it takes two seconds; on a machine where MPI hangs, a minute


def _jupyter_server_extension_points() -> list[dict]:
    return [{"module": "autograder.start.server_extension"}]


def _load_jupyter_server_extension(server) -> None:
    base = server.web_app.settings["base_url"]
    server.web_app.add_handlers(
        ".*$",
        [
            (url_path_join(base, "course", "start"), StartPage),
            (url_path_join(base, "course", "doctor"), DoctorPage),
        ],
    )


class _Page(JupyterHandler):
    """A piece of HTML that is never kept by a browser."""

    def answer(self, text: str) -> None:
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.set_header("Cache-Control", "no-store")
        self.finish(text)


class StartPage(_Page):
    """The page for the folder that this server shows."""

    @web.authenticated
    def get(self) -> None:
        self.answer(start_page(Path(self.contents_manager.root_dir), self.base_url))


class DoctorPage(_Page):
    """Shows what the doctor reports of this machine; it is asked once, and again with ?again=1."""

    _said: asyncio.Task | None = None

    @web.authenticated
    async def get(self) -> None:
        if DoctorPage._said is None or self.get_argument("again", ""):
            DoctorPage._said = asyncio.ensure_future(ask_the_doctor())
        said = await asyncio.shield(DoctorPage._said)
        if said is None:
            DoctorPage._said = None
        self.answer("" if said is None else doctor_page(said))


async def ask_the_doctor() -> list[dict] | None:
    """Runs `labkit doctor --json` in a process of its own and returns its checks; None if it fails or takes too
    long."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "labkit.cli", "doctor", "--json"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), DOCTOR_LIMIT_S)
        return json.loads(output)
    except (TimeoutError, ValueError):
        return None
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
