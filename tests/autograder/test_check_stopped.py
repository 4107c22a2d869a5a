"""The stop button during a check: one line instead of a traceback."""

from __future__ import annotations

import importlib

import pytest

module = importlib.import_module("autograder.check")  # the package shows the function of that name


def test_a_stopped_check_says_so_in_one_line(monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(module.launcher, "shared", lambda frameworks: None)
    monkeypatch.setattr(module, "judge", stopped)
    with pytest.raises(module.CheckStopped) as raised:
        module.check("fair_share")
    (line,) = raised.value._render_traceback_()
    assert line == "You stopped this check before it came to an end: nothing is known about fair_share."
    assert raised.value.__suppress_context__
