"""What the statuses of our resources have in common."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel


class Shape(BaseModel):
    """Camel case outside."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)


LONGEST: Final = 1024
Words = Annotated[str, BeforeValidator(lambda text: str(text)[:LONGEST])]
"""For people. What is wrong may be as long as what somebody wrote; a status may not."""


class Condition(Shape):
    type: Annotated[str, Field(description="what it is about")]
    status: Annotated[str, Field(description="True or False")]
    reason: Annotated[str, Field(description="why, in a word for programs")]
    message: Annotated[Words, Field(description="why, in words for people")]


def write_refused(problem: str) -> Condition:
    """Kubernetes refuses a write that the object needs. The condition is there only while that is so."""
    return Condition(type="WritesAccepted", status="False", reason="WriteRefused", message=problem)
