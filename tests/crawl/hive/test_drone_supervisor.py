"""Drones are started again, and end together."""

import logging
import signal

import pytest

from webcrawl.crawl.hive.drone_supervisor import (
    MERCY_SECONDS,
    REPEAT_SECONDS,
    SAME_SIGNAL_SECONDS,
    TOGETHER_SECONDS,
    Supervisor,
)
from webcrawl.crawl.hive.process import (
    HEALTHY_SECONDS,
    LONGEST_WAIT,
    MAX_FAILED_STARTS,
    RestartedProgram,
)

LINE = "2026-11-21 12:00:00 [webcrawl.net.dns] {}: no name server answers"


class FakeProcess:
    """Runs until a test ends it."""

    def __init__(self, number):
        self.number, self.status, self.heard, self.said, self.pid = (
            number,
            None,
            [],
            [],
            1000 + number,
        )

    def poll(self):
        return self.status

    def send(self, number):
        self.heard.append(number)

    def lines(self):
        said, self.said = self.said, []
        yield from said


class Scene:
    """A supervisor with a clock that a test moves, and all processes it ever started."""

    def __init__(self):
        self.now, self.started, self.reasons, self.lack = 1000.0, [], {}, None
        self.supervisor = Supervisor(self.start, self.reasons.get, lambda: self.now)

    def start(self, number):
        if self.lack is not None:
            raise self.lack
        self.started.append(FakeProcess(number))
        return self.started[-1]

    def begin(self, drones):
        self.supervisor.add(range(drones))
        self.supervisor.step()
        return self.started[-drones:]

    def after(self, seconds):
        self.now += seconds
        self.supervisor.step()

    def end(self, process, status, reason="finished"):
        process.status = status
        if status == 0:
            self.reasons[process.number] = reason
        self.supervisor.step()


@pytest.fixture(name="scene")
def _scene():
    return Scene()


def waits(*lives):
    """The waits of one process until it is started again, after it has lived so long and ended with
    such a status.
    """
    now = 0.0
    process = RestartedProgram(lambda: FakeProcess(0), lambda: now)
    for status, lived in lives:
        process.begin()
        now += lived
        yield process.note_death(status)


class TestRestarts:
    def test_the_wait_doubles(self):
        """A drone that dies is started again after 1 s, then after twice as long each time, at most
        after a minute.
        """
        assert [*waits(*[(-9, 0.0)] * 8)] == [1, 2, 4, 8, 16, 32, LONGEST_WAIT, LONGEST_WAIT]

    def test_health_is_rewarded(self):
        """After a minute of life the wait is a second again."""
        assert [*waits(*[(-9, 0.0)] * 5, (-9, HEALTHY_SECONDS))][-1] == 1

    def test_what_is_no_longer_wanted(self, scene, caplog):
        """The refusal of a drone that was to come in, and no longer is, is no alarm, and it is not
        started again.
        """
        first, second = scene.begin(2)
        scene.supervisor.add([0])
        second.said = [
            "2026-11-21 12:00:00 [webcrawl.crawl] CRITICAL: HIVE_DRONES = 3: the hive was founded with 2"
        ]
        with caplog.at_level(logging.INFO):
            scene.end(second, 1)
        scene.supervisor.add([0])
        scene.after(LONGEST_WAIT)

        assert {record.levelname for record in caplog.records} == {"INFO"}
        assert caplog.messages[-1] == "drone 1 ended with exit status 1; it is no longer needed"
        assert scene.started == [first, second]

    def test_what_is_left_when_the_hive_has_ended(self, scene):
        """A drone that waits to be let in is ended with the last one of the hive: nobody would ever
        let it in.
        """
        first, second = scene.begin(2)
        scene.supervisor.add([0])
        scene.after(1)
        assert second.heard == []
        scene.end(first, 0)
        scene.after(1)

        assert second.heard == [signal.SIGTERM]

    def test_what_cannot_start_is_given_up(self):
        """A drone that gives up by itself soon after its start, three times in a row, is not
        started again.
        """
        assert [wait is None for wait in waits(*[(1, 0.5)] * MAX_FAILED_STARTS)] == [
            False,
            False,
            True,
        ]

    def test_a_signal_says_nothing_of_the_next_start(self):
        """A drone that the kernel kills, for want of memory perhaps, is tried for ever; it breaks
        the row.
        """
        assert None not in [*waits(*[(1, 0.5), (1, 0.5), (-9, 0.5)] * 10)]


