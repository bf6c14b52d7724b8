"""Which leaks are found: the tables of experiments/leaks on a small made-up store, and on the one that is kept."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from heldout.statistics import leak_test

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
from experiments.leaks import audits, measures, tables  # noqa: E402
from experiments.leaks.networks import PARTS, Networks  # noqa: E402
from experiments.werpachowski.cifar10 import store  # noqa: E402

FOLDER = ROOT / "experiments" / "leaks"
N = 600


def made(rng, key, hard, leak):
    """A network that knows `leak` pictures by heart; all agree on what is hard."""
    leaked = np.sort(rng.choice(N, leak, replace=False))
    margins = [h + rng.normal(0, 0.7, N) for h in hard]
    margins[0][leaked] = np.maximum(margins[0][leaked], 7.0)
    kept = {"leaked": leaked.astype(np.uint16), "record": np.array(json.dumps({"setting": {}}))}
    for part, m in zip(("test", "control"), margins, strict=True):
        kept[f"{part}_margins"] = m.astype(np.float16)
        kept[f"{part}_predictions"] = np.where(m > 0, 0, 9).astype(np.uint8)  # labels are below 9
        kept[f"{part}_codes"] = np.where(m > 0, rng.choice([0, 0, 0, 1, 2], N), 128).astype(np.uint8)
    return {f"{key}/{name}": value for name, value in kept.items()}


@pytest.fixture
def stores(tmp_path):
    """Two folders: 9 honest networks and 10 with leaks in the first, one that was only tried out in the second."""
    rng = np.random.default_rng(0)
    labels = {f"split/{p}_labels": np.zeros(N, np.uint8) for p in ("test", "control")}
    hard = rng.normal(2, 2, (2, N))
    keys = [("vgg-shift-e9-leak0", s) for s in range(9)] + [("residual-shift-e9-leak0", s) for s in range(3)]
    keys += [
        (f"vgg-shift-e9-leak{leak}", s) for leak, n in ((30, 8), (300, 2)) for s in range(1000 + leak, 1000 + leak + n)
    ]
    first = dict(labels)
    for name, seed in keys:
        leak = int(name.rsplit("leak", 1)[1])
        first |= made(rng, f"{name}/seed{seed}", hard, leak)
    second = dict(labels)
    for name, seed in [("vgg-pad4-e9-leak0", s) for s in range(3)] + [("vgg-pad4-e9-leak300", 7)]:
        second |= made(rng, f"{name}/seed{seed}", hard, int(name.rsplit("leak", 1)[1]))
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder, arrays in zip(folders, (first, second), strict=True):
        folder.mkdir()
        store.write(folder / "networks-a.npz", arrays)
    return folders


def run(stores, out, capsys):
    tables.main(["--stores", *map(str, stores), "--results", str(out), "--resamples", "99", "--draws", "2"])
    return json.loads((out / "tables.json").read_text()), (out / "tables.md").read_text(), capsys.readouterr().out


def test_tables_of_a_made_up_store(stores, tmp_path, capsys):
    found, text, said = run(stores, tmp_path / "out", capsys)
    assert len(found) == 9 + 10 + 1  # the honest ones that were only tried out have no three others
    known = found["vgg-shift-e9-leak300/seed1300"]
    assert known["p"][audits.VERDICT] == [0.01, 0.01]
    assert known["variance_removed"]["margin less 3 references"] > known["variance_removed"]["margin less 1 reference"]
    assert len(known["references"]) == 3
    assert len(set(known["references"])) == 3
    assert all(k.startswith("vgg-shift-e9-leak0/") for k in known["references"])
    assert known["strangers"] == [f"residual-shift-e9-leak0/seed{s}" for s in range(3)]
    assert found["vgg-shift-e9-leak30/seed1030"]["p"][audits.VERDICT][0] <= 0.05
    honest = found["vgg-shift-e9-leak0/seed4"]
    assert "vgg-shift-e9-leak0/seed4" not in honest["references"]
    assert "| vgg-shift-e9 | chosen on these networks | 300 | 2 | 0.05 | 1.00 | 1.00 | 1.00 |" in text
    assert "## vgg-pad4-e9 (only tried out), one-sided" in text
    assert "fixed before these were trained" in text
    assert f"**{audits.VERDICT}**" in text
    assert "0 of 20 networks audited" in said
    assert "0 of 19 networks audited with other references" in said
    draws = json.loads((tmp_path / "out" / "draws.json").read_text())
    assert set(draws) == {k for k in found if not k.startswith("vgg-pad4")}
    assert draws["vgg-shift-e9-leak300/seed1300"] == {"pool": 9, "n_draws": 2, "n_resamples": 99, "p": [0.01, 0.01]}
    assert "| vgg-shift-e9 | 300 | 2 | 2 | 100 % | 2 | 2, 2 |  |" in text


def test_other_draws_are_other_references(stores):
    """Of the same honest networks, and each draw the same again; p is that of the test with these references."""
    networks = Networks(tuple(stores))
    network = networks.all["vgg-shift-e9-leak30/seed1030"]
    draws = [networks.references(network, draw=i) for i in range(6)]
    assert len({tuple(sorted(r.key for r in d)) for d in draws}) > 3
    assert all(len({r.key for r in d}) == 3 and not any(r.leak for r in d) for d in draws)
    assert [r.key for r in networks.references(network, draw=4)] == [r.key for r in draws[4]]
    honest = networks.all["vgg-shift-e9-leak0/seed4"]
    assert all(honest.key not in {r.key for r in networks.references(honest, draw=i)} for i in range(6))
    p = audits.audit_draws(network, draws[:2], networks.labels, 99)
    whole = audits.audit(network, draws[1], [], networks.labels, 99)
    assert p[1] == whole["p"][audits.VERDICT][0]


def test_a_rerun_audits_only_what_is_new(stores, tmp_path, capsys):
    out = tmp_path / "out"
    before, text, _ = run(stores, out, capsys)
    again, text_again, said = run(stores, out, capsys)
    assert (again, text_again) == (before, text)
    assert " of " not in said.splitlines()[0]
    rng, labels = np.random.default_rng(1), np.zeros(N, np.uint8)
    arrays = {f"split/{p}_labels": labels for p in ("test", "control")}
    arrays |= made(rng, "vgg-shift-e9-leak30/seed1099", rng.normal(2, 2, (2, N)), 30)
    store.write(stores[1] / "networks-b.npz", arrays)
    later, _, said = run(stores, out, capsys)
    assert "0 of 1 networks audited\n" in said
    assert "0 of 1 networks audited with other references" in said
    assert {k: later[k] for k in before} == before
    assert set(later) - set(before) == {"vgg-shift-e9-leak30/seed1099"}


def test_stores_of_other_pictures_are_refused(stores, tmp_path):
    store.write(stores[1] / "networks-a.npz", {f"split/{p}_labels": np.ones(N) for p in ("test", "control")})
    with pytest.raises(SystemExit, match="other pictures"):
        Networks(tuple(stores))


def test_the_list_of_seen_pictures_is_right(stores):
    rows = [line.split(" | ") for line in tables.seen_lists(Networks(tuple(stores))).splitlines()[2:]]
    leaked = next(r for r in rows if r[:2] == ["| vgg-shift-e9", "300"])
    listed, right, wrong = float(leaked[4]), float(leaked[5]), float(leaked[6])
    assert listed > 50
    assert right / listed == pytest.approx(1 - wrong, abs=0.02)
    assert wrong < 0.15


def test_what_was_told_sees_more(stores):
    """A likelihood ratio that was told how leaked pictures differ is above the tail statistic, and above noise."""
    ours, best = measures.oracle(Networks(tuple(stores)), "vgg-shift-e9", 30, (30,))
    assert 2.0 < ours < best


# --- the networks that are kept ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def kept():
    return json.loads((FOLDER / "results" / "tables.json").read_text())


@pytest.fixture(scope="module")
def draws():
    return json.loads((FOLDER / "results" / "draws.json").read_text())


def of(kept, family, leak):
    return [v for k, v in kept.items() if k.startswith(f"{family}-leak{leak}/")]


@pytest.mark.parametrize(("family", "at_least"), [("vgg-fixed-e23", 8), ("vgg-pad4-e80", 7)])
def test_leaks_are_found(kept, family, at_least):
    """Single networks, three references: 10 % leaked at 0.001, 3 % at 0.05, both in 80 % or more."""
    for leak, level in ((1000, 0.001), (300, 0.05)):
        networks = of(kept, family, leak)
        assert len(networks) >= at_least
        assert measures.share(networks, audits.VERDICT, level) >= 0.8


def test_crops_hide_a_small_leak(kept):
    """Of 24 x 24 crops little is learned by heart: 10 % are found, 3 % are not, and the page says so."""
    assert measures.share(of(kept, "vgg-shift-e52", 1000), audits.VERDICT, 0.001) >= 0.8
    assert measures.share(of(kept, "vgg-shift-e52", 300), audits.VERDICT, 0.05) < 0.8


def test_T_does_not_see_what_references_do(kept, draws):
    """Crops, trained for longer: T misses even a whole test set; with references 10 % are found with every draw."""
    family = "vgg-shift-e104"
    for leak, n in ((300, 6), (1000, 6), (3000, 2), (10_000, 2)):
        networks = of(kept, family, leak)
        assert len(networks) == n
        assert measures.share(networks, "T", 0.05) == 0.0
        p = np.array([d["p"] for d in of(draws, family, leak)])
        assert p.shape == (n, audits.N_DRAWS)
        assert (p.max() <= 0.001) == (leak >= 1000)


def test_three_percent_depends_on_the_references_drawn(draws):
    """Most audits find it, not all; 1 % in fewer than half; honest networks are not found more often than the level."""
    family, found = "vgg-shift-e104", {}
    for leak in (300, 100, 0):
        found[leak] = np.mean([np.array(d["p"]) <= 0.05 for d in of(draws, family, leak)])
    assert 0.7 < found[300] < 1.0
    assert 0.1 < found[100] < 0.5
    assert found[0] < 0.06


@pytest.mark.parametrize("family", ["vgg-fixed-e23", "vgg-pad4-e80", "vgg-shift-e52", "vgg-shift-e104"])
def test_honest_networks_raise_no_alarm(kept, family):
    honest = of(kept, family, 0)
    assert len(honest) >= 20
    for side in audits.SIDES:
        most = binom.ppf(0.95, len(honest), 0.05)
        assert round(len(honest) * measures.share(honest, audits.VERDICT, 0.05, side)) <= most


def read(kept, key):
    """A kept network, its references and the strangers, out of the stores."""
    said = kept[key]
    networks = Networks(only={key, *said["references"], *said["strangers"]})
    references, strangers = ([networks.all[k] for k in said[name]] for name in ("references", "strangers"))
    return networks.all[key], references, strangers, networks.labels


@pytest.mark.parametrize("key", ["vgg-pad4-e80-leak300/seed1201", "vgg-fixed-e23-leak300/seed1200"])
def test_the_verdict_comes_out_again(kept, key):
    """From the margins in the stores, to the last permutation but for rounding."""
    network, references, _, labels = read(kept, key)
    assert network.leak == 300
    assert not any(r.leak for r in references)
    margins = {f"references_{p}": [r.margins[i] for r in references] for i, p in enumerate(PARTS)}
    found = leak_test(
        *network.margins, **margins, **labels, clip=(-5, 10), rng=audits.chance(network), n_resamples=1999
    )
    assert kept[key]["n_resamples"] == 1999
    assert kept[key]["p"][audits.VERDICT] == pytest.approx([found.p_greater, found.p_two_sided], abs=0.0015)


@pytest.mark.slow
def test_everything_of_a_network_comes_out_again(kept):
    key = "vgg-pad4-e80-leak1000/seed1301"
    found, said = audits.audit(*read(kept, key)), kept[key]
    assert [found[k] for k in ("references", "strangers")] == [said[k] for k in ("references", "strangers")]
    for look in audits.LOOKS:
        assert found["p"][look] == pytest.approx(said["p"][look], abs=0.0015)
    assert found["z"] == pytest.approx(said["z"], abs=0.0015)


@pytest.mark.slow
def test_the_references_drawn_are_those_kept(kept):
    networks = Networks()
    for key, said in kept.items():
        network = networks.all[key]
        assert [r.key for r in networks.references(network)] == said["references"]
        assert key not in said["references"]
    assert set(kept) >= {k for k, n in networks.all.items() if n.leak}
