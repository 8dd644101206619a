"""The live page on a real server: what it refuses, and what a browser shows while a job runs."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from sagemaker_debug_ext.looking.live.board import Board
from sagemaker_debug_ext.store.backends.local import LocalBackend
from sagemaker_debug_ext.store.format.keys import reduction_tensor_name
from sagemaker_debug_ext.store.writer import NamedNumbers, StepData, TrialWriter
from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.vocabulary import ModeKeys

pytest.importorskip("uvicorn")
playwright = pytest.importorskip("playwright.sync_api")

HOSTILE = "net.</script><img src=x onerror=alert(1)>.weight"
NAMES = ("net.layer0.weight", HOSTILE, *(f"net.layer{number}.weight" for number in range(2, 6)))
ENDED = ("Failed to load resource: net::ERR_", "Failed to load resource: the server responded with a status of 401")
"""What the browser says when a server has ended, and when another was started in its place."""

COMMAND = (sys.executable, "-m", "sagemaker_debug_ext.cli.main")


class Job:
    """Writes a trial step by step."""

    def __init__(self, path):
        self.path = str(path)
        self._writer = SmallTrial(path)
        self._random = np.random.RandomState(0)
        self.step = 0

    def write(self, count=1, broken=None):
        for _ in range(count):
            tensors = {"CrossEntropyLoss_output_0": np.float32(2 * np.exp(-self.step / 20))}
            for name in reversed(NAMES):
                gradient = self._random.randn(4, 3).astype("f4")
                tensors[f"gradient/{name}"] = gradient * np.float32("nan") if name == broken else gradient
            self._writer.write(ModeKeys.TRAIN, self.step, tensors)
            self.step += 1

    def end(self):
        self._writer.end()


@contextlib.contextmanager
def serving(*arguments):
    """Run a command that serves, and yield its process and the address that it prints."""
    process = subprocess.Popen([*COMMAND, *arguments, "--no-browser"], stdout=subprocess.PIPE, text=True)
    try:
        words = process.stdout.readline().split()
        yield process, words[-1]
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture
def job(tmp_path):
    return Job(tmp_path / "job")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Serve a trial that has ended; yields port and token."""
    job = Job(tmp_path_factory.mktemp("served") / "job")
    job.write(12)
    job.end()
    with serving("watch", job.path, "--no-rules") as (_, address):
        port, token = address.removeprefix("http://127.0.0.1:").split("/#token=")
        yield int(port), token


def ask(server, path, method="GET", **headers):
    """Return status, headers and body of a request; names of headers are written with underscores."""
    port, token = server
    named = {"Host": f"127.0.0.1:{port}", "Authorization": f"Bearer {token}"}
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in named.items():
        if value is not None:
            connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read(10_000_000)
    connection.close()
    return answer.status, dict(answer.getheaders()), body


def wait_for_version(server):
    for _ in range(200):
        if ask(server, "/boards/0/story")[0] == 200:
            return
        time.sleep(0.05)
    raise AssertionError("the trial was not read")


