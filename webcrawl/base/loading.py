"""Loads classes by the dotted paths in settings, and names the command that installs a library.

No such command names this project: on a package index another project may own its name.
"""

from __future__ import annotations

from importlib import import_module
from itertools import chain
from typing import Any


def load(path: str) -> Any:
    """Return the class or function at a dotted path.

    Raise ValueError if it cannot be imported; the message names the path and the reason.
    """
    module, _, name = path.rpartition(".")
    if not module:
        raise ValueError(f"{path}: a dotted path must include the module, as in my_module.{path}")
    try:
        return getattr(import_module(module), name)
    except Exception as error:  # a foreign module may raise anything while it is imported
        raise ValueError(f"{path}: {error}") from error


OURS = "webcrawl."  # begins the dotted paths of this package


def path_of(component: Any) -> str:
    """Return the dotted path of a class or function, or the text itself if it is given by its path."""
    if isinstance(component, str):
        return component
    return f"{component.__module__}.{component.__qualname__}"


BOUNDS = {  # as in the extras of pyproject.toml, and of h2 in requirements.txt
    "aiohttp": ("aiohttp>=3.11,<4",),
    "fsspec": ("fsspec>=2025.3", "s3fs>=2025.3"),
    "h2": ("h2>=4.3,<5",),
    "mcp": ("mcp>=2.3,<3",),
    "numba": ("numba>=0.61,<1",),
    "opentelemetry": (
        "opentelemetry-sdk>=1.30,<2",
        "opentelemetry-exporter-otlp-proto-http>=1.30,<2",
    ),
    "prometheus_client": ("prometheus_client>=0.22,<1",),
    "pyarrow": ("pyarrow>=20",),
    "pypdfium2": ("pypdfium2>=5,<6",),
    "python_socks": ("python-socks>=2.5,<3",),
    "resiliparse": ("resiliparse>=0.15,<3",),
    "shtab": ("shtab>=1.13,<2",),
    "scrapy_playwright": ("scrapy-playwright>=0.0.48,<0.1",),
    "tantivy": ("tantivy>=0.27,<0.28",),
    "tokenizers": ("tokenizers>=0.21,<1",),
    "trafilatura": ("trafilatura>=2.0,<3", "lxml_html_clean>=0.4"),
}


def install(*libraries: str) -> str:
    """Return the command that installs these libraries, within the bounds of the tested versions."""
    wanted = chain.from_iterable(BOUNDS.get(library, (library,)) for library in libraries)
    # In quotes: a shell takes `<` and `>` for redirections
    return f"pip install {' '.join(map(repr, wanted))}"


def missing(*libraries: str) -> str:
    """Return the line that says which libraries are missing and how to install them."""
    verb = "is" if len(libraries) == 1 else "are"
    return f"{' and '.join(libraries)} {verb} not installed: {install(*libraries)}"


class MissingLibraryError(ImportError):
    """A library is not installed; the message says which, and how to get it."""

    def __init__(self, library: str, error: ImportError | None = None) -> None:
        """`error` is what the import raised.

        If an installed library itself lacks a module, the message names that module.
        """
        name = library
        if error is not None and error.name:
            name = error.name.partition(".")[0]
        super().__init__(missing(name), name=name)
