"""The in-memory back end keeps the contract."""

import pytest

from sagemaker_debug_ext.store.backends import MemoryBackend
from sagemaker_debug_ext.testing.backends import BackendContract


class TestMemoryBackend(BackendContract):
    @pytest.fixture
    def backend(self):
        return MemoryBackend()
