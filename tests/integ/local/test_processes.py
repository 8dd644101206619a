"""Nothing that a job starts outlives it, nor the process that runs it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sagemaker_debug_ext.errors import SMDebugRuntimeError, TrainingJobError
from sagemaker_debug_ext.local import Event, LinePrinted, LocalTrainingJob, describe_training_job, run_training_job
from sagemaker_debug_ext.local.process import JobProcess, LineReader, describe_exit, tail

MakeRequest = Callable[..., dict[str, Any]]

FAMILY = """
import os, signal, subprocess, sys
life_line = os.open(sys.argv[1], os.O_WRONLY)
os.set_inheritable(life_line, True)
def child(program, *arguments, **options):
    subprocess.Popen([sys.executable, "-S", "-c", program, *arguments], close_fds=False, **options)
pause = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.pause()"
grandchild = "import subprocess, sys; subprocess.Popen([sys.executable, '-S', '-c', sys.argv[1]], close_fds=False)"
child(pause)
child(pause, start_new_session=True)
child(grandchild + "; " + pause, pause, start_new_session=True)
print("ready", flush=True)
"""
"""A program with a child, one in a session of its own, and a grandchild, none of which listens to SIGTERM.

All of them hold the life line given as first argument.
"""


def run_family(folder: Path, life_line: Path, then: str) -> JobProcess:
    return JobProcess(
        [sys.executable, "-S", "-c", FAMILY + then, str(life_line)],
        cwd=folder,
        environment=dict(os.environ),
        stdout=folder / "stdout",
        stderr=folder / "stderr",
    )


def test_process_that_ends_takes_its_descendants_with_it(tmp_path: Path, life_line: Any) -> None:
    """Children and grandchildren that the entry point leaves behind are killed, whatever session they are in."""
    process = run_family(tmp_path, life_line.path, "sys.exit(7)")
    assert process.wait() == 7
    assert life_line.read() == b""


def test_process_that_is_stopped_takes_its_descendants_with_it(tmp_path: Path, life_line: Any) -> None:
    """After the grace time nothing is left."""
    process = run_family(tmp_path, life_line.path, "os.write(life_line, b'x'); signal.pause()")
    assert life_line.read_one() == b"x"
    process.stop(0.1)
    assert process.wait() == -signal.SIGTERM
    assert life_line.read() == b""


def test_process_whose_supervisor_is_killed_ends(tmp_path: Path, life_line: Any) -> None:
    """Even without its supervisor the entry point and its process group end, and the exit code says how."""
    script = (
        "import os, signal, sys\n"
        "os.write(os.open(sys.argv[1], os.O_WRONLY), str(os.getppid()).encode())\n"
        "signal.pause()\n"
    )
    process = JobProcess(
        [sys.executable, "-c", script, str(life_line.path)],
        cwd=tmp_path,
        environment=dict(os.environ),
        stdout=tmp_path / "stdout",
        stderr=tmp_path / "stderr",
    )
    os.kill(int(life_line.read_one()), signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert life_line.read() == b""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["SIGKILL", "SIGTERM"])
def test_process_ends_with_the_process_that_runs_it(
    make_request: MakeRequest, tmp_path: Path, life_line: Any, number: int
) -> None:
    """However the parent goes, no process of the job is left, and others see that the job has failed."""
    request = make_request(
        FAMILY.replace("sys.argv[1]", "os.environ['LIFE_LINE']") + "os.write(life_line, b'x'); signal.pause()"
    )
    request["Environment"]["LIFE_LINE"] = str(life_line.path)
    run = (
        "import json, sys; from sagemaker_debug_ext.local import run_training_job; "
        "run_training_job(json.loads(sys.argv[1]), sys.argv[2])"
    )
    environment = {**os.environ, **request["Environment"]}
    with subprocess.Popen([sys.executable, "-c", run, json.dumps(request), str(tmp_path)], env=environment) as parent:
        assert life_line.read_one() == b"x"
        assert describe_training_job("job-1", tmp_path)["TrainingJobStatus"] == "InProgress"
        parent.send_signal(number)
        assert life_line.read() == b""
        parent.wait()
    assert describe_training_job("job-1", tmp_path)["TrainingJobStatus"] == "Failed"


@pytest.mark.parametrize("receiver", [threading.main_thread, threading.current_thread])
def test_process_is_stopped_when_the_wait_for_it_is_interrupted(
    make_request: MakeRequest, tmp_path: Path, receiver: Callable[[], threading.Thread]
) -> None:
    """Ctrl-C while waiting stops the job and goes on as an interruption, whichever thread the system gives it to."""
    # Where tests run in the background the signal may be ignored, and Python then leaves it so.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupt(event: Event) -> None:
        if isinstance(event, LinePrinted):
            thread = receiver().ident
            assert thread is not None
            signal.pthread_kill(thread, signal.SIGINT)

    try:
        with pytest.raises(KeyboardInterrupt):
            run_training_job(
                make_request("print('ready'); import signal; signal.pause()"), tmp_path, on_event=interrupt
            )
    finally:
        signal.signal(signal.SIGINT, before)
    assert describe_training_job("job-1", tmp_path)["TrainingJobStatus"] == "Stopped"


def test_process_killed_from_outside_fails_the_job(make_request: MakeRequest, tmp_path: Path) -> None:
    """An entry point that is killed by somebody, such as a kernel out of memory, is told by its signal."""
    with pytest.raises(TrainingJobError, match="signal SIGKILL"):
        run_training_job(make_request("import os, signal; os.kill(os.getpid(), signal.SIGKILL)"), tmp_path)


def test_process_that_cannot_start_says_why(tmp_path: Path) -> None:
    """A missing program is one error that names it."""
    with pytest.raises(
        SMDebugRuntimeError, match=r"could not be started: No such file or directory: 'no-such-program'"
    ):
        JobProcess(
            ["no-such-program"],
            cwd=tmp_path,
            environment={"PATH": ""},
            stdout=tmp_path / "stdout",
            stderr=tmp_path / "stderr",
        )


def test_process_shell_that_is_stopped_lets_its_program_end(
    make_request: MakeRequest, start: Callable[..., LocalTrainingJob]
) -> None:
    """A shell in front of the program does not keep SIGTERM from it."""
    ready = threading.Event()
    command = {
        "TrainingImage": "image",
        "TrainingInputMode": "File",
        "ContainerEntrypoint": ["/bin/sh", "-c", "python train.py; echo unreachable"],
    }
    script = """
        import os, signal
        def end(*_):
            open(os.environ["SM_MODEL_DIR"] + "/saved", "w").close()
            os._exit(0)
        signal.signal(signal.SIGTERM, end)
        print("ready")
        while True:
            signal.pause()
    """
    request = make_request(script, AlgorithmSpecification=command)
    job = start(request, on_event=lambda event: isinstance(event, LinePrinted) and ready.set())
    assert ready.wait(60)
    job.stop()
    job.wait()
    assert (job.folder / "opt/ml/model/saved").exists()


def test_line_reader_yields_lines_once_and_whole(tmp_path: Path) -> None:
    """Lines come when they are complete; the last one also without an end; a progress bar shows its last state."""
    path = tmp_path / "log"
    path.write_bytes(b"one\ntw")
    reader = LineReader(path)
    assert list(reader.read()) == ["one"]
    assert list(reader.read()) == []
    with path.open("ab") as file:
        file.write("o\n 10%\r 20%\r100%\nzwölf\r\nrest".encode())
    assert list(reader.read()) == ["two", "100%", "zwölf"]
    assert list(reader.read(last=True)) == ["rest"]
    assert list(reader.read(last=True)) == []


def test_tail_of_large_file_is_its_last_lines(tmp_path: Path) -> None:
    """Only the end is read; a file that is not there has none."""
    path = tmp_path / "log"
    path.write_text("".join(f"line {number}\n" for number in range(10_000)))
    assert tail(path, 2) == "line 9998\nline 9999"
    assert tail(tmp_path / "missing") == ""


@pytest.mark.parametrize(("code", "text"), [(1, "exit code 1"), (-9, "signal SIGKILL"), (-200, "signal 200")])
def test_describe_exit_names_codes_and_signals(code: int, text: str) -> None:
    """People read names, not numbers, of signals."""
    assert describe_exit(code) == text
