"""What a browser is called on the page where its owner looks for it."""

import re

# In this order: each names those before it as well.
_BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser", "Samsung Internet"),
    ("Firefox", "Firefox"),
    ("FxiOS", "Firefox"),
    ("CriOS", "Chrome"),
    ("Chrome", "Chrome"),
    ("Safari", "Safari"),
)
_SYSTEMS = (
    ("Android", "Android"),
    ("iPhone", "an iPhone"),
    ("iPad", "an iPad"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Mac OS X", "a Mac"),
    ("Linux", "Linux"),
)
_SHOWN = 60  # characters


def browser_name(agent: str) -> str:
    """Return how a person would call the browser that says this of itself: “Firefox on Linux”."""
    browser = next((name for mark, name in _BROWSERS if mark in agent), None)
    system = next((name for mark, name in _SYSTEMS if mark in agent), None)
    if browser:
        return f"{browser} on {system}" if system else browser
    plain = re.sub(r"[^\x20-\x7e]+", " ", agent).strip()
    return plain[:_SHOWN] or "A browser that does not say what it is"
