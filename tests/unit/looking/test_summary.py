"""The summary that a trial holds: reports made from it are the same, and it is used only if it is of these files."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from sagemaker_debug_ext.errors import SMDebugRuntimeError
from sagemaker_debug_ext.looking import report, write_report, write_summary
from sagemaker_debug_ext.looking.material import run_rules
from sagemaker_debug_ext.looking.report import ReportOptions
from sagemaker_debug_ext.looking.summary.content import DAMAGE, Arrays, Summary
from sagemaker_debug_ext.looking.summary.keeping import find_summary
from sagemaker_debug_ext.rules.factory.creation import create_rule
from sagemaker_debug_ext.rules.recommended import recommended_parameters
from sagemaker_debug_ext.store.backends.local import LocalBackend
from sagemaker_debug_ext.store.erasing import erase_trial
from sagemaker_debug_ext.store.format.keys import SUMMARY_KEY, event_key
from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.trials.values import bulk_reader
from sagemaker_debug_ext.vocabulary import ModeKeys

from .conftest import BROKEN_AT, becomes_nan, write_job


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """Return the folder of a trial of two workers with a summary."""
    folder = write_job(tmp_path_factory.mktemp("job") / "job", fault=becomes_nan, workers=("worker_0", "worker_1"))
    assert write_summary(create_trial(folder)) == Path(folder, SUMMARY_KEY).stat().st_size
    return folder


@pytest.fixture
def written(tmp_path):
    """Return the folder of a small trial with a summary."""
    folder = write_job(tmp_path / "job", steps=12)
    write_summary(create_trial(folder))
    return folder


def page(tmp_path, trial, rules=None):
    write_report([trial], tmp_path / "report.html", rules)
    return (tmp_path / "report.html").read_text()


def test_report_when_there_is_a_summary_then_the_same_page_and_nothing_is_read(job, tmp_path, monkeypatch):
    """The story, the pictures and the tables are those that the trial itself gives."""
    path = Path(job, SUMMARY_KEY)
    content = path.read_bytes()
    path.unlink()
    wanted = page(tmp_path, create_trial(job))
    path.write_bytes(content)

    def refuse(*_):
        raise AssertionError("an event file is read")

    trial = create_trial(job)
    monkeypatch.setattr(bulk_reader, "read_uniform", refuse)
    read = trial.index_reader.events.backend.read
    monkeypatch.setattr(
        trial.index_reader.events.backend, "read", lambda key, *rest: refuse() if "events/" in key else read(key, *rest)
    )
    assert page(tmp_path, trial) == wanted
    assert f"step {BROKEN_AT}" in wanted


def test_report_when_other_rules_are_asked_for_then_they_are_run(job, tmp_path, monkeypatch):
    """Only the verdict is that of the rules that were asked for; other parameters are other rules."""
    judged = []
    monkeypatch.setattr(
        report, "run_rules", lambda trial, rules, *rest: judged.append(rules) or run_rules(trial, rules)
    )
    trial = create_trial(job)
    recommended = recommended_parameters(trial)
    few = {"NonFiniteOrigin": {}}
    for parameters, are_run in ((recommended, 0), (few, 1), (recommended | {"LossSpike": {"factor": 11}}, 1)):
        rules = {name: create_rule(name, trial, given) for name, given in parameters.items()}
        story = write_report([trial], tmp_path / "report.html", [rules])
        assert {line.name for line in story.rules} == set(rules)
        assert judged == [rules] * are_run
        judged.clear()
    write_report([trial], tmp_path / "report.html", options=ReportOptions(start=2))
    assert len(judged) == 1
    assert not write_report([trial], tmp_path / "report.html", [None]).rules
    assert len(judged) == 1


def test_summary_when_its_bytes_are_damaged_or_cut_off_then_not_used(job):
    """Each change of a byte is found by the checksum, and no error of another kind comes out."""
    trial = create_trial(job)
    content = Path(job, SUMMARY_KEY).read_bytes()
    assert Summary.decode(content, trial).encode() == content
    for place in (0, 10, 31, 33, len(content) // 2, len(content) - 1):
        spoiled = content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :]
        for data in (spoiled, content[:place]):
            with pytest.raises(DAMAGE):
                Summary.decode(data, trial)


def test_summary_when_it_asks_for_an_array_of_objects_then_refused():
    """Bytes that become addresses would be read from anywhere."""
    with pytest.raises(ValueError, match="an array of numbers"):
        Arrays(bytes(8)).get([0, "O", [1]])


def change_a_value(folder):
    path = Path(folder, event_key(3, "worker_0"))
    path.write_bytes(path.read_bytes())


def add_a_step(folder):
    trial = create_trial(folder)
    SmallTrial(folder).write(ModeKeys.TRAIN, 99, {"loss": 1.0}, global_step=trial.steps()[-1] + 1)


def remove_the_end(folder):
    Path(folder, "training_job_end.ts").unlink()


@pytest.mark.parametrize("change", [change_a_value, add_a_step, remove_the_end])
def test_summary_when_a_file_has_changed_then_not_used(written, change):
    """Values, steps and the end of the job belong to what it is of."""
    assert find_summary(create_trial(written)) is not None
    assert find_summary(create_trial(written, range_steps=(2, 5))) is None
    change(written)
    assert find_summary(create_trial(written)) is None


def test_summary_when_it_is_of_another_version_of_the_package_then_not_used(written, monkeypatch):
    """Rules and views of another version may find and show other things."""
    monkeypatch.setattr("sagemaker_debug_ext.looking.summary.keeping.__version__", "another")
    assert find_summary(create_trial(written)) is None


def test_summary_when_a_file_is_damaged_then_refused_and_the_last_one_stays(written):
    """The page of such a trial lists the problem, which a summary does not hold."""
    before = Path(written, SUMMARY_KEY).read_bytes()
    path = Path(written, event_key(3, "worker_0"))
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(SMDebugRuntimeError, match="000000000003_worker_0"):
        write_summary(create_trial(written))
    assert Path(written, SUMMARY_KEY).read_bytes() == before


def test_summary_when_the_trial_changes_meanwhile_then_refused(tmp_path, monkeypatch):
    """A step that is written while the rules run is in no summary."""
    folder = write_job(tmp_path / "job", steps=12)
    list_files, calls = LocalBackend.list, itertools.count()

    def list_and_change(backend, prefix=""):
        if not prefix and next(calls) == 1:
            change_a_value(folder)
        return list_files(backend, prefix)

    monkeypatch.setattr(LocalBackend, "list", list_and_change)
    with pytest.raises(SMDebugRuntimeError, match="does not change"):
        write_summary(create_trial(folder))
    assert not Path(folder, SUMMARY_KEY).exists()


def test_summary_when_the_trial_is_erased_then_gone(written):
    """A hook that overwrites a trial leaves nothing of it."""
    erase_trial(LocalBackend(written))
    assert not Path(written, SUMMARY_KEY).exists()
