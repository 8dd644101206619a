"""Training scripts in forks of a process that has imported their framework, which takes seconds each time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType

from support.scripts import environment_of_scripts


class ScriptForks:
    """Runs scripts like the functions of `support.scripts`, apart from when their framework is imported.

    Args:
        modules: What is imported once, before any script.
    """

    def __init__(self, *modules: str) -> None:
        server = Path(__file__).with_name("fork_server.py")
        self._server = subprocess.Popen(
            [sys.executable, str(server), *modules],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment_of_scripts(),
        )

    def __enter__(self) -> ScriptForks:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.communicate()

    def run_python(self, script: object, *arguments: object) -> subprocess.CompletedProcess[str]:
        """Run a script as ``python SCRIPT`` does."""
        return self._run(None, script, *arguments)

    def run_captured(self, script: object, *arguments: object) -> subprocess.CompletedProcess[str]:
        """Run a script in what becomes of ``sagemaker-debug run SCRIPT``."""
        return self._run("sagemaker_debug_ext.auto", "auto", script, *arguments)

    def _run(self, module: str | None, *words: object, timeout: int = 200) -> subprocess.CompletedProcess[str]:
        with tempfile.TemporaryDirectory() as folder:
            output = {name: Path(folder) / name for name in ("stdout", "stderr")}
            request = {
                "module": module,
                "words": [str(word) for word in words],
                "folder": os.getcwd(),
                "environment": environment_of_scripts(),
                "timeout": timeout,
                **{name: str(path) for name, path in output.items()},
            }
            print(json.dumps(request), file=self._server.stdin, flush=True)
            status = json.loads(self._server.stdout.readline())
            return subprocess.CompletedProcess(
                request["words"], status, *(path.read_text(encoding="utf-8") for path in output.values())
            )
