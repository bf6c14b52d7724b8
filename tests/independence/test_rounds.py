"""Rounds: same numbers as the whole map, full batches, bounded memory, bit-exact resume, on either kind of array."""

from __future__ import annotations

import gc
import pickle
import weakref

import numpy as np
import pytest

from heldout import InputError, Translations, audit, score_map_statistics
from heldout.images import Crop, LabelledImages, Pad, Upsample, Wrap, from_arrays
from heldout.independence.plan import ADVERSARIAL, WRONG, Plan
from heldout.independence.rounds import Rounds, Shard, ShardResult, run_shard, shards_of
from heldout.orbit import RULES
from heldout.scorers import TorchScorer
from heldout.scorers.batches import OutOfMemoryError, excess_scores
from heldout.scorers.canvases import DeviceCanvases, HostCanvases, window


def pictures(n: int, side: int = 12, *, seed: int = 0, n_classes: int = 3) -> LabelledImages:
    rng = np.random.default_rng(seed)
    return LabelledImages(
        from_arrays(rng.integers(0, 256, (n, side, side), dtype=np.uint8), rng.integers(0, n_classes, n)), Wrap()
    )


def make_shard(model, images: LabelledImages, rule="strongest", radius=1, *, path=None, resume=False, **more) -> Shard:
    period = images.source.read(0).shape[:2] if images.frame.wraps else None
    return Shard(
        scorer=model,
        images=images,
        rows=np.arange(len(images)),
        table=Translations(radius).table(rule, period=period),
        rule=rule,
        batch_size=model.batch_size,
        checkpoint=path,
        resume=resume,
        fingerprint={"id": 1, **more},
    )


def assert_same(found: ShardResult, expected: ShardResult) -> None:
    for name, values in vars(expected.outcomes).items():
        assert np.array_equal(getattr(found.outcomes, name), values, equal_nan=True), name
    assert found.evaluations == expected.evaluations


