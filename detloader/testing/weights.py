"""Records come as often as their weights say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from detloader.audits.engine import check
from detloader.errors import UsageError
from detloader.testing.context import Context
from detloader.testing.factory import Factory
from detloader.testing.runs import record_made, run_folder
from detloader.testing.told import Made, finding_lines, look_further

__all__ = ["check_weights"]

_IGNORED, _SHARES = "ignored-weights", "sampling-distribution"


def check_weights(
    context: Context, factory: Factory, weights: Iterable[float] | Mapping[object, float]
) -> str:
    """Require that records are drawn, with replacement, at the rates of these weights.

    Raises:
        AssertionError: the weights have no effect, or another one.
        UsageError: there are too few rows to tell.
    """
    told = (
        {str(record): float(weight) for record, weight in weights.items()}
        if isinstance(weights, Mapping)
        else [*map(float, weights)]
    )
    called = factory.called()
    with context.folder() as folder:
        declared = {"weights": told, "replacement": True}
        run = record_made(factory, {}, run_folder(folder, "drawn"), declared=declared)
        result = check(run, select=[_IGNORED, _SHARES])
        if result.findings:
            lines = [*finding_lines(result.findings), look_further("check", Made(run, ""))]
            raise AssertionError("\n".join([f"{called} does not draw by its weights", "", *lines]))
        for unasked in result.not_checked:
            mend = "" if "ids" in factory.recording else "; pass ids=, what each record's ID is"
            raise UsageError(
                f"whether {called} draws by its weights cannot be told from {run.rows:,} rows: "
                f"{unasked.rule} needs {', '.join(unasked.missing)}{mend}"
            )
    return f"{run.rows:,} draws of {len(told):,} records"
