"""Which numbers to save of a tensor."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext import ReductionConfig
from sagemaker_debug_ext.config.reductions import REDUCTION_SPELLINGS, Reduction, parse_reductions
from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError
from sagemaker_debug_ext.vocabulary import NORMS, REDUCTIONS


def subset(names):
    return st.lists(st.sampled_from(names), unique=True)


configs = st.builds(
    ReductionConfig, subset(REDUCTIONS), subset(REDUCTIONS), subset(NORMS), subset(NORMS), st.booleans(), st.booleans()
)


@given(configs)
def test_json_is_read_back(config):
    """A configuration survives the collections file."""
    assert ReductionConfig.from_json(config.to_json()) == config
    assert ReductionConfig.from_reductions(list(config), config.save_raw_tensor, config.save_shape) == config


def test_json_is_that_of_the_format():
    """Reductions, norms, then both of the absolute values; norms end in _norm."""
    config = ReductionConfig(["min"], ["mean"], ["l1"], ["l2"])
    assert config.to_json() == (
        '{"save_raw_tensor": false, "reductions": "min,l1_norm,abs_mean,abs_l2_norm", "save_shape": false}'
    )


@given(st.sampled_from(REDUCTION_SPELLINGS))
def test_spelling_is_read_back(spelling):
    """Every allowed spelling names one reduction."""
    assert Reduction.parse(spelling).spelling == spelling


def test_list_of_reductions_may_have_blanks_and_gaps():
    """Blanks around the commas and empty items do not matter."""
    assert parse_reductions(" min, ,abs_l2_norm,") == (Reduction("min"), Reduction("l2", abs=True))
    assert parse_reductions("") == ()


@pytest.mark.parametrize(
    ("spelling", "nearest"), [("median", "mean"), ("l1", "l1_norm"), ("abs_l1", "abs_l1_norm"), ("avg", "")]
)
def test_unknown_reduction_names_the_allowed_and_the_nearest(spelling, nearest):
    """A misspelt reduction is answered with the spelling that was meant."""
    with pytest.raises(SMDebugValueError, match=f"min, max, mean.*{spelling}.*{nearest}"):
        parse_reductions(f"min,{spelling}")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"reductions": ["median"]}, SMDebugValueError),
        ({"norms": ["l3"]}, SMDebugValueError),
        ({"abs_norms": ["mean"]}, SMDebugValueError),
        ({"save_raw_tensor": "true"}, SMDebugValueError),
        ({"save_shape": 1}, SMDebugValueError),
        ({"reductions": "min"}, SMDebugTypeError),
    ],
    ids=str,
)
def test_nonsense_is_refused(arguments, error):
    """Names outside the lists, flags that are no booleans and a text in place of a list are errors."""
    with pytest.raises(error):
        ReductionConfig(**arguments)


def test_missing_configuration_stays_missing():
    """A collection without settings of its own has none."""
    assert ReductionConfig.from_dict(None) is None
