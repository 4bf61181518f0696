"""Under which conditions two runs were made, as far as they tell.

What a run did not declare is unknown: it neither differs nor is equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from detloader.audits.measures.marks import first_and_any_marked
from detloader.audits.rule import CannotTell
from detloader.findings import Verdict
from detloader.manifest.schema import is_stored

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from detloader.audits.compare import Comparison
    from detloader.audits.rule import Known
    from detloader.findings import JsonValue
    from detloader.manifest.reader import Stream

__all__ = [
    "EQUAL_ARGUMENTS",
    "EQUAL_SEEDS",
    "PERSISTENCE",
    "are_drawn_together",
    "config_differences",
    "declared_differences",
    "declared_of",
    "effective_seed",
    "environment_variable",
    "equal_conditions",
    "is_part_alone",
    "is_resumed",
    "is_told_alone",
    "is_unexplained",
    "require_equal_arguments",
    "require_equal_seeds",
    "require_no_other",
    "setting_differences",
    "topology_differences",
    "version_differences",
]

UNKNOWN = msgspec.UNSET

EQUAL_ARGUMENTS = "equal arguments"
"""What a rule lacks where the configurations of two runs differ."""

EQUAL_SEEDS = "equal seeds"
"""What a rule lacks where two runs were given different seeds."""

TOPOLOGY = ("workers", "threads", "world_size", "start_method")
PERSISTENCE = "persistent_workers"
"""Entry of a configuration: whether workers, and what they know, outlive an epoch."""

SETTINGS = (
    "loader",
    "order_policy",
    "purpose",
    "shuffle",
    "source_size",
    "weights",
    "replacement",
    "num_samples",
    "num_epochs",
    "batch_size",
    "drop_remainder",
    "stream_mode",
    "deterministic",
)
READERS = frozenset(
    {"h5py", "hdf5", "pyarrow", "pillow", "opencv-python", "opencv-python-headless", "array-record"}
)
"""Packages that read and decode; what they change is content, never an order or a draw."""

INERT = frozenset(
    """
    inert

    buffer buffer_size num_parallel_calls num_threads num_workers persistent_workers pin_memory
    prefetch prefetch_buffer_size prefetch_factor read_ahead threads workers

    checkpoint_dir ckpt_dir device epochs experiment experiment_name log_dir log_every log_interval
    log_level logging_dir logging_steps max_epochs max_steps num_epochs num_train_epochs output_dir
    project run_name save_dir save_every save_steps verbose wandb

    accumulate_grad_batches adam_beta1 adam_beta2 adam_epsilon amp betas bf16 clip_grad_norm fp16
    gradient_accumulation_steps gradient_clip_val grad_clip learning_rate loss lr lr_scheduler
    max_grad_norm max_lr min_lr momentum optim optimizer precision scheduler warmup warmup_ratio
    warmup_steps weight_decay
    """.split()  # noqa: SIM905 - read as a page
)
"""Entries of a configuration that change no sample: how fast a loader is, and in which order;
where results go; how a model is trained. `PERSISTENCE` is one, and is asked for by itself."""


def is_unexplained(comparison: Comparison, known: Known) -> bool:
    """Tell whether two runs differ in a way that no earlier rule has explained."""
    return not known.causes and comparison.verdict is not Verdict.EQUIVALENT


def declared_of(stream: Stream, name: str) -> Any:
    """Give a declared field; `UNSET` where it is undeclared, None where it was declared so."""
    return getattr(stream.declared, name)


def effective_seed(stream: Stream) -> Any:
    """Give the seed that was used, else the one that was given; `UNSET` where neither is known."""
    used = stream.declared.seed_used
    return stream.declared.seed if used is UNKNOWN or used is None else used


def environment_variable(stream: Stream, name: str) -> Any:
    """Give an environment variable; None where it was not set, `UNSET` where nobody knows."""
    declared = stream.declared.env
    if declared is not UNKNOWN and name in declared:
        return declared[name]
    return stream.environment.env.get(name, UNKNOWN)


def topology_differences(a: Stream, b: Stream) -> dict[str, JsonValue]:
    """Give the fields of the topology that both declare, and declare otherwise.

    Whether workers outlive an epoch is one of them, where both configurations tell it.
    """
    fields = _differences(a, b, TOPOLOGY)
    left, right = (_entry(stream, PERSISTENCE) for stream in (a, b))
    if UNKNOWN not in (left, right) and left != right:
        fields[PERSISTENCE] = [left, right]
    return fields


def _entry(stream: Stream, name: str) -> Any:
    config = stream.declared.config
    return UNKNOWN if config is UNKNOWN else config.get(name, UNKNOWN)


def declared_differences(a: Stream, b: Stream) -> dict[str, JsonValue]:
    """Give the other declared fields that both declare, and declare otherwise, in both values.

    Where other ranks share one global batch, the rows of each follow from their number.
    """
    fields = _differences(a, b, SETTINGS)
    if _global_batch(a) == _global_batch(b) != UNKNOWN:
        fields.pop("batch_size", None)
    return fields


def setting_differences(a: Stream, b: Stream) -> list[str]:
    """Name the declared fields that differ besides those of the topology."""
    names = list(declared_differences(a, b))
    return [*names, "config"] if config_differences(a, b) else names


def _global_batch(stream: Stream) -> Any:
    rows, ranks = declared_of(stream, "batch_size"), declared_of(stream, "world_size")
    return rows * ranks if isinstance(rows, int) and isinstance(ranks, int) else UNKNOWN


def config_differences(a: Stream, b: Stream) -> dict[str, JsonValue]:
    """Give the entries of the configuration that differ, in both values.

    Entries that a configuration lists under "inert" are left out, and those that are known to
    change no sample. Runs that declare no configuration have none that differs.
    """
    configs = [stream.declared.config for stream in (a, b)]
    left, right = ({} if config is UNKNOWN else config for config in configs)
    if UNKNOWN in configs:
        return {}
    inert = {*INERT, *_listed(left), *_listed(right)}
    return {
        name: [left.get(name), right.get(name)]
        for name in dict.fromkeys([*left, *right])
        if name not in inert and left.get(name, UNKNOWN) != right.get(name, UNKNOWN)
    }


def _listed(config: Mapping[str, JsonValue]) -> list[str]:
    names = config.get("inert", [])
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def version_differences(a: Stream, b: Stream) -> dict[str, JsonValue]:
    """Give the versions that differ, of packages that an order or a draw can depend on."""
    versions_a, versions_b = _versions(a), _versions(b)
    return {
        package: [version, versions_b[package]]
        for package, version in versions_a.items()
        if package.lower() not in READERS and versions_b.get(package, version) != version
    }


def are_drawn_together(stream: Stream) -> bool:
    """Tell whether the samples of a batch were drawn for at once, unless all are without draws."""
    if _entry(stream, "draws_of") != "batch":
        return False
    if "draws" not in stream.columns or not is_stored("draws", stream.level):
        return True
    draws = stream.table(["draws"])["draws"]
    return draws.null_count < len(draws)


def is_resumed(stream: Stream) -> bool:
    """Tell whether a run declares, or shows by a column, that it was taken up again."""
    declared = stream.declared
    if declared.resume is not UNKNOWN or declared.parent is not UNKNOWN:
        return True
    # A loader that can be taken up again has the column whether or not it was.
    return any(first_and_any_marked(stream))


def is_part_alone(stream: Stream) -> bool | None:
    """Tell whether a run that was taken up again holds nothing from before that; None if unknown.

    Marks say so, or else its header.
    """
    first, any_row = first_and_any_marked(stream)
    return first if any_row else is_told_alone(stream)


def is_told_alone(stream: Stream) -> bool | None:
    """Tell whether a header says that nothing from before the restart is there; None if it may be.

    A run has a parent, or was recorded while it ran; a log of neither may be of both parts.
    """
    recorded = stream.environment.platform is not None
    return True if recorded or stream.declared.parent is not UNKNOWN else None


def require_no_other(
    a: Stream, b: Stream, kind: str, others: Sequence[str], *, but: Sequence[str] = ()
) -> None:
    """Make sure that two runs differ in one kind of condition alone.

    Args:
        a: the baseline.
        b: the other run.
        kind: what the rule wants to blame.
        others: further conditions that were found to differ.
        but: settings that may differ, for the rule names them.

    Raises:
        CannotTell: they differ in a setting, by a restart, or in one of `others` as well.
    """
    found = [*others, *(name for name in setting_differences(a, b) if name not in but)]
    if is_resumed(a) or is_resumed(b):
        found.append("resume")
    if found:
        raise CannotTell(f"two runs that differ in {kind} alone, and not in {', '.join(found)}")


def require_equal_arguments(a: Stream, b: Stream) -> None:
    """Make sure that no entry of the configuration, which may ask for the difference, differs.

    Raises:
        CannotTell: one does.
    """
    if config_differences(a, b):
        raise CannotTell(EQUAL_ARGUMENTS)


def require_equal_seeds(a: Stream, b: Stream, *, random: bool) -> None:
    """Make sure that two runs are known to have used one seed, where anything is random.

    Raises:
        CannotTell: a seed is not known.
    """
    unshuffled = a.declared.shuffle is False and b.declared.shuffle is False
    seeds = [effective_seed(a), effective_seed(b)]
    if (random or not unshuffled) and (UNKNOWN in seeds or None in seeds):
        raise CannotTell("seed")


def equal_conditions(a: Stream, b: Stream) -> list[JsonValue]:
    """Name what both runs declare, and declare alike."""
    names = ("seed", *TOPOLOGY, *SETTINGS, "config")
    equal: list[JsonValue] = [
        name
        for name in names
        if declared_of(a, name) is not UNKNOWN and declared_of(a, name) == declared_of(b, name)
    ]
    versions = _versions(a)
    if versions and versions == _versions(b):
        equal.append("versions")
    return equal


def _differences(a: Stream, b: Stream, names: Sequence[str]) -> dict[str, JsonValue]:
    pairs = {name: (declared_of(a, name), declared_of(b, name)) for name in names}
    return {
        name: [left, right]
        for name, (left, right) in pairs.items()
        if left is not UNKNOWN and right is not UNKNOWN and left != right
    }


def _versions(stream: Stream) -> dict[str, str]:
    declared = stream.declared.versions
    return {**stream.environment.versions, **({} if declared is UNKNOWN else declared)}