@pytest.mark.parametrize(
    ("path", "method", "headers", "status"),
    [
        ("/boards", "GET", {}, 200),
        ("/", "GET", {"Authorization": None}, 200),
        ("/static/page.css", "GET", {"Authorization": None}, 200),
        ("/", "GET", {"Host": "evil.example"}, 400),
        ("/boards", "GET", {"Host": "evil.example:8570"}, 400),
        ("/boards", "GET", {"Origin": "https://evil.example"}, 403),
        ("/boards", "GET", {"Origin": "null"}, 403),
        ("/boards", "GET", {"Sec_Fetch_Site": "cross-site"}, 403),
        ("/boards", "GET", {"Authorization": None}, 401),
        ("/boards", "GET", {"Authorization": "Bearer " + "A" * 43}, 401),
        ("/boards", "GET", {"Authorization": "Bearer é"}, 401),
        ("/boards/0/story", "GET", {"Authorization": None}, 401),
        ("/boards/0/news", "GET", {"Authorization": None}, 401),
        ("/boards/0/views/verdict", "GET", {"Authorization": None}, 401),
        ("/boards/0/names", "GET", {"Authorization": None}, 401),
        ("/boards", "POST", {}, 405),
        ("/boards", "DELETE", {}, 405),
        ("/boards", "OPTIONS", {}, 405),
        ("/boards/1/story", "GET", {}, 404),
        ("/boards/99999999999999999999999/story", "GET", {}, 404),
        ("/boards/-1/story", "GET", {}, 404),
        ("/boards/0/views/nothing", "GET", {}, 404),
        ("/boards/0/news?since=-1", "GET", {}, 400),
        ("/boards/0/news?since=99999999999999999", "GET", {}, 400),
        ("/static/../../setup.cfg", "GET", {}, 404),
        ("/static/%2e%2e/report.py", "GET", {}, 404),
        ("/static/LICENSES.txt", "GET", {"Authorization": None}, 401),
    ],
)
def test_request_when_it_is_not_that_of_the_page_then_refused(server, path, method, headers, status):
    """Other hosts, sites, methods, tokens, paths and numbers get nothing; every answer has the headers."""
    found, answered, body = ask(server, path, method, **headers)
    assert found == status
    assert "default-src 'none'" in answered["content-security-policy"]
    assert "unsafe" not in answered["content-security-policy"]
    assert answered["x-content-type-options"] == "nosniff"
    assert answered["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in answered
    assert status == 200 or b"Traceback" not in body


def test_view_when_nothing_has_changed_then_it_is_not_sent_again(server):
    """The version of what is known is the tag of a view; the story is that of the report."""
    wait_for_version(server)
    status, headers, _ = ask(server, "/boards/0/views/layers")
    assert (status, headers["content-encoding"]) == (200, "gzip")
    assert ask(server, "/boards/0/views/layers", If_None_Match=headers["etag"])[0] == 304
    assert json.loads(ask(server, "/boards/0/story")[2])["trials"][0]["last_step"] == 11


@pytest.fixture
def open_page(browser):
    """Return a function that opens a page, and fail if a page asked other servers or said anything unexpected."""
    said: list[str] = []
    contexts = []

    def open_one(address):
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: message.text.startswith(ENDED) or said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda r: r.url.startswith(("http://127.0.0.1", "data:", "blob:")) or said.append(r.url))
        page.goto(address)
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert said == []


def test_page_when_a_job_runs_then_steps_and_findings_come_by_themselves(open_page, job):
    """The first screen follows the job, and ends with the verdict of a report; the token leaves the address."""
    job.write(8)
    with serving("watch", job.path, "--until-end") as (process, address):
        page = open_page(address)
        playwright.expect(page.locator("#pulse")).to_contain_text("step 7", timeout=30_000)
        playwright.expect(page.locator("#view h1")).to_contain_text("Nothing", timeout=30_000)
        assert "token" not in page.url
        job.write(20, broken=NAMES[3])
        playwright.expect(page.locator("#pulse")).to_contain_text("step 27", timeout=30_000)
        playwright.expect(page.locator("#view h1")).to_contain_text("Not finite", timeout=30_000)
        playwright.expect(page.locator(".where")).to_contain_text("the gradient of layer3.weight")
        page.locator("nav a", has_text="Layers").click()
        playwright.expect(page.locator("#view h2")).to_have_text("Layers × steps")
        assert page.locator("#view img").count() == 0
        if "REPORT_PICTURES" in os.environ:
            folder = Path(os.environ["REPORT_PICTURES"])
            folder.mkdir(parents=True, exist_ok=True)
            for link in page.locator("nav a").all():
                link.click()
                playwright.expect(
                    page.locator(f"nav a[aria-current][data-view='{link.get_attribute('data-view')}']")
                ).to_be_visible()
                page.screenshot(path=folder / f"live-{link.get_attribute('data-view')}.png")
        job.end()
        playwright.expect(page.locator("#pulse")).to_contain_text("the server has ended", timeout=30_000)
        assert process.wait(60) == 1


def test_views_when_axe_looks_then_no_barrier(open_page, find_barriers, job):
    """Each view of the live page in both themes."""
    job.write(8, broken=NAMES[3])
    job.end()
    with serving("watch", job.path) as (_, address):
        page = open_page(address)
        playwright.expect(page.locator("#view h1")).to_contain_text("Not finite", timeout=30_000)
        for link in page.locator("nav a").all():
            link.click()
            shown = page.locator(f"nav a[aria-current][data-view='{link.get_attribute('data-view')}']")
            playwright.expect(shown).to_be_visible()
            for _ in range(2):
                assert find_barriers(page) == {}, link.inner_text()
                page.locator("#theme").click()


