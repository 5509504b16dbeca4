"""Commands to a running crawl over a socket in its JOBDIR (docs/control.md).

Public: `commands` (the table), `command` (a row, and its errors), `client` (with the language of
the socket), `server`, `in_force`, `sheets`, `exclusions`.
"""
