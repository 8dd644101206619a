"""`sagemaker-debug run`: a script behaves as if Python ran it."""

from __future__ import annotations

import json
import textwrap
import zipfile

import pytest

from support.scripts import run_captured, run_python

PROGRAMS = {
    "names": """
        import sys
        def annotated(value: int): ...
        names = globals()
        print({name: names[name] for name in ("__doc__", "__file__", "__name__", "__package__", "__spec__")})
        print(type(__loader__), __builtins__, annotated.__annotations__, sys.argv, sys.path[0])
    """,
    "exit": """
        import atexit, pickle
        class Result: ...
        atexit.register(lambda: print(type(pickle.loads(pickle.dumps(Result()))) is Result))
        raise SystemExit(5)
    """,
    "thread": """
        import pickle, threading
        class Result: ...
        def work():
            threading.main_thread().join()
            print(type(pickle.loads(pickle.dumps(Result()))) is Result)
        threading.Thread(target=work).start()
    """,
    "spawn": """
        import multiprocessing
        def square(number):
            return number * number
        if __name__ == "__main__":
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(pool.map(square, [2, 3]))
        else:
            print(__name__, __file__, flush=True)
    """,
    "source": "# coding: latin-1\nprint('\xe9')\n",
}


@pytest.fixture(autouse=True)
def _in_its_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(tmp_path / "none.json"))


