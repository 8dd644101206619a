"""A program that imports modules, and forks for each request, a line of JSON on its standard input.

A fork runs a Python script, or a module as ``python -m`` does. The answer is a line with its exit status, as
`subprocess` has it.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import runpy
import signal
import sys


def serve() -> dict | None:
    """Answer requests, each by a fork; return the request of this process in a fork, and None at the end."""
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            return request
        print(json.dumps(wait(child, request["timeout"])), flush=True)
    return None


def wait(child: int, timeout: int) -> int:
    """Return the exit status of a child, which is killed if it takes longer than a number of seconds."""
    signal.signal(signal.SIGALRM, lambda number, frame: os.kill(child, signal.SIGKILL))
    signal.alarm(timeout)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    signal.alarm(0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    return status


def become(request: dict) -> None:
    """Turn this process into one that was started for the program of a request, and run it."""
    for stream, path in enumerate((os.devnull, request["stdout"], request["stderr"])):
        file = os.open(path, os.O_RDONLY if stream == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, stream)
        os.close(file)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv[:] = request["words"]
    if request["module"] is not None:
        sys.path[0] = request["folder"]
        runpy.run_module(request["module"], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        importlib.import_module(name)
    gc.freeze()  # a fork that ends need not look at each object of the modules, of which nanobind then complains
    if (wanted := serve()) is not None:
        become(wanted)
