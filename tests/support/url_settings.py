"""The defaults of settings.py, for tests of the URL room to change."""

from typing import Any

from webcrawl import settings


def url_settings(**changed: Any) -> dict[str, Any]:
    """All settings by name, with these changes."""
    return {name: value for name, value in vars(settings).items() if name.isupper()} | changed
