"""A folder as a web server hands it out, a Lab that has just been started, and a browser that looks at them."""

from __future__ import annotations

import contextlib
import functools
import re
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from machine import CHROMIUM


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *message):
        pass


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address at which the folder is served, on this machine alone, until the end of the block."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join(timeout=10)
        server.server_close()


def lab_address(process: subprocess.Popen, log: Path, deadline_s: float) -> tuple[str, str]:
    """(the address, the token) of a JupyterLab whose output goes to `log`, as soon as it answers; AssertionError with
    that output where it ends, or where nothing answers before the deadline. Jupyter prints its address before it
    listens there.
    """
    until = time.monotonic() + deadline_s
    while True:
        found = re.search(r"http://(?:localhost|127\.0\.0\.1):(\d+)/lab\?token=(\w+)", log.read_text())
        with contextlib.suppress(ConnectionRefusedError):
            if found:
                socket.create_connection(("127.0.0.1", int(found[1])), timeout=deadline_s).close()
                return f"http://127.0.0.1:{found[1]}", found[2]
        assert process.poll() is None and time.monotonic() < until, log.read_text()
        time.sleep(0.1)


@contextlib.contextmanager
def chromium() -> Iterator:
    """A headless Chromium of Playwright."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        try:
            yield browser
        finally:
            browser.close()
