"""An MXNet that cannot be imported is explained before a script goes any further."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

BROKEN = {
    "numpy": ("import numpy\nnumpy.no_longer_there", "SMDebugRuntimeError: .*one before 1.24 .*no_longer_there"),
    "library": ("raise OSError('libquadmath.so.0: cannot open')", "SMDebugRuntimeError: .*libquadmath0 .*cannot open"),
    "missing": ("raise ModuleNotFoundError(name='mxnet')", "MissingDependencyError: .*mxnet"),
}


@pytest.mark.parametrize(("content", "expected"), BROKEN.values(), ids=BROKEN)
def test_import_when_mxnet_does_not_work_here_then_says_what_it_needs(tmp_path, content, expected):
    """The reason, and what to install."""
    (tmp_path / "mxnet.py").write_text(content)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    ran = subprocess.run(
        [sys.executable, "-c", "import sagemaker_debug_ext.mxnet"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert ran.returncode == 1
    assert re.search(expected, ran.stderr.splitlines()[-1]), ran.stderr
