from __future__ import annotations

import contextlib
import errno
import functools
import itertools
import json
import os
import platform
import subprocess
import sys

import pytest

from sagemaker_debug_ext.store import claims
from sagemaker_debug_ext.store.backends import LocalBackend
from sagemaker_debug_ext.store.format.keys import CLAIM_KEY


@pytest.fixture
def backend(tmp_path):
    made = LocalBackend(tmp_path)
    yield made
    claims.release_claim(made)


@pytest.fixture
def ended_pid():
    """The number of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def leave_claim(backend, **changes):
    claims.acquire_claim(backend)
    claims.release_claim(backend)
    owner = claims._identity(os.getpid()) | changes
    backend.write(CLAIM_KEY, (json.dumps(owner).encode(),))


def test_acquire_claim_when_folder_is_free_then_claims_it(backend):
    """The first process gets the claim, and gives it back."""
    assert claims.acquire_claim(backend)
    assert backend.exists(CLAIM_KEY)
    claims.release_claim(backend)
    assert not backend.exists(CLAIM_KEY)


def test_acquire_claim_when_this_process_has_it_then_refuses(backend):
    """Two hooks of one process do not write to one folder either."""
    assert claims.acquire_claim(backend)
    assert not claims.acquire_claim(LocalBackend(backend.root))


@pytest.mark.parametrize("is_noted", [False, True])
def test_acquire_claim_when_the_call_was_interrupted_then_can_be_repeated(backend, is_noted):
    """Ctrl-C may come after the claim was made, and the hook that made it tries again at its next step."""
    claims.acquire_claim(backend)
    if not is_noted:
        del claims._OWN_CLAIMS[backend.url]
    assert claims.acquire_claim(backend)


def test_has_claim_when_this_process_has_it_then_tells_and_its_children_do_not(backend, monkeypatch):
    """A process that was forked knows of the claim, and has none itself."""
    assert not claims.owns_claim(backend)
    claims.acquire_claim(backend)
    assert claims.owns_claim(backend)
    child = os.getpid() + 1
    monkeypatch.setattr(os, "getpid", lambda: child)
    assert not claims.owns_claim(backend)
    monkeypatch.undo()
    claims.release_claim(backend)
    assert not claims.owns_claim(backend)


CHANGES = ("open", "pwritev", "link", "replace", "close")


def fail_at(monkeypatch, failing, error):
    """Let one change of the file system fail; return a list that then holds its name."""
    numbers, hits = itertools.count(), []

    def call(name, real, *arguments, **more):
        if next(numbers) != failing:
            return real(*arguments, **more)
        hits.append(name)
        if name == "close":
            real(*arguments, **more)
        raise error

    for name in CHANGES:
        monkeypatch.setattr(os, name, functools.partial(call, name, getattr(os, name)))
    return hits


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.ENOSPC, "full")], ids=["Ctrl-C", "full disk"])
@pytest.mark.parametrize("left", ["nothing", "claim of a killed process"])
def test_acquire_claim_when_it_fails_anywhere_then_folder_stays_free(tmp_path, monkeypatch, ended_pid, error, left):
    """However far it came, there is no claim, or one of which the owner is known: the next attempt succeeds."""
    failed = []
    for number in itertools.count():
        backend = LocalBackend(tmp_path / str(number))
        if left != "nothing":
            leave_claim(backend, pid=ended_pid)
        with monkeypatch.context() as patch, contextlib.suppress(type(error)):
            hits = fail_at(patch, number, error)
            claims.acquire_claim(backend)
        if not hits:
            break
        failed += hits
        claims._OWN_CLAIMS.clear()
        content = backend.read(CLAIM_KEY)
        assert content is None or json.loads(content)["host"] == platform.node()
        assert claims.acquire_claim(backend), failed
        claims.release_claim(backend)
    assert {"open", "close", "link" if left == "nothing" else "replace"} <= set(failed)


def test_acquire_claim_when_there_are_no_hard_links_then_claims_all_the_same(backend, monkeypatch):
    """File systems without hard links get the claim in two steps, and it is nobody's in between."""

    def refuse(*_, **__):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    assert claims.acquire_claim(backend)
    assert json.loads(backend.read(CLAIM_KEY))["pid"] == os.getpid()
    assert not claims.acquire_claim(LocalBackend(backend.root))
    assert os.listdir(backend.root) == [CLAIM_KEY]


