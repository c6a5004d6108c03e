"""Keys: where they come from, and that they show themselves to nobody."""

from __future__ import annotations

import copy
import html
import json
import os
import pickle
from base64 import b64encode, urlsafe_b64encode
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

from honeyguide.config.settings import SearchSettings
from honeyguide.errors import ConfigError
from honeyguide.search.credentials import ApiKey, load_api_key

TEXT = 'Bearer "a/b+c=d&e<f?>'


def test_a_key_does_not_show_itself() -> None:
    key = ApiKey(TEXT)
    shown = [
        str(key),
        repr(key),
        f"{key}",
        f"{key!r:>9}",
        f"{key:>9}",
        ascii(key),
    ]
    assert not any("a/b" in text for text in (*shown, repr([key]), repr(vars(type(key)))))
    assert key
    assert not ApiKey()
    assert (str(ApiKey()), ApiKey().redact("as it was")) == ("", "as it was")
    for save in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError):
            save(key)
    with pytest.raises(AttributeError):
        key.extra = 1  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "form",
    [
        str, quote, quote_plus, lambda t: quote(t, safe=""), lambda t: quote(t, safe="").lower(),
        html.escape, lambda t: json.dumps(t), lambda t: b64encode(t.encode()).decode(),
        lambda t: urlsafe_b64encode(t.encode()).decode(), lambda t: t.rpartition(" ")[2],
        lambda t: b64encode(t.rpartition(" ")[2].encode()).decode(), str.upper,
    ],
)  # fmt: skip
def test_it_is_taken_out_of_any_text(form: object) -> None:
    key = ApiKey(TEXT)
    hidden = form(TEXT)  # type: ignore[operator]
    cleaned = key.redact(f"before {hidden} between {hidden} after")
    assert hidden.strip('="') not in cleaned
    assert cleaned.count("[key]") == 2
    assert cleaned.startswith("before ")
    assert cleaned.endswith(" after")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Token token=k3y/SECRET+abc", "k3y/SECRET+abc"),
        ("ApiKey name:k3y/SECRET:abc", "k3y/SECRET:abc"),
        ('Token token="k3y/SECRET+abc"', "k3y/SECRET+abc"),
        ("Basic " + b64encode(b"ada:pass:word").decode(), "pass:word"),
        ("Basic " + b64encode(b"ada:pass:word").decode().rstrip("="), "ada:pass:word"),
        ("Basic " + b64encode("ada:pässwörd".encode()).decode(), "pässwörd"),
        ("k3y/SECRET+abc", quote(quote("k3y/SECRET+abc", safe=""), safe="")),
        ("k3y/SECRET+abc", b"k3y/SECRET+abc".hex()),
        ("k3y/SECRET+abc", b"k3y/SECRET+abc".hex().upper()),
        ("k3y/SECRET+abc==", "k3y/SECRET+abc"),
    ],
)
def test_its_parts_are_taken_out(text: str, shown: str) -> None:
    assert ApiKey(text).redact(f"it was {shown}, was it?") == "it was [key], was it?"


def test_short_parts_are_left() -> None:
    assert ApiKey("user=name:abc").redact("abc and name:a") == "abc and name:a"


def test_accounts() -> None:
    one, other = ApiKey("first-key"), ApiKey("second-key")
    assert one.account_hash(b"1" * 16) == ApiKey("first-key").account_hash(b"1" * 16)
    assert (
        len(
            {
                one.account_hash(b"1" * 16),
                other.account_hash(b"1" * 16),
                one.account_hash(b"2" * 16),
            }
        )
        == 3
    )
    assert "first" not in one.account_hash(b"1" * 16)


def test_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = SearchSettings(key_env="HONEYGUIDE_K")
    assert not load_api_key(settings)
    monkeypatch.setenv("HONEYGUIDE_K", " the-key\n")
    assert load_api_key(settings).reveal() == "the-key"
    assert not load_api_key(SearchSettings(key_env=""))
    for bad in ("two\nlines-of-it", "tiny", "ünfit-key", "x" * 5000, "nul\x01-key"):
        monkeypatch.setenv("HONEYGUIDE_K", bad)
        with pytest.raises(ConfigError, match="HONEYGUIDE_K: the key must be") as caught:
            load_api_key(settings)
        assert bad not in str(caught.value)
        assert caught.value.__cause__ is None


