"""The story of a trial, and the page that tells it."""

from __future__ import annotations

import html
import json
import math
import re
import stat

import jsonschema
import numpy as np
import pytest

from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError
from sagemaker_debug_ext.looking import read_report, story_schema, tell_story, write_report
from sagemaker_debug_ext.looking.material import Verdict, gather
from sagemaker_debug_ext.looking.report import ReportOptions, render
from sagemaker_debug_ext.looking.telling import related_findings, tell
from sagemaker_debug_ext.rules import Rule
from sagemaker_debug_ext.rules.causes import likely_causes
from sagemaker_debug_ext.rules.factory.creation import create_rule
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.vocabulary import ModeKeys

from .conftest import BROKEN, BROKEN_AT, LAYERS, write_job

HOSTILE = (
    "</script><img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "a\u202egnp.weight",
    "\x1b[31mred",
    "__proto__",
    "%00%2e%2e",
    "' onmouseover='alert(1)",
    "x" * 20_000,
)


def valid(story):
    described = json.loads(json.dumps(story.to_json_dict(), allow_nan=False))
    jsonschema.validate(described, story_schema())
    return described


def test_story_when_a_layer_breaks_then_cause_place_and_time(broken):
    """The first finding names what, where and when."""
    story = tell_story([broken])
    finding = story.findings[0]
    assert (finding.cause, finding.found_at) == ("not finite", BROKEN_AT)
    assert finding.tensors[0] == f"gradient/{BROKEN}"
    assert str(story.headline).startswith(f"Not finite in the gradient of layer2.weight: from step {BROKEN_AT} on")
    assert [part.name for part in story.headline.parts if part.kind == "tensor"] == [f"gradient/{BROKEN}"]
    assert [part.text for part in story.headline.parts if part.kind == "step"] == [f"step {BROKEN_AT}"]
    assert story.has_issues
    assert valid(story)["findings"][0]["issues"][0]["message"] == finding.issues[0].message


def test_story_when_a_value_grows_then_since_when(growing):
    """A rule finds it after its patience; the story says when it began."""
    story = tell_story([growing])
    onsets = [finding.onset for finding in story.findings if finding.onset and finding.onset.step is not None]
    assert onsets
    assert onsets[0].tensor == f"gradient/{BROKEN}"
    assert 20 <= onsets[0].step <= 22
    valid(story)


def test_story_when_a_sign_may_follow_from_another_then_the_page_tells_them_apart(tmp_path):
    """A gradient that explodes comes first; a loss that rises because of it is no cause of its own."""

    def explodes(step, name, gradient):
        return gradient * np.float32(1e6 if (step, name) == (5, BROKEN) else 1)

    trial = create_trial(write_job(tmp_path / "job", fault=explodes, slow=-1))
    given = {"GradientOutlier": {}, "LossNotDecreasing": {"num_steps": 20}}
    rules = {name: create_rule(name, trial, parameters) for name, parameters in given.items()}
    story = write_report([trial], tmp_path / "report.html", [rules])
    follow = {finding.cause: finding.may_follow for finding in story.findings}
    assert follow == {"learning rate too high": False, "exploding gradients": False, "labels": True}
    assert [finding["may_follow"] for finding in valid(story)["findings"]] == [False, False, True]
    text = (tmp_path / "report.html").read_text()
    second = text[text.index('id="finding-2"') : text.index('id="finding-3"')]
    assert set(re.findall(r'class="marked [^>]*>(.)', second)) == {"②"}
    page = re.sub(r"<[^>]*>", "", text)
    assert "Also possible: ② exploding gradients (step 5)" in page
    assert "May follow from it: ③ loss not decreasing (step 20)" in page


