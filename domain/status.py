"""Parts that the statuses of all our resources share."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel


class Shape(BaseModel):
    """Base of statuses: camel case in Kubernetes, snake case here."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)


LONGEST: Final = 1024
Words = Annotated[str, BeforeValidator(lambda text: str(text)[:LONGEST])]
"""A text for people, cut to the length that a status allows."""


class Condition(Shape):
    """A statement about the object, for programs and people."""

    type: Annotated[str, Field(description="what it is about")]
    status: Annotated[str, Field(description="True or False")]
    reason: Annotated[str, Field(description="why, in a word for programs")]
    message: Annotated[Words, Field(description="why, in words for people")]


def write_refused(problem: str) -> Condition:
    """The condition that stands while Kubernetes refuses a write that the object needs."""
    return Condition(type="WritesAccepted", status="False", reason="WriteRefused", message=problem)