@pytest.mark.parametrize("name", ["AWS_SECRET_ACCESS_KEY", "honeyguide_key", "XHONEYGUIDE_KEY"])
def test_a_stranger_names_no_other_variable(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "the-secret")
    with pytest.raises(ConfigError, match="Keep the key in HONEYGUIDE_SEARCH_KEY") as caught:
        load_api_key(SearchSettings(key_env=name))
    assert "the-secret" not in str(caught.value)


def test_a_stranger_names_no_other_file(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "token"
    other.write_text("their-token")
    for name in (other, file.parent / ".." / ".." / "token", f"{file.parent}-other/key"):
        with pytest.raises(ConfigError, match="Put the key there") as caught:
            load_api_key(SearchSettings(key_file=str(name)))
        assert str(file.parent) in str(caught.value)
        assert "their-token" not in str(caught.value)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    path = tmp_path / "config" / "honeyguide" / "key"
    path.parent.mkdir(parents=True)
    path.write_text("file-key\n")
    path.chmod(0o600)
    return path


def test_from_a_file(
    file: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = SearchSettings(key_file=str(file), key_env="HONEYGUIDE_K")
    monkeypatch.setenv("HONEYGUIDE_K", "other-key")
    assert load_api_key(settings, file.parents[2] / "c").reveal() == "file-key"
    assert caplog.text == ""
    file.chmod(0o644)
    assert load_api_key(settings).reveal() == "file-key"
    assert "chmod 600" in caplog.text
    assert "file-key" not in caplog.text


def test_home(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(file.parents[2]))
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    file.parents[1].rename(file.parents[2] / ".config")
    assert load_api_key(SearchSettings(key_file="~/.config/honeyguide/key")).reveal() == "file-key"


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "is empty"), (b" \n", "is empty"), (b"x" * 4097, "larger"), (b"a-key\0-here", "ASCII"),
     (b"one-key\ntwo-key", "ASCII"), ("schlüssel".encode(), "ASCII"), (b"tiny", "6 to 4096")],
)  # fmt: skip
def test_files_that_hold_no_key(file: Path, content: bytes, words: str) -> None:
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=r"search\.key_file") as caught:
        load_api_key(SearchSettings(key_file=str(file)))
    assert words in str(caught.value)
    assert "one-key" not in str(caught.value)


def test_files_that_are_none(file: Path) -> None:
    pipe = file.with_name("pipe")
    os.mkfifo(pipe)
    ring = file.with_name("ring")
    ring.symlink_to(ring)
    for name, words in (
        (file.parent, "directory"), (pipe, "not an ordinary file"), (file / "x", "cannot be read"),
        (file.with_name("none"), "No such file"), ("key", "whole path"),
        (f"{file}\0", "cannot"), (ring, "cannot be read"), ("/dev/zero", "Put the key there"),
    ):  # fmt: skip
        with pytest.raises(ConfigError) as caught:
            load_api_key(SearchSettings(key_file=str(name)), file.parents[2] / "collection")
        assert words in str(caught.value)


def test_a_key_inside_the_collection(file: Path, tmp_path: Path) -> None:
    """Also through links, either way: a collection may be given to others."""
    inside = SearchSettings(key_file=str(file))
    linked = tmp_path / "link"
    linked.symlink_to(file.parent)
    out = tmp_path / "collection"
    out.mkdir()
    (out / "key").write_text("file-key")
    leads = file.with_name("leads")
    leads.symlink_to(out / "key")
    for settings, folder in (
        (inside, file.parent),
        (inside, linked),
        (inside, tmp_path),
        (SearchSettings(key_file=str(leads)), out),
    ):
        with pytest.raises(ConfigError, match="inside the collection"):
            load_api_key(settings, folder)
