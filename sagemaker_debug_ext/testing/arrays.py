"""Equal arrays in different memory layouts."""

from __future__ import annotations

import numpy as np

from sagemaker_debug_ext.store.format.messages import Array


def layouts(array: Array) -> dict[str, Array]:
    """Return arrays that are equal to a two-dimensional array, or to one of its rows repeated.

    Args:
        array: Numbers of shape ``(N, M)`` in native byte order.

    Returns:
        Name of the layout → array.
    """
    read_only = array.copy()
    read_only.flags.writeable = False
    shifted = np.zeros(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
    shifted[...] = array
    fields = np.zeros(array.shape, [("before", np.uint8), ("numbers", array.dtype)])
    fields["numbers"] = array
    other_order = array.astype(array.dtype.newbyteorder("S"))
    return {
        "other byte order": other_order,
        "other byte order, one row": np.broadcast_to(other_order[:1], array.shape),
        "one row": np.broadcast_to(array[:1], array.shape),
        "one number": np.broadcast_to(array[0, 0], array.shape),
        "read-only": read_only,
        "backwards": array[::-1, ::-1],
        "every other": array[::2],
        "columns first": np.asfortranarray(array),
        "not aligned": shifted,
        "field": fields["numbers"],
    }
