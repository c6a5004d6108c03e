"""Training the category networks with PyTorch.

How a network is trained, whoever does it: what it learns from, and when it is enough.

Alqaraleh & Sırın give neither loss, optimiser, batch nor epochs. Ours: cross-entropy, batches of 64
(fewer where texts are few, so that an epoch has some 16), at most 20 epochs, and early stopping: a
tenth of the documents is held back, and training ends when three epochs in a row did not lower the
loss on them; the best epoch is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from honeyguide.errors import ModelError
from honeyguide.models.deep.net import NET_SHAPES, Floats, Ints, NetKind, TextNet

Weights = dict[str, Floats]

PATIENCE = 3
_BATCH, _LEAST, _STEPS = 64, 4, 16
_HELD = 0.1
_FEW = 20
"""A category with fewer documents has none held back: one or two say nothing."""


@dataclass(frozen=True)
class NetTrainingOptions:
    """How to train."""

    epochs: int = 20
    batch: int = _BATCH
    seed: int = 1


class TrainingEpoch(NamedTuple):
    """What a progress bar may show."""

    number: int
    """From 1."""
    of: int
    loss: float
    """Mean over the epoch, of what is learned from."""
    held_loss: float
    """On what is held back; that of the epoch itself where nothing is."""
    held_accuracy: float


EpochProgress = Callable[[TrainingEpoch], None]


class TrainingRows(NamedTuple):
    """Segments of documents, ready for a network."""

    inputs: NDArray[Any]
    """Word numbers [N, 150]; or vectors of an encoder, [N, 150, width], or pooled [N, width]."""
    lengths: Ints
    labels: Ints


class EarlyStopping:
    """Sees the end of each epoch, keeps the best weights, says when it is enough."""

    def __init__(self, lesson: NetTrainingOptions, progress: EpochProgress | None) -> None:
        self._lesson, self._progress = lesson, progress
        self._lowest, self._since = np.inf, 0
        self.best: Weights = {}
        self.epochs: list[TrainingEpoch] = []

    def end_epoch(self, loss: float, held: tuple[float, float] | None, weights: Weights) -> bool:
        """``held``: loss and accuracy on what is held back, None where nothing is."""
        held_loss, accuracy = held or (loss, 0.0)
        epoch = TrainingEpoch(len(self.epochs) + 1, self._lesson.epochs, loss, held_loss, accuracy)
        self.epochs.append(epoch)
        if self._progress:
            self._progress(epoch)
        if held_loss < self._lowest:
            self._lowest, self._since = held_loss, 0
            self.best = {name: array.copy() for name, array in weights.items()}
        else:
            self._since += 1
        return self._since >= PATIENCE


def batch_size(rows: int) -> int:
    """How many rows a step takes: 64 of a thousand and more."""
    return min(_BATCH, max(_LEAST, rows // _STEPS))


def choose_held_out(labels: Ints, seed: int) -> NDArray[np.bool_]:
    """Which documents to hold back: a tenth of every category that has enough."""
    dice = np.random.default_rng(seed)
    held = np.zeros(len(labels), np.bool_)
    for label in np.unique(labels):
        places = dice.permutation(np.flatnonzero(labels == label))
        if len(places) >= _FEW:
            held[places[: max(1, int(_HELD * len(places)))]] = True
    return held


def shuffled_batches(count: int, size: int, dice: np.random.Generator) -> list[Ints]:
    """All rows in a new order, in parts."""
    order = dice.permutation(count)
    return [order[start : start + size] for start in range(0, count, size)]


# --------------------------------------------------------------------------------------------------
# Training with PyTorch: all kinds, on the GPU where there is one, and there also reading very many
# texts. The only file that knows it.
#
# Adam, rate 0.001. The first weights are drawn by numpy, as for numpy's own training; the order of
# the rows also; dropout is PyTorch's, from the same seed. On the CPU the same seed gives the same.
# --------------------------------------------------------------------------------------------------


_RATE = 1e-3
_SCORED = 256
_READ = 512
_SHORTEST = 5
"""The widest convolution must fit."""


def has_gpu() -> bool:
    """Whether there is PyTorch, and a GPU that it can use."""
    try:
        import torch
    except ImportError:
        return False
    return bool(torch.cuda.is_available())


def torch_device() -> str:
    return "cuda" if has_gpu() else "cpu"


def check_torch(kind: str) -> None:
    """A ModelError that says what to install where PyTorch is missing."""
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise ModelError(
            f"training kind {kind} needs PyTorch: pip install honeyguide[deep] (kind paper can be "
            "trained without it)"
        ) from error


def fit_with_torch(
    kind: NetKind,
    weights: Weights,
    learned: TrainingRows,
    held: TrainingRows,
    lesson: NetTrainingOptions,
    watch: EarlyStopping,
) -> Weights:
    """The weights of the best epoch."""
    import torch

    where = torch.device(torch_device())
    dice = np.random.default_rng([lesson.seed, 2])
    chance = torch.Generator(where).manual_seed(lesson.seed)
    try:
        params = {
            name: torch.tensor(array, device=where, requires_grad=True)
            for name, array in weights.items()
        }
        adam = torch.optim.Adam(list(params.values()), lr=_RATE)
        mine, others = _TensorRows(learned, where), _TensorRows(held, where)
        for _ in range(lesson.epochs):
            total = torch.zeros((), device=where)
            for part in shuffled_batches(len(learned.labels), lesson.batch, dice):
                inputs, lengths, labels = mine.batch_of(part)
                logits = forward_pass(kind, params, inputs, lengths, chance)
                loss = torch.nn.functional.cross_entropy(logits, labels)
                adam.zero_grad()
                loss.backward()
                adam.step()
                total += loss.detach() * len(part)
            mean = float(total) / max(len(learned.labels), 1)
            now = {name: param.detach().cpu().numpy() for name, param in params.items()}
            if watch.end_epoch(mean, _score_tensors(kind, params, others), now):
                break
    except torch.OutOfMemoryError as error:
        raise ModelError(f"there is not enough memory to train kind {kind}: {error}") from error
    return watch.best


def torch_probabilities(net: TextNet, ids: Ints) -> Floats:
    """What :meth:`TextNet.probabilities` gives, from where PyTorch computes."""
    import torch

    where = torch.device(torch_device())
    params = {name: torch.as_tensor(array, device=where) for name, array in net.arrays.items()}
    parts = [np.zeros((0, net.categories), np.float32)]
    # Convolutions in less than single precision, as is the rule on a GPU, would be other ones.
    with torch.no_grad(), torch.backends.cudnn.flags(allow_tf32=False):
        for start in range(0, len(ids), _READ):
            part = torch.as_tensor(ids[start : start + _READ], device=where)
            logits = forward_pass(cast("NetKind", net.kind), params, part, (part > 0).sum(dim=1))
            parts.append(torch.softmax(logits, dim=1).cpu().numpy())
    return np.concatenate(parts)


def forward_pass(kind: NetKind, params: Any, inputs: Any, lengths: Any, chance: Any = None) -> Any:
    """Logits; with ``chance``, a generator, as in training: with dropout.

    The inputs are word numbers, or vectors of an encoder, or already pooled.
    """
    import torch

    if "embedding" in params:
        inputs = torch.nn.functional.embedding(inputs, params["embedding"])
    inputs = inputs.float()
    pooled = inputs if inputs.dim() == 2 else _pool_tensors(kind, params, inputs, lengths)
    shape = NET_SHAPES[kind]
    pooled = _drop_out(pooled, shape.dropout, chance)
    if shape.hidden:
        inside = torch.relu(pooled @ params["hidden"] + params["hidden_bias"])
        pooled = _drop_out(inside, shape.dropout, chance)
    return pooled @ params["out"] + params["out_bias"]


def _pool_tensors(kind: NetKind, params: Any, vectors: Any, lengths: Any) -> Any:
    import torch

    places = torch.arange(vectors.shape[1], device=vectors.device)
    inside = (places < lengths[:, None])[..., None]
    if not NET_SHAPES[kind].widths:
        pooled = vectors.masked_fill(~inside, -torch.inf).amax(dim=1)
        return pooled.masked_fill(lengths[:, None] == 0, 0)
    vectors = (vectors * inside).transpose(1, 2)
    found = []
    for width in NET_SHAPES[kind].widths:
        bias = params[f"bias{width}"]
        # (width · numbers) × filters → filters × numbers × width, as PyTorch has it
        kernel = params[f"kernel{width}"].reshape(width, -1, len(bias)).permute(2, 1, 0)
        windows = torch.nn.functional.conv1d(vectors, kernel, bias)
        last = (lengths - width).clamp(min=0)[:, None, None]
        beyond = places[: windows.shape[2]] > last
        found.append(torch.relu(windows.masked_fill(beyond, -torch.inf).amax(dim=2)))
    return torch.cat(found, dim=1)


def _drop_out(values: Any, share: float, chance: Any) -> Any:
    """Dropout from a generator of our own: PyTorch's has only one for the whole process."""
    import torch

    if chance is None:
        return values
    kept = torch.rand(values.shape, generator=chance, device=values.device) >= share
    return values * kept / (1 - share)


