"""A change of the number of drones, which hive.json follows from the order to its end, whatever dies meanwhile.

`scrapy hive resize` writes what is wanted, and waits. All else is for whoever runs the hive: that process alone knows
when a drone has ended because it has given away all it had. What no look at the server can tell after it was emptied.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from webcrawl.crawl.hive.hive_folder import Founding, HiveFolder
from webcrawl.crawl.hive.operator import Look, Operator, unsettled


class Change:
    """`ended`: the drones that have ended, in this run, because nothing was left for them to do."""

    def __init__(self, folder: HiveFolder, ended: Callable[[], Collection[int]]) -> None:
        self._folder, self._ended = folder, ended
        self._left: set[int] = set()  # have given away all

    def __repr__(self) -> str:
        return f"<Change left={sorted(self._left)}>"

    def to_run(self, founding: Founding) -> list[int]:
        """The drones that are to run now. One that has left, and is wanted again, begins anew."""
        wanted = {*founding.wanted}
        self._left = (self._left | {*self._ended()}) - wanted if wanted else set()
        return [drone for drone in founding.drones if drone not in self._left]

    def followed(self, founding: Founding, look: Look) -> Founding:
        """What hive.json is to say now.

        The new drones come in when the server knows of the change, for it lets in only those that it expects. Those
        that are to leave stay until they have ended; but not one that never came, and now shall not.
        """
        wanted, ended = {*founding.wanted}, {*self._ended()}
        if not wanted or look.wanted != wanted:
            return founding
        leaving = {drone for drone in founding.drones if drone in look.drones or self._folder.figures(drone)} - wanted
        there = {**dict.fromkeys(ended & wanted, 0.0), **look.leases}  # the crawl may be over meanwhile
        if leaving <= self._left | ended and not unsettled(replace(look, leases=there), wanted, lost_in(founding)):
            return replace(founding, drones=tuple(sorted(wanted)), wanted=())
        return replace(founding, drones=tuple(sorted(wanted | leaving)))


def lost_in(founding: Founding) -> set[int]:
    """Drones whose state is gone, and whose number nobody has since."""
    return {*founding.lost} - {*founding.drones} - {*founding.wanted}


async def repeat_change(operator: Operator, look: Look, founding: Founding) -> None:
    """Tells a server who shall share the web if it does not know, or has lost it."""
    if founding.wanted and look.wanted != {*founding.wanted}:
        await operator.resize(founding.wanted, lost_in(founding))