def write(path, text):
    path.write_text(textwrap.dedent(text).lstrip(), encoding="latin-1")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("names", ["./train.py"]),
        ("names", ["../code/train.py", "--", "-x", "--help", "--"]),
        ("exit", ["train.py"]),
        ("thread", ["train.py"]),
        ("spawn", ["../code/train.py"]),
        ("source", ["train.py"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_run_when_script_looks_around_then_finds_what_it_finds_without(tmp_path, monkeypatch, name, arguments):
    """What is in `__main__` and for how long, arguments, the folder of its modules, and status are as ever."""
    (tmp_path / "code").mkdir()
    monkeypatch.chdir(tmp_path / "code")
    write(tmp_path / "code" / "train.py", PROGRAMS[name])
    alone, captured = run_python(*arguments), run_captured(*arguments)
    assert alone.stderr == ""
    assert (captured.returncode, captured.stdout) == (alone.returncode, alone.stdout), captured.stderr


def test_run_when_options_come_before_the_script_then_end_at_two_dashes(tmp_path):
    """The first two dashes before the script are the command's, all others the script's."""
    write(tmp_path / "train.py", "import sys\nprint(sys.argv)")
    assert run_captured("--", "train.py", "--", "-x").stdout == "['train.py', '--', '-x']\n"


@pytest.mark.parametrize("name", ["package", "archive.zip"])
def test_run_when_program_is_a_folder_or_an_archive_then_runs_what_is_in_it(tmp_path, name):
    """Python takes both, and finds their modules beside `__main__.py`."""
    modules = {"__main__.py": "import helper, sys\nsys.exit(helper.STATUS)", "helper.py": "STATUS = 4"}
    if name == "package":
        (tmp_path / name).mkdir()
        for module, text in modules.items():
            (tmp_path / name / module).write_text(text)
    else:
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            for module, text in modules.items():
                archive.writestr(module, text)
    assert run_captured(name).returncode == run_python(name).returncode == 4


@pytest.mark.parametrize("name", ["whole", "whole.train", "whole.workers"])
def test_run_when_program_is_a_module_then_finds_what_it_finds_without(tmp_path, name):
    """As `python -m` has it: its package, its file for a name, the working folder for modules, and spawned children."""
    look_around = """
        import sys
        from . import helper
        print(__name__, __package__, __spec__.name, __file__, __cached__, __loader__.name, sys.argv, sys.path[0])
        sys.exit(helper.STATUS)
    """
    (tmp_path / "whole").mkdir()
    for module in ("__main__", "train"):
        write(tmp_path / "whole" / f"{module}.py", look_around)
    write(tmp_path / "whole" / "workers.py", PROGRAMS["spawn"])
    write(tmp_path / "whole" / "helper.py", "STATUS = 4")
    alone, captured = (run("-m", name, "-m", "--epochs", "5", "--") for run in (run_python, run_captured))
    assert alone.stderr == ""
    assert (captured.returncode, captured.stdout) == (alone.returncode, alone.stdout), captured.stderr


@pytest.mark.parametrize(
    "fault", ["open('none.yaml')", "raise TimeoutError", "import none_of_this", "from json import none_of_this"]
)
def test_run_when_the_modules_package_fails_then_shows_how(tmp_path, fault):
    """What goes wrong in the script's own code is no matter of the command."""
    (tmp_path / "whole").mkdir()
    write(tmp_path / "whole" / "__init__.py", fault)
    write(tmp_path / "whole" / "train.py", "print(1)")
    done = run_captured("-m", "whole.train")
    assert (done.returncode, done.stdout) == (1, "")
    assert fault in done.stderr
    assert "Traceback" in done.stderr


def test_run_when_module_is_in_an_archive_then_runs_it(tmp_path, monkeypatch):
    """Python imports from there, too."""
    with zipfile.ZipFile(tmp_path / "app.zip", "w") as archive:
        archive.writestr("app/__init__.py", "")
        archive.writestr("app/train.py", "print(__name__, __package__, __file__)")
    monkeypatch.syspath_prepend(tmp_path / "app.zip")  # which `run_python` passes on
    alone, captured = run_python("-m", "app.train"), run_captured("-m", "app.train")
    assert alone.stdout != ""
    assert captured.stdout == alone.stdout, captured.stderr


def test_run_when_script_is_compiled_then_runs_it(tmp_path):
    """Python runs what it has compiled, too."""
    write(tmp_path / "train.py", "print(__name__, __file__)")
    run_python("-c", "import py_compile; py_compile.compile('train.py', 'train.pyc')")
    assert run_captured("train.pyc").stdout == f"__main__ {tmp_path}/train.pyc\n" == run_python("train.pyc").stdout


FORKS = """
import json, os, runpy, sys
import sagemaker_debug_ext.hooks.auto.scripts

results = []
for arguments in json.loads(sys.argv[1]):
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(writing, 1)
        os.dup2(writing, 2)
        os.close(writing)
        sys.argv[1:] = arguments
        runpy.run_module("sagemaker_debug_ext.auto", run_name="__main__", alter_sys=True)
        sys.exit()
    os.close(writing)
    with os.fdopen(reading) as output:
        said = output.read()
    results.append((os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), said))
print(json.dumps(results))
"""
"""Runs `python -m sagemaker_debug_ext.auto` with each of several lists of arguments, in forks of one process."""


def test_module_when_there_is_no_script_then_says_so_in_one_line(tmp_path):
    """The status says that it was used wrongly."""
    write(tmp_path / "train.py", "raise SystemExit(9)")
    expected = {
        ("none.py",): f"can't open file '{tmp_path}/none.py': No such file or directory",
        ("-m", "none"): "No module named none",
        ("-m", "none.train"): "No module named 'none'",
        ("-m", "json"): "No module named json.__main__",
        ("-m", "math"): "there is no Python code in math",
        ("-m", "train.py"): "train.py is a file; the module is train",
    }
    done = run_python("-c", FORKS, json.dumps(list(expected)))
    assert done.returncode == 0, done.stderr
    found = {
        arguments: (status, output.splitlines()[1:])  # the first line says that nothing is captured
        for arguments, (status, output) in zip(expected, json.loads(done.stdout), strict=True)
    }
    assert found == {arguments: (2, [f"sagemaker-debug: {said}"]) for arguments, said in expected.items()}


@pytest.mark.parametrize(("arguments", "what"), [([], "script"), (["-m"], "module")])
def test_module_when_it_is_given_nothing_then_asks_for_it(arguments, what):
    """As a program that Python itself starts, with the status of wrong use."""
    done = run_python("-m", "sagemaker_debug_ext.auto", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[1:] == [f"sagemaker-debug: name the {what} to run"]


def test_run_when_no_folder_is_to_be_put_first_then_none_is_replaced(tmp_path, monkeypatch):
    """With `PYTHONSAFEPATH` the script's folder is left out, and what stands first in `sys.path` stays there."""
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    write(tmp_path / "train.py", "import sys\nprint(sys.path)")
    assert run_captured("train.py").stdout == run_python("train.py").stdout


def test_import_when_working_folder_has_been_removed_then_script_goes_on(tmp_path, monkeypatch):
    """Nothing needs the folder as long as all paths are absolute."""
    (tmp_path / "hook.json").write_text("{}")
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(tmp_path / "hook.json"))
    gone = "import os\nos.mkdir('gone')\nos.chdir('gone')\nos.rmdir('../gone')\n"
    write(tmp_path / "train.py", f"{gone}import sagemaker_debug_ext.auto\nprint('goes on')")
    done = run_python("train.py")
    assert done.stdout == "goes on\n"
    assert "Traceback" not in done.stderr


def test_script_when_it_imports_no_framework_then_says_at_exit_that_nothing_was_captured(tmp_path, monkeypatch):
    """A script that trains with another library is not left without a word."""
    (tmp_path / "hook.json").write_text("{}")
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(tmp_path / "hook.json"))
    write(tmp_path / "train.py", "print('trained')")
    done = run_captured("train.py")
    assert (done.returncode, done.stdout) == (0, "trained\n")
    assert "no training step was captured: the script imported none of keras, torch, xgboost" in done.stderr


@pytest.mark.parametrize(("options", "interval"), [([], "10"), (["--every", "3"], "3")])
def test_run_when_it_is_given_an_output_folder_then_the_hook_is_told_to_save_all_there(tmp_path, options, interval):
    """The script keeps options of the same names, and may change its working directory."""
    write(
        tmp_path / "train.py",
        """
        import os, pathlib, sys
        print(pathlib.Path(os.environ["SMDEBUG_CONFIG_FILE_PATH"]).read_text().replace("\\n", ""))
        print(sys.argv[1:])
        """,
    )
    done = run_captured("-o", "runs/first", *options, "train.py", "--output", "model.pt")
    settings, arguments = done.stdout.splitlines()
    assert json.loads(settings) == {
        "LocalPath": str(tmp_path / "runs" / "first"),
        "HookParameters": {"save_all": "true", "save_interval": interval},
    }
    assert run_captured("-o", "runs/first", "train.py").returncode == 0  # nothing was saved there
    assert arguments == "['--output', 'model.pt']"
    assert "sagemaker-debug rules run runs/first --recommended" in done.stderr
