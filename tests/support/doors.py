"""Ports that nobody may come to: who connects is counted, and sent away without a word."""

import selectors
import socket
from collections import Counter
from contextlib import ExitStack, contextmanager, suppress
from threading import Event, Thread

FREE = 1024  # ports from here on may be listened on by everybody


class Doors:
    """Listening sockets that send every visitor away.

    `visits` counts the connections to each port of `address`.
    """

    def __init__(self, address, listening):
        self.address, self.visits = address, Counter()
        self._selector, self._stop = selectors.DefaultSelector(), Event()
        for door in listening:
            self._selector.register(door, selectors.EVENT_READ)

    def serve(self):
        """Accept connections and end them, until `stop` is called."""
        visitors = set()
        while not self._stop.is_set():
            for key, _ in self._selector.select(0.02):
                if key.fileobj in visitors:
                    self._listen(key.fileobj, visitors)
                else:
                    visitor, _ = key.fileobj.accept()
                    self.visits[key.fileobj.getsockname()[1]] += 1
                    self._send_away(visitor, visitors)
        for visitor in visitors:
            visitor.close()

    def stop(self):
        self._stop.set()

    def _send_away(self, visitor, visitors):
        # The door is not closed yet: what a visitor says to a closed one resets the connection,
        # which now and then overtakes the end that the visitor was to read.
        with suppress(OSError):
            visitor.shutdown(socket.SHUT_WR)
        visitors.add(visitor)
        self._selector.register(visitor, selectors.EVENT_READ)

    def _listen(self, visitor, visitors):
        """Read from a visitor until it has gone."""
        with suppress(OSError):
            if visitor.recv(4096):
                return
        self._selector.unregister(visitor)
        visitors.remove(visitor)
        visitor.close()


@contextmanager
def doors(ports):
    """Listen on these ports of an address of their own during the block.

    On ports below 1024 it listens only where that is allowed.
    """
    with ExitStack() as stack:
        address, listening = _listening(ports)
        for door in listening:
            stack.enter_context(door)
        found = Doors(address, listening)
        thread = Thread(target=found.serve, name="doors", daemon=True)
        thread.start()
        try:
            yield found
        finally:
            found.stop()
            thread.join()


def _listening(ports):
    """Return an address and listening sockets on these ports of it.

    Raise OSError if no address has all of them free.
    """
    for number in range(1, 250):
        address, opened = f"127.0.88.{number}", []
        try:
            # one by one: of a list that is never finished, nobody could close what was opened
            opened.extend(socket.create_server((address, port)) for port in ports if port >= FREE)
        except OSError:
            for door in opened:
                door.close()
            continue
        for port in ports:
            if port < FREE:
                with suppress(OSError):
                    opened.append(socket.create_server((address, port)))
        return address, opened
    raise OSError("no address of 127.0.88.0/24 has all these ports free")
