"""
Where a payment provider would be connected.

Nothing in Kelolo takes money: plans come from administrators and from codes. There is no provider behind this port, and
none that only pretends. Whoever adds one writes a module beside this one, lets a setting choose it, and a route that
receives its messages calls `app.services.plans.plans.give_plan` with the provider's name as the origin.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True)
class Paid:
    """What a provider says has been paid for, or is no longer."""

    reference: str
    """The provider's own id of this message: the same message may arrive twice, and counts once."""
    account_id: str
    """The account that the checkout was begun for."""
    plan: str
    ends_at: datetime | None
    """Until when it is paid. A moment that is past takes the plan away."""


class PaymentProvider(Protocol):
    """
    What a provider must do.

    It never holds card data in Kelolo: people pay on the provider's own pages, and only `read` decides what was paid,
    never the address to which a browser comes back.
    """

    name: str
    """Becomes the origin of the plans that it gives, so neither `admin` nor `code`."""

    def checkout(self, *, account_id: str, email: str, plan: str, back_to: str) -> str:
        """
        Begin a payment, and return the address of the provider's page for it.

        The provider keeps `account_id` and `plan`, and sends them back in its messages.
        """

    def read(self, body: bytes, headers: Mapping[str, str]) -> Paid | None:
        """
        Return what a message of the provider says; None for one of a kind that changes nothing.

        Must check the signature over the bytes as they came, and the age of the message, before anything else.

        Raises:
            BadRequest: the message is not the provider's, or too old.
        """
