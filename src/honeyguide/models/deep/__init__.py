"""Networks that sort texts into categories: words in, numbers out. It knows no text.

    model = train("paper", documents, labels, categories)      # documents: lists of words
    model.judge([["lig", "maç", "gol"]])                       # one probability a category
    save(model, folder); model = load(folder)

Files: vocabulary (word → number), pooling and net (reading, numpy alone), lesson, adagrad and
with_torch (training), embedding with word_vectors, encoder_onnx and encoder_transformers (what
may be the first layer), files (saving and loading).
"""

from __future__ import annotations

from honeyguide.models.deep.embedding import Embedding, Encoder, Read, Table, embedding_of
from honeyguide.models.deep.files import checksum, load, save
from honeyguide.models.deep.model import CategoryModel
from honeyguide.models.deep.net import KINDS, Kind, Net
from honeyguide.models.deep.training import Engine, train
from honeyguide.models.deep.training_loop import Epoch, Progress
from honeyguide.models.deep.vocabulary import LENGTH, Vocabulary

__all__ = [
    "KINDS",
    "LENGTH",
    "CategoryModel",
    "Embedding",
    "Encoder",
    "Engine",
    "Epoch",
    "Kind",
    "Net",
    "Progress",
    "Read",
    "Table",
    "Vocabulary",
    "checksum",
    "embedding_of",
    "load",
    "save",
    "train",
]
