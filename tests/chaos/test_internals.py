"""Each function of hooks and store that a training runs raises at its first call, and at a later one.

Prints the counts. `--full` takes every function instead of every fifth, and trains with PyTorch as well.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import raising

pytestmark = [pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"), pytest.mark.timeout(3600)]


def test_run_when_an_unguarded_function_raises_then_it_is_counted(tmp_path):
    """What the program below looks for is found when it is there."""

    def train(folder, begin):
        begin()
        raising.ArrayHook(folder).close()
        return b"weights"

    sound = raising.run(train, tmp_path / "sound")
    assert (sound.raised, sound.weights, sound.has_raised) == (None, b"weights", False)
    creation = next(place for place in sound.calls if place.name == "open_out_dir")
    outcome = raising.run(train, tmp_path / "raising", (creation, 1))
    assert (outcome.raised, outcome.has_raised) == ("InjectedError('open_out_dir fails')", True)


@pytest.mark.parametrize("train", [raising.train_arrays, raising.train_torch])
def test_training_when_a_function_of_the_hook_raises_then_script_and_weights_are_the_same(
    tmp_path, capsys, is_full, seed, train
):
    if train is raising.train_torch:
        if not is_full:
            pytest.skip("part of --full")
        pytest.importorskip("torch")
    sound = raising.run(train, tmp_path / "sound")
    assert sound is not None
    assert (sound.raised, len(sound.calls) > 100) == (None, True)
    stride = 1 if is_full else 5
    targets = [
        (place, number)
        for index, (place, total) in enumerate(sorted(sound.calls.items()))
        if index % stride == seed % stride
        for number in sorted({1, (total + 1) // 2})
    ]
    raised, hung, changed, missed = [], [], [], 0
    for number, target in enumerate(targets):
        outcome = raising.run(train, tmp_path / str(number), target)
        if outcome is None:
            hung.append(target)
        elif outcome.raised is not None:
            raised.append((target, outcome.raised))
        elif outcome.weights != sound.weights:
            changed.append(target)
        else:
            missed += not outcome.has_raised
    with capsys.disabled():
        counts = {"raised": len(raised), "hung": len(hung), "other weights": len(changed), "not reached": missed}
        print(f"\n{train.__name__}: {len(sound.calls)} functions, {len(targets)} raising calls, {counts}")
    assert (raised, hung, changed) == ([], [], [])
    assert missed < 0.1 * len(targets)
