"""The distribution holds every package, its data and the examples."""

import configparser
from pathlib import Path

ROOT = Path(__file__).parents[2]


def listed(option):
    """Return the entries of a multi-line option of setup.cfg."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    return config["options"][option].split()


def extras():
    """Return the requirements of each extra."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    return {name: set(lines.split("\n")[1:] or [lines]) for name, lines in config["options.extras_require"].items()}


def test_extra_all_when_compared_then_is_all_that_can_be_installed_together():
    """Somebody who asks for everything gets what each guide needs; MXNet needs a NumPy that the others refuse."""
    others = {name: lines for name, lines in extras().items() if name not in {"all", "mxnet", "test"}}
    assert extras()["all"] == set().union(*others.values())


def test_readme_when_an_extra_exists_then_it_is_listed():
    """An extra that nobody knows of is of no use."""
    readme = (ROOT / "README.md").read_text()
    assert [name for name in extras() if f"'.[{name}]'" not in readme] == []


def test_every_package_is_listed():
    """A folder that setup.cfg forgets would be missing for everybody who installs."""
    package = ROOT / "sagemaker_debug_ext"
    found = {path.parent.relative_to(ROOT).as_posix().replace("/", ".") for path in package.rglob("__init__.py")}
    examples = {f"sagemaker_debug_ext.examples.{path.parent.name}" for path in (ROOT / "examples").glob("*/train.py")}
    assert set(listed("packages")) == found | examples
