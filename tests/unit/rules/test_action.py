from __future__ import annotations

import http.server
import json
import logging
import threading

import boto3
import pytest
from botocore.stub import Stubber

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.rules import action
from sagemaker_debug_ext.rules.action import Actions, parse_actions

PREFIX = "My-Job"
QUERY = {"NameContains": PREFIX, "SortBy": "CreationTime", "SortOrder": "Descending", "StatusEquals": "InProgress"}
STOP = json.dumps({"name": "stoptraining", "training_job_prefix": PREFIX})
TOPIC = "arn:aws:sns:us-east-1:123456789012:SMDebugRules"


def job(name):
    """Return an entry of ListTrainingJobs."""
    return {
        "TrainingJobName": name,
        "TrainingJobArn": f"arn:aws:sagemaker:us-east-1:123456789012:training-job/{name}",
        "CreationTime": 0,
        "TrainingJobStatus": "InProgress",
    }


class Clients:
    """Makes stubbed AWS clients, and counts them."""

    def __init__(self):
        keys = {"region_name": "us-east-1", "aws_access_key_id": "x", "aws_secret_access_key": "y"}
        self.clients = {name: boto3.client(name, **keys) for name in ("sagemaker", "sns")}
        self.stubs = {name: Stubber(client) for name, client in self.clients.items()}
        self.made = []
        for stub in self.stubs.values():
            stub.activate()

    def __call__(self, service):
        self.made.append(service)
        return self.clients[service]

    def done(self):
        for stub in self.stubs.values():
            stub.assert_no_pending_responses()


@pytest.fixture(scope="module")
def shared_clients():
    return Clients()


@pytest.fixture
def aws(shared_clients):
    shared_clients.made.clear()
    yield shared_clients
    shared_clients.done()


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "Email", "endpoint": "Me@example.com"}',
        '[{"name": "EMAIL", "endpoint": "Me@example.com"}]',
        r"{\"endpoint\": \"Me@example.com\", \"name\": \"email\"}",
        r"[{\"name\": \"email\", \"endpoint\": \"Me@example.com\"}]",
    ],
)
def test_plain_and_escaped_text_mean_the_same(text):
    """Only the name of an action is put into lower case."""
    assert parse_actions(text) == [{"name": "email", "endpoint": "Me@example.com"}]


@pytest.mark.parametrize("text", [None, "", "  ", "[]"])
def test_no_text_means_no_actions(text):
    """As rules without actions have it."""
    assert Actions(text).names == []


@pytest.mark.parametrize("text", ["{", "email", r"{\"name\": }"])
def test_text_that_is_no_json_is_refused(text):
    """The error shows it."""
    with pytest.raises(SMDebugValueError, match="action_json must be a JSON object or an array"):
        Actions(text)


@pytest.mark.parametrize(
    ("text", "logged"),
    [
        ("7", "an object with a name"),
        ('["email"]', "an object with a name"),
        ('{"endpoint": "a@b.com"}', "an object with a name"),
        ('{"name": "emial", "endpoint": "a@b.com"}', "did you mean 'email'"),
        ('{"name": "email"}', "needs 'endpoint'"),
        ('{"name": "sms", "endpoint": 7}', "needs 'endpoint'"),
        ('{"name": "stoptraining"}', "needs 'training_job_prefix'"),
    ],
)
def test_entries_that_are_no_action_are_logged_and_left_out(text, logged, caplog, aws):
    """The other entries stay."""
    actions = Actions(json.dumps([json.loads(text), {"name": "mine"}]), handlers={"mine": lambda *_: None})
    assert actions.names == ["mine"]
    assert logged in caplog.text
    assert aws.made == []


def test_a_handler_gets_parameters_rule_and_message():
    """Handlers replace the built-in ones of the same name."""
    calls = []
    actions = Actions(STOP, "Rule", handlers={"stoptraining": lambda *arguments: calls.append(arguments)})
    assert calls == []
    actions.invoke("because")
    assert calls == [({"name": "stoptraining", "training_job_prefix": PREFIX}, "Rule", "because")]


