"""Describes the faults of a spec in one line, with the fields as people write them."""

from __future__ import annotations

from typing import Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from berthmaster.forms import fault_in_words

MOST: Final = 5
"""Faults in the line."""
LONGEST: Final = 900
"""Characters: the name of an unknown field may have any length."""


def spec_problem(error: ValidationError) -> str:
    """Describe up to five faults, for example `spec.startPort: Input should be greater than or equal to 1`."""
    faults = error.errors(include_url=False, include_input=False)
    lines = [f"{_path(fault)}: {fault_in_words(fault)}" for fault in faults[:MOST]]
    more = f" (and {len(faults) - MOST} more)" if len(faults) > MOST else ""
    return "; ".join(lines)[:LONGEST] + more


def _path(fault: ErrorDetails) -> str:
    return ".".join(["spec", *(str(part) for part in fault["loc"])])
