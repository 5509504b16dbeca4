"""Builds the native reader of links where there is a Rust tool chain (docs/html.md); all else is in pyproject.toml."""

import shutil

from setuptools import setup

try:
    from setuptools_rust import Binding, RustExtension, Strip
except ImportError:  # the crawl works without
    extensions = []
else:
    extensions = [
        RustExtension(
            "webcrawl._native",
            "webcrawl/native/Cargo.toml",
            binding=Binding.PyO3,
            strip=Strip.All,
            debug=False,
            optional=True,
            args=["--locked"],
            py_limited_api=True,
        )
    ]

if extensions and shutil.which("cargo") is None:
    print("no cargo here: webcrawl reads links by Python's way")  # noqa: T201 - what a build says
    extensions = []

setup(rust_extensions=extensions)
