"""The frontier against a plain model where the order changes while URLs wait."""

from tests.frontier.test_frontier_machine import FrontierMachine
from tests.support.examples import examples
from webcrawl.frontier.prioritizers.depth import ByChance


class ChoosingMachine(FrontierMachine):
    """The best of what is next is chosen, at the front-end and at hosts: nothing is lost or doubled, nobody hurried."""

    prioritizer = ByChance(3)


TestChoosingMachine = ChoosingMachine.TestCase
TestChoosingMachine.settings = examples(20, stateful_step_count=40)
