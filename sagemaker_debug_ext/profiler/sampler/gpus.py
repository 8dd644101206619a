"""Sensors of NVIDIA GPUs, by NVML; no root, no daemon."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, Final

from sagemaker_debug_ext._imports.optional import import_optional
from sagemaker_debug_ext.errors import MissingDependencyError
from sagemaker_debug_ext.profiler.sampler.sensors import Source, Value

_LOG: Final = logging.getLogger(__name__)
_FATAL: Final = ("NVMLError_GpuIsLost", "NVMLError_Unknown", "NVMLError_NotFound", "NVMLError_InvalidArgument")
_GPM: Final = {
    "GPUSMActivePercent": "NVML_GPM_METRIC_SM_UTIL",
    "GPUTensorActivePercent": "NVML_GPM_METRIC_ANY_TENSOR_UTIL",
    "GPUDRAMActivePercent": "NVML_GPM_METRIC_DRAM_BW_UTIL",
}
"""Dimension → the metric of NVML's GPM, which Hopper and newer GPUs have."""


class Gpu:
    """One GPU. A sensor that the device does not support is left out after its first failure.

    Args:
        nvml: The module ``pynvml``.
        number: Number of the GPU.
    """

    def __init__(self, nvml: Any, number: int) -> None:
        self._nvml = nvml
        self._name = f"gpu{number}"
        self._handle = nvml.nvmlDeviceGetHandleByIndex(number)
        self._readers: list[Callable[[], list[tuple[str, float]]]] = [
            self._utilization,
            self._memory,
            self._power,
            self._temperature,
            self._clock,
            self._throttling,
        ]
        self._samples = self._make_samples()
        if self._samples is not None:
            self._readers.append(self._activity)

    def __call__(self) -> list[Value]:
        """Return the values of all sensors.

        Raises:
            pynvml.NVMLError: The GPU is lost.
        """
        values: list[Value] = []
        for reader in list(self._readers):
            try:
                found = reader()
            except self._nvml.NVMLError as error:  # noqa: PERF203 - one device in some seconds
                if type(error).__name__ in _FATAL:
                    raise
                self._readers.remove(reader)
                _LOG.info("%s does not tell its %s: %s", self._name, reader.__name__.strip("_"), error)
            else:
                values += [Value("gpu", self._name, dimension, value) for dimension, value in found]
        return values

    def _utilization(self) -> list[tuple[str, float]]:
        rates = self._nvml.nvmlDeviceGetUtilizationRates(self._handle)
        return [("GPUUtilization", rates.gpu), ("GPUMemoryUtilization", rates.memory)]

    def _memory(self) -> list[tuple[str, float]]:
        memory = self._nvml.nvmlDeviceGetMemoryInfo(self._handle)
        return [("GPUMemoryUsedPercent", 100 * memory.used / memory.total), ("GPUMemoryUsedBytes", memory.used)]

    def _power(self) -> list[tuple[str, float]]:
        return [("GPUPowerWatts", self._nvml.nvmlDeviceGetPowerUsage(self._handle) / 1000)]

    def _temperature(self) -> list[tuple[str, float]]:
        sensor = self._nvml.NVML_TEMPERATURE_GPU
        return [("GPUTemperatureCelsius", self._nvml.nvmlDeviceGetTemperature(self._handle, sensor))]

    def _clock(self) -> list[tuple[str, float]]:
        return [("GPUClockMHz", self._nvml.nvmlDeviceGetClockInfo(self._handle, self._nvml.NVML_CLOCK_SM))]

    def _throttling(self) -> list[tuple[str, float]]:
        return [("GPUThrottleReasons", self._nvml.nvmlDeviceGetCurrentClocksThrottleReasons(self._handle))]

    def _make_samples(self) -> list[Any] | None:
        """Return memory for two samples of activity; None if the device has none."""
        try:
            if not self._nvml.nvmlGpmQueryDeviceSupport(self._handle).isSupportedDevice:
                return None
            samples = [self._nvml.nvmlGpmSampleAlloc() for _ in range(2)]
            self._nvml.nvmlGpmSampleGet(self._handle, samples[0])
        except (AttributeError, self._nvml.NVMLError):  # an old driver, or no permission
            return None
        return samples

    def _activity(self) -> list[tuple[str, float]]:
        assert self._samples is not None
        before, after = self._samples
        self._nvml.nvmlGpmSampleGet(self._handle, after)
        question = self._nvml.c_nvmlGpmMetricsGet_t()
        question.version = self._nvml.NVML_GPM_METRICS_GET_VERSION
        question.numMetrics = len(_GPM)
        question.sample1, question.sample2 = before, after
        for place, metric in enumerate(_GPM.values()):
            question.metrics[place].metricId = getattr(self._nvml, metric)
        self._nvml.nvmlGpmMetricsGet(question)
        self._samples.reverse()
        return [
            (dimension, question.metrics[place].value)
            for place, dimension in enumerate(_GPM)
            if question.metrics[place].nvmlReturn == self._nvml.NVML_SUCCESS
        ]


def find_gpus(nvml: ModuleType | None = None) -> Iterator[Source]:
    """Yield a source for each NVIDIA GPU; none without a driver or without ``nvidia-ml-py``.

    Args:
        nvml: The module ``pynvml``; imported if not given.
    """
    try:
        library: Any = nvml or import_optional("pynvml", "sampling of GPUs", "profile")
    except MissingDependencyError as error:
        _LOG.info("GPUs are not sampled: %s", error)
        return
    try:
        library.nvmlInit()
        count = library.nvmlDeviceGetCount()
    except library.NVMLError as error:
        _LOG.info("GPUs are not sampled: %s", error)
        return
    for number in range(count):
        try:
            yield Gpu(library, number)
        except library.NVMLError as error:  # noqa: PERF203 - at the start only
            _LOG.warning("gpu%d is not sampled: %s", number, error)
