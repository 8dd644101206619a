"""Names and files of the profiler, as the original tests its readers, on both libraries."""

import cProfile
import json
import math

import pytest

pytestmark = pytest.mark.filterwarnings("ignore")  # the original warns of its dependencies

START_US = 1_700_000_000_000_000


@pytest.fixture
def traces(tmp_path):
    """The trace of a job in a folder whose name does not belong to the profiler: ten events of 2 ms each."""
    head = [
        {"name": "process_name", "ph": "M", "pid": 0, "args": {"start_time_since_epoch_in_micros": START_US}},
        {"name": "process_sort_index", "ph": "M", "pid": 0, "args": {"sort_index": 0}},
        {"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "Loader"}},
    ]
    events = [{"ph": "X", "name": f"next{number}", "pid": 1, "ts": 5000 * number, "dur": 2000} for number in range(10)]
    file = tmp_path / f"{START_US + 50_000}_12-algo-1_model_timeline.json"
    file.write_text("[\n" + ",\n".join(map(json.dumps, [*head, *events])) + "\n]\n")
    return file


def test_events_when_their_file_lies_elsewhere_then_have_no_node(library, traces):
    """Both answers agree, that of the name and that of the events."""
    parser = library.module("profiler").SMProfilerEvents()
    parser.read_events_from_file(str(traces))
    events = parser.get_all_events()
    assert len(events) == 10
    assert library.module("profiler.utils").get_node_id_from_tracefilename(str(traces)) == ""
    assert {event.node_id for event in events} == {""}
    units = library.module("profiler.utils").TimeUnits
    seconds = START_US / 1e6
    assert len(parser.get_events_within_time_range(0, seconds + 0.0121, unit=units.SECONDS)) == 3
    assert parser.get_events_start_time_sorted()[0].start_time == START_US
    assert parser.get_events_end_time_sorted()[-1].end_time == START_US + 47_000


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("detailed_profiling", ("8-algo-1", "1700000000000000", "1700000000500000")),
        ("somewhere", ("", "0", "0")),
    ],
)
def test_metadata_of_tensorflows_profiler_when_beside_its_plugins_then_is_found(library, tmp_path, folder, expected):
    """Node, start and end are in the name of an empty file."""
    step = tmp_path / "framework" / "tensorflow" / folder / "2024010100" / "000000000"
    trace = step / "plugins" / "profile" / "2024_01_01_00_00_00" / "host.trace.json.gz"
    trace.parent.mkdir(parents=True)
    (step / "8-algo-1_1700000000000000_1700000000500000.metadata").touch()
    utils = library.module("profiler.utils")
    assert utils.read_tf_profiler_metadata_file(str(trace)) == expected
    assert utils.get_node_id_from_tracefilename(str(trace)) == expected[0]
    assert utils.get_timestamp_from_tracefilename(str(trace)) == int(expected[2])


SPANS = {
    "prestepzero-*-start-1700000000000000.0_train-1-stepstart-1700000001000000.0": (-1, 1, "START", "STEP_START"),
    "train-1-stepstart-1700000001000000.0_train-1-stepend-1700000002000000.0": (1, 1, "STEP_START", "STEP_END"),
    "train-1-stepend-1700000002000000.0_posthookclose-*-end-1700000003000000.0": (1, math.inf, "STEP_END", "END"),
}


def test_spans_of_python_profiles_when_read_then_say_where_they_begin_and_end(library, tmp_path):
    """Scripts choose spans by these attributes."""
    pytest.importorskip("pandas")
    for name in SPANS:
        folder = tmp_path / "framework" / "pytorch" / "cprofile" / "12-algo-1" / name
        folder.mkdir(parents=True)
        profile = cProfile.Profile()
        profile.runcall(sum, [1, 2])
        profile.dump_stats(folder / "python_stats")
    analysis = library.module("profiler.analysis.python_profile_analysis").cProfileAnalysis(
        local_profile_dir=str(tmp_path / "framework" / "pytorch" / "cprofile")
    )
    spans = sorted(analysis.python_profile_stats, key=lambda span: span.start_time_since_epoch_in_micros)
    found = [(span.start_step, span.end_step, span.start_phase.name, span.end_phase.name) for span in spans]
    assert found == list(SPANS.values())
    assert [span.start_mode.name for span in spans] == ["PRE_STEP_ZERO", "TRAIN", "TRAIN"]
    assert [span.end_mode.name for span in spans] == ["TRAIN", "TRAIN", "POST_HOOK_CLOSE"]
    assert [span.end_time_since_epoch_in_micros for span in spans] == [1.700000001e15, 1.700000002e15, 1.700000003e15]
    assert all("train" in repr(span).lower() and "cprofile" in repr(span) for span in spans)
