"""What goes over the HTTP API about the tutor."""

from pydantic import BaseModel, Field


class SourceOut(BaseModel):
    """A section of a lesson."""

    title: str
    address: str = Field(description="A path on this site.")