def test_story_when_a_parameter_never_moved_then_from_the_first_step_on(tmp_path):
    """A value that was zero all the time has no step at which that began."""
    trial = SmallTrial(tmp_path / "job")
    random = np.random.RandomState(0)
    for step in range(60):
        moving, still = (1 + 0.01 * step) * np.ones((3, 2), "f4"), np.ones((3, 2), "f4")
        tensors = {"net.a.weight": moving, "net.b.weight": still}
        tensors |= {f"gradient/net.{name}.weight": random.randn(3, 2).astype("f4") for name in "ab"}
        trial.write(ModeKeys.TRAIN, step, {"CrossEntropyLoss_output_0": np.float32(2 - step / 60), **tensors})
    trial.end()
    story = tell_story([create_trial(str(tmp_path / "job"))])
    finding = next(finding for finding in story.findings if "FrozenParameters" in finding.rules)
    assert finding.tensors == ("net.b.weight",)
    assert finding.onset.step is None
    assert "from the first step on" in str(story.headline)


@pytest.mark.parametrize(
    ("first_issue", "asks", "cause"), [(3, False, "Dead units"), (30, True, "Learning rate too high")]
)
def test_advice_when_the_beginning_was_sound_then_first_asks_what_changed(tmp_path, first_issue, asks, cause):
    """Initialisation is no first guess for units that answered before; the onset is the first issue."""
    trial = SmallTrial(tmp_path / "job")
    for step in range(40):
        trial.write(ModeKeys.TRAIN, step, {"net.relu_output_0": np.full((3, 2), step < first_issue, "f4")})
    trial.end()
    opened = create_trial(str(tmp_path / "job"))
    story = tell_story([opened], [{"DeadRelu": create_rule("DeadRelu", opened)}])
    where = f"{cause} in the output of layer net.relu: from step {first_issue} on"
    assert str(story.headline).startswith(where)
    assert story.findings[0].advice.startswith(f"Sound until step {first_issue}: look for") is asks


def test_page_when_a_finding_came_later_then_it_is_no_other_cause(sound):
    """And it is named by what was observed."""
    issues = (Issue(rule="GradientDecay", step=2), Issue(rule="Overfit", step=30), Issue(rule="AxisMixup", step=40))
    story = tell([gather(sound, Verdict(statuses=(), issues=issues, explanations={}))])
    related = dict(related_findings(story.findings, 4))
    assert [finding.cause for finding in story.findings] == ["axes", "initialisation", "overfitting"]
    assert related == {"Also possible": [(2, "initialisation (step 2)"), (3, "overfitting (step 30)")]}
    related = dict(related_findings(story.findings[1:], 4))
    assert related == {"Found later": [(2, "overfit (step 30)")]}


def test_headline_when_workers_differ_then_names_the_one_that_does(tmp_path):
    """The sentence below it has the distance and the limit."""
    workers = ("worker_0", "worker_1", "worker_2")
    trial = SmallTrial(tmp_path / "job", workers)
    for step in range(12):
        for worker in workers:
            weight = np.full(3, 2 if worker == "worker_2" and step >= 9 else 1, "f4")
            values = {"net.a.weight": weight, "gradient/net.a.weight": weight}
            trial.write(ModeKeys.TRAIN, step, values, global_step=step, worker=worker)
    trial.end()
    opened = create_trial(str(tmp_path / "job"))
    rules = {"ReplicaDivergence": create_rule("ReplicaDivergence", opened, {"tensor_regex": "^net"})}
    story = write_report([opened], tmp_path / "report.html", [rules])
    assert str(story.headline) == "Replicas of worker_2 in net.a.weight: from step 9 on."
    assert (
        "The weights of worker_2 differ from those of the first worker by 100 %"
        in (tmp_path / "report.html").read_text()
    )


@pytest.mark.parametrize(("sizes", "steady"), [((1, 1.5, 0.8), True), ((1, 1, 9), False), ((1, math.inf), False)])
def test_story_when_few_steps_are_alike_then_from_the_first_step_on(tmp_path, sizes, steady):
    """Found before any step can be called unusual, a value that was the same before has been so from the start."""
    trial = SmallTrial(tmp_path / "job")
    for step, size in enumerate(sizes):
        trial.write(ModeKeys.TRAIN, step, {"gradient/net.a.weight": np.full((3, 2), size, "f4")})
    trial.end()
    opened = create_trial(str(tmp_path / "job"))
    issue = Issue(rule="GradientDecay", step=len(sizes) - 1, tensors=("gradient/net.a.weight",))
    story = tell([gather(opened, Verdict(statuses=(), issues=(issue,), explanations={}))])
    assert ("from the first step on" in str(story.headline)) is steady


