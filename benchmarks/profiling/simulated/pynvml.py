"""A simulated GPU in the place of NVML: how busy it is stands in a file that the job writes; see `device.py`."""

import time
from types import SimpleNamespace

import device

NVML_TEMPERATURE_GPU = NVML_CLOCK_SM = 0
_last = [None]


class NVMLError(Exception):
    pass


def nvmlInit():  # noqa: N802 - the names of NVML
    device.SimulatedGpu()


def nvmlDeviceGetCount():  # noqa: N802
    return 1


def nvmlDeviceGetHandleByIndex(_number):  # noqa: N802
    return device.SimulatedGpu()


def nvmlDeviceGetUtilizationRates(gpu):  # noqa: N802
    now, busy = time.time(), gpu.busy_seconds()
    before, _last[0] = _last[0], (now, busy)
    share = 0 if before is None else 100 * (busy - before[1]) / max(now - before[0], 1e-6)
    share = min(max(round(share), 0), 100)
    return SimpleNamespace(gpu=share, memory=share // 2)


def nvmlDeviceGetMemoryInfo(gpu):  # noqa: N802
    return SimpleNamespace(used=gpu.memory * 1e9, total=80e9)


def nvmlDeviceGetPowerUsage(_gpu):  # noqa: N802
    return 300_000


def nvmlDeviceGetTemperature(_gpu, _sensor):  # noqa: N802
    return 60


def nvmlDeviceGetClockInfo(_gpu, _kind):  # noqa: N802
    return 1500


def nvmlDeviceGetCurrentClocksThrottleReasons(gpu):  # noqa: N802
    return int(gpu.throttling)


def nvmlGpmQueryDeviceSupport(_gpu):  # noqa: N802
    return SimpleNamespace(isSupportedDevice=0)
