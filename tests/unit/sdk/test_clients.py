"""Members for requests of a client, and files of rules, without any AWS."""

from __future__ import annotations

import errno
import os

import pytest

from sagemaker_debug_ext import rule_configs
from sagemaker_debug_ext.config import Rule
from sagemaker_debug_ext.errors import SMDebugTypeError
from sagemaker_debug_ext.sdk import attach_debugger, upload_rule_sources
from sagemaker_debug_ext.sdk._uploads import SessionBucket, SourceUploads

REQUEST = {"TrainingJobName": "job-1", "OutputDataConfig": {"S3OutputPath": "s3://b/out"}}


class Events:
    """Handlers of one client."""

    def __init__(self):
        self.handlers = []

    def register(self, event, handler):
        self.handlers.append(handler)

    def unregister(self, event, handler):
        self.handlers.remove(handler)

    def send(self, request):
        for handler in list(self.handlers):
            request = handler(params=request, model=None, context={"client_region": "us-east-1"}) or request
        return request


def test_attached_handlers_return_a_new_request():
    """What they are given stays as it is."""
    events = Events()
    attached = attach_debugger(events, rules=[Rule.sagemaker(rule_configs.overfit())])
    sent = events.send(REQUEST)
    assert sent["DebugHookConfig"] == {"S3OutputPath": "s3://b/out"}
    assert list(REQUEST) == ["TrainingJobName", "OutputDataConfig"]
    own = {**REQUEST, "ProfilerConfig": {"DisableProfiler": True}}
    assert events.send(own) is own
    handler = events.handlers[0]
    attached.detach()
    assert events.handlers == []
    assert handler(params=REQUEST, context={}) is None


def test_attach_to_anything_else_is_refused():
    """It says what it takes."""
    with pytest.raises(SMDebugTypeError, match="must be a boto3 client"):
        attach_debugger(object())


def test_uploads_have_keys_of_their_content(tmp_path):
    """One file once, S3 locations and built-in rules not at all; nothing is sent before it is asked for.

    The session decides where its uploads are, as that of the SDK does.
    """
    file = tmp_path / "rule.py"
    file.write_text("a")

    def rule(name, source):
        return Rule.custom(name, None, "ml.t3.medium", 1, source=source, rule_to_invoke="A")

    class Session:
        def __init__(self):
            self.sent = []

        default_bucket_prefix = "team"

        def default_bucket(self):
            return "bucket"

        def upload_data(self, path, bucket, key_prefix):
            if not os.path.exists(path):
                raise FileNotFoundError(errno.ENOENT, "No such file", path)
            self.sent.append((path, bucket, key_prefix))
            return f"s3://elsewhere/{len(self.sent)}"

    session = Session()
    rules = [
        rule("A", str(file)),
        rule("B", f"file://{file}"),
        rule("C", "s3://b/c.py"),
        Rule.sagemaker(rule_configs.overfit()),
    ]
    uploads = SourceUploads.plan(rules, SessionBucket(session))
    assert session.sent == []
    checksum = "ca978112ca1bbdcafac231b39a23dc4d"
    assert uploads.uris == {
        str(file): f"s3://bucket/team/A/{checksum}/rule.py",
        f"file://{file}": f"s3://bucket/team/B/{checksum}/rule.py",
    }
    assert uploads.send() == {str(file): "s3://elsewhere/1", f"file://{file}": "s3://elsewhere/2"}
    assert session.sent == [(str(file), "bucket", f"team/A/{checksum}"), (str(file), "bucket", f"team/B/{checksum}")]
    missing = SourceUploads.plan([rule("A", "gone.py")], SessionBucket(session))
    assert missing.uris == {"gone.py": "s3://bucket/team/A/gone.py"}
    with pytest.raises(FileNotFoundError, match=r"source of rule 'A': No such file: 'gone.py'"):
        missing.send()


def test_upload_rule_sources_uses_the_client_given(tmp_path):
    """And returns where the files are."""
    file = tmp_path / "rule.py"
    file.write_text("a")
    sent = []

    class Client:
        def upload_file(self, path, bucket, key):
            sent.append((path, bucket, key))

    rules = [Rule.custom("A", None, "ml.t3.medium", 1, source=str(file), rule_to_invoke="X")]
    (uri,) = upload_rule_sources(rules, Client(), "bucket").values()
    assert [f"s3://{bucket}/{key}" for _, bucket, key in sent] == [uri]
