"""Records of pods are decoded once for each version."""

from __future__ import annotations

import orjson

from berthmaster.jobs.records import POD_FIELDS
from workers.stores.slots.pod_records import DecodedRecords


def record(reported_at: int) -> bytes:
    fields = {"name": "a", "view": "open", "token": "", "layout": ["any"], "slots": [None], "reported_at": reported_at}
    return orjson.dumps({field.short: fields[field.name] for field in POD_FIELDS if field.name in fields})


def test_of_each_pod_the_latest_record_alone_is_kept() -> None:
    """A heartbeat changes the record: whatever kept all of them would grow with each."""
    records, uid = DecodedRecords(), b"0a1b"
    for beat in range(100):
        assert records.of(uid, record(beat))[1] == beat
    assert records.of(uid, record(99)) is records.of(uid, record(99))
    assert len(records) == 1