def test_page_when_an_output_is_named_then_its_row_is_marked_and_the_verdict_stands_once(tmp_path):
    """The picture beside the verdict shows the layer of the verdict, of whose input there is no measure."""
    trial = SmallTrial(tmp_path / "job")
    for step in range(12):
        value = np.full((3, 2), np.inf if step == 9 else 1, "f4")
        trial.write(ModeKeys.TRAIN, step, {"gradient/net.a.weight": value, "net.a_output_0": value})
    trial.end()
    tensors = ("net.a_input_0", "net.a_output_0", "gradient/net.a.weight")
    issue = Issue(rule="NonFiniteOrigin", step=9, tensors=tensors, advice="look")
    material = gather(create_trial(str(tmp_path / "job")), Verdict(statuses=(), issues=(issue,), explanations={}))
    text, story = render((material,), ReportOptions())
    assert story.findings[0].evidence[0].tensors == ("net.a_output_0",)
    assert text.count("net.a ◄</text>") == 1  # on the first screen, and not once more below it
    assert "✖ infinite from step 9" in text
    assert text.count("Try: ") == 1


def test_first_screen_when_a_value_grows_then_its_curve_and_the_map_against_the_time_before(growing, tmp_path):
    """One name for the tensor in all sentences and pictures; its full name can be seen; the curve is drawn once."""
    write_report([growing], tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    first_screen, _, rest = text.partition("</header>")
    rest = rest.partition('id="finding-2"')[0]
    story = read_report(tmp_path / "report.html")
    onset = story["findings"][0]["onset"]["step"]
    curve = "<figcaption>gradient norm of layer2.weight</figcaption>"
    assert (first_screen.count(curve), rest.count(curve)) == (1, 0)
    assert f"against the layer's own median before step {onset}</figcaption>" in first_screen
    assert "layer2.weight ◄</text>" in first_screen
    assert first_screen.count(f'title="gradient/{BROKEN}"') == 1
    assert f"'{BROKEN}'" not in first_screen
    assert BROKEN in rest
    assert ">log scale</text>" in first_screen


def test_first_screen_when_nothing_is_found_then_the_map_is_against_the_middle_of_the_run(sound, tmp_path):
    """A beginning that differs from the rest does not colour all that follows."""
    write_report([sound], tmp_path / "report.html", [{}])
    assert "against the layer's own median at steps 10 to 29</figcaption>" in (tmp_path / "report.html").read_text()


def test_headline_when_a_record_of_the_hook_is_named_then_what_it_is(tmp_path):
    """The learning rate that was saved beside the layers is none of them; rules quote it by its name."""
    trial = SmallTrial(tmp_path / "job")
    for step in range(12):
        trial.write(ModeKeys.TRAIN, step, {"SGD_learning_rate_0": np.float32(1)})
    trial.end()
    message = "'SGD_learning_rate_0' stays the same."
    issue = Issue(rule="LearningRateSchedule", step=9, tensors=("SGD_learning_rate_0",), message=message)
    story = tell([gather(create_trial(str(tmp_path / "job")), Verdict((issue,), (), {}))])
    assert " in the learning rate of SGD: " in str(story.headline)
    assert story.findings[0].message == "The learning rate of SGD stays the same."


def test_story_when_nothing_is_found_then_by_how_many_rules(sound):
    """A sound trial is never just called healthy."""
    story = tell_story([sound])
    counts = re.fullmatch(
        r"Nothing found by (\d+) rules; (\d+) others had too little to evaluate\.", str(story.headline)
    )
    evaluated = [rule for rule in story.rules if rule.state == "nothing found"]
    assert (int(counts[1]), int(counts[2])) == (len(evaluated), len(story.rules) - len(evaluated))
    assert not story.findings
    assert any(rule.state == "lacks tensors" and rule.details for rule in story.rules)
    valid(story)


def test_page_when_nothing_is_found_then_what_had_nothing_to_evaluate_is_counted_and_named(sound, tmp_path):
    """The first screen counts them, and the table of rules names each."""
    story = write_report([sound], tmp_path / "report.html")
    text = re.sub(r"<[^>]*>", " ", (tmp_path / "report.html").read_text())
    for state, words in (
        ("lacks tensors", "more would need tensors"),
        ("nothing to evaluate", "had nothing to evaluate"),
    ):
        names = [rule.name for rule in story.rules if rule.state == state]
        assert f"{len(names)} {words}" in text
        assert all(name in text for name in names)


def test_story_when_issues_have_causes_then_the_findings_are_those_causes_in_their_order(sound):
    """The page does not judge by itself: the headline is the likeliest cause."""
    names = ("NoSkill", "GradientDecay", "DeadRelu", "LearningRateTooHigh", "InputScale", "Overfit")
    issues = tuple(Issue(rule=name, step=10 + place) for place, name in enumerate(names))
    story = tell([gather(sound, Verdict(statuses=(), issues=issues, explanations={}))])
    causes = [cause.name for cause in likely_causes(issues)]
    assert len(causes) == len(names)
    assert [finding.cause for finding in story.findings] == causes
    assert str(story.headline).startswith(causes[0].capitalize())


def test_story_when_no_rule_is_run_then_nothing_was_evaluated(sound):
    """Without rules the state and the last loss are told, and that nothing was evaluated."""
    story = tell_story([sound], [None])
    assert str(story.headline).endswith("no rule was run, so nothing was evaluated.")
    assert "last loss" in str(story.headline)
    assert not story.coverage.evaluated
    valid(story)


def test_story_when_a_rule_fails_then_it_is_said(sound):
    """An error of a rule stands among the others."""

    class Fails(Rule):
        def invoke_at_step(self, step):
            raise ZeroDivisionError(step)

    rules = {"ExplodingTensor": create_rule("ExplodingTensor", sound), "Fails": Fails(sound)}
    story = tell_story([sound], [rules])
    assert {rule.name: rule.state for rule in story.rules} == {"ExplodingTensor": "nothing found", "Fails": "error"}
    assert story.rules[1].details == "ZeroDivisionError: 0"
    assert "1 rule failed" in str(story.headline)
    valid(story)


def test_story_when_two_trials_part_then_the_step_and_the_tensor(tmp_path):
    """The first of three steps at which they are apart is named, with the tensor that parts first."""
    first = create_trial(write_job(tmp_path / "a"))
    second = create_trial(write_job(tmp_path / "b", fault=lambda s, n, g: g * 9 if s >= 17 and n == LAYERS[4] else g))
    (parting,) = tell_story([first, second], [None, None]).partings
    assert (parting.step, parting.tensor, parting.label) == (17, f"gradient/{LAYERS[4]}", "layer4.weight")
    (same,) = tell_story([first, first], [None, None]).partings
    assert same.step is None
    assert same.num_compared == len(LAYERS)


def test_story_when_one_worker_parts_or_falls_silent_then_it_is_named(tmp_path):
    """Of eight workers the one that differs is found, and the one that stopped."""
    workers = [f"worker_{rank}" for rank in range(8)]
    trial = SmallTrial(tmp_path / "trial", workers)
    random = np.random.RandomState(0)
    for step in range(30):
        gradients = {f"gradient/{name}": random.randn(3).astype("f4") for name in LAYERS}
        for worker in workers:
            if worker == "worker_5" and step > 20:
                continue
            name = f"gradient/{LAYERS[1]}"
            off = {name: 50 * gradients[name]} if worker == "worker_3" and step >= 10 else {}
            trial.write(ModeKeys.TRAIN, step, {**gradients, **off}, global_step=step, worker=worker)
    trial.end()
    opened = create_trial(str(tmp_path / "trial"))
    story = tell_story([opened], [None])
    assert dict(story.trials[0].silent_workers) == {"worker_5": 20}
    path = tmp_path / "report.html"
    write_report([opened], path, [None])
    text = path.read_text()
    assert "worker_5 silent since step 20" in text
    assert re.search(rf"worker_3</td>.*parts at step 10, gradient/{LAYERS[1]}", text)
    assert text.count("parts at step") == 1


def test_report_when_written_then_it_holds_its_story_and_asks_nothing_of_the_network(broken, tmp_path):
    """The page has the story for programs, its owner alone can read it, and no address leads out of it."""
    path = tmp_path / "report.html"
    story = write_report([broken], path)
    assert read_report(path) == valid(story)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir() if "part" in path.name] == []
    text = html.unescape(path.read_text())
    assert "default-src 'none'" in text
    outward = re.findall(r"(?:src|href)=\"(?!data:image/png;base64,|#)([^\"]*)\"", text)
    assert outward == []
    assert "unsafe" not in text.partition("</head>")[0]
    assert not re.search(r"<[^>]* (style|on\w+)=", re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL))


