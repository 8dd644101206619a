"""Optional packages: imported, or named with the way to get them."""

from __future__ import annotations

import pytest

from sagemaker_debug_ext._imports.optional import import_optional
from sagemaker_debug_ext.errors import MissingDependencyError


def test_import_when_package_is_there_then_gives_the_module():
    """Modules inside packages can be asked for as well."""
    assert import_optional("json.decoder", "Reading").__name__ == "json.decoder"


def test_import_when_package_is_missing_then_names_it_and_not_its_module():
    """What is to be installed is a package."""
    with pytest.raises(MissingDependencyError) as caught:
        import_optional("no_such_package.part", "The demo", "demo")
    assert caught.value.package == "no_such_package"
    assert "sagemaker_debug_ext[demo]" in str(caught.value)


def test_import_when_package_itself_misses_something_then_that_is_told(tmp_path, monkeypatch):
    """A broken installation is not taken for one that is not there."""
    (tmp_path / "half_a_package.py").write_text("import no_such_package\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_package") as caught:
        import_optional("half_a_package", "The demo")
    assert not isinstance(caught.value, MissingDependencyError)
