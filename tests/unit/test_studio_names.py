"""Names that come with requests."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.studio import routes

EVIL = [
    "..", ".", "", "/", "../birds", "birds/../birds", "birds/", "/etc", "birds\0", "\0",
    "..\\birds", "C:birds", ".hidden", "-rf", "~", "bi\nrds", "birds.", " birds", "x" * 101,
    "\ud800", "\u202ebirds",
]  # fmt: skip


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("birds", "kuşlar", "a b"):
        (tmp_path / "root" / name).mkdir(parents=True)
        (tmp_path / "root" / name / "topic.toml").write_text("")
    (tmp_path / "topic.toml").write_text("")
    (tmp_path / "root" / "empty").mkdir()
    return tmp_path / "root"


@pytest.mark.parametrize("name", ["birds", "kuşlar", "a b"])
def test_collections_are_found_by_the_names_of_their_folders(root: Path, name: str) -> None:
    assert routes.find_collection(root, name) == root / name


@pytest.mark.parametrize("name", [*EVIL, "empty", "nowhere"])
def test_nothing_else_is_found(root: Path, name: str) -> None:
    assert routes.find_collection(root, name) is None


def test_a_link_is_not_followed(root: Path) -> None:
    (root / "out").symlink_to(root.parent)
    assert routes.find_collection(root, "out") is None
    assert [folder.name for folder in routes.find_collections(root)].count("out") == 0


@given(st.text(max_size=40))
def test_a_fit_name_stays_in_the_root(name: str) -> None:
    if not routes.name_problem(name):
        assert (Path("/root") / name).resolve().parent == Path("/root")


@given(st.text(max_size=300))
def test_people_have_short_printable_names(said: str) -> None:
    name = routes.clean_person(quote(said, errors="replace"))
    assert len(name) <= 60
    assert name.isprintable()
    assert name == name.strip()
    assert routes.clean_person(quote(name)) == name


def test_a_person_may_have_any_letters() -> None:
    assert routes.clean_person(quote("  Ayşe \n Yılmaz ")) == "Ayşe Yılmaz"


@given(st.text(max_size=200))
def test_an_uploaded_file_gets_a_harmless_name(name: str) -> None:
    plain = routes.safe_upload_name(name)
    assert Path(plain).name == plain
    assert plain not in ("", ".", "..")
    assert len(plain) <= 100


@pytest.mark.parametrize(
    ("given", "plain"),
    [("../../etc/passwd", "passwd"), ("a b.HTML", "a-b.html"), ("C:\\x\\cl.obo", "cl.obo"),
     ("x.tar.gz", "x.tar.gz"), ("", "upload"), ("...", "upload")],
)  # fmt: skip
def test_the_ending_is_kept(given: str, plain: str) -> None:
    assert routes.safe_upload_name(given) == plain
