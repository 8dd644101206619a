"""Pages in a browser: reports of much data, and live pages while a job writes.

    python benchmarks/speed/bench_pages.py              # needs playwright, uvicorn and a Chromium; CHROMIUM may name it
    python benchmarks/speed/bench_pages.py --only hour
    python benchmarks/speed/bench_pages.py --only training      # needs torch

Prints each figure with its target, and whether it is met. Takes about seven minutes. Frames are those of software
rendering. The hour of watching is 7,200 steps, as an hour has them at 2 steps/s, written as fast as the server reads.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

import attrs
import numpy as np

from measurement import Row, Timer, parser, peak_mb, print_rows, reset_peak, run_child
from sagemaker_debug_ext.looking.curves import Curve
from sagemaker_debug_ext.looking.material import gather
from sagemaker_debug_ext.looking.measures import MEASURES, LayerGrid, LayerMeasures
from sagemaker_debug_ext.looking.report import ReportOptions, render, write_report
from sagemaker_debug_ext.store.backends.local import LocalBackend
from sagemaker_debug_ext.store.format.keys import reduction_tensor_name
from sagemaker_debug_ext.store.writer import NamedNumbers, StepData, TrialWriter
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.vocabulary import ModeKeys

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")
PARTS = ("q_proj", "k_proj", "v_proj", "o_proj", "mlp.up", "mlp.down", "norm1", "norm2", "attn.bias", "lora")
COLLECTIONS = [{"name": "gradients", "include_regex": ["^gradient/"]}, {"name": "losses", "include_regex": ["^loss"]}]

MAKE_FRAMES = """async () => {
  const picture = document.querySelector("#layers svg.heat") || document.querySelector("svg.chart[data-x]");
  picture.scrollIntoView();
  const press = (key) => picture.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  await frame();
  const times = [await frame()];
  for (let number = 0; times.at(-1) - times[0] < 2000; number++) {
    press("++++++------"[number % 12]);
    times.push(await frame());
  }
  return times.slice(1).map((time, place) => time - times[place]).sort((one, other) => one - other);
}"""
TYPE = """async (text) => {
  const input = document.querySelector(".search input");
  const paint = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));
  const type = async (value) => {
    const begin = performance.now();
    input.value = value;
    input.dispatchEvent(new Event("input"));
    const worked = performance.now() - begin;
    await paint();
    return worked;
  };
  await type("x");
  while (!document.querySelector(".search p").textContent) await paint();
  const times = [];
  for (let end = 1; end <= text.length; end++) times.push(await type(text.slice(0, end)));
  return Math.max(...times);
}"""
NOTE_PAINTS = """
addEventListener("DOMContentLoaded", () => {
  window.painted = [];
  const view = document.getElementById("view");
  if (view) new MutationObserver(() => {
    const facts = view.querySelector(".facts");
    const found = facts && /([\\d\\u2009]+) saved steps/.exec(facts.textContent);
    if (!found) return;
    const count = Number(found[1].replace(/\\u2009/g, ""));
    requestAnimationFrame(() => setTimeout(() => window.painted.push([count, Date.now() / 1000]), 0));
  }).observe(view, { attributes: true, attributeFilter: ["data-version"] });
});
"""


@contextlib.contextmanager
def browsing():
    """Yield a page that notes what it paints."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS, "--enable-precise-memory-info"])
        page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
        page.add_init_script(NOTE_PAINTS)
        yield page
        browser.close()


def heap_mb(page):
    """Return the heap of a page without garbage, in MB."""
    page.context.new_cdp_session(page).send("HeapProfiler.collectGarbage")
    return page.evaluate("performance.memory.usedJSHeapSize") / 1e6


def first_paint_ms(page):
    """Return the time from the navigation to the first contentful paint."""
    page.wait_for_timeout(300)
    return page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")


# --- reports ---------------------------------------------------------------------------------------------------------


