from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from honeyguide.types import Url
from honeyguide.url import (
    authority_of,
    canonical_url,
    domain_of,
    host_of,
    path_of,
    site_origin,
    without_tracking,
)

BASES = st.sampled_from(
    [None, Url("http://e.org/"), Url("https://a.b.co.uk:8443/x/y.html?q=1"), Url("http://[::1]/a/")]
)
HREFS = st.one_of(
    st.text(max_size=60),
    st.from_regex(
        r"(https?:)?(//)?[a-z0-9.\-]{0,12}(:\d{0,5})?[/?#a-z.%0-9=&]{0,30}", fullmatch=True
    ),
)


@given(HREFS, BASES)
def test_canonical_is_idempotent_and_http(text: str, base: Url | None) -> None:
    url = canonical_url(text, base)
    if url is None:
        return
    assert canonical_url(url) == url
    assert "#" not in url
    assert url.startswith(("http://", "https://"))
    if "@" not in url and not authority_of(url).partition(":")[0].endswith("."):
        assert site_origin(url) + path_of(url) == url
    assert host_of(url)
    assert domain_of(host_of(url))


@given(HREFS, BASES)
def test_untracked_keeps_it_canonical(text: str, base: Url | None) -> None:
    url = canonical_url(text, base)
    if url is not None:
        assert canonical_url(without_tracking(url)) == without_tracking(url)
        assert host_of(without_tracking(url)) == host_of(url)
