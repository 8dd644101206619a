"""Records how busy a machine is while a job trains: one process per machine, in the files of section 1.2."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sagemaker_debug_ext._imports.lazy import lazy_names

if TYPE_CHECKING:
    from sagemaker_debug_ext.profiler.sampler.launcher import Sampler, start_sampler
    from sagemaker_debug_ext.profiler.sampler.settings import SamplerSettings

__all__ = ["Sampler", "SamplerSettings", "start_sampler"]

# The sampling process imports only what it needs, because it has to be small.
__getattr__ = lazy_names(
    __name__,
    {
        "Sampler": "profiler.sampler.launcher",
        "SamplerSettings": "profiler.sampler.settings",
        "start_sampler": "profiler.sampler.launcher",
    },
)
