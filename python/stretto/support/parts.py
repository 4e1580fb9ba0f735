# SPDX-License-Identifier: Apache-2.0
"""Objects in files, checked by Pydantic. Unexpected content is an error of one line that names the place."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import AllowInfNan, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from stretto.support.errors import StrettoError
from stretto.support.units import parse_bytes


class Part(BaseModel):
    """An object in a file. Unknown keys are ignored, since a newer version may write more."""

    model_config = ConfigDict(frozen=True, strict=True)


def _bytes(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return parse_bytes(value)
    except StrettoError as error:
        raise ValueError(str(error)) from None


Bytes = Annotated[int, BeforeValidator(_bytes), Field(ge=0)]
"""A number of bytes: an integer, or a text such as `64KiB`."""
Number = Annotated[float, AllowInfNan(allow_inf_nan=False)]
Seconds = Annotated[Number, Field(gt=0)]
Rate = Annotated[Number, Field(gt=0)]
"""Bytes per second."""

Model = TypeVar("Model", bound=BaseModel)


def validate(model: type[Model], content: object, file: Path) -> Model:
    """The object of the file as a `model`."""
    try:
        return model.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = "/".join(str(step) for step in first["loc"]) or "the file"
        raise StrettoError(f"{file}: {where}: {' '.join(first['msg'].split())}") from None
