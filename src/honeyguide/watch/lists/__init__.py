"""Watch lists of other programs."""