def test_actions_run_once_unless_they_are_to_be_repeated():
    """A rule may fire at each of a million steps."""
    calls = []
    note = lambda entry, *_: calls.append(entry["id"])  # noqa: E731
    actions = Actions('[{"name": "n", "id": 1}, {"name": "n", "id": 2, "repeat": true}]', handlers={"n": note})
    for _ in range(3):
        actions.invoke()
    assert calls == [1, 2, 2, 2]


def test_an_action_that_takes_too_long_is_not_waited_for(caplog):
    """Whatever it does; the next one runs."""
    release = threading.Event()
    calls = []
    handlers = {"slow": lambda *_: release.wait(), "next": lambda *_: calls.append("next")}
    Actions('[{"name": "slow"}, {"name": "next"}]', "Rule", handlers=handlers, timeout_seconds=0.01).invoke()
    release.set()
    assert calls == ["next"]
    assert "action 'slow' takes longer than 0.01 s" in caplog.text


def test_a_marker_file_is_written(tmp_path):
    """For others to notice, with what was found."""
    path = tmp_path / "new" / "stop.json"
    Actions(json.dumps({"name": "Marker", "path": str(path)}), "Rule").invoke("because")
    assert json.loads(path.read_text()) == {"rule": "Rule", "message": "because"}
    assert list(path.parent.iterdir()) == [path]


def test_a_function_is_called_with_rule_and_message(monkeypatch):
    """By module and name."""
    calls = []
    monkeypatch.setattr(action, "noted", lambda *each: calls.append(each), raising=False)
    Actions('{"name": "call", "function": "sagemaker_debug_ext.rules.action:noted"}', "Rule").invoke("because")
    assert calls == [("Rule", "because")]


@pytest.mark.parametrize(
    ("entry", "logged"),
    [
        ({"name": "call", "function": "no_colon"}, "package.module:function"),
        ({"name": "call", "function": "no_such_module:f"}, "ModuleNotFoundError"),
        ({"name": "webhook", "url": "file:///etc/passwd"}, "must begin with https"),
        ({"name": "webhook", "url": "http://127.0.0.1:9"}, "action 'webhook' failed"),
        ({"name": "webhook"}, "needs 'url' or 'url_from'"),
        ({"name": "webhook", "url": "http://127.0.0.1:9", "url_from": "HOOK"}, "needs 'url' or 'url_from'"),
        ({"name": "webhook", "url_from": "NO_SUCH_VARIABLE"}, "must name an environment variable that is set"),
        ({"name": "marker", "path": "/dev/null/x"}, "action 'marker' failed"),
    ],
)
def test_actions_that_cannot_be_carried_out_are_logged(entry, logged, caplog):
    """In a sentence, and nothing is raised."""
    Actions(json.dumps(entry), "Rule").invoke()
    assert logged in caplog.text
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize(
    "address",
    [
        "ftp://example.com/s3cret",
        "https://me:s3cret@example.com/",
        "https://example.com/s3cret with blanks",
        "https://127.0.0.1:9/s3cret",
    ],
)
@pytest.mark.parametrize("key", ["url", "url_from"])
def test_no_more_than_the_host_of_an_address_is_logged_when_nothing_is_sent(key, address, monkeypatch, caplog):
    """It may be a secret, and logs are read by many."""
    monkeypatch.setenv("OWN_HOOK", address)
    given = {"url": address, "url_from": "OWN_HOOK"}[key]
    Actions(json.dumps({"name": "webhook", key: given}), "Rule").invoke()
    assert "action 'webhook' failed" in caplog.text
    assert "s3cret" not in caplog.text


def test_an_action_that_is_left_out_is_logged_without_its_address(caplog):
    """Whatever else is wrong with it."""
    url = "https://example.com/s3cret"
    Actions(json.dumps([{"url": url}, {"name": "webhook", "url": url, "url_from": "OWN_HOOK"}]), "Rule")
    assert caplog.text.count("https://example.com/…") == 2
    assert "s3cret" not in caplog.text


