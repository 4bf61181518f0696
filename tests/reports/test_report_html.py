from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detloader.findings import Picture, Result, Verdict
from detloader.reports import render
from tests.support.samples import (
    HOSTILE,
    all_pictures,
    hostile,
    rendered_sample,
    result_of,
    samples,
)

MOST_BYTES = 2_000_000
LIVE = {"script", "iframe", "object", "embed", "link", "img", "image", "form", "base", "video"}


class Page(HTMLParser):
    """Takes a page apart."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def ids(self) -> list[str]:
        return [value for name, value in self.attributes if name == "id"]


def assert_harmless(text: str) -> None:
    page = Page(text)

    assert not LIVE & {*page.tags}
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    links = [v for name, v in page.attributes if name in {"href", "src", "xlink:href"}]
    assert all(link.startswith("#") for link in links)
    assert len(page.ids) == len({*page.ids})
    assert page.tags.count("style") == 1


def test_the_page_needs_nothing_and_runs_nothing() -> None:
    for name in samples():
        assert_harmless(rendered_sample(name, "html"))


def test_the_policy_allows_nothing_but_styles() -> None:
    (policy,) = re.findall(
        r'http-equiv="Content-Security-Policy" content="([^"]*)"',
        rendered_sample("changed", "html"),
    )

    assert policy == (
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    )


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_text_runs_nothing(text: str) -> None:
    shown = render("html", hostile(text))

    assert_harmless(shown)
    assert len(shown) < 100_000


@given(text=st.text(alphabet="<>\"'&/= scriptonload{}%#\x00\u202e"))
@settings(max_examples=50)
def test_any_text_runs_nothing(text: str) -> None:
    assert_harmless(render("html", hostile(text)))


def test_equal_results_give_equal_bytes_in_any_process(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    file.write_text(render("json", samples()["several"]), encoding="utf-8")
    program = (
        "import sys; from pathlib import Path; from detloader.reports import render\n"
        "from detloader.audits.acceptance import read_result\n"
        "sys.stdout.buffer.write(render('html', read_result(Path(sys.argv[1]))).encode())"
    )
    pages = {
        subprocess.run(
            [sys.executable, "-c", program, file],
            check=True,
            capture_output=True,
            env={"PYTHONHASHSEED": seed, "PATH": "", "HOME": str(tmp_path)},
        ).stdout
        for seed in ("1", "2")
    }

    assert pages == {render("html", samples()["several"]).encode()}


def test_the_verdict_comes_first_then_cause_evidence_pictures_and_what_was_not_checked() -> None:
    shown = rendered_sample("changed", "html")
    order = [
        '<span class="verdict">changed</span> runs/new has 8 of the 10 records',
        '<p class="cause">The loader split its IDs over 4 workers',
        "b = merge(partition(a, 4))",
        "What the runs look like",
        "What was not checked",
        '<h2 id="runs">The runs</h2>',
    ]
    places = [shown.index(part) for part in order]

    assert places == sorted(places)


def test_every_picture_has_a_sentence_and_a_table_and_those_of_cells_are_drawn() -> None:
    shown = rendered_sample("changed", "html")
    (stream,) = samples()["changed"].streams
    figures = re.findall(r"<figure>.*?</figure>", shown, re.DOTALL)
    drawn = [figure for figure in figures if "<svg" in figure]

    assert stream.pictures
    assert len(figures) == len(stream.pictures) == 8
    assert len(drawn) == 6
    for figure, picture in zip(figures, stream.pictures, strict=True):
        assert picture.title in figure
        assert "<table>" in figure
    for figure in drawn:
        (named,) = re.findall(r'aria-labelledby="([^"]*)"', figure)
        assert f'id="{named}"' in figure


def test_drawings_have_the_colours_of_the_page() -> None:
    drawings = re.findall(r"<svg.*?</svg>", rendered_sample("changed", "html"), re.DOTALL)

    assert drawings
    for drawing in drawings:
        assert "var(--" in drawing
        assert not re.search(r"#[0-9a-f]{6}", drawing)


def test_several_runs_are_a_matrix() -> None:
    shown = rendered_sample("several", "html")
    (matrix,) = re.findall(r'<table class="matrix">.*?</table>', shown, re.DOTALL)

    assert re.findall(r'scope="col">(\w+)', matrix)[2:] == [
        "set",
        "order",
        "batches",
        "draws",
        "content",
    ]
    assert matrix.count("<tr>") == 3
    assert "2 rows" in matrix
    assert "3 moved" in matrix
    assert "not compared" in matrix


@pytest.mark.parametrize(
    ("rows", "axes"),
    [
        ([["the run", "0", "no number"]], {"rows": 1, "records": 1, "low": 0, "numbered": "x"}),
        ([["the run"]], {"rows": 1, "records": 1, "low": 0, "numbered": "x"}),
        ([[]], {}),
        ([["the run", "0", 1]], {"rows": "<b>", "records": None, "low": 0, "numbered": "x"}),
        ([["the run", "0", 1e308]], {"rows": 1e308, "records": 0, "low": -1e308, "numbered": "x"}),
        ([["the run", "0", 1]] * 5_000, {"rows": 1, "records": 1, "low": 0, "numbered": "x"}),
    ],
)
@pytest.mark.parametrize(
    "name", ["order-map", "displacement", "coverage", "lanes", "weights", "along-the-run"]
)
def test_a_table_that_is_not_as_it_should_be_is_shown_as_it_is(
    name: str, rows: list[list[object]], axes: dict[str, object]
) -> None:
    picture = msgspec.convert(
        {
            "name": name,
            "title": "T",
            "sentence": "S.",
            "columns": ["a"],
            "rows": rows,
            "axes": axes,
        },
        Picture,
    )
    shown = render("html", result_of(Verdict.CHANGED, pictures=[picture]))

    assert_harmless(shown)
    assert "<table>" in shown
    assert len(shown) < MOST_BYTES


def test_words_of_a_strange_result_stay_words_in_a_drawing() -> None:
    axes = {"rows": 2, "records": 2, "low": 0, "numbered": "</text><script>$x^$\u202e写"}
    rows = [["</svg><script>", "0", 1, 0], ["$\\alpha", "0", 0, 1]]
    picture = msgspec.convert(
        {
            "name": "order-map",
            "title": "T",
            "sentence": "S.",
            "columns": ["run", "records", "0", "1"],
            "rows": rows,
            "axes": axes,
        },
        Picture,
    )
    shown = render("html", result_of(Verdict.CHANGED, pictures=[picture]))

    assert "<svg" in shown
    assert_harmless(shown)


def test_a_picture_that_nobody_draws_is_its_table() -> None:
    picture = Picture(name="new", title="New", sentence="S.", columns=["a"], rows=[["<b>"]])
    shown = render("html", result_of(Verdict.CHANGED, pictures=[picture]))

    assert "&lt;b&gt;" in shown


def of_many(one: Result, count: int) -> str:
    """Give the page of a baseline and so many runs that compare alike with it."""
    return render(
        "html",
        msgspec.structs.replace(
            one, runs=[one.runs[0], *[one.runs[1]] * count], comparisons=[one] * count
        ),
    )


def test_a_page_of_many_runs_says_which_pictures_it_leaves_out_and_how_to_see_them() -> None:
    shown = of_many(result_of(Verdict.CHANGED, pictures=all_pictures()), 20)

    assert len(shown.encode()) < MOST_BYTES
    assert shown.count("<figure>") == 60
    assert shown.count("<li><strong>Order map</strong>: ") == 12
    assert "<code>detloader audit runs/frozen runs/new --html page.html</code> draws them." in shown


def test_a_page_stays_small_however_large_its_pictures_are() -> None:
    picture = Picture(
        name="first-rows",
        title="T",
        sentence="S.",
        columns=[str(number) for number in range(10)],
        rows=[['"' * 200] * 10] * 100,
    )
    shown = of_many(result_of(Verdict.CHANGED, pictures=[picture]), 5)

    assert MOST_BYTES / 2 < len(shown.encode()) < MOST_BYTES
    assert shown.count("<figure>") == 1
    assert shown.count("<li><strong>T</strong>: S.</li>") == 4


@pytest.mark.parametrize("text", ["runs/new", '"' * 1_000])
def test_a_page_stays_small_however_many_runs_there_are(text: str) -> None:
    shown = of_many(hostile(text), 1_500)

    assert MOST_BYTES / 2 < len(shown.encode()) < MOST_BYTES
    assert re.search(r"And [\d,]+ comparisons more\. They are left out", shown)
    assert_harmless(shown)


def test_a_result_without_pictures_says_how_to_have_them() -> None:
    assert "--pictures" in rendered_sample("unexplained", "html")
    assert "--pictures" not in rendered_sample("changed", "html")


def test_a_verdict_that_speaks_for_a_part_says_so() -> None:
    shown = render("html", result_of(Verdict.REORDERED, coverage=0.5))

    assert '<span class="verdict">reordered as far as both were recorded</span>' in shown
