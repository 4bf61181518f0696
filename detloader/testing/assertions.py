"""The assertions about loaders, on one object."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Unpack, cast

from detloader.errors import DetloaderError
from detloader.findings import RecordId
from detloader.testing.context import Context
from detloader.testing.factory import Factory
from detloader.testing.options import Options, Recording

__all__ = ["Assertions"]

P = ParamSpec("P")


def _assertion(
    check: Callable[Concatenate[Assertions, P], str],
) -> Callable[Concatenate[Assertions, P], None]:
    """Note what came of an assertion, and show a failure where it was made, not within."""

    @functools.wraps(check)
    def made(self: Assertions, *args: P.args, **kwargs: P.kwargs) -> None:
        __tracebackhide__ = True
        name = f"detloader.{check.__name__}"
        try:
            self.context.note(name, check(self, *args, **kwargs))
        except (AssertionError, DetloaderError) as error:
            self.context.note(name, str(error).partition("\n")[0])
            raise error.with_traceback(_outside(error)) from error.__cause__

    return cast("Callable[Concatenate[Assertions, P], None]", made)


def _outside(error: Exception) -> TracebackType | None:
    """Return where an error came from outside of this package."""
    traceback = error.__traceback__
    while traceback and traceback.tb_frame.f_globals["__name__"].startswith("detloader."):
        traceback = traceback.tb_next
    return traceback


class Assertions:
    """Assertions about loaders.

    A factory is a function that makes the loader, by keyword arguments. `workers`, `seed` and
    the other axes of `detloader replay` may have any of the names that factories give them,
    such as `num_workers`; an argument that is neither given nor has a default is a fixture's.

    Every assertion takes `ids`, `batched`, `declared`, `content`, `decimals`, `id_root` and
    `level` as `detloader.record` does, and `elements`, the most to take of a loader; those on
    factories take `arguments` of every call, too.

    A failure is an AssertionError, in the words of an audit. What could not be judged is a
    DetloaderError. The runs of a failed assertion are kept, and the error names their folder.
    """

    def __init__(self, context: Context | None = None) -> None:
        """Take what surrounds the test; by default there is nothing."""
        self.context = context or Context()

    @_assertion
    def assert_invariant(
        self,
        factory: Callable[..., Any],
        over: Mapping[str, Sequence[Any]],
        *,
        seed: int | None = 0,
        search: bool = False,
        **options: Unpack[Options],
    ) -> str:
        """Require the same run under each value of each axis, and under all last ones together.

        Args:
            factory: makes the loader.
            over: values of each axis, such as `{"workers": [0, 1, 2]}`; the first ones are
                what the others are compared with. What is no argument of the factory, such as
                `hash_seed`, is varied in fresh processes, which find a factory by its name.
            seed: given to the factory where it takes one.
            search: look for the smallest set of axes and the fewest records that fail, and end
                the failure with a test that shows them; needs the extra `hypothesis`.
            **options: how loaders are made and recorded.
        """
        from detloader.testing.invariance import check_invariance
        from detloader.testing.search import check_by_search

        check = check_by_search if search else check_invariance
        return check(self.context, self._factory(factory, options, seed), over)

    @_assertion
    def assert_seed_sensitive(
        self,
        factory: Callable[..., Any],
        seeds: Sequence[int] = (0, 1),
        **options: Unpack[Options],
    ) -> str:
        """Require another order for each seed."""
        from detloader.testing.seeds import check_seeds

        return check_seeds(self.context, self._factory(factory, options), seeds)

    @_assertion
    def assert_reproducible(
        self,
        factory: Callable[..., Any],
        times: int = 3,
        *,
        seed: int | None = 0,
        **options: Unpack[Options],
    ) -> str:
        """Require the same run in several fresh processes, each with another hash seed.

        These find the factory by its name, so that it must stand at the top of a module, and
        its arguments are sent as JSON.
        """
        from detloader.testing.reproduction import check_reproduction

        return check_reproduction(self.context, self._factory(factory, options, seed), times)

    @_assertion
    def assert_resumable(
        self,
        factory: Callable[..., Any],
        at: Sequence[int],
        *,
        seed: int | None = 0,
        **options: Unpack[Options],
    ) -> str:
        """Require a loader that was stopped to go on as before, once its state is restored.

        The state is that of the loader, or of its iterator (`get_state` and `set_state`, or
        `state_dict` and `load_state_dict`); it is pickled, and restored in a new loader.

        Args:
            factory: makes the loader.
            at: elements after which to stop.
            seed: given to the factory where it takes one.
            **options: how loaders are made and recorded.
        """
        from detloader.testing.resuming import check_resuming

        return check_resuming(self.context, self._factory(factory, options, seed), at)

    @_assertion
    def assert_covers(
        self,
        factory: Callable[..., Any],
        epochs: int = 2,
        *,
        records: int | Iterable[RecordId] | None = None,
        seed: int | None = 0,
        **options: Unpack[Options],
    ) -> str:
        """Require each record once in each epoch.

        Args:
            factory: makes the loader, which is iterated again until it came to so many epochs.
            epochs: how many to look at.
            records: how many records there are, with IDs from 0 on, or their IDs; not needed
                where the loader says how many its source has.
            seed: given to the factory where it takes one.
            **options: how loaders are made and recorded.
        """
        from detloader.testing.coverage import check_coverage

        made = self._factory(factory, options, seed)
        return check_coverage(self.context, made, epochs, records)

    @_assertion
    def assert_weights(
        self,
        factory: Callable[..., Any],
        weights: Iterable[float] | Mapping[Any, float],
        *,
        seed: int | None = 0,
        **options: Unpack[Options],
    ) -> str:
        """Require records to be drawn, with replacement, at the rates of these weights.

        The chance of a false alarm is below one in a million.

        Args:
            factory: makes the loader.
            weights: one for each position in the source, or for each record's ID.
            seed: given to the factory where it takes one.
            **options: how loaders are made and recorded.
        """
        from detloader.testing.weights import check_weights

        return check_weights(self.context, self._factory(factory, options, seed), weights)

    @_assertion
    def assert_matches(self, loader: Any, name: str, **options: Unpack[Recording]) -> str:
        """Require what was frozen under this name, in the folder `frozen` beside the test.

        `pytest --detloader-update-new` writes what is missing, `--detloader-update` also what
        differs. The files are those of `detloader freeze`, made to be committed.
        """
        from detloader.testing.matching import check_match

        return check_match(self.context, loader, name, options)

    @_assertion
    def assert_clean(self, loader: Any, epochs: int = 1, **options: Unpack[Recording]) -> str:
        """Require that no rule finds fault with what a loader delivers.

        Which rules count, and from which severity on, is said by `select`, `ignore` and
        `fail-on` in the project's `[tool.detloader]`. Some need several epochs, or to know what
        the loader is meant to do, such as `declared={"shuffle": True}`.

        Args:
            loader: the loader.
            epochs: how often to iterate it.
            **options: how it is recorded.
        """
        from detloader.testing.cleanness import check_cleanness

        return check_cleanness(self.context, loader, epochs, options)

    @_assertion
    def check_marked(
        self,
        function: Callable[..., Any],
        fixtures: Mapping[str, Any],
        asked: Mapping[str, Any],
    ) -> str:
        """Do what the mark `seed_invariant` asks of a test.

        Args:
            function: the test.
            fixtures: its arguments, but for those that the mark varies.
            asked: what the mark says.
        """
        from detloader.testing.marked import check_marked

        return check_marked(self.context, function, fixtures, asked)

    def _factory(self, function: Any, options: Options, seed: int | None = None) -> Factory:
        return Factory.of(function, options, self.context.fixture, seed)
