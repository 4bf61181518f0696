"""What a person sees of a page, at the width of a phone and of a desk, light and dark."""

from __future__ import annotations

import io
import re
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page

from tests.browser.conftest import NARROW
from tests.support.samples import samples

AXE = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")
PAPER = 794
"""Pixels of the width of A4."""

ENOUGH = 4.5
"""Contrast that WCAG 2.2 asks of text, level AA."""

OUTSIDE = """() => {
    const inside = (box, frame) =>
        box.left >= frame.left - 1 && box.right <= frame.right + 1
        && box.top >= frame.top - 1 && box.bottom <= frame.bottom + 1;
    const screen = {left: 0, right: innerWidth, top: -Infinity, bottom: Infinity};
    const found = [];
    for (const one of document.querySelectorAll("body *")) {
        if (one.closest(".scroll") && !one.matches(".scroll")) continue;
        const frame = one.matches("svg text")
            ? one.closest("svg").getBoundingClientRect() : screen;
        const box = one.getBoundingClientRect();
        if (box.width && !one.closest("defs") && !inside(box, frame))
            found.push([one.tagName, one.textContent.slice(0, 40), box.left, box.right]);
    }
    return found;
}"""

COLORS = """() => [...document.querySelectorAll("svg text")].map(text => [
    getComputedStyle(text).fill,
    getComputedStyle(text.closest("figure")).backgroundColor,
])"""


@pytest.fixture(params=sorted(samples()))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def shown(tab: Page, pages: dict[str, Path], name: str) -> Page:
    """Open a page; what it says, asks for or runs is gathered in `tab.seen`."""
    seen: list[str] = []
    tab.on("console", lambda message: seen.append(f"console: {message.text}"))
    tab.on("pageerror", lambda error: seen.append(f"error: {error}"))
    tab.on("dialog", lambda dialog: seen.append(f"dialog: {dialog.message}"))
    tab.on("request", lambda request: seen.append(request.url))
    tab.goto(pages[name].as_uri())

    assert seen == [pages[name].as_uri()]
    return tab


def open_tables(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")


def luminance(color: str) -> float:
    """Give the relative luminance of a colour, as WCAG defines it."""
    parts = [int(part) / 255 for part in re.findall(r"\d+", color)[:3]]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted([luminance(one), luminance(other)])
    return (lighter + 0.05) / (darker + 0.05)


def test_nothing_is_fetched_or_run_and_nothing_runs_out_of_its_frame(
    shown: Page, width: int, name: str
) -> None:
    open_tables(shown)

    assert shown.evaluate("document.documentElement.scrollWidth") == width
    assert shown.evaluate(OUTSIDE) == []
    assert shown.title() == f"{samples()[name].verdict}: detloader {samples()[name].command}"


def test_nobody_is_shut_out(shown: Page) -> None:
    open_tables(shown)
    # Above a gradient no contrast is judged; this one lies at the edge of a table that goes on.
    shown.evaluate(
        "document.querySelectorAll('.scroll').forEach(one => one.style.background = 'none')"
    )
    shown.evaluate(AXE)
    found: dict[str, Any] = shown.evaluate("axe.run()")
    violations = [(one["id"], one["nodes"][0]["html"]) for one in found["violations"]]

    assert violations == []


@pytest.mark.parametrize("name", ["changed", "several"], indirect=True)
def test_pictures_are_there_and_their_words_can_be_read(shown: Page) -> None:
    sizes = shown.evaluate(
        "[...document.querySelectorAll('figure svg')].map(one => {"
        " const box = one.getBoundingClientRect(); return [box.width, box.height]; })"
    )
    colors = shown.evaluate(COLORS)

    assert len(sizes) == 6
    assert min(size for pair in sizes for size in pair) > 50
    assert colors
    assert min(contrast(*pair) for pair in colors) >= ENOUGH


@pytest.mark.parametrize("name", ["changed"], indirect=True)
def test_words_of_pictures_are_large_enough(shown: Page) -> None:
    heights = shown.evaluate(
        "[...document.querySelectorAll('svg text')].map(one => {"
        " const turned = one.getAttribute('transform') || '';"
        " const box = one.getBoundingClientRect();"
        " return turned.includes('rotate(-90') ? box.width : box.height; })"
    )

    assert min(heights) >= 9


@pytest.mark.parametrize("name", ["several"], indirect=True)
def test_a_page_can_be_printed(shown: Page) -> None:
    shown.emulate_media(media="print", color_scheme="dark")
    ground = shown.evaluate("getComputedStyle(document.body).backgroundColor")

    assert ground == "rgb(255, 255, 255)"
    assert shown.pdf(format="A4").startswith(b"%PDF")


@pytest.mark.parametrize("scheme", ["light"], indirect=True)
@pytest.mark.parametrize("width", [NARROW], indirect=True)
def test_no_table_is_wider_than_the_paper(shown: Page) -> None:
    open_tables(shown)
    shown.set_viewport_size({"width": PAPER, "height": 1123})
    shown.emulate_media(media="print")
    widths = shown.evaluate(
        "[...document.querySelectorAll('table')].filter(one => one.checkVisibility())"
        ".map(one => [one.offsetWidth, one.closest('.scroll').clientWidth])"
    )

    assert shown.evaluate("document.documentElement.scrollWidth") <= PAPER
    assert [pair for pair in widths if pair[0] > pair[1]] == []


@pytest.mark.parametrize("name", ["several"], indirect=True)
@pytest.mark.parametrize("width", [NARROW], indirect=True)
def test_a_table_that_goes_on_at_a_side_shows_it_there(shown: Page) -> None:
    box = shown.locator(".scroll").first
    shadowed = edges(box.screenshot())
    box.evaluate("one => { one.scrollLeft = one.scrollWidth; }")
    scrolled = edges(box.screenshot())

    assert box.evaluate("one => one.scrollWidth > one.clientWidth")
    ground, shadow = shadowed
    assert abs(ground - shadow) > 20
    assert abs(scrolled[1] - ground) < 5
    assert abs(scrolled[0] - ground) > 20


def edges(picture: bytes) -> tuple[float, float]:
    """Give how bright the left and the right edge are, between the words."""
    with Image.open(io.BytesIO(picture)) as opened:
        pixels = np.asarray(opened.convert("L"))
    return float(np.median(pixels[:, 0])), float(np.median(pixels[:, -1]))
