"""The browser that some tests work in, and that plotly draws with."""

from __future__ import annotations

import shutil

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
NONE = "no Chromium on this machine (Debian: apt install chromium)"
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason=NONE)
