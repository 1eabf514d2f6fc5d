"""Every topic in the order in which outputs show them."""

from __future__ import annotations

from collections.abc import Iterator

from pathlab.report.sections import (
    datagrams,
    limits,
    lossless_rate,
    message_latency,
    messages,
    multipath,
    recordings,
    releases,
    streams,
    technologies,
)
from pathlab.report.sections.topic import Topic
from pathlab.report.summary import TopicSummary
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
