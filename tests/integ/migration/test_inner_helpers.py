"""Helpers inside smdebug that tests and containers import: configurations, claims and logs, with both libraries."""

import json
import logging

import pytest

pytestmark = pytest.mark.filterwarnings("ignore")  # the original warns of its dependencies

CONFIGURATION = {
    "LocalPath": "/tmp/job",
    "HookParameters": {"save_interval": "2", "save_all": "true", "include_workers": "all", "tensorboard_dir": "/tmp/b"},
    "CollectionConfigurations": [
        {"CollectionName": "weights", "CollectionParameters": {"save_histogram": "false", "include_regex": "a,b"}},
        {"CollectionName": "mine", "CollectionParameters": {"train.save_interval": "5", "reductions": "min,max"}},
    ],
}


@pytest.fixture
def config(library):
    """The library's module for hook configuration files."""
    return library.module("core.json_config")


@pytest.mark.parametrize("is_named", [True, False])
def test_hook_configuration_when_read_then_gives_the_arguments_of_the_hook(config, tmp_path, monkeypatch, is_named):
    """The file is the one given, or the one in the environment."""
    file = tmp_path / "hook.json"
    file.write_text(json.dumps(CONFIGURATION))
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(tmp_path / "none.json" if is_named else file))
    content = config.get_json_config_as_dict(json_config_path=str(file) if is_named else None)
    assert content == CONFIGURATION
    arguments = config.collect_hook_config_params(content)
    expected = {"out_dir": "/tmp/job", "save_all": True, "include_workers": "all", "tensorboard_dir": "/tmp/b"}
    assert {name: arguments[name] for name in expected} == expected
    assert config.get_include_collections(content) == ["weights", "mine"]


def test_hook_configuration_when_it_lists_no_collections_then_none_are_included(config):
    """The hook then has its default ones."""
    assert config.get_include_collections({"LocalPath": "/tmp/job"}) is None


def test_collections_when_configured_then_the_manager_has_their_settings(library, config):
    """A collection without a schedule of its own has that of the hook."""
    modes = library.module("core.modes").ModeKeys
    manager = library.module("core.collection_manager").CollectionManager()
    config.add_collections_to_manager(manager, CONFIGURATION, config.collect_hook_config_params(CONFIGURATION))
    weights, mine = manager.get("weights"), manager.get("mine")
    assert (weights.save_histogram, mine.save_histogram) == (False, True)
    assert {"a", "b"} <= set(weights.include_regex)
    assert weights.reduction_config is None
    assert sorted(mine.reduction_config.reductions) == ["max", "min"]
    saved = {
        name: [step for step in range(11) if manager.get(name).save_config.should_save_step(modes.TRAIN, step)]
        for name in ("weights", "mine")
    }
    assert saved == {"weights": [0, 2, 4, 6, 8, 10], "mine": [0, 5, 10]}


def test_configuration_file_when_missing_then_the_error_is_the_usual_one(config, tmp_path):
    """Scripts that run with and without a job catch it."""
    with pytest.raises(FileNotFoundError):
        config.get_json_config_as_dict(str(tmp_path / "none.json"))


@pytest.mark.parametrize(("name", "is_dir"), [("trial", True), ("trial/flag", False)])
def test_process_when_it_asks_for_a_path_first_then_it_alone_is_the_first(library, tmp_path, name, is_dir):
    """Later calls are not, from whichever process; on S3 all are."""
    is_first_process = library.module("core.utils").is_first_process
    path = str(tmp_path / name)
    assert [is_first_process(path, is_dir=is_dir) for _ in range(3)] == [True, False, False]
    assert [file.name for file in tmp_path.rglob("*") if file.is_file()] == ["claim.smd" if is_dir else "flag"]
    assert [is_first_process("s3://bucket/trial") for _ in range(2)] == [True, True]


def test_message_when_logged_again_and_again_then_it_comes_three_times(library):
    """The filter belongs to the logger that scripts get."""
    [repeats] = [
        given
        for given in library.module("core.utils").get_logger().filters
        if isinstance(given, library.module("core.logger").DuplicateLogFilter)
    ]
    records = [logging.makeLogRecord({"msg": message}) for message in ("one", "two") for _ in range(5)]
    assert [bool(repeats.filter(record)) for record in records] == [True, True, True, False, False] * 2


