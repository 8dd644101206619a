"""Shapes of a service model as JSON Schema."""

import pytest

from sagemaker_debug_ext.requests._model_schema import to_schema


@pytest.mark.parametrize(
    ("shape", "schema"),
    [
        ({"type": "string"}, {"type": "string"}),
        ({"type": "string", "min": 0, "max": 5}, {"type": "string", "maxLength": 5}),
        ({"type": "string", "pattern": ".*"}, {"type": "string"}),
        ({"type": "string", "pattern": r"[\p{L}\p{Z}\p{N}_]+"}, {"type": "string", "pattern": r"\A(?:[\w\s\d_]+)\Z"}),
        ({"type": "string", "pattern": r"\p{InGreek}["}, {"type": "string"}),
        ({"type": "string", "enum": ["a"]}, {"type": "string", "enum": ["a"]}),
        ({"type": "long", "min": 1, "max": 2}, {"type": "integer", "minimum": 1, "maximum": 2}),
        ({"type": "float"}, {"type": "number"}),
        ({"type": "boolean"}, {"type": "boolean"}),
        ({"type": "timestamp"}, {}),
        ({"type": "structure", "members": {}}, {"type": "object", "properties": {}, "additionalProperties": False}),
    ],
)
def test_to_schema_of_a_shape(shape, schema):
    """Limits become keywords; what JSON Schema cannot say is left out."""
    assert to_schema("Shape", {"Shape": shape}) == schema


def test_to_schema_of_nested_shapes_contains_them():
    """Lists and maps hold the schemas of their items."""
    shapes = {
        "Items": {"type": "list", "member": {"shape": "Map"}, "max": 3},
        "Map": {"type": "map", "key": {"shape": "Text"}, "value": {"shape": "TrainingInstanceType"}, "max": 2},
        "Text": {"type": "string", "min": 1},
        "TrainingInstanceType": {"type": "string", "enum": ["ml.a"]},
    }
    assert to_schema("Items", shapes) == {
        "type": "array",
        "maxItems": 3,
        "items": {
            "type": "object",
            "maxProperties": 2,
            "propertyNames": {"type": "string", "minLength": 1},
            "additionalProperties": {"type": "string", "knownValues": ["ml.a"]},
        },
    }
