"""Datasets on the hub: pinned to a commit, from a local stand-in of its interface."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from detloader.errors import UsageError
from detloader.hdf5.files.hub import fetch_snapshot
from tests.support.hub_stand_in import Hub, Repository, serving

# huggingface_hub reads its settings when it is imported, so they need a process of their own.
FETCH = """
import json, sys
from detloader.errors import DetloaderError
from detloader.hdf5.files.hub import fetch_snapshot
for line in sys.stdin:
    try:
        found = fetch_snapshot(*json.loads(line))
    except DetloaderError as error:
        answer = {"error": type(error).__name__, "message": str(error)}
    else:
        inside = [p for p in sorted(found.path.rglob("*")) if p.is_file()] or [found.path]
        files = {p.relative_to(found.path).as_posix(): p.read_text() for p in inside}
        answer = {"repository": found.repository, "commit": found.commit, "files": files}
    print(json.dumps(answer), flush=True)
"""

Fetch = Callable[..., Any]


@contextmanager
def process(endpoint: str, cache: Path, *, offline: bool = False) -> Iterator[Fetch]:
    """Give `fetch_snapshot` in a process with a cache, before a hub; its answers are JSON."""
    variables = {"HF_ENDPOINT": endpoint, "HF_HOME": str(cache), "NO_PROXY": "127.0.0.1"}
    with subprocess.Popen(
        [sys.executable, "-c", FETCH],
        env=os.environ | variables | {"HF_HUB_OFFLINE": str(int(offline))},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as running:
        questions, answers = running.stdin, running.stdout
        assert questions is not None
        assert answers is not None

        def fetch(path: str, revision: str | None = None) -> Any:
            questions.write(json.dumps([path, revision]) + "\n")
            questions.flush()
            return json.loads(answers.readline())

        yield fetch
        questions.close()


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    with serving(Hub()) as hub:
        yield hub


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def fetch(hub: Hub, cache: Path) -> Iterator[Fetch]:
    with process(hub.endpoint, cache) as fetch:
        yield fetch


@pytest.fixture(scope="module")
def fetch_offline(hub: Hub, cache: Path) -> Iterator[Fetch]:
    with process(hub.endpoint, cache, offline=True) as fetch:
        yield fetch


@pytest.fixture
def dataset(hub: Hub, request: pytest.FixtureRequest) -> Repository:
    return hub.create(f"lab/{abs(hash(request.node.name))}")


def test_a_dataset_comes_from_the_commit_of_its_main_branch(
    dataset: Repository, fetch: Fetch
) -> None:
    files = {"README.md": b"about", "train/a.hdf5": b"1", "train/b.h5": b"2", "c.hdf5": b"3"}
    commit = dataset.commit("main", files)

    found = fetch(f"hf://{dataset.name}")

    texts = {"train/a.hdf5": "1", "train/b.h5": "2", "c.hdf5": "3"}
    assert found == {"repository": dataset.name, "commit": commit, "files": texts}
    assert sorted(dataset.downloads) == sorted(texts)


def test_a_path_is_a_folder_or_a_file_and_nothing_else_is_downloaded(
    dataset: Repository, fetch: Fetch
) -> None:
    dataset.commit("main", {"a/b/1.h5": b"1", "a/b2/2.h5": b"2", "a/3.h5": b"3", "a/b/n.txt": b"n"})

    assert fetch(f"hf://{dataset.name}/a/b/")["files"] == {"1.h5": "1"}
    assert fetch(f"hf://{dataset.name}/a/3.h5")["files"] == {".": "3"}
    assert sorted(dataset.downloads) == ["a/3.h5", "a/b/1.h5"]


def test_names_are_no_patterns(dataset: Repository, fetch: Fetch) -> None:
    dataset.commit("main", {"[ab] *é?/1.h5": b"1", "a xé!/2.h5": b"2"})

    assert fetch(f"hf://{dataset.name}/[ab] *é?")["files"] == {"1.h5": "1"}
    assert dataset.downloads == ["[ab] *é?/1.h5"]


def test_a_revision_is_a_branch_a_tag_or_a_commit(dataset: Repository, fetch: Fetch) -> None:
    old = dataset.commit("v1", {"a.h5": b"old"})
    new = dataset.commit("main", {"a.h5": b"new"})

    for revision, commit, text in ((None, new, "new"), ("v1", old, "old"), (old, old, "old")):
        found = fetch(f"hf://{dataset.name}", revision)
        assert (found["commit"], found["files"]) == (commit, {"a.h5": text})


def test_a_branch_that_moved_gives_its_new_commit_and_the_old_one_stays(
    dataset: Repository, fetch: Fetch
) -> None:
    old = dataset.commit("main", {"a.h5": b"old"})
    assert fetch(f"hf://{dataset.name}")["commit"] == old
    new = dataset.commit("main", {"a.h5": b"new"})

    assert fetch(f"hf://{dataset.name}")["commit"] == new
    assert fetch(f"hf://{dataset.name}", old)["files"] == {"a.h5": "old"}
    assert dataset.downloads == ["a.h5", "a.h5"]


def test_a_branch_that_moves_during_the_download_gives_one_commit(
    dataset: Repository, fetch: Fetch
) -> None:
    files = {f"{number}.h5": b"old" for number in range(5)}
    old = dataset.commit("main", files)
    dataset.after_lookup = lambda: dataset.revisions.update(main=new)
    new = dataset.commit("main", dict.fromkeys(files, b"new"))
    dataset.revisions["main"] = old

    found = fetch(f"hf://{dataset.name}")

    assert dataset.revisions["main"] == new
    assert (found["commit"], set(found["files"].values())) == (old, {"old"})


def test_what_is_cached_is_not_downloaded_again(dataset: Repository, fetch: Fetch) -> None:
    dataset.commit("main", {"a.h5": b"1", "b.h5": b"2"})

    assert fetch(f"hf://{dataset.name}/a.h5") != fetch(f"hf://{dataset.name}/b.h5")
    fetch(f"hf://{dataset.name}")

    assert dataset.downloads == ["a.h5", "b.h5"]


def test_offline_the_cache_gives_the_commit_that_it_saw(
    dataset: Repository, fetch: Fetch, fetch_offline: Fetch
) -> None:
    path = f"hf://{dataset.name}"
    dataset.commit("main", {"a.h5": b"1", "b/c.h5": b"2"})
    online = fetch(path)
    dataset.commit("main", {"a.h5": b"2"})

    assert fetch_offline(path) == online
    assert fetch_offline(path, online["commit"]) == online
    missing = fetch_offline(path, "v1")
    assert missing["error"] == "MissingFileError"
    assert "not in the cache" in missing["message"]


def test_while_the_hub_is_down_the_cache_gives_the_commit_that_it_saw(tmp_path: Path) -> None:
    with ExitStack() as stack:
        with serving(Hub()) as hub:
            hub.create("lab/echoes").commit("main", {"a.h5": b"1"})
            fetch = stack.enter_context(process(hub.endpoint, tmp_path))
            online = fetch("hf://lab/echoes")

        assert fetch("hf://lab/echoes") == online
        assert fetch("hf://lab/other")["error"] == "MissingFileError"


def test_a_part_of_a_dataset_in_the_cache_is_not_taken_for_the_whole(
    dataset: Repository, fetch: Fetch, fetch_offline: Fetch
) -> None:
    dataset.commit("main", {"a/1.h5": b"1", "b/2.h5": b"2"})
    part = fetch(f"hf://{dataset.name}/a")

    assert fetch_offline(f"hf://{dataset.name}/a") == part
    assert fetch_offline(f"hf://{dataset.name}")["error"] == "MissingFileError"


@pytest.mark.parametrize(
    ("inside", "revision", "named"),
    [
        ("-2", None, "is not there, or not for you"),
        ("", "v9", "has no revision 'v9'"),
        ("/b", None, "has no file named *.h5 or *.hdf5 at commit"),
        ("/n.txt", None, "has no file named *.h5 or *.hdf5 at commit"),
    ],
)
def test_what_the_hub_does_not_have_is_named(
    dataset: Repository, fetch: Fetch, inside: str, revision: str | None, named: str
) -> None:
    dataset.commit("main", {"a.h5": b"1", "n.txt": b"n"})
    path = f"hf://{dataset.name}{inside}"

    answer = fetch(path, revision)

    assert answer["error"] == "MissingFileError"
    assert answer["message"].startswith(f"{path} {named}")


@pytest.mark.parametrize(
    "path", ["hf://", "hf://lab", "lab/echoes", "hf://lab//x", "hf://lab/echoes/../x", "hf:///a/b"]
)
def test_a_path_that_names_no_dataset_is_refused(path: str) -> None:
    with pytest.raises(UsageError, match="write hf://org/repo/path"):
        fetch_snapshot(path)


def test_a_name_that_the_hub_does_not_allow_is_refused(fetch: Fetch) -> None:
    answer = fetch("hf://lab/ech oes")

    assert answer["error"] == "UsageError"
