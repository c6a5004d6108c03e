"""Watch lists of urlwatch and webchanges: their YAML job files."""

from __future__ import annotations

from honeyguide.watch.lists.imported import Basket
from honeyguide.watch.lists.job_yaml import Job, Mark, Value, jobs
from honeyguide.watch.telling.escaping import clean

_SILENT = frozenset({
    "url", "navigate", "name", "tags", "enabled", "kind", "note", "user_visible_url",
    "index_number", "guid",
    # How errors and caches are handled: we have our own ways.
    "max_tries", "timeout", "ignore_cached", "ignore_connection_errors", "ignore_timeout_errors",
    "ignore_too_many_redirects", "ignore_incomplete_reads", "ignore_http_error_codes",
    "ignore_dh_key_too_small", "no_conditional_request", "suppress_errors",
    "suppress_error_ended", "suppress_repeated_errors", "treat_new_as_changed", "same_site_delay",
    "http_client", "retries", "no_redirects",
    # How a difference is drawn.
    "contextlines", "is_markdown", "monospace", "markdown_padded_tables", "compared_versions",
})  # fmt: skip
_WHYS = {
    "filter": "the whole page is compared; what changes at every visit is masked by itself",
    "diff_filter": "say in a rule's words and kinds which changes to tell",
    "differ": "changes are shown in words",
    "additions_only": "additions and removals are both told",
    "deletions_only": "additions and removals are both told",
    "use_browser": "pages are read without a browser; what scripts write is not seen",
    "cookies": "pages behind a login are not watched",
    "headers": "all pages are asked for with the same headers",
    "proxy": "set fetch.proxy for the whole collection",
    "ssl_no_verify": "certificates are always checked",
    "encoding": "the encoding is found out",
}
_ALSO = {
    "filters": "filter", "diff_filters": "diff_filter", "diff_tool": "differ",
    "http_proxy": "proxy", "https_proxy": "proxy",
}  # fmt: skip
_BROWSER = frozenset({
    "wait_until", "wait_for", "wait_for_selector", "wait_for_timeout", "wait_for_url", "browser",
    "useragent", "init_script", "evaluate", "block_elements", "navigate_timeout",
})  # fmt: skip
_NO = frozenset({"false", "no", "off", "n"})
_NOTHING = frozenset({"", "~", "null"}) | _NO


def read_jobs(text: str) -> Basket:
    """The pages of a job file."""
    basket = Basket()
    for number, job in enumerate(jobs(text), 1):
        _take(basket, job, f"job {number} (line {job.line})")
    return basket


def _take(basket: Basket, job: Job, where: str) -> None:
    keys = job.keys
    address = keys.get("url") or keys.get("navigate") or ""
    if "command" in keys and not address:
        basket.leave(where, _said(keys.get("name", "")) or "command", "commands are never run")
        return
    if not isinstance(address, str):
        why = "it is an alias; write it out" if address is Mark.ALIAS else "it is no single text"
        basket.leave(where, "url", why)
        return
    if not address:
        basket.leave(where, _said(keys.get("name", "")) or "job", "it has no url")
        return
    method = _said(keys.get("method", "GET")).upper() or "GET"
    if method != "GET" or keys.get("data") or keys.get("params"):
        why = "it sends a form; only pages that have an address of their own are watched"
        basket.leave(where, clean(address), why)
        return
    paused = _said(keys.get("enabled", "")).lower() in _NO
    marks = keys.get("tags", ())
    tags = (marks,) if isinstance(marks, str) else marks if isinstance(marks, tuple) else ()
    if not basket.add(where, address, _said(keys.get("name", "")), tags=tags, paused=paused):
        return
    for key, value in keys.items():
        _account(basket, where, key, value)


def _account(basket: Basket, where: str, key: str, value: Value) -> None:
    """Say of a key what becomes of it, unless nothing is lost."""
    if key == "tags" and value is Mark.NESTED:
        basket.leave(where, key, "tags are a list of words")
    elif key == "<<":
        basket.leave(where, key, "what is merged from another job is not read; write it out")
    elif key == "navigate" or key in _BROWSER:
        basket.leave(where, clean(key, 40), _WHYS["use_browser"])
    elif key not in _SILENT and _said(value).lower() not in _NOTHING:
        why = _WHYS.get(_ALSO.get(key, key), "there is nothing like it here")
        basket.leave(where, clean(key, 40), why)


def _said(value: Value) -> str:
    """The text of a value; something for what is nested, which is not nothing."""
    if isinstance(value, str):
        return value
    return ", ".join(value) if isinstance(value, tuple) else value.value