def test_report_when_written_twice_then_the_same_bytes(broken, sound, tmp_path):
    """Neither the time nor chance is on the page."""
    for name in ("a.html", "b.html"):
        write_report([broken, sound], tmp_path / name)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_report_when_names_are_hostile_then_they_are_text(tmp_path):
    """No name becomes an element, an attribute or the end of a script."""
    names = [f"{name}.weight" for name in HOSTILE]
    path = write_job(tmp_path / "trial", names=names, fault=lambda s, n, g: g * np.float32("nan") if s > 20 else g)
    page = tmp_path / "report.html"
    write_report([create_trial(path, name="<b>&\u202e")], page, options=ReportOptions(title="</title><script>"))
    text = page.read_text()
    assert "<img src=x" not in text
    assert "<svg onload" not in text
    assert text.count("<script") == text.count("</script>") == 2
    assert "\u202e" not in text
    assert "\\u202e" in text
    assert read_report(page)["findings"]


def test_report_when_the_trial_is_wide_then_it_keeps_its_size_and_says_so(tmp_path):
    """Many layers fit, an outlier among them is on the page, and the page says how cells were chosen."""
    from sagemaker_debug_ext.store.backends.local import LocalBackend
    from sagemaker_debug_ext.store.format.keys import reduction_tensor_name
    from sagemaker_debug_ext.store.writer import NamedNumbers, StepData, TrialWriter

    random = np.random.RandomState(0)
    names = tuple(reduction_tensor_name("l2", False, f"gradient/layer{number}.weight") for number in range(800))
    writer = TrialWriter(LocalBackend(str(tmp_path / "trial")))
    for step in range(400):
        values = random.lognormal(size=len(names)).astype("f4")
        writer.write_step(
            StepData(step, ModeKeys.TRAIN, step, numbers=[NamedNumbers(names, values, np.ones(len(names)))])
        )
    writer.write_collections([{"name": "gradients", "include_regex": ["^gradient"]}], 1)
    writer.end()
    trial = create_trial(str(tmp_path / "trial"))
    sizes = []
    for limit in (3.0, 0.3):
        path = tmp_path / f"{limit}.html"
        story = write_report([trial], path, [None], ReportOptions(max_mb=limit))
        sizes.append(path.stat().st_size)
        assert sizes[-1] <= limit * 1e6
        assert any("800 tensors at 400 steps" in note for note in story.coverage.notes)
    assert sizes[1] < sizes[0]
    assert any("coarser" in note for note in story.coverage.notes)


