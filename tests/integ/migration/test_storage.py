"""Objects on S3, files and their names, as scripts for Debugger handle them by hand, on both libraries."""

import logging
import time
import uuid

import pytest

BUCKET = "storage-of-scripts"

pytestmark = pytest.mark.filterwarnings("ignore")  # the original warns of its dependencies


@pytest.fixture(scope="module")
def s3():
    """A client of an S3 server of this machine, which both libraries use, too."""
    server_module = pytest.importorskip("moto.server")
    boto3 = pytest.importorskip("boto3")
    server = server_module.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    settings = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_REGION": "us-east-1",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN"):
            patch.delenv(name, raising=False)
        for name, value in settings.items():
            patch.setenv(name, value)
        client = boto3.client("s3")
        client.create_bucket(Bucket=BUCKET)
        yield client
    server.stop()


@pytest.fixture
def prefix(s3):
    """A prefix of the bucket with four objects: letters, whose number is in the name."""
    name = uuid.uuid4().hex
    for key, size in {"a/1": 1, "a/2": 2, "b": 3, "c/d/4": 4}.items():
        s3.put_object(Bucket=BUCKET, Key=f"{name}/{key}", Body=b"wxyz"[:size])
    return name


@pytest.fixture
def handler(library, s3):
    """The library's module for objects on S3, which must forget the server of another test."""
    module = library.module("core.access_layer.s3handler")
    getattr(getattr(module.S3Handler, "client", None), "cache_clear", lambda: None)()
    return module


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({}, ["a/1", "a/2", "b", "c/d/4"]),
        ({"Prefix": "a"}, ["a/1", "a/2"]),
        ({"Delimiter": "/"}, ["a/", "c/", "b"]),
        ({"StartAfter": "a/1"}, ["a/2", "b", "c/d/4"]),
        ({"Prefix": "nothing"}, []),
    ],
)
def test_keys_when_listed_then_are_those_that_the_request_asks_for(handler, prefix, members, expected):
    """Several requests are answered at once, in their order."""
    base = f"{prefix}/"
    full = {name: value if name == "Delimiter" else base + value for name, value in {"Prefix": "", **members}.items()}
    requests = [handler.ListRequest(Bucket=BUCKET, **full), handler.ListRequest(BUCKET, f"{base}b")]
    assert handler.S3Handler.list_prefixes(requests) == [[base + key for key in expected], [f"{base}b"]]


def test_requests_when_they_are_no_list_then_are_refused(library, handler):
    """A single request is an easy mistake."""
    with pytest.raises(library.module("exceptions").SMDebugTypeError):
        handler.S3Handler.list_prefixes(handler.ListRequest(BUCKET))


def test_objects_when_read_then_whole_or_in_part(handler, prefix, caplog):
    """An object that does not exist has no content."""
    caplog.set_level(logging.CRITICAL)
    url = f"s3://{BUCKET}/{prefix}/"
    requests = [
        handler.ReadObjectRequest(url + "c/d/4"),
        handler.ReadObjectRequest(url + "c/d/4", 1, 2),
        handler.ReadObjectRequest(url + "c/d/4", 2),
        handler.ReadObjectRequest(url + "missing"),
        handler.ReadObjectRequest(url + "b"),
    ]
    assert handler.S3Handler.get_objects(requests) == [b"wxyz", b"xy", b"yz", None, b"wxy"]
    assert [request.download_entire_file for request in requests] == [True, False, False, True, True]


def test_objects_when_deleted_by_prefix_then_the_others_stay(library, handler, prefix):
    """A prefix that ends with a slash is a folder."""
    handler.S3Handler.delete_prefix(f"s3://{BUCKET}/{prefix}/a/")
    assert handler.S3Handler.list_prefix(handler.ListRequest(BUCKET, prefix)) == [f"{prefix}/b", f"{prefix}/c/d/4"]
    handler.S3Handler.delete_prefix(delete_request=handler.DeleteRequest(Bucket=BUCKET, Prefix=f"{prefix}/b"))
    library.module("core.access_layer.utils").delete_s3_prefixes(BUCKET, f"{prefix}/c")
    assert handler.S3Handler.list_prefix(handler.ListRequest(BUCKET, prefix)) == []


def test_index_files_when_listed_by_hand_then_end_with_the_last_of_them(library, handler, s3):
    """The second look begins after it."""
    name = uuid.uuid4().hex
    keys = [f"{name}/index/000000000/{step:012}_worker_0.json" for step in (0, 7)]
    for key in [*keys, f"{name}/events/000000000007/000000000007_worker_0.tfevents"]:
        s3.put_object(Bucket=BUCKET, Key=key)
    reader = library.module("core.index_reader").S3IndexReader(f"s3://{BUCKET}/{name}")
    assert reader.list_index_files() == (keys, keys[-1])
    assert reader.list_index_files(keys[0]) == (keys[1:], keys[-1])
    assert reader.list_event_files() == [f"{name}/events/000000000007/000000000007_worker_0.tfevents"]
    assert library.module("core.s3_utils").list_s3_objects(BUCKET, f"{name}/nothing") == ([], None)


