"""Python and Lua know the same letters for the same words of stored records."""

from __future__ import annotations

import re

import pytest

from berthmaster.jobs.records import JOB_FIELDS, POD_FIELDS, SLOT_FIELDS, RecordField
from berthmaster.jobs.scripts import LUA

CODEC = "".join((LUA / f"lib/{name}.lua").read_text() for name in ("job_codec", "pod_codec", "save_pod"))


@pytest.mark.parametrize("kind, fields", [("job", JOB_FIELDS), ("pod", POD_FIELDS), ("slot", SLOT_FIELDS)])
def test_both_codecs_have_the_same_letters(kind: str, fields: tuple[RecordField, ...]) -> None:
    words = {field.name: field.short for field in fields if field.name != "slots"}  # decoded one by one
    body = CODEC[CODEC.index(f"local function decode_{kind}") :]
    decoded = dict(re.findall(r"(\w+) = stored\.(\w)\b", body[: body.index("\nend\n")]))
    assert decoded == words
    encoded = {word: letter for letter, word in re.findall(rf"\b(\w) = {kind}\.(\w+)", CODEC)}
    assert encoded == words
