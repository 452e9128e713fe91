"""The order of a graph's commands: every conflict is kept, with as few barriers as the longest chain needs."""

from __future__ import annotations

import random

from lapilli.vk_runtime.graph_plan import plan_order


def test_nothing():
    assert plan_order([]) == []


def test_a_chain_has_a_barrier_between_any_two():
    assert plan_order([([("x", True)], ())] * 3) == [(0, False), (1, True), (2, True)]


def test_readers_share_a_level():
    commands = [([("x", True)], ()), ([("x", False)], ()), ([("x", False)], ()), ([("x", True)], ())]
    assert plan_order(commands) == [(0, False), (1, True), (2, False), (3, True)]


def test_independent_chains_run_side_by_side():
    commands = [([("x", True)], ())] * 3 + [([("y", True)], ())] * 3
    assert plan_order(commands) == [(0, False), (3, False), (1, True), (4, False), (2, True), (5, False)]


def test_waits_order_what_shares_nothing():
    assert plan_order([([("x", True)], ()), ([("y", True)], (0,))]) == [(0, False), (1, True)]


def conflict(first, second):
    return any(a == b and (v or w) for a, v in first[0] for b, w in second[0])


def test_every_conflict_of_random_commands_is_kept():
    rng = random.Random(7)
    for _ in range(300):
        commands = []
        for index in range(rng.randint(1, 15)):
            uses = [(rng.randrange(5), rng.random() < 0.4) for _ in range(rng.randint(0, 3))]
            waits = tuple(i for i in range(index) if rng.random() < 0.05)
            commands.append((uses, waits))
        order = plan_order(commands)
        assert sorted(index for index, _ in order) == list(range(len(commands)))
        epoch, epochs = 0, {}
        for index, has_barrier in order:
            epoch += has_barrier
            epochs[index] = epoch
        for later, command in enumerate(commands):
            for earlier in range(later):
                if conflict(commands[earlier], command) or earlier in command[1]:
                    assert epochs[earlier] < epochs[later]


def test_commands_of_a_kind_go_together_in_a_level():
    commands = [([(name, True)], ()) for name in "abcd"] + [([("a", False), ("e", True)], ())]
    assert plan_order(commands, [7, 3, 7, 3, 3]) == [
        (1, False),
        (3, False),
        (0, False),
        (2, False),
        (4, True),
    ]
