"""The application's OpenAPI description, where there is more to say of the answers than FastAPI knows."""

from typing import Any

from fastapi import FastAPI

from app.web.http.schemas import ProblemOut, problems

_FIRST_ERROR = 400
_ALL_WELL = "Successful Response"
_STREAM, _NOTHING = "A stream of events.", "Done; there is nothing more to say."
_PROBLEM = "application/problem+json"
_NOT_OURS = ("HTTPValidationError", "ValidationError")
"""What FastAPI would describe a request with that is not right; ours is a problem document as all others are."""


class DescribedApp(FastAPI):
    """An application whose errors are problem documents (RFC 9457), and are described as such."""

    def openapi(self) -> dict[str, Any]:
        """Return the description, which is made once."""
        if self.openapi_schema is None:
            description = super().openapi()
            schemas = description["components"]["schemas"]
            for operations in description["paths"].values():
                for operation in operations.values():
                    operation["responses"] = {
                        status: _error(int(status), answer) if int(status) >= _FIRST_ERROR else _good(answer, schemas)
                        for status, answer in operation["responses"].items()
                    }
            for name in _NOT_OURS:
                schemas.pop(name, None)
            schemas.setdefault(ProblemOut.__name__, ProblemOut.model_json_schema())
        return self.openapi_schema or {}


def _good(answer: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    """Say what comes where FastAPI says no more than that all went well."""
    if answer["description"] != _ALL_WELL:
        return answer
    content: dict[str, Any] = answer.get("content", {})
    schema = content.get("application/json", {}).get("schema", {})
    each = schema.get("items", schema).get("$ref", "").rpartition("/")[2]
    said = schemas[each]["description"] if each else _STREAM if content else _NOTHING
    return {**answer, "description": f"A list, of each: {said}" if "items" in schema else said}


def _error(status: int, answer: dict[str, Any]) -> dict[str, Any]:
    # FastAPI takes for its kind whatever the call answers with when it goes well, which may be a stream or a table
    (described,) = answer["content"].values()
    schema = described["schema"]
    if schema.get("$ref", "").endswith(_NOT_OURS):
        schema = {"$ref": f"#/components/schemas/{ProblemOut.__name__}"}
        answer = {**answer, "description": problems(status)[status]["description"]}
    return {**answer, "content": {_PROBLEM: {"schema": schema}}}
