"""The S3 back end keeps the contract of all back ends, names errors, and creates no bucket."""

from __future__ import annotations

import os

import attrs
import botocore.exceptions
import pytest

from sagemaker_debug_ext._s3_urls import KMS_VARIABLE, split_s3_url
from sagemaker_debug_ext.errors import SMDebugValueError, StorageError
from sagemaker_debug_ext.store.backends import open_backend
from sagemaker_debug_ext.store.backends.base import ByteRange
from sagemaker_debug_ext.store.backends.s3 import S3Backend, S3Options
from sagemaker_debug_ext.testing.backends import BackendContract
from sagemaker_debug_ext.watch.lease import Lease


@pytest.fixture
def options(proxy):
    return S3Options(endpoint_url=proxy.url, num_attempts=3, read_seconds=5)


@pytest.fixture
def backend(bucket, options):
    return S3Backend(bucket, "some/trial", options, sleep=lambda seconds: None)


class TestS3Backend(BackendContract):
    @pytest.fixture
    def backend(self, bucket, options):
        return S3Backend(bucket, "some/trial", options)


def test_keys_lie_below_the_prefix(backend, bucket, s3_client):
    """Another prefix that begins alike is not this trial."""
    backend.write("a", (b"1",))
    s3_client.put_object(Bucket=bucket, Key="some/trial-2/a", Body=b"")
    assert [info.key for info in backend.list()] == ["a"]
    assert [item["Key"] for item in s3_client.list_objects_v2(Bucket=bucket)["Contents"]] == [
        "some/trial-2/a",
        "some/trial/a",
    ]


def test_large_object_when_written_and_read_in_parts_then_whole(backend, proxy):
    """Objects of several parts arrive as they were, by several requests."""
    content = os.urandom(20 << 20)
    backend.write("big", (content[:5], content[5:100], b"", memoryview(content)[100:]))
    proxy.reset()
    assert backend.read("big", 3, 1 << 50) == content[3:]
    assert proxy.counts == {"GET": 3}
    assert backend.read("big") == content


def test_ranges_when_near_then_fetched_together(backend, proxy):
    """Ranges of one object that lie close to each other cost one request, far ones one each."""
    content = os.urandom(2 << 20)
    backend.write("a", (content,))
    backend.write("b", (b"short",))
    proxy.reset()
    ranges = [ByteRange("a", 500, 10), ByteRange("b"), ByteRange("a", 0, 10), ByteRange("a", 1 << 20, 9),
              ByteRange("none", 0, 1), ByteRange("a", 505, 100)]  # fmt: skip
    expected = [content[500:510], b"short", content[:10], content[1 << 20 : (1 << 20) + 9], None, content[505:605]]
    assert [content if content is None else bytes(content) for content in backend.read_many(ranges)] == expected
    assert proxy.counts == {"GET": 4}


def test_listing_when_of_many_pages_then_complete_and_resumable(backend, bucket, put_many, proxy):
    """More objects than one response holds are all listed; what is settled is not listed again."""
    put_many(bucket, [f"some/trial/index/{number:05}" for number in range(1203)])
    watch = backend.watch("index/")
    proxy.reset()
    changes = watch.look()
    assert [info.key for info in changes.objects] == [f"index/{number:05}" for number in range(1203)]
    assert not changes.is_snapshot
    assert proxy.counts == {"LIST": 2}
    backend.write("index/01203", (b"",))
    proxy.reset()
    changes = watch.look("index/01200")
    assert ([info.key for info in changes.objects], changes.is_snapshot) == (["index/01203"], True)
    assert proxy.counts == {"LIST": 1}
    backend.write("index/00007", (b"new",))
    assert watch.look("index/01200").objects == []
    assert [info.key for info in watch.look_at_all().objects] == ["index/00007"]


def test_listing_when_of_many_folders_then_each_is_listed_once_and_at_once(backend, bucket, put_many, proxy):
    """The folders of a long trial are listed side by side; nothing is missing or listed twice, wherever a page ends."""
    keys = [f"index/{folder:09}/{number:04}" for folder in range(5) for number in range(1 + 201 * folder)]
    keys += ["index/notes.json", "index/0000000005"]
    put_many(bucket, [f"some/trial/{key}" for key in keys])
    proxy.reset()
    assert [info.key for info in backend.list("index/")] == sorted(keys)
    assert proxy.counts == {"LIST": 4}  # a page, what is where, and the two folders that did not fit into the page
    watch = backend.watch("index/")
    assert [info.key for info in watch.look("index/000000002/0200").objects] == [
        key for key in sorted(keys) if key > "index/000000002/0200"
    ]
    proxy.spoil = lambda kind, path: 403 if "000000004" in path else None
    with pytest.raises(StorageError, match="index/000000004"):
        backend.list("index/")


