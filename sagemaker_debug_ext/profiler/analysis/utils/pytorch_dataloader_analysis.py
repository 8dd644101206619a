"""How long PyTorch's data loaders take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sagemaker_debug_ext._imports.optional import import_optional
from sagemaker_debug_ext.profiler.format.times import TEXT_FORMAT

if TYPE_CHECKING:
    import pandas as pd

    from sagemaker_debug_ext.profiler.analysis.utils.profiler_data_to_pandas import PandasFrame

_MULTI: Final = "_MultiProcessingDataLoaderIter.__init__"
_SINGLE: Final = "_SingleProcessDataLoaderIter.__init__"


class PT_dataloader_analysis:  # noqa: N801 - smdebug's name
    """Prints how long data loaders take, and returns what took at least twice the median.

    Args:
        pandas_frame: The profiler data of a job.
    """

    def __init__(self, pandas_frame: PandasFrame) -> None:
        self._pandas: Any = import_optional("pandas", "PT_dataloader_analysis", "analysis")
        self.pd_data_frame = pandas_frame
        self.dataIter_metric = pandas_frame.get_all_dataloader_metrics([".*DataLoaderIter::GetNext"])
        self.dataWorker_metric = pandas_frame.get_all_dataloader_metrics([".*DataLoaderWorker"])
        self.iterator_metric = pandas_frame.get_all_dataloader_metrics([".*DataLoaderIterInitialize"])

    def analyze_dataloaderIter_initialization(self) -> None:  # noqa: N802 - smdebug's name
        """Print how the loaders are configured, and how long their initialization takes in microseconds."""
        if not len(self.iterator_metric):
            _say("Trace events corresponding to DataLoaderIter initialization are not present")
            return
        for kind in (_MULTI, _SINGLE):
            found = self.iterator_metric[self.iterator_metric["framework_metric"] == kind]
            if not len(found):
                _say(f"Training is not configured to use {kind} iterator")
                continue
            pin_memory, num_workers = found["pin_memory"].iloc[0], found["num_workers"].iloc[0]
            _say(
                f"Training is configured to use {kind} with pin_memory enabled = {pin_memory} and number of workers = "
                f"{num_workers}"
            )
            _say(f"The {kind} is initialized for {len(found)} times during training")
            _say_durations(found["duration_us"], "initialization of iterators")

    def analyze_dataloaderWorkers(self) -> pd.DataFrame | None:  # noqa: N802 - smdebug's name
        """Print how long worker processes live; return those that live at least twice the median, longest first."""
        if not len(self.dataWorker_metric):
            _say("Trace events corresponding to DataLoaderWorker processes are not present")
            return None
        _say(f"Total number of workers spun off during the training {len(self.dataWorker_metric)}")
        return self._outliers(self.dataWorker_metric, "dataloader workers")

    def analyze_dataloader_getnext(self) -> pd.DataFrame | None:
        """Print how long fetching a batch takes; return what took at least twice the median, longest first."""
        if not len(self.dataIter_metric):
            _say("Trace events corresponding to DataLoaderIter::GetNext calls are not present")
            return None
        _say(f"Total number of GetNext calls made during the training {len(self.dataIter_metric)}")
        return self._outliers(self.dataIter_metric, "dataloader getnext invocations")

    def _outliers(self, loaded: pd.DataFrame, what: str) -> pd.DataFrame | None:
        _say_durations(loaded["duration_us"], "worker processes")
        is_slow = loaded["duration_us"] >= 2 * loaded["duration_us"].median()
        found = loaded.loc[is_slow, ["start_time", "end_time", "duration_us", "worker_id"]]
        if not len(found):
            _say(f"No outliers found in {what}.")
            return None
        _say(f"Start time and End time of {what} that are outliers (duration > 2 * median)")
        slowest_first: pd.DataFrame = found.sort_values("duration_us", ascending=False, ignore_index=True)
        return slowest_first

    def analyze_batchtime(self) -> pd.DataFrame | None:
        """Print the time between the starts of successive fetches; return at least twice the median, longest first."""
        if not len(self.dataIter_metric):
            _say("Trace events corresponding to DataLoaderIter::GetNext calls are not present")
            return None
        fetches = self.dataIter_metric.assign(
            start_time=self._pandas.to_datetime(self.dataIter_metric["start_time"], format=TEXT_FORMAT)
        ).sort_values(["node_id", "pid", "end_time_us"])
        starts = fetches.groupby(["node_id", "pid"])["start_time"]
        fetches["BatchTime_in_seconds"] = starts.diff().dt.total_seconds()
        fetches["previous_batch_start"] = starts.shift()
        median = fetches["BatchTime_in_seconds"].median()
        _say(f"Median time spent on each batch of data = {median} seconds")
        is_slow = fetches["BatchTime_in_seconds"] >= 2 * median
        columns = ["previous_batch_start", "start_time", "BatchTime_in_seconds", "worker_id"]
        found = fetches.loc[is_slow, columns]
        if not len(found):
            _say("No outliers found in time taken to process the databatches.")
            return None
        _say("Start time and End time for processing the databatches that are outliers (duration > 2 * median)")
        slowest_first: pd.DataFrame = found.sort_values(
            "BatchTime_in_seconds", ascending=False, kind="stable", ignore_index=True
        )
        return slowest_first


def _say_durations(durations: pd.Series, what: str) -> None:
    _say(f"Median Duration {durations.median()} and Maximum duration for {what} {durations.max()}")


def _say(text: str) -> None:
    print(text)
