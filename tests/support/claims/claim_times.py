"""Times of the reconcilers of claims, as the settings have them by default."""

from __future__ import annotations

from datetime import timedelta

from workers.settings import ClaimsSettings

CALL_TIME = timedelta(seconds=15)
CLAIM_TIMES: dict[str, timedelta] = {**ClaimsSettings().model_dump(), "call_time": CALL_TIME}
