"""Problems: one for each object, logged once."""

from __future__ import annotations

from sagemaker_debug_ext.trials.problems import Problem, Problems


def test_problem_when_noted_twice_then_listed_and_logged_once(caplog):
    """Seeing the same problem again is no news."""
    problems = Problems("/trial/")
    for _ in range(2):
        problems.note("index/b", "no JSON")
    problems.note("index/a", "foreign")
    assert problems.all() == (Problem("/trial/index/a", "foreign"), Problem("/trial/index/b", "no JSON"))
    assert caplog.messages == ["/trial/index/b: no JSON", "/trial/index/a: foreign"]
    assert str(problems.all()[0]) == "/trial/index/a: foreign"


def test_problem_when_another_is_noted_then_replaced_and_when_solved_then_gone():
    """What is listed is what is wrong now."""
    problems = Problems("/trial")
    problems.note("k", "cut off")
    problems.note("k", "no JSON")
    assert [problem.reason for problem in problems.all()] == ["no JSON"]
    problems.forget("k")
    problems.forget("never noted")
    assert problems.all() == ()
