from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.system.conftest import install, make_environment

ROOT = Path(__file__).parents[2]
KEY = ROOT / "tests" / "fixtures" / "keys" / "openssl.key"


def test_the_wheel_holds_one_top_level_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()

    assert {name.partition("/")[0] for name in names if ".dist-info/" not in name} == {"detloader"}
    assert {
        "detloader/audits/rules/__init__.py",
        "detloader/reports/text.py",
        "detloader/demo/digits.npz",
        "detloader/demo/DIGITS.md",
        "detloader/py.typed",
    } <= set(names)


@pytest.fixture(scope="module")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel alone, without any extra, in an environment of its own."""
    programs = make_environment(tmp_path_factory.mktemp("installed"))
    install(programs, wheel)
    return programs


@pytest.mark.timeout(900)
def test_an_installed_wheel_runs_the_demo_away_from_the_checkout(
    programs: Path, tmp_path: Path
) -> None:
    done = subprocess.run(
        [programs / "detloader", "demo"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert "implicit-partitioning" in done.stdout
    assert (tmp_path / "detloader-demo" / "result.json").is_file()


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("extra", "use"),
    [
        (
            "hub",
            "from detloader.hdf5.files.hub import fetch_snapshot as use; use('hf://lab/echoes')",
        ),
        ("hdf5", "from detloader.hdf5.images.resize import make_resize as use; use((5, 6))"),
        ("hdf5", "from detloader import Dataloader as use; use('.')"),
        ("tensorflow", "from detloader import to_tf_dataset as use; use([], None)"),
        ("torch", "from detloader import to_torch_loader as use; use([])"),
        ("sign", f"from detloader.signing.keys import load_private_key as use; use({str(KEY)!r})"),
        (
            "hypothesis",
            "from detloader.testing.search import check_by_search as use; use(None, None, {})",
        ),
    ],
    ids=["hub", "opencv", "h5py", "tensorflow", "torch", "sign", "hypothesis"],
)
def test_what_an_extra_would_install_is_named(
    extra: str, use: str, programs: Path, tmp_path: Path
) -> None:
    done = subprocess.run(
        [programs / "python", "-c", use], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    last = done.stderr.splitlines()[-1]
    assert last.startswith("detloader.errors.MissingExtraError")
    assert f"detloader[{extra}]" in last
