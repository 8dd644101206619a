"""Errors keep their arguments, survive pickling, and derive from the built-in they resemble."""

import pickle

import pytest

from sagemaker_debug_ext import errors, exceptions, modes

EXAMPLES = [
    (errors.MissingDependencyError("torch", "Training", "torch"), ImportError, "sagemaker_debug_ext[torch]"),
    (errors.MissingDependencyError("rich", "Drawing"), ImportError, "pip install 'rich'"),
    (errors.MissingDependencyError("old", "It", last_python=(3, 9)), ImportError, "on Python up to 3.9 (this is Py"),
    (errors.MissingDependencyError("old", "It", last_python=(4, 0)), ImportError, "pip install 'old'"),
    (errors.InvalidCollectionConfiguration("relu"), errors.DebugExtError, "'relu'"),
    (errors.MissingCollectionFiles(), errors.DebugExtError, "collection files"),
    (errors.IndexReaderException("broken"), errors.DebugExtError, "broken"),
    (errors.CorruptRecordError("events/x", "cut off"), RuntimeError, "events/x: cut off"),
    (errors.TrialNotFoundError("/nowhere", "empty"), FileNotFoundError, "'/nowhere': empty"),
    (errors.StorageError("s3://bucket/x", "no access", "AccessDenied"), OSError, "s3://bucket/x: no access"),
    (errors.StepUnavailable(7, modes.EVAL), errors.DebugExtError, "7 of mode EVAL"),
    (errors.StepNotYetAvailable(7, modes.EVAL), errors.DebugExtError, "7 of mode EVAL"),
    (errors.StepUnavailable(7, modes.EVAL, [5, 10]), errors.DebugExtError, "not saved (saved nearest to it: 5 and 10)"),
    (errors.TensorUnavailable("w"), errors.DebugExtError, "'w'"),
    (errors.TensorUnavailable("conv0_weigth", ["bias", "conv0_weight"]), errors.DebugExtError, "mean 'conv0_weight'?"),
    (errors.TensorUnavailableForStep("w", 7, near=[5]), errors.DebugExtError, "GLOBAL (saved nearest to it: 5)"),
    (errors.TensorUnavailableForStep("w", 7, modes.EVAL, True), errors.DebugExtError, "reduction_values"),
    (errors.TensorUnavailableForStep("w", 7), errors.DebugExtError, "7 of mode GLOBAL"),
    (errors.ShapeUnavailableForStep("w", 7), errors.DebugExtError, "shape of tensor 'w'"),
    (errors.InvalidWorker("worker_9", ["worker_0"]), errors.DebugExtError, "'worker_9' (workers: worker_0)"),
    (errors.NoMoreData(51, modes.GLOBAL, 50), errors.DebugExtError, "51 of mode GLOBAL; its last step is 50"),
    (errors.NoMoreProfilerData(3), errors.DebugExtError, "3"),
    (
        errors.RuleEvaluationConditionMet("Overfit", 4),
        errors.DebugExtError,
        "Evaluation of the rule Overfit at step 4 resulted in the condition being met",
    ),
    (errors.InsufficientInformationForRuleInvocation("AllZero", "no names"), errors.DebugExtError, "AllZero: no names"),
    (errors.RequestValidationError(["A: bad", "B: worse"]), ValueError, "2 problems in the request:\n- A: bad\n- B"),
    (errors.RequestValidationError(["A: bad"]), RuntimeError, "1 problem in the request:\n- A: bad"),
    (errors.ProfilingTypeError("num_steps must be a whole number"), AssertionError, "num_steps must"),
    (errors.ProfilingValueError("num_steps must be at least 1"), AssertionError, "num_steps must"),
    (errors.TrainingJobError("job-1", "exit code 3"), RuntimeError, "'job-1' failed: exit code 3"),
]


@pytest.mark.parametrize(("error", "base", "text"), EXAMPLES, ids=lambda value: getattr(type(value), "__name__", ""))
def test_error_says_what_happened_and_survives_pickling(error, base, text):
    """Type, arguments and text are the same in another process."""
    assert isinstance(error, errors.DebugExtError)
    assert isinstance(error, base)
    assert text in str(error)
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert copy.args == error.args
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)


def test_public_face_has_every_name_that_scripts_catch():
    """Old scripts find each exception they import."""
    for name in exceptions.__all__:
        assert issubclass(getattr(exceptions, name), errors.DebugExtError)
    assert exceptions.SMDebugError is errors.DebugExtError


@pytest.mark.parametrize(
    ("value", "expected"),
    [("x", "'x'"), ({"a": 1}, "{'a': 1}"), ("y" * 200, f"'{'y' * 99}…")],
)
def test_brief_when_value_is_long_then_is_cut(value, expected):
    """A message stays one line, whatever was given."""
    assert errors.brief(value) == expected


class Layers:
    def __repr__(self):
        return "Net(\n  (0): Linear\n)"


def test_brief_when_repr_has_lines_then_they_are_joined():
    """As those of models have."""
    assert errors.brief(Layers()) == "Net( (0): Linear )"
