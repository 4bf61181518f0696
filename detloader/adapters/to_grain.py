"""Records a `to_grain` stream.

Which record stood where is a pure function of the plan: it is computed, not logged. Only
what a function cannot tell, the draws taken and the content, comes from a witness that
travels with each element.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import grain
import numpy as np
import pyarrow as pa

from detloader.adapters import Fit
from detloader.adapters.request import Request
from detloader.errors import UsageError
from detloader.fused import BatchStream, Witness
from detloader.manifest.schema import Level
from detloader.randomness import digest_draws, stream_key
from detloader.recorder import Recorder

if TYPE_CHECKING:
    from types import TracebackType

    from numpy.typing import NDArray

    from detloader.plan import Plan

__all__ = ["suits", "wrap"]
