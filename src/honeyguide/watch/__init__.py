"""Come back to what was found: what changed, how often, and who wants to know.

from honeyguide.watch import compare_bodies
change = compare_bodies(old, new)
print(change.kinds if change else "nothing changed")
"""

from honeyguide.watch.compare.detect import compare, compare_bodies
from honeyguide.watch.when.rates import learn, rate
from honeyguide.watch.when.schedule import Schedule

__all__ = ["Schedule", "compare", "compare_bodies", "learn", "rate"]