@pytest.mark.parametrize("key", ["url", "url_from"])
def test_a_webhook_gets_rule_and_message_as_json(key, monkeypatch):
    """By POST, to an address of the action or of the environment."""
    received = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.append((self.path, self.headers["Content-Type"], json.loads(body)))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        url = f"http://127.0.0.1:{server.server_address[1]}/hook"
        monkeypatch.setenv("OWN_HOOK", url)
        address = {"url": url, "url_from": "OWN_HOOK"}[key]
        Actions(json.dumps({"name": "webhook", key: address}), "Rule").invoke("because")
        thread.join()
    assert received == [("/hook", "application/json", {"rule": "Rule", "message": "because"})]


def test_a_handler_that_raises_is_logged_and_the_next_one_runs(caplog):
    """No action may end an evaluation."""
    calls = []

    def fail(*_):
        raise RuntimeError("broken")

    actions = Actions('[{"name": "a"}, {"name": "b"}]', handlers={"a": fail, "b": lambda *_: calls.append("b")})
    actions.invoke()
    assert calls == ["b"]
    assert "action 'a' failed" in caplog.text
    assert "broken" in caplog.text


def test_stop_training_stops_the_only_job_that_begins_with_the_prefix(aws):
    """It is looked for over all pages when the rule is made, and stopped when it fires."""
    sagemaker = aws.stubs["sagemaker"]
    page = {"TrainingJobSummaries": [job("other-My-Job")], "NextToken": "more"}
    sagemaker.add_response("list_training_jobs", page, QUERY)
    last_page = {"TrainingJobSummaries": [job("My-Job-1"), job("my-job-1")]}
    sagemaker.add_response("list_training_jobs", last_page, {**QUERY, "NextToken": "more"})
    actions = Actions(STOP, "Rule", client_factory=aws)
    aws.done()
    sagemaker.add_response("stop_training_job", {}, {"TrainingJobName": "My-Job-1"})
    actions.invoke()
    assert aws.made == ["sagemaker"]


@pytest.mark.parametrize("names", [[], ["My-Job-1", "My-Job-2"]])
def test_stop_training_stops_nothing_if_not_exactly_one_job_matches(names, aws, caplog):
    """And says so."""
    page = {"TrainingJobSummaries": [job(name) for name in names]}
    aws.stubs["sagemaker"].add_response("list_training_jobs", page, QUERY)
    Actions(STOP, "Rule", client_factory=aws).invoke()
    assert f"{len(names)} running jobs" in caplog.text


@pytest.mark.parametrize(
    ("name", "endpoint", "key"), [("email", "me@example.com", "email"), ("sms", "+4912345", "phone_num")]
)
def test_messages_are_published_for_the_endpoint_only(aws, caplog, name, endpoint, key):
    """The topic is made, the endpoint subscribed with a filter, and the message carries the same attribute."""
    sns = aws.stubs["sns"]
    subscription = {
        "TopicArn": TOPIC,
        "Protocol": name,
        "Endpoint": endpoint,
        "Attributes": {"FilterPolicy": json.dumps({key: [endpoint]})},
        "ReturnSubscriptionArn": False,
    }
    others = [{"TopicArn": "x", "Protocol": name, "Endpoint": endpoint}]
    sns.add_response("create_topic", {"TopicArn": TOPIC}, {"Name": "SMDebugRules"})
    sns.add_response("list_subscriptions", {"Subscriptions": others, "NextToken": "more"}, {})
    sns.add_response("list_subscriptions", {"Subscriptions": []}, {"NextToken": "more"})
    sns.add_response("subscribe", {"SubscriptionArn": "pending"}, subscription)
    actions = Actions(json.dumps({"name": name, "endpoint": endpoint}), "Rule", client_factory=aws)
    aws.done()
    assert ("me@example.com gets no messages until it confirms" in caplog.text) == (name == "email")
    message = {
        "TopicArn": TOPIC,
        "Subject": "SMDebugRule:Rule fired",
        "Message": "SMDebugRule:Rule fired. Look at it.",
        "MessageAttributes": {key: {"DataType": "String", "StringValue": endpoint}},
    }
    sns.add_response("publish", {"MessageId": "1"}, message)
    actions.invoke("Look at it.")


