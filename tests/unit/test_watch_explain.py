"""What the schedule says of a page: a measured interval, or that nobody measured one."""

from __future__ import annotations

from honeyguide.watch.schedule.change_rate import DAY, START_BELIEF, estimate_rate, update_belief
from honeyguide.watch.schedule.schedule import VisitCircumstances, describe_frequency, visit_reason


def after(looks: int, gap: float, changed: float) -> bytes:
    belief = START_BELIEF
    for number in range(looks):
        belief = update_belief(
            belief, START_BELIEF, last=number * gap, now=(number + 1) * gap, changed=changed
        )
    return belief


def test_the_model_s_ceiling_is_no_measurement() -> None:
    quick = describe_frequency(estimate_rate(after(30, 120.0, 1.0)))
    assert quick == "at least every 39 minutes, and how much more often is not known"
    slow = describe_frequency(estimate_rate(after(30, 30 * DAY, 0.0)))
    assert slow.startswith("no more often than every ")


def test_what_was_measured_has_a_band() -> None:
    belief = START_BELIEF
    for day in range(30):
        belief = update_belief(
            belief, START_BELIEF, last=day * DAY, now=(day + 1) * DAY, changed=float(day % 2)
        )
    assert describe_frequency(estimate_rate(belief)) == "about every 35 hours (19 hours to 3 days)"


def test_when_it_is_due_reads_as_a_sentence() -> None:
    now, measured = 100_000.0, estimate_rate(START_BELIEF)
    case = VisitCircumstances(now, shortest_s=60.0, longest_s=30 * DAY)
    late = visit_reason(measured, 1.0, now - 540, now - 420, case)
    assert "it was visited 9 minutes ago and has been due for 7 minutes: " in late
    soon = visit_reason(measured, 1.0, now - 540, now + 300, case)
    assert "it was visited 9 minutes ago and is due in 5 minutes: " in soon
