"""No damage to a sealed run is believed: not by `verify`, not by `audit`, not by whoever reads."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from detloader import audit, open_run
from detloader.errors import DamageError
from detloader.findings import Verdict
from detloader.manifest.schema import Level
from detloader.manifest.verify import verify_run
from detloader.manifest.writer import PART_ROWS
from tests.support.damage import change_header, flipped_bits
from tests.support.tables import rank_writer, write_rows

RANK = Path("main", "rank-00000")
HEADER = RANK / "manifest.json"
PARTS = [RANK / "order" / f"part-{number:06d}.parquet" for number in range(2)]
ROWS = pa.table({"record": ["a", "b"], "draws": pa.array([1, None], pa.uint64())})


def small_run(run: Path) -> Path:
    return write_rows(run, pa.table({"record": [1]}), weights=[1e-7], seed="\x1f")


@pytest.mark.parametrize("name", [HEADER, PARTS[0]], ids=["header", "part"])
def test_every_flipped_bit_is_found_by_verify(tmp_path: Path, name: Path) -> None:
    run = small_run(tmp_path / "run")
    tried = 0
    for _ in flipped_bits(run / name):
        with pytest.raises(DamageError) as caught:
            verify_run(run)
        assert "\n" not in str(caught.value)
        assert str(run) in str(caught.value)
        tried += 1

    assert tried == 8 * (run / name).stat().st_size
    assert verify_run(run).complete


def test_no_flipped_bit_of_a_part_is_read_as_another_value(tmp_path: Path) -> None:
    run = small_run(tmp_path / "run")
    for _ in flipped_bits(run / PARTS[0]):
        with pytest.raises(DamageError):
            open_run(run).streams["main"].table()

    assert open_run(run).streams["main"].table()["record"].to_pylist() == [1]


@pytest.mark.parametrize("level", Level)
def test_a_run_of_no_rows_on_disk_has_no_bit_to_spare(tmp_path: Path, level: Level) -> None:
    with rank_writer(tmp_path / "run", level=level):
        pass
    for _ in flipped_bits(tmp_path / "run" / HEADER, step=3):
        with pytest.raises(DamageError):
            verify_run(tmp_path / "run")


def swap_parts(run: Path) -> None:
    one, other = (run / part for part in PARTS)
    one.rename(run / "aside")
    other.rename(one)
    (run / "aside").rename(other)


def exchange_for_another_runs(name: Path) -> Callable[[Path], None]:
    def damage(run: Path) -> None:
        long_run(run.parent / "other", seed=1)
        shutil.copy(run.parent / "other" / name, run / name)

    return damage


def cut_short(name: Path, length: int) -> Callable[[Path], None]:
    def damage(run: Path) -> None:
        (run / name).write_bytes((run / name).read_bytes()[:length])

    return damage


def flip(name: Path, at: int) -> Callable[[Path], None]:
    def damage(run: Path) -> None:
        data = bytearray((run / name).read_bytes())
        data[at] ^= 1
        (run / name).write_bytes(data)

    return damage


def edit(old: bytes, new: bytes) -> Callable[[Path], None]:
    def damage(run: Path) -> None:
        data = (run / HEADER).read_bytes()
        assert data.count(old) == 1
        (run / HEADER).write_bytes(data.replace(old, new))

    return damage


def add(name: str) -> Callable[[Path], object]:
    return lambda run: (run / RANK / name).write_bytes(b"")


DAMAGES: dict[str, Callable[[Path], object]] = {
    "segments swapped": swap_parts,
    "a segment of another run": exchange_for_another_runs(PARTS[1]),
    "a header of another run": exchange_for_another_runs(HEADER),
    "a segment cut short": cut_short(PARTS[0], 1000),
    "an empty segment": cut_short(PARTS[1], 0),
    "no segment": lambda run: (run / PARTS[1]).unlink(),
    "a header cut short": cut_short(HEADER, 400),
    "a flipped bit at the start": flip(PARTS[0], 0),
    "a flipped bit of a page": flip(PARTS[0], 5000),
    "a flipped bit of the footer": flip(PARTS[1], -12),
    "an edited header": edit(b'"rows":262148,"seeds"', b'"rows":262149,"seeds"'),
    "a header written anew": lambda run: change_header(run / HEADER, fingerprint="0" * 64),
    "a spaced header": edit(b'"state":"complete"', b'"state": "complete"'),
    "a file more": add("order/part-000002.parquet"),
    "a lock": add("lock"),
    "a note": add("README"),
    "a note beside the ranks": add("../README"),
    "a note beside the streams": add("../../README"),
    "an empty stream": lambda run: (run / "other").mkdir(),
    "an empty rank": lambda run: (run / "main" / ".rank").mkdir(),
}


def long_run(run: Path, seed: int = 0) -> Path:
    """Write two parts."""
    records = np.random.default_rng(seed).permutation(PART_ROWS + 4)
    return write_rows(run, pa.table({"record": records}))


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return long_run(tmp_path_factory.mktemp("sound") / "run")


@pytest.fixture
def copy(sound: Path, tmp_path: Path) -> Iterator[Path]:
    shutil.copytree(sound, tmp_path / "copy")
    yield tmp_path / "copy"
    shutil.rmtree(tmp_path)


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_run_is_never_identical_to_a_verifying_audit(
    sound: Path, copy: Path, name: str
) -> None:
    assert audit(sound, copy, verify=True).verdict is Verdict.IDENTICAL
    DAMAGES[name](copy)

    for runs in [(sound, copy), (copy, sound), (copy, copy)]:
        with pytest.raises(DamageError):
            audit(*runs, verify=True)
    with pytest.raises(DamageError):
        verify_run(copy)


def test_an_audit_of_headers_says_that_it_read_no_block(sound: Path, copy: Path) -> None:
    flip(PARTS[0], 5000)(copy)

    result = audit(sound, copy)

    assert result.verdict is Verdict.IDENTICAL
    assert not result.verified


def test_a_segment_proved_once_is_proved_again_by_each_verify(copy: Path) -> None:
    run = open_run(copy)
    verify_run(run)
    run.streams["main"].table()
    flip(PARTS[1], 60)(copy)

    with pytest.raises(DamageError, match="SHA-256 does not fit"):
        verify_run(run)


@pytest.mark.parametrize("there", [(1,), (0, 2)])
def test_a_rank_that_the_numbers_of_others_tell_of_has_to_be_there(
    there: tuple[int, ...], tmp_path: Path
) -> None:
    for rank in there:
        write_rows(tmp_path / "run", pa.table({"record": [rank]}), rank=rank)

    with pytest.raises(DamageError, match="lacks 1 of the ranks of its stream 'main'"):
        verify_run(tmp_path / "run")
