"""The command line. Loading is most of what a short command does: nothing is garbage yet."""

import gc

gc.set_threshold(100_000, 20, 20)
