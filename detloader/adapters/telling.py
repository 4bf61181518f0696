"""Digests of content in which a record's ID stands as the run tells it.

Below the root `/data`, a sample `{"path": "/data/1.png", "label": 1}` with `path` for its ID has
the content of `{"path": "1.png", "label": 1}`, on every machine; under a key, that of the ID's
keyed digest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from detloader.adapters.on_host import on_host
from detloader.manifest.keyed import IdHash
from detloader.manifest.relative import IdRoot
from detloader.manifest.rounding import Digester

__all__ = ["TellingDigester"]


@dataclass(frozen=True, kw_only=True)
class TellingDigester(Digester):
    """Digests samples and batches with their IDs as they are told; may be pickled.

    Attributes:
        key: of an element that holds its ID, or those of its rows.
        root: folder that IDs are told relative to; None leaves them.
        keyed: key of the digests that IDs are told as; None tells the IDs.
    """

    key: str
    root: IdRoot | None
    keyed: IdHash | None

    def samples(self, samples: Iterable[object]) -> NDArray[Any]:
        """Return the digests of samples: uint64, or 32 bytes each; shape (samples,).

        Raises:
            UndigestibleError: a leaf has no bytes of its own.
        """
        return super().samples(map(self._with_id_told, samples))

    def batch(self, batch: object) -> NDArray[Any]:
        """Return the digest of each row of a batch: uint64, or 32 bytes each; shape (rows,).

        Raises:
            UndigestibleError: a leaf has no bytes of its own, or not as many rows as another.
        """
        found = _as_mapping(batch)
        ids = _plain(found[self.key]) if self._has_id(found) else None
        if not isinstance(ids, list | tuple):
            return super().batch(batch)
        told = [self._told(id_) for id_ in ids]
        return super().batch(batch if told == [*ids] else {**found, self.key: told})

    def _with_id_told(self, sample: object) -> Any:
        found = _as_mapping(sample)
        if not self._has_id(found):
            return sample
        id_ = _plain(found[self.key])
        told = self._told(id_)
        # Plain numbers are of another type than arrays of them.
        return sample if told == id_ else {**found, self.key: told}

    def _has_id(self, element: Any) -> bool:
        return isinstance(element, Mapping) and self.key in element

    def _told(self, id_: Any) -> Any:
        """Return an ID as it is told, one of bytes as bytes; what is no ID stays."""
        text = id_.decode() if isinstance(id_, bytes) else id_
        if self.root is not None and isinstance(text, str):
            text = self.root.tell(text)
        if self.keyed is not None and isinstance(text, int | str):
            return self.keyed.digest(text)
        return text.encode() if isinstance(id_, bytes) else text


def _as_mapping(element: Any) -> Any:
    """Return the fields of a structured array, which are digested as a mapping's."""
    names = element.dtype.names if isinstance(element, np.ndarray | np.void) else None
    return element if names is None else {name: element[name] for name in names}


def _plain(leaf: Any) -> Any:
    if isinstance(leaf, int | str | bytes | list | tuple):
        return leaf
    return np.asarray(on_host(leaf)).tolist()
