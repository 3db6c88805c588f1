"""`/api/docs`: the OpenAPI description, as a page that needs no script and nothing from elsewhere."""

from typing import Any

from fastapi import APIRouter, Request, Response

from app.web.auth.dependencies import PasserBy
from app.web.http.markdown import render_markdown
from app.web.http.site import SiteOfRequest

router = APIRouter(include_in_schema=False)


@router.head("/api/docs")
@router.get("/api/docs")
def get_reference(site: SiteOfRequest, request: Request, _account: PasserBy) -> Response:
    """Show every call of the API with what it takes and answers."""
    description = request.app.openapi()
    calls = [
        _call(method, path, operation)
        for path, operations in description["paths"].items()
        for method, operation in operations.items()
    ]
    return site.pages.page("docs/api.html", calls=calls)


def _call(method: str, path: str, operation: dict[str, Any]) -> dict[str, Any]:
    parameters = [
        {"name": one["name"], "where": one["in"], "description": one.get("description", "")}
        for one in operation.get("parameters", [])
    ]
    if "requestBody" in operation:
        body = {
            "name": "source",
            "where": "JSON body",
            "description": "The code or the answer, as text.",
        }
        parameters.append(body)
    return {
        "method": method.upper(),
        "path": path,
        "summary": operation["summary"],
        "description": render_markdown(operation.get("description", ""), anchors=False),
        "parameters": parameters,
        "answers": [
            {"status": status, "description": answer["description"]}
            for status, answer in operation["responses"].items()
        ],
    }
