"""What is made of a block: a sample.

samples     one after another: placed, clipped, checked, resized
placement   where frames and channels stand
ranges      clipped, checked, normalised
resize      at another size; fitting: by which way; interpolation: by which kernel
"""

from __future__ import annotations

__all__: list[str] = []