def test_acquire_claim_when_it_is_a_link_then_refuses_and_its_target_stays(backend, tmp_path_factory):
    """A claim of a killed process that is a link is not written through."""
    outside = tmp_path_factory.mktemp("outside") / "file"
    outside.write_bytes(b"")
    (backend.root / CLAIM_KEY).symlink_to(outside)
    with pytest.raises(FileExistsError, match="remove it"):
        claims.acquire_claim(backend)
    assert outside.read_bytes() == b""


def test_acquire_claim_when_owner_runs_then_refuses(backend):
    """The claim of a process that runs is respected."""
    owner = os.getppid()
    leave_claim(backend, pid=owner, started=claims._start_ticks(owner))
    assert not claims.acquire_claim(backend)


def test_acquire_claim_when_owner_was_killed_then_takes_over(backend, ended_pid):
    """A claim left behind by a killed process does not lock the folder."""
    leave_claim(backend, pid=ended_pid)
    assert claims.acquire_claim(backend)


def test_acquire_claim_when_owners_number_was_given_again_then_takes_over(backend):
    """A later process that happens to have the owner's number is not the owner."""
    leave_claim(backend, pid=os.getppid(), started="1")
    assert claims.acquire_claim(backend)


def test_acquire_claim_when_owner_had_this_process_number_then_takes_over(backend):
    """In containers the same number comes back at each start."""
    leave_claim(backend)
    assert claims.acquire_claim(backend)


def test_acquire_claim_when_owner_is_elsewhere_then_refuses(backend, ended_pid):
    """Nothing can be said about a process of another machine."""
    leave_claim(backend, host="elsewhere", pid=ended_pid)
    assert not claims.acquire_claim(backend)


def test_acquire_claim_when_it_is_empty_then_takes_over(backend):
    """A claim that says nothing is nobody's: an interrupted writer has left it."""
    backend.create(CLAIM_KEY)
    assert claims.acquire_claim(backend)
    assert json.loads(backend.read(CLAIM_KEY))["pid"] == os.getpid()


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"pid": "x"}'])
def test_acquire_claim_when_owner_is_unknown_then_refuses(backend, content):
    """A claim that says something else is respected."""
    backend.write(CLAIM_KEY, (content,))
    assert not claims.acquire_claim(backend)


def test_acquire_claim_when_many_find_an_abandoned_one_then_one_wins(ended_pid, tmp_path):
    """However many processes come upon the claim of a killed one together, one gets it, and no other harms it."""
    program = (
        "import sys\n"
        "from sagemaker_debug_ext.store import claims\n"
        "from sagemaker_debug_ext.store.backends import LocalBackend\n"
        "for folder in sys.stdin:\n"
        "    print(claims.acquire_claim(LocalBackend(folder.strip())), flush=True)\n"
    )
    contenders = [
        subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    try:
        for number in range(10):
            backend = LocalBackend(tmp_path / str(number))
            leave_claim(backend, pid=ended_pid)
            for contender in contenders:
                contender.stdin.write(f"{tmp_path / str(number)}\n")
                contender.stdin.flush()
            answers = [contender.stdout.readline().strip() for contender in contenders]
            assert sorted(answers) == ["False", "False", "False", "True"]
            assert json.loads(backend.read(CLAIM_KEY))["pid"] == contenders[answers.index("True")].pid
    finally:
        for contender in contenders:
            contender.communicate()