def test_page_when_a_table_is_opened_then_it_comes_and_stays_while_the_job_goes_on(open_page, job):
    """Folded parts are asked for when they are opened; the focus stays where it is when steps come."""
    job.write(8)
    with serving("watch", job.path, "--no-rules") as (_, address):
        page = open_page(address)
        playwright.expect(page.locator("#pulse")).to_contain_text("step 7", timeout=30_000)
        page.locator("nav a", has_text="Curves").click()
        fold = page.locator("[data-curve] details", has_text="as table").first
        playwright.expect(fold).to_be_visible()
        assert fold.locator("tr").count() == 0
        fold.locator("summary").press("Enter")
        playwright.expect(fold.locator("tbody tr")).to_have_count(8)
        playwright.expect(fold.locator("summary")).to_be_focused()
        job.write(4)
        playwright.expect(fold.locator("tbody tr")).to_have_count(12, timeout=30_000)
        playwright.expect(fold.locator("summary")).to_be_focused()
        fold.locator("summary").press("Enter")
        playwright.expect(fold.locator("tbody tr").first).to_be_hidden()
        page.locator("nav a", has_text="Layers").click()
        page.locator("#view details", has_text="against other layers").first.locator("summary").first.click()
        playwright.expect(page.locator("#view svg.heat")).to_have_count(2)


COUNT = """
window.numToggles = 0;
window.asked = [];
const ask = window.fetch;
window.fetch = (path, ...options) => { window.asked.push(path); return ask(path, ...options); };
document.addEventListener("toggle", () => { window.numToggles += 1; }, true);
"""
"""Counts what the page asks for, and how often parts are opened, be it by the page itself."""


def test_page_when_the_server_leaves_an_opened_part_empty_then_it_is_asked_for_once(open_page, job):
    """As it does with more open parts than it draws; what follows is asked for as usual."""
    job.write(8)
    with serving("watch", job.path, "--no-rules") as (_, address):
        page = open_page(address)
        playwright.expect(page.locator("#pulse")).to_contain_text("step 7", timeout=30_000)
        page.locator("nav a", has_text="Curves").click()
        fold = page.locator("[data-curve] details", has_text="as table").first
        playwright.expect(fold).to_be_visible()
        page.evaluate(f"() => {{{COUNT}}}")
        page.route("**/views/curves*", lambda route: route.continue_(url=route.request.url.partition("?")[0]))
        fold.locator("summary").press("Enter")
        drawn_again = "async () => { while (numToggles < 2) await new Promise(requestAnimationFrame); }"
        page.evaluate(drawn_again)  # the first is that of the key
        assert page.evaluate("asked.filter((path) => path.includes('open=')).length") == 1
        page.unroute("**/views/curves*")
        job.write(1)
        playwright.expect(fold.locator("tbody tr")).to_have_count(9, timeout=30_000)


def test_page_when_a_part_is_opened_while_the_view_is_on_its_way_then_it_comes(open_page, job):
    """The answer to an earlier question does not count for a later one."""
    job.write(8)
    with serving("watch", job.path, "--no-rules") as (_, address):
        page = open_page(address)
        playwright.expect(page.locator("#pulse")).to_contain_text("step 7", timeout=30_000)
        page.locator("nav a", has_text="Curves").click()
        fold = page.locator("[data-curve] details", has_text="as table").first
        playwright.expect(fold).to_be_visible()
        held = []
        page.route("**/views/curves*", lambda route: held.extend([route]), times=1)
        with page.expect_request("**/views/curves*", timeout=30_000):
            job.write(1)
        fold.locator("summary").press("Enter")
        playwright.expect(fold).to_have_attribute("open", "")
        held[0].continue_()
        playwright.expect(fold.locator("tbody tr")).to_have_count(9)


def test_page_when_a_trial_has_12345_numbers_then_any_is_found_by_its_name(open_page, tmp_path):
    """A few are drawn, the others come when they are chosen; what is typed stays while the job goes on."""
    writer = SmallTrial(tmp_path / "job", collections={"default": [".*"], "losses": ["^loss"]})
    names = [f"scalar/block.{number // 5}/tag_{number}" for number in range(12_345)]

    def write(step):
        writer.write(ModeKeys.TRAIN, step, {name: np.float32(step) for name in ("loss", *names)})

    for step in range(3):
        write(step)
    with serving("watch", str(tmp_path / "job"), "--no-rules") as (_, address):
        page = open_page(address)
        playwright.expect(page.locator("#pulse")).to_contain_text("step 2", timeout=60_000)
        page.locator("nav a", has_text="Curves").click()
        playwright.expect(page.locator("[data-curve]")).to_have_count(6)
        search = page.locator(".search input")
        search.press_sequentially("block.2468 12344")
        playwright.expect(page.locator(".search button")).to_have_text(names[-1], timeout=30_000)
        page.locator(".search button").click()
        playwright.expect(page.locator("[data-curve]").first).to_contain_text(names[-1])
        search.fill("tag_")
        playwright.expect(page.locator(".search p")).to_have_text("12\u2009345 names, the first 30 of them")
        write(3)
        playwright.expect(page.locator("#pulse")).to_contain_text("step 3", timeout=60_000)
        playwright.expect(page.locator("#view")).to_have_attribute("data-version", re.compile(r"\d+"))
        playwright.expect(search).to_have_value("tag_")
        playwright.expect(search).to_be_focused()
        playwright.expect(page.locator("[data-curve]").first).to_contain_text(names[-1])


