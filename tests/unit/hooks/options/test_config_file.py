from __future__ import annotations

import json
import logging
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext import modes
from sagemaker_debug_ext.config.hook_options import HookOptions
from sagemaker_debug_ext.config.reductions import ReductionConfig
from sagemaker_debug_ext.config.saving import SAVE_KEYS, SaveConfigMode
from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError
from sagemaker_debug_ext.hooks.base import BaseHook as Hook
from sagemaker_debug_ext.hooks.options.config_file import (
    HookConfiguration,
    load_configuration,
    parse_configuration,
    read_configuration,
)
from sagemaker_debug_ext.store.backends import MemoryBackend
from sagemaker_debug_ext.vocabulary import ModeKeys

TRAIN, EVAL, PREDICT, GLOBAL = ModeKeys


def parse(hook=None, *collections, **top):
    entries = [{"CollectionName": name, "CollectionParameters": parameters} for name, parameters in collections]
    document = {"S3OutputPath": "s3://bucket/prefix", "LocalPath": "out", **top}
    document |= {"HookParameters": hook, "CollectionConfigurations": entries}
    return parse_configuration(document, "hook.json")


class TestParse:
    def test_parse_when_file_is_empty_then_everything_has_its_default(self):
        """An empty object is a valid configuration."""
        assert parse_configuration({}, "hook.json") == HookConfiguration()
        assert HookConfiguration().options.out_dir == "/opt/ml/output/tensors"
        assert HookConfiguration().options.save_config.get_save_config(GLOBAL).save_interval == 500

    def test_parse_when_members_are_null_then_they_count_as_missing(self):
        """SageMaker writes null for what was not given."""
        document = {"LocalPath": None, "HookParameters": None, "CollectionConfigurations": None}
        assert parse_configuration(document, "hook.json") == HookConfiguration()
        assert parse({"save_interval": None}, ("weights", None)).collections[0].save_config is None

    def test_parse_when_keys_compete_then_the_more_special_one_wins(self):
        """Built-in default, hook, hook for the mode, collection, collection for the mode: the last one given counts."""
        configuration = parse(
            {
                "save_interval": "100",
                "train.save_interval": "10",
                "eval.save_steps": "1, 2,3",
                "start_step": "5",
                "end_step": "50",
            },
            ("weights", {"save_interval": "7", "eval.end_step": "9"}),
            ("losses", {}),
        )
        weights, losses = configuration.collections
        assert weights.save_config.get_save_config(TRAIN) == SaveConfigMode(7, 5, 50)
        assert weights.save_config.get_save_config(EVAL) == SaveConfigMode(7, 5, 9, [1, 2, 3])
        assert losses.save_config is None
        assert configuration.options.save_config.get_save_config(TRAIN) == SaveConfigMode(10, 5, 50)
        assert configuration.options.save_config.get_save_config(GLOBAL) == SaveConfigMode(100, 5, 50)

    @pytest.mark.parametrize("true", [True, "true", "True", " TRUE "])
    def test_parse_when_boolean_is_text_then_is_understood(self, true):
        """SageMaker hands parameters through as text; every boolean parameter can be given so."""
        flags = {"save_all": true, "dry_run": true, "export_tensorboard": true}
        reduced = {"reductions": "", "save_raw_tensor": true, "save_shape": true}
        configuration = parse({**flags, **reduced}, ("weights", {**reduced, "save_histogram": true}))
        assert configuration.options.save_all
        assert configuration.options.dry_run
        assert configuration.options.export_tensorboard
        assert configuration.options.reduction_config == ReductionConfig(save_raw_tensor=True, save_shape=True)
        assert configuration.collections[0].reduction_config == configuration.options.reduction_config
        assert configuration.collections[0].save_histogram is True

    def test_parse_when_numbers_are_numbers_then_means_the_same_as_text(self):
        """Hand-written files may use JSON's own numbers and lists."""
        text = parse({"save_interval": "4", "save_steps": "1,2", "include_regex": "a,b", "reductions": "min,max"})
        typed = parse(
            {"save_interval": 4, "save_steps": [1, 2], "include_regex": ["a", "b"], "reductions": ["min", "max"]}
        )
        assert typed == text

    def test_parse_when_reductions_are_missing_then_flags_beside_them_do_nothing(self):
        """Without `reductions` there is no reduction setting, and a warning says why."""
        configuration = parse({"save_raw_tensor": "true"})
        assert configuration.options.reduction_config is None
        assert "'save_raw_tensor' counts only beside 'reductions'" in configuration.warnings[0]

    def test_parse_when_patterns_are_given_then_are_split_at_commas(self):
        """Patterns come as one text."""
        configuration = parse({"include_regex": "relu, fc$"}, ("mine", {"include_regex": "a,,b"}))
        assert configuration.options.include_regex == ("relu", "fc$")
        assert configuration.collections[0].include_regex == ("a", "b")

    def test_parse_when_only_a_tensorboard_folder_is_given_then_output_is_wanted(self):
        """A folder alone asks for the output."""
        assert parse({"tensorboard_dir": "tb"}).options.writes_tensorboard

    def test_parse_when_limits_are_given_then_they_are_the_arguments_of_the_hook(self):
        """What bounds the hook can be set without a change of the script."""
        given = {
            "memory_limit_bytes": "1000",
            "when_full": "spill",
            "spill_limit_bytes": "5000",
            "flight_recorder": "7",
        }
        configuration = parse(given)
        assert (configuration.options.memory_limit_bytes, configuration.options.when_full) == (1000, "spill")
        assert (configuration.options.spill_limit_bytes, configuration.options.flight_recorder) == (5000, 7)

    def test_parse_when_a_collection_is_listed_twice_then_patterns_add_up_and_the_last_settings_count(self):
        """Estimators of the SDK send a collection of the hook and the same one of a rule; a warning says so."""
        configuration = parse(None, ("a", {"include_regex": "x", "save_interval": "3"}), ("a", {"save_interval": "5"}))
        assert [item.include_regex for item in configuration.collections] == [("x",)]
        assert configuration.collections[0].save_config.get_save_config(modes.TRAIN).save_interval == 5
        assert "collection 'a' is listed 2 times" in configuration.warnings[0]