def test_report_when_data_were_saved_then_no_sample_of_them_is_on_the_page(tmp_path):
    """Images appear only if they are asked for, and the bytes of a marked one and a marked token occur nowhere."""
    trial = SmallTrial(tmp_path / "trial", collections={"inputs": ["_input_"]})
    tokens = np.full((2, 5), 48611)
    image = np.zeros((2, 1, 8, 8), "f4")
    image[:, :, 2:4] = 1
    for step in range(3):
        trial.write(ModeKeys.TRAIN, step, {"Net_input_0": image, "Net_input_1": tokens})
    trial.end()
    opened = create_trial(str(tmp_path / "trial"))
    for samples in (0, 2):
        write_report([opened], tmp_path / f"{samples}.html", [None], ReportOptions(samples=samples))
    without, with_samples = ((tmp_path / f"{samples}.html").read_text() for samples in (0, 2))
    assert without.count("<img ") == 0
    assert "it holds no sample of the data" in without
    assert with_samples.count("<img ") == 2
    shown = re.findall(r'<img [^>]*src="data:image/png;base64,([^"]*)"', with_samples)
    assert len(shown) == 2
    assert not any(mark in without for mark in (*shown, "48611"))


def test_report_when_nothing_was_saved_then_it_says_so(tmp_path):
    """A trial without steps gives a page, not an error."""
    path = tmp_path / "running"
    SmallTrial(path)
    trial = create_trial(str(path))
    story = write_report([trial], tmp_path / "report.html")
    assert str(story.headline) == "Nothing was saved so far."
    assert read_report(tmp_path / "report.html")["trials"][0]["steps"] == {"GLOBAL": 0}


