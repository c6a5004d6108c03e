"""Hostile language models, pages and collections: what they say stays one label of one page."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from honeyguide.api.collection import Collection
from honeyguide.api.topic_edit import change_topic_file
from honeyguide.teacher.model_teacher import JOURNAL_NAME
from tests.chat_server import ChatServer
from tests.end_to_end.test_model_teacher import change, is_bee_page, make_bees
from tests.site.server import Site


@pytest.fixture
def model() -> Iterator[ChatServer]:
    server = ChatServer(is_bee_page)
    with server.serve():
        yield server


@pytest.fixture
def bees(site: Site, tmp_path: Path, model: ChatServer) -> Collection:
    made = make_bees(site, tmp_path / "bees", model)
    made.crawl(progress=False)
    return made


def test_a_confidence_beyond_all_numbers_is_no_answer(bees: Collection, model: ChatServer) -> None:
    model.confidence = 10**400
    report = bees.teach(5, progress=False)
    assert "confidence" in report.trouble
    assert (report.asked, len(model.requests)) == (0, 3)


def test_a_crawl_outlives_answers_that_cannot_be_kept(
    site: Site, tmp_path: Path, model: ChatServer
) -> None:
    made = make_bees(site, tmp_path / "bees", model, every=5, batch=4)
    change_topic_file(made.folder, {"politeness": {"loopback_delay_s": 0.1}})
    crawl = Collection(made.folder).crawl_async(progress=False)

    async def crawl_with_a_trap() -> list[str]:
        running = asyncio.ensure_future(crawl)
        await asyncio.sleep(0.5)
        os.symlink("/etc/hostname", made.folder / JOURNAL_NAME)
        return list((await running).warnings)

    notes = asyncio.run(crawl_with_a_trap())
    assert any("is a link" in note for note in notes), notes
    assert Collection(made.folder).status().visits == 31
