"""Rules of a running job whose S3 is out of reach for a while."""

from __future__ import annotations

import functools
import threading

import numpy as np
import pytest

from sagemaker_debug_ext.store.backends.s3 import S3Backend, S3Options
from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.vocabulary import ModeKeys
from sagemaker_debug_ext.watch.evaluation import RuleEvaluations, WatchedJob

RULES = [
    {"RuleConfigurationName": name, "RuleParameters": {"rule_to_invoke": name}}
    for name in ("ExplodingTensor", "VanishingGradient")
]


class Outage:
    """Begins when a rule is first evaluated, and ends after some failed requests."""

    def __init__(self, proxy, num_requests):
        self._proxy = proxy
        self._num_left = num_requests
        self._lock = threading.Lock()

    def begin(self):
        self._proxy.spoil = self._spoil

    def _spoil(self, kind, path):
        with self._lock:
            self._num_left -= 1
            return 503 if self._num_left > 0 else None

    @property
    def is_over(self):
        return self._num_left <= 0


class Listener:
    def __init__(self):
        self.statuses = []

    def issue_found(self, issue):
        pass

    def status_changed(self, record):
        self.statuses.append((record.name, record.status.status, record.status.details))


@pytest.fixture
def watched(bucket, proxy, monkeypatch):
    """The rules of a job whose trial and results lie on S3."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
    monkeypatch.setattr("sagemaker_debug_ext.store.backends.s3.S3Options", functools.partial(S3Options, num_attempts=1))
    monkeypatch.setattr("sagemaker_debug_ext.store.backends.s3.backend._LONGEST_PAUSE_SECONDS", 0.01)
    results = {rule["RuleConfigurationName"]: f"s3://{bucket}/results/{number}" for number, rule in enumerate(RULES)}
    listener = Listener()
    job = WatchedJob(name="job", rules=RULES, trial=f"s3://{bucket}/trial", results=results)
    return RuleEvaluations(job, listener, lambda record: {}, 0.01), listener


def write_trial(bucket, proxy, num_steps):
    """Write a trial whose last step holds NaN."""
    trial = SmallTrial(f"s3://{bucket}/trial", s3=S3Options(endpoint_url=proxy.url))
    for step in range(num_steps):
        last = np.nan if step == num_steps - 1 else 2.0
        trial.write(ModeKeys.TRAIN, step, {"gradient/a": np.array([1.0, last], np.float32)})
    trial.end()


def test_rules_when_s3_is_back_then_end_as_without_an_outage(watched, bucket, proxy):
    """No status is Error: whatever was asked for is asked for again."""
    evaluations, listener = watched
    write_trial(bucket, proxy, 5)
    outage = Outage(proxy, 40)
    outage.begin()
    evaluations.run()
    assert outage.is_over
    assert {name: status for name, status, _ in listener.statuses} == {
        "ExplodingTensor": "IssuesFound",
        "VanishingGradient": "NoIssuesFound",
    }
    result = S3Backend(bucket, "results/0", S3Options(endpoint_url=proxy.url)).read("rule-result.json")
    assert b"IssuesFound" in result


def test_rules_when_the_job_ends_during_an_outage_then_are_stopped(watched, bucket, proxy):
    """The end of the job is not delayed."""
    evaluations, listener = watched
    write_trial(bucket, proxy, 2)
    Outage(proxy, 10**9).begin()
    thread = threading.Thread(target=evaluations.run)
    thread.start()
    thread.join(0.5)
    assert thread.is_alive()
    evaluations.cancel("the training process has ended")
    thread.join(60)
    assert not thread.is_alive()
    assert {(status, details) for _, status, details in listener.statuses} == {
        ("Stopped", "the training process has ended")
    }
