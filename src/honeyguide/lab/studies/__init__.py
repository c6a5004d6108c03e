"""The experiments of the five founding papers, on any web: one file a paper."""
