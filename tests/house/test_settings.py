"""
The table of settings in docs/operations.md is the one in the code.

    .venv/bin/python tests/house/test_settings.py

writes it anew after a change of `app/settings.py`.
"""

import os
import re
import sys
from pathlib import Path

import pytest
from pydantic import SecretStr
from pydantic.fields import FieldInfo

from app.settings import ROOT, Settings

PAGE = ROOT / "docs" / "operations.md"
TABLE = re.compile(r"(<!-- settings: [^\n]* -->\n).*?(<!-- /settings -->)", flags=re.DOTALL)


def table() -> str:
    """Return the table, a line a setting."""
    rows = [f"| `KELOLO_{name.upper()}` | {default(field)} | {described(field)} |" for name, field in fields()]
    return "\n".join(["| variable | unless given | what it is |", "|---|---|---|", *rows, ""])


def fields() -> list[tuple[str, FieldInfo]]:
    """Return the settings in the order of the code."""
    return list(Settings.model_fields.items())


def default(field: FieldInfo) -> str:
    """Return what holds unless something is given; nothing where that depends on the machine or is empty."""
    if field.default_factory is not None:
        return ""
    value = field.default.get_secret_value() if isinstance(field.default, SecretStr) else field.default
    if isinstance(value, Path) and value.is_relative_to(ROOT):
        value = value.relative_to(ROOT)
    return "" if value in {None, ""} else f"`{str(value).lower() if isinstance(value, bool) else value}`"


def described(field: FieldInfo) -> str:
    """Return the setting's own words, as they can stand in a table."""
    return (field.description or "").replace("|", "\\|")


def test_page_of_operations_lists_every_setting_as_it_is() -> None:
    """After a change, run this file."""
    found = TABLE.search(PAGE.read_text(encoding="utf-8"))
    assert found is not None
    assert found[0] == f"{found[1]}{table()}{found[2]}"


def test_setting_can_be_a_file_in_a_container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret that is a file is in no environment; what is in the environment goes before it."""
    for name in [name for name in os.environ if name.startswith("KELOLO_")]:
        monkeypatch.delenv(name)
    (tmp_path / "kelolo_smtp_url").write_text("smtp://mail.example.org\n")
    (tmp_path / "kelolo_port").write_text("9000")
    monkeypatch.setenv("KELOLO_PORT", "9001")
    settings = Settings(_secrets_dir=tmp_path)
    assert settings.smtp_url.get_secret_value() == "smtp://mail.example.org"
    assert settings.port == 9001


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(TABLE.sub(lambda found: f"{found[1]}{table()}{found[2]}", text), encoding="utf-8")
    sys.exit(0)
