"""Batches that a device's memory does not hold: each part of an audit has its own size, a resumed one the same."""

from __future__ import annotations

import numpy as np
import pytest

from heldout import InputError, Translations, audit, audit_many
from heldout.checkpoints import CheckpointFolder
from heldout.images import LabelledImages, Upsample, Wrap, from_arrays
from heldout.independence.work import Look, look_at

OPTIONS = {"orbit": Translations(1), "allow_chance": True, "allow_frame_drop": True, "n_resamples": 19, "level": 0.2}


def pictures(seed: int = 0, n: int = 60, frame=None) -> LabelledImages:
    rng = np.random.default_rng(seed)
    return LabelledImages(
        from_arrays(rng.integers(0, 256, (n, 16, 16), dtype=np.uint8), rng.integers(0, 2, n)), frame or Wrap()
    )


class Halves:
    """Compares two halves of a picture; its device holds `room(call, shape)` pictures, and it breaks when told to."""

    layout, batch_size, name = "nchw", 16, "Halves"

    def __init__(self, room=lambda call, shape: 100, breaks=10**9):
        self.room, self.breaks, self.sizes = room, breaks, []

    def digest(self):
        return "halves"

    def logits(self, batch):
        self.breaks -= 1
        if self.breaks < 0:
            raise RuntimeError("no such luck")
        self.sizes.append(len(batch))
        if len(batch) > self.room(len(self.sizes), batch.shape):
            raise MemoryError
        half = batch.shape[-1] // 2
        return np.stack([batch[..., :half].sum((1, 2, 3)), batch[..., half:].sum((1, 2, 3))], 1) + 0.01 * len(batch)


def test_an_audit_goes_on_from_its_own_look_where_originals_do_not_fit(tmp_path, monkeypatch):
    monkeypatch.setattr("heldout.checkpoints.SHORT", 0.0)
    images = pictures(frame=Upsample(22, crop=14))
    models = [Halves(lambda call, shape: 8 if shape[-1] == 16 else 100) for _ in range(2)]
    kept, unkept = (audit(m, images, checkpoint=f, **OPTIONS) for m, f in zip(models, (tmp_path, None), strict=True))
    assert list(tmp_path.glob("*-16-look-*.npz"))
    assert kept.batch_sizes == (8,)
    assert kept == unkept


def test_a_resumed_audit_has_the_batches_of_the_first_one_though_there_is_room_again(tmp_path):
    """Memory runs out in the look at the control alone, and the run is stopped while it scores."""
    options = {**OPTIONS, "control": pictures(1)}
    model = Halves()
    audit(model, pictures(), **options)
    in_looks = 6  # calls for the look at one set: first batch, two more to see whether it repeats, the rest

    def little(call, shape):
        return 8 if in_looks < call <= 2 * in_looks else 100

    said: list[str] = []
    whole = audit(Halves(little), pictures(), notify=said.append, **options)
    assert sum("going on with fewer" in sentence for sentence in said) == 1
    assert whole.batch_sizes == (8,)
    with pytest.raises(InputError, match="no such luck"):
        audit(Halves(little, breaks=len(model.sizes) - 20), pictures(), checkpoint=tmp_path, **options)
    again = Halves()
    assert audit(again, pictures(), checkpoint=tmp_path, resume=True, **options) == whole
    assert set(again.sizes) == {8, 16}  # of the control and of the test set


def test_models_of_one_name_have_batches_of_their_own():
    small, large = Halves(lambda call, shape: 8), Halves()
    small.digest = lambda: "small"
    said: list[str] = []
    assert audit_many([small, large], pictures(), notify=said.append, **OPTIONS).batch_sizes == (8, 16)
    assert set(large.sizes) == {16}
    other = Halves(lambda call, shape: 8)
    audit_many([small, other], pictures(), notify=said.append, **OPTIONS)
    assert sum("going on with fewer" in sentence for sentence in said) == 3


def test_the_count_in_float32_halves_its_own_batches_only(tmp_path, monkeypatch):
    monkeypatch.setattr("heldout.checkpoints.SHORT", 0.0)

    class Brief(Halves):
        precision = "bfloat16"

        def plain(self):
            return Halves(lambda call, shape: 5)

    result = audit(Brief(), pictures(), checkpoint=tmp_path, **OPTIONS)
    assert result.batch_sizes == (16,)
    assert result.in_float32[0].pictures == 60
    Brief.plain = lambda self: Halves(lambda call, shape: 0)
    with pytest.raises(InputError, match=r"^in float32, where answers are compared, the model Halves runs out of mem"):
        audit(model := Brief(), pictures(), **OPTIONS)
    assert set(model.sizes) == {16}


def test_a_look_stops_where_it_is_no_longer_wanted_and_keeps_what_it_has(tmp_path, monkeypatch):
    monkeypatch.setattr("heldout.checkpoints.SHORT", 0.0)
    images, calls = pictures(frame=Upsample(22, crop=14)), []

    def look(model, tell):
        rows, kept = np.arange(60), CheckpointFolder(tmp_path, of="audit")
        return look_at(Look(model, images, rows, rows, Translations(1), 16, "Halves", False, kept), tell)

    def stops():
        calls.append(1)
        if len(calls) == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        look(Halves(), stops)
    assert {path.name.split("-")[1] for path in tmp_path.iterdir()} == {"look", "originals"}
    again = Halves()
    look(again, lambda: None)
    assert len(again.sizes) == 3 + 1 + 1 + 3  # first batch thrice; timed; first originals; those that were left
