"""Names of tensors are shortened by the path that all of them share."""

from __future__ import annotations

import pytest

from sagemaker_debug_ext.looking.names import shared_path


@pytest.mark.parametrize(
    ("names", "path"),
    [
        ([], ""),
        (["net.fc1.weight"], "net.fc1.weight"),
        (["net.fc1.weight", "net.fc1.weight"], "net.fc1.weight"),
        (["net.fc1.weight", "net.fc1.bias", "net.fc10.bias"], "net."),
        (["net.fc1.weight", "net.fc1.bias"], "net.fc1."),
        (["gradient/net_a", "gradient/net_b"], "gradient/net_"),
        (["net.fc", "net.fc.weight"], "net."),
        (["net.", "net.a"], "net."),
        (["a", "b"], ""),
    ],
)
def test_shared_path_when_names_begin_alike_then_up_to_the_last_separator_that_all_have(names, path):
    """No part of a name is cut in the middle; a single name stays whole."""
    assert shared_path(names) == path
