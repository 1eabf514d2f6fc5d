"""Every topic in the order in which outputs show them."""

from __future__ import annotations

from collections.abc import Iterator

from pathlab.report.base.summary import AnswerText, TopicSummary
from pathlab.report.base.topic import Topic
from pathlab.report.comparison import recordings, releases
from pathlab.report.datagrams import datagrams
from pathlab.report.flows import limits, streams
from pathlab.report.lossless import lossless_rate
from pathlab.report.messages import message_latency, messages
from pathlab.report.multipath import multipath
from pathlab.report.technologies import technologies
from pathlab.study.analyses import Analyses

TOPICS: tuple[Topic, ...] = (
    lossless_rate.TOPIC,
    releases.TOPIC,
    recordings.TOPIC,
    multipath.TOPIC,
    datagrams.TOPIC,
    streams.TOPIC,
    technologies.TOPIC,
    message_latency.TOPIC,
    messages.TOPIC,
    limits.TOPIC,
)


def summarise_topics(study: Analyses) -> Iterator[TopicSummary]:
    """The summary of every topic, for a terminal; a topic without anything has an empty one."""
    return (topic.summarise(study) for topic in TOPICS)


def describe_topics(study: Analyses) -> Iterator[AnswerText]:
    """Every answer in the order of the topics; no table is made."""
    return (answer for topic in TOPICS for answer in topic.describe(study))


def list_answers(study: Analyses) -> tuple[AnswerText, ...]:
    """Every answer in the order of the topics; one that says so where there is none."""
    return tuple(describe_topics(study)) or (AnswerText("Nothing can be recommended: no trial completed."),)