def test_creating_when_the_server_knows_no_conditions_then_still_created_once(backend, bucket, s3_client, proxy):
    """A server that does not implement conditional writes is asked before writing instead."""
    proxy.spoil = lambda kind, path: 501 if kind == "PUT" and proxy.counts["PUT"] == 1 else None
    assert backend.create("mark")
    assert proxy.counts == {"PUT": 2, "HEAD": 1}
    assert not backend.create("mark")
    assert proxy.counts == {"PUT": 2, "HEAD": 2}
    assert s3_client.get_object(Bucket=bucket, Key="some/trial/mark")["ContentLength"] == 0


@pytest.mark.parametrize("what", [503, 500, 429, "drop"])
def test_request_when_it_fails_at_first_then_tried_again(backend, proxy, what):
    """Throttling, server errors and lost connections are gone the next time."""
    backend.write("a", (b"content",))
    seen = []

    def spoil(kind, path):
        seen.append(path)
        return what if len(seen) <= 2 else None

    proxy.spoil = spoil
    assert backend.read("a") == b"content"
    assert len(seen) == 3


def test_body_when_it_breaks_off_then_continued_where_it_broke(backend, proxy):
    """What has come is kept, and only the rest is asked for."""
    content = os.urandom(3 << 20)
    backend.write("a", (content,))
    broken = iter(["cut", "cut"])
    proxy.spoil = lambda kind, path: next(broken, None)
    assert backend.read("a") == content
    assert proxy.counts["GET"] == 3


@pytest.mark.parametrize("what", ["flip", "nonsense"])
@pytest.mark.parametrize("size", [100, 3 << 20])
def test_body_when_spoiled_on_its_way_then_read_anew(backend, proxy, what, size):
    """Bytes that do not have the checksum of the object are thrown away and asked for again."""
    content = os.urandom(size)
    backend.write("a", (content,))
    spoiled = iter([what, what])
    proxy.spoil = lambda kind, path: next(spoiled, None)
    assert backend.read("a") == content
    assert proxy.counts["GET"] == 3


@pytest.mark.parametrize("what", ["flip", "nonsense"])
def test_body_when_always_spoiled_then_an_error_with_its_place(backend, proxy, what):
    """The error is one of ours, alone and among others."""
    backend.write("a", (b"content",))
    backend.write("b", (b"other",))
    proxy.spoil = lambda kind, path: what if path.endswith("/a") else None
    with pytest.raises(StorageError, match=r"some/trial/a: .*checksum"):
        backend.read("a")
    spoiled, sound = backend.read_many([ByteRange("a"), ByteRange("b")])
    assert isinstance(spoiled, StorageError)
    assert sound == b"other"


def test_listing_when_it_is_nonsense_then_asked_for_again_or_an_error(backend, proxy):
    """An answer that is no listing is not an error of the parser."""
    backend.write("a", (b"1",))
    spoiled = iter(["nonsense"])
    proxy.spoil = lambda kind, path: next(spoiled, None)
    assert [info.key for info in backend.list()] == ["a"]
    proxy.spoil = lambda kind, path: "nonsense"
    with pytest.raises(StorageError, match="some/trial"):
        backend.list()


def test_endpoint_when_wrong_then_an_error_of_ours(bucket):
    """What cannot be an address is refused with its place."""
    with pytest.raises(StorageError, match="nowhere"):
        S3Backend(bucket, "x", S3Options(endpoint_url="nowhere"))


def test_object_when_replaced_while_it_comes_then_read_from_the_beginning(backend, proxy):
    """Two versions of an object are never mixed."""
    backend.write("a", (b"1" * 3_000_000,))
    calls = []

    def spoil(kind, path):
        calls.append(kind)
        if len(calls) == 1:
            return "cut"
        if len(calls) == 2:
            proxy.spoil = lambda kind, path: None
            threading.Thread(target=backend.write, args=("a", (b"2" * 3_000_000,))).start()
        return None

    import threading

    proxy.spoil = spoil
    assert backend.read("a") in (b"1" * 3_000_000, b"2" * 3_000_000)


