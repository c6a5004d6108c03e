"""Encoders from a folder: tiny ones, made here. Nothing is downloaded."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from honeyguide.errors import ModelError
from honeyguide.models.deep.category_model import load_net_model, save_net_model
from honeyguide.models.deep.embedding import TextEncoder, open_embedding
from honeyguide.models.deep.net import NET_KINDS, NetKind
from honeyguide.models.deep.training import train_net
from honeyguide.strategies.topic_cnn import TopicCnn
from honeyguide.training.classify import PageClassifier
from honeyguide.types import Page, Url
from tests.unit import deep

WIDTH = 8
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "goal", "vote", "match", "party", "##s"]
PIECES += [f"common{n}" for n in range(30)]


def installed(*names: str) -> bool:
    return all(importlib.util.find_spec(name) for name in names)


needs_onnx = pytest.mark.skipif(
    not installed("onnx", "onnxruntime", "tokenizers"), reason="needs honeyguide[onnx] and onnx"
)
needs_torch = pytest.mark.skipif(not installed("torch"), reason="needs honeyguide[deep]")
needs_bert = pytest.mark.skipif(
    not installed("torch", "transformers"), reason="needs honeyguide[bert]"
)


def tokenizer() -> dict[str, Any]:
    """A WordPiece tokenizer as BERT has it."""
    special = [
        {
            "id": n,
            "content": PIECES[n],
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        for n in range(4)
    ]
    template = [
        {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
        {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
    ]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": special,
        "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": template,
            "pair": template,
            "special_tokens": {
                name: {"id": name, "ids": [PIECES.index(name)], "tokens": [name]}
                for name in ("[CLS]", "[SEP]")
            },
        },
        "decoder": None,
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {piece: n for n, piece in enumerate(PIECES)},
        },
    }


def table() -> Any:
    """Vectors of the pieces: two of the numbers tell what a text is about."""
    found = np.random.default_rng(1).normal(0, 1, (len(PIECES), WIDTH)).astype(np.float32)
    for place, words in enumerate((("goal", "match"), ("vote", "party"))):
        found[[PIECES.index(word) for word in words], place] = 5
    return found


def onnx_folder(folder: Path, *, output: str = "vectors", extra: str = "") -> Path:
    """A model whose vector of a piece is a row of a table, times the attention mask."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["n", "length"])
    mask = helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["n", "length"])
    inputs = [ids, mask]
    if extra:
        inputs.append(helper.make_tensor_value_info(extra, TensorProto.INT64, ["n", "length"]))
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["rows"]),
        helper.make_node("Cast", ["attention_mask"], ["seen"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["seen", "last"], ["column"]),
        helper.make_node("Mul", ["rows", "column"], ["vectors"]),
    ]
    shape: list[str | int | None] = ["n", "length"]
    if output == "vectors":
        shape.append(WIDTH)
    graph = helper.make_graph(
        nodes,
        "tiny",
        inputs,
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)],
        [
            numpy_helper.from_array(table(), "table"),
            numpy_helper.from_array(np.array([2], np.int64), "last"),
        ],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(made, folder / "model.onnx")
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer()))
    return folder


@needs_onnx
def test_onnx_reads_words_in_pieces(tmp_path: Path) -> None:
    encoder = open_embedding(onnx_folder(tmp_path))
    assert isinstance(encoder, TextEncoder)
    assert encoder.width == WIDTH
    read = encoder.encode([["goals", "vote"], ["strange"], [], ["goal"] * 200])
    assert read.lengths.tolist() == [5, 3, 2, 150]
    assert read.vectors.shape == (4, 150, WIDTH)
    expected = table()[[PIECES.index(p) for p in ("[CLS]", "goal", "##s", "vote", "[SEP]")]]
    assert read.vectors[0, :5] == pytest.approx(expected)
    assert not read.vectors[0, 5:].any()


@needs_onnx
@pytest.mark.parametrize(
    "kind", [pytest.param(k, marks=() if k == "paper" else needs_torch) for k in NET_KINDS]
)
def test_a_network_on_top_of_onnx(tmp_path: Path, kind: NetKind) -> None:
    folder = onnx_folder(tmp_path / "encoder")
    documents, labels = deep.texts(80, length=12)
    model = train_net(
        kind, documents, labels, ("sport", "politics"), embedding=open_embedding(folder), epochs=20
    )
    assert "embedding" not in model.net.arrays
    right = model.judge_many([([document], ()) for document in documents]).argmax(axis=1) == labels
    assert right.mean() > 0.8
    assert model.top_words([["goal"]], "sport") == []
    save_net_model(model, tmp_path / "model")
    back = load_net_model(tmp_path / "model", folder)
    assert back.judge([documents[0]]) == pytest.approx(model.judge([documents[0]]), abs=1e-6)