def test_story_when_collections_were_saved_then_their_sizes(sound, tmp_path):
    """All records together are the event files, but for what surrounds them."""
    collections = {saved.name: saved for saved in tell_story([sound], [None]).trials[0].collections}
    events = sum(path.stat().st_size for path in (tmp_path / "sound" / "events").rglob("*.tfevents"))
    counted = sum(collections[name].num_bytes for name in ("weights", "gradients", "losses"))
    assert 0.9 * events < counted <= events


def test_report_when_files_are_damaged_then_they_are_listed(tmp_path):
    """The rest is shown."""
    path = tmp_path / "trial"
    write_job(path)
    (victim,) = path.glob("events/*/000000000007_*")
    victim.write_bytes(victim.read_bytes()[:100])
    story = write_report([create_trial(str(path))], tmp_path / "report.html", [None])
    assert any("000000000007" in problem for problem in story.trials[0].problems)
    assert "1 damaged file" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"max_mb": 0.1}, SMDebugValueError, r"max_mb must be at least 0.3 \(got 0.1\)"),
        ({"samples": -1}, SMDebugValueError, r"samples must be at least 0 \(got -1\)"),
        ({"seconds": "1"}, SMDebugTypeError, r"seconds must be a number \(got '1'\)"),
    ],
)
def test_options_when_out_of_range_then_refused(options, error, match):
    """The field, what is allowed and what came are named."""
    with pytest.raises(error, match=match):
        ReportOptions(**options)


def test_report_when_too_many_trials_or_no_report_then_refused(sound, tmp_path):
    """Nothing is written."""
    with pytest.raises(SMDebugValueError, match=r"1 to 8 trials \(got 9\)"):
        write_report([sound] * 9, tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()
    (tmp_path / "other.html").write_text("<html></html>")
    with pytest.raises(SMDebugValueError, match="is not a report"):
        read_report(tmp_path / "other.html")


def test_report_when_a_rule_of_a_user_fires_then_its_message_is_the_evidence(tmp_path):
    """A rule that points at no known cause is a finding under its own name, even if nothing of it can be drawn."""
    trial = SmallTrial(tmp_path / "trial", collections={"default": [".*"]})
    for step in range(3):
        trial.write(ModeKeys.TRAIN, step, {"anything": np.zeros((2000, 2))})
    trial.end()
    opened = create_trial(str(tmp_path / "trial"))

    class Custom(Rule):
        def invoke_at_step(self, step):
            return step == 2

    story = write_report([opened], tmp_path / "report.html", [{"Custom": Custom(opened)}])
    assert [(finding.cause, finding.found_at, finding.tensors) for finding in story.findings] == [("Custom", 2, ())]
    assert str(story.headline) == "Custom: found at step 2."
    valid(story)


def test_report_when_workers_part_then_they_are_the_picture_of_the_finding(tmp_path):
    """The first screen shows the workers, not the layers, if the workers are what is wrong."""
    workers = ["worker_0", "worker_1", "worker_2"]
    trial = SmallTrial(tmp_path / "trial", workers)
    random = np.random.RandomState(0)
    for step in range(6):
        for worker in workers:
            tensors = {name: random.randn(4).astype("f4") for name in LAYERS}
            trial.write(ModeKeys.TRAIN, step, tensors, global_step=step, worker=worker)
    trial.end()
    page = tmp_path / "report.html"
    story = write_report([create_trial(str(tmp_path / "trial"))], page)
    assert story.findings[0].cause == "replicas"
    screen = page.read_text().partition("</header>")[0]
    assert "against the median worker" in screen
    assert "worker_2" in screen
