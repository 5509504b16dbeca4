"""Clusters of near-duplicates among many fingerprints, which lie in files."""

import os
import random

import numpy as np
import pytest

from webcrawl.content import near_clusters
from webcrawl.content.near_clusters import JoinedClusters
from webcrawl.content.near_duplicates import DISTANCE

FAR = (1 << 64) - 1


def clusters(folder, *parts, distance=DISTANCE):
    """The cluster of each fingerprint of these parts, and the number of clusters."""
    folder.mkdir()
    joined = JoinedClusters(folder)
    for part in parts:
        joined.add(np.array(part, np.uint64))
    joined.join(distance)
    found = [one for part in parts for one in part]
    return dict(
        zip(found, map(int, joined.of(np.array(found, np.uint64))), strict=True)
    ), joined.count


def plain(found, distance):
    """The same by comparing each with each: the smallest of all that a chain leads to."""
    names = {one: one for one in found}
    is_settled = False
    while not is_settled:
        is_settled = True
        for one in found:
            for other in found:
                if (one ^ other).bit_count() <= distance and names[other] < names[one]:
                    names[one] = names[other]
                    is_settled = False
    return names


def groups(seed, count):
    """Fingerprints in groups of one to eight, each within a few bits of another of its group."""
    chance, found = random.Random(seed), []
    while len(found) < count:
        one = chance.getrandbits(64)
        for _ in range(chance.choice((1, 2, 8))):
            found.append(one)
            one ^= sum({1 << chance.randrange(64) for _ in range(chance.randrange(6))})
    chance.shuffle(found)
    return found


@pytest.mark.parametrize("distance", [0, 1, 4, 6])
def test_a_cluster_is_whatever_a_chain_leads_to(tmp_path, distance):
    """Two fingerprints are together if near ones lie between them, and then their name is the
    smallest.
    """
    found = groups(distance, 150)
    names, count = clusters(tmp_path / "x", found, distance=distance)

    assert names == plain(found, distance)
    assert count == len(set(names.values()))


def test_parts_and_their_order_do_not_matter(tmp_path):
    """Any division among files, in any order, has the same clusters under the same names."""
    found = groups(1, 400)
    shuffled = random.Random(2).sample(found, len(found))
    whole = clusters(tmp_path / "whole", found)

    assert clusters(tmp_path / "parts", shuffled[:7], [], shuffled[7:300], shuffled[300:]) == whole


def test_more_than_is_in_memory_at_once(tmp_path, monkeypatch):
    """What is near is found wherever pieces of files begin and end."""
    found = groups(3, 400)
    whole = clusters(tmp_path / "whole", found)
    monkeypatch.setattr(near_clusters, "AT_ONCE", 7)

    assert clusters(tmp_path / "pieces", found) == whole


def test_many_equal_ones(tmp_path, monkeypatch):
    """Equal fingerprints are one cluster, also where they fill several pieces."""
    monkeypatch.setattr(near_clusters, "AT_ONCE", 3)

    assert clusters(tmp_path / "x", [5] * 10, [FAR, 5]) == ({5: 5, FAR: FAR}, 2)


def test_without_fingerprints(tmp_path):
    """There are no clusters."""
    assert clusters(tmp_path / "x", []) == ({}, 0)


def test_a_full_disk_is_an_error(tmp_path, monkeypatch):
    """It is one before anything is written there: a mapped file with holes would end the process."""

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match="No space left"):
        clusters(tmp_path / "x", [1, 2, 3])
