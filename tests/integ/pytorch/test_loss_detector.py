"""Which tensors of a backward pass are losses."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch

from sagemaker_debug_ext.hooks.pytorch.loss_detector import LossDetector


@pytest.fixture
def detector():
    """A detector that notes the losses of each backward pass, between `attach` and `detach`."""
    found = []
    detector = LossDetector(lambda tensors: found.append([loss.item() for loss in detector.losses_among(tensors)]))
    detector.found = found
    detector.attach()
    yield detector
    detector.detach()


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


@pytest.mark.parametrize(
    "start",
    [
        pytest.param(lambda loss: loss.backward(), id="method"),
        pytest.param(lambda loss: torch.autograd.backward(tensors=loss), id="function"),
        pytest.param(lambda loss: torch.autograd.backward([loss]), id="list"),
        pytest.param(lambda loss: torch.autograd.backward(iter((loss,))), id="iterator"),
    ],
)
def test_losses_when_a_backward_pass_starts_from_a_number_then_it_is_one(detector, start):
    """However the script starts the pass, which runs as without the detector."""
    weight = leaf(2.0, 3.0)
    start((weight * weight).sum())
    assert detector.found == [[13.0]]
    assert weight.grad.tolist() == [4, 6]


@pytest.mark.parametrize(
    ("tensor", "expected"),
    [
        pytest.param(torch.tensor(3.0), [3.0], id="scalar"),
        pytest.param(torch.tensor([3.0]), [3.0], id="array of one number"),
        pytest.param(torch.ones(2), [], id="array"),
        pytest.param("edge", [], id="no tensor"),
    ],
)
def test_losses_among_when_not_one_number_then_it_is_none(tensor, expected):
    """A pass may start from a gradient edge, or from a whole output with a gradient given."""
    assert LossDetector(print).losses_among([tensor]) == expected


def test_exclude_when_a_loss_is_captured_already_then_it_is_left_out_until_forgotten(detector):
    """The output of a registered loss is saved under its own name; an equal number of another tensor is a loss."""
    first, second = leaf(2.0).sum(), leaf(2.0).sum()
    detector.exclude([first])
    torch.autograd.backward([first, second], retain_graph=True)
    detector.forget_excluded()
    torch.autograd.backward([first])
    assert detector.found == [[2.0], [2.0]]


def test_exclude_when_the_script_drops_a_tensor_then_it_is_freed(detector):
    """A loss holds the graph of its step."""
    loss = leaf(2.0).sum()
    detector.exclude([loss])
    reference = weakref.ref(loss)
    del loss
    gc.collect()
    assert reference() is None
    assert detector.losses_among([torch.tensor(1.0)]) == [1.0]


def test_detach_when_detectors_end_in_any_order_then_pytorch_has_its_own_function_again():
    """Several hooks may look for losses at once."""
    original = torch.autograd.backward
    detectors = [LossDetector(lambda tensors: None) for _ in range(3)]
    for detector in detectors:
        detector.attach()
    for number in (1, 2, 0):
        assert torch.autograd.backward is not original
        detectors[number].detach()
    assert torch.autograd.backward is original
