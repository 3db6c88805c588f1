"""What all parts of an author's files are made of."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Slug = Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$", max_length=80)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=60)]
Text = Annotated[str, Field(min_length=1, max_length=60_000)]
Code = Annotated[str, Field(min_length=1, max_length=60_000)]
Line = Annotated[str, Field(min_length=1, max_length=300)]
Expression = Annotated[str, Field(min_length=1, max_length=2000)]


class Part(BaseModel):
    """Strict: nothing unknown, nothing converted, nothing changed afterwards."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