@pytest.mark.parametrize("num_steps", [10, 800])
def test_update_when_a_heat_map_is_open_then_below_32_kb_whatever_the_history(tmp_path, num_steps):
    """The first screen, and the layers with the noise of a thousand of them."""
    writer = TrialWriter(LocalBackend(tmp_path / "job"))
    names = tuple(reduction_tensor_name("l2", False, f"gradient/layer{number}.weight") for number in range(1_000))
    random = np.random.RandomState(0)
    for step in range(num_steps):
        sizes = np.exp(0.3 * random.standard_normal(len(names))).astype("f4")
        numbers = [NamedNumbers(names, sizes, np.full(len(names), 1.7e9))]
        writer.write_step(StepData(step, ModeKeys.TRAIN, step, numbers=numbers))
    writer.write_collections([{"name": "gradients"}], 1)
    writer.end()
    with serving("watch", str(tmp_path / "job"), "--no-rules") as (_, address):
        port, token = address.removeprefix("http://127.0.0.1:").split("/#token=")
        server = int(port), token
        wait_for_version(server)
        for view in ("verdict", "layers", "curves", "tensors", "rules", "saved"):
            assert len(ask(server, f"/boards/0/views/{view}")[2]) < 32_000, view


def test_page_when_the_trial_vanishes_then_it_says_so_and_keeps_what_it_knew(open_page, job, tmp_path):
    """No blank page, no stack trace."""
    job.write(4)
    with serving("watch", job.path, "--no-rules") as (_, address):
        page = open_page(address)
        playwright.expect(page.locator("#pulse")).to_contain_text("step 3", timeout=30_000)
        os.rename(job.path, tmp_path / "elsewhere")
        playwright.expect(page.locator("#pulse")).to_contain_text("its folder is gone", timeout=30_000)
        playwright.expect(page.locator("#view h1")).to_contain_text("4 saved steps")


def test_page_when_the_server_is_killed_then_it_says_so(open_page, job):
    """What was known stays, with the time at which contact was lost."""
    job.write(4)
    with serving("watch", job.path, "--no-rules") as (process, address):
        page = open_page(address)
        playwright.expect(page.locator("#view h1")).to_contain_text("4 saved steps", timeout=30_000)
        process.kill()
        playwright.expect(page.locator("#pulse")).to_contain_text("lost contact", timeout=30_000)
        playwright.expect(page.locator("#view h1")).to_contain_text("4 saved steps")


def test_news_when_many_pages_ask_at_once_then_only_some_are_held(job):
    """A browser has six connections to a host; a page that finds none would wait for ever."""
    from starlette.requests import Request
    from starlette.responses import StreamingResponse

    from sagemaker_debug_ext.looking.server.app import MAX_STREAMS, LiveApp
    from sagemaker_debug_ext.looking.server.boards import NamedTrials

    job.write(4)
    request = Request({"type": "http", "path_params": {"number": 0}, "query_string": b"", "headers": []})

    async def leave():
        return {"type": "http.disconnect"}

    async def drop(_):
        await asyncio.sleep(0)

    async def ask_at_once(app):
        answers = await asyncio.gather(*(app._news(request) for _ in range(MAX_STREAMS + 3)))
        held = [answer for answer in answers if isinstance(answer, StreamingResponse)]
        await asyncio.gather(*(answer({"type": "http"}, leave, drop) for answer in held))
        return len(held)

    board = Board([create_trial(job.path, wait_seconds=0)], None)
    with contextlib.closing(board), ThreadPoolExecutor(1) as thread:  # Playwright has the loop of this one
        app = LiveApp(NamedTrials(board), "token")
        for _ in range(2):  # streams that were left count no more
            assert thread.submit(lambda: asyncio.run(ask_at_once(app))).result(60) == MAX_STREAMS


