"""The option that runs the whole count."""

from __future__ import annotations

import pytest


def pytest_addoption(parser):
    parser.addoption("--full", action="store_true", help="run the whole count of kills, which takes minutes")
    parser.addoption("--kills", type=int, help="number of random kills instead of 120, or of 10,000 of --full")
    parser.addoption("--seed", type=int, default=2026, help="seed of the random moments")


@pytest.fixture(scope="session")
def is_full(request):
    return request.config.getoption("--full")


@pytest.fixture(scope="session")
def num_kills(request, is_full):
    return request.config.getoption("--kills") or (10_000 if is_full else 120)


@pytest.fixture(scope="session")
def seed(request):
    return request.config.getoption("--seed")
