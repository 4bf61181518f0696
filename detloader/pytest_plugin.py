"""The pytest plugin: the fixture `detloader`, the mark `seed_invariant`, frozen orders.

It is loaded with every pytest of an environment, so that it imports nothing but pytest and
says nothing until it is used.
"""

from __future__ import annotations

import inspect
import os
import sys
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from detloader.testing.assertions import Assertions
    from detloader.testing.orders import Orders

__all__: list[str] = []

_MARK = "seed_invariant"
_FIXTURE = "detloader"
_FROZEN = "detloader.frozen"
"""Property of a test: a frozen order that it uses, relative to the root folder."""

_SINCE = pytest.StashKey[float]()

_RESEEDED = (
    "pytest-randomly reseeds the global generators before each test: a loader that draws from "
    "them looks reproducible here, and is not; -p no:randomly shows it"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer to write frozen orders."""
    group = parser.getgroup("detloader", "orders of data loaders")
    group.addoption(
        "--detloader-update",
        action="store_const",
        const="all",
        default="none",
        dest="detloader_update",
        help="Write the frozen orders of assert_matches that are missing or differ.",
    )
    group.addoption(
        "--detloader-update-new",
        action="store_const",
        const="new",
        dest="detloader_update",
        help="Write the frozen orders of assert_matches that are missing.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Say what the mark is, and listen to what tests use."""
    config.stash[_SINCE] = time.time()
    config.addinivalue_line(
        "markers",
        f"{_MARK}(workers=[0, 2], seeds=[0, 1]): call the test with each value of each axis, for "
        "each seed; the loaders that it returns, or is given, must deliver the same.",
    )
    config.pluginmanager.register(_Summary(config), "detloader-summary")


@pytest.fixture(name=_FIXTURE)
def _detloader(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Assertions:
    """Assertions about loaders, such as `detloader.assert_invariant(make_loader, over=…)`.

    In a `unittest.TestCase` it is `self.detloader`, given `@pytest.mark.usefixtures("detloader")`.
    """
    from detloader.cli.settings import read_settings
    from detloader.testing.assertions import Assertions
    from detloader.testing.context import Context

    properties = request.node.user_properties
    context = Context(
        new_folder=lambda: tmp_path_factory.mktemp(_FIXTURE),
        settings=read_settings(request.config.rootpath),
        orders=_orders(request),
        module=getattr(request.module, "__name__", None),
        fixture=request.getfixturevalue,
        note=lambda name, value: properties.append((name, value)),
        remarks=[_RESEEDED] if _is_reseeded(request.config) else [],
    )
    assertions = Assertions(context)
    if _is_test_case(request.cls):
        setattr(request.instance, _FIXTURE, assertions)
    return assertions


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Keep pytest from looking for fixtures named as the axes that a mark varies."""
    mark = metafunc.definition.get_closest_marker(_MARK)
    if mark is None:
        return
    from detloader.errors import UsageError
    from detloader.testing.marked import own_axes

    try:
        axes = own_axes(metafunc.function, mark.kwargs)
    except UsageError as error:
        raise pytest.Collector.CollectError(f"{metafunc.definition.nodeid}: {error}") from None
    if axes:
        metafunc.parametrize(axes, [[None] * len(axes)], ids=[_MARK])


def pytest_itemcollected(item: pytest.Item) -> None:
    """Give a marked test the fixture."""
    if isinstance(item, pytest.Function) and item.get_closest_marker(_MARK) is not None:
        item.fixturenames.append(_FIXTURE)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Refuse the mark where a test can neither take nor return anything."""
    is_marked = item.get_closest_marker(_MARK) is not None
    if is_marked and _is_test_case(getattr(item, "cls", None)):
        pytest.fail(
            f"{_MARK} marks functions and methods of plain classes: in a unittest.TestCase take "
            f'@pytest.mark.usefixtures("{_FIXTURE}") and self.{_FIXTURE}.assert_invariant(…)',
            pytrace=False,
        )


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Call a marked test once for each condition."""
    mark = pyfuncitem.get_closest_marker(_MARK)
    if mark is None:
        return None
    from detloader.testing.marked import own_axes

    taken = inspect.signature(pyfuncitem.obj).parameters.keys() & pyfuncitem.funcargs.keys()
    fixtures = taken - {*own_axes(pyfuncitem.obj, mark.kwargs)}
    assertions = cast("Assertions", pyfuncitem.funcargs[_FIXTURE])
    given = {name: pyfuncitem.funcargs[name] for name in fixtures}
    try:
        assertions.check_marked(pyfuncitem.obj, given, mark.kwargs)
    except AssertionError as error:
        if _is_of_test(error):
            raise
        told = "\n".join([str(error), *getattr(error, "__notes__", [])])
    else:
        return True
    pytest.fail(told, pytrace=False)


def _is_test_case(kind: type | None) -> bool:
    # Whoever has such a class has imported the module, and nobody else need do so.
    module = sys.modules.get("unittest")
    return kind is not None and module is not None and issubclass(kind, module.TestCase)


def _is_of_test(error: BaseException) -> bool:
    """Tell whether a line of a test raised an error."""
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return not str(frame.f_globals["__name__"]).startswith("detloader.")


def _orders(request: pytest.FixtureRequest) -> Orders:
    from detloader.testing.orders import Orders, Update, folder_of

    config, properties = request.config, request.node.user_properties
    return Orders(
        folder=folder_of(request.path),
        update=Update(config.getoption("detloader_update")),
        since=config.stash[_SINCE],
        uses=lambda path: properties.append((_FROZEN, _from_root(config, path))),
    )


def _from_root(config: pytest.Config, path: Path) -> str:
    # Tests may lie outside of the root folder.
    return Path(os.path.relpath(path, config.rootpath)).as_posix()


def _is_reseeded(config: pytest.Config) -> bool:
    reseeds: bool = config.getoption("randomly_reset_seed", default=False)
    return config.pluginmanager.hasplugin("randomly") and reseeds


class _Summary:
    """Hears what tests used, from all processes, and says at the end what should be known."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._used: set[str] = set()
        self._modules: set[Path] = set()
        self._not_run: set[Path] = set()
        self._was_used = False
        self._is_whole = not _selects(config)

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Learn that not all tests are run."""
        self._is_whole = self._is_whole and not items
        output: dict[str, Any] | None = getattr(self._config, "workeroutput", None)
        if output is not None and items:
            output[_FIXTURE] = True

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Learn the same from a worker of pytest-xdist."""
        if _FIXTURE in getattr(node, "workeroutput", {}):
            self._is_whole = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Learn what a test used."""
        module = self._config.rootpath / report.location[0]
        self._modules.add(module)
        if report.skipped:
            self._not_run.add(module)
        for name, value in report.user_properties:
            self._was_used = self._was_used or name.startswith("detloader.")
            if name == _FROZEN:
                self._used.add(str(value))

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, exitstatus: int
    ) -> None:
        """Say which frozen orders are unused, and what pytest-randomly does."""
        lines = [*self._unused()] if self._is_whole and exitstatus == 0 else []
        if self._was_used and _is_reseeded(self._config):
            lines.append(_RESEEDED)
        if lines:
            terminalreporter.section("detloader")
            for line in lines:
                terminalreporter.line(line)

    def _unused(self) -> list[str]:
        if not self._was_used:
            return []
        from detloader.testing.orders import orders_of

        found = {
            _from_root(self._config, path)
            for module in self._modules - self._not_run
            for path in orders_of(module)
        }
        return [
            f"unused: {path} (delete it, or name it in a test)"
            for path in sorted(found - self._used)
        ]


def _selects(config: pytest.Config) -> bool:
    """Tell whether the command line asks for some tests only."""
    names = ("keyword", "markexpr", "lf", "stepwise", "deselect")
    asked = any(config.getoption(name, default=None) for name in names)
    return asked or any("::" in str(argument) for argument in config.args)
