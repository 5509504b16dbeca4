"""A drone among others: loops for signs of life, letters out and in, and moving slots.

While the server is away the crawl goes on with what it has, letters wait on disk, and the first
loop tries to come back.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import suppress
from inspect import isawaitable
from typing import Any

from webcrawl.base.errors import with_place
from webcrawl.crawl.bound import CUT_OFF
from webcrawl.crawl.control.command import CommandError, mistake
from webcrawl.crawl.control.commands import Commanded, checked, obey
from webcrawl.crawl.hive.carrying import Carrying, Contact, Crawling
from webcrawl.crawl.hive.errors import Away, HiveError, NewEpoch
from webcrawl.crawl.hive.member import Post
from webcrawl.crawl.hive.outbox import batch_age
from webcrawl.crawl.hive.partition import SlotMap
from webcrawl.crawl.hive.queen import REFUSALS, DroneState, Reign, Report
from webcrawl.crawl.hive.registry import OVER, RELEASE, RESIZE, Command
from webcrawl.crawl.hive.transport import Beat, Transport
from webcrawl.crawl.seeding import Absence
from webcrawl.store.errors import StoreError

logger = logging.getLogger(__name__)

BEAT = 1.0  # seconds between two signs of life
QUICK = 0.25  # the same while there is nothing else to do: the crawl may be over
# bytes of letters taken in after which the next checkpoint is taken early: the server holds them
ENOUGH = 4 << 20
# the same when the streams have half of what they may: letters of others wait on their disks
LITTLE = 64 << 10
PAUSE = 1.0  # seconds between two such checkpoints
SLICES = 0.002  # seconds between two slices of slots on their way
LOOK = 0.2  # seconds between two looks whether any are
INSIST = 0.1  # seconds until a loop that has not ended is told again
LAST = 2.0  # seconds at the end for the letters of the last checkpoint


class Running:
    """Runs the loops of a drone. `about`: what every report says of this drone."""

    def __init__(
        self,
        post: Post,
        server: Transport,
        crawling: Crawling,
        commanded: Commanded,
        reign: Reign,
        about: Mapping[str, Any],
        *,
        join: Callable[[], Coroutine[Any, Any, str]],
        lease: float,
        batch_age: float,
    ) -> None:
        """`commanded`: the same crawl, for commands.

        `join` enters the hive, and returns its epoch. `lease` and `batch_age`: the settings.
        """
        self._batch_age = batch_age
        self._post = post
        self._server = server
        self._crawling = crawling
        self._reign = reign
        self._commanded = commanded
        self._about = about
        self._join = join
        self._lease = lease
        self._looking = asyncio.Lock()
        self._contact = Contact(post, server)
        self.carrying = Carrying(post, server, self._contact, crawling, self._get_map)
        self._tasks: list[asyncio.Task[None]] = []
        self._begun = time.monotonic()
        self._beats = 0
        self._heard_at: float | None = None  # by the machine's clock; None before the first answer
        # what the last checkpoint has
        self._saved_activity = -1
        self._kept_order = post.obeyed.number
        self._kept_leaving = post.drone.slots.leaving
        self._drained = False  # nothing is left of what a drone without slots has to give away
        # commands not carried out, and why
        self._refusals: deque[tuple[int, str]] = deque(maxlen=REFUSALS)
        self._late = True  # until the first answer is there
        self._saving: asyncio.Task[None] | None = None
        self._carried_out: set[asyncio.Future[None]] = set()  # commands that take their time
        self._saved_at = 0.0

    @property
    def reaches_server(self) -> bool:
        """Return whether the server answered when it was last asked."""
        return self._contact.there.is_set()

    def figures(self) -> dict[str, float]:
        """Return what the metrics have of the hive beside the drone's own figures."""
        return {"hive/server_up": self.reaches_server, **self._reign.figures()}

    def absence(self) -> Absence | None:
        """Return since when the server does not answer, or None if it does."""
        since = self._contact.absent_since
        if since is None and self._post.fence.is_closed():  # it keeps us waiting without an error
            since = self._heard_at
        return None if since is None else Absence("the hive's server", since)

    def start(self) -> None:
        loops = (self._beating, self.carrying.out, self.carrying.into, self._moving)
        self._tasks = [asyncio.create_task(self._guarded(loop)) for loop in loops]

    async def stop(self) -> None:
        """End the loops after the last checkpoint, tell the other drones if possible, and leave."""
        await _ended(self._tasks)
        with suppress(Away, HiveError, NewEpoch, TimeoutError):
            async with asyncio.timeout(LAST):
                if self._contact.there.is_set():
                    await self.carrying.send_all()
                    await self._contact.acknowledge()
                    await self._beat(
                        None if self._state() is DroneState.RETIRED else DroneState.STOPPING
                    )
        await self._server.close()

    @property
    def _is_idle(self) -> bool:
        return not self._crawling.has_work()

    async def _checkpoint(self) -> None:
        await self._crawling.checkpoint()

    def committed(self) -> None:
        """Note that a checkpoint has all that came, and all that goes out."""
        self._post.outbox.committed()
        self._post.inbox.committed()
        self._saved_activity = self._activity()
        self._saved_at = time.monotonic()
        self.carrying.taken = 0
        self._kept_order = self._post.obeyed.number
        self._kept_leaving = self._post.drone.slots.leaving

    def rest(self) -> Iterator[None]:
        """Nothing is left to do after the last checkpoint but `stop`."""
        return iter(())

    def close(self) -> None:
        """`stop` has closed all."""

    async def _guarded(self, loop: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            await loop()
        except Exception as error:  # noqa: BLE001 - whatever it is, this drone is no part of the hive any more
            self._crawling.fail(error)

    # -- signs of life

    async def _beating(self) -> None:
        while True:
            try:
                if not self._contact.there.is_set():
                    self._contact.begin(await self._join())
                    self._contact.found()
                await self._contact.acknowledge()
                await self._look()
            except NewEpoch as error:
                self._contact.begin(error.epoch)
                continue
            except Away as error:
                self._contact.lost(error)
                self._let_rest(all_rest=False)
            self._save_early()
            await asyncio.sleep(BEAT if self._crawling.has_work() else QUICK)

    async def _look(self) -> None:
        async with self._looking:  # one answer before the next report is made: see Report
            await self._heard(await self._beat())

    async def _get_map(self) -> None:
        with suppress(Away, NewEpoch):  # of which the other loops learn too
            await self._look()

    async def _beat(self, state: DroneState | None = None) -> Beat:
        fence = self._post.fence
        asked_at = fence.now()
        found = await self._server.beat(
            self._report(state).pack(),
            lease=self._lease,
            generation=self._post.drone.slots.generation,
            after=self._post.obeyed.number,
            hungry=self._is_idle or self._crawling.rests,
        )
        self._beats += 1  # not before it was answered: see Report
        self._heard_at = time.time()
        if fence.answered(asked_at):
            self._crawling.crawl.parts.begin_again()
            self._crawling.wake()
        return found

    def _report(self, state: DroneState | None) -> Report:
        post = self._post
        outlook = self._crawling.crawl.outlook
        return Report(
            **self._about,
            beat=self._beats,
            generation=post.drone.slots.generation,
            state=state or self._state(),
            applied=self._kept_order,
            refusals=tuple(self._refusals),
            idle=self._is_idle,
            rests=self._crawling.rests,
            over=self._crawling.hive.others_done,
            got=self._crawling.got,
            moving=post.drone.moving.partners,
            stays=post.drone.moving.stays,
            towards=self._asked_for({*post.outbox.drones()} - post.drone.rerouted.keys()),
            kept=self._asked_for(post.outbox.kept),
            saved=self._is_saved,
            activity=self._activity(),
            unacknowledged=post.outbox.unacknowledged,
            seconds=time.monotonic() - self._begun,
            lease=self._lease,
            fence=post.fence.seconds,
            # the answer to this report opens the fence
            trouble="" if outlook.stopped_by == CUT_OFF else outlook.stands_still,
            figures=self._crawling.crawl.stats(),
        )

    def _asked_for(self, drones: Iterable[int]) -> tuple[int, ...]:
        """Return those of these drones that are no members, or are given up.

        The queen asks about no others. In a hive of 1,000 each drone has letters for all.
        """
        members, wanted = {*self._post.drone.slots.drones}, self._post.obeyed.wanted
        stay = members - wanted.lost if wanted is not None else members
        return tuple(sorted({*drones} - stay))

    def _activity(self) -> int:
        return (
            self._crawling.crawl.outlook.activity()
            + self.carrying.handled
            + self._post.outbox.stats()["letters"]
        )

    async def _heard(self, beat: Beat) -> None:
        outbox = self._post.outbox
        for drone, place in beat.acks.items():
            outbox.acknowledged(drone, place)
        outbox.hungry = beat.hungry
        outbox.age = batch_age(len(beat.members), self._batch_age)
        for command in beat.commands:
            self._obey(command)
        self._late = False
        self._let_rest(all_rest=beat.all_rest)
        if beat.map is not None:  # after the commands: they say which drones are lost
            self._learn(SlotMap.unpack(beat.map))
        if any(
            command.name == RELEASE and self._post.drone.me in command.args
            for command in beat.commands
        ):
            self._released()
        self._forget(beat)
        await self._reign.heard(beat)

    def _forget(self, beat: Beat) -> None:
        """Give letters for a drone that has gone to its heirs: our checkpoint had none for it."""
        drone = self._post.drone
        for gone in set(self._post.outbox.drones()) - set(drone.slots.drones) - beat.members.keys():
            drone.part_from(gone)

    def _obey(self, command: Command) -> None:
        obeyed = self._post.obeyed
        obeyed.number = max(obeyed.number, command.number)
        if command.name == RESIZE:
            obeyed.resize(*command.args)
        elif command.name == OVER:
            if self._is_idle:
                obeyed.gave_nothing = bool(command.args)
                self._over()
        elif command.name == RELEASE:
            for drone in {*command.args} - {self._post.drone.me}:
                self._post.drone.part_from(drone)  # another one may come with its number
        else:
            why = self._carry_out(command)
            if why:
                self._refusals.append((command.number, why))

    def _carry_out(self, command: Command) -> str:
        """Carries out a command to all drones; returns why it could not be done, or nothing.

        One that was given before this drone was there is carried out if it lasts.
        """
        order = " ".join((command.name, *map(str, command.args)))
        try:
            if checked(command.name, *command.args).lasts(*command.args) or not self._late:
                answer = obey(self._commanded, command.name, *command.args)
                if isawaitable(answer):
                    self._tell_later(order, answer)
                else:
                    logger.info("by command: %s: %s", order, answer)
        except CommandError as error:
            logger.warning("by command: %s: %s", order, error)
            return str(error)
        except Exception as error:  # noqa: BLE001 - a mistake in a command: all drones would end of it, at each start
            logger.error("by command: %s: %s", order, with_place(error))  # noqa: TRY400
            return mistake(error)
        return ""

    def _tell_later(self, order: str, answer: Awaitable[Any]) -> None:
        """Says what came of a command that takes its time."""

        async def heard() -> None:
            try:
                logger.info("by command: %s: %s", order, await answer)
            except (CommandError, StoreError) as error:
                logger.warning("by command: %s: %s", order, error)

        task = asyncio.ensure_future(heard())
        self._carried_out.add(task)
        task.add_done_callback(self._carried_out.discard)

    def _let_rest(self, *, all_rest: bool) -> None:
        """Stop trying hosts set aside if all drones rest; begin again if one does not."""
        crawl = self._crawling.crawl
        before, crawl.all_rest = crawl.all_rest, all_rest
        if before and not all_rest:
            self._crawling.wake()

    def _over(self) -> None:
        """End the crawl here: no drone has anything left to do."""
        self._crawling.hive.others_done = True
        self._crawling.wake()

    def _released(self) -> None:
        """End the crawl of a drone that has given away all, unless it is to be a member again."""
        drone, wanted = self._post.drone, self._post.obeyed.wanted
        if drone.me not in drone.slots.drones and (
            wanted is None or drone.me not in wanted.members
        ):
            logger.info("this drone is no member of the hive any more: others have its hosts")
            self._over()

    def _learn(self, slots: SlotMap) -> None:
        if slots.generation > self._post.drone.slots.generation:
            wanted = self._post.obeyed.wanted
            self._post.drone.learn(slots, wanted.lost if wanted is not None else ())
            self._crawling.wake()

    def _save_early(self) -> None:
        """Take a checkpoint if others wait for it: an order, the end, slots, or the server."""
        if self._saving is not None and not self._saving.done():
            return
        enough = LITTLE if self._server.filling else ENOUGH
        # A checkpoint closes all letters: more of them than their age allows would keep the server
        # busy just when it is full
        is_waited_for = self._is_waited_for()
        pause = PAUSE if is_waited_for else max(PAUSE, self._post.outbox.age)
        is_wanted = is_waited_for or self.carrying.taken > enough
        if is_wanted and time.monotonic() - self._saved_at > pause:
            self._saving = asyncio.create_task(self._guarded(self._checkpoint))

    def _is_waited_for(self) -> bool:
        """Return whether others cannot go on before a checkpoint is taken here."""
        drone = self._post.drone
        outbox = self._post.outbox
        members = drone.slots.drones
        # whoever gave the order waits until it is kept
        if self._post.obeyed.number > self._kept_order:
            return True
        # a kill would have all wait again for one that has left
        if drone.slots.leaving != self._kept_leaving:
            return True
        if outbox.awaits_checkpoint:  # exact letters are not sent before
            return True
        # a kill would bring letters back for one that has left
        if outbox.kept.difference(outbox.drones(), members):
            return True
        if self._post.inbox.senders.difference(members):  # a drone leaves when its letters are kept
            return True
        is_moving = not drone.moving.settled or drone.me not in members
        return not self._is_saved and (is_moving or self._is_idle)

    @property
    def _is_saved(self) -> bool:
        """Return whether the last checkpoint has all that was done and read."""
        inbox = self._post.inbox
        return self._activity() == self._saved_activity and inbox.place == inbox.committed_place

    # -- slots

    def _state(self) -> DroneState:
        drone, wanted = self._post.drone, self._post.obeyed.wanted
        comes = self._late or (wanted is not None and drone.me in wanted.members)
        if comes or drone.me in drone.slots.drones:
            return (
                DroneState.PAUSED
                if self._crawling.crawl.parts.in_force.paused
                else DroneState.RUNNING
            )
        done = self._drained and self._is_idle and not self._post.outbox.unacknowledged
        return DroneState.RETIRED if done else DroneState.DRAINING

    async def _moving(self) -> None:
        """Exchange slots between pages, in slices; a drone that is no member gives away all."""
        drone = self._post.drone
        while True:
            more = drone.reroute()
            if not self._crawling.crawl.parts.uplink.out:
                if drone.me in drone.slots.drones:
                    self._drained = False
                    moves = drone.moving.step(drone.home.now())
                else:
                    self._drained = drone.moving.drain(drone.home.now())
                    moves = not self._drained
                if moves:
                    more = True
                    self._crawling.wake()
            await asyncio.sleep(SLICES if more else LOOK)


async def _ended(tasks: Iterable[asyncio.Task[None]]) -> None:
    """Cancel tasks until they have ended: a client may take a cancellation for its timeout."""
    left = set(tasks)
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=INSIST)