def test_metadata_of_tensorflows_profiler_when_on_s3_then_is_found(library, handler, s3):
    """The trace itself is not read."""
    step = f"{uuid.uuid4().hex}/framework/tensorflow/detailed_profiling/2024010100/000000000"
    s3.put_object(Bucket=BUCKET, Key=f"{step}/8-algo-1_1700000000000000_1700000000500000.metadata")
    trace = f"s3://{BUCKET}/{step}/plugins/profile/2024_01_01_00_00_00/host.trace.json.gz"
    read = library.module("profiler.utils").read_tf_profiler_metadata_file
    assert read(trace) == ("8-algo-1", "1700000000000000", "1700000000500000")
    assert read(trace.replace(step, step.replace("000000000", "000000001"))) == ("", "0", "0")


@pytest.mark.parametrize(("is_binary", "pieces"), [(True, [b"ab", b"cde"]), (False, ["ab", "cde"])])
def test_object_when_written_piece_by_piece_then_exists_once_it_is_closed(library, handler, is_binary, pieces):
    """Each piece is told where it begins."""
    layer, key = library.module("core.access_layer"), f"{uuid.uuid4().hex}//object"
    url = f"s3://{BUCKET}/{key.replace('//', '/')}"
    writer = layer.TSAccessS3(BUCKET, key, binary=is_binary)
    assert [writer.write(piece) for piece in pieces] == [[0, 2], [2, 3]]
    assert not layer.utils.file_exists(url)
    writer.close()
    writer.close()
    assert layer.utils.file_exists(url)
    writer.ingest_all()
    assert (writer.read(2), writer.has_data(), writer.read(3), writer.has_data()) == (b"ab", True, b"cde", False)


def test_file_when_written_piece_by_piece_then_exists_once_it_is_closed(library, tmp_path):
    """Readers never see half of it; its folder is made."""
    path = str(tmp_path / "new" / "file")
    module = library.module("core.access_layer.file")
    writer = module.TSAccessFile(path, "wb")
    assert [writer.write(b"ab"), writer.write(b"cde")] == [[0, 2], [2, 3]]
    writer.flush()
    assert [entry.name for entry in (tmp_path / "new").iterdir()] == ["file" + module.SMDEBUG_TEMP_PATH_SUFFIX]
    writer.close()
    reader = module.TSAccessFile(path, "rb")
    reader.ingest_all()
    assert (reader.read(5), reader.has_data()) == (b"abcde", False)
    with pytest.raises(Exception, match=r"out of bounds|at most 0"):
        reader.read(1)
    reader.close()


def test_file_names_when_built_by_hand_then_are_those_of_a_trial(library, tmp_path):
    """Scripts find the files of a step without the index."""
    locations = library.module("core.locations")
    folder = str(tmp_path)
    with library.module("core.writer").FileWriter(trial_dir=folder, step=1234, worker="worker_1") as writer:
        writer.write_tensor([1.0], "a")
    names = locations.IndexFileLocationUtils
    index = names.get_index_key_for_step(folder, 1234, "worker_1")
    event = locations.TensorFileLocation(1234, "worker_1")
    files = [str(path) for path in sorted(tmp_path.rglob("*_worker_1.*"))]
    assert sorted([event.get_file_location(folder), index]) == files
    assert event.get_file_location() == event.get_file_location(folder).removeprefix(f"{folder}/")
    assert locations.TensorFileLocation.get_step_dir_path(folder, 1234) == f"{folder}/events/000000001234"
    assert names.get_prefix_from_index_file(index) == folder
    assert names.parse_step_from_index_file_name(index) == 1234
    assert names.next_index_prefix_for_step(1234) == "000000002"
    assert names.get_index_path("s3://bucket/run") == "s3://bucket/run/index"


def test_file_name_when_read_then_gives_step_and_worker(library):
    """Other names give nothing."""
    location = library.module("core.locations").TensorFileLocation
    found = location.load_filename("/run/events/000000000007/000000000007_algo-2.tfevents")
    assert (found.step_num, found.worker_name) == (7, "algo-2")
    assert found.get_filename() == "000000000007_algo-2.tfevents"
    assert location.match_regex("/run/claim.smd") is None


def test_folder_of_a_trial_when_its_job_has_ended_then_is_refused_for_another(library, tmp_path):
    """Tensors of two jobs must not mix."""
    verify = library.module("core.hook_utils").verify_and_get_out_dir
    folder = str(tmp_path / "run")
    assert verify(folder) == folder
    (tmp_path / "run").mkdir()
    assert verify(folder) == folder
    library.module("core.access_layer.utils").training_has_ended(folder)
    with pytest.raises(library.module("exceptions").SMDebugRuntimeError, match=r"folder|directory"):
        verify(folder)


@pytest.mark.parametrize(("age_seconds", "expected"), [(0, False), (130, True), (None, True)])
def test_rule_when_asked_to_stop_then_the_time_granted_passes(library, tmp_path, monkeypatch, age_seconds, expected):
    """A file without a time grants none."""
    layer = library.module("core.access_layer")
    assert layer.is_rule_signalled_gracetime_passed(str(tmp_path)) is False
    monkeypatch.setenv(layer.ENV_RULE_STOP_SIGNAL_FILENAME, "stop")
    assert layer.is_rule_signalled_gracetime_passed(str(tmp_path)) is False
    (tmp_path / "stop").write_text("soon" if age_seconds is None else str(int(time.time()) - age_seconds))
    assert layer.is_rule_signalled_gracetime_passed(str(tmp_path)) is expected
