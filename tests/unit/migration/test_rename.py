"""`migration.rename`: what is renamed in Python source, and what is left to the user."""

import pytest

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.migration.rename import Change, rename_source

NEW = "sagemaker_debug_ext"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("import smdebug.pytorch as smd\n", f"import {NEW}.pytorch as smd\n"),
        ("from smdebug import modes\n", f"from {NEW} import modes\n"),
        ("import smdebug\nprint(smdebug.modes)\n", f"import {NEW}\nprint({NEW}.modes)\n"),
        ("import smdebug.trials, os\n", f"import {NEW}.trials, os\n"),
        ("from sagemaker.debugger import Rule, rule_configs\n", f"from {NEW} import Rule, rule_configs\n"),
        (
            "from sagemaker.debugger.metrics_config import (\n    StepRange,\n)\n",
            f"from {NEW}.metrics_config import (\n    StepRange,\n)\n",
        ),
        ("import sagemaker.debugger as d\nd.Rule\n", f"import {NEW} as d\nd.Rule\n"),
        ("from sagemaker import debugger\n", f"import {NEW} as debugger\n"),
        ("from sagemaker import debugger as d; d.Rule\n", f"import {NEW} as d; d.Rule\n"),
        ("import sagemaker\nsagemaker.debugger.Rule\n", f"import sagemaker, {NEW}\n{NEW}.Rule\n"),
        ("import boto3, sagemaker\nx = sagemaker.debugger.Rule\n", f"import boto3, sagemaker, {NEW}\nx = {NEW}.Rule\n"),
        ("from smdebug_rulesconfig import StopTraining\n", f"from {NEW}.rule_configs import StopTraining\n"),
        ("import smdebug_rulesconfig as rc\n", f"import {NEW}.rule_configs as rc\n"),
        ("from sagemaker import ProfilerConfig\n", f"from {NEW} import ProfilerConfig\n"),
        (
            "from sagemaker import (\n    Profiler as P,\n    ProfilerConfig,\n)\n",
            f"from {NEW} import (\n    Profiler as P,\n    ProfilerConfig,\n)\n",
        ),
        ("if x:\n\timport smdebug.xgboost\r\n", f"if x:\n\timport {NEW}.xgboost\r\n"),
        ("x = 1\n\f\nimport smdebug.trials\n", f"x = 1\n\f\nimport {NEW}.trials\n"),
    ],
)
def test_code_when_it_names_the_originals_then_is_renamed(old, new):
    """The rest of the line, and line ends, stay as they are."""
    renamed = rename_source(old)
    assert renamed.source == new
    assert renamed.findings == ()


@pytest.mark.parametrize(
    "source",
    [
        "# import smdebug\n",
        "x.smdebug\n",
        "f(smdebug=1)\n",
        "from . import smdebug\n",
        "from .smdebug import x\n",
        "my_smdebug = 1\n",
        "import sagemaker\nsagemaker.Session()\n",
        "estimator.sagemaker.debugger\n",
        "'''Uses smdebug.'''\n",
        "",
    ],
)
def test_code_when_it_only_looks_alike_then_stays(source):
    """Comments, texts, attributes, arguments and modules beside the script are not the package."""
    renamed = rename_source(source)
    assert (renamed.source, renamed.changes, renamed.findings) == (source, (), ())


@pytest.mark.parametrize(
    ("source", "line", "text"),
    [
        (
            "\nfrom smdebug.core.tfevent.util import make_tensor_proto\n",
            2,
            "does not exist: the package reads and writes",
        ),
        ("from smdebug.core.utils import (\n    is_s3,\n    load_json_as_dict,\n)\n", 1, "nothing here needs it"),
        ("import smdebug.core.utils as u\n\nu.load_json_as_dict\n", 3, "utils.load_json_as_dict does not exist"),
        ("import smdebug.tensorflow as smd\nhook = smd.Hook('x')\n", 2, "use KerasHook"),
        (
            "import sagemaker.debugger\nx = sagemaker.debugger.utils.is_valid_regex\n",
            2,
            "utils.is_valid_regex does not",
        ),
        ("mock.patch('smdebug.pytorch.Hook')\n", 1, "a text names smdebug.pytorch"),
        ("f(f'{x} sagemaker.debugger.Rule')\n", 1, "a text names sagemaker.debugger.Rule"),
        ("from sagemaker import Session, debugger\n", 1, "imported together with other names"),
        ("from sagemaker import Session, Profiler\n", 1, "Profiler is imported together with other names"),
    ],
)
def test_code_when_a_name_is_gone_or_unclear_then_is_reported_with_its_line(source, line, text):
    """The sentence of the table says what to use."""
    [finding] = rename_source(source).findings
    assert finding.line == line
    assert text in finding.text


def test_changes_when_listed_then_name_line_column_and_both_texts():
    """Editors jump there."""
    renamed = rename_source("import os\nx = 1; import smdebug.trials\n")
    assert renamed.changes == (Change(2, 14, "smdebug", NEW),)


def test_source_when_renamed_again_then_stays():
    """The command may run twice."""
    once = rename_source("import smdebug.pytorch as smd\nfrom sagemaker import debugger\n").source
    assert rename_source(once).source == once


@pytest.mark.parametrize("source", ["print 'x'\n", "def f(:\n", "x = (\n"])
def test_source_when_it_is_not_python_then_is_refused(source):
    """Nothing is guessed."""
    with pytest.raises(SMDebugValueError, match="not Python"):
        rename_source(source)
