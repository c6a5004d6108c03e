"""Which changes are told to whom, when, in which words, and through what."""
