"""The first run says that it compiles; later ones say nothing."""

from __future__ import annotations

import io
import sys
import time

import pytest

from engine.cli import compilation, main
from engine.cli.compilation import shown_compilation
from engine.kernels import warm_up


class Stream(io.StringIO):
    """A text that may say that it is a terminal."""

    def __init__(self, is_terminal):
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self):
        return self._is_terminal


def said(monkeypatch, is_terminal, action):
    stream = Stream(is_terminal)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(compilation, "_LOOK", 0.01)
    monkeypatch.setattr(compilation, "_LONG", 0.05)
    with shown_compilation():
        action()
    return stream.getvalue()


def compiles(monkeypatch, seconds):
    """Let the kernels need some time; give what waits for them."""
    monkeypatch.setattr(warm_up, "_compile", pretended(seconds))
    return warm_up.warm_up


def pretended(seconds):
    def compile_part(part):
        if part is warm_up.Part.SEARCH:
            time.sleep(seconds)
        return seconds

    compile_part.cache_info = lambda: type("Info", (), {"misses": 0})
    return compile_part


def test_on_a_terminal_the_seconds_are_told_and_the_line_is_cleared(monkeypatch):
    text = said(monkeypatch, True, compiles(monkeypatch, 0.4))
    assert "compiling the kernels, once for all runs (airflow-anon warm-up does it ahead): 0 s" in text
    assert text.endswith("\r\x1b[K")


def test_elsewhere_nothing_is_told(monkeypatch):
    assert said(monkeypatch, False, compiles(monkeypatch, 0.2)) == ""


@pytest.mark.parametrize("is_terminal", [True, False])
def test_kernels_that_are_there_need_no_word(monkeypatch, is_terminal):
    assert said(monkeypatch, is_terminal, compiles(monkeypatch, 0)) == ""
    assert warm_up.compiling_seconds() == 0.0


def test_the_command_says_when_they_are_ready(monkeypatch, capsys):
    monkeypatch.setattr(warm_up, "warm_up_in_processes", lambda: 0.04)
    assert main(["warm-up"]) == 0
    assert capsys.readouterr().out.startswith("kernels are ready after 0.0 seconds")
