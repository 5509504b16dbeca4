"""The settings that the URL room reads, as settings.py has them, for tests to vary."""

from typing import Any

from webcrawl import settings


def url_settings(**changed: Any) -> dict[str, Any]:
    """All settings by name, some of them changed."""
    return {name: value for name, value in vars(settings).items() if name.isupper()} | changed
