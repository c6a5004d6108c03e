"""topic.toml is changed key by key, and stays its owner's."""

from __future__ import annotations

import contextlib
import json
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.api.create import create
from honeyguide.api.topic_edit import change_topic_file, edit_topic_text
from honeyguide.config.loading import load_settings
from honeyguide.errors import ConfigError
from tests.unit.studio_client import Client

FILE = '''# mine
[topic]  # what I am after
keywords = [
  "bird",  # all of them
  # but not these: chicken
  "owl",
]  # words
description = """
[crawl]
pages = 3 # not a key
"""
seeds = ["https://example.org/#top"]  # one
name = "birds"

[crawl]
# pages = 1000                    # visits; 0: never

[[topics]]
name = "fish"
keywords = ["cod"]
'''


def meant(text: str, table: str, key: str) -> Any:
    return tomllib.loads(text)[table][key]


def test_a_key_is_changed_and_everything_else_stays() -> None:
    done = edit_topic_text(
        FILE, {"topic": {"keywords": ["bird", "kite"], "seeds": ["a", "b"]}, "crawl": {"pages": 7}}
    )
    assert meant(done, "topic", "keywords") == ["bird", "kite"]
    assert meant(done, "topic", "seeds") == ["a", "b"]
    assert "pages = 7                    # visits; 0: never" in done
    assert '  "bird",  # all of them\n  # but not these: chicken\n  "kite",\n]  # words\n' in done
    assert ']  # one\nname = "birds"' in done
    for line in ("# mine", "[topic]  # what I am after", "pages = 3 # not a key"):
        assert line in done
    assert '"owl"' not in done


@pytest.mark.parametrize(
    ("text", "line"),
    [("", "[crawl]\npages = 7"), ("[crawl]\nhours = 1\n", "[crawl]\npages = 7\nhours = 1"),
     ("[crawl]\r\npages = 1\r\n", "[crawl]\r\npages = 7\r\n"),
     ("[topics2]\npages = 1\n", "[crawl]\npages = 7")],
)  # fmt: skip
def test_where_the_key_is_not_there_yet(text: str, line: str) -> None:
    assert line in edit_topic_text(text, {"crawl": {"pages": 7}})


@pytest.mark.parametrize(
    "text", ["crawl.pages = 1\n", "crawl = {pages = 1}\n", '["crawl"]\npages = 1\n', "[crawl\n"]
)
def test_what_is_written_otherwise_is_left_to_its_owner(text: str) -> None:
    with pytest.raises(ConfigError, match=r"topic\.toml"):
        edit_topic_text(text, {"crawl": {"pages": 7}})


words = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=20)


@given(st.lists(words, max_size=5), st.lists(words, max_size=5), words)
def test_whatever_was_said_is_what_is_meant(old: list[str], new: list[str], about: str) -> None:
    before = edit_topic_text(FILE, {"topic": {"keywords": old, "description": about}})
    after = edit_topic_text(before, {"topic": {"keywords": new}})
    assert meant(after, "topic", "keywords") == new
    assert meant(after, "topic", "description") == about
    assert meant(after, "topic", "name") == "birds"


@pytest.mark.parametrize(
    "text",
    ['x = """\n' + "]\n" * 200_000 + '"""\n', "x = " + "[" * 500_000,
     '[crawl]\npages = "' + "#" * 900_000, "[crawl]\n# pages = 1" + " " * 900_000 + "x"],
    ids=["ends", "nested", "signs", "blanks"],
)  # fmt: skip
def test_a_hostile_file_takes_no_time(text: str) -> None:
    began = time.thread_time()
    with contextlib.suppress(ConfigError):
        edit_topic_text(text, {"crawl": {"pages": 7}})
    assert time.thread_time() - began < 20