class TestDeaths:
    def test_a_drone_that_dies_is_started_again(self, scene):
        """It is started again alone, after its wait; the others are left alone."""
        first, second = scene.begin(2)
        scene.end(first, -signal.SIGKILL)

        scene.after(0.9)
        assert (scene.supervisor.down, len(scene.started)) == ([0], 2)
        scene.after(0.2)

        assert (scene.supervisor.down, scene.started[2].number) == ([], 0)
        assert second.heard == []

    def test_it_is_told(self, scene, caplog):
        """A line says which drone died, of what, what it said last, and when it is started again."""
        (drone,) = scene.begin(1)
        drone.said = ["first", "Segmentation fault"]
        scene.end(drone, 139)

        assert caplog.messages == [
            "drone 0 died (exit status 139); it is restarted in 1 s; its last line: Segmentation fault"
        ]

    def test_one_that_cannot_start_ends_the_hive(self, scene, caplog):
        """After three refusals its last lines are shown, the others end cleanly, and the exit
        status is 1.
        """
        _, other = scene.begin(2)
        for _ in range(MAX_FAILED_STARTS):
            refusing = next(one for one in reversed(scene.started) if one.number == 0)
            refusing.said = ["SETTING = 1: must be 2"]
            scene.end(refusing, 1)
            scene.after(LONGEST_WAIT)

        assert caplog.messages[-1] == "drone 0: SETTING = 1: must be 2"
        assert other.heard == [signal.SIGTERM]
        scene.end(other, 0, "shutdown")
        assert (scene.supervisor.working, scene.supervisor.status) == (False, 1)

    def test_our_own_lack_is_not_the_drones(self, scene):
        """A process that cannot be started for want of memory or processes is tried again, as often
        as it takes.
        """
        scene.lack = BlockingIOError(11, "Resource temporarily unavailable")
        scene.supervisor.add([0])
        for _ in range(10):
            scene.after(LONGEST_WAIT)
        scene.lack = None
        scene.after(LONGEST_WAIT)

        assert (scene.supervisor.running, scene.supervisor.status) == (1, 0)


class TestLeftovers:
    """Exit status 1 of a drone that has crawled to its end, but has left something undone."""

    def test_it_is_said_and_no_reason_to_start_again(self, scene, caplog):
        """The others are left alone, and the exit status is 1."""
        first, second = scene.begin(2)
        scene.now += HEALTHY_SECONDS
        scene.reasons[0] = "finished"
        scene.end(first, 1)
        scene.after(LONGEST_WAIT)

        assert caplog.messages == [
            "drone 0 ended with exit status 1, and is not restarted: its log says what is left undone"
        ]
        assert (len(scene.started), second.heard) == (2, [])
        scene.end(second, 0)
        assert (scene.supervisor.working, scene.supervisor.status) == (False, 1)

    def test_a_limit_of_one_is_a_limit_of_all_then_too(self, scene):
        """The others would wait for it in vain, stored or not."""
        first, second = scene.begin(2)
        scene.reasons[0] = "closespider_pagecount"
        scene.end(first, 1)
        scene.after(TOGETHER_SECONDS)

        assert second.heard == [signal.SIGTERM]

    @pytest.mark.parametrize("reason", ["store_failed", None])
    def test_other_failures_are_deaths(self, scene, reason):
        """A drone whose state could not be written, or that has not begun to crawl, is started
        again.
        """
        (drone,) = scene.begin(1)
        scene.reasons[0] = reason
        scene.end(drone, 1)

        assert scene.supervisor.down == [0]


