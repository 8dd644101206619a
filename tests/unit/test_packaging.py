"""The distribution holds every package, its data and the examples."""

import configparser
from pathlib import Path

ROOT = Path(__file__).parents[2]


def listed(option):
    """Return the entries of a multi-line option of setup.cfg."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    return config["options"][option].split()


def test_every_package_is_listed():
    """A folder that setup.cfg forgets would be missing for everybody who installs."""
    package = ROOT / "sagemaker_debug_ext"
    found = {path.parent.relative_to(ROOT).as_posix().replace("/", ".") for path in package.rglob("__init__.py")}
    examples = {f"sagemaker_debug_ext.examples.{path.parent.name}" for path in (ROOT / "examples").glob("*/train.py")}
    assert set(listed("packages")) == found | examples
