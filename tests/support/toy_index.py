"""A package index of files: a toy package of many releases, some of which cannot be had."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["RELEASES", "TOY", "write_index"]

TOY = "detloader-toy"

RELEASES = [f"1.{minor}" for minor in range(10)]
"""Ten releases; from 1.6 on, another order."""

_CODE = """
def order(count):
    return [{"id": i} for i in range(count)][:: STEP]
"""


def write_index(folder: Path, *, broken: Iterable[str] = ()) -> Path:
    """Write an index with the toy, and with a package that wants an old one.

    Beside the ten releases there are a yanked one (1.55) and a pre-release (1.6b1).

    Args:
        folder: where to.
        broken: releases that ask for what does not exist.
    """
    links = [_toy(folder, version, broken=version in set(broken)) for version in RELEASES]
    links.append(_toy(folder, "1.6b1"))
    links.append(_toy(folder, "1.55").replace("<a ", '<a data-yanked="wrong" '))
    _page(folder, TOY, links)
    needs = [f"{TOY}<1.5"]
    _page(folder, "detloader-old-toy", [_wheel(folder, "detloader_old_toy", "1.0", "", needs)])
    return folder


def _toy(folder: Path, version: str, *, broken: bool = False) -> str:
    step = -1 if float(version.replace("b", "")) >= 1.6 else 1
    needs = ["detloader-toy-that-is-not-there"] if broken else []
    return _wheel(folder, "detloader_toy", version, f"STEP = {step}\n{_CODE}", needs)


def _wheel(folder: Path, module: str, version: str, code: str, needs: list[str]) -> str:
    """Write a wheel, and return the link to it."""
    name = f"{module}-{version}-py3-none-any.whl"
    info = f"{module}-{version}.dist-info"
    metadata = ["Metadata-Version: 2.1", f"Name: {module.replace('_', '-')}", f"Version: {version}"]
    metadata += [f"Requires-Dist: {need}" for need in needs]
    files = {
        f"{module}.py": code,
        f"{info}/METADATA": "\n".join(metadata) + "\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / name, "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
        listed = [*files, f"{info}/RECORD"]
        wheel.writestr(f"{info}/RECORD", "".join(f"{path},,\n" for path in listed))
    return f'<a href="../{name}">{name}</a>'


def _page(folder: Path, package: str, links: list[str]) -> None:
    (folder / package).mkdir(exist_ok=True)
    (folder / package / "index.html").write_text("<br>".join(links))
