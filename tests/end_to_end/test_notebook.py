"""The notebook of the docs, and an interrupted cell, in a real kernel."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

from honeyguide.api.collection import Collection
from tests.end_to_end.crawling import collection
from tests.site.server import Site
from tests.site.web import weave

NOTEBOOK = Path(__file__).parents[2] / "docs" / "how-to" / "notebook.ipynb"


@pytest.fixture(autouse=True)
def jupyter_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the tests may have settings of Jupyter."""
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path / "matplotlib"))


@pytest.mark.slow
def test_the_notebook_of_the_docs(tmp_path: Path) -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "it is kept without outputs"
    client = NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}})
    asyncio.run(client.async_execute())
    shown = {cell.source: _shown(cell) for cell in notebook.cells if cell.cell_type == "code"}
    (crawled,) = (found for source, found in shown.items() if "backups.crawl(pages=80)" in source)
    assert "<progress" in crawled["text/html"], "a bar, without ipywidgets"
    assert "harvest" in crawled["text/html"]
    assert "<table>" in shown["backups.pages()"]["text/html"]
    assert "image/png" in shown["backups.plot_harvest();"]
    assert "watched pages" in shown["backups.watch_list"]["text/html"]
    found = Collection(tmp_path / "backups")
    status = found.status()
    assert status.visits >= 200
    assert status.labels == 10
    assert status.watched > 10
    assert [each.live for each in found.generations()][-1]
    assert (tmp_path / "backups.csv").read_text().count("\n") > 20


def _shown(cell: Any) -> dict[str, str]:
    """What a cell showed, by its type; the last of each."""
    return {
        kind: "".join(text)
        for output in cell.outputs
        for kind, text in output.get("data", {}).items()
    }


@pytest.mark.slow
def test_an_interrupted_cell_stops_cleanly(site: Site, tmp_path: Path) -> None:
    web = weave(site, site.addresses[:2], pages=300)
    bees = collection(tmp_path / "bees", [web.urls[0]], politeness={"loopback_delay_s": 0.05})
    cell = "import honeyguide\nbees = honeyguide.Collection('bees')\nprint(bees.crawl().reason)"
    said: list[str] = []

    async def interrupt_soon(manager: AsyncKernelManager) -> None:
        while not (bees.folder / "live.json").exists() or not bees.status().visits:
            await asyncio.sleep(0.05)
        await manager.interrupt_kernel()

    async def session() -> dict[str, Any]:
        manager = AsyncKernelManager(kernel_name="python3")
        await manager.start_kernel(cwd=str(tmp_path))
        client = manager.client()
        client.start_channels()
        try:
            await client.wait_for_ready(timeout=60)
            waiting = asyncio.create_task(interrupt_soon(manager))
            reply: dict[str, Any] = await client.execute_interactive(
                cell,
                timeout=90,
                output_hook=lambda message: said.append(message["content"].get("text", "")),
            )
            await waiting
            return reply
        finally:
            client.stop_channels()
            await manager.shutdown_kernel(now=True)

    reply = asyncio.run(session())
    assert reply["content"]["status"] == "ok"
    assert "you asked for it" in "".join(said)
    assert bees.status().crawler_pid is None
    assert 0 < bees.status().visits < 300
