"""Pages of reports, opened in Chromium. Needs Debian's `chromium`, and no network."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from detloader.reports import render
from tests.support.samples import samples

NARROW, WIDE = 360, 1280


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start the system's browser; a missing one is an error, not a skip."""
    found = shutil.which("chromium")
    assert found, "apt-get install chromium"
    with sync_playwright() as playwright:
        # A container has neither a user name space nor much shared memory.
        flags = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=found, args=flags)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Write the page of every sample."""
    folder = tmp_path_factory.mktemp("pages")
    for name, result in samples().items():
        (folder / f"{name}.html").write_text(render("html", result), encoding="utf-8")
    return {name: folder / f"{name}.html" for name in samples()}


@pytest.fixture(params=["light", "dark"])
def scheme(request: pytest.FixtureRequest) -> Literal["light", "dark"]:
    return "dark" if request.param == "dark" else "light"


@pytest.fixture(params=[NARROW, WIDE])
def width(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def tab(browser: Browser, scheme: Literal["light", "dark"], width: int) -> Iterator[Page]:
    """Open an empty tab of a width and a colour scheme."""
    size = ViewportSize(width=width, height=800)
    with browser.new_context(viewport=size, color_scheme=scheme) as context:
        yield context.new_page()