class TestEnds:
    def test_all_that_finish(self, scene):
        """When all drones have finished, all is well."""
        for drone in scene.begin(3):
            assert scene.supervisor.working
            scene.end(drone, 0)

        assert (scene.supervisor.working, scene.supervisor.status) == (False, 0)

    def test_a_drone_that_has_ended_well_stays_so(self, scene):
        """It is not started again while others work, even if it is named once more."""
        first, _ = scene.begin(2)
        scene.end(first, 0, "finished")
        scene.supervisor.add([0, 1])
        scene.after(LONGEST_WAIT)

        assert len(scene.started) == 2

    @pytest.mark.parametrize(
        ("status", "reason", "ended"),
        [(0, "finished", {0}), (0, "shutdown", set()), (-9, "", set())],
    )
    def test_who_has_ended_well(self, scene, status, reason, ended):
        """A drone has ended well if nothing was left for it to do; not if it was stopped, or has
        died.
        """
        first, _ = scene.begin(2)
        scene.end(first, status, reason)

        assert scene.supervisor.ended == ended

    def test_a_limit_of_one_is_a_limit_of_all(self, scene):
        """A drone that ends before the crawl does ends the others: they would wait for it in vain."""
        first, second = scene.begin(2)
        scene.end(first, 0, "closespider_pagecount")
        scene.after(TOGETHER_SECONDS - 1)
        assert second.heard == []
        scene.after(1)

        assert second.heard == [signal.SIGTERM]
        scene.end(second, 0, "shutdown")
        assert scene.supervisor.status == 0

    def test_new_drones(self, scene):
        """Drones that join later are started beside the others."""
        scene.begin(2)
        scene.supervisor.add(range(4))
        scene.supervisor.step()

        assert [process.number for process in scene.started] == [0, 1, 2, 3]

    def test_one_that_has_left_and_is_wanted_again(self, scene):
        """It has ended until it is started anew."""
        _, second = scene.begin(2)
        scene.end(second, 0)
        scene.supervisor.add([0])
        scene.after(1)
        ended = {*scene.supervisor.ended}
        scene.supervisor.add([0, 1])
        scene.after(1)

        assert (ended, scene.supervisor.ended) == ({1}, set())
        assert scene.started[-1].number == 1

    def test_one_that_is_no_longer_wanted(self, scene):
        """A drone that died is not started again once it is not named any more, and its failures
        are not the hive's.
        """
        _, second = scene.begin(2)
        scene.end(second, 1)
        scene.supervisor.add([0])
        scene.after(LONGEST_WAIT)

        assert len(scene.started) == 2
        assert (scene.supervisor.running, scene.supervisor.down) == (1, [])