def made_material(folder, num_layers, num_steps, num_points, measures=("gradient_norm",)):
    """Return material of noise, of which no hook could write so much in the time of a benchmark."""
    write_steps(folder, 1, range(1))
    shift = 7  # rows overlap in memory
    noise = np.exp(0.3 * np.random.RandomState(0).standard_normal(shift * num_layers + num_steps)).astype("f4")
    values = np.lib.stride_tricks.sliding_window_view(noise, num_steps)[: shift * num_layers : shift]
    names, steps = names_of(num_layers), tuple(range(num_steps))
    saved = np.broadcast_to(True, values.shape)
    of_kind = {"size": values, "share": values / noise.max() if len(measures) > 1 else None}
    grids = {
        name: LayerGrid(MEASURES[name], names, steps, of_kind[MEASURES[name].kind], saved, "made") for name in measures
    }
    course = np.exp(-np.arange(num_points) / num_points) + 0.2 * np.random.RandomState(1).rand(8, num_points)
    labels = ["loss", *(f"metric{number}" for number in range(7))]
    curves = tuple(
        Curve(label, ModeKeys.TRAIN, tuple(range(num_points)), values, label == "loss")
        for label, values in zip(labels, course, strict=True)
    )
    return attrs.evolve(
        gather(create_trial(str(folder)), None),
        measures=LayerMeasures(grids, num_steps, num_steps),
        curves=curves,
        curve_names=tuple(labels),
    )


def child_report(folder, num_layers, num_steps, *measures):
    material = made_material(folder, int(num_layers), int(num_steps), 100_000, measures)
    reset_peak()
    before = peak_mb()
    with Timer() as drawing:
        text, _ = render((material,), ReportOptions())
    memory = peak_mb() - before
    path = Path(folder, "report.html")
    path.write_text(text, encoding="utf-8")
    with browsing() as page:
        begin = time.perf_counter()
        page.goto(path.as_uri(), wait_until="commit")
        page.locator("header svg.heat").wait_for()
        page.evaluate("new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)))")
        whole = time.perf_counter() - begin
        paint = first_paint_ms(page)
        frames = page.evaluate(MAKE_FRAMES)
        return {
            "drawing the report (s)": (drawing.seconds, None),
            "memory for drawing (MB)": (memory, 300),
            "size (MB)": (path.stat().st_size / 1e6, 3),
            "first contentful paint (ms)": (paint, 300),
            "first screen complete (ms)": (1e3 * whole, 1_000),
            "frames while all charts zoom, median (ms)": (statistics.median(frames), 17),
            "frames while all charts zoom, 95 % (ms)": (frames[int(0.95 * len(frames))], 34),
            "frames while all charts zoom, longest (ms)": (frames[-1], 50),
            "heap of the page (MB)": (heap_mb(page), 150),
        }


def child_tags(folder):
    names = tuple(f"scalar/block.{number // 5}/tag_{number}" for number in range(12_345))
    writer = TrialWriter(LocalBackend(folder))
    writer.write_collections(COLLECTIONS, 1)
    for step in range(100):
        numbers = [NamedNumbers(names, np.random.rand(len(names)).astype("f4"), np.full(len(names), 1.7e9 + step))]
        writer.write_step(StepData(step, ModeKeys.TRAIN, step, numbers=numbers))
    writer.end()
    path = Path(folder, "report.html")
    write_report([create_trial(folder)], path, [None])
    found = {}
    with browsing() as page:
        page.goto(path.as_uri())
        found["first contentful paint of the report (ms)"] = (first_paint_ms(page), 1_000)
        found["search in the report, slowest key (ms)"] = (page.evaluate(TYPE, "block.2468 tag_12344"), 50)
        found["size of the report (MB)"] = (path.stat().st_size / 1e6, 3)
        with serving(folder) as (_, address):
            with Timer() as opening:
                page.goto(address)
                page.locator("#view h1").wait_for(timeout=60_000)
            page.locator("nav a[data-view=curves]").click()
            page.locator(".search input").wait_for()
            found["first picture of the live page (ms)"] = (1e3 * opening.seconds, 1_000)
            found["search on the live page, slowest key (ms)"] = (page.evaluate(TYPE, "block.2468 tag_12344"), 50)
    return found


# --- live pages ------------------------------------------------------------------------------------------------------


def names_of(count):
    """Return names of gradients."""
    return tuple(f"gradient/layers.{number // 10}.{PARTS[number % 10]}.weight" for number in range(count))