def whole_maps(model, images: LabelledImages, margin: int) -> np.ndarray:
    """Every score within the margin, one crop at a time."""
    maps = np.empty((len(images), 2 * margin + 1, 2 * margin + 1))
    for i in range(len(images)):
        canvas = images.canvas(i, margin, "nchw")
        for down in range(-margin, margin + 1):
            for right in range(-margin, margin + 1):
                crop = window(canvas, margin, down, right, False)
                logits = model.logits(crop[None])
                maps[i, down + margin, right + margin] = excess_scores(logits, images.labels[i : i + 1], ["x"])[0]
    return maps


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("frame", ["wrap", "crop", "upsample", "reflect", "zero", "edge"])
def test_equals_the_whole_map_bit_for_bit(rule, frame, linear_model):
    images = pictures(25, 14)
    if frame == "crop":
        images = images.with_frame(Crop(8))
    elif frame == "upsample":
        images = images.with_frame(Upsample(18, crop=12))
    elif frame != "wrap":
        images = images.with_frame(Pad(frame))
    model = linear_model((1, *images.place(0, 0).shape[:2]), batch_size=7)
    outcomes = run_shard(make_shard(model, images, rule)).outcomes
    maps = whole_maps(linear_model((1, *images.place(0, 0).shape[:2])), images, Translations(1).margin(rule))
    expected = score_map_statistics(maps, radius=1, rule=rule)
    assert np.array_equal(outcomes.statistic, expected)
    assert (outcomes.kind == 2).sum() == (maps[:, maps.shape[1] // 2, maps.shape[2] // 2] > 0).sum()
    assert len(set(outcomes.kind)) == 3, "the pictures should show all three kinds"


def test_batches_are_always_full_and_nothing_is_scored_twice(linear_model):
    images = pictures(50)
    model = linear_model((1, 12, 12), batch_size=16)
    found = run_shard(make_shard(model, images))
    assert set(model.batches) == {16}
    assert len(model.batches) <= -(-found.evaluations // 16) + 3, "only the last few batches may be filled up"


def test_memory_is_bounded_by_the_batch_not_by_the_set(linear_model):
    rounds = Rounds(make_shard(linear_model((1, 12, 12), batch_size=8), pictures(400)))
    rounds.run()
    assert len(rounds._maps) == len(rounds.canvases._canvases) == 8


@pytest.mark.parametrize("fails", [False, True])
def test_pictures_are_given_back_when_a_shard_ends(fails, linear_model, monkeypatch):
    """Not when Python next looks for cycles: a smaller batch would be tried beside the memory it is to free."""
    made = []

    class Watched(HostCanvases):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            made.append(weakref.ref(self))

        def scores(self, slots, versions):
            if fails and len(made) == 1:
                raise OutOfMemoryError("no room")
            assert sum(there() is not None for there in made) == 1
            return super().scores(slots, versions)

    monkeypatch.setattr("heldout.scorers.canvases.HostCanvases", Watched)
    gc.collect()
    gc.disable()
    try:
        run_shard(make_shard(linear_model((1, 12, 12), batch_size=16), pictures(40)))
        assert [there() for there in made] == [None] * (1 + fails)
    finally:
        gc.enable()


def test_content_moves_with_the_move():
    """A bright pixel in the middle, moved by (1, 2), is one lower and two to the right."""
    picture = np.zeros((1, 7, 7), np.uint8)
    picture[0, 3, 3] = 255
    for frame in (Wrap(), Crop(3), Pad("zero")):
        images = LabelledImages(from_arrays(picture, [0]), frame)
        size = images.place(0, 0).shape[0]
        canvas = images.canvas(0, 2, "nchw")
        moved = window(canvas, 2, 1, 1, False)
        assert np.argwhere(moved[0]).tolist() == [[size // 2 + 1, size // 2 + 1]]
        assert np.array_equal(
            window(images.canvas(0, 2, "nhwc"), 2, -1, 1, True)[..., 0], window(canvas, 2, -1, 1, False)[0]
        )


@pytest.mark.parametrize("rule", ["strongest", "random"])
def test_resume_gives_the_same_bits_wherever_it_was_stopped(rule, tmp_path, linear_model):
    def model():
        return linear_model((1, 12, 12), batch_size=16)

    images = pictures(40)
    whole = run_shard(make_shard(model_of_whole := model(), images, rule))
    n_batches = len(model_of_whole.batches)
    for stop in range(0, n_batches, max(1, n_batches // 7)):
        path = tmp_path / f"{stop}.npz"
        first = Rounds(make_shard(model(), images, rule, path=path))
        with first.reading():
            for _ in range(stop):
                first.step()
        first.shard.kept().save(first.state().arrays())
        resumed = run_shard(make_shard(second := model(), images, rule, path=path, resume=True))
        assert_same(resumed, whole)
        assert len(second.batches) == n_batches - stop, "what was scored is not scored again"


def test_work_of_a_version_without_views_is_taken_up(tmp_path, linear_model):
    images, path = pictures(60), tmp_path / "x.npz"
    expected = run_shard(make_shard(linear_model((1, 12, 12), batch_size=8), images))
    rounds = Rounds(make_shard(linear_model((1, 12, 12), batch_size=8), images, path=path))
    for _ in range(20):
        rounds.step()
    arrays = rounds.state().arrays()
    older = {
        name: values for name, values in arrays.items() if name not in ("outcome_symmetric", "outcome_views_wrong")
    }
    assert len(older) == len(arrays) - 2
    rounds.shard.kept().save(older)
    assert_same(
        run_shard(make_shard(linear_model((1, 12, 12), batch_size=8), images, path=path, resume=True)), expected
    )


def test_a_model_that_breaks_half_way_loses_nothing(tmp_path, linear_model):
    class Breaks(linear_model):
        def logits(self, batch):
            if len(self.batches) == 5:
                raise RuntimeError("no such luck\nsecond line")
            return super().logits(batch)

    images, path = pictures(40), tmp_path / "c.npz"
    with pytest.raises(InputError, match=r"the model \S+ fails on a batch of shape \(16, 1, 12, 12\).*no such luck\.$"):
        run_shard(make_shard(Breaks((1, 12, 12)), images, path=path))
    resumed = run_shard(make_shard(linear_model((1, 12, 12)), images, path=path, resume=True))
    assert_same(resumed, run_shard(make_shard(linear_model((1, 12, 12)), images)))


@pytest.mark.parametrize("stop", range(0, 16, 2))
def test_an_interrupt_anywhere_leaves_a_checkpoint_that_can_be_resumed(stop, tmp_path, linear_model, monkeypatch):
    """Ctrl-C may fall between any two lines: what is on disk is always a whole state."""
    monkeypatch.setattr("heldout.checkpoints.SECONDS", 0.0)
    images, path = pictures(40), tmp_path / "c.npz"
    rounds = Rounds(make_shard(linear_model((1, 12, 12)), images, path=path))
    decide, calls = rounds.plan.decide, [0]

    def interrupted(maps, ask):
        calls[0] += 1
        if calls[0] == stop + 1:
            raise KeyboardInterrupt
        return decide(maps, ask)

    rounds.plan.decide = interrupted
    with pytest.raises(KeyboardInterrupt):
        rounds.run()
    resumed = run_shard(make_shard(linear_model((1, 12, 12)), images, path=path, resume=True))
    assert_same(resumed, run_shard(make_shard(linear_model((1, 12, 12)), images)))


def test_checkpoints_of_others_and_damaged_ones_are_refused(tmp_path, linear_model):
    images, path = pictures(10), tmp_path / "c.npz"
    rounds = Rounds(make_shard(linear_model((1, 12, 12)), images, path=path))
    rounds.step()
    rounds.shard.kept().save(rounds.state().arrays())
    with pytest.raises(InputError, match="belongs to another audit: id was 1, is 2"):
        run_shard(make_shard(linear_model((1, 12, 12)), images, path=path, resume=True, id=2))
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], b"", b"PK\x03\x04 nonsense"):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"is damaged .* delete it to start again"):
            run_shard(make_shard(linear_model((1, 12, 12)), images, path=path, resume=True))


def test_shards_are_fixed_ranges_that_merge_to_the_same_bits(linear_model, monkeypatch):
    """Cut by the number of pictures and the batch size, pickled, run in any order."""
    monkeypatch.setattr("heldout.independence.rounds.BATCHES_OF_PICTURES", 2)
    whole = make_shard(linear_model((1, 12, 12), batch_size=8), pictures(40))
    shards = shards_of(whole)
    assert [shard.rows.tolist() for shard in shards] == [list(range(16)), list(range(16, 32)), list(range(32, 40))]
    found = {i: run_shard(pickle.loads(pickle.dumps(shards[i]))) for i in (2, 0, 1)}
    merged = ShardResult.joined([found[i] for i in range(3)])
    assert_same(merged, ShardResult.joined([run_shard(shard) for shard in shards]))
    assert np.array_equal(merged.outcomes.statistic, run_shard(whole).outcomes.statistic)


def test_out_of_memory_halves_the_batch_and_restarts_the_shard(linear_model, tmp_path):
    class Small(linear_model):
        """A device that holds five pictures."""

        def logits(self, batch):
            if len(batch) > 5:
                raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
            return super().logits(batch)

    images, path = pictures(40), tmp_path / "c.npz"
    found = run_shard(make_shard(Small((1, 12, 12), batch_size=16), images, path=path))
    assert found.batch_size == 4
    assert_same(found, run_shard(make_shard(linear_model((1, 12, 12), batch_size=4), images)))
    resumed = run_shard(make_shard(again := Small((1, 12, 12), batch_size=16), images, path=path, resume=True))
    assert_same(resumed, found)
    assert again.batches == []


def test_an_audit_goes_on_with_smaller_batches_and_says_so_once(linear_model):
    class Small(linear_model):
        def logits(self, batch):
            if len(batch) > 5:
                raise MemoryError
            return super().logits(batch)

    said: list[str] = []
    options = {"orbit": Translations(1), "allow_chance": True, "notify": said.append}
    result = audit(Small((1, 12, 12)), pictures(40), **options)
    assert result.batch_sizes == (4,)
    assert sum("the device ran out of memory at 16 pictures per batch" in sentence for sentence in said) == 1
    assert np.array_equal(result.T, audit(linear_model((1, 12, 12), batch_size=4), pictures(40), **options).T)


def test_a_device_that_holds_not_even_one_picture_is_told(linear_model):
    class Full(linear_model):
        def logits(self, batch):
            raise MemoryError

    with pytest.raises(InputError, match=r"runs out of memory on a batch of shape \(1, .*; choose another `device`"):
        run_shard(make_shard(Full((1, 12, 12), batch_size=4), pictures(10)))


class Gathers(TorchScorer):
    """Cuts windows where its model is, on a CPU too."""

    gathers = True


def small_net():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.LazyLinear(3))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("pixels", ["uint8", "float"])
def test_windows_gathered_on_a_torch_device_give_the_same_bits(rule, pixels, tmp_path, monkeypatch):
    """The device path on "cpu" against windows cut here, and one that was stopped half way."""
    torch = pytest.importorskip("torch")
    assert HostCanvases.ask < DeviceCanvases.ask
    monkeypatch.setattr(HostCanvases, "ask", DeviceCanvases.ask)  # so that batches are the same

    rng = np.random.default_rng(1)
    values = rng.integers(0, 256, (24, 10, 10, 3), dtype=np.uint8)
    values = values if pixels == "uint8" else (values / 255).astype(np.float32)
    images = LabelledImages(
        from_arrays(values, rng.integers(0, 3, 24)), Pad(), mean=(0.4, 0.5, 0.6), std=(0.2, 0.3, 0.1), bgr=True
    )
    net = small_net()
    net(torch.zeros(1, 3, 10, 10))
    here, there = (kind(net, batch_size=8, prepare=False) for kind in (TorchScorer, Gathers))
    expected = run_shard(make_shard(here, images, rule))
    assert_same(run_shard(make_shard(there, images, rule)), expected)
    rounds = Rounds(make_shard(there, images, rule, path=tmp_path / "c.npz"))
    with rounds.reading():
        for _ in range(5):
            rounds.step()
    rounds.shard.kept().save(rounds.state().arrays())
    assert_same(run_shard(make_shard(there, images, rule, path=tmp_path / "c.npz", resume=True)), expected)
    assert {ADVERSARIAL, WRONG} <= set(expected.outcomes.kind.tolist())


@pytest.mark.parametrize("gathers", [True, False])
def test_what_goes_wrong_on_a_torch_device_is_told_in_the_same_sentences(gathers, monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(TorchScorer, "gathers", gathers)
    values = np.random.default_rng(0).random((9, 6, 6, 3))
    images = LabelledImages(from_arrays(values, np.arange(9) % 3), Wrap())

    class Says(torch.nn.Module):
        def __init__(self, answer):
            super().__init__()
            self.answer = answer

        def forward(self, x):
            return self.answer(x)

    def fails(x):
        raise ValueError("expected one channel.")

    for answer, sentence in [
        (lambda x: x.sum((1, 2, 3))[:, None] * torch.tensor([1.0, torch.nan, 2.0]), "NaN or infinite logits for pict"),
        (lambda x: x.mean((2, 3))[:, :2], "knows 2 classes, but picture 2 has label 2"),
        (lambda x: x.mean((2, 3))[:3], r"returns shape \(3, 3\) for a batch of 4; "),
        (
            fails,
            r"model Says fails on a batch of shape \(4, 3, 6, 6\) \(nchw\): ValueError: expected one channel\.",
        ),
    ]:
        with pytest.raises(InputError, match=sentence):
            run_shard(make_shard(TorchScorer(Says(answer), batch_size=4), images))


def test_excess_scores_and_a_tied_top_logit_is_right():
    logits = np.array([[1.0, 2.0, 0.0], [2.0, 2.0, 1.0], [3.0, 2.0, 1.0]])
    assert excess_scores(logits, np.array([0, 0, 2]), ["a", "b", "c"]).tolist() == [1.0, 0.0, 2.0]


@pytest.mark.parametrize(
    ("logits", "sentence"),
    [
        (np.zeros((2, 2)), "knows 2 classes, but picture b has label 2"),
        (np.array([[0.0, 1, 2], [0, np.nan, 1]]), "NaN or infinite logits for picture b"),
        (np.array([[0.0, np.inf, 2], [0, 0, 1]]), "NaN or infinite logits for picture a"),
    ],
)
def test_bad_logits(logits, sentence):
    with pytest.raises(InputError, match=sentence):
        excess_scores(logits, np.array([0, 2]), ["a", "b"])


@pytest.mark.parametrize("shape", [(16,), (16, 3, 1), (15, 3)])
def test_bad_output_shape(shape, linear_model):
    class Odd(linear_model):
        def logits(self, batch):
            return np.zeros(shape)

    with pytest.raises(InputError, match=r"returns shape .* for a batch of 16; .* logits are needed"):
        run_shard(make_shard(Odd((1, 12, 12)), pictures(10)))


def test_a_score_that_is_not_finite_is_never_saved(tmp_path):
    """A picture whose logits are infinite when it is moved: a resumed run, too, finds that out."""
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    values, labels = rng.integers(0, 256, (40, 8, 8, 3), dtype=np.uint8), rng.integers(0, 3, 40)
    values[7], labels[7] = 0, 2
    values[7, 3, 3] = 255

    class Marked(torch.nn.Module):
        def forward(self, x):
            found = 10 * x.mean((2, 3))
            found[(x[:, :, 2, 3] == 1).all(1) & (x.sum((1, 2, 3)) == 3), 0] = torch.inf
            return found

    images = LabelledImages(from_arrays(values, labels), Wrap())
    for resume in (False, True, True):
        shard = make_shard(Gathers(Marked(), batch_size=8), images, path=tmp_path / "c.npz", resume=resume)
        with pytest.raises(InputError, match="NaN or infinite logits for picture 7"):
            run_shard(shard)


def test_memory_that_runs_out_in_a_decision_halves_the_batch(linear_model, monkeypatch):
    decide = Plan.decide

    def decided(self, maps, ask):
        if len(maps) > 4:
            raise RuntimeError("CUDA out of memory. Tried to allocate 200 MiB")
        return decide(self, maps, ask)

    images = pictures(20)
    expected = run_shard(make_shard(linear_model((1, 12, 12), batch_size=4), images))
    monkeypatch.setattr(Plan, "decide", decided)
    told: list[tuple[int, ...]] = []
    found = run_shard(make_shard(linear_model((1, 12, 12), batch_size=16), images), lambda *each: told.append(each))
    assert_same(found, expected)
    assert found.batch_size == 4
    assert {size for *_, size in told} == {16, 8, 4}  # said while it runs


def test_a_device_that_fails_late_is_told_in_a_sentence(linear_model, monkeypatch, tmp_path):
    """Kernels are not waited for, and a dead device has no state to save: the first error is the one that is told."""

    def dead(*args):
        raise RuntimeError("CUDA error: device-side assert triggered\nCompile with ...")

    path = tmp_path / "c.npz"
    monkeypatch.setattr(Plan, "decide", dead)
    monkeypatch.setattr(Rounds, "state", lambda self: 1 / 0)
    with pytest.raises(InputError, match=r"^the model \S+ fails on a batch .*RuntimeError: CUDA error: device-side"):
        run_shard(make_shard(linear_model((1, 12, 12)), pictures(10), path=path))
    assert not path.exists()


@pytest.mark.parametrize("rule", ["random", "strongest"])
def test_no_round_is_decided_twice_for_nothing(rule, linear_model, monkeypatch):
    """Only where a larger `ask` changes what is asked for."""
    decide, same = Plan.decide, []

    def decided(self, maps, ask):
        found = decide(self, maps, ask)
        if ask > 3:
            same.append(np.array_equal(found.asked, decide(self, maps, 3).asked))
        return found

    monkeypatch.setattr(Plan, "decide", decided)
    run_shard(make_shard(linear_model((1, 12, 12)), pictures(40), rule))
    assert not any(same)
    assert bool(same) == (rule == "strongest")
