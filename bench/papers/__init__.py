"""The experiments of the founding papers, done again on other webs: one file a paper."""
