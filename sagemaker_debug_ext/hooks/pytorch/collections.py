"""The collections of the PyTorch hook, to which modules can be added."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, NamedTuple

from torch import nn

from sagemaker_debug_ext.config.collection import Collection as BaseCollection
from sagemaker_debug_ext.errors import SMDebugTypeError, brief

LOG = logging.getLogger(__name__)


class _ModuleTensors(NamedTuple):
    module: nn.Module
    inputs: bool
    outputs: bool


class Collection(BaseCollection):
    """A named group of tensors, to which the inputs and outputs of modules can be added."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._modules: list[_ModuleTensors] = []

    def add_module_tensors(self, module: nn.Module, inputs: bool = False, outputs: bool = True) -> None:
        """Include the inputs, the outputs, or both of a module; the hook must know the module when training starts.

        Raises:
            SMDebugTypeError: It is no module.
        """
        if not isinstance(module, nn.Module):
            raise SMDebugTypeError(f"module must be a torch.nn.Module (got {brief(module)})")
        self._modules.append(_ModuleTensors(module, inputs, outputs))

    def resolve_modules(self, names: Mapping[int, str]) -> None:
        """Turn the modules added into patterns.

        Args:
            names: Names of the registered modules by their `id`; others are left out with a warning.
        """
        for module, inputs, outputs in self._modules:
            name = names.get(id(module))
            if name is None:
                LOG.warning("collection %r: a %s is not registered", self.name, type(module).__name__)
                continue
            self.include([f"{name}_{kind}_" for kind, wanted in (("input", inputs), ("output", outputs)) if wanted])
        self._modules.clear()