@needs_onnx
def test_a_model_knows_its_encoder_and_takes_it_from_nobody_but_the_user(tmp_path: Path) -> None:
    folder = onnx_folder(tmp_path / "elsewhere")
    documents, labels = deep.texts(8)
    encoder = open_embedding(folder)
    model = train_net("paper", documents, labels, ("a", "b"), embedding=encoder, epochs=1)
    save_net_model(model, tmp_path / "model")
    with pytest.raises(ModelError, match="An encoder is a program"):
        load_net_model(tmp_path / "model")
    inside = folder.rename(tmp_path / "model" / "encoder")
    with pytest.raises(ModelError, match="An encoder is a program"):
        load_net_model(tmp_path / "model")
    assert load_net_model(tmp_path / "model", inside).encoder is not None
    assert isinstance(encoder, TextEncoder)
    assert load_net_model(tmp_path / "model", encoder).encoder is encoder
    (inside / "tokenizer.json").write_text(json.dumps(tokenizer(), indent=1))
    with pytest.raises(ModelError, match="not the encoder"):
        load_net_model(tmp_path / "model", inside)
    (inside / "model.onnx").write_text("not even a graph")
    with pytest.raises(ModelError, match="not the encoder"):
        load_net_model(tmp_path / "model", inside)
    with pytest.raises(ModelError, match="no encoder in"):
        load_net_model(tmp_path / "model", tmp_path / "gone")


@needs_onnx
def test_a_crawl_and_classify_use_an_encoder_that_is_named(tmp_path: Path) -> None:
    folder = onnx_folder(tmp_path / "encoder")
    documents, labels = deep.texts(80, length=12)
    reading = {"language": "en", "stem": False, "stops": True}
    model = train_net(
        "paper", documents, labels, ("sport", "politics"), embedding=open_embedding(folder),
        epochs=20, settings=reading,
    )  # fmt: skip
    save_net_model(model, tmp_path)
    page = Page(Url("http://e.org/"), text=" ".join(documents[0]))
    for name in ("encoder", str(folder)):
        strategy = TopicCnn(model=str(tmp_path), categories=("sport",), encoder=name)
        assert strategy.judge(page).score > 0.5
    assert (
        PageClassifier.open(tmp_path, folder).classify_pages([("one", page)])[0].category == "sport"
    )
    with pytest.raises(ModelError, match="An encoder is a program"):
        TopicCnn(model=str(tmp_path), categories=("sport",))
    with pytest.raises(ModelError, match="An encoder is a program"):
        PageClassifier.open(tmp_path)


@needs_onnx
def test_nothing_but_plain_files_is_an_encoder(tmp_path: Path) -> None:
    folder = onnx_folder(tmp_path)
    (folder / "model.onnx").unlink()
    os.mkfifo(folder / "model.onnx")
    with pytest.raises(ModelError, match="not a plain file"):
        open_embedding(folder)
    (folder / "model.onnx").unlink()
    (folder / "model.onnx").symlink_to("/dev/zero")
    with pytest.raises(ModelError, match="not a plain file"):
        open_embedding(folder)


@needs_onnx
def test_a_graph_reads_no_other_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import onnx

    folder = onnx_folder(tmp_path)
    made = onnx.load(folder / "model.onnx")
    (folder / "model.onnx").unlink()
    onnx.save(
        made, folder / "model.onnx", save_as_external_data=True, location="w", size_threshold=100
    )
    assert (folder / "w").stat().st_size > 0
    monkeypatch.chdir(folder)  # where ONNX Runtime would look, too
    with pytest.raises(ModelError, match="no encoder that can be read"):
        open_embedding(folder)


@needs_onnx
def test_a_tokenizer_that_makes_more_pieces_than_are_read(tmp_path: Path) -> None:
    folder = onnx_folder(tmp_path)
    rules = tokenizer()
    single = rules["post_processor"]["single"]
    rules["post_processor"]["single"] = [single[0]] * 500 + single[1:]
    (folder / "tokenizer.json").write_text(json.dumps(rules))
    with pytest.raises(ModelError):
        open_embedding(folder)


