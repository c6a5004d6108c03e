"""What the numbers of a link's evidence are called."""

from __future__ import annotations

from honeyguide.models.link_model import FEATURE_NAMES, FEATURE_PRIOR, feature_names


def test_a_bad_surprise_is_called_one() -> None:
    assert feature_names(FEATURE_PRIOR) == FEATURE_NAMES
    worse = feature_names(FEATURE_PRIOR._replace(surprise=-0.3))
    assert len(worse) == len(FEATURE_NAMES) == len(FEATURE_PRIOR)
    differing = [
        (one, other) for one, other in zip(FEATURE_NAMES, worse, strict=True) if one != other
    ]
    assert differing == [
        ("links like it did better than expected", "links like it did worse than expected")
    ]
