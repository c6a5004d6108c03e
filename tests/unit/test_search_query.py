"""Queries: how they are written, read again, and told apart."""

from __future__ import annotations

import pytest

from honeyguide.search.query import MAX_QUERY_LENGTH, Query, parse_query


def test_phrases_are_quoted_and_what_is_left_out_comes_last() -> None:
    query = Query(("lupus", "living with"), ("side effects", "dosage"))
    assert str(query) == 'lupus "living with" -"side effects" -"dosage"'
    assert parse_query(str(query)) == query


def test_neither_order_nor_case_nor_what_is_left_out_makes_another_query() -> None:
    one = Query(("lupus", "living with"))
    assert one.key == Query(("Living With", "LUPUS"), ("dosage",)).key
    assert one.key != Query(("lupus",)).key
    assert one.key != Query(("lupus", "living", "with")).key


def test_words_that_would_be_sent_alike_are_one_query_whoever_typed_them() -> None:
    assert Query(text='Lupus "living with"').key == Query(("living with", "lupus")).key
    assert parse_query("lupus forum") == Query(("lupus", "forum"))


@pytest.mark.parametrize(
    "typed",
    [
        '"lupus"', "lupus -drug", "lupus OR sle", "site:example.org lupus", 'say "lupus', "+lupus",
        '-"side effects" lupus', "(lupus)", "!wp lupus", 'lupus ""', '-"drug"',
    ],
)  # fmt: skip
def test_what_an_engine_may_take_for_an_order_stays_as_typed(typed: str) -> None:
    query = parse_query(typed)
    assert query == Query(text=typed)
    assert str(query) == typed
    assert parse_query(str(query)).key == query.key


def test_a_persons_signs_make_another_query() -> None:
    assert parse_query("lupus OR sle").key != parse_query("lupus or sle").key
    assert parse_query("lupus -drug").key != parse_query("lupus").key


def test_turkish_capitals() -> None:
    # İ lowered by no language's rule leaves a dot behind; the same word must not be asked twice.
    assert Query(("İZMİR",)).key == Query(("izmir",)).key
    # To lower I as in English would make another word of it: marrow is not lukewarm.
    assert Query(("ılık",)).key != Query(("ilik",)).key


def test_scripts_without_blanks_are_not_quoted() -> None:
    assert str(Query(("红斑狼疮", "患者"))) == "红斑狼疮 患者"
    assert parse_query("红斑狼疮 患者") == Query(("红斑狼疮", "患者"))


def test_what_cannot_be_seen_or_stored_is_left_out() -> None:
    assert str(parse_query("a\x00b\n\u202ec \ud800d")) == "a b c d"
    assert str(Query(text="a\x1bb")) == "a b"
    assert "\u200c" in str(parse_query("می\u200cخواهم")), "Persian words have a joiner inside"
    str(parse_query("lupus \udfff")).encode()
    assert len(str(parse_query("x" * 10**6))) == MAX_QUERY_LENGTH


def test_nothing_is_nothing() -> None:
    assert parse_query("  \n") == Query()
    assert Query().key == ""
