"""A folder as a web server hands it out, and a browser that looks at it."""

from __future__ import annotations

import contextlib
import functools
import threading
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
