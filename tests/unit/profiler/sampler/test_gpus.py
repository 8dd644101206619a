"""GPUs are read through NVML; here a library written for the tests stands for a driver and its devices."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from sagemaker_debug_ext.profiler.sampler.gpus import find_gpus


class NVMLError(Exception):
    pass


class NVMLError_NotSupported(NVMLError):  # noqa: N801 - NVML's name
    pass


class NVMLError_GpuIsLost(NVMLError):  # noqa: N801 - NVML's name
    pass


class FakeNvml:
    """Answers as the driver of a machine with two H200 did."""

    NVMLError = NVMLError
    NVML_TEMPERATURE_GPU = 0
    NVML_CLOCK_SM = 1
    NVML_SUCCESS = 0
    NVML_GPM_METRICS_GET_VERSION = 1
    NVML_GPM_METRIC_SM_UTIL = 2
    NVML_GPM_METRIC_ANY_TENSOR_UTIL = 5
    NVML_GPM_METRIC_DRAM_BW_UTIL = 10

    def __init__(self, has_gpm: bool = True) -> None:
        self.has_gpm = has_gpm
        self.failing: dict[str, NVMLError] = {}

    def answer(self, name: str, value: Any) -> Any:
        if name in self.failing:
            raise self.failing[name]
        return value

    def nvmlInit(self) -> None:
        self.answer("init", None)

    def nvmlDeviceGetCount(self) -> int:
        return 2

    def nvmlDeviceGetHandleByIndex(self, number: int) -> int:
        return self.answer(f"handle{number}", number)

    def nvmlDeviceGetUtilizationRates(self, handle: int) -> Any:
        return self.answer(f"utilization{handle}", SimpleNamespace(gpu=97, memory=41))

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> Any:
        return SimpleNamespace(total=150_754_820_096, used=37_688_705_024)

    def nvmlDeviceGetPowerUsage(self, handle: int) -> int:
        return self.answer("power", 512_345)

    def nvmlDeviceGetTemperature(self, handle: int, sensor: int) -> int:
        return 54

    def nvmlDeviceGetClockInfo(self, handle: int, kind: int) -> int:
        return 1980

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle: int) -> int:
        return 4

    def nvmlGpmQueryDeviceSupport(self, handle: int) -> Any:
        return SimpleNamespace(isSupportedDevice=self.has_gpm)

    def nvmlGpmSampleAlloc(self) -> object:
        return SimpleNamespace()

    def nvmlGpmSampleGet(self, handle: int, sample: object) -> None:
        pass

    def c_nvmlGpmMetricsGet_t(self) -> Any:
        metrics = [SimpleNamespace(metricId=0, value=0.0, nvmlReturn=0) for _ in range(8)]
        return SimpleNamespace(metrics=metrics)

    def nvmlGpmMetricsGet(self, question: Any) -> None:
        values = {2: 81.5, 5: 33.25, 10: 47.0}
        for metric in question.metrics[: question.numMetrics]:
            metric.value = values[metric.metricId]


def dimensions(values) -> dict[str, float]:
    return {value.dimension: value.value for value in values}


def test_gpu_when_it_has_activity_counters_then_gives_every_dimension():
    """NVML's memory activity keeps its old name, and used memory has its own."""
    first, second = find_gpus(FakeNvml())
    assert {value.name for value in second()} == {"gpu1"}
    assert dimensions(first()) == {
        "GPUUtilization": 97,
        "GPUMemoryUtilization": 41,
        "GPUMemoryUsedPercent": 100 * 37_688_705_024 / 150_754_820_096,
        "GPUMemoryUsedBytes": 37_688_705_024,
        "GPUPowerWatts": 512.345,
        "GPUTemperatureCelsius": 54,
        "GPUClockMHz": 1980,
        "GPUThrottleReasons": 4,
        "GPUSMActivePercent": 81.5,
        "GPUTensorActivePercent": 33.25,
        "GPUDRAMActivePercent": 47.0,
    }


def test_gpu_when_a_sensor_is_not_supported_then_only_that_is_left_out():
    """A device without power sensors gives everything else."""
    nvml = FakeNvml(has_gpm=False)
    nvml.failing["power"] = NVMLError_NotSupported("Not Supported")
    gpu = next(find_gpus(nvml))
    assert "GPUPowerWatts" not in dimensions(gpu())
    assert "GPUSMActivePercent" not in dimensions(gpu())
    nvml.failing.clear()
    assert "GPUPowerWatts" not in dimensions(gpu())


def test_gpu_when_it_is_lost_then_raises_and_the_other_goes_on():
    """Losing one device does not cost the other."""
    nvml = FakeNvml()
    first, second = find_gpus(nvml)
    nvml.failing["utilization0"] = NVMLError_GpuIsLost("GPU is lost")
    try:
        first()
    except NVMLError_GpuIsLost:
        pass
    else:
        raise AssertionError("a lost GPU has to raise")
    assert dimensions(second())["GPUUtilization"] == 97


def test_gpus_when_there_is_no_driver_then_there_are_none():
    """A machine without a GPU is no error."""
    nvml = FakeNvml()
    nvml.failing["init"] = NVMLError("Driver Not Loaded")
    assert list(find_gpus(nvml)) == []


def test_gpus_when_one_may_not_be_read_then_the_others_are():
    """No permission for a device costs that device only."""
    nvml = FakeNvml()
    nvml.failing["handle0"] = NVMLError("Insufficient Permissions")
    assert [gpu()[0].name for gpu in find_gpus(nvml)] == ["gpu1"]
