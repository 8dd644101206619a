"""`migration.table`: modules and names of smdebug and the SDK that have no file here."""

import importlib
import importlib.util
import pickle
import re
import subprocess
import sys

import pytest

from sagemaker_debug_ext.migration import table

PACKAGE = "sagemaker_debug_ext"


def test_module_without_a_file_when_imported_then_it_offers_the_names_of_their_homes():
    """Both forms of import work, and the names are those of the package itself."""
    import sagemaker_debug_ext.metrics_config
    from sagemaker_debug_ext.metrics_config import StepRange

    assert sagemaker_debug_ext.metrics_config.StepRange is StepRange
    assert StepRange.__module__ == f"{PACKAGE}.config.profiler"
    assert "StepRange" in dir(sagemaker_debug_ext.metrics_config)
    assert pickle.loads(pickle.dumps(StepRange(1, 2))) == StepRange(1, 2)


def test_all_names_when_imported_by_star_then_they_are_there():
    """`from module import *` takes what is there."""
    scope = {}
    exec(f"from {PACKAGE}.core.config_constants import *", scope)
    assert scope["DEFAULT_WORKER_NAME"] == "worker_0"


def test_module_when_asked_for_its_spec_then_it_is_found_without_being_imported():
    """Tools such as the alias look modules up first."""
    assert importlib.util.find_spec(f"{PACKAGE}.trials.utils") is not None
    assert importlib.util.find_spec(f"{PACKAGE}.trials.no_such_module") is None


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("from sagemaker_debug_ext.core.modes import MODE", "cannot import name 'MODE'"),
        ("from sagemaker_debug_ext.core.collection import NON_REDUCTION_COLLECTIONS", "NON_REDUCTION_COLLECTIONS does"),
        ("from sagemaker_debug_ext.core.access_layer import RULE_JOB_STOP_SIGNAL_FILENAME", "open_backend"),
        ("from sagemaker_debug_ext.core.hook import NON_HISTOGRAM_COLLECTIONS", "nothing here needs it"),
        ("import sagemaker_debug_ext.core.tfevent.proto.summary_pb2", "FileWriter of sagemaker_debug_ext.core.writer"),
        ("from sagemaker_debug_ext.core.hook_utils import get_tensorboard_dir", "use Hook.create_from_json_file"),
        ("from sagemaker_debug_ext.utils import is_valid_regex", "catch SMDebugValueError"),
        ("from sagemaker_debug_ext.rules.action.message_action import MessageAction", "use Actions"),
    ],
)
def test_import_when_the_name_is_gone_then_the_error_says_what_to_use(statement, message):
    """A name that never existed fails as in any module."""
    with pytest.raises(ImportError, match=message):
        exec(statement)


@pytest.mark.parametrize(
    ("module", "name", "home"),
    [
        ("core.json_config", "DEFAULT_RESOURCE_CONFIG_FILE", "core.config_constants"),
        ("core.hook", "ModeKeys", "core.modes"),
        ("core.collection", "SaveConfig", ""),
        ("core.access_layer.utils", "S3Handler", "core.access_layer.s3handler"),
        ("core.tensor", "ModeKeys", "core.modes"),
    ],
)
def test_name_when_the_original_imports_it_into_a_module_then_it_is_there_too(module, name, home):
    """Scripts import a name from wherever they have found it."""
    found = getattr(importlib.import_module(f"{PACKAGE}.{module}"), name)
    assert found is getattr(importlib.import_module(f"{PACKAGE}.{home}".rstrip(".")), name)


def test_attribute_when_it_is_gone_then_the_error_says_what_to_use():
    """`hasattr` answers no."""
    module = importlib.import_module(f"{PACKAGE}.core.utils")
    with pytest.raises(AttributeError, match="does not exist: it was a helper inside smdebug"):
        _ = module.flatten
    assert not hasattr(module, "flatten")


def test_attribute_when_it_is_misspelt_then_the_nearest_is_named():
    """The table knows what the module offers."""
    with pytest.raises(AttributeError, match="did you mean 'DEFAULT_WORKER_NAME'"):
        table.load(f"{PACKAGE}.core.config_constants", "DEFAULT_WORKR_NAME")


def test_package_when_imported_then_the_table_is_not_read():
    """Only a name without a file costs the reading."""
    program = f"import {PACKAGE}.core.writer, {PACKAGE}.trials, sys; print('{PACKAGE}.migration.table' in sys.modules)"
    output = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    assert output.strip() == "False"


def test_module_without_a_file_when_imported_then_its_names_cost_nothing_until_used():
    """Their homes are loaded on the first use, and no framework before."""
    program = """
import sys
import sagemaker_debug_ext.metrics_config, sagemaker_debug_ext.core.access_layer.utils
homes = {"sagemaker_debug_ext.config.profiler", "sagemaker_debug_ext.core.training_end", "boto3", "torch"}
print(sorted(homes & set(sys.modules)))
sagemaker_debug_ext.metrics_config.StepRange
print(sorted(homes & set(sys.modules)))
"""
    output = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    assert output.splitlines() == ["[]", "['sagemaker_debug_ext.config.profiler']"]


def test_submodule_when_its_package_is_imported_then_is_an_attribute_of_it():
    """Scripts write `sagemaker_debug_ext.metrics_config.StepRange` where the original has loaded the submodule."""
    program = f"""
import {PACKAGE} as package
for path in ("metrics_config.StepRange", "exceptions.NoMoreData", "core.modes.ModeKeys", "core.config_constants",
             "trials.trial.Trial", "trials.utils.create_trial", "rules.rule.Rule", "rules.action.action.Actions",
             "rules.req_tensors", "profiler.profiler_constants", "profiler_config.ProfilerConfig"):
    found = package
    for name in path.split("."):
        found = getattr(found, name)
print(hasattr(package, "no_such_module"), hasattr(package.core, "tfrecord"))
"""
    output = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    assert output.strip() == "False False"


def test_reasons_when_read_then_each_says_what_to_use_or_why_nothing_is_needed():
    """A sentence without a way out is of no use."""
    rows = table.read_table()
    for reason in {*rows.gone.values(), *(text for names in rows.modules.values() for text in names.gone.values())}:
        assert re.search(r"\b(use|pass|read|catch|compare|nothing here needs)\b", reason)
