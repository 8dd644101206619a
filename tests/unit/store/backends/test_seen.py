"""The versions that a watch has reported, settled or not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.store.backends.base import Watch
from sagemaker_debug_ext.store.backends.memory import MemoryBackend
from sagemaker_debug_ext.store.backends.seen import SeenVersions

NAMES = st.sampled_from("abc")


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("update"), NAMES, st.sampled_from("123")),
            st.tuples(st.just("forget"), NAMES),
            st.tuples(st.just("settle")),
        )
    )
)
def test_seen_when_settled_at_any_time_then_tells_what_is_new(actions):
    """Settling changes the memory that versions take, and no answer, as long as no old version comes back."""
    seen = SeenVersions()
    versions: dict[str, set[str]] = {}
    current: dict[str, str] = {}
    for action, *arguments in actions:
        if action == "update":
            name, version = arguments
            if version in versions.get(name, set()) and current.get(name) not in (version, None):
                continue  # a version is never given twice: it holds the time of writing
            assert seen.update(name, version) == (current.get(name) != version)
            current[name] = version
            versions.setdefault(name, set()).add(version)
        elif action == "forget":
            seen.forget(*arguments)
            current.pop(arguments[0], None)
        else:
            seen.settle()


def test_watch_when_a_settled_object_is_rewritten_then_reported():
    backend = MemoryBackend()
    for folder in range(3):
        backend.write(f"index/{folder}/a", (b"x",))
    watch = Watch(backend, "index/")
    assert len(watch.look("index/2/a").objects) == 3
    assert watch.look("index/2/a").objects == []
    backend.write("index/0/a", (b"other",))
    watch.forget("index/1/a")
    assert [info.key for info in watch.look("index/2/a").objects] == ["index/0/a", "index/1/a"]
    assert watch.look("index/2/a").objects == []
