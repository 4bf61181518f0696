from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from detloader.manifest.frames import to_frame
from detloader.manifest.reader import open_run
from tests.support.runs import write_run

LARGE = 2**64 - 1


@given(digests=st.lists(st.none() | st.integers(0, LARGE), min_size=1))
def test_digests_are_exact(digests: list[int | None]) -> None:
    frame = to_frame(pa.table({"content": pa.array(digests, pa.uint64())}))

    assert str(frame.dtypes["content"]) == "UInt64"
    assert [None if value is pd.NA else int(value) for value in frame["content"]] == digests


def test_a_stream_is_a_frame_in_canonical_order(tmp_path: Path) -> None:
    rows = {"record": [3, 1, 2], "rank": [1, 0, 0], "content": [LARGE, 2**63 + 1, 5]}
    stream = open_run(write_run(tmp_path / "run", rows)).streams["main"]
    frame = stream.to_pandas()

    assert frame.to_dict("list") == stream.table().to_pydict()
    assert frame["content"].max() == LARGE
    assert [*stream.to_pandas(["record"]).columns] == ["record", "rank", "position"]


def test_a_run_is_a_frame_of_all_its_streams(tmp_path: Path) -> None:
    write_run(tmp_path / "run", {"record": [1, 2], "content": [7, LARGE]}, stream="train")
    write_run(tmp_path / "run", {"record": ["a"]}, stream="eval")
    frame = open_run(tmp_path / "run").to_pandas()

    assert frame.columns[0] == "stream"
    assert frame["stream"].tolist() == ["eval", "train", "train"]
    assert frame["content"].isna().tolist() == [True, False, False]
    assert int(frame["content"].iloc[2]) == LARGE


def test_without_pandas_the_extra_is_named() -> None:
    program = (
        "import sys; sys.modules['pandas'] = None\n"
        "import pyarrow as pa; from detloader.manifest.frames import to_frame\n"
        "to_frame(pa.table({}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True
    )

    assert done.returncode == 1
    assert "MissingExtraError: pandas is not installed: pip install 'detloader[pandas]'" in (
        done.stderr
    )


def test_opening_a_run_does_not_load_pandas() -> None:
    program = "import sys, detloader.manifest.reader; print('pandas' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )

    assert done.stdout == "False\n"