def test_request_when_it_keeps_failing_then_an_error_with_its_place(backend, proxy):
    """Giving up says what was asked for and what came."""
    proxy.spoil = lambda kind, path: 503
    with pytest.raises(StorageError, match=r"some/trial/a.*SlowDown") as failed:
        backend.read("a")
    assert failed.value.code == "SlowDown"
    proxy.spoil = lambda kind, path: "cut" if kind == "GET" else None
    backend.write("a", (b"content",))
    with pytest.raises(StorageError, match="some/trial/a"):
        backend.read("a")


@pytest.mark.parametrize("what", [503, "drop"])
def test_request_when_s3_is_long_out_of_reach_then_repeated_until_it_is_back(bucket, options, proxy, what):
    """Reading, listing, writing and creating: who waits for S3 gets the right answer at last."""
    rounds = []

    def keep_trying():
        rounds.append(None)
        if len(rounds) == 3:
            proxy.spoil = lambda kind, path: None
        return True

    patient = S3Backend(bucket, "some/trial", attrs.evolve(options, keep_trying=keep_trying), sleep=lambda _: None)
    patient.write("a", (b"content" * 100_000,))
    calls = {
        "read": (lambda: patient.read("a"), b"content" * 100_000),
        "list": (lambda: [info.key for info in patient.list()], ["a"]),
        "write": (lambda: patient.write("a", (b"new",)), None),
        "create": (lambda: patient.exists("a"), True),
    }
    for name, (call, expected) in calls.items():
        rounds.clear()
        proxy.spoil = lambda kind, path: what
        assert call() == expected, name
        assert len(rounds) == 3, name


def test_request_when_nobody_waits_any_longer_then_an_error(bucket, options, proxy):
    """An error that waiting does not cure is raised at once."""
    answers = iter([True, False])
    proxy.spoil = lambda kind, path: 503
    patient = S3Backend(
        bucket, "some/trial", attrs.evolve(options, keep_trying=lambda: next(answers)), sleep=lambda _: None
    )
    with pytest.raises(StorageError, match="SlowDown"):
        patient.read("a")
    assert next(answers, None) is None
    proxy.spoil = lambda kind, path: 403
    with pytest.raises(StorageError, match="AccessDenied"):
        patient.read("a")


def test_bucket_when_missing_then_not_created(options, s3_client):
    """Neither reading nor writing makes a bucket."""
    backend = open_backend("s3://no-such-bucket/x", options)
    for call in (backend.list, lambda: backend.write("a", (b"",)), lambda: backend.create("a")):
        with pytest.raises(StorageError, match="buckets are not created"):
            call()
    assert "no-such-bucket" not in [bucket["Name"] for bucket in s3_client.list_buckets()["Buckets"]]


@pytest.mark.parametrize(
    ("code", "text", "advice"),
    [
        ("AccessDenied", "Access Denied", "s3:GetObject"),
        ("AccessDenied", "not authorized to perform: kms:Decrypt", "kms:Decrypt"),
        ("KMS.DisabledException", "key is disabled", "kms:Decrypt"),
        ("InvalidAccessKeyId", "no such key", "profile_name"),
    ],
)
def test_access_when_refused_then_says_what_is_needed(backend, monkeypatch, code, text, advice):
    """The permission that is missing is named, and so is the object."""

    def refuse(**_):
        raise botocore.exceptions.ClientError({"Error": {"Code": code, "Message": text}}, "GetObject")

    backend.write("a", (b"1",))
    monkeypatch.setattr(backend._client, "get_object", refuse)
    with pytest.raises(StorageError, match=advice) as failed:
        backend.read("a")
    assert failed.value.path.endswith("some/trial/a")
    (found,) = backend.read_many([ByteRange("a")])
    assert isinstance(found, StorageError)


def ask_all(backend, key):
    """Ask for an object in all ways of a reader."""
    return backend.read(key), backend.read(key, 1, 2), backend.exists(key), backend.age_seconds(key)


def test_object_when_denied_to_a_reader_who_may_list_its_prefix_then_is_missing_if_the_listing_says_so(backend, proxy):
    """S3 denies a missing object to those who may not list the whole bucket; one that is there stays an error."""
    backend.write("present/status.json", (b"{}",))
    backend.write("missing/status.json.old", (b"{}",))
    proxy.spoil = lambda kind, path: 403 if kind in ("GET", "HEAD") else None
    assert ask_all(backend, "missing/status.json") == (None, None, False, None)
    lease = Lease(backend, "container")
    assert lease.acquire()  # tokens are created, and looks at missing generations are denied
    assert lease.is_held()
    with pytest.raises(StorageError, match=r"AccessDenied.*s3:GetObject"):
        backend.read("present/status.json")
    with pytest.raises(StorageError, match=r"403.*s3:GetObject"):
        backend.exists("present/status.json")