@needs_onnx
def test_a_normaliser_may_not_make_texts_endless(tmp_path: Path) -> None:
    folder = onnx_folder(tmp_path)
    rules = tokenizer()
    longer = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 10}
    for count, fine in ((2, True), (8, False)):
        rules["normalizer"] = {"type": "Sequence", "normalizers": [longer] * count}
        (folder / "tokenizer.json").write_text(json.dumps(rules))
        if fine:
            assert isinstance(open_embedding(folder), TextEncoder)
            continue
        with pytest.raises(ModelError, match="too long"):
            open_embedding(folder)
    rules["normalizer"] = {"type": "BertNormalizer", "clean_text": True, "lowercase": True}
    rules["normalizer"] |= {"handle_chinese_chars": True, "strip_accents": None}
    (folder / "tokenizer.json").write_text(json.dumps(rules))
    assert isinstance(open_embedding(folder), TextEncoder)


@needs_onnx
def test_damaged_onnx_folders(tmp_path: Path) -> None:
    good = onnx_folder(tmp_path / "good")
    data = (good / "model.onnx").read_bytes()
    with pytest.raises(ModelError, match="wants pixels"):
        open_embedding(onnx_folder(tmp_path / "strange", extra="pixels"))
    with pytest.raises(ModelError, match="no vectors of words"):
        open_embedding(onnx_folder(tmp_path / "flat", output="seen"))
    (good / "model.onnx").write_bytes(data[: len(data) // 2])
    with pytest.raises(ModelError, match="no encoder that can be read"):
        open_embedding(good)
    (good / "model.onnx").write_bytes(data)
    (good / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelError, match="no encoder that can be read"):
        open_embedding(good)
    (good / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match="no encoder"):
        open_embedding(good)
    # A tokenizer with more pieces than the model has rows.
    wide = tokenizer()
    wide["model"]["vocab"]["strange"] = 999
    (good / "tokenizer.json").write_text(json.dumps(wide))
    encoder = open_embedding(good)
    assert isinstance(encoder, TextEncoder)
    with pytest.raises(ModelError, match="failed"):
        encoder.encode([["strange"]])


def bert_folder(folder: Path) -> Path:
    """A BERT of two small layers, with random weights."""
    import torch
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    torch.manual_seed(1)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(tokenizer()))
    config = BertConfig(
        vocab_size=len(PIECES),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=160,
    )
    BertModel(config).save_pretrained(folder)
    PreTrainedTokenizerFast(
        tokenizer_file=str(path), pad_token="[PAD]", unk_token="[UNK]"
    ).save_pretrained(folder)
    return folder


@needs_bert
@pytest.mark.filterwarnings("ignore")  # transformers warns of its own
def test_transformers(tmp_path: Path) -> None:
    folder = bert_folder(tmp_path / "bert")
    encoder = open_embedding(folder)
    assert isinstance(encoder, TextEncoder)
    assert encoder.width == 16
    read = encoder.encode([["goals", "vote"], ["goal"] * 200, []])
    assert read.lengths.tolist() == [5, 150, 2]
    alone = encoder.encode([["goals", "vote"]])
    assert read.vectors[0, :5] == pytest.approx(alone.vectors[0, :5], abs=1e-5)
    # In context: the same piece differs with its neighbours.
    other = encoder.encode([["goals", "match"]])
    assert np.abs(other.vectors[0, 1] - alone.vectors[0, 1]).max() > 1e-4
    documents, labels = deep.texts(12)
    model = train_net("paper", documents, labels, ("a", "b"), embedding=encoder, epochs=2)
    save_net_model(model, tmp_path / "model")
    assert load_net_model(tmp_path / "model", folder).judge([documents[0]]) == pytest.approx(
        model.judge([documents[0]]), abs=1e-5
    )


@needs_bert
@pytest.mark.filterwarnings("ignore")
def test_damaged_transformers_folders(tmp_path: Path) -> None:
    folder = bert_folder(tmp_path / "bert")
    weights = folder / "model.safetensors"
    data = weights.read_bytes()
    weights.write_bytes(data[:100])
    with pytest.raises(ModelError, match="no encoder that can be read"):
        open_embedding(folder)
    weights.unlink()
    with pytest.raises(ModelError, match=r"model\.safetensors"):
        open_embedding(folder)


@pytest.mark.skipif(installed("transformers"), reason="transformers is installed")
def test_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"pip install honeyguide\[bert\]"):
        open_embedding(tmp_path)