def test_a_mistake_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    made = create(tmp_path / "birds", seeds=["https://a.example/"], contact="a@b.example",
                  keywords=["bird"])  # fmt: skip
    file = made.folder / "topic.toml"
    before = file.read_text()
    with pytest.raises(ConfigError, match=r"topic\.seeds"):
        change_topic_file(made.folder, {"topic": {"seeds": ["no address"]}})
    with pytest.raises(ConfigError, match=r"crawl\.pages"):
        change_topic_file(made.folder, {"crawl": {"pages": -1}})
    assert file.read_text() == before
    assert sorted(path.name for path in made.folder.iterdir()) == ["examples", "topic.toml"]
    file.chmod(0o600)
    change_topic_file(made.folder, {"crawl": {"pages": 12}})
    assert load_settings(file).crawl.pages == 12
    assert file.stat().st_mode & 0o777 == 0o600


def test_old_names_of_keys_stay_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "topic.toml"
    old = '[topic]\nseeds = ["http://e.org/"]\nwords = "tr"  # mine\n[fetch]\ncontact = "a@e.org"\n'
    file.write_text(old)
    made = change_topic_file(tmp_path, {"topic": {"keywords": ["arı"]}})
    assert made.topic.keyword_language == "tr"
    assert file.read_text() == old.replace("[topic]\n", '[topic]\nkeywords = ["arı"]\n')


def test_a_key_under_its_old_name_is_renamed_when_it_changes(tmp_path: Path) -> None:
    file = tmp_path / "topic.toml"
    old = (
        '[topic]\nseeds = ["http://e.org/"]\nwords = "tr"  # mine\n[fetch]\ncontact = "a@e.org"\n'
        "[watch]\n  shortest_s = 60.0\n"
    )
    file.write_text(old)
    change_topic_file(tmp_path, {"topic": {"keyword_language": "tr"}})
    assert file.read_text() == old, "it says so already"
    made = change_topic_file(
        tmp_path, {"topic": {"keyword_language": "de"}, "watch": {"min_interval_s": 90.0}}
    )
    assert (made.topic.keyword_language, made.watch.min_interval_s) == ("de", 90.0)
    now = file.read_text()
    assert 'keyword_language = "de"  # mine' in now
    assert "min_interval_s = 90.0" in now
    assert "words" not in now
    assert "shortest_s" not in now


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    made = create(tmp_path / "birds", seeds=["https://a.example/"], contact="a@b.example")
    other = tmp_path / "secret"
    other.write_text("mine")
    (made.folder / ".topic.toml.part").symlink_to(other)
    with pytest.raises(Exception, match="birds"):
        change_topic_file(made.folder, {"crawl": {"pages": 12}})
    assert other.read_text() == "mine"


def test_a_topic_is_changed_from_the_browser(tmp_path: Path) -> None:
    client = Client(tmp_path)
    create(tmp_path / "birds", seeds=["https://a.example/x?b=1"], contact="a@b.example",
           keywords=["bird"])  # fmt: skip
    said = {"keywords": ["bird", " owl "], "description": " Birds. ", "pages": 20,
            "seeds": ["https://a.example/x?b=1", "b.example/birds"]}  # fmt: skip
    found = client.ask("PUT", "/api/c/birds/topic", json_of(said))
    assert found.status == 200, found.json
    topic = load_settings(tmp_path / "birds" / "topic.toml").topic
    assert (topic.keywords, topic.description) == (("bird", "owl"), "Birds.")
    assert topic.seeds == ("https://a.example/x?b=1", "https://b.example/birds")
    assert found.json["pages"] == 20
    wrong = client.ask("PUT", "/api/c/birds/topic", json_of({"seeds": []}))
    assert (wrong.status, wrong.json["field"]) == (400, "seeds")
    wrong = client.ask("PUT", "/api/c/birds/topic", json_of({"seeds": ["no address"]}))
    assert (wrong.status, wrong.json["field"]) == (400, "seeds")
    client.close()


def json_of(value: object) -> bytes:
    return json.dumps(value).encode()
