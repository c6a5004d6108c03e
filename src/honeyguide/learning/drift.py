"""The drift alarm: verdicts and people's labels part."""

from __future__ import annotations

from collections import deque

_WINDOW = 20
_FEWEST = 8
_SHARE = 0.4


class Drift:
    """Watches the newest labels of judged pages."""

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._agreed: deque[bool] = deque(maxlen=_WINDOW)

    def heard(self, verdict: float, label: float) -> None:
        self._agreed.append((verdict >= self._threshold) == (label >= 0.5))

    def forget(self) -> None:
        """A new generation judges from now on."""
        self._agreed.clear()

    @property
    def alarm(self) -> str:
        """What to tell people; '' while verdicts and labels agree well enough."""
        parted = len(self._agreed) - sum(self._agreed)
        if len(self._agreed) < _FEWEST or parted <= _SHARE * len(self._agreed):
            return ""
        return (
            f"your labels and the verdicts part: {parted} of the last {len(self._agreed)} differ. "
            "Give more labels, or go back to an earlier generation with: honeyguide generations"
        )
