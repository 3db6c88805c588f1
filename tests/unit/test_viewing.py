"""Where one goes on to, and what a browser is called."""

import pytest

from app.web.accounts.browser_names import browser_name
from app.web.http.form_pages import local


@pytest.mark.parametrize("path", ["/", "/account", "/exercises/a?b=c#d"])
def test_one_goes_on_within_the_site(path: str) -> None:
    """Wherever one came from."""
    assert local(path) == path


@pytest.mark.parametrize(
    "path",
    [
     "", "https://evil.example", "//evil.example", "/\\evil.example", "\\\\evil", "/\t/evil.example", "/a\r\nB: c",
     "javascript:alert(1)", "evil", " /", "/ /evil"],
)  # fmt: skip
def test_one_does_not_go_on_to_another_site(path: str) -> None:
    """Nor to anything that a browser would take for one."""
    assert local(path) == "/"


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on Linux"),
        (
            "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML) Chrome/140 Safari/537.36 Edg/140",
            "Edge on Windows",
        ),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile Safari/604.1",
            "Safari on an iPhone",
        ),
        ("curl/8.5.0", "curl/8.5.0"),
        ("", "A browser that does not say what it is"),
        ("<b>\x1b[31m" + "x" * 500, "<b> [31m" + "x" * 52),
    ],
)
def test_browser_is_called_as_its_owner_would(agent: str, name: str) -> None:
    """Or at least by what it says of itself, cut short."""
    assert browser_name(agent) == name