class TestMistakes:
    def test_parse_when_keys_are_unknown_then_one_warning_names_the_nearest(self, caplog):
        """A misspelt parameter does not stop a job; one line tells what was meant, when a hook is made, not before."""
        collection = ("weights", {"reduction": "min", "nonsense": "1"})
        with caplog.at_level(logging.WARNING):
            configuration = parse({"save_intervall": "5"}, collection, HookParams={})
            assert not caplog.records
            configuration.log_warnings()
            parse({"save_interval": "5"}).log_warnings()
        assert len(caplog.records) == 1
        text = caplog.text
        assert "'save_intervall' is not known; did you mean 'save_interval'?" in text
        assert "'weights': 'reduction' is not known; did you mean 'reductions'?" in text
        assert "'HookParams' is not known; did you mean 'HookParameters'?" in text
        assert "'nonsense' is not known" in text

    @pytest.mark.parametrize(
        ("parameter", "value", "expected"),
        [
            ("save_interval", "0", "must be a whole number, at least 1 (got '0')"),
            ("save_interval", "10.7", "must be a whole number, at least 1 (got '10.7')"),
            ("save_interval", 10.7, "must be a whole number, at least 1 (got 10.7)"),
            ("save_interval", True, "must be a whole number"),
            ("train.start_step", "-1", "must be a whole number, at least 0 (got '-1')"),
            ("eval.end_step", "soon", "must be a whole number"),
            ("save_steps", "1,x", "must be a whole number, at least 0 (got 'x')"),
            ("save_steps", {}, "must be a comma-separated text"),
            ("reductions", "median", "median"),
            ("reductions", "l1_nrm", "did you mean 'l1_norm'"),
            ("save_raw_tensor", "yes", "must be true or false (got 'yes')"),
            ("include_regex", "(", "must hold regular expressions"),
            ("save_histogram", 1, "must be true or false (got 1)"),
        ],
    )
    def test_parse_when_value_has_no_meaning_then_error_names_its_place(self, parameter, value, expected):
        """The error names file, collection, parameter and value."""
        with pytest.raises(SMDebugValueError) as caught:
            parse(None, ("weights", {parameter: value}))
        assert str(caught.value).startswith(f"hook.json: CollectionConfigurations[0] 'weights': {parameter}: ")
        assert expected in str(caught.value)

    @pytest.mark.parametrize(("parameter", "value"), [("when_full", "wait"), ("memory_limit_bytes", "0")])
    def test_parse_when_a_limit_has_no_meaning_then_error_names_its_place(self, parameter, value):
        """The hook's own parameters are checked like those of its collections."""
        with pytest.raises(SMDebugValueError, match=f"HookParameters: {parameter}: must be .*got '{value}'"):
            parse({parameter: value})

    @pytest.mark.parametrize(
        ("document", "expected"),
        [
            ({"HookParameters": []}, "hook.json: HookParameters: must be an object"),
            ({"HookParameters": {"save_all": "no"}}, "hook.json: HookParameters: save_all: must be true or false"),
            ({"CollectionConfigurations": {}}, "hook.json: CollectionConfigurations: must be a list"),
            ({"CollectionConfigurations": ["a"]}, "[0]: must be an object with a CollectionName (got 'a')"),
            ({"CollectionConfigurations": [{"Name": "a"}]}, "must be an object with a CollectionName"),
            ({"LocalPath": 5}, "hook.json: LocalPath: must be a text (got 5)"),
        ],
    )
    def test_parse_when_shape_is_wrong_then_error_names_its_place(self, document, expected):
        """A member of the wrong kind is an error that says which."""
        with pytest.raises(SMDebugValueError) as caught:
            parse_configuration(document, "hook.json")
        assert expected in str(caught.value)