@pytest.mark.parametrize("arn", [f"{TOPIC}:1", "PendingConfirmation"])
def test_a_subscribed_endpoint_is_not_subscribed_again(aws, caplog, arn):
    """So that recipients get each message once. Those who have yet to confirm the subscription get none."""
    sns = aws.stubs["sns"]
    sns.add_response("create_topic", {"TopicArn": TOPIC}, {"Name": "SMDebugRules"})
    known = {"TopicArn": TOPIC, "Protocol": "email", "Endpoint": "a@b.com", "SubscriptionArn": arn}
    sns.add_response("list_subscriptions", {"Subscriptions": [known]}, {})
    Actions('{"name": "email", "endpoint": "a@b.com"}', client_factory=aws)
    assert ("a@b.com gets no messages" in caplog.text) == (arn == "PendingConfirmation")


def test_errors_of_aws_are_logged_and_tried_again_when_the_rule_fires(aws, caplog):
    """A rule is made even if AWS cannot be reached."""
    sagemaker = aws.stubs["sagemaker"]
    sagemaker.add_client_error("list_training_jobs", "ThrottlingException")
    actions = Actions(STOP, "Rule", client_factory=aws)
    assert "ThrottlingException" in caplog.text
    sagemaker.add_response("list_training_jobs", {"TrainingJobSummaries": [job("My-Job")]}, QUERY)
    sagemaker.add_client_error("stop_training_job", "AccessDenied")
    actions.invoke()
    assert "AccessDenied" in caplog.text


def test_clients_are_made_in_the_region_of_the_environment(monkeypatch):
    """Or in us-east-1."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "y")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    assert action.aws_client("sns").meta.region_name == "eu-west-1"
    monkeypatch.delenv("AWS_REGION")
    assert action.aws_client("sns").meta.region_name == "us-east-1"


def test_no_client_is_made_without_actions(caplog):
    """Nothing is asked of AWS by rules that only evaluate."""

    def refuse(service):
        raise AssertionError(service)

    with caplog.at_level(logging.WARNING):
        Actions("", "Rule", client_factory=refuse).invoke("x")
    assert caplog.text == ""


def test_a_message_whose_topic_could_not_be_made_is_tried_again_when_the_rule_fires(aws, caplog):
    """As a job is looked for again."""
    sns = aws.stubs["sns"]
    sns.add_client_error("create_topic", "InternalError")
    actions = Actions('{"name": "sms", "endpoint": "+491"}', "Rule", client_factory=aws)
    assert "InternalError" in caplog.text
    sns.add_response("create_topic", {"TopicArn": TOPIC}, {"Name": "SMDebugRules"})
    known = {"TopicArn": TOPIC, "Protocol": "sms", "Endpoint": "+491", "SubscriptionArn": f"{TOPIC}:1"}
    sns.add_response("list_subscriptions", {"Subscriptions": [known]}, {})
    sns.add_response("publish", {"MessageId": "1"})
    actions.invoke()


def test_the_list_of_jobs_is_given_up_after_many_pages(aws, monkeypatch, caplog):
    """So that an account full of jobs does not hold the rule up."""
    monkeypatch.setattr(action, "MAX_LISTING_PAGES", 1)
    page = {"TrainingJobSummaries": [], "NextToken": "more"}
    aws.stubs["sagemaker"].add_response("list_training_jobs", page, QUERY)
    Actions(STOP, "Rule", client_factory=aws).invoke()
    assert "0 running jobs" in caplog.text
