"""The calls that a system may refuse, and the errors with which it does."""

import errno
import os
import sqlite3
from dataclasses import dataclass

DESCRIPTORS = ("EMFILE", "ENFILE")
SYMPTOMS = {  # what SQLite says, as Python passes it on
    "SQLITE_IOERR": (sqlite3.SQLITE_IOERR, "disk I/O error"),
    "SQLITE_FULL": (sqlite3.SQLITE_FULL, "database or disk is full"),
    "SQLITE_CANTOPEN": (sqlite3.SQLITE_CANTOPEN, "unable to open database file"),
}


@dataclass(frozen=True)
class Call:
    """A function, as `module:attribute`, and the errors that it may end with, by name."""

    family: str
    place: str
    errors: tuple[str, ...]

    @property
    def name(self):
        return self.place.rpartition(":")[2]


CALLS = (
    # Each error of a socket is our own lack: of descriptors, buffers, memory, or ports.
    Call(
        "sockets",
        "uvloop:Loop.create_connection",
        (*DESCRIPTORS, "ENOBUFS", "ENOMEM", "EADDRNOTAVAIL"),
    ),
    Call("names", "pycares:Channel.__init__", ("ARES_ENOMEM",)),
    Call("names", "pycares:Channel.query", ("no descriptor",)),
    Call("files", "os:open", (*DESCRIPTORS, "EIO", "ENOSPC", "EACCES", "ENOMEM")),
    Call("files", "io:open", (*DESCRIPTORS, "EIO", "EACCES")),
    Call("files", "os:stat", ("EIO", "EACCES", "ENOMEM")),
    Call("files", "os:fstat", ("EIO", "ENOMEM")),
    Call("files", "os:mkdir", ("ENOSPC", "EACCES")),
    Call("files", "os:scandir", (*DESCRIPTORS, "EIO")),
    Call("files", "os:listdir", (*DESCRIPTORS, "EIO")),
    Call("files", "os:statvfs", ("EIO",)),
    Call("files", "fcntl:flock", ("ENOLCK", "EIO")),
    Call("disk", "os:write", ("ENOSPC", "EIO", "EDQUOT")),
    Call("disk", "os:pread", ("EIO", "ENOMEM")),
    Call("disk", "os:preadv", ("EIO", "ENOMEM")),
    Call("disk", "os:fsync", ("EIO", "ENOSPC")),
    Call("disk", "os:ftruncate", ("EIO", "ENOSPC")),
    Call("disk", "os:replace", ("EIO", "ENOSPC", "EACCES")),
    Call("disk", "os:unlink", ("EIO", "EACCES", "EROFS")),
    Call("threads", "threading:Thread.start", ("no thread",)),
    Call("sqlite", "sqlite3:connect", ("SQLITE_CANTOPEN", "MemoryError")),
    Call("sqlite", "sqlite3:Connection.execute", (*SYMPTOMS, "MemoryError")),
    Call("sqlite", "sqlite3:Connection.executemany", (*SYMPTOMS, "MemoryError")),
    # What needs much memory at once: answers as they come, pages as they are read, buffers and
    # tables as they are kept.
    Call("memory", "numpy:empty", ("MemoryError",)),
    Call("memory", "numpy:zeros", ("MemoryError",)),
    Call("memory", "numpy:concatenate", ("MemoryError",)),
    Call("memory", "webcrawl.net.http_answer:AnswerParser.feed", ("MemoryError",)),
    Call("memory", "webcrawl.net.http_answer:Message.forms", ("MemoryError",)),
    Call(
        "memory", "webcrawl.content.html.trees:LexborHTMLParser", ("MemoryError", "SelectolaxError")
    ),
    Call("memory", "webcrawl.crawl.visitor:Visitor.visit", ("MemoryError",)),
    Call("memory", "webcrawl.crawl.page_links:PageLinks.follow", ("MemoryError",)),
    Call("memory", "isal.isal_zlib:compress", ("MemoryError",)),
    Call("memory", "webcrawl.store.output:Output.write", ("MemoryError",)),
    Call("memory", "webcrawl.frontier.fifo:Fifo.push", ("MemoryError",)),
    Call("memory", "webcrawl.frontier.fifo:Blocks.put", ("MemoryError",)),
    Call("chance", "os:urandom", ("EIO",)),
    # A clock is not refused, it is set: by so many seconds.
    Call("clock", "time:time", ("+3600", "-3600", "+86400", "-86400")),
)


def error_of(word):
    """The exception by this name, as the system raises it."""
    if word in SYMPTOMS:
        number, text = SYMPTOMS[word]
        error = sqlite3.OperationalError(f"{text} (injected)")
        error.sqlite_errorcode, error.sqlite_errorname = number, word
        return error
    if word == "MemoryError":
        return MemoryError("injected")
    if word == "SelectolaxError":
        from selectolax.lexbor import SelectolaxError

        return SelectolaxError("injected")
    if word == "no thread":
        return RuntimeError("can't start new thread")
    if word.startswith("ARES_"):
        import pycares

        return pycares.AresError(getattr(pycares.errno, word), "injected")
    number = getattr(errno, word)
    return OSError(number, f"{os.strerror(number)} (injected)")