def test_index_files_when_many_were_read_then_early_ones_are_forgotten(library):
    """Those from the last token on are remembered, because they are listed again."""
    cache = library.module("core.index_reader").ReadIndexFilesCache()
    cache.cache_limit = 3
    for name in "abcd":
        cache.add(name, None)
    assert [cache.has_not_read(name) for name in "abcde"] == [False, False, False, False, True]
    cache.add("e", "c")
    assert sorted(cache.lookup_set) == ["c", "d", "e"]


def test_frameworks_when_asked_for_then_their_hooks_are_there(library):
    """Names of frameworks are those of the original; others have no hook."""
    utils = library.module("core.utils")
    assert {framework.name: framework.value for framework in utils.FRAMEWORK} == {
        "PYTORCH": "pytorch",
        "TENSORFLOW": "tensorflow",
        "MXNET": "mxnet",
        "XGBOOST": "xgboost",
    }
    assert utils.is_framework_version_supported(utils.FRAMEWORK.XGBOOST)
    with pytest.raises(NotImplementedError):
        utils.is_framework_version_supported("caffe")


def test_hook_when_a_test_has_reset_the_checks_then_is_asked_for_as_before(library, monkeypatch, tmp_path):
    """Fixtures of tests reset them; the switch that turns hooks off is a variable of the environment."""
    pytest.importorskip("torch")
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(tmp_path / "none.json"))
    monkeypatch.setenv("USE_SMDEBUG", "true")
    validator, smd = library.module("core.config_validator"), library.module("pytorch")
    smd.del_hook()
    validator.reset_config_validator()
    assert validator.is_framework_version_supported(validator.FRAMEWORK.MXNET)
    assert smd.get_hook() is None


def test_use_of_a_report_when_opted_out_then_is_not_reported(library, monkeypatch):
    """The address of the original names region and job."""
    monkeypatch.delenv("PAPERMILL_EXECUTION", raising=False)
    utils = library.module("core.utils")
    job = "arn:aws:sagemaker:eu-west-1:012345678910:processing-job/report"
    assert utils.get_aws_region_from_processing_job_arn(job) == "eu-west-1"
    address = utils._prepare_telemetry_url(job)
    assert address.startswith("https://")
    assert "eu-west-1" in address
    assert address.endswith(f"/?x-artifact-id=profiler_report_v1&x-arn={job}")
    assert utils.setup_profiler_report(job, opt_out=True) is None


def test_use_of_a_report_when_not_opted_out_then_is_not_reported_either(monkeypatch):
    """Here no connection is opened."""
    from sagemaker_debug_ext.core.utils import setup_profiler_report

    opened = []
    monkeypatch.setattr("socket.socket.connect", lambda self, address: opened.append(address))
    setup_profiler_report("arn:aws:sagemaker:eu-west-1:012345678910:processing-job/report")
    assert opened == []


@pytest.mark.parametrize(
    ("content", "is_enabled", "has_python"),
    [
        (None, False, False),
        ({"ProfilingParameters": {}}, False, False),
        ({"ProfilingParameters": {"LocalPath": "/tmp/p"}, "DisableProfiler": True}, False, False),
        ({"ProfilingParameters": {"LocalPath": "/tmp/p"}}, True, False),
        ({"ProfilingParameters": {"PythonProfilingConfig": '{"StartStep": 3}'}}, True, True),
    ],
)
def test_profiler_configuration_when_it_changes_then_is_read_again(
    library, tmp_path, monkeypatch, content, is_enabled, has_python
):
    """The file is the one in the environment; without parameters nothing is profiled."""
    file = tmp_path / "profilerconfig.json"
    monkeypatch.setenv("SMPROFILER_CONFIG_PATH", str(file))
    parser = library.module("profiler.profiler_config_parser").ProfilerConfigParser()
    assert (parser.profiling_enabled, parser.config) == (False, None)
    if content is not None:
        file.write_text(json.dumps(content))
    parser.load_config()
    assert (parser.profiling_enabled, parser.is_python_profiling_enabled()) == (is_enabled, has_python)
    assert (parser.config is not None) == is_enabled
