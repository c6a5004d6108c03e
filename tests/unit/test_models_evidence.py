"""What the numbers of a link's evidence are called."""

from __future__ import annotations

from honeyguide.models.link_features import PRIOR, SAID, said


def test_a_bad_surprise_is_called_one() -> None:
    assert said(PRIOR) == SAID
    worse = said(PRIOR._replace(surprise=-0.3))
    assert len(worse) == len(SAID) == len(PRIOR)
    differing = [(one, other) for one, other in zip(SAID, worse, strict=True) if one != other]
    assert differing == [
        ("links like it brought more than expected", "links like it brought less than expected")
    ]