def test_object_when_denied_to_a_reader_who_may_list_nothing_then_an_error_names_the_rights(backend, proxy):
    """Nobody knows whether it is missing."""
    proxy.spoil = lambda kind, path: 403 if kind in ("GET", "HEAD", "LIST") else None
    for ask in (backend.read, backend.exists, backend.age_seconds):
        with pytest.raises(StorageError, match="s3:ListBucket, and s3:GetObject to read"):
            ask("self-managed/status.json")


def test_options_when_given_then_sent(bucket, proxy, s3_client):
    """Encryption and the requester's payment reach every request that takes them."""
    backend = S3Backend(
        bucket, "x", S3Options(endpoint_url=proxy.url, requester_pays=True, encryption="aws:kms", kms_key_id="key-1")
    )
    members = []
    for name in ("put_object", "get_object", "list_objects_v2", "head_object", "delete_object"):
        backend._client.meta.events.register(
            f"provide-client-params.s3.{name.title().replace('_', '')}",
            lambda params, model, **_: members.append((model.name, dict(params))),
        )
    backend.write("a", (b"1",))
    assert backend.read("a") == b"1"
    assert backend.exists("a")
    backend.list()
    backend.delete("a")
    assert len(members) == 5
    assert all(params["RequestPayer"] == "requester" for _, params in members)
    written = dict(members)["PutObject"]
    assert (written["ServerSideEncryption"], written["SSEKMSKeyId"]) == ("aws:kms", "key-1")


@pytest.mark.parametrize(
    ("encryption", "expected"),
    [
        (None, ("aws:kms", "key-1")),
        ("aws:kms", ("aws:kms", "key-1")),
        ("aws:kms:dsse", ("aws:kms:dsse", "key-1")),
        ("AES256", ("AES256", None)),
    ],
)
def test_key_of_the_environment_when_the_encryption_is_not_kms_then_not_sent(
    bucket, proxy, monkeypatch, encryption, expected
):
    """S3 refuses a request with a KMS key and another encryption."""
    monkeypatch.setenv(KMS_VARIABLE, "key-1")
    backend = S3Backend(bucket, "x", S3Options(endpoint_url=proxy.url, encryption=encryption))
    sent = []
    backend._client.meta.events.register(
        "provide-client-params.s3.PutObject", lambda params, **_: sent.append(dict(params))
    )
    backend.write("a", (b"1",))
    assert backend.create("b")
    assert [(one["ServerSideEncryption"], one.get("SSEKMSKeyId")) for one in sent] == [expected] * 2


def test_age_when_the_server_sends_no_date_then_unknown(backend):
    """Not all servers tell their time."""
    backend.write("a", (b"1",))
    backend._client.meta.events.register(
        "after-call.s3.HeadObject", lambda parsed, **_: parsed["ResponseMetadata"]["HTTPHeaders"].pop("date", None)
    )
    assert backend.age_seconds("a") is None
    assert backend.exists("a")


def test_credentials_when_missing_then_said(bucket, proxy, monkeypatch, tmp_path):
    """Without credentials the error says where they may come from."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    with pytest.raises(StorageError, match=r"credentials.*S3Options"):
        S3Backend(bucket, "x", S3Options(endpoint_url=proxy.url)).list()
    with pytest.raises(StorageError, match="nobody"):
        S3Backend(bucket, "x", S3Options(profile_name="nobody"))


@pytest.mark.parametrize(
    ("url", "expected"), [("s3://b/a//c/", ("b", "a/c")), ("s3://b", ("b", "")), ("s3://b/", ("b", ""))]
)
def test_split_s3_url_when_odd_slashes_then_dropped(url, expected):
    """The same place has one name."""
    assert split_s3_url(url) == expected


@pytest.mark.parametrize("url", ["s3://", "s3:///x", "http://b/x"])
def test_split_s3_url_when_no_bucket_then_refused(url):
    """An address without a bucket is no place."""
    with pytest.raises(SMDebugValueError, match="s3://bucket/key"):
        split_s3_url(url)