def test_pages_when_eight_and_another_window_are_open_then_all_follow(open_page, job):
    """A browser opens six connections to a host; pages beyond the fourth ask now and then."""
    job.write(4)
    with serving("watch", job.path, "--no-rules") as (_, address):
        page = open_page(address)
        playwright.expect(page.locator("#pulse")).to_contain_text("step 3", timeout=30_000)
        pages = [page]
        for _ in range(7):
            pages.append(page.context.new_page())
            pages[-1].goto(address)
        pages.append(open_page(address))
        job.write(4)
        for one in pages:
            playwright.expect(one.locator("#pulse")).to_contain_text("step 7", timeout=30_000)


def test_pages_when_the_server_is_started_again_then_its_address_in_one_of_them_wakes_all(open_page, job):
    """A new server has a new token, which the pages of the former one do not know."""
    job.write(4)
    with serving("watch", job.path, "--no-rules") as (_, address):
        pages = [open_page(address)]
        pages.append(pages[0].context.new_page())
        pages[1].goto(address)
        for page in pages:
            playwright.expect(page.locator("#view h1")).to_contain_text("4 saved steps", timeout=30_000)
    job.write(4)
    port = address.partition("/#")[0].rpartition(":")[2]
    with serving("watch", job.path, "--no-rules", "--port", port) as (_, address):
        for page in pages:
            playwright.expect(page.locator("#pulse")).to_contain_text("open the address", timeout=30_000)
        pages[0].goto(address)
        for page in pages:
            playwright.expect(page.locator("#view h1")).to_contain_text("8 saved steps", timeout=30_000)
            assert "token" not in page.url


def test_page_when_nobody_sees_it_then_its_stream_ends_and_it_catches_up_afterwards(open_page, job):
    """Another tab is in front, or the laptop sleeps; pages without a display always count as seen, so this is told."""
    job.write(4)
    with serving("watch", job.path, "--no-rules") as (_, address):
        page = open_page(address)
        playwright.expect(page.locator("#view h1")).to_contain_text("4 saved steps", timeout=30_000)
        page.evaluate("() => Object.defineProperty(document, 'hidden', { get: () => window.isAway })")
        change = "(isAway) => { window.isAway = isAway; document.dispatchEvent(new Event('visibilitychange')); }"
        with page.expect_event("requestfailed", lambda request: "/news" in request.url, timeout=30_000):
            page.evaluate(change, True)
        job.write(4)
        page.evaluate(change, False)
        playwright.expect(page.locator("#view h1")).to_contain_text("8 saved steps", timeout=30_000)


def test_page_when_a_folder_is_served_then_its_trials_can_be_opened(open_page, tmp_path):
    """The list names the trials below the folder, also those with hostile names."""
    for name in ("first", "<b>second"):
        job = Job(tmp_path / "runs" / name / "debug-output")
        job.write(3)
        job.end()
    with serving("serve", str(tmp_path / "runs"), "--no-rules") as (_, address):
        page = open_page(address)
        playwright.expect(page.locator("#view button")).to_have_text(["<b>second/debug-output", "first/debug-output"])
        page.locator("#view button").first.click()
        playwright.expect(page.locator("#view h1")).to_contain_text("3 saved steps", timeout=30_000)
        playwright.expect(page.locator(".facts strong")).to_have_text("<b>second")


def test_server_when_interrupted_then_it_ends_at_once(job):
    """Ctrl-C ends the server, also while a stream of news is open."""
    job.write(2)
    with serving("watch", job.path, "--no-rules") as (process, address):
        port, token = address.removeprefix("http://127.0.0.1:").split("/#token=")
        connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=30)
        connection.request("GET", "/boards/0/news", headers={"Authorization": f"Bearer {token}"})
        assert b"version" in connection.getresponse().readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        connection.close()


def test_watch_when_the_port_is_in_use_then_a_sentence(job):
    """The message says what to do instead."""
    job.write(1)
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        found = subprocess.run(
            [*COMMAND, "watch", job.path, "--port", str(port)], check=False, capture_output=True, text=True
        )
    assert found.returncode == 2
    assert found.stderr == (
        f"sagemaker-debug: port {port} cannot be used (Address already in use): choose another with --port\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["watch", "nowhere"], "nowhere"),
        (["serve", "nowhere"], "FOLDER must be a folder with trials, or a prefix on S3 (got 'nowhere')"),
        (["watch", *"abcdefghi"], "watch shows 1 to 8 trials (got 9); see serve FOLDER"),
    ],
)
def test_watch_when_there_is_nothing_to_watch_then_a_sentence(tmp_path, arguments, message):
    """No stack trace."""
    found = subprocess.run([*COMMAND, *arguments], check=False, capture_output=True, text=True, cwd=tmp_path)
    assert found.returncode == 2
    assert message in found.stderr
    assert len(found.stderr.splitlines()) == 1
