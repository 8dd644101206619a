"""The Chromium and the Firefox of this machine, whose paths may be in ``CHROMIUM`` and ``FIREFOX``."""

from __future__ import annotations

import os
import shutil

import pytest

from .firefox import Firefox

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
FIREFOX = os.environ.get("FIREFOX") or shutil.which("firefox") or shutil.which("firefox-esr")


@pytest.fixture(scope="module")
def browser():
    """Open a browser for a module; it runs an event loop, which tests of other modules must not find."""
    playwright = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("needs Chromium; CHROMIUM may name it")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def find_barriers():
    """Return a function that names what keeps people from using a page, as all checks of axe find it, or some."""
    axe = pytest.importorskip("axe_playwright_python.base")

    def find(page, checks=None):
        page.evaluate(f"{axe.AXE_SCRIPT}\n;null")
        # what is passed on of checks that a page stands is most of the work
        return page.evaluate(
            """async (checks) => {
              const options = { resultTypes: ["violations"], ...(checks ? { runOnly: checks } : {}) };
              const { violations } = await axe.run(options);
              return Object.fromEntries(violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)]));
            }""",
            checks,
        )

    return find


@pytest.fixture
def firefox(tmp_path):
    """Open a Firefox."""
    if FIREFOX is None:
        pytest.skip("needs Firefox; FIREFOX may name it")
    folder = tmp_path / "profile"
    folder.mkdir()
    opened = Firefox(FIREFOX, folder)
    yield opened
    opened.close()
