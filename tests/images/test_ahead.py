"""Pictures read ahead: in their order, in blocks of one size, whatever is taken at a time."""

from __future__ import annotations

import numpy as np
import pytest

from heldout import LabelledImages
from heldout.images import Pad, from_arrays
from heldout.images.ahead import BLOCK, BLOCK_BYTES, ReadAhead

MARGIN = 4


@pytest.fixture
def images(rng):
    pictures = rng.integers(0, 256, (900, 32, 32, 3), dtype=np.uint8)
    return LabelledImages(from_arrays(pictures, np.zeros(900, int)), Pad())


def test_blocks_have_their_size_from_the_first_on(images):
    """Two megabytes each: a device waits longer for many small arrivals than for few large ones."""
    sent = []

    def send(pixels):
        sent.append(len(pixels))
        return pixels

    with ReadAhead(images, np.arange(900), MARGIN, ahead=800, send=send) as ahead:
        found = np.concatenate(list(ahead.take(900)))
    each = BLOCK_BYTES // (40 * 40 * 3)
    assert each > BLOCK
    assert sorted(sent, reverse=True) == [each, each, 900 - 2 * each]
    assert np.array_equal(found, images.place_many(np.arange(900), MARGIN))


def test_whatever_is_taken_comes_in_order(images):
    rows = np.random.default_rng(0).permutation(900)
    with ReadAhead(images, rows, MARGIN, ahead=64) as ahead:
        found = [np.concatenate(list(ahead.take(n))) for n in (1, 64, 500, 335)]
        assert list(ahead.take(0)) == []
    assert np.array_equal(np.concatenate(found), images.place_many(rows, MARGIN))


def test_nothing_to_read(images):
    with ReadAhead(images, np.arange(0), MARGIN, ahead=64) as ahead:
        assert list(ahead.take(0)) == []
