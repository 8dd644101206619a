"""Read a trial from S3, compared with plain boto3 that gets every object once: seconds and requests.

    python benchmarks/speed/bench_s3.py [--original-python PYTHON]        (needs moto[server])

The server is moto on this machine, and takes most of the measured time. The original runs once only, because it lists
all events for each value, which takes most of the five minutes.
"""

from __future__ import annotations

import collections
import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np

from measurement import Row, Timer, in_turn, load, medians, parser, print_rows

STEPS, TENSORS = 200, 20
LINE = re.compile(r'"(GET|PUT|HEAD|POST|DELETE) (\S+) HTTP/[\d.]+" (\d+)')
ACCESS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_REGION": "us-east-1",
}
SERVE = (
    "import sys; sys.argv = ['moto_server', '-H', '127.0.0.1', '-p', sys.argv[1]]; from moto.server import main; main()"
)


class Server:
    """An S3 server in its own process. Its log lists the requests."""

    def __init__(self, folder, port=5637):
        self.log = Path(folder, "server.log")
        self.url = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVE, str(port)], stdout=self.log.open("w"), stderr=subprocess.STDOUT
        )
        for _ in range(300):
            if self.answers():
                return
            time.sleep(0.1)
        raise RuntimeError(self.log.read_text())

    def answers(self):
        try:
            urllib.request.urlopen(self.url + "/moto-api/", timeout=2).close()
        except OSError:
            return False
        return True

    def stop(self):
        self.process.terminate()
        self.process.wait()


def requests(log, begin):
    """Count requests by kind from a line of the log on. Return the counts and the number of lines."""
    time.sleep(0.3)
    lines = Path(log).read_text().splitlines()
    counts = collections.Counter()
    for line in lines[begin:]:
        match = LINE.search(re.sub(r"\x1b\[[0-9;]*m", "", line))
        if match and "moto-api" not in match[2]:
            kind = "LIST" if match[1] == "GET" and ("list-type" in match[2] or "prefix=" in match[2]) else match[1]
            counts[kind] += 1
    return counts, len(lines)


def child_read(adapter, url, log):
    _, begin = requests(log, 0)
    with Timer() as timer:
        trial = adapter.open(url)
    opened = timer.seconds
    counts, middle = requests(log, begin)
    with Timer() as timer:
        values = {name: adapter.values(trial, name) for name in adapter.names(trial)}
    assert all(len(steps) == STEPS for steps in values.values())
    read_counts, _ = requests(log, middle)
    total = counts + read_counts
    return {
        "open (s)": opened,
        "all values, a tensor at a time (s)": timer.seconds,
        "both (s)": opened + timer.seconds,
        **{f"requests: {kind}": total[kind] for kind in ("LIST", "HEAD", "GET")},
        "requests": sum(total.values()),
    }


def child_plain(_adapter, url, _log):
    import boto3

    bucket, _, prefix = url.removeprefix("s3://").partition("/")
    client = boto3.client("s3")
    list(client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix="none"))
    with Timer() as timer:
        for page in client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
            for entry in page["Contents"]:
                client.get_object(Bucket=bucket, Key=entry["Key"])["Body"].read()
    return {"every object once (s)": timer.seconds}


def main():
    options = parser(__doc__).parse_args()
    if options.child:
        adapter, kind, url, log = options.child
        print(json.dumps({"read": child_read, "plain": child_plain}[kind](load(adapter), url, log)))
        return
    import boto3

    os.environ.update(ACCESS)
    folder = Path(options.tmp, "s3")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    ours = load("ours")
    random = np.random.RandomState(1)
    names = [f"layer{n}/weight" for n in range(TENSORS)]
    for step in range(STEPS):
        ours.write_step(str(folder / "t"), step, "worker_0", [(n, random.rand(8).astype("float32")) for n in names])
    ours.finish(str(folder / "t"), ["worker_0"], names)
    server = Server(folder)
    try:
        client = boto3.client("s3", endpoint_url=server.url)
        client.create_bucket(Bucket="bench")
        for prefix in ("t", "consolidated"):
            for path in sorted((folder / "t").rglob("*")):
                if path.is_file():
                    client.upload_file(str(path), "bench", f"{prefix}/{path.relative_to(folder / 't')}")
        os.environ["AWS_ENDPOINT_URL"] = server.url
        ours.open("s3://bench/consolidated").consolidate()
        where = ("s3://bench/t", server.log)
        samples = {
            "plain": (sys.executable, "ours", "plain", *where),
            "ours": (sys.executable, "ours", "read", *where),
            "consolidated": (sys.executable, "ours", "read", "s3://bench/consolidated", server.log),
        }
        found = {name: medians(results) for name, results in in_turn(__file__, options, samples).items()}
        original = {}
        if options.original_python:  # takes minutes, so once
            options.repeat = 1
            samples = {"original": (options.original_python, "original", "read", *where)}
            original = medians(in_turn(__file__, options, samples)["original"])
    finally:
        server.stop()
    plain = found["plain"]["every object once (s)"]
    targets = {"both (s)": ("at most", 2 * plain), "requests": ("at most", 450)}
    rows = [Row(key, original.get(key), value, *targets.get(key, ())) for key, value in found["ours"].items()]
    rows += [
        Row("plain boto3, every object once (s)", None, plain),
        Row("both, as a multiple of plain boto3", None, found["ours"]["both (s)"] / plain, "at most", 2),
        *(
            Row(f"with a consolidated index: {key}", original.get(key), found["consolidated"][key])
            for key in ("open (s)", "both (s)", "requests")
        ),
    ]
    print_rows(rows, options)


if __name__ == "__main__":
    main()
