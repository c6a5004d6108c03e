"""Select words and features: by χ², and by odds with cross-validation.

Xu, Yoon & Tourassi, feature screening: features are admitted in the order of their odds ratio, a
10-fold cross-validation follows each, and admission stops when the score is more than 5 % below the
best; features after the best are dropped. The paper leaves the score open: here it is the area
under the ROC curve for labels that are 0 or 1, and Pearson's r for others. Admission does not stop
before ten features, since a single one sways the score.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from honeyguide.models.regressors import FloatArray, IntArray, boosted_out_of_fold


def strongest_words(
    documents: Sequence[Collection[str]], relevant: Sequence[bool], most: int
) -> tuple[str, ...]:
    """The words with the highest χ² over distinct words of each page; ties by the alphabet.

    χ² = N(AD - BC)² / ((A+C)(B+D)(A+B)(C+D)), Yang & Pedersen 1997, section 2.4. Both kinds have
    the same value.
    """
    inside: Counter[str] = Counter()
    outside: Counter[str] = Counter()
    for document, wanted in zip(documents, relevant, strict=True):
        (inside if wanted else outside).update(set(document))
    good, bad = sum(relevant), len(relevant) - sum(relevant)
    total = good + bad
    weighed = []
    for word in inside.keys() | outside.keys():
        a, b = inside[word], outside[word]
        c, d = good - a, bad - b
        below = (a + c) * (b + d) * (a + b) * (c + d)
        if below:
            weighed.append((-total * (a * d - b * c) ** 2 / below, word))
    return tuple(word for _, word in sorted(weighed)[:most])


# --- Features by odds ---


SelectionScore = Callable[[int], float]
"""The cross-validated score of the first so many features."""


def count_features(
    found: Sequence[Sequence[int]], side: NDArray[np.bool_], size: int
) -> FloatArray:
    """How many rows of one side have each feature."""
    columns = [
        c for on_side, columns_of in zip(side, found, strict=True) if on_side for c in columns_of
    ]
    return np.bincount(np.array(columns, np.int64), minlength=size).astype(np.float64)


def feature_table(found: Sequence[Sequence[int]], features: IntArray) -> FloatArray:
    """Rows of 0 and 1 with these features only; there may be a hundred thousand others."""
    column = {int(feature): place for place, feature in enumerate(features)}
    rows = np.zeros((len(found), len(features)))
    for row, columns_of in zip(rows, found, strict=True):
        row[[column[feature] for feature in columns_of if feature in column]] = 1.0
    return rows


def rank_features(
    odds: FloatArray, support: FloatArray, least: int, *, both: bool = False
) -> IntArray:
    r"""Features with enough support, the highest odds first; of equals the more frequent first.

    The order of the paper keeps evidence for a page only. ``both`` orders by ``|ln ψ|``, so that
    evidence against a page counts as well.
    """
    worth = np.abs(np.log(odds)) if both else odds
    order = np.lexsort((-support, -np.round(worth, 9)))
    return np.asarray(order[support[order] >= least], np.int32)


_DROP, _LEAST = 0.05, 10
"""Admission stops so far below the best score, and not before so many features."""


def admit_features(score: SelectionScore, total: int) -> int:
    """How many features to keep, scored after each one."""
    best, peak = -np.inf, 0
    for count in range(1, total + 1):
        now = score(count)
        if now > best:
            best, peak = now, count
        elif count > _LEAST and best - now > _DROP * abs(best):
            break
    return peak


def admit_features_fast(score: SelectionScore, total: int) -> int:
    """The same in steps of a quarter, then around the best at most a dozen counts."""
    known: dict[int, float] = {}
    count, best = 1, -np.inf
    while count <= total:
        known[count] = score(count)
        best = max(best, known[count])
        if count > _LEAST and best - known[count] > _DROP * abs(best):
            break
        count = max(count + 1, int(count * 1.25))
    if not known:
        return 0
    peak = max(known, key=lambda n: (known[n], -n))
    asked = sorted(known)
    place = asked.index(peak)
    low = asked[place - 1] if place else peak
    high = asked[place + 1] if place + 1 < len(asked) else min(total, int(peak * 1.25))
    for n in range(low, high + 1, max(1, (high - low) // 12)):
        known.setdefault(n, score(n))
    return max(known, key=lambda n: (known[n], -n))


def cross_validated_score(rows: FloatArray, target: FloatArray, fold: IntArray) -> SelectionScore:
    """Cross-validation of additive regression on the first so many columns."""
    measure = roc_auc if set(np.unique(target)) <= {0.0, 1.0} else pearson_r
    return lambda count: measure(target, boosted_out_of_fold(rows[:, :count], target, fold))


def roc_auc(target: FloatArray, predicted: FloatArray) -> float:
    """The probability that a good row is predicted higher than a bad one; ties count half."""
    good = target >= 0.5
    _, place, count = np.unique(np.round(predicted, 9), return_inverse=True, return_counts=True)
    ranks = (np.cumsum(count) - (count - 1) / 2)[place]
    goods, bads = int(good.sum()), int((~good).sum())
    if not goods or not bads:
        return 0.5
    return float((ranks[good].sum() - goods * (goods + 1) / 2) / (goods * bads))


def pearson_r(target: FloatArray, predicted: FloatArray) -> float:
    a, b = target - target.mean(), predicted - predicted.mean()
    size = float(np.sqrt((a**2).sum() * (b**2).sum()))
    return float((a * b).sum()) / size if size > 1e-12 else 0.0
