"""Every example of the guide to capturing from PyTorch runs."""

import pytest
import torch

from support.guides import run_guide


@pytest.mark.filterwarnings("ignore")
def test_examples_when_run_one_after_the_other_then_do_what_they_say(tmp_path, monkeypatch):
    """A reader may paste the examples in order, and what they assert holds."""
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    run_guide("docs/capturing-pytorch.md", 7)
