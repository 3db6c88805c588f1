"""`/api/docs`: the OpenAPI description, as a page that needs no script and nothing from elsewhere."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request, Response

from app.web.auth.dependencies import OptionalAccount
from app.web.http.markdown import render_markdown
from app.web.http.site import SiteOfRequest

router = APIRouter(include_in_schema=False)
_METHODS = ("get", "post", "put", "patch", "delete")
_IS_NULL = {"type": "null"}
_FIRST_ERROR = "400"


@dataclass(frozen=True)
class Parameter:
    """One thing that a call takes."""

    name: str
    where: str
    description: str


@dataclass(frozen=True)
class DocumentedResponse:
    """One way in which a call answers."""

    status: str
    description: str
    members: list[Parameter]
    """What stands in the body, unless it is an error."""


@dataclass(frozen=True)
class Call:
    """One call of the API, as the page shows it."""

    method: str
    path: str
    summary: str
    description: str
    """HTML."""
    parameters: list[Parameter]
    answers: list[DocumentedResponse]


@router.head("/api/docs")
@router.get("/api/docs")
def get_reference(site: SiteOfRequest, request: Request, _account: OptionalAccount) -> Response:
    """Show every call of the API with what it takes and answers."""
    return site.pages.page("docs/api.html", calls=calls_of(request.app.openapi()))


def calls_of(description: Mapping[str, Any]) -> list[Call]:
    """Read every call out of an OpenAPI description."""
    schemas = description.get("components", {}).get("schemas", {})
    return [
        _call(method, path, operation, schemas)
        for path, operations in description["paths"].items()
        for method, operation in operations.items()
        if method in _METHODS
    ]


def _call(method: str, path: str, operation: Mapping[str, Any], schemas: Mapping[str, Any]) -> Call:
    parameters = [
        Parameter(one["name"], one["in"], one.get("description", "")) for one in operation.get("parameters", [])
    ]
    if body := operation.get("requestBody"):
        parameters += _members(body["content"]["application/json"]["schema"], schemas)
    return Call(
        method=method.upper(),
        path=path,
        summary=operation["summary"],
        description=render_markdown(operation.get("description", ""), anchors=False),
        parameters=parameters,
        answers=[
            DocumentedResponse(status, answer["description"], _answered(status, answer, schemas))
            for status, answer in operation["responses"].items()
        ],
    )


def _answered(status: str, answer: Mapping[str, Any], schemas: Mapping[str, Any]) -> list[Parameter]:
    body = answer.get("content", {}).get("application/json")
    return list(_members(body["schema"], schemas, is_sent=False)) if body and status < _FIRST_ERROR else []


def _members(
    schema: Mapping[str, Any], schemas: Mapping[str, Any], within: str = "", *, is_sent: bool = True
) -> Iterator[Parameter]:
    """Yield what a body has in it, down to the last object within an object or a list; `is_sent` to us, or by us."""
    whole = _resolved(schema, schemas)
    if "items" in whole:
        yield from _members(whole["items"], schemas, f"{within.removesuffix('.')}[].", is_sent=is_sent)
    required = whole.get("required", [])
    for name, member in whole.get("properties", {}).items():
        inner = _resolved(member, schemas)
        said = member.get("description") or inner.get("description", "")
        optional = "" if name in required or not is_sent else "May be left out."
        description = " ".join(part for part in (_kind(inner), said.rstrip(), optional) if part)
        yield Parameter(f"{within}{name}", "JSON body", description)
        yield from _members(inner, schemas, f"{within}{name}.", is_sent=is_sent)


def _resolved(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema itself, where one only points to it, or says that it may be null instead."""
    options = [one for one in schema.get("anyOf", []) if one != _IS_NULL]
    if len(options) == 1:
        return {**_resolved(options[0], schemas), **({"nullable": True} if _IS_NULL in schema["anyOf"] else {})}
    reference = schema.get("$ref")
    return _resolved(schemas[reference.rpartition("/")[2]], schemas) if reference else schema


def _kind(schema: Mapping[str, Any]) -> str:
    """Say of which kind a value is, such as `Text, or null.`"""
    if choices := schema.get("enum"):
        kind = "One of " + ", ".join(f"“{one}”" for one in choices)
    elif "const" in schema:
        kind = f"“{schema['const']}”"
    elif schema.get("format") == "date-time":
        kind = "A moment with its zone"
    else:
        kind = _KINDS.get(schema.get("type", ""), "")
    return kind and f"{kind}{', or null' if schema.get('nullable') else ''}."


_KINDS = {
    "string": "Text",
    "integer": "A whole number",
    "number": "A number",
    "boolean": "true or false",
    "array": "A list",
    "object": "An object",
}
