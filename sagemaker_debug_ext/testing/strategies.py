"""Hypothesis strategies for the content of trials."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from sagemaker_debug_ext.vocabulary import ModeKeys

DTYPES = (
    "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool",
    "complex64", "complex128",
)  # fmt: skip
"""All dtypes of the format that NumPy supports natively."""

tensor_names: st.SearchStrategy[str] = st.text(
    st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=40
)
modes: st.SearchStrategy[ModeKeys] = st.sampled_from(ModeKeys)
steps: st.SearchStrategy[int] = st.integers(0, 10**12)
workers: st.SearchStrategy[str] = st.one_of(
    st.from_regex(r"[A-Za-z0-9.][A-Za-z0-9._-]{0,20}", fullmatch=True),
    st.from_regex(r"/job:[a-z]{1,6}/replica:[0-9]/task:[0-9]/device:[A-Z]{3}:[0-9]", fullmatch=True),
)


def arrays() -> st.SearchStrategy[np.ndarray[Any, Any]]:
    """Return a strategy for numeric arrays of zero to three dimensions, including empty ones and unusual layouts."""
    contiguous = st.sampled_from(DTYPES).flatmap(
        lambda dtype: npst.arrays(dtype, npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    )
    transposed = contiguous.map(lambda array: array.T)
    strided = contiguous.map(lambda array: array[::2] if array.ndim else array)
    return st.one_of(contiguous, transposed, strided)


def text_arrays() -> st.SearchStrategy[np.ndarray[Any, Any]]:
    """Return a strategy for one-dimensional string arrays without trailing NULs, which NumPy would drop."""
    texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
    return st.lists(texts, max_size=5).map(lambda items: np.array(items, dtype=str))