class TestSignals:
    def test_the_first_ends_all_cleanly(self, scene):
        """All drones get SIGTERM, once, and the supervisor waits for them."""
        drones = scene.begin(2)
        scene.supervisor.signalled()
        scene.after(100)

        assert [drone.heard for drone in drones] == [[signal.SIGTERM]] * 2
        assert scene.supervisor.working
        for drone in drones:
            scene.end(drone, 0, "shutdown")
        assert (scene.supervisor.working, scene.supervisor.status) == (False, 0)

    def test_signals_that_belong_together_are_one(self, scene):
        """A terminal and `timeout` may both signal within half a second: that is one signal."""
        (drone,) = scene.begin(1)
        scene.supervisor.signalled()
        scene.now += SAME_SIGNAL_SECONDS - 0.01
        scene.supervisor.signalled()

        assert drone.heard == [signal.SIGTERM]

    def test_the_second_ends_all_at_once(self, scene):
        """A later one forces the end: what has not ended after two seconds is killed; the exit
        status is 130.
        """
        (drone,) = scene.begin(1)
        scene.supervisor.signalled()
        scene.now += SAME_SIGNAL_SECONDS
        scene.supervisor.signalled()
        scene.after(MERCY_SECONDS - 0.1)
        assert drone.heard == [signal.SIGTERM] * 2
        scene.after(0.1)

        assert drone.heard[-1] == signal.SIGKILL
        scene.end(drone, -signal.SIGKILL)
        assert (scene.supervisor.working, scene.supervisor.status) == (False, 130)

    def test_before_it_listens(self, scene):
        """A drone that ends of the signal itself, because it does not listen yet, has lost nothing."""
        (drone,) = scene.begin(1)
        scene.supervisor.signalled()
        scene.end(drone, -signal.SIGTERM)

        assert scene.supervisor.status == 0

    def test_a_drone_that_cannot_save(self, scene, caplog):
        """A drone that fails to end cleanly is told, is not started again, and makes the exit
        status 1.
        """
        (drone,) = scene.begin(1)
        scene.supervisor.signalled()
        scene.end(drone, 1)

        assert (scene.supervisor.working, scene.supervisor.status) == (False, 1)
        assert (
            caplog.messages[-1]
            == "drone 0 ended with exit status 1: it will resume from its last checkpoint"
        )

    def test_while_one_is_down(self, scene, caplog):
        """A drone that waits to be started again is not started, is told, and makes the exit status
        1.
        """
        first, second = scene.begin(2)
        scene.end(first, -signal.SIGKILL)
        scene.supervisor.signalled()
        scene.end(second, 0, "shutdown")

        assert (scene.supervisor.working, scene.supervisor.status) == (False, 1)
        assert (
            "drone 0 was not running: the next start of the hive starts it too" in caplog.messages
        )

    def test_before_it_was_tried(self, scene, caplog):
        """A drone that was to come in, and has not been started, was not down: nothing of it is
        lost.
        """
        drones = scene.begin(1)
        scene.supervisor.add(range(2))
        scene.supervisor.signalled()
        scene.end(drones[0], 0, "shutdown")

        assert (scene.supervisor.working, scene.supervisor.status) == (False, 0)
        assert "down" not in caplog.text

    def test_what_is_to_be_started_is_work(self, scene):
        """Before its first drone is started a supervisor has work, and none that is down."""
        scene.supervisor.add([0])

        assert (scene.supervisor.working, scene.supervisor.down) == (True, [])

    def test_checkpoints(self, scene):
        """SIGUSR1 is passed on to all that run."""
        drones = scene.begin(2)
        scene.supervisor.checkpoint()

        assert [drone.heard for drone in drones] == [[signal.SIGUSR1]] * 2


class TestOutput:
    def test_warnings_and_errors_are_shown(self, scene, caplog):
        """Warnings and errors of drones are logged with the drone's number and their own level; no
        other lines are.
        """
        caplog.set_level(logging.DEBUG)
        (drone,) = scene.begin(1)
        drone.said = [
            LINE.format("INFO"),
            LINE.format("WARNING"),
            "Traceback:",
            LINE.format("ERROR"),
        ]
        scene.supervisor.step()

        assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
            ("WARNING", "drone 0: [webcrawl.net.dns] no name server answers"),
            ("ERROR", "drone 0: [webcrawl.net.dns] no name server answers"),
        ]

    def test_what_all_say_is_shown_once(self, scene, caplog):
        """What a drone has just said is not shown again when it or others say it; later it is."""
        first, second = scene.begin(2)
        for drone in (first, second):
            drone.said = [LINE.format("WARNING")] * 2
        scene.supervisor.step()
        second.said = [LINE.format("WARNING")]
        scene.after(REPEAT_SECONDS)

        assert caplog.messages == [
            f"drone {n}: [webcrawl.net.dns] no name server answers" for n in (0, 1)
        ]

    def test_a_logged_line_is_not_repeated(self, scene, caplog):
        """The line on a death quotes what the drone printed last, unless that is a line of its log."""
        (drone,) = scene.begin(1)
        drone.said = [LINE.format("INFO")]
        scene.end(drone, 1)

        assert caplog.messages == ["drone 0 died (exit status 1); it is restarted in 1 s"]