def _score_tensors(kind: NetKind, params: Any, rows: _TensorRows) -> tuple[float, float] | None:
    """Loss and accuracy without dropout."""
    import torch

    if not rows.count:
        return None
    loss, right = 0.0, 0
    with torch.no_grad():
        for start in range(0, rows.count, _SCORED):
            inputs, lengths, labels = rows.batch_of(
                np.arange(start, min(start + _SCORED, rows.count))
            )
            logits = forward_pass(kind, params, inputs, lengths)
            loss += float(torch.nn.functional.cross_entropy(logits, labels, reduction="sum"))
            right += int((logits.argmax(dim=1) == labels).sum())
    return loss / rows.count, right / rows.count


class _TensorRows:
    """Rows as tensors, all at once where the network will be."""

    def __init__(self, rows: TrainingRows, where: Any) -> None:
        import torch

        self.count, self._lengths = len(rows.labels), rows.lengths
        self._where, self._pooled = where, rows.inputs.ndim == 2 and rows.inputs.dtype.kind == "f"
        self._tensors = [torch.as_tensor(np.ascontiguousarray(array)).to(where) for array in rows]

    def batch_of(self, part: Any) -> Any:
        import torch

        places = torch.as_tensor(part, device=self._where)
        inputs, lengths, labels = (tensor[places] for tensor in self._tensors)
        if self._pooled:
            return inputs, lengths, labels
        # Padding that no text of the batch needs is work for nothing.
        longest = int(self._lengths[part].max(initial=_SHORTEST))
        return inputs[:, :longest], lengths, labels
