"""Finite groups and their products with shifts: the group oracle, and a brute force on pictures themselves."""

from __future__ import annotations

import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from heldout import Dihedral, HorizontalFlip, InputError, LabelledImages, Translations, orbit_statistics
from heldout.images import Crop, Pad, Upsample, Whole, Wrap, from_arrays
from heldout.independence.plan import ADVERSARIAL, UNTOUCHED, WRONG, Plan
from heldout.independence.rounds import Rounds, Shard, ShardResult, run_shard, shards_of
from heldout.orbit import square
from heldout.scorers import TorchScorer
from heldout.scorers.arrays import NumpyArrays, TorchArrays
from heldout.scorers.canvases import DeviceCanvases, HostCanvases

from ..orbit.test_views import moved
from .brute_force import Orbit
from .test_rounds import Gathers, assert_same, small_net
from .test_score_maps import random_field, run_plan

GROUPS = [HorizontalFlip(), Dihedral()]
PRODUCTS = [HorizontalFlip() * Translations(1), Dihedral() * Translations(1)]
FREE = ["strongest", "random", "random2"]  # rules that ask for no length
EACH = pytest.mark.parametrize("rule", FREE)


def symmetric_pictures(rng, side: int = 4) -> list[np.ndarray]:
    """One without any symmetry, and one for each way to have some."""
    pictures = []
    for kept in [(0,), (0, 4), (0, 6), (0, 5), (0, 7), (0, 2), (0, 1, 2, 3), (0, 2, 4, 6), (0, 2, 5, 7), range(8)]:
        picture = rng.integers(0, 256 // len(kept), (side, side))
        pictures.append(sum(square.acted(picture, g, axes=(0, 1)) for g in kept))
    return pictures


def brute(orbit, side: int, rng, share_right: float = 0.6) -> Orbit:
    """Pictures as bytes on a torus, each with a score of its own, few distinct ones."""

    def score(x: bytes) -> float:
        return 0.0 if rng.random() < share_right else float(rng.integers(1, 4)) / 4

    def move(version, back: bool):
        element, down, right = (int(v) for v in version)

        def forth(x: bytes) -> bytes:
            return moved(np.frombuffer(x, int).reshape(side, side), version).tobytes()

        def undone(x: bytes) -> bytes:
            shifted = moved(np.frombuffer(x, int).reshape(side, side), (0, -down, -right))
            inverse = element if element >= 4 else -element % 4  # a mirror undoes itself
            return moved(shifted, (inverse, 0, 0)).tobytes()

        return undone if back else forth

    elements = orbit.elements
    r = orbit.radius
    moves = [(g, d, w) for g in elements for d in range(-r, r + 1) for w in range(-r, r + 1) if (g, d, w) != (0, 0, 0)]
    return Orbit([move(m, False) for m in moves], [move(m, True) for m in moves], score)


@EACH
@pytest.mark.parametrize(("orbit", "kind"), [(GROUPS[0], "numpy"), (GROUPS[1], "numpy"), (GROUPS[1], "torch")])
def test_a_group_equals_the_brute_force_and_sums_to_zero(orbit, rule, kind, rng):
    """Bit for bit, lazily and all at once, on either kind of array, for pictures with every symmetry there is."""
    if kind == "torch":
        arrays = TorchArrays(pytest.importorskip("torch").device("cpu"))
    else:
        arrays = NumpyArrays()
    table, found_kinds = orbit.table(rule), set()
    for share in (0.2, 0.5, 0.8):
        for picture in symmetric_pictures(rng):
            slow = brute(orbit, 4, rng, share)
            views = [moved(picture, (g, 0, 0)) for g in orbit.elements]
            scores = np.array([[slow.score(view.tobytes()) for view in views]])
            expected = [slow.statistic(view.tobytes(), rule) for view in views]
            kept = square.stabilisers(picture[None, ..., None], orbit.elements)
            dense = orbit_statistics(scores, orbit, rule=rule, unchanged=kept)
            assert dense.tolist() == [expected]
            assert abs(dense.sum()) < 1e-9
            assert sum(slow.statistic(view.tobytes(), rule, Fraction) for view in views) == 0
            low, high = orbit.statistic_range(rule)
            assert low - 1e-15 <= min(expected) <= max(expected) <= high + 1e-15
            found, n_scored = run_plan(Plan(table.merged(kept[0]), rule, arrays), scores, arrays=arrays)
            assert found.statistic.tolist() == expected[:1]
            points = {view.tobytes() for view in views}
            assert (n_scored, bool(found.symmetric)) == (len(points), len(points) < len(views))
            assert found.views_wrong.tolist() == [[slow.score(view.tobytes()) > 0 for view in views]]
            found_kinds.add(int(found.kind[0]))
    assert found_kinds == {UNTOUCHED, ADVERSARIAL, WRONG}


@EACH
@pytest.mark.parametrize(
    ("orbit", "side", "period"), [(PRODUCTS[0], 7, None), (PRODUCTS[0], 3, (3, 3)), (PRODUCTS[1], 4, (4, 4))]
)
def test_a_product_equals_the_brute_force(orbit, rule, side, period, rng):
    """On a torus large enough to be a plane, or one that shifts come round; ties are everywhere."""
    table = orbit.table(rule, period=period)
    for share in (0.5, 0.9):
        picture = rng.integers(0, 10**6, (side, side))
        slow = brute(orbit, side, rng, share)
        starts = [picture, moved(picture, (orbit.elements[-1], 1, 0))]
        scores = np.array([[slow.score(moved(start, v).tobytes()) for v in table.versions] for start in starts])
        found, n_scored = run_plan(Plan(table, rule), scores)
        assert found.statistic.tolist() == [slow.statistic(start.tobytes(), rule) for start in starts]
        assert n_scored.max() <= table.n_positions


@pytest.mark.parametrize("orbit", PRODUCTS, ids=lambda orbit: orbit.name)
def test_distinct_pictures_count_in_products_too(orbit, rng):
    """The rule "strongest" on pictures that are the same after a flip or a turn, and on shifts of such pictures."""
    table = orbit.table("strongest", period=(4, 4))
    for picture in symmetric_pictures(rng)[1::2]:
        slow = brute(orbit, 4, rng)
        starts = [picture, moved(picture, (0, 0, 1)), moved(picture, (4, 1, 2))]
        scores = np.array([[slow.score(moved(start, v).tobytes()) for v in table.versions] for start in starts])
        found, _ = run_plan(Plan(table, "strongest"), scores)
        assert found.statistic.tolist() == [slow.statistic(start.tobytes(), "strongest") for start in starts]


@EACH
@pytest.mark.parametrize(("orbit", "symmetric"), [(PRODUCTS[0], False), (PRODUCTS[0], True), (PRODUCTS[1], True)])
def test_a_product_sums_to_zero_on_the_torus(orbit, rule, symmetric, rng):
    """Every view at every shift is a data point, of pictures that are their own mirror images too."""
    side, table = 4, orbit.table(rule, period=(4, 4))
    picture = symmetric_pictures(rng)[1 if symmetric else 0]
    versions = [(g, d, w) for g in orbit.elements for d in range(side) for w in range(side)]
    points = sorted({moved(picture, v).tobytes() for v in versions})
    level = dict(zip(points, random_field(1, (len(points),)), strict=True))
    field = {v: level[moved(picture, v).tobytes()] for v in versions}

    def at(start, version):
        """tau_v g tau_w h = tau_(v + gw) gh."""
        shift = (square.MATRICES[version[0]] @ start[1:] + version[1:]) % side
        return field[square.PRODUCT[version[0], start[0]], *shift.tolist()]

    scores = np.array([[at(start, version) for version in table.versions.tolist()] for start in versions])
    T = run_plan(Plan(table, rule), scores)[0].statistic
    low, high = orbit.statistic_range(rule)
    assert abs(T.sum()) < 1e-9
    assert low <= T.min() < 0 < T.max() <= high


def pictures(n: int, side: int = 8, *, seed: int = 0, frame=None) -> LabelledImages:
    """Some of them symmetric."""
    rng = np.random.default_rng(seed)
    some = [p.astype(np.uint8) for _ in range(-(-n // 10)) for p in symmetric_pictures(rng, side)]
    source = from_arrays(np.stack(some[:n]), rng.integers(0, 3, n))
    return LabelledImages(source, frame or Whole(), mean=(0.5,), std=(0.25,))


def make_shard(model, images, orbit, rule="strongest", *, path=None, resume=False) -> Shard:
    period = images.source.read(0).shape[:2] if images.frame.wraps else None
    return Shard(
        scorer=model,
        images=images,
        rows=np.arange(len(images)),
        table=orbit.table(rule, period=period),
        rule=rule,
        batch_size=model.batch_size,
        checkpoint=path,
        resume=resume,
    )


@pytest.mark.parametrize(
    ("orbit", "rule", "frame"),
    [
        (GROUPS[0], "strongest", Whole()),
        (GROUPS[1], "strongest", Whole()),
        (GROUPS[1], "random", Crop(6)),
        (GROUPS[1], "random2", Whole()),
        (PRODUCTS[0], "strongest", Wrap()),
        (PRODUCTS[1], "strongest", Crop(6)),
        (PRODUCTS[1], "random", Pad("edge")),
    ],
)
def test_rounds_equal_every_view_scored_one_by_one(orbit, rule, frame, linear_model):
    images = pictures(20, 12, frame=frame)
    side = images.place(0, 0).shape[0]
    model = linear_model((1, side, side), batch_size=7)
    found = run_shard(make_shard(model, images, orbit, rule)).outcomes
    alone, margin, table = linear_model((1, side, side)), orbit.margin(rule), orbit.table(rule)
    assert found.move.shape == (20, 3)
    for i in range(20):
        canvas = images.canvas(i, margin, "nchw")[0]
        views = {g: np.ascontiguousarray(moved(canvas, (g, 0, 0))) for g in orbit.elements}
        at = [(g, margin - d, margin - w) for g, d, w in table.versions.tolist()]
        crops = [views[g][top : top + side, left : left + side] for g, top, left in at]
        logits = alone.logits(np.stack(crops)[:, None])
        scores = (logits.max(axis=1) - logits[:, images.labels[i]])[None]
        if not orbit.is_group:
            assert found.statistic[i] == run_plan(Plan(table, rule), scores)[0].statistic[0]
            continue
        kept = square.stabilisers(canvas[None, ..., None], orbit.elements)
        assert found.statistic[i] == orbit_statistics(scores, orbit, rule=rule, unchanged=kept)[0, 0]
        assert found.views_wrong[i].tolist() == (scores[0] > 0).tolist()
        assert found.symmetric[i] == (len({crop.tobytes() for crop in crops}) < len(crops))
    assert {ADVERSARIAL, WRONG} <= set(found.kind.tolist())


@pytest.mark.parametrize(
    ("orbit", "rule"), [(Dihedral(), "strongest"), (Dihedral(), "random"), (PRODUCTS[1], "strongest")]
)
def test_stopped_sharded_and_on_a_device_they_give_the_same_bits(orbit, rule, tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(HostCanvases, "ask", DeviceCanvases.ask)  # so that batches are the same
    grey = pictures(30, 10, frame=Whole() if orbit.is_group else Wrap())
    images = LabelledImages(
        from_arrays(np.stack([grey.source.read(i).repeat(3, axis=2) for i in range(30)]), grey.labels),
        grey.frame,
        mean=(0.4, 0.5, 0.6),
        std=(0.2, 0.3, 0.1),
        bgr=True,
    )
    net = small_net()
    net(torch.zeros(1, 3, 10, 10))
    here, there = (kind(net, batch_size=8, prepare=False) for kind in (TorchScorer, Gathers))
    expected = run_shard(make_shard(here, images, orbit, rule))
    assert_same(run_shard(make_shard(there, images, orbit, rule)), expected)
    assert {ADVERSARIAL, WRONG} <= set(expected.outcomes.kind.tolist())
    for scorer, path in ((here, tmp_path / "here.npz"), (there, tmp_path / "there.npz")):
        rounds = Rounds(make_shard(scorer, images, orbit, rule, path=path))
        with rounds.reading():
            for _ in range(5):
                rounds.step()
        rounds.shard.kept().save(rounds.state().arrays())
        assert_same(run_shard(make_shard(scorer, images, orbit, rule, path=path, resume=True)), expected)
    monkeypatch.setattr("heldout.independence.rounds.BATCHES_OF_PICTURES", 1)
    shards = shards_of(make_shard(here, images, orbit, rule))
    parts = [run_shard(pickle.loads(pickle.dumps(shard))) for shard in shards]
    merged = ShardResult.joined(parts)
    assert len(parts) == 4
    for name in ("statistic", "symmetric", "views_wrong", "move"):
        assert np.array_equal(getattr(merged.outcomes, name), getattr(expected.outcomes, name)), name


@pytest.mark.parametrize("frame", [Crop(7), Crop(6), Crop(8, resize=11), Upsample(15, crop=8)])
def test_views_are_those_of_whole_pictures(frame, tmp_path, linear_model):
    """A crop of a mirrored picture is not the mirrored crop where the centre lies between two pixels, nor are pixels
    resampled the same way in both directions; an honest model that sees either was found with p = 1e-27."""
    images, orbit = pictures(20, 12, frame=frame), Dihedral()
    if frame.resize is None:  # landscapes
        tall = np.stack([images.source.read(i) for i in range(20)])
        wide = np.concatenate([tall, tall[:, :, :3]], axis=2)
        images = replace(images, source=from_arrays(wide, images.labels))
    model = linear_model((1, frame.size, frame.size), batch_size=11)
    shard = make_shard(model, images, orbit, path=tmp_path / "kept.npz")
    found = run_shard(shard)
    alone = linear_model((1, frame.size, frame.size))
    for i in range(20):
        raw = images.source.read(i)
        views = [frame.place(square.acted(raw, g, axes=(0, 1)), 0) for g in orbit.elements]
        logits = alone.logits(np.stack([images.scaled(view, "nchw", counts=True) for view in views]))
        scores = logits.max(axis=1) - logits[:, images.labels[i]]
        assert found.outcomes.views_wrong[i].tolist() == (scores > 0).tolist()
    assert found.outcomes.views_wrong.any(axis=1).sum() > found.outcomes.views_wrong.all(axis=1).sum()
    rounds = Rounds(shard)
    with rounds.reading():
        for _ in range(4):
            rounds.step()
    shard.kept().save(rounds.state().arrays())
    assert_same(run_shard(replace(shard, resume=True)), found)
    net = pytest.importorskip("torch").nn
    layers = net.Sequential(net.Flatten(), net.Linear(frame.size**2, 3))
    here, there = (kind(layers, batch_size=11, prepare=False) for kind in (TorchScorer, Gathers))
    assert_same(*(run_shard(make_shard(scorer, images, orbit)) for scorer in (here, there)))


def test_views_that_are_the_same_are_scored_once(linear_model):
    images = pictures(10, 6)
    found = run_shard(make_shard(linear_model((1, 6, 6)), images, Dihedral()))
    assert found.outcomes.symmetric.tolist() == [False] + [True] * 9
    assert found.evaluations == 35
    assert found.outcomes.statistic[-1] == 0.0


def test_pictures_that_are_not_square(linear_model):
    images = LabelledImages(from_arrays(np.random.default_rng(0).random((9, 5, 8)), np.arange(9) % 3), Whole())
    found = run_shard(make_shard(linear_model((1, 5, 8)), images, HorizontalFlip())).outcomes
    assert not found.symmetric.any()
    with pytest.raises(InputError, match=r"quarter-turns need square pictures, but these are 5 x 8; .*`crop=5`"):
        run_shard(make_shard(linear_model((1, 5, 8)), images, Dihedral()))


@pytest.mark.parametrize(
    ("scores", "options", "sentence"),
    [
        (np.zeros((2, 3)), {}, r"has shape \(2, 3\); it must be \(n, 8\) for the orbit 'dihedral'"),
        (np.full((1, 8), np.inf), {}, "8 values that are not finite"),
        (np.zeros((1, 8)), {"rule": "nearest"}, "needs moves with a length"),
        (np.zeros((1, 8)), {"unchanged": np.zeros((1, 8), bool)}, "with True in its first column"),
        (np.zeros((1, 8)), {"orbit": Translations(1)}, r"must be heldout\.HorizontalFlip\(\), heldout"),
    ],
)
def test_bad_input(scores, options, sentence):
    with pytest.raises(InputError, match=sentence):
        orbit_statistics(scores, **{"orbit": Dihedral(), **options})
