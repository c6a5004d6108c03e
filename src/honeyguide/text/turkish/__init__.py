"""Turkish text as it is found on the web, made into words that can be counted."""

from honeyguide.text.turkish.normaliser import Change, Normaliser, explain

__all__ = ["Change", "Normaliser", "explain"]
