from __future__ import annotations

import pytest

from detloader import at_work


@pytest.fixture
def no_other_recorder() -> None:
    """Seal what earlier tests left at work in this process, as its end would."""
    at_work._close_all()
