"""Turkish text as it is found on the web, made into words that can be counted."""

from honeyguide.text.turkish.normaliser import Normaliser, NormaliserChange, explain_changes

__all__ = ["Normaliser", "NormaliserChange", "explain_changes"]
