"""Networks that sort texts into categories: words in, numbers out. It knows no text.

    model = train("paper", documents, labels, categories)      # documents: lists of words
    model.judge([["lig", "maç", "gol"]])                       # one probability a category
    save(model, folder); model = load(folder)

Files: vocabulary (word → number), pooling and net (reading, numpy alone), lesson, adagrad and
with_torch (training), embedding with word_vectors, encoder_onnx and encoder_transformers (what
may be the first layer), files (saving and loading).
"""

from __future__ import annotations

from honeyguide.models.deep.category_model import (
    CategoryModel,
    load_net_model,
    model_checksum,
    save_net_model,
)
from honeyguide.models.deep.embedding import (
    Embedding,
    EncodedTexts,
    TextEncoder,
    WordTable,
    open_embedding,
)
from honeyguide.models.deep.net import NET_KINDS, NetKind, TextNet
from honeyguide.models.deep.torch_engine import EpochProgress, TrainingEpoch
from honeyguide.models.deep.training import TrainingEngine, train_net
from honeyguide.models.deep.vocabulary import SEGMENT_WORDS, WordVocabulary

__all__ = [
    "NET_KINDS",
    "SEGMENT_WORDS",
    "CategoryModel",
    "Embedding",
    "EncodedTexts",
    "EpochProgress",
    "NetKind",
    "TextEncoder",
    "TextNet",
    "TrainingEngine",
    "TrainingEpoch",
    "WordTable",
    "WordVocabulary",
    "load_net_model",
    "model_checksum",
    "open_embedding",
    "save_net_model",
    "train_net",
]
