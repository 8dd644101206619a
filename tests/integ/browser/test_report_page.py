"""The report in a browser: nothing asked of the network, nothing on the console, text where text belongs.

Needs Playwright and a Chromium of the system, whose path may be in ``CHROMIUM``. Pictures of the page in both themes go
to the folder in ``REPORT_PICTURES``.
"""

from __future__ import annotations

import base64
import io
import os
import time
import unicodedata
from pathlib import Path

import numpy as np
import pytest

from sagemaker_debug_ext.looking import read_report, write_report
from sagemaker_debug_ext.looking.codes import INFINITE, NAN, ZERO
from sagemaker_debug_ext.looking.measures import MEASURES
from sagemaker_debug_ext.looking.page.charts import Mark
from sagemaker_debug_ext.looking.page.document import document
from sagemaker_debug_ext.looking.page.heatmap import heat_map
from sagemaker_debug_ext.looking.report import ReportOptions, render
from sagemaker_debug_ext.looking.thinning import thin_grid
from sagemaker_debug_ext.looking.views.registry import VIEWS
from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.vocabulary import ModeKeys

from .made import made_material, noisy_grid

playwright = pytest.importorskip("playwright.sync_api")

HOSTILE = "net.</script><img src=x onerror=alert(1)>.weight"
NAMES = ("net.layer0.weight", HOSTILE, *(f"net.layer{number}.weight" for number in range(2, 8)))
BROKEN_AT = 30
SIZES = ((1280, 800), (360, 640))


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Write a page of a trial whose gradients become NaN in one layer."""
    folder = tmp_path_factory.mktemp("trial")
    random = np.random.RandomState(0)
    weights = {name: random.randn(4, 3) for name in NAMES}
    trial = SmallTrial(folder / "job")
    for step in range(40):
        tensors = {"CrossEntropyLoss_output_0": np.float32(2 * np.exp(-step / 20) + 0.1 * random.rand())}
        tensors |= {name: (weights[name] + 0.001 * step).astype("f4") for name in NAMES}
        for name in reversed(NAMES):
            broken = step >= BROKEN_AT and name == NAMES[3]
            tensors[f"gradient/{name}"] = np.full((4, 3), np.nan, "f4") if broken else random.randn(4, 3).astype("f4")
        trial.write(ModeKeys.TRAIN, step, tensors)
    trial.end()
    path = folder / "report.html"
    write_report([create_trial(str(folder / "job"))], path, options=ReportOptions(title="a report"))
    return path


@pytest.fixture(scope="module")
def whole(tmp_path_factory, unpack):
    """Write a page that has every view: workers of which one parts, classes and samples, trees, and two trials."""
    folder = tmp_path_factory.mktemp("whole")
    random = np.random.RandomState(0)
    names = NAMES[1:3]
    trial = SmallTrial(folder / "job", ("worker_0", "worker_1"), collections={"losses": ["Loss_output"]})
    for step in range(12):
        for number, worker in enumerate(("worker_0", "worker_1")):
            labels = random.randint(0, 3, 20)
            tensors = {
                "CrossEntropyLoss_input_0": (np.eye(3)[labels] + 0.1 * random.rand(20, 3)).astype("f4"),
                "CrossEntropyLoss_input_1": labels,
                "CrossEntropyLoss_output_0": np.float32(1 / (step + 1)),
                "Net_input_0": random.rand(4, 3, 8, 8).astype("f4"),
                "net.relu_output_0": np.maximum(random.randn(4, 5), 0).astype("f4"),
            }
            for name in names:
                tensors[name] = random.randn(4, 3).astype("f4") * np.float32(1 + 8 * number * (step > 6))
                broken = step > 8 and name == names[1]
                tensors[f"gradient/{name}"] = random.randn(4, 3).astype("f4") * np.float32("nan" if broken else 1)
            trial.write(ModeKeys.TRAIN, step, tensors, global_step=step, worker=worker)
    trial.end()
    trials = [create_trial(str(folder / "job")), create_trial(unpack("xgboost").trial_path)]
    write_report(trials, folder / "report.html", options=ReportOptions(samples=2))
    return folder / "report.html"


@pytest.fixture
def open_page(browser, report):
    """Return a function that opens a page, and fail if it asked for anything or said anything."""
    said: list[str] = []
    contexts = []

    def open_one(theme="light", size=SIZES[0], scripts=True, path=report):
        context = browser.new_context(
            offline=True,
            color_scheme=theme,
            viewport={"width": size[0], "height": size[1]},
            java_script_enabled=scripts,
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: request.url.startswith(("file:", "data:")) or said.append(request.url))
        page.goto(path.as_uri())
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert said == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES, ids=["wide", "narrow"])
def test_page_when_opened_then_the_first_screen_names_cause_layer_and_step(open_page, theme, size):
    """Cause, layer, step and advice are in sight without scrolling, and no text is wider than the window."""
    page = open_page(theme, size)
    playwright.expect(page.locator("h1")).to_contain_text("Not finite")
    playwright.expect(page.locator(".where")).to_contain_text("the gradient of layer3.weight")
    playwright.expect(page.locator(".where .is-tensor")).to_have_attribute("title", f"gradient/{NAMES[3]}")
    playwright.expect(page.locator(".where")).to_contain_text(f"step {BROKEN_AT}")
    for part in ("h1", ".where", ".advice"):
        playwright.expect(page.locator(part).first).to_be_in_viewport(ratio=1)
    page.wait_for_timeout(200)
    if "REPORT_PICTURES" in os.environ:
        folder = Path(os.environ["REPORT_PICTURES"])
        folder.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=folder / f"first-{theme}-{size[0]}.png")
        page.screenshot(path=folder / f"whole-{theme}-{size[0]}.png", full_page=True)
    box = page.locator("main").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= size[0]


def test_page_when_scripts_are_off_then_all_of_it_is_there(open_page):
    """Verdict, pictures, rules and issues need no script."""
    page = open_page(scripts=False)
    assert page.locator("header.verdict svg.chart").count() == 3
    playwright.expect(page.locator("section.finding table").first).to_contain_text(f"gradient/{NAMES[3]}")
    playwright.expect(page.locator("#rules")).to_contain_text("ExplodingTensor")
    playwright.expect(page.locator("#theme")).to_be_hidden()


def test_page_when_a_name_is_hostile_then_it_is_text(open_page):
    """The name stands on the page as it was given, and made no element."""
    page = open_page()
    assert page.locator("img[src='x']").count() == 0
    page.locator("#tensors summary", has_text="onerror").first.click()
    assert HOSTILE in page.locator("#tensors").inner_text()


def test_page_when_the_pointer_is_on_a_cell_then_it_is_told_in_words(open_page):
    """The cell of the broken layer is read back from the picture as what it is."""
    page = open_page()
    picture = page.locator("header.verdict svg.heat")
    box = picture.bounding_box()
    row = NAMES.index(NAMES[3])
    height = float(picture.get_attribute("data-grid").split()[5])
    scale = box["width"] / 620
    at = (box["x"] + 600 * scale, box["y"] + (24 + (row + 0.5) * height / len(NAMES)) * scale)
    page.mouse.move(at[0] - 5, at[1])
    page.wait_for_timeout(200)
    page.mouse.move(*at)
    readout = picture.locator("xpath=following-sibling::p[1]")
    playwright.expect(readout).to_contain_text("NaN")
    playwright.expect(readout).to_contain_text("layer3.weight")


def test_page_when_the_theme_is_switched_then_the_background_changes(open_page):
    """The switch overrides the theme of the system."""
    page = open_page("light")
    playwright.expect(page.locator("body")).to_have_css("background-color", "rgb(255, 255, 255)")
    page.locator("#theme").click()
    playwright.expect(page.locator("body")).to_have_css("background-color", "rgb(15, 19, 24)")


@pytest.mark.parametrize(
    ("theme", "size", "checks"),
    [("light", SIZES[0], None), ("dark", SIZES[0], ["color-contrast"]), ("light", SIZES[1], None)],
    ids=["light", "dark", "narrow"],
)
def test_views_when_axe_looks_then_no_barrier(open_page, find_barriers, whole, theme, size, checks):
    """Headings, names, roles and contrast of texts in every view, folded parts included; a theme changes the last."""
    page = open_page(theme, size, path=whole)
    assert page.locator("main > header, main > section").evaluate_all(
        "(parts) => parts.map((part) => part.id).filter((id) => !/finding-[2-9]/.test(id))"
    ) == [anchor for anchor, _, _ in VIEWS]
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    assert find_barriers(page, checks) == {}


def test_views_when_they_have_charts_then_each_has_its_numbers_as_a_table(open_page, whole):
    """Below it or beside it; a chart that is there twice, or in other colours, has them once."""
    page = open_page(path=whole)
    with_table, without = page.evaluate(
        """() => {
          const found = [new Set(), new Set()];
          for (const chart of document.querySelectorAll("svg.chart")) {
            const figure = chart.closest("figure");
            const around = figure.parentElement;
            const hasTable = figure.querySelector("table")
              || [...around.children].some((part) => part.matches("details, .scrolls") && part.querySelector("table"));
            const view = chart.closest("[id]").id;
            const title = figure.querySelector("figcaption").textContent.split(", against")[0];
            found[hasTable ? 0 : 1].add(title.startsWith("histograms") ? view + title : title);
          }
          return found.map((titles) => [...titles]);
        }"""
    )
    assert len(with_table) > 15
    assert set(without) <= set(with_table)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_charts_when_in_either_theme_then_texts_and_lines_stand_out(open_page, theme):
    """Axe does not look into pictures: texts have a contrast of 4.5 : 1 to the page, lines and axes of 3 : 1."""
    page = open_page(theme)
    faint = page.evaluate(
        """() => {
          const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
          const light = (color) => {
            const [red, green, blue] = color.map((part) => {
              const share = part / 255;
              return share <= 0.04045 ? share / 12.92 : Math.pow((share + 0.055) / 1.055, 2.4);
            });
            return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
          };
          const ground = numbers(getComputedStyle(document.body).backgroundColor).slice(0, 3);
          const contrast = (text, opacity) => {
            const [red, green, blue, alpha = 1] = numbers(text);
            const share = alpha * opacity;
            const seen = [red, green, blue].map((part, place) => share * part + (1 - share) * ground[place]);
            const [one, other] = [light(seen), light(ground)].sort((one, other) => one - other);
            return (other + 0.05) / (one + 0.05);
          };
          const faint = [];
          const look = (selector, property, least) => document.querySelectorAll(selector).forEach((part) => {
            const style = getComputedStyle(part);
            const found = contrast(style[property], Number(style.opacity));
            if (found < least) faint.push(`${part.getAttribute("class")} ${part.textContent}: ${found.toFixed(2)}`);
          });
          look("svg text", "fill", 4.5);
          look("svg .line, svg .axis, svg .mark, svg .limit, svg .frame", "stroke", 3);
          return [...new Set(faint)];
        }"""
    )
    assert page.locator("svg text").count() > 50
    assert faint == []


SEE = """async (picture) => {
  const image = new Image();
  image.src = `data:image/png;base64,${picture}`;
  await image.decode();
  const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
  canvas.drawImage(image, 0, 0);
  const light = (x, y) => {
    const parts = [...canvas.getImageData(x, y, 1, 1).data].slice(0, 3).map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : Math.pow((share + 0.055) / 1.055, 2.4);
    });
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  const contrast = (one, other) => (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
  const box = document.querySelector("svg.frame, svg .frame").getBoundingClientRect();
  const ground = light(1, 1);
  const rows = Array.from({ length: 7 }, (_, row) => box.top + (row + 0.5) / 7 * box.height);
  const cells = rows.map((y) => contrast(light(box.left + 9, y), ground));
  const marks = [...document.querySelectorAll("svg .mark")].flatMap((mark) => {
    const { left, top, height } = mark.getBoundingClientRect();
    return Array.from({ length: 7 }, (_, row) => {
      const heights = Array.from({ length: 9 }, (_, y) => top + (row + 0.3 + y * 0.05) / 7 * height);
      const seen = (...xs) => heights.flatMap((y) => xs.map((x) => contrast(light(left + x, y), ground)));
      return [Math.max(...seen(-1, 0)), Math.min(...seen(-3, -2, -1)), Math.min(...seen(1, 2))];
    });
  });
  return [cells, marks];
}"""
"""Contrasts to the page in a picture of it: of seven rows of cells, and of marks across them and what is beside."""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_heat_map_when_in_either_theme_then_striking_cells_and_marks_stand_out(browser, tmp_path, theme):
    """NaN, infinity, zero and what is farther from usual than a factor of 16 have a contrast of 3 : 1 to the page."""
    above, below = 1 + 2 * round(4 / 6 * 125) + 1, 1 + 2 * round(4 / 6 * 125)
    rows = [NAN, INFINITE, ZERO, above, below, 252, 251]
    cells = thin_grid(np.repeat(np.array(rows, np.uint8)[:, None], 50, axis=1), range(50), 7, 50)
    marks = [Mark(20, "from 20", "onset"), Mark(30, "found 30")]
    picture = heat_map("layers", cells, [f"layer{row}" for row in range(7)], "start", marks)
    path = tmp_path / "page.html"
    path.write_text(document("cells", picture), encoding="utf-8")
    context = browser.new_context(color_scheme=theme, viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.goto(path.as_uri())
    found, marked = page.evaluate(SEE, base64.b64encode(page.screenshot()).decode())
    context.close()
    assert min(found) >= 3
    lines, *halos = zip(*marked, strict=True)
    assert len(lines) == 14
    assert min(lines) >= 3
    assert max(map(max, halos)) < 1.5


def test_page_when_a_link_leads_to_a_finding_then_it_is_shown(open_page, report):
    """An address with a finding can be sent to somebody."""
    page = open_page()
    page.goto(f"{report.as_uri()}#rules")
    playwright.expect(page.locator("#rules h2")).to_be_in_viewport()


def test_page_when_printed_then_the_verdict_is_on_the_first_page_and_all_findings_follow(open_page, report):
    """A PDF of the page is made in the light theme, without the bar of links."""
    pypdf = pytest.importorskip("pypdf")
    page = open_page("dark")
    content = page.pdf()
    assert len(content) < 2_000_000
    sheets = [sheet.extract_text() for sheet in pypdf.PdfReader(io.BytesIO(content)).pages]
    first, *others = [" ".join(unicodedata.normalize("NFKC", text).split()) for text in sheets]  # without ligatures
    for part in ("Not finite", "the gradient of layer3.weight", f"step {BROKEN_AT}", "Try: "):
        assert part in first
    rest = " ".join(others).lower()
    for finding in read_report(report)["findings"]:
        assert finding["cause"] in rest
        assert finding["issues"][0]["message"][:20].lower() in rest
    page.emulate_media(media="print")
    playwright.expect(page.locator("body")).to_have_css("background-color", "rgb(255, 255, 255)")
    playwright.expect(page.locator("nav")).to_be_hidden()


def test_page_when_walked_by_keyboard_then_each_control_is_reached_and_charts_tell_their_numbers(open_page, whole):
    """Tab goes to all links, buttons, charts and folded parts of every view in their order."""
    page = open_page(path=whole)
    controls = "a[href], button:not([hidden]), input, select, summary, svg.chart[data-x], .scrolls, th.sorts"
    wanted = page.evaluate(
        """(controls) => {
          window.wanted = [...document.querySelectorAll(controls)].filter((part) => part.checkVisibility());
          return wanted.length;
        }""",
        controls,
    )
    reached = []
    for _ in range(wanted):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("wanted.indexOf(document.activeElement)"))
    assert reached == list(range(wanted))
    page = open_page()
    for kind in ("heat", "chart:not(.heat)"):
        chart = page.locator(f"section.finding svg.{kind}[data-x]").first
        chart.focus()
        page.keyboard.press("ArrowRight")
        playwright.expect(chart.locator("xpath=..").locator(".readout")).to_contain_text("step")


def test_brackets_when_pressed_in_a_heat_map_then_find_the_few_odd_cells_among_millions(browser, tmp_path):
    """A spike, a zero and a NaN among ten million cells, in the order of their steps, from anywhere, forth and back."""
    codes = np.full((4000, 2500), 1, np.uint8)
    spike = 1 + 2 * round(4 / 6 * 125) + 1  # four octaves above usual
    codes[3000, 400], codes[17, 1200], codes[2222, 2000] = spike, ZERO, NAN
    cells = thin_grid(codes, range(2500), 250, 1000)
    labels = [f"layer{edge}" for edge in cells.row_edges[:-1]]
    path = tmp_path / "page.html"
    path.write_text(document("odd cells", heat_map("layers", cells, labels, "start")), encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    page.focus("svg.chart.heat")

    def after(key):
        page.keyboard.press(key)
        page.wait_for_timeout(300)
        return page.inner_text(".readout")

    found = [after("]") for _ in range(4)]
    assert [text.split(": ")[1] for text in found] == [
        "about ×16",
        "exactly zero",
        "NaN",
        "NaN",
    ]
    steps = [int("".join(filter(str.isdigit, text.partition(",")[0]))) for text in found]
    assert [abs(step - at) <= 3 for step, at in zip(steps, (400, 1200, 2000, 2000), strict=True)] == [True] * 4
    assert after("[") == found[1]
    assert after("[") == found[0]
    page.close()


def test_report_when_of_10000_layers_and_100000_points_then_three_mb_and_all_of_it_works(browser, tmp_path):
    """Every measure as noise, curves of 100,000 points: the page keeps its size, opens, zooms and sorts."""
    others = [name for name in MEASURES if name != "gradient_norm"]
    grids = [noisy_grid("gradient_norm", 10_000, 4_000), *(noisy_grid(name, 2_000, 700) for name in others)]
    text, story = render((made_material(tmp_path / "job", grids, 100_000),), ReportOptions())
    assert len(text.encode()) <= 3_000_000
    assert any("heat maps show 10000 tensors at 4000 steps" in note for note in story.coverage.notes)
    path = tmp_path / "report.html"
    path.write_text(text, encoding="utf-8")
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 800})
    page = context.new_page()
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(path.as_uri())
    playwright.expect(page.locator("header svg.chart")).to_have_count(2)
    if "REPORT_PICTURES" in os.environ:
        page.screenshot(path=Path(os.environ["REPORT_PICTURES"], "large.png"))
    picture = page.locator("#layers svg.heat").first
    before = picture.locator("svg.plot").get_attribute("viewBox")
    picture.focus()
    page.keyboard.press("+")
    assert picture.locator("svg.plot").get_attribute("viewBox") != before
    page.keyboard.press("Escape")
    assert picture.locator("svg.plot").get_attribute("viewBox") == before
    first = picture.locator("text.row").first.text_content()
    page.locator("#layers select").first.select_option("change")
    playwright.expect(picture.locator("text.row").first).not_to_have_text(first)
    context.close()
    assert said == []


def test_search_when_a_trial_has_12345_numbers_then_the_report_finds_their_names(browser, tmp_path):
    """Names are found by any of their parts; those that are drawn are shown, and of the others it is said."""
    trial = SmallTrial(tmp_path / "job", collections={"default": [".*"], "losses": ["^loss"]})
    names = [f"scalar/block.{number // 5}/tag_{number}" for number in range(12_345)]
    for step in range(2):
        trial.write(ModeKeys.TRAIN, step, {name: np.float32(step) for name in ("loss", *names)})
    trial.end()
    path = tmp_path / "report.html"
    write_report([create_trial(str(tmp_path / "job"))], path, [None])
    assert path.stat().st_size < 3_000_000
    page = browser.new_page()
    page.goto(path.as_uri())
    page.locator(".search input").fill("TAG_1234 block.246")
    found = page.locator(".search button")
    playwright.expect(found).to_have_text([names[1234], *names[12_340:]])
    found.last.click()
    playwright.expect(page.locator(".search p")).to_contain_text("is not drawn in this file")
    page.locator(".search input").fill("tag_3 block.0")
    found.click()
    playwright.expect(page.locator(f"[data-curve='{names[3]}']")).to_be_in_viewport()
    page.close()


def test_brackets_when_pressed_in_a_curve_then_go_to_its_marked_steps(open_page):
    """The steps at which rules found something."""
    page = open_page()
    curve = page.locator("svg.chart[data-y]").filter(has=page.locator("text[data-step]")).first
    curve.focus()
    page.keyboard.press("]")
    page.wait_for_timeout(100)
    text = curve.locator("xpath=..").locator(".readout").inner_text()
    assert text.startswith(f"step {BROKEN_AT}:")


def test_page_when_opened_in_firefox_then_the_same_and_nothing_is_asked_or_said(firefox, report):
    """First screen, words of a cell, zoom and theme; no request, no message on the console."""
    firefox.open(report.as_uri())
    assert "Not finite" in firefox.run("return document.querySelector('h1').innerText")
    where = firefox.run("return document.querySelector('.where').innerText")
    assert "the gradient of layer3.weight" in where
    assert f"step {BROKEN_AT}" in where
    assert firefox.run("return document.querySelectorAll('header svg.chart').length") == 3
    assert firefox.run("return document.querySelectorAll('img[src=x]').length") == 0
    press = """
        const picture = document.querySelector("header svg.heat");
        picture.focus();
        picture.dispatchEvent(new KeyboardEvent("keydown", { key: arguments[0], bubbles: true }));
    """
    readout = "return document.querySelector('header svg.heat').parentElement.querySelector('.readout').textContent"
    firefox.run(press, "]")
    end = time.monotonic() + 30
    while not (text := firefox.run(readout)) and time.monotonic() < end:
        time.sleep(0.1)
    assert f"step {BROKEN_AT}, layer3.weight" in text
    assert "NaN" in text
    window = "return document.querySelector('header svg.heat svg.plot').getAttribute('viewBox')"
    whole = firefox.run(window)
    firefox.run(press, "+")
    assert firefox.run(window) != whole
    background = "return getComputedStyle(document.body).backgroundColor"
    before = firefox.run(background)
    firefox.run("document.getElementById('theme').click()")
    assert firefox.run(background) != before
    if "REPORT_PICTURES" in os.environ:
        firefox.take_picture(Path(os.environ["REPORT_PICTURES"], "firefox.png"))
    assert firefox.said() == []
