"""Jobs on Kubernetes and Slurm, of which fakes speak the interfaces."""

from __future__ import annotations

import http.server
import json
import threading

import pytest

from sagemaker_debug_ext.config.job_spec import ActionOptions
from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.requests.manifests import stop_rights
from sagemaker_debug_ext.store.backends import MemoryBackend
from sagemaker_debug_ext.watch.actions import JobActions
from sagemaker_debug_ext.watch.evaluation import RuleRecord
from sagemaker_debug_ext.watch.probes import KubernetesJob, SlurmJob, find_probe, wait_for_end

PATHS = {
    "jobs": "/apis/batch/v1/namespaces/team/jobs/digits-1",
    "trainjobs": "/apis/trainer.kubeflow.org/v1alpha1/namespaces/team/trainjobs/digits-1",
}


@pytest.fixture
def kubernetes():
    """Return a function that makes the probe of a job of a fake API, and the job, which the API changes."""
    servers = []

    def make(kind, token="secret", rights=None):
        job = {"spec": {"parallelism": 1, "suspend": False}, "status": {}}

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self, change=None):
                is_known = self.path == PATHS[kind]
                is_allowed = self.headers["Authorization"] == "Bearer secret"
                if rights is not None:
                    is_allowed = is_allowed and rights(self.command, self.path)
                code = 200 if is_known and is_allowed else 404 if is_allowed else 401
                if change is not None and code == 200:
                    assert self.headers["Content-Type"] == "application/merge-patch+json"
                    job["spec"].update(change["spec"])
                content = json.dumps(job).encode()
                self.send_response(code)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def do_GET(self):
                self.answer()

            def do_PATCH(self):
                self.answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        return KubernetesJob(url=url, token=token, namespace="team", kind=kind, name="digits-1"), job

    yield make
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("kind", ["jobs", "trainjobs"])
def test_kubernetes_job_when_stopped_then_is_suspended_and_nothing_else_changes(kind, kubernetes):
    """Its conditions say whether it has ended."""
    probe, job = kubernetes(kind)
    assert not probe.has_ended()
    probe.stop()
    assert job["spec"] == {"parallelism": 1, "suspend": True}
    job["status"]["conditions"] = [{"type": "Failed", "status": "False"}]
    assert not probe.has_ended()
    job["status"]["conditions"].append({"type": "Complete", "status": "True"})
    assert probe.has_ended()


def test_kubernetes_job_when_the_account_has_no_right_then_the_action_fails(kubernetes):
    """The outcome of the action says so, and the script is asked all the same."""
    probe, job = kubernetes("jobs", token="other")
    state = MemoryBackend()
    record = RuleRecord({"RuleConfigurationName": "VanishingGradient"})
    actions = JobActions("digits-1", state, ActionOptions(), stop_job=probe.stop)
    parameters = {"name": "stoptraining", "training_job_prefix": ""}
    with pytest.raises(OSError, match="401"):
        actions.handlers(record)["stoptraining"](parameters, "VanishingGradient", "vanished")
    assert "401" in record.actions[0]["outcome"]
    assert json.loads(bytes(state.read("stop.json")))["rule"] == "VanishingGradient"
    assert not job["spec"]["suspend"]


def has_right(rule, method, path):
    """Return whether a rule of a Role allows a request, as the authorizer of Kubernetes decides it."""
    _, group, _, _, namespace, resource, name = path.removeprefix("/").split("/")
    return (
        {"GET": "get", "PATCH": "patch"}[method] in rule["verbs"]
        and group in rule["apiGroups"]
        and resource in rule["resources"]
        and namespace == "team"
        and name in rule.get("resourceNames", [name])
    )


@pytest.mark.parametrize("kind", ["job", "trainjob"])
@pytest.mark.parametrize("names", [[], ["digits-1"]])
def test_kubernetes_job_when_its_account_has_the_printed_rights_then_is_stopped(kind, names, kubernetes):
    """With fewer of them it is not; the API asks for rights as that of a cluster does."""
    _, role, _ = stop_rights(kind, "trainer", names)["items"]
    (rule,) = role["rules"]
    probe, job = kubernetes(f"{kind}s", rights=lambda method, path: has_right(rule, method, path))
    assert not probe.has_ended()
    probe.stop()
    assert job["spec"]["suspend"] is True
    for verb in rule["verbs"]:
        fewer = {**rule, "verbs": [other for other in rule["verbs"] if other != verb]}
        probe, _ = kubernetes(f"{kind}s", rights=lambda method, path, fewer=fewer: has_right(fewer, method, path))
        with pytest.raises(OSError, match="401"):
            probe.stop() if verb == "patch" else probe.has_ended()
    _, role, _ = stop_rights(kind, "trainer", ["letters-1"])["items"]
    probe, _ = kubernetes(f"{kind}s", rights=lambda method, path: has_right(role["rules"][0], method, path))
    with pytest.raises(OSError, match="401"):
        probe.stop()


