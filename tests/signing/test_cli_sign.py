"""`detloader sign` and `detloader verify --key`, typed: what is wrong is one line, and status 2."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from detloader import record
from tests.support.commands import Cli, cli

__all__ = ["cli"]

KEYS = Path(__file__).parents[1] / "fixtures" / "keys"


@pytest.fixture
def signed(tmp_path: Path, cli: Cli) -> Path:
    with record([*"abc"], tmp_path / "run", ids=str) as letters:
        for _ in letters:
            pass
    assert cli("sign", tmp_path / "run", "--key", KEYS / "openssl.key").returncode == 0
    return tmp_path / "run"


def test_a_signed_run_is_whole_and_signed(signed: Path, cli: Cli) -> None:
    ran = cli("verify", signed, "--key", KEYS / "openssl.pub")

    assert ran.returncode == 0
    assert "is whole, and signed by key" in ran.stdout


def test_a_signature_is_no_damage_to_who_does_not_ask_for_it(signed: Path, cli: Cli) -> None:
    assert cli("verify", signed).returncode == 0
    assert cli("check", signed).returncode == 0
    assert cli("audit", signed, signed).returncode == 0


def test_what_is_wrong_is_one_line(signed: Path, cli: Cli) -> None:
    changed, unsigned = signed.with_name("changed"), signed.with_name("unsigned")
    shutil.copytree(signed, changed)
    (part,) = changed.rglob("*.parquet")
    data = bytearray(part.read_bytes())
    data[len(data) // 2] ^= 1
    part.write_bytes(data)
    shutil.copytree(signed, unsigned)
    (unsigned / "signature.json").unlink()

    for run, key in ((signed, "ssh.pub"), (changed, "openssl.pub"), (unsigned, "openssl.pub")):
        ran = cli("verify", run, "--key", KEYS / key)

        assert (ran.returncode, ran.stdout) == (2, "")
        assert ran.stderr.count("\n") == 1
