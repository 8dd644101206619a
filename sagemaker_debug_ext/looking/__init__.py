"""Looking: the content of a trial and the issues of its rules, as a story and as a page that shows the story."""

from typing import TYPE_CHECKING

from sagemaker_debug_ext._imports.lazy import lazy_names

if TYPE_CHECKING:
    from sagemaker_debug_ext.looking.report import read_report, tell_story, write_report, write_summary
    from sagemaker_debug_ext.looking.story import Story, story_schema

__all__ = ["Story", "read_report", "story_schema", "tell_story", "write_report", "write_summary"]

__getattr__ = lazy_names(
    __name__,
    {
        "Story": "looking.story",
        "story_schema": "looking.story",
        "read_report": "looking.report",
        "tell_story": "looking.report",
        "write_report": "looking.report",
        "write_summary": "looking.report",
    },
)