def test_kubernetes_job_when_in_a_pod_then_its_account_is_used(tmp_path):
    """The token is not shown."""
    for name, text in {"token": "secret\n", "namespace": "team", "ca.crt": ""}.items():
        (tmp_path / name).write_text(text)
    environ = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    probe = KubernetesJob.from_pod("jobs", "digits-1", environ, tmp_path)
    assert (probe.url, probe.token, probe.namespace) == ("https://10.0.0.1:443", "secret", "team")
    assert "secret" not in repr(probe)


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """The folder of fakes of Slurm's commands: ``state`` holds the answer of squeue, ``calls`` those of scancel."""
    commands = {
        "squeue": f'[ "$3" = 42 ] || {{ echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1; }}\n'
        f"cat {tmp_path}/state",
        "scancel": f'echo "$@" >> {tmp_path}/calls\n[ -e {tmp_path}/denied ] && {{ echo denied >&2; exit 1; }}\n'
        f'case "$*" in --signal*) ;; *) : > {tmp_path}/state;; esac',
    }
    for name, text in commands.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "state").write_text("RUNNING\n")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


def test_slurm_job_when_it_does_not_end_by_itself_then_is_cancelled(slurm):
    """First a signal for all steps, later the end."""
    probe = find_probe("slurm", "digits-1", {"SLURM_JOB_ID": "42"})
    assert probe == SlurmJob(job="42")
    assert not probe.has_ended()
    SlurmJob(job="42", grace_seconds=0.1).stop()
    assert wait_for_end(probe, threading.Event(), 0.05)
    assert (slurm / "calls").read_text().splitlines() == ["--signal=TERM 42", "42"]


def test_slurm_job_when_it_ends_by_itself_then_is_not_cancelled(slurm):
    """A job that Slurm has forgotten has ended, too."""
    (slurm / "state").write_text("")
    SlurmJob(job="42")._cancel_at_last()
    assert not (slurm / "calls").exists()
    assert SlurmJob(job="43").has_ended()


def test_slurm_job_when_it_may_not_be_signalled_then_the_error_says_so(slurm):
    """So that the action is recorded as failed."""
    (slurm / "denied").touch()
    with pytest.raises(OSError, match="scancel failed: denied"):
        SlurmJob(job="42").stop()


def test_wait_when_the_cluster_does_not_answer_then_goes_on(caplog):
    """One warning for one outage."""
    answers = iter([OSError("down"), OSError("down"), False, True])

    class Probe:
        def has_ended(self):
            answer = next(answers)
            if isinstance(answer, Exception):
                raise answer
            return answer

        def stop(self):
            raise AssertionError

    assert wait_for_end(Probe(), threading.Event(), 0)
    assert [record.getMessage() for record in caplog.records] == ["the state of the job is unknown: down"]


@pytest.mark.parametrize("text", ["", "slurm", "slurm:x", "kubernetes:pods/a", "kubernetes:jobs/", "pbs:1"])
def test_probe_when_the_text_names_no_job_then_says_what_does(text):
    """All forms are listed."""
    with pytest.raises(SMDebugValueError, match="must be kubernetes:jobs/NAME"):
        find_probe(text, "digits-1", {})


def test_probe_of_kubernetes_when_this_is_no_pod_then_says_so():
    """With the variable that is missing."""
    with pytest.raises(SMDebugValueError, match="KUBERNETES_SERVICE_HOST"):
        find_probe("kubernetes:jobs/digits-1", "digits-1", {})


def test_wait_when_it_is_given_up_then_ends_although_the_job_runs_on():
    """The process of a submitter goes on after its rules have ended, and must not ask for the job forever."""
    given_up = threading.Event()

    class Probe:
        def has_ended(self):
            given_up.set()
            return False

    assert not wait_for_end(Probe(), given_up, 3600)
