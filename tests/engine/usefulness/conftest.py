"""One seed for draws, folds and models, so that two runs can be compared."""

from __future__ import annotations

import pytest

from engine.usefulness import measure

SEED = 0


@pytest.fixture(autouse=True)
def _known_seed(monkeypatch):
    monkeypatch.setattr(measure, "new_seed", lambda: SEED)