class TestRead:
    @pytest.fixture
    def write(self, tmp_path):
        def write_file(name, content):
            path = tmp_path / name
            path.write_text(content if isinstance(content, str) else json.dumps(content))
            return str(path)

        return write_file

    def test_read_when_path_is_not_given_then_environment_says_where(self, write):
        """The environment variable names the file; an argument goes first."""
        first, second = write("a.json", {"LocalPath": "a"}), write("b.json", {"LocalPath": "b"})
        environ = {"SMDEBUG_CONFIG_FILE_PATH": first}
        assert read_configuration(None, environ).options.out_dir == "a"
        assert read_configuration(second, environ).options.out_dir == "b"

    def test_read_when_file_is_missing_then_is_file_not_found(self, tmp_path):
        """A missing file is the built-in error, which scripts catch; the text says how to name another."""
        with pytest.raises(FileNotFoundError, match=r"SMDEBUG_CONFIG_FILE_PATH.*none\.json"):
            read_configuration(str(tmp_path / "none.json"), {})

    def test_read_when_the_job_spec_is_damaged_then_the_usual_folder_is_left_alone(self, caplog):
        """It may hold the trial of another job, which would end this one; training goes on."""
        for _ in range(2):
            hook = Hook.create_from_configuration(read_configuration(None, {"SAGEMAKER_DEBUG_EXT_JOB_0": "1.1.0.x"}))
            assert isinstance(hook.backend, MemoryBackend)
            hook.close()
        assert "nothing is saved, training goes on: environment variable" in caplog.text

    def test_read_when_path_is_no_path_then_error_names_it(self):
        """A number is no file's name."""
        with pytest.raises(SMDebugTypeError, match=r"^json_file_path must be a path or None \(got 5\)$"):
            read_configuration(5, {})

    @pytest.mark.parametrize("content", ["{", "[1]", '"text"', "\xff"])
    def test_read_when_file_is_no_object_then_error_names_it(self, write, content):
        """The error names the file."""
        with pytest.raises(SMDebugValueError, match=r"hook\.json: must hold"):
            read_configuration(write("hook.json", content), {})

    @pytest.mark.parametrize("path", [".", "hook.json", "hook.json/below"])
    def test_read_when_file_cannot_be_read_then_error_names_it(self, write, tmp_path, monkeypatch, path):
        """A folder, a path through a file, or a loop of links, which not even root may read."""
        write("hook.json", "{}")
        if path == "hook.json":
            (tmp_path / path).unlink()
            (tmp_path / path).symlink_to(path)
        monkeypatch.chdir(tmp_path)
        with pytest.raises(SMDebugValueError, match=rf"^{re.escape(path)}: must be a file that can be read \(.+\)$"):
            read_configuration(path, {})

    def test_read_when_inside_a_job_then_tensorboard_has_its_own_file(self, write, tmp_path):
        """Inside SageMaker the hook parameters for TensorBoard do not count, the other file does."""
        hook = write("hook.json", {"HookParameters": {"export_tensorboard": "true", "tensorboard_dir": "x"}})
        job = {"TRAINING_JOB_NAME": "job", "TENSORBOARD_CONFIG_FILE_PATH": str(tmp_path / "none.json")}
        without = read_configuration(hook, job).options
        assert (without.export_tensorboard, without.tensorboard_dir) == (False, None)
        job["TENSORBOARD_CONFIG_FILE_PATH"] = write("tb.json", {"LocalPath": "/opt/ml/output/tensorboard"})
        given_ = read_configuration(hook, job).options
        assert (given_.export_tensorboard, given_.tensorboard_dir) == (True, "/opt/ml/output/tensorboard")
        outside = read_configuration(hook, {}).options
        assert (outside.export_tensorboard, outside.tensorboard_dir) == (True, "x")

    def test_load_when_files_change_afterwards_then_nothing_else_is_meant(self, write, tmp_path):
        """What was read counts, in a job as well; the framework is known only later."""
        hook = write("hook.json", {"LocalPath": "first"})
        job = {"TRAINING_JOB_NAME": "job", "TENSORBOARD_CONFIG_FILE_PATH": write("tb.json", {"LocalPath": "tb"})}
        load = load_configuration(hook, job)
        write("hook.json", "{")
        write("tb.json", "{")
        job.clear()
        configuration = load(7)
        assert (configuration.options.out_dir, configuration.options.tensorboard_dir) == ("first", "tb")
        assert configuration.options.save_config.get_save_config(ModeKeys.TRAIN).save_interval == 7

    @pytest.mark.parametrize(
        ("path", "expected"),
        [
            ("out", "/start/out"),
            ("../out", "/start/../out"),
            ("/absolute/out", "/absolute/out"),
            ("~/out", "~/out"),
            ("s3://bucket/prefix", "s3://bucket/prefix"),
            ("s3:/bucket", "s3:/bucket"),
        ],
    )
    def test_seen_from_when_path_is_relative_then_lies_below_that_folder(self, path, expected):
        """All other paths mean the same everywhere."""
        options = (
            HookConfiguration(options=HookOptions(out_dir=path, tensorboard_dir=path)).relative_to("/start").options
        )
        assert (options.out_dir, options.tensorboard_dir) == (expected, expected)
        only_out_dir = HookConfiguration(options=HookOptions(out_dir=path))
        assert only_out_dir.relative_to("/start").options.tensorboard_dir is None


