"""What stands between a URL's scheme and its path, as a part of a regular expression."""

from __future__ import annotations

# Printable ASCII only, whoever wrote the URL. Userinfo is never sent: the crawl is anonymous.
_USERINFO = r"[!\"$-.0->@-\[\]-~]*@"
_HOST = r"\[[0-9A-Fa-f:.]+\]|[!\"$-.0-9;->A-Z^-~]+"

AUTHORITY = rf"(?:{_USERINFO})?({_HOST})(?::([0-9]{{0,5}}))?"
"""Its two groups are the host and the port."""
