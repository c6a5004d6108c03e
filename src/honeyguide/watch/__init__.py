"""Revisits found pages: detects changes, learns how often pages change, and notifies people.

from honeyguide.watch import compare_bodies
change = compare_bodies(old, new)
print(change.kinds if change else "nothing changed")
"""

from honeyguide.watch.compare.page_change import compare_bodies, compare_snapshots
from honeyguide.watch.schedule.change_rate import estimate_rate, update_belief
from honeyguide.watch.schedule.schedule import Schedule

__all__ = ["Schedule", "compare_bodies", "compare_snapshots", "estimate_rate", "update_belief"]