# --- precedence against a naive loop ----------------------------------------------------------------------------------

values = {
    "save_interval": st.integers(1, 9).map(str),
    "start_step": st.integers(0, 9).map(str),
    "end_step": st.integers(0, 9).map(str),
    "save_steps": st.lists(st.integers(0, 9)).map(lambda steps: ",".join(map(str, steps))),
}
sections = st.fixed_dictionaries(
    {},
    optional={
        f"{prefix}{key}": value
        for prefix in ("", "train.", "eval.", "predict.", "global.")
        for key, value in values.items()
    },
)


@given(sections, sections)
def test_precedence_when_keys_are_any_then_the_last_one_given_counts(hook, collection):
    """Per mode and key, the most special setting that is given counts."""
    configuration = parse(hook, ("a", collection))
    settings = configuration.collections[0].save_config or configuration.options.save_config
    for mode in ModeKeys:
        expected = {}
        for key in SAVE_KEYS:
            for section in (hook, collection):
                for name in (key, f"{mode.name.lower()}.{key}"):
                    if name in section:
                        expected[key] = section[name]
        if "save_steps" in expected:
            expected["save_steps"] = [int(step) for step in expected["save_steps"].split(",") if step]
        assert settings.get_save_config(mode) == SaveConfigMode(**expected)
