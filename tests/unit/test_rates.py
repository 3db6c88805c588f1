"""From where something is tried."""

import pytest
from starlette.requests import Request

from app.web.limits.rate_limits import client_address


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("fe80::1%eth0", "fe80::/64"),
        ("testclient", "testclient"),
    ],
)
def test_client_address_of_ipv6_is_its_network(host: str, address: str) -> None:
    """Whoever has one IPv6 address has as many as they like, so the network is what counts."""
    assert client_address(Request({"type": "http", "client": (host, 1), "headers": []})) == address
