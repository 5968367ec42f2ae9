"""One line for people from what is wrong with a spec: the fields by their outside names."""

from __future__ import annotations

from pydantic import ValidationError


def spec_problem(error: ValidationError) -> str:
    """For example `spec.startPort: Input should be greater than or equal to 1`. At most five faults, then their number."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [f"{'.'.join(['spec', *(str(part) for part in fault['loc'])])}: {fault['msg']}" for fault in faults[:5]]
    more = f" (and {len(faults) - 5} more)" if len(faults) > 5 else ""
    return "; ".join(lines) + more
