"""The small recorder: one file, carried into environments that hold other versions.

`recorder.py` is run there by its path, by any Python from 3.9 on, with nothing of
detloader's and no package but NumPy. What it sends back is read, digested and sealed
here, by `detloader.audits.environments`.
"""

from __future__ import annotations

__all__: list[str] = []
