"""Training with PyTorch: all kinds, on the GPU where there is one, and there also reading very many
texts. The only file that knows it.

Adam, rate 0.001. The first weights are drawn by numpy, as for numpy's own training; the order of
the rows also; dropout is PyTorch's, from the same seed. On the CPU the same seed gives the same.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from honeyguide.errors import ModelError
from honeyguide.models.deep.net import SHAPES, Kind, Net
from honeyguide.models.deep.training_loop import Floats, Ints, Lesson, Rows, Watch, Weights, batches

_RATE = 1e-3
_SCORED = 256
_READ = 512
_SHORTEST = 5
"""The widest convolution must fit."""


def gpu() -> bool:
    """Whether there is PyTorch, and a GPU that it can use."""
    try:
        import torch
    except ImportError:
        return False
    return bool(torch.cuda.is_available())


def device() -> str:
    return "cuda" if gpu() else "cpu"


def check(kind: str) -> None:
    """A ModelError that says what to install where PyTorch is missing."""
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise ModelError(
            f"training kind {kind} needs PyTorch: pip install honeyguide[deep] (kind paper can be "
            "trained without it)"
        ) from error


def fit(
    kind: Kind, weights: Weights, learned: Rows, held: Rows, lesson: Lesson, watch: Watch
) -> Weights:
    """The weights of the best epoch."""
    import torch

    where = torch.device(device())
    dice = np.random.default_rng([lesson.seed, 2])
    chance = torch.Generator(where).manual_seed(lesson.seed)
    try:
        params = {
            name: torch.tensor(array, device=where, requires_grad=True)
            for name, array in weights.items()
        }
        adam = torch.optim.Adam(list(params.values()), lr=_RATE)
        mine, others = _Data(learned, where), _Data(held, where)
        for _ in range(lesson.epochs):
            total = torch.zeros((), device=where)
            for part in batches(len(learned.labels), lesson.batch, dice):
                inputs, lengths, labels = mine.of(part)
                logits = forward(kind, params, inputs, lengths, chance)
                loss = torch.nn.functional.cross_entropy(logits, labels)
                adam.zero_grad()
                loss.backward()
                adam.step()
                total += loss.detach() * len(part)
            mean = float(total) / max(len(learned.labels), 1)
            now = {name: param.detach().cpu().numpy() for name, param in params.items()}
            if watch.enough(mean, _scored(kind, params, others), now):
                break
    except torch.OutOfMemoryError as error:
        raise ModelError(f"there is not enough memory to train kind {kind}: {error}") from error
    return watch.best


def probabilities(net: Net, ids: Ints) -> Floats:
    """What :meth:`Net.probabilities` gives, from where PyTorch computes."""
    import torch

    where = torch.device(device())
    params = {name: torch.as_tensor(array, device=where) for name, array in net.arrays.items()}
    parts = [np.zeros((0, net.categories), np.float32)]
    # Convolutions in less than single precision, as is the rule on a GPU, would be other ones.
    with torch.no_grad(), torch.backends.cudnn.flags(allow_tf32=False):
        for start in range(0, len(ids), _READ):
            part = torch.as_tensor(ids[start : start + _READ], device=where)
            logits = forward(cast(Kind, net.kind), params, part, (part > 0).sum(dim=1))
            parts.append(torch.softmax(logits, dim=1).cpu().numpy())
    return np.concatenate(parts)


def forward(kind: Kind, params: Any, inputs: Any, lengths: Any, chance: Any = None) -> Any:
    """Logits; with ``chance``, a generator, as in training: with dropout.

    The inputs are word numbers, or vectors of an encoder, or already pooled.
    """
    import torch

    if "embedding" in params:
        inputs = torch.nn.functional.embedding(inputs, params["embedding"])
    inputs = inputs.float()
    pooled = inputs if inputs.dim() == 2 else _pooled(kind, params, inputs, lengths)
    shape = SHAPES[kind]
    pooled = _dropped(pooled, shape.dropout, chance)
    if shape.hidden:
        inside = torch.relu(pooled @ params["hidden"] + params["hidden_bias"])
        pooled = _dropped(inside, shape.dropout, chance)
    return pooled @ params["out"] + params["out_bias"]


def _pooled(kind: Kind, params: Any, vectors: Any, lengths: Any) -> Any:
    import torch

    places = torch.arange(vectors.shape[1], device=vectors.device)
    inside = (places < lengths[:, None])[..., None]
    if not SHAPES[kind].widths:
        pooled = vectors.masked_fill(~inside, -torch.inf).amax(dim=1)
        return pooled.masked_fill(lengths[:, None] == 0, 0)
    vectors = (vectors * inside).transpose(1, 2)
    found = []
    for width in SHAPES[kind].widths:
        bias = params[f"bias{width}"]
        # (width · numbers) × filters → filters × numbers × width, as PyTorch has it
        kernel = params[f"kernel{width}"].reshape(width, -1, len(bias)).permute(2, 1, 0)
        windows = torch.nn.functional.conv1d(vectors, kernel, bias)
        last = (lengths - width).clamp(min=0)[:, None, None]
        beyond = places[: windows.shape[2]] > last
        found.append(torch.relu(windows.masked_fill(beyond, -torch.inf).amax(dim=2)))
    return torch.cat(found, dim=1)


def _dropped(values: Any, share: float, chance: Any) -> Any:
    """Dropout from a generator of our own: PyTorch's has only one for the whole process."""
    import torch

    if chance is None:
        return values
    kept = torch.rand(values.shape, generator=chance, device=values.device) >= share
    return values * kept / (1 - share)


def _scored(kind: Kind, params: Any, rows: _Data) -> tuple[float, float] | None:
    """Loss and accuracy without dropout."""
    import torch

    if not rows.count:
        return None
    loss, right = 0.0, 0
    with torch.no_grad():
        for start in range(0, rows.count, _SCORED):
            inputs, lengths, labels = rows.of(np.arange(start, min(start + _SCORED, rows.count)))
            logits = forward(kind, params, inputs, lengths)
            loss += float(torch.nn.functional.cross_entropy(logits, labels, reduction="sum"))
            right += int((logits.argmax(dim=1) == labels).sum())
    return loss / rows.count, right / rows.count


class _Data:
    """Rows as tensors, all at once where the network will be."""

    def __init__(self, rows: Rows, where: Any) -> None:
        import torch

        self.count, self._lengths = len(rows.labels), rows.lengths
        self._where, self._pooled = where, rows.inputs.ndim == 2 and rows.inputs.dtype.kind == "f"
        self._tensors = [torch.as_tensor(np.ascontiguousarray(array)).to(where) for array in rows]

    def of(self, part: Any) -> Any:
        import torch

        places = torch.as_tensor(part, device=self._where)
        inputs, lengths, labels = (tensor[places] for tensor in self._tensors)
        if self._pooled:
            return inputs, lengths, labels
        # Padding that no text of the batch needs is work for nothing.
        longest = int(self._lengths[part].max(initial=_SHORTEST))
        return inputs[:, :longest], lengths, labels
