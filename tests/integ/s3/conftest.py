"""An S3 server in a thread, a proxy that counts and spoils requests, and buckets in it."""

from __future__ import annotations

import collections
import contextlib
import http.client
import http.server
import itertools
import re
import threading
import time
import types

import boto3
import botocore.endpoint
import pytest

try:
    import moto.server  # noqa: F401 - only whether it is there
except ImportError:
    collect_ignore_glob = ["test_*.py"]
LIST = re.compile(r"[?&](list-type|prefix)=")
CODES = {403: b"AccessDenied", 501: b"NotImplemented"}
ENTRY = re.compile(rb"<Contents>.*?<Key>(.*?)</Key>.*?</Contents>", re.DOTALL)


@pytest.fixture(scope="session", autouse=True)
def credentials():
    """Give boto3 credentials that mean nothing, and none of this machine's."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_SESSION_TOKEN"):
            patch.delenv(name, raising=False)
        patch.setenv("AWS_ACCESS_KEY_ID", "test")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        yield


@pytest.fixture(scope="session")
def s3_server(credentials):
    """Return host and port of an S3 server."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    yield server.get_host_and_port()
    server.stop()


class Proxy:
    """Passes requests on to the server, counts them by kind, and lets a test spoil some of them.

    `spoil` is called with the kind and the path of each request and returns None to pass it on, or what to do instead:
    a status to answer with, ``cut`` to break off in the middle of the body, ``drop`` to close the connection without
    an answer, ``silent`` never to answer, ``stall`` to fall silent in the middle of the body, ``flip`` to change a byte
    in the middle of a whole object, whose checksum is known, ``nonsense`` to answer something else, or a list of keys
    that a listing is to leave out.
    """

    def __init__(self, target):
        self.target = target
        self.counts = collections.Counter()
        self.paths = []
        self.spoil = lambda kind, path: None
        self.remembered = None
        self.lock = threading.Lock()
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # headers and body are two packets

            def handle_any(self):
                proxy.handle(self)

            do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = handle_any  # noqa: N815 - names of the standard library

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def reset(self):
        self.counts.clear()
        self.paths.clear()
        self.spoil = lambda kind, path: None
        self.remembered = None

    def handle(self, request):
        kind = request.command
        if kind == "GET" and LIST.search(request.path):
            kind = "LIST"
        with self.lock:
            self.counts[kind] += 1
            self.paths.append((kind, request.path))
            what = self.spoil(kind, request.path)
        body = request.rfile.read(int(request.headers.get("Content-Length", 0)))
        if what == "drop":
            request.close_connection = True
            return
        if what == "silent":
            self.fall_silent(request)
            return
        if isinstance(what, int):
            code = CODES.get(what, b"SlowDown")
            self.answer(request, what, b"<Error><Code>" + code + b"</Code><Message>spoilt</Message></Error>", {})
            return
        status, content, headers, length = self.ask(request, body)
        if isinstance(what, list):
            content = ENTRY.sub(lambda entry: b"" if entry[1].decode() in what else entry[0], content)
            length = len(content)
        if what == "flip" and content and "Range" not in request.headers:
            middle = len(content) // 2
            content = content[:middle] + bytes([content[middle] ^ 0x55]) + content[middle + 1 :]
        if what == "nonsense":
            content = b"<Contents>" * 5
            length = len(content)
        self.answer(request, status, content, headers, length, cut=what in ("cut", "stall"))
        if what == "stall":
            self.fall_silent(request)

    @staticmethod
    def fall_silent(request):
        """Keep the connection open, say nothing more, and wait until the client gives up."""
        request.close_connection = True
        request.connection.settimeout(30)
        with contextlib.suppress(OSError):
            request.rfile.read(1)

    def ask(self, request, body):
        """Ask the server, or, while nothing is written, remember what it said."""
        question = (request.command, request.path, request.headers.get("Range"))
        if self.remembered is not None and question in self.remembered:
            return self.remembered[question]
        connection = http.client.HTTPConnection(*self.target, timeout=30)
        with contextlib.closing(connection):
            connection.request(request.command, request.path, body, dict(request.headers))
            response = connection.getresponse()
            content = response.read()
        headers = {name: value for name, value in response.getheaders() if name.lower() not in
                   ("content-length", "transfer-encoding", "connection", "date", "server")}  # fmt: skip
        answer = (response.status, content, headers, int(response.getheader("Content-Length") or len(content)))
        if self.remembered is not None:
            self.remembered[question] = answer
        return answer

    @staticmethod
    def answer(request, status, content, headers, length=None, cut=False):
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name, value)
        request.send_header("Content-Length", str(len(content) if length is None else length))
        request.end_headers()
        if request.command != "HEAD":
            request.wfile.write(content[: len(content) // 2] if cut else content)
        if cut:
            request.close_connection = True

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    """Let botocore's attempts follow each other at once."""
    quick = types.SimpleNamespace(**vars(time) | {"sleep": lambda seconds: None})
    monkeypatch.setattr(botocore.endpoint, "time", quick)


@pytest.fixture(scope="session")
def session_proxy(s3_server):
    proxy = Proxy(s3_server)
    yield proxy
    proxy.stop()


@pytest.fixture
def proxy(session_proxy):
    session_proxy.reset()
    yield session_proxy
    session_proxy.reset()


@pytest.fixture(scope="session")
def s3_client(s3_server):
    host, port = s3_server
    return boto3.client("s3", endpoint_url=f"http://{host}:{port}")


@pytest.fixture(scope="session")
def bucket_names():
    return itertools.count()


@pytest.fixture
def bucket(s3_client, bucket_names):
    """Return the name of a new, empty bucket."""
    name = f"bucket-{next(bucket_names)}"
    s3_client.create_bucket(Bucket=name)
    return name


@pytest.fixture
def upload(s3_client):
    """Return a function that copies a folder under a prefix of a bucket."""

    def copy(folder, bucket, prefix):
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                s3_client.put_object(Bucket=bucket, Key=f"{prefix}/{path.relative_to(folder)}", Body=path.read_bytes())

    return copy


@pytest.fixture
def put_many(s3_server):
    """Return a function that makes empty objects, without a request for each."""
    from moto.core import DEFAULT_ACCOUNT_ID
    from moto.s3.models import s3_backends

    def put(bucket, keys):
        for key in keys:
            s3_backends[DEFAULT_ACCOUNT_ID]["aws"].put_object(bucket, key, b"")

    return put
