"""Changes rows of a crawl.db behind the crawl's back; `sealed` rows get matching checksums."""

import sqlite3
from contextlib import closing

from webcrawl.store import rowcrc

FORMULAS = {
    "meta": (rowcrc.meta, "name, value"),
    "host": (rowcrc.host, "name, state, data"),
    "domain": (rowcrc.domain, "name, rank, waiting, data"),
    "robots": (rowcrc.robots, "origin, until, rules"),
    "waiting": (rowcrc.waiting, "seq, keys"),
    "portion": (rowcrc.portion, "turn, site, count, data"),
    "output": (rowcrc.output, "path, length, bytes_crc"),
}


def tampered(path, *statements, sealed=True):
    with closing(sqlite3.connect(path)) as db:
        for sql in statements:
            db.execute(sql)
        for table, (formula, columns) in FORMULAS.items() if sealed else ():
            db.create_function(f"{table}_crc", -1, formula)
            db.execute(f"UPDATE {table} SET crc = {table}_crc({columns})")
        db.commit()