def write_steps(folder, num_layers, steps, rate=None):
    """Write norms and a loss, and return each step with the time at which it was visible."""
    names = tuple(reduction_tensor_name("l2", False, name) for name in names_of(num_layers))
    random = np.random.RandomState(0)
    writer = TrialWriter(LocalBackend(folder))
    writer.write_collections(COLLECTIONS, 1)
    begin, written = time.time(), []
    for number, step in enumerate(steps):
        if rate is not None:
            time.sleep(max(begin + number / rate - time.time(), 0))
        norms = np.exp(0.3 * random.standard_normal(num_layers)).astype("f4")
        loss = np.array([2 * np.exp(-step / 500) + 0.1 * random.rand()], "f4")
        numbers = [
            NamedNumbers(names, norms, np.full(num_layers, 1.7e9 + step)),
            NamedNumbers(("loss",), loss, np.full(1, 1.7e9 + step)),
        ]
        writer.write_step(StepData(step, ModeKeys.TRAIN, step, numbers=numbers))
        written.append((step, time.time()))
    return written


def child_write(folder, num_layers, first, count, rate):
    return write_steps(folder, int(num_layers), range(int(first), int(first) + int(count)), float(rate) or None)


@contextlib.contextmanager
def serving(folder, *arguments):
    """Yield the process that serves a trial, and its address."""
    command = [
        sys.executable,
        "-m",
        "sagemaker_debug_ext.cli.main",
        "watch",
        folder,
        *arguments,
        "--no-rules",
        "--no-browser",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield process, process.stdout.readline().split()[-1]
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def writing(folder, num_layers, first, count, rate):
    """Start a process that writes steps."""
    arguments = ["--child", "write", folder, *map(str, (num_layers, first, count, rate))]
    return subprocess.Popen([sys.executable, __file__, *arguments], stdout=subprocess.PIPE, text=True)


def rss_mb(process):
    """Return the memory of a process in MB."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1e3


def cpu_seconds(process):
    """Return the processor time of a process."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def open_live(page, address):
    """Open a live page, and wait until it has read all; return the time to the first picture in seconds."""
    with Timer() as opening:
        page.goto(address)
        page.locator("#view h1").wait_for(timeout=120_000)
    while "behind" in page.locator("#pulse").inner_text():
        page.wait_for_timeout(200)
    return opening.seconds


def child_live(folder, num_layers, history, rate, seconds):
    num_layers, history, rate, seconds = int(num_layers), int(history), float(rate), float(seconds)
    write_steps(folder, num_layers, range(history))
    with browsing() as page, serving(folder) as (server, address):
        opening = open_live(page, address)
        sizes = []
        session = page.context.new_cdp_session(page)
        session.send("Network.enable")
        page.wait_for_timeout(1_000)
        session.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
        page.evaluate("window.painted = []")
        before, begin, clicks, lag = cpu_seconds(server), time.perf_counter(), [], 0
        writer = writing(folder, num_layers, history, int(rate * seconds), rate)
        while writer.poll() is None:
            page.wait_for_timeout(300)
            click = "() => { const begin = performance.now(); document.getElementById('theme').click();"
            click += " return new Promise((resolve) => requestAnimationFrame(() => setTimeout(() =>"
            click += " resolve(performance.now() - begin), 0))); }"
            clicks.append(page.evaluate(click))
            behind = page.locator("#pulse").inner_text().partition(" steps behind")
            lag = max(lag, int(behind[0].rpartition(" ")[2].replace("\u2009", ""))) if behind[1] else lag
        used = (cpu_seconds(server) - before) / (time.perf_counter() - begin)
        written = json.loads(writer.stdout.read())
        page.wait_for_timeout(3_000)
        painted = page.evaluate("window.painted")
    waits = [next((at - when for count, at in painted if count > step), None) for step, when in written]
    seen = sorted(1e3 * wait for wait in waits if wait is not None)
    return {
        "first picture (s)": opening,
        "median": statistics.median(seen),
        "95 %": seen[int(0.95 * len(seen))],
        "longest": seen[-1],
        "never painted": waits.count(None),
        "largest update (kB)": max(sizes) / 1e3,
        "slowest click": max(clicks),
        "most steps behind": lag,
        "share of a core (%)": 100 * used,
    }


def child_hour(folder):
    """Return the memory of server and page after 1,200, 2,400 … 7,200 steps."""
    write_steps(folder, 50, range(2))
    samples = []
    with browsing() as page, serving(folder) as (server, address):
        open_live(page, address)
        page.locator("nav a[data-view=layers]").click()
        for begin in range(2, 7_202, 1_200):
            writer = writing(folder, 50, begin, 1_200, 0)
            writer.wait()
            page.locator("#pulse", has_text=f"step {begin + 1_199:,}".replace(",", "\u2009")).wait_for(timeout=120_000)
            page.wait_for_timeout(1_500)
            samples.append((rss_mb(server), heap_mb(page)))
    return samples


def child_catch_up(folder):
    """Return how long pages take to show what was written, once they are seen and there is a server, in seconds.

    Eight tabs of one window and one of another are in sight at once, which asks most of a browser. A page that nobody
    sees, as while a laptop sleeps, is told to be away, because pages without a display always count as seen.
    """
    write_steps(folder, 50, range(10))

    def wait_for(count, pages):
        for page in pages:
            page.locator("#view .facts", has_text=f"{count} saved steps").first.wait_for(timeout=60_000)

    found = {}
    with browsing() as page:
        tabs = [page, *(page.context.new_page() for _ in range(7))]
        pages = [*tabs, page.context.browser.new_page()]
        with serving(folder) as (_, address):
            for one in pages:
                one.goto(address)
            wait_for(10, pages)
            for number in range(10, 15):
                with Timer() as timer:
                    write_steps(folder, 50, [number])
                    wait_for(number + 1, pages)
                found["nine pages of two windows"] = max(timer.seconds, found.get("nine pages of two windows", 0))
            page.evaluate("() => Object.defineProperty(document, 'hidden', { get: () => window.isAway })")
            change = "(isAway) => { window.isAway = isAway; document.dispatchEvent(new Event('visibilitychange')); }"
            page.evaluate(change, True)
            write_steps(folder, 50, range(15, 40))
            page.wait_for_timeout(3_000)
            with Timer() as timer:
                page.evaluate(change, False)
                wait_for(40, [page])
            found["a page that was away"] = timer.seconds
        write_steps(folder, 50, [40])
        page.wait_for_timeout(10_000)  # pages ask less and less often
        port = address.partition("/#")[0].rpartition(":")[2]
        with serving(folder, "--port", port) as (_, address), Timer() as timer:
            page.goto(address)
            wait_for(41, tabs)
        found["eight pages after the new address of a server was opened in one"] = timer.seconds
    return found


def child_training(folder):
    """Return the median time of a step in each of several blocks, alone and while a page is served, in turn."""
    import torch
    from torch import nn

    import sagemaker_debug_ext.pytorch as smd

    torch.set_num_threads(1)
    model = nn.Sequential(*(layer for _ in range(6) for layer in (nn.Linear(256, 256), nn.ReLU())))
    loss_of, optimizer = nn.MSELoss(), torch.optim.SGD(model.parameters(), 1e-3)
    collections = ["weights", "gradients", "losses"]
    hook = smd.Hook(folder, save_config=smd.SaveConfig(save_interval=1), include_collections=collections)
    hook.register_module(model)
    hook.register_loss(loss_of)

    def block(count=150):
        times = []
        for _ in range(count):
            x = torch.randn(32, 256)
            with Timer() as timer:
                optimizer.zero_grad()
                loss_of(model(x), x).backward()
                optimizer.step()
            times.append(1e3 * timer.seconds)
        return statistics.median(times)

    block(20)
    alone, served = [], []
    for _ in range(5):
        alone.append(block())
        with serving(folder):
            time.sleep(3)  # what was there before is read
            served.append(block())
    hook.close()
    return alone, served


# --- all -------------------------------------------------------------------------------------------------------------

CHILDREN = {
    "report": child_report,
    "tags": child_tags,
    "live": child_live,
    "write": child_write,
    "hour": child_hour,
    "catch-up": child_catch_up,
    "training": child_training,
}
LIVE = {
    "50 tensors, 1,000 steps before": ((50, 1_000, 2, 10), (60, 150)),
    "5 tensors, 100,000 steps before": ((5, 100_000, 2, 10), (None, None)),
    "1,000 tensors, 1,000 steps before": ((1_000, 1_000, 2, 10), (150, 500)),
    "10,000 tensors, 50 steps before": ((10_000, 50, 2, 10), (150, 500)),
    "10,000 tensors, 1,000 steps before": ((10_000, 1_000, 2, 10), (150, 500)),
}
FAST = ("10,000 tensors, 20 steps/s", (10_000, 20, 20, 10))


def run(options, *arguments):
    """Run a child with an empty folder."""
    folder = os.path.join(options.tmp, "pages")
    shutil.rmtree(folder, ignore_errors=True)
    try:
        return run_child(__file__, sys.executable, ["--child", arguments[0], folder, *arguments[1:]])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def at_most(label, value, target):
    return Row(label, None, value, "at most" if target is not None else "", target)


def live_rows(options):
    for label, (case, (median, most)) in LIVE.items():
        found = run(options, "live", *case)
        yield at_most(f"{label}: first picture (s)", found["first picture (s)"], None)
        yield at_most(f"{label}: visible to painted, median (ms)", found["median"], median)
        yield at_most(f"{label}: visible to painted, 95 % (ms)", found["95 %"], most)
        yield at_most(f"{label}: visible to painted, longest (ms)", found["longest"], 1_000)
        yield at_most(f"{label}: largest update (kB)", found["largest update (kB)"], 32)
        yield at_most(f"{label}: share of a core (%)", found["share of a core (%)"], 25)
    label, case = FAST
    found = run(options, "live", *case)
    yield at_most(f"{label}: most steps behind", found["most steps behind"], None)
    yield at_most(f"{label}: visible to painted, longest (ms)", found["longest"], None)
    yield at_most(f"{label}: slowest click (ms)", found["slowest click"], 100)
    yield at_most(f"{label}: largest update (kB)", found["largest update (kB)"], 32)


def hour_rows(options):
    samples = run(options, "hour")
    for place, name in enumerate(("server", "heap of the page")):
        first, *rest = (sample[place] for sample in samples)
        yield at_most(f"hour: {name} after 1,200 of 7,200 steps (MB)", first, None)
        yield at_most(f"hour: {name} at the end (MB)", rest[-1], 300)
        growth = [100 * (most - first) / first for most in itertools.accumulate(rest, max)]
        yield at_most(f"hour: {name}, growth since 1,200 steps (%)", growth[-1], 10)


def catch_up_rows(options):
    for label, seconds in run(options, "catch-up").items():
        yield at_most(f"catching up: {label} (s)", seconds, 2)


def training_rows(options):
    for label, times in zip(("alone", "while a page is served"), run(options, "training"), strict=True):
        yield at_most(f"training: a step {label}, median of blocks (ms)", statistics.median(times), None)
        yield at_most(f"training: a step {label}, slowest block (ms)", max(times), None)


def page_rows(options, label, *arguments):
    for key, (value, target) in run(options, *arguments).items():
        yield at_most(f"{label}: {key}", value, target)


def report_rows(options):
    yield from page_rows(options, "10,000 x 100,000", "report", "10000", "100000", "gradient_norm")
    yield from page_rows(options, f"{len(MEASURES)} measures of 5,000 x 2,000", "report", "5000", "2000", *MEASURES)


PARTS_OF_ALL = {
    "report": report_rows,
    "tags": lambda options: page_rows(options, "tags", "tags"),
    "live": live_rows,
    "hour": hour_rows,
    "catch-up": catch_up_rows,
    "training": training_rows,
}


def main():
    arguments = parser(__doc__)
    arguments.add_argument("--only", choices=PARTS_OF_ALL, action="append", help="measure only this; may be repeated")
    options = arguments.parse_args()
    if options.child:
        kind, *values = options.child
        print(json.dumps(CHILDREN[kind](*values)))
        return
    rows = [row for kind in options.only or PARTS_OF_ALL for row in PARTS_OF_ALL[kind](options)]
    print_rows(rows, options)


if __name__ == "__main__":
    main()
