"""A drone among others: loops for signs of life, batches out and in, and moving slots.

While the server is away the crawl goes on with what it has, batches wait on disk, and the first
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
from webcrawl.crawl.bound import FENCED
from webcrawl.crawl.control.command import CommandError, mistake
from webcrawl.crawl.control.commands import Commanded, checked, obey
from webcrawl.crawl.hive.batch_transfer import BatchTransfer, DroneCrawl, ServerContact
from webcrawl.crawl.hive.coordinator import MAX_REFUSALS, Coordination, DroneState, Report
from webcrawl.crawl.hive.errors import Away, HiveError, NewEpoch
from webcrawl.crawl.hive.member import DroneParts
from webcrawl.crawl.hive.outbox import batch_age
from webcrawl.crawl.hive.partition import SlotMap
from webcrawl.crawl.hive.registry import OVER, RELEASE, RESIZE, Command
from webcrawl.crawl.hive.transport import Beat, Transport
from webcrawl.crawl.seeding import Absence
from webcrawl.store.errors import StoreError

logger = logging.getLogger(__name__)

BEAT_SECONDS = 1.0  # between two signs of life
IDLE_BEAT_SECONDS = 0.25  # the same while there is nothing else to do: the crawl may be over
# Bytes of received batches after which the next checkpoint is taken early: until then the server
# holds them
EARLY_SAVE_BYTES = 4 << 20
# The same when the streams have half of what they may: batches of others wait on their disks
EARLY_SAVE_BYTES_WHEN_FILLING = 64 << 10
EARLY_SAVE_SECONDS = 1.0  # between two such checkpoints
SLICE_SECONDS = 0.002  # between two slices of slots on their way
NO_SLICE_SECONDS = 0.2  # until it is asked again whether any slots are on their way
CANCEL_AGAIN_SECONDS = 0.1  # until a loop that has not ended is cancelled again
LAST_BATCHES_SECONDS = 2.0  # at the end for the batches of the last checkpoint


class DroneRunner:
    """Runs the loops of a drone: signs of life, batches out and in, and moving slots.

    It is a follower of the checkpoint (`committed`).
    """

    def __init__(
        self,
        parts: DroneParts,
        server: Transport,
        crawl: DroneCrawl,
        *,
        commanded: Commanded,
        coordination: Coordination,
        about: Mapping[str, Any],
        join: Callable[[], Coroutine[Any, Any, str]],
        lease: float,
        batch_age: float,
    ) -> None:
        """Start nothing yet: `start` does.

        `parts`: of this drone that are in its checkpoint.
        `server`: the way to the hive's server.
        `crawl`: the crawl of this process.
        `commanded`: the same crawl, for commands.
        `coordination`: the decisions for the hive, while this drone is the coordinator.
        `about`: those fields of every report that stay the same.
        `join`: enters the hive, and returns its epoch.
        `lease`, `batch_age`: the settings HIVE_LEASE and HIVE_BATCH_AGE.
        """
        self._batch_age = batch_age
        self._parts = parts
        self._server = server
        self._crawl = crawl
        self._coordination = coordination
        self._commanded = commanded
        self._about = about
        self._join = join
        self._lease = lease
        # Held from a report until its answer is dealt with: see Report
        self._beat_lock = asyncio.Lock()
        self._contact = ServerContact(parts, server)
        self.transfer = BatchTransfer(parts, server, self._contact, crawl, self._learn_map)
        self._tasks: list[asyncio.Task[None]] = []
        self._begun = time.monotonic()
        self._answered_beats = 0
        # What the last checkpoint has: the activity, the last command, the drones that are leaving
        self._saved_activity = -1
        self._saved_command = parts.obeyed.number
        self._saved_leaving = parts.drone.slots.leaving
        self._is_drained = False  # a drone without slots has given away all that it had
        # commands not carried out, and why
        self._refusals: deque[tuple[int, str]] = deque(maxlen=MAX_REFUSALS)
        # True until the first answer of this run, whose commands may have been given before it
        self._is_late = True
        self._save_task: asyncio.Task[None] | None = None
        self._command_tasks: set[asyncio.Future[None]] = set()  # of commands that take their time
        self._saved_at = 0.0

    @property
    def reaches_server(self) -> bool:
        """Return whether the server answered when it was last asked."""
        return self._contact.reachable.is_set()

    def figures(self) -> dict[str, float]:
        """Return what the metrics have of the hive beside the drone's own figures."""
        return {"hive/server_up": self.reaches_server, **self._coordination.figures()}

    def absence(self) -> Absence | None:
        """Return since when the server does not answer, or None if it does."""
        since = self._contact.absent_since
        if since is None and self._parts.fence.is_closed():  # it keeps us waiting without an error
            since = self._contact.answered_at
        return None if since is None else Absence("the hive's server", since)

    def start(self) -> None:
        loops = (
            self._beat_loop,
            self.transfer.send_loop,
            self.transfer.receive_loop,
            self._slot_loop,
        )
        self._tasks = [asyncio.create_task(self._run_or_fail(loop)) for loop in loops]

    async def stop(self) -> None:
        """End the loops after the last checkpoint, tell the other drones if possible, and leave."""
        await _cancel(self._tasks)
        with suppress(Away, HiveError, NewEpoch, TimeoutError):
            async with asyncio.timeout(LAST_BATCHES_SECONDS):
                if self._contact.reachable.is_set():
                    await self.transfer.send_due_batches()
                    await self._contact.acknowledge()
                    is_retired = self._state() is DroneState.RETIRED
                    await self._beat(None if is_retired else DroneState.STOPPING)
        await self._server.close()

    @property
    def _is_idle(self) -> bool:
        return not self._crawl.has_work()

    @property
    def _is_member(self) -> bool:
        """Return whether the latest map that this drone knows has it among the members."""
        drone = self._parts.drone
        return drone.me in drone.slots.drones

    @property
    def _is_wanted(self) -> bool:
        """Return whether the last order names this drone among the members; False without one."""
        wanted = self._parts.obeyed.wanted
        return wanted is not None and self._parts.drone.me in wanted.members

    async def _checkpoint(self) -> None:
        await self._crawl.checkpoint()

    def committed(self) -> None:
        """Note that a checkpoint has all that came, and all that goes out."""
        self._parts.outbox.committed()
        self._parts.inbox.committed()
        self._saved_activity = self._activity()
        self._saved_at = time.monotonic()
        self.transfer.unsaved_bytes = 0
        self._saved_command = self._parts.obeyed.number
        self._saved_leaving = self._parts.drone.slots.leaving

    def finish_work(self) -> Iterator[None]:
        """Return no steps: nothing is left to do after the last checkpoint but `stop`."""
        return iter(())

    def close(self) -> None:
        """Do nothing: `stop` has closed all."""

    async def _run_or_fail(self, loop: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run a loop; end the crawl if it raises an error."""
        try:
            await loop()
        except Exception as error:  # noqa: BLE001 - whatever it is, this drone is no part of the hive any more
            self._crawl.fail(error)

    # -- signs of life

    async def _beat_loop(self) -> None:
        """Enter the hive, and give signs of life, for ever; enter again if the server was away."""
        while True:
            try:
                if not self._contact.reachable.is_set():
                    self._contact.follow_epoch(await self._join())
                    self._contact.note_found()
                await self._contact.acknowledge()
                await self._beat_and_act()
            except NewEpoch as error:
                self._contact.follow_epoch(error.epoch)
                continue
            except Away as error:
                self._contact.note_lost(error)
                self._let_rest(all_rest=False)
            self._save_early()
            await asyncio.sleep(BEAT_SECONDS if self._crawl.has_work() else IDLE_BEAT_SECONDS)

    async def _beat_and_act(self) -> None:
        async with self._beat_lock:
            await self._act_on(await self._beat())

    async def _learn_map(self) -> None:
        """Learn the latest map with a beat between two others, if the server answers."""
        with suppress(Away, NewEpoch):  # the other loops meet the same error
            await self._beat_and_act()

    async def _beat(self, state: DroneState | None = None) -> Beat:
        """Give a sign of life, and return the news. The answer opens the fence.

        `state` is what the report says; without it, what the drone is doing.
        """
        fence = self._parts.fence
        sent_at = fence.now()
        beat = await self._server.beat(
            self._report(state).pack(),
            lease=self._lease,
            generation=self._parts.drone.slots.generation,
            after=self._parts.obeyed.number,
            hungry=self._is_idle or self._crawl.rests,
        )
        self._answered_beats += 1  # not before it was answered: see Report
        self._contact.note_answer()
        if fence.note_answer(sent_at):
            self._crawl.crawl.parts.begin_again()
            self._crawl.wake()
        return beat

    def _report(self, state: DroneState | None) -> Report:
        """Return what this drone says of itself now, for the coordinator and for operators."""
        drone = self._parts.drone
        outbox = self._parts.outbox
        outlook = self._crawl.crawl.outlook
        # The answer to this report opens the fence: then this is no trouble any more.
        is_only_fenced = outlook.stopped_by == FENCED
        return Report(
            **self._about,
            beat=self._answered_beats,
            generation=drone.slots.generation,
            state=state or self._state(),
            applied=self._saved_command,
            refusals=tuple(self._refusals),
            idle=self._is_idle,
            rests=self._crawl.rests,
            over=self._crawl.hive.others_done,
            got=self._crawl.got,
            moving=drone.slot_moves.partners,
            stays=drone.slot_moves.why_slots_stay,
            towards=self._reported({*outbox.drones()} - drone.rerouted.keys()),
            kept=self._reported(outbox.saved_receivers),
            saved=self._is_saved,
            activity=self._activity(),
            unacknowledged=outbox.unacknowledged,
            seconds=time.monotonic() - self._begun,
            lease=self._lease,
            fence=self._parts.fence.seconds,
            trouble="" if is_only_fenced else outlook.stands_still,
            figures=self._crawl.crawl.stats(),
        )

    def _reported(self, receivers: Iterable[int]) -> tuple[int, ...]:
        """Return those of these drones that are no members, or are given up.

        The coordinator asks about no others. In a hive of 1,000 each drone has batches for all.
        """
        members = {*self._parts.drone.slots.drones}
        wanted = self._parts.obeyed.wanted
        staying = members - wanted.lost if wanted is not None else members
        return tuple(sorted({*receivers} - staying))

    def _activity(self) -> int:
        """Return a number that differs from the one before if anything was done since."""
        return (
            self._crawl.crawl.outlook.activity()
            + self.transfer.received_batches
            + self._parts.outbox.stats()["closed"]
        )

    async def _act_on(self, beat: Beat) -> None:
        """Do what follows from the news of a beat, as a drone, and as the coordinator if it is that."""
        outbox = self._parts.outbox
        for drone, place in beat.acks.items():
            outbox.acknowledge(drone, place)
        outbox.hungry = beat.hungry
        outbox.age = batch_age(len(beat.members), self._batch_age)
        for command in beat.commands:
            self._obey(command)
        self._is_late = False
        self._let_rest(all_rest=beat.all_rest)
        if beat.map is not None:  # after the commands: they say which drones are lost
            self._apply_map(SlotMap.unpack(beat.map))
        released = {
            drone for command in beat.commands if command.name == RELEASE for drone in command.args
        }
        if self._parts.drone.me in released:
            self._leave()
        self._reroute_batches(beat)
        await self._coordination.act_on(beat)

    def _reroute_batches(self, beat: Beat) -> None:
        """Give batches for departed drones to their heirs: our checkpoint had none for them."""
        drone = self._parts.drone
        receivers = set(self._parts.outbox.drones())
        for gone in receivers.difference(drone.slots.drones, beat.members):
            drone.part_from(gone)

    def _obey(self, command: Command) -> None:
        """Carry out a command to all drones, and note its number for the next checkpoint."""
        obeyed = self._parts.obeyed
        obeyed.number = max(obeyed.number, command.number)
        if command.name == RESIZE:
            obeyed.resize(*command.args)
        elif command.name == OVER:
            if self._is_idle:
                obeyed.gave_nothing = bool(command.args)
                self._end_crawl()
        elif command.name == RELEASE:
            for drone in {*command.args} - {self._parts.drone.me}:
                self._parts.drone.part_from(drone)  # another one may come with its number
        else:
            why = self._carry_out(command)
            if why:
                self._refusals.append((command.number, why))

    def _carry_out(self, command: Command) -> str:
        """Carry out a command to the crawl; return why that failed, or nothing.

        A command that was given before this run began is carried out only if it lasts.
        """
        order = " ".join((command.name, *map(str, command.args)))
        try:
            lasts = checked(command.name, *command.args).lasts(*command.args)
            if self._is_late and not lasts:
                return ""
            answer = obey(self._commanded, command.name, *command.args)
            if isawaitable(answer):
                self._log_answer_later(order, answer)
            else:
                logger.info("by command: %s: %s", order, answer)
        except CommandError as error:
            logger.warning("by command: %s: %s", order, error)
            return str(error)
        except Exception as error:  # noqa: BLE001 - a mistake in a command: all drones would end of it, at each start
            logger.error("by command: %s: %s", order, with_place(error))  # noqa: TRY400
            return mistake(error)
        return ""

    def _log_answer_later(self, order: str, answer: Awaitable[Any]) -> None:
        """Log what comes of a command that takes its time, once it is known."""

        async def log_answer() -> None:
            try:
                logger.info("by command: %s: %s", order, await answer)
            except (CommandError, StoreError) as error:
                logger.warning("by command: %s: %s", order, error)

        task = asyncio.ensure_future(log_answer())
        self._command_tasks.add(task)
        task.add_done_callback(self._command_tasks.discard)

    def _let_rest(self, *, all_rest: bool) -> None:
        """Stop trying deferred hosts if all drones rest; begin again if one does not."""
        crawl = self._crawl.crawl
        rested_before = crawl.all_rest
        crawl.all_rest = all_rest
        if rested_before and not all_rest:
            self._crawl.wake()

    def _end_crawl(self) -> None:
        """End the crawl here: no drone has anything left to do."""
        self._crawl.hive.others_done = True
        self._crawl.wake()

    def _leave(self) -> None:
        """End the crawl of a drone that has given away all, unless it is to be a member again."""
        if not self._is_member and not self._is_wanted:
            logger.info("this drone is no member of the hive any more: others have its hosts")
            self._end_crawl()

    def _apply_map(self, slots: SlotMap) -> None:
        """Take a slot map, unless the drone has one as late."""
        if slots.generation > self._parts.drone.slots.generation:
            wanted = self._parts.obeyed.wanted
            self._parts.drone.apply_map(slots, wanted.lost if wanted is not None else ())
            self._crawl.wake()

    def _save_early(self) -> None:
        """Take a checkpoint if others wait for it: an order, the end, slots, or the server."""
        if self._save_task is not None and not self._save_task.done():
            return
        is_waited_for = self._is_waited_for()
        is_filling = self._server.filling
        enough_bytes = EARLY_SAVE_BYTES_WHEN_FILLING if is_filling else EARLY_SAVE_BYTES
        if not is_waited_for and self.transfer.unsaved_bytes <= enough_bytes:
            return
        pause = EARLY_SAVE_SECONDS
        if not is_waited_for:
            # A checkpoint closes all batches: more of them than their age allows would keep the
            # server busy just when it is full
            pause = max(pause, self._parts.outbox.age)
        if time.monotonic() - self._saved_at > pause:
            self._save_task = asyncio.create_task(self._run_or_fail(self._checkpoint))

    def _is_waited_for(self) -> bool:
        """Return whether others cannot go on before a checkpoint is taken here."""
        drone = self._parts.drone
        outbox = self._parts.outbox
        members = drone.slots.drones
        # Whoever gave an order waits until all checkpoints have it.
        if self._parts.obeyed.number > self._saved_command:
            return True
        # A kill would have all wait again for a drone that has left.
        if drone.slots.leaving != self._saved_leaving:
            return True
        # Exact batches are not sent before a checkpoint has them.
        if outbox.awaits_checkpoint:
            return True
        # A kill would bring back batches for a drone that has left.
        if outbox.saved_receivers.difference(outbox.drones(), members):
            return True
        # A drone that leaves waits until the receivers' checkpoints have its batches.
        if self._parts.inbox.unsaved_senders.difference(members):
            return True
        is_moving = not drone.slot_moves.is_settled or not self._is_member
        return not self._is_saved and (is_moving or self._is_idle)

    @property
    def _is_saved(self) -> bool:
        """Return whether the last checkpoint has all that was done and read."""
        inbox = self._parts.inbox
        return self._activity() == self._saved_activity and inbox.place == inbox.committed_place

    # -- slots

    def _state(self) -> DroneState:
        """Return what the drone is doing: fetching, paused, giving away what it has, or done."""
        # Before the first answer of the server a drone does not know of an order that names it.
        if self._is_late or self._is_wanted or self._is_member:
            is_paused = self._crawl.crawl.parts.in_force.paused
            return DroneState.PAUSED if is_paused else DroneState.RUNNING
        has_given_all = self._is_drained and not self._parts.outbox.unacknowledged
        return DroneState.RETIRED if has_given_all and self._is_idle else DroneState.DRAINING

    async def _slot_loop(self) -> None:
        """Exchange slots between pages, in slices; a drone that is no member gives away all."""
        drone = self._parts.drone
        while True:
            has_more = drone.reroute()
            # What fails while the network is out is not the hosts' fault, and could not be taken
            # back once they are on another drone.
            if not self._crawl.crawl.parts.uplink.out:
                if self._is_member:
                    self._is_drained = False
                    is_moving = drone.slot_moves.step(drone.home.now())
                else:
                    self._is_drained = drone.slot_moves.drain(drone.home.now())
                    is_moving = not self._is_drained
                if is_moving:
                    has_more = True
                    self._crawl.wake()
            await asyncio.sleep(SLICE_SECONDS if has_more else NO_SLICE_SECONDS)


async def _cancel(tasks: Iterable[asyncio.Task[None]]) -> None:
    """Cancel tasks until they have ended: a client may take a cancellation for its timeout."""
    left = set(tasks)
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=CANCEL_AGAIN_SECONDS)
