"""The HTTP API of the visitor's own account."""

from fastapi import APIRouter, Response

from app.web.shapes import Me, json_answer, problems
from app.web.visitors import CurrentAccount

router = APIRouter(prefix="/api/v1", tags=["account"])


@router.get("/me", response_model=Me, responses=problems(401), summary="Who am I?")
def get_me(account: CurrentAccount) -> Response:
    """Say which account a token or a cookie belongs to."""
    return json_answer({"id": account.id, "email": account.email, "role": account.role.value})
