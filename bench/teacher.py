"""What a language model as teacher is worth: right in 85 of 100 answers, beside a person and nobody.

    python bench/teacher.py FOLDER [--topics 4] [--draws 2] [--accuracy .85] [--write]

FOLDER holds the recorded webs of bench/webs.py. Crawls of 500 pages from three keywords and a seed,
as in bench/verdicts.py. *model*: after every 25 pages five questions to a local server that speaks
the chat protocol and is wrong by chance, through the product's own client, 100 in all. *person*:
30 truthful answers to ``honeyguide ask``. With --write, docs/reference/model-teacher.md.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any
from unittest.mock import patch

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import verdicts  # noqa: E402
from tests.chat_server import ChatServer  # noqa: E402

from honeyguide.api.teach import allow_teacher  # noqa: E402
from honeyguide.config.settings import Settings, TeacherSettings  # noqa: E402
from honeyguide.lab.trials import open_web  # noqa: E402
from honeyguide.lab.web import without_scheme  # noqa: E402
from honeyguide.teacher.model_teacher import TeacherAnswer, open_teacher, read_journal  # noqa: E402
from honeyguide.types import Url  # noqa: E402

PAGE = ROOT / "docs" / "reference" / "model-teacher.md"
MARK = "<!-- bench/teacher.py writes what follows -->"
EVERY, BATCH, QUESTIONS, ANSWERS = 25, 5, 100, 30
PRICES = {"price_in": 0.15, "price_out": 0.6}


class ModelInterview(Mapping[Url, tuple[float, Any]]):
    """Says nothing of the page that comes by; after every 25th, the model is asked."""

    def __init__(self, folder: Path, settings: Settings, address: str) -> None:
        table = TeacherSettings(
            url=address, model="simulated", per_minute=0.0, most=QUESTIONS, **PRICES
        )
        self._folder, self._settings = folder, replace(settings, teacher=table)
        allow_teacher(folder, self._settings)
        self._pages = 0

    def __getitem__(self, url: Url) -> tuple[float, Any]:
        self._pages += 1
        if not self._pages % EVERY:
            thread = Thread(target=lambda: asyncio.run(self._ask()))
            thread.start()
            thread.join()
        raise KeyError(url)

    async def _ask(self) -> None:
        async with open_teacher(self._folder, self._settings) as teacher:
            await teacher.teach(BATCH)

    def __iter__(self) -> Iterator[Url]:
        return iter(())

    def __len__(self) -> int:
        return 0


def run_taught(trial: verdicts.VerdictTrial, accuracy: float) -> tuple[Any, int, float, float]:
    """Scores, answers, the share of right ones, and what they cost."""
    web = open_web(verdicts.named_web(trial.statement.web, trial.folder))
    truth = {without_scheme(url) for url in web.responder.web.urls_labelled(trial.statement.label)}

    def is_relevant(page: str) -> bool:
        address = page.partition("\n")[0].removeprefix("Address: ")
        return without_scheme(address) in truth

    server = ChatServer(is_relevant, accuracy, seed=trial.draw)
    folders: list[Path] = []
    answers: list[TeacherAnswer] = []
    with server.serve() as address:

        class Interview(ModelInterview):
            def __init__(self, folder: Path, settings: Settings, *_: Any) -> None:
                super().__init__(folder, settings, address)
                folders.append(folder)

            def __getitem__(self, url: Url) -> tuple[float, Any]:
                answers[:] = read_journal(folders[0])
                return super().__getitem__(url)

        with patch.object(verdicts, "SimulatedInterview", Interview):
            scores, _ = verdicts.run_trial(trial)
    right = statistics.fmean(a.relevant == (without_scheme(a.url) in truth) for a in answers)
    return scores, len(answers), right, sum(answer.cost for answer in answers)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--topics", type=int, default=4)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--accuracy", type=float, default=0.85)
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args()
    rows: dict[str, list[Any]] = {"nobody": [], "person": [], "model": []}
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"XDG_CONFIG_HOME": home, "XDG_STATE_HOME": home}
        for statement in verdicts.REPORT[: chosen.topics]:
            for draw in range(chosen.draws):
                trial = verdicts.VerdictTrial(
                    chosen.folder, statement, "keywords+seed", 0, draw=draw
                )
                for who in rows:
                    began = time.perf_counter()
                    if who == "model":
                        trial = replace(trial, labels=QUESTIONS)
                        scores, answers, right, cost = run_taught(trial, chosen.accuracy)
                    else:
                        labels = ANSWERS if who == "person" else 0
                        scores, _ = verdicts.run_trial(replace(trial, labels=labels))
                        answers, right, cost = labels, 1.0, 0.0
                    rows[who].append((scores, answers, right, cost))
                    print(
                        f"{statement.label} {draw} {who}: precision {scores.precision:.2f} "
                        f"recall {scores.recall:.2f} F1 {scores.f1:.2f} found {scores.relevant} "
                        f"answers {answers} right {right:.2f} cost {cost:.4f} "
                        f"({time.perf_counter() - began:.0f} s)",
                        flush=True,
                    )
    lines = [
        "| taught by | crawls | answers | of them right | precision | recall | F1 | relevant pages "
        "visited | cost |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for who, found in rows.items():
        scores = [one for one, *_ in found]

        def mean(name: str, scores: list[Any] = scores) -> float:
            return statistics.fmean(getattr(one, name) for one in scores)

        answers, right, cost = (statistics.fmean(one[n] for one in found) for n in (1, 2, 3))
        lines.append(
            f"| {who} | {len(found)} | {answers:.0f} | {right:.0%} | {mean('precision'):.2f} | "
            f"{mean('recall'):.2f} | {mean('f1'):.2f} | {mean('relevant'):.0f} | {cost:.3f} |"
        )
    table = "\n".join(lines)
    print(table)
    if chosen.write:
        head = PAGE.read_text("utf-8").partition(MARK)[0]
        PAGE.write_text(f"{head}{MARK}\n\n{table}\n", "utf-8")


if __name__ == "__main__":
    main()
