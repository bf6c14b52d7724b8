"""Pavlitskaya's pool: which trainings go together, tables of made-up pools, and trainings that go on from a store."""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
import sys
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binomtest, permutation_test, spearmanr, ttest_ind, ttest_rel

from heldout import MemorizationResult
from tests.experiments import scripts

FOLDER = scripts.ROOT / "experiments" / "pavlitskaya"
load = partial(scripts.load, FOLDER)
as_curves, measures, networks, of_page, published, of_pools, sentences, tables, trained = load(
    "curves", "measures", "networks", "parts", "published", "runs", "sentences", "tables", "trained"
)
IMAGES, Runs = as_curves.IMAGES, of_pools.Runs
SIX = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
FOUR = (0.0, 0.1, 0.3, 0.5)
N = 200


def made(name, seed, *, epochs, rates=SIX, rate=0.1, schedule="halving", right=0.9, curves=False, running=None, **more):
    """What is kept of one training; it is right on a share of the labels it was given."""
    rng = np.random.default_rng([seed, epochs])
    truth = np.random.default_rng(0).integers(0, 10, N).astype(np.uint8)
    key, found, summary = f"{name}/seed{seed}", {}, {}
    for r in rates:
        targets = truth.copy()
        hit = rng.permutation(N)[: round(r * N)]
        targets[hit] = (targets[hit] + rng.integers(1, 10, len(hit))) % 10
        said = np.where(rng.random(N) < right, targets, (targets + 1) % 10).astype(np.uint8)
        found |= {f"{key}/rate{r:.1f}/targets": targets, f"{key}/rate{r:.1f}/train": said}
        summary[f"{r}"] = {"pmv": float((said == targets).mean()), "val": 0.5, "test": 0.5, "epochs": epochs}
    for kind in ("spatial", "fgsm", "gaussian") if curves else ():
        stands = rng.random((9, IMAGES)) < np.linspace(0.95, 0.1, 9)[:, None]
        found[f"{key}/curves/{kind}"] = np.packbits(stands, axis=1)
    setting = {"rate": rate, "epochs": epochs, "schedule": schedule, "data": "cifar", "family": name.split("-")[0]}
    running = [[right] * len(rates)] * epochs if running is None else running
    record = {"setting": setting, "running": running, "summary": summary, **more}
    return found | {f"{key}/record": np.array(json.dumps(record))}


def kept(folder, **pools):
    for name, parts in pools.items():
        arrays = {}
        for part in parts:
            arrays |= part
        np.savez(folder / f"{name.replace('_', '-')}.npz", **arrays)
    return Runs(folder)


def test_lengths_are_not_mixed(tmp_path):
    """An earlier, shorter training of seed 0 is neither averaged with the whole ones nor does it name their epochs."""
    whole = [made("vgg-C5", seed, epochs=250) for seed in range(3)]
    runs = kept(tmp_path, pool_1=[made("vgg-C5", 0, epochs=136, right=0.5)], pool_3=whole)
    noise = runs.noise("vgg-C5")
    assert [(t.file, t.seed, t.epochs) for t in noise.trained] == [("pool-3", s, 250) for s in range(3)]
    assert noise.on_given.shape == (6, 3, N)
    assert [t.what for t in noise.others] == ["pool-1 seed 0 (136 epochs, learning rate 0.1)"]
    row = next(line for line in tables.training_table(runs) if line.startswith("| vgg-C5 "))
    assert "| 3 | 250 | 0.1 |" in row
    assert "pool-1 seed 0 (136 epochs" in row


def test_learning_rates_are_not_mixed(tmp_path):
    runs = kept(tmp_path, pool_1=[made("vgg-C5", s, epochs=250, rate=0.01) for s in (0, 1, 2)],
                pool_2=[made("vgg-C5", 3, epochs=250)])  # fmt: skip
    assert [t.seed for t in runs.noise("vgg-C5").trained] == [3]  # the paper's learning rate, if of one seed only


def test_a_seed_with_fewer_rates_is_not_dropped(tmp_path):
    few = made("vgg-C2", 0, epochs=60, rates=FOUR, rate=5e-4)
    more = [made("vgg-C2", seed, epochs=60, rate=5e-4) for seed in (1, 2)]
    noise = kept(tmp_path, pool_1=[few], pool_2=more).noise("vgg-C2")
    assert [t.seed for t in noise.trained] == [0, 1, 2]
    assert noise.rates.tolist() == list(FOUR)
    arrays = few | more[0] | more[1]
    by_hand = [[(arrays[f"vgg-C2/seed{s}/rate{r}/train"] == arrays[f"vgg-C2/seed{s}/rate{r}/targets"]).mean()
                for s in range(3)] for r in FOUR]  # fmt: skip
    np.testing.assert_allclose(noise.on_given.mean(axis=2), by_hand)
    slope = -np.polyfit(FOUR, np.mean(by_hand, axis=1), 1)[0]
    pmv = as_curves.noise_curves("vgg-C2", noise)[0]
    assert pmv.estimates["k_S"].value == pytest.approx(abs(slope))
    assert noise.wrong.mean(axis=2) == pytest.approx(np.repeat(np.array(FOUR)[:, None], 3, axis=1))


def test_a_fixed_learning_rate_ends_when_it_fits(tmp_path):
    """60 and 63 epochs up to the fit are one thing, 44 that were cut short another; more epochs hold for both."""
    common = {"rate": 1e-4, "schedule": "fixed"}
    fits = [[0.5] * 6] * 58 + [[0.9999] * 6] * 2
    parts = [
        made("resnet-C8", 1, epochs=60, running=fits, **common),
        made("resnet-C8", 2, epochs=63, running=fits, **common),
    ]
    runs = kept(tmp_path, pool_1=[made("resnet-C8", 0, epochs=44, **common)], pool_2=parts)
    assert [t.limit for t in runs.of("resnet-C8")] == [None, None, 44]
    noise = runs.noise("resnet-C8")
    assert [t.seed for t in noise.trained] == [1, 2]
    assert [t.seed for t in noise.others] == [0]
    assert "| 60 to 63 |" in next(line for line in tables.training_table(runs) if line.startswith("| resnet-C8 "))
    late = made("resnet-C8", 0, epochs=100, **common)
    assert [t.seed for t in kept(tmp_path, pool_3=[late]).noise("resnet-C8").trained] == [0, 1, 2]


def test_curves_of_all_seeds_count(tmp_path):
    parts = [made("resnet-C5", seed, epochs=250, curves=True) for seed in range(3)]
    runs = kept(tmp_path, pool_1=parts)
    found = {c.perturbation: c for c in as_curves.all_curves(runs)}
    assert found["spatial"].correct.shape == (9, 3, IMAGES)
    one = as_curves.all_curves(kept(tmp_path, pool_1=parts[:1]))
    assert {c.perturbation: c for c in one}["spatial"].correct.shape == (9, 1, IMAGES)
    spread = [{c.perturbation: c.estimates for c in curves}["pmv"]["k_S"] for curves in (list(found.values()), one)]
    assert spread[0].high - spread[0].low != spread[1].high - spread[1].low
    mean = as_curves.unpacked(parts[1]["resnet-C5/seed1/curves/spatial"]).mean(axis=1)
    np.testing.assert_allclose(found["spatial"].accuracies[:, 1], mean)


def test_training_size_is_compared_where_all_else_is_alike(tmp_path):
    """Not where epochs, rates of label noise or learning rates differ; more memory is a larger metric, but for PMV."""
    common = {"rate": 1e-3, "schedule": "steps", "curves": True}
    alike = [made("resnet-C1", 0, epochs=250, right=0.8, fused={"ours": [0.1, 0.2]}, **common)]
    alike += [made("resnet-C5", seed, epochs=250, right=0.97, **common) for seed in range(2)]
    others = [
        made("resnet-C3", 0, epochs=25, **common), made("resnet-C7", 0, epochs=250, **common),
        made("vgg-C1", 0, epochs=250, rates=FOUR, curves=True), made("vgg-C5", 0, epochs=250, curves=True),
        made("vgg-C2", 0, epochs=60, rate=5e-4, curves=True), made("vgg-C6", 0, epochs=60, rate=1e-4, curves=True),
    ]  # fmt: skip
    runs = kept(tmp_path, pool_1=[*alike, *others])
    assert measures.alike_but_for_size(runs) == [("resnet-C1", "resnet-C5")]
    pools = {"resnet": MemorizationResult.of(as_curves.all_curves(runs))}
    found = measures.by_size(runs, pools)
    rows = [line.split(" | ") for line in of_page.sizes(runs, found).splitlines()[2:]]
    assert [row[0] for row in rows] == ["| resnet-C1, C5"] * 8
    assert {row[1] for row in rows} == {"1 fused and 2 plain"}
    assert [rows[0][2], rows[0][-1]] == ["PMV k_S", "with fewer images |"]  # as published, 0.97 and 0.45
    assert [rows[6][2], rows[6][-1]] == ["gaussian k_max", "with more images |"]  # 0.352 and 0.335
    counts = [line.strip("| ").split(" | ") for line in of_page.size_counts(found).splitlines()[2:]]
    assert [row[0] for row in counts] == [*of_page.KINDS.values(), "the last three together"]
    assert [row[4:] for row in counts] == [["1", "0"], ["1", "0"], ["2", "0"], ["2", "0"], ["1", "1"], ["5", "1"]]
    for k in (1, 2, 3):
        assert sum(int(row[k].split(" ")[0]) for row in counts[2:5]) == int(counts[5][k].split(" ")[0])
    for row, kind in zip(counts[:5], of_page.KINDS, strict=True):
        own = [r[5] for r in rows if r[2].lower().startswith(kind)]
        assert [int(v.split(" ")[0]) for v in row[1:4]] == [own.count(said) for said in of_page.SAID.values()]


def test_largest_share_and_its_direction():
    """By PMV a small slope is more memory; by the others a large one."""
    values = {f"C{i}": 0.9 if i > 4 else 0.1 for i in range(1, 9)}
    found = measures.largest(lambda family, metric: values)
    assert found == [("less data", metric != published.METRICS[0]) for _ in range(2) for metric in published.METRICS]


def test_student_and_welch():
    some, others = np.array([0.5, 0.6, 0.55]), np.array([0.1, 0.4, 0.2])
    assert measures.by_seeds(some, others) == pytest.approx(ttest_ind(some, others).pvalue)
    assert measures.by_seeds_unlike(some, others) == pytest.approx(ttest_ind(some, others, equal_var=False).pvalue)
    assert np.isnan(measures.by_seeds_unlike(some[:1], others))
    assert np.isnan(measures.by_seeds_unlike(some[[0, 0]], others[[0, 0]]))


def test_rows_of_sizes_that_stand_are_counted():
    """Family-wise, by seeds, and by seeds with all rows counted: Holm's second smallest of four is times three."""
    same = {"large": "resnet-C1", "small": "resnet-C5", "ours": (), "theirs": (0.1, 0.2), "metric": ("spatial", "SSE")}
    four = [
        measures.Sizes(**same, fewer=True, family_wise=True, alone=0.01),
        measures.Sizes(**same, fewer=True, family_wise=False, alone=0.02),
        measures.Sizes(**same, fewer=False, family_wise=False, alone=np.nan),
        measures.Sizes(**same, fewer=None, family_wise=False, alone=0.3),
    ]
    assert "| moves | 2 (1, 2, 1) | 1 (0, 0, 0) | 1 | 4 | 0 |" in of_page.size_counts(four)


def test_sentences_count_the_same_rows():
    """Two metrics of label noise and two of perturbed images, of one pair each; p with all counted by hand."""
    pair = {"large": "resnet-C1", "small": "resnet-C5", "theirs": (0.1, 0.2)}
    low, high = SimpleNamespace(value=0.1), SimpleNamespace(value=0.9)
    rows = [
        measures.Sizes(**pair, ours=(high, low), metric=m, fewer=fewer, family_wise=stands, alone=p, unlike=q)
        for m, fewer, stands, p, q in (
            (("pmv", "k_S"), True, False, 0.03, 0.04),  # with all counted 0.06
            (("ptv", "k_PTV"), True, True, 0.001, 0.002),
            (("spatial", "SSE"), False, False, 0.01, 0.06),  # with all counted 0.03
            (("fgsm", "SSE"), None, False, 0.04, 0.05),  # as the two of pmv
        )
    ]
    told = " ".join(sentences.by_size(rows).split())
    assert told.startswith("**By label noise, yes: by PTV in all one pairs of ResNets; by PMV in all one pairs")
    assert "Of these two rows all but PMV (ResNet C1 and C5) stand family-wise" in told
    assert "and all but PMV (ResNet C1 and C5) by seeds with all 4 rows counted" in told
    assert "of their 2 rows 1 are not told apart, one says the opposite and none says so" in told
    assert "Family-wise none of them stands" in told
    assert "all one stand." in told
    told = " ".join(sentences.by_seeds(rows).split())
    assert "two rows are above 0.05 that Student's has below" in told
    assert "below 0.05 for one row that the comparison does not tell apart. In none of them fewer images are" in told
    assert "in one more images. With all 4 rows counted none of them stands." in told
    assert "SSE of moves (ResNet C1 and C5) has a p by seeds" in told


def test_words_that_results_do_not_bear_out_stop_the_script():
    pair = {"large": "resnet-C1", "small": "resnet-C5", "theirs": (0.1, 0.2), "ours": (), "family_wise": False}
    ptv, pmv, moves = (measures.Sizes(**pair, metric=m, fewer=True, alone=0.01)
                       for m in (("ptv", "k_PTV"), ("pmv", "k_S"), ("spatial", "SSE")))  # fmt: skip
    with pytest.raises(SystemExit, match="do not bear out 'Perturbed images do not show it' any more"):
        sentences.by_size([ptv, pmv, moves])
    for unsaid in (None, False):  # nothing found is no yes either
        with pytest.raises(SystemExit, match="do not bear out 'By label noise, yes' any more"):
            sentences.by_size([dataclasses.replace(ptv, fewer=unsaid), pmv])
        with pytest.raises(SystemExit, match="do not bear out 'By label noise, yes' any more"):
            sentences.by_size([ptv, dataclasses.replace(pmv, fewer=unsaid)])
    assert "no pair" not in sentences.by_size([ptv, pmv])


def test_where_corruptions_separate():
    """The mean of two kinds puts the small sets above at severity 1 only; single kinds separate in three of four."""
    large = np.array([[0.9, 0.5, 0.5], [0.9, 0.3, 0.8]])  # kinds, severities from 0 on
    small = np.array([[0.9, 0.6, 0.4], [0.9, 0.4, 0.8]])
    above, cases = sentences.separated({i: large if i < 5 else small for i in range(1, 9)})
    assert above.tolist() == [True, False]
    assert cases == 3
    assert sentences.severities(above) == "severity 1"
    assert sentences.severities(~above & above) == "no severity"
    assert sentences.severities(np.array([True, False, True])) == "severities 1 and 3"


@pytest.mark.parametrize(("firm", "said"), [(0.9, "with fewer images"), (0.2, "with more images"), (0.6, None)])
def test_who_memorised_more_is_what_heldout_says(tmp_path, firm, said):
    """Of networks of which one stands moves longer and falls at once, and one falls evenly."""
    common = {"epochs": 250, "rate": 1e-3, "schedule": "steps", "curves": True}
    parts = [made("resnet-C1", 0, **common), *(made("resnet-C5", seed, **common) for seed in range(3))]
    rng = np.random.default_rng(0)
    for part, name in zip(parts, ("C1", "C5", "C5", "C5"), strict=True):
        (key,) = (k for k in part if k.endswith("curves/spatial"))
        drop = 0.6 if name == "C1" else firm  # at the first strength: k_max
        part[key] = np.packbits(rng.random((9, IMAGES)) < np.array([0.99, *[0.99 - drop] * 8])[:, None], axis=1)
    runs = kept(tmp_path, pool_1=parts)
    pair = MemorizationResult.of(as_curves.all_curves(runs))
    more = measures.memorised_more(pair, "resnet-C1", "resnet-C5", ("spatial", "k_max"))
    assert more is {"with fewer images": True, "with more images": False, None: None}[said]
    assert measures.memorised_more(pair, "resnet-C5", "resnet-C1", ("spatial", "k_max")) is (
        None if more is None else not more
    )
    found = measures.by_size(runs, {"resnet": pair})
    rows = [line.split(" | ") for line in of_page.sizes(runs, found).splitlines()[2:]]
    assert all(s.family_wise == (s.fewer is not None) for s in found)  # there is one pair
    assert [row[5] for row in rows if row[2] == "spatial k_max"] == [said or "not told apart"]
    assert measures.memorised_more(pair, "resnet-C1", "vgg-C5", ("spatial", "k_max")) is None


def test_both_ways_of_training_stand_beside_each_other(tmp_path):
    """The same network, seed and length only."""
    fused = {"fused": {"ours": [0.1, 0.2]}}
    old = [made("vgg-C5", s, epochs=250, right=0.9, rates=(0.0,), curves=True) for s in (0, 1)]
    new = [made("vgg-C5", 0, epochs=250, right=0.8, **fused), made("vgg-C5", 1, epochs=136, **fused)]
    runs = kept(tmp_path, pool_1=old, pool_2=new)
    assert [(a.file, b.file, a.seed) for a, b in measures.both_ways(runs)] == [("pool-1", "pool-2", 0)]
    (row,) = of_page.engines(runs).splitlines()[2:]
    shares = [f"{t.clean['pmv']:.4f}" for pair in measures.both_ways(runs) for t in pair]
    told = f"| {shares[0]} and {shares[1]} | 0.5000 and 0.5000 | 0.5000 and 0.5000 |  |  |  |  |"
    assert row == f"| vgg-C5, plain and fused | 0 | 1 and 2 | 250 and 250 {told}"


@pytest.mark.parametrize("rates", [SIX, (0.0, 0.1, 0.3)])
def test_both_ways_of_training_are_compared_with_label_noise(rates, tmp_path):
    """At the rates that both had. A training with "-fused" in its name stands there, and nowhere else."""
    plain = made("resnet-C5", 0, epochs=250, right=0.9, rates=rates)
    fused = made("resnet-C5-fused", 0, epochs=250, right=0.6, fused={"ours": [0.1, 0.2]})
    runs = kept(tmp_path, pool_1=[plain], pool_2=[fused])
    assert runs.noise("resnet-C5").trained == runs.of("resnet-C5")
    (pair,) = measures.both_ways(runs)
    said = []
    for t in pair:
        given = [t.record["summary"][f"{r}"]["pmv"] for r in rates]
        true = [(t[f"rate{r}/train"] == t["rate0.0/targets"]).mean() for r in rates]
        by_hand = [abs(np.polyfit(rates, shares, 1)[0]) for shares in (given, true)]
        np.testing.assert_allclose(measures.slopes(t, rates), by_hand)
        each = []
        for r in rates:
            wrong = t[f"rate{r}/targets"] != t["rate0.0/targets"]
            each.append((t[f"rate{r}/train"] == t[f"rate{r}/targets"])[wrong])
        learned = np.concatenate(each).mean(), each[-1].mean()
        said.append([f"{v:.3f}" for v in (*by_hand, *learned)])
    (row,) = of_page.engines(runs).splitlines()[2:]
    assert row.startswith("| resnet-C5, plain and fused | 0 | 1 and 2 | 250 and 250 |")
    assert row.endswith("".join(f" {a} and {b} |" for a, b in zip(*said, strict=True)))


def test_ways_of_training_are_told_apart(tmp_path):
    """Each pair of ways has its rows; what was trained for that alone is not among the network's seeds."""
    fused = {"fused": {"ours": [0.1, 0.2]}}
    parts = [
        made("resnet-C5", 0, epochs=250, right=0.9, engine=""),
        made("resnet-C5-fused", 0, epochs=250, right=0.8, engine="", **fused),
        made("resnet-C5-float32", 0, epochs=250, right=0.7, engine="float32"),
        made("resnet-C5-plain", 3, epochs=250, right=0.6, engine="plain"),
        made("resnet-C5-fused", 3, epochs=250, right=0.5, **fused),
    ]
    runs = kept(tmp_path, pool_1=parts)
    assert [t.way for t in runs.trained] == ["float32", "fused", "fused", "plain", "plain"]
    pairs = [("plain", "fused"), ("float32", "plain"), ("float32", "fused")]
    found = {two: [(a.name, b.name, a.seed) for a, b in measures.both_ways(runs, *two)] for two in pairs}
    assert found == {
        ("plain", "fused"): [("resnet-C5", "resnet-C5-fused", 0), ("resnet-C5-plain", "resnet-C5-fused", 3)],
        ("float32", "plain"): [("resnet-C5-float32", "resnet-C5", 0)],
        ("float32", "fused"): [("resnet-C5-float32", "resnet-C5-fused", 0)],
    }
    assert [t.name for t in runs.noise("resnet-C5").trained] == ["resnet-C5"]
    names = [line.split(" | ")[0] for line in of_page.engines(runs).splitlines()[2:]]
    told = ["plain and fused"] * 2 + ["float32 and plain", "float32 and fused"]
    assert names == [f"| resnet-C5, {two}" for two in told]
    assert measures.how_trained(runs.trained) == "2 plain, 2 fused, 1 float32"


def test_pairs_of_both_ways_have_a_p(tmp_path):
    """Student's of the pairs, where there are three."""
    seeds = range(3)
    plain = [made("resnet-C5", s, epochs=250, right=0.9) for s in seeds]
    fused = [made("resnet-C5-fused", s, epochs=250, right=0.7, fused={"ours": [0.1, 0.2]}) for s in seeds]
    runs = kept(tmp_path, pool_1=plain, pool_2=fused)
    last = of_page.engines(runs).splitlines()[-1]
    both = [
        [[*measures.slopes(t), *measures.learned(t)] for t in one]
        for one in zip(*measures.both_ways(runs), strict=True)
    ]
    found = ttest_rel(*both).pvalue
    assert (
        last
        == "| resnet-C5, plain and fused: p of the 3 pairs |  |  |  |  |  |  | "
        + " | ".join(f"{p:.3f}" for p in found)
        + " |"
    )
    few = kept(tmp_path, pool_1=plain[:2], pool_2=fused)
    assert "p of the" not in of_page.engines(few)


def test_older_networks_stand_in_where_only_they_met_corruptions(tmp_path):
    """Later ones, whose weights are not kept, have other curves."""
    old, new = made("vgg-C5", 0, epochs=136, curves=True), made("vgg-C5", 0, epochs=250, curves=True, fgsm="margin")
    stands = np.random.default_rng(0).random((15, 5, IMAGES)) < 0.5
    old["vgg-C5/seed0/curves/corruptions"] = np.packbits(stands, axis=2)
    large = made("vgg-C1", 0, epochs=30, curves=True)
    large["vgg-C1/seed0/curves/corruptions"] = old["vgg-C5/seed0/curves/corruptions"]
    runs = kept(tmp_path, pool_1=[old, large], pool_2=[new])
    assert [t.epochs for t in runs.plain("vgg-C5")] == [250]
    ((t, _),) = as_curves.under_corruptions(runs)["vgg-C5"]
    assert t.epochs == 136
    np.testing.assert_allclose(as_curves.corruptions(runs)["vgg-C5"][:, 1:], stands.mean(axis=2))
    assert any(line.startswith("| vgg-C5 ") and line.endswith("| 136 | 1 |") for line in tables.corruption_table(runs))
    assert runs.by_margin("vgg-C5")
    assert not kept(tmp_path, pool_2=[old]).by_margin("vgg-C5")


def test_lengths_stand_beside_each_other(tmp_path):
    """The fewest epochs first, seeds counted; networks of one length have no row."""
    parts = [made("resnet-C5", seed, epochs=250, right=0.97, rate=1e-3, schedule="steps") for seed in range(3)]
    short = made("resnet-C5", 0, epochs=132, right=0.8, rate=1e-3, schedule="steps")
    one = made("resnet-C7", 0, epochs=250, rate=1e-3, schedule="steps")
    few = made("resnet-C7", 0, epochs=99, rates=FOUR, rate=1e-3, schedule="steps")
    runs = kept(tmp_path, pool_1=[short, few], pool_3=[*parts, one])
    lines = of_page.lengths(runs).splitlines()[2:]
    assert [line.split(" | ")[:2] for line in lines] == [
        ["| resnet-C5", "132"], ["| resnet-C5", "250"], ["| resnet-C5, published", "250"],
    ]  # fmt: skip
    assert [len(line.split(" | ")[3].split(", ")) for line in lines[:2]] == [1, 3]  # a slope for each seed
    assert lines[2].split(" | ")[2] == f"{published.VALUES['resnet']['C5'][0]:.2f}"
    noise, (pmv, _) = as_curves.by_length(runs)["resnet-C5"][1]
    assert noise.given == pytest.approx([0.97] * 6, abs=0.03)
    by_hand = []
    for seed, part in enumerate(parts):
        said, given, truth = (
            part[f"resnet-C5/seed{seed}/rate{k}"] for k in ("0.5/train", "0.5/targets", "0.0/targets")
        )
        by_hand.append((said == given)[given != truth])
    assert noise.learned.shape == (5,)
    assert noise.learned[-1] == pytest.approx(np.concatenate(by_hand).mean())
    slope = np.polyfit(SIX, noise.given, 1)[0]
    assert pmv.estimates["k_S"].value == pytest.approx(abs(slope))


def test_corruptions_made_again_are_those_of_their_own_file(tmp_path):
    parts = [made("resnet-C5", seed, epochs=250, curves=True) for seed in range(2)]
    none = np.zeros((15, 5, IMAGES // 8), dtype=np.uint8)
    np.savez(tmp_path / "corruptions.npz", **{"pool-2/resnet-C5/seed0/curves/corruptions": none})
    assert as_curves.corruptions(kept(tmp_path, pool_3=parts)) == {}
    np.savez(tmp_path / "corruptions.npz", **{"pool-3/resnet-C5/seed1/curves/corruptions": none})
    found = as_curves.corruptions(kept(tmp_path, pool_3=parts))["resnet-C5"]
    clean = as_curves.unpacked(parts[1]["resnet-C5/seed1/curves/spatial"])[0].mean()
    assert found[:, 0] == pytest.approx(clean)
    assert not found[:, 1:].any()


def test_curves_from_kept_weights(tmp_path, capsys):
    """The networks come back, networks on MNIST are left out, and weights of another network are refused."""
    torch = pytest.importorskip("torch")
    networks, weights, corruptions, evaluate, data = load("networks", "weights", "corruptions", "evaluate", "data")
    rng = np.random.default_rng(0)
    for b in range(6):
        np.savez(tmp_path / f"batch-{b}.npz", x=rng.integers(0, 256, (40, 32, 32, 3), dtype=np.uint8),
                 y=rng.integers(0, 10, 40).astype(np.uint8))  # fmt: skip
    own = data.read_cifar(tmp_path)
    x, y = torch.from_numpy(np.ascontiguousarray(own["train"][:16])), torch.from_numpy(own["train_y"][:16].astype(int))
    arrays, pool = {}, {}
    for name, seed in (("resnet-C5", 2), ("lenet-mnist", 0)):
        setting = networks.settings()[name]
        network = setting.build(torch.Generator().manual_seed(seed)).eval()
        arrays |= {f"{name}/seed{seed}/{k}": v.numpy().astype(np.float32 if "running" in k else np.float16)
                   for k, v in network.state_dict().items()}  # fmt: skip
        if name == "resnet-C5":
            kept_as = {
                k: torch.from_numpy(arrays[f"{name}/seed2/{k}"].astype(np.float32)) for k in network.state_dict()
            }
            network.load_state_dict(kept_as, strict=False)
            pool = made(name, seed, epochs=250, curves=True)
            pool[f"{name}/seed2/curves/spatial"] = evaluate.packed([evaluate.right(network, setting.scale, x, y)] * 9)
            wanted = network
    pool |= made("resnet-C5-fused", 2, epochs=250)  # for its labels alone
    np.savez(tmp_path / "weights-pool-3.npz", **arrays)
    np.savez(tmp_path / "pool-3.npz", **pool)
    found = {name: (seed, network) for name, seed, _, network in weights.kept(tmp_path / "weights-pool-3.npz")}
    assert {name: seed for name, (seed, _) in found.items()} == {"resnet-C5": 2, "lenet-mnist": 0}
    with torch.no_grad():
        assert torch.equal(found["resnet-C5"][1](x.float()), wanted(x.float()))
    darker = np.stack([[own["train"][:16] // (severity + 2) for severity in range(5)]] * 2)
    np.save(tmp_path / "pictures.npy", darker)
    given = (tmp_path, tmp_path / "pictures.npy", tmp_path / "weights-pool-3.npz", tmp_path / "corruptions.npz")
    corruptions.main(*given)
    with np.load(given[3]) as f:
        assert f.files == ["pool-3/resnet-C5/seed2/curves/corruptions"]
        bits = f[f.files[0]]
    setting = networks.settings()["resnet-C5"]
    last = evaluate.right(wanted, setting.scale, torch.from_numpy(darker[1, 4]), y)
    assert np.array_equal(np.unpackbits(bits[1, 4]).astype(bool), last.numpy())
    assert "0.00% of the untouched answers differ" in capsys.readouterr().out
    pool["resnet-C5/seed2/curves/spatial"] = ~pool["resnet-C5/seed2/curves/spatial"]
    np.savez(tmp_path / "pool-3.npz", **pool)
    with pytest.raises(SystemExit, match="otherwise than in pool-3"):
        corruptions.main(*given)
    np.savez(tmp_path / "other.npz", **{"resnet-C5/seed0/nonsense": np.zeros(2, np.float16)})
    with pytest.raises(SystemExit, match="other weights of resnet-C5"):
        next(weights.kept(tmp_path / "other.npz"))


def test_fgsm_made_again_is_that_of_its_own_file(tmp_path):
    """A later training of seed 0 does not get the curve that was made from the weights of an earlier one."""
    old, new = (
        made("resnet-C5", 0, epochs=e, curves=True, **more) for e, more in ((250, {}), (250, {"fgsm": "margin"}))
    )
    new["resnet-C5/seed0/curves/fgsm"] = np.packbits(np.eye(9, IMAGES, dtype=bool), axis=1)
    again = np.packbits(np.ones((9, IMAGES), dtype=bool), axis=1)
    np.savez(tmp_path / "fgsm.npz", **{"pool-2/resnet-C5/seed0/curves/fgsm": again})
    runs = kept(tmp_path, pool_2=[old])
    assert (runs.curves("resnet-C5", "fgsm")[0] == again).all()
    runs = kept(tmp_path, pool_3=[new])
    assert len(runs.curves("resnet-C5", "fgsm")) == 1
    assert (runs.curves("resnet-C5", "fgsm")[0] == new["resnet-C5/seed0/curves/fgsm"]).all()


def test_weaker_attacks_are_not_averaged_with_stronger_ones(tmp_path):
    weak = made("vgg-C5", 0, epochs=250, curves=True)
    strong = [made("vgg-C5", seed, epochs=250, curves=True, fgsm="margin") for seed in (1, 2)]
    assert len(kept(tmp_path, pool_2=[weak]).curves("vgg-C5", "fgsm")) == 1  # better than none
    runs = kept(tmp_path, pool_3=strong)
    assert len(runs.curves("vgg-C5", "fgsm")) == 2
    assert len(runs.curves("vgg-C5", "gaussian")) == 3


def test_later_files_come_first(tmp_path):
    for number in (2, 9, 10):
        np.savez(tmp_path / f"pool-{number}.npz", **made("vgg-C5", 0, epochs=250, right=number / 10))
    (only,) = Runs(tmp_path).noise("vgg-C5").trained
    assert only.file == "pool-10"


def test_pairs_that_intervals_tell_apart(tmp_path):
    """By brute force, from the intervals that the tables print."""
    parts = [made(f"resnet-C{i}", 0, epochs=250, right=0.5 + 0.05 * i, rate=1e-3, curves=True) for i in range(1, 9)]
    result = MemorizationResult.of(as_curves.all_curves(kept(tmp_path, pool_1=parts)))
    for metric in published.METRICS:
        ends = [result.curve(f"resnet-C{i}", metric[0]).estimates[metric[1]] for i in range(1, 9)]
        better, worse = 0, 0
        for a in ends[:4]:
            for b in ends[4:]:
                low, high = (b, a) if metric == ("pmv", "k_S") else (a, b)  # a small PMV slope tells of memory
                better += low.high < high.low
                worse += high.high < low.low
        assert measures.apart(result, "resnet", metric) == (better, worse)
        named = measures.apart_pairs(result, "resnet", metric)
        assert sum(named.values()) == better
        assert len(named) == better + worse
        assert all(a in ("C1", "C2", "C3", "C4") and b in ("C5", "C6", "C7", "C8") for a, b in named)
    assert measures.apart(result, "vgg", metric) is None


def test_rank_correlations_by_chance():
    """Against scipy's, over all orders; ties; a reversed order is as rare as the order itself."""
    rng = np.random.default_rng(5)
    for ties in (False, True):
        x, y = rng.normal(size=(2, 6)).round(0 if ties else 9)
        some, others = (dict(enumerate(v)) for v in (x, y))
        wanted = permutation_test(
            (x,), lambda v, y=y: spearmanr(v, y).statistic, permutation_type="pairings", n_resamples=np.inf
        )
        assert measures.rank_correlation(some, others) == pytest.approx(spearmanr(x, y).statistic)
        extreme = np.abs(wanted.null_distribution) >= abs(wanted.statistic) - 1e-9
        assert measures.by_chance(some, others) == pytest.approx(extreme.mean())
    straight, back = {k: float(k) for k in range(8)}, {k: float(-k) for k in range(8)}
    for other in (straight, back):
        assert measures.by_chance(straight, other) == pytest.approx(2 / 40320)
    assert np.isnan(measures.by_chance(straight, back | {3: np.nan}))


def test_rank_correlations_of_single_trainings(runs):
    """By hand, over all ways to take one training of each network."""
    names = [f"resnet-C{i}" for i in range(1, 9)]
    result = MemorizationResult.of([c for name in names for c in as_curves.noise_curves(name, runs.noise(name))])
    each = [[measures.slopes(t)[1] for t in runs.noise(name).trained] for name in names]
    published_ones = [published.VALUES["resnet"][f"C{i}"][1] for i in range(1, 9)]
    found = [spearmanr(np.abs(one), published_ones).statistic for one in itertools.product(*each)]
    wanted = np.quantile(found, (0.05, 0.95))
    assert measures.by_single_seeds(result, "resnet", ("ptv", "k_PTV")) == pytest.approx(tuple(wanted))


def test_a_slope_by_wrong_labels_alone(tmp_path):
    """True labels lost are not in it: a network that loses all of them and learns no wrong one has none."""
    noise = kept(tmp_path, pool_1=[made("vgg-C5", s, epochs=250) for s in range(2)]).noise("vgg-C5")
    by_hand = [np.mean([true or not wrong for true, wrong in zip(t.flat, w.flat, strict=True)])
               for t, w in zip(noise.on_true, noise.wrong, strict=True)]  # fmt: skip
    np.testing.assert_allclose(noise.wrong_alone, by_hand)
    lost = dataclasses.replace(noise, on_true=noise.wrong)  # right where the label was wrong, and nowhere else
    np.testing.assert_allclose(lost.wrong_alone, 1.0)


def test_trainings_alone():
    """As scipy's where both have several; of one and three as often below 5 % as that says, where nothing differs."""
    rng = np.random.default_rng(2)
    some, others = rng.normal(size=3), rng.normal(1.0, size=4)
    assert measures.by_seeds(some, others) == pytest.approx(ttest_ind(some, others).pvalue)
    found = [measures.by_seeds(v[:1], v[1:]) for v in rng.normal(size=(4000, 4))]
    assert binomtest(sum(p <= 0.05 for p in found), len(found), 0.05).pvalue > 1e-4
    assert np.isnan(measures.by_seeds(some[:1], others[:1]))
    assert np.isnan(measures.by_seeds(some[:1], np.ones(3)))


def test_metrics_seed_by_seed(runs):
    """Each training by itself: the slopes that its own answers give; k_max of the curves of each."""
    result = MemorizationResult.of(as_curves.noise_curves("vgg-C5", runs.noise("vgg-C5")))
    of_each = [measures.slopes(t) for t in runs.noise("vgg-C5").trained]
    for metric, wanted in zip((("pmv", "k_S"), ("ptv", "k_PTV")), zip(*of_each, strict=True), strict=True):
        assert measures.seed_by_seed(result, "vgg-C5", metric) == pytest.approx(np.abs(wanted))


def test_networks_that_do_not_fit_are_named(tmp_path):
    good = [made(f"vgg-C{i}", 0, epochs=250, right=0.99) for i in (5, 7)]
    bad = made("vgg-C8", 0, epochs=250, right=0.4, rate=1e-4)
    runs = kept(tmp_path, pool_1=[*good, bad])
    result = MemorizationResult.of(as_curves.all_curves(runs))
    text = of_page.not_fitted(runs, result)
    share = runs.noise("vgg-C8").given[0]
    assert f"when trained without noise: vgg-C8 {share:.4f}." in text
    assert "as they do not fit their labels: vgg-C8." in text
    rows = of_page.asked({"vgg": result})
    assert "| not ranked by label noise: do not fit their labels | vgg-C8 |" in rows


# --- what is kept ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def runs():
    return Runs(tables.RESULTS)


@pytest.mark.slow
def test_correlations_that_are_counted(runs):
    """Those that results/tables.md shows with such a p."""
    result = MemorizationResult.of(as_curves.all_curves(runs))
    shown = re.findall(r"([+-]\d\.\d\d) \(p (\d\.\d{3})\);", (tables.RESULTS / "tables.md").read_text())
    assert len(shown) == 16
    wanted = [float(r) for r, p in shown if float(p) < 0.05]
    assert sorted(round(r, 2) for r in measures.correlated(result)) == sorted(wanted)


def test_readme_shows_the_results(runs):
    page = (FOLDER / "README.md").read_text()
    assert of_page.was_cut(runs) in page
    assert of_page.learning_rates(tables.RESULTS) in page
    assert "\n".join(tables.training_table(runs)).rstrip() in (tables.RESULTS / "tables.md").read_text()


def test_corrupted_pictures_are_the_same_everywhere(runs):
    """Where networks met some that were made beside the trainings: other versions of libraries may make others."""
    (data,) = load("data")
    met = {t.record["corrupted"]: t.file for t in runs.trained if "corrupted" in t.record}
    assert met
    assert all(file in data.CORRUPTED[which] for which, file in met.items())


def test_plan_gives_three_seeds_alike(runs):
    """What the plan adds to what is kept: three seeds of every network that it names, each with six rates."""
    plan = json.loads((FOLDER / "plan-seeds.json").read_text())
    rows = []  # of one seed each
    for name, seeds, epochs, _, options in plan["queue"]:
        rows += [(name, s, epochs, options) for s in (seeds if isinstance(seeds, list) else [seeds])]
    for name, seed, epochs, options in rows:
        rate, label = runs.of(name)[0].rate, f"{name}-{options['label']}" if "label" in options else name
        assert options.get("rate", networks.settings()[name].rate) == rate  # as those that it goes on with
        assert not trained.done(runs.of(label), label, seed, epochs=epochs, rate=rate, rates=SIX, curves=False)
    rows = [row for row in rows if "label" not in row[3]]
    jobs = {(name, seed): (epochs, options.get("rates", SIX)) for name, seed, epochs, options in rows}
    assert len(jobs) == len(rows)
    whole = {name: epochs for (name, _), (epochs, rates) in jobs.items() if rates == SIX}
    for name, epochs in whole.items():
        rate = runs.of(name)[0].rate
        for seed in range(3):
            there = trained.done(runs.of(name), name, seed, epochs=epochs, rate=rate, rates=SIX, curves=False)
            assert there != ((name, seed) in jobs), (name, seed)
    assert all(epochs == 250 for name, epochs in whole.items() if name.endswith(("C1", "C3", "C5", "C7")))


def test_a_store_knows_what_is_done(tmp_path):
    runs = kept(
        tmp_path, pool_1=[made("vgg-C5", 0, epochs=136, curves=True), made("vgg-C7", 0, epochs=250, rates=FOUR)]
    )
    asked = {"epochs": 250, "rate": 0.1, "rates": FOUR, "curves": False}
    assert not trained.done(runs.trained, "vgg-C5", 0, **asked)
    assert trained.done(runs.trained, "vgg-C5", 0, **asked | {"epochs": 136, "rates": SIX, "curves": True})
    assert trained.done(runs.trained, "vgg-C7", 0, **asked)
    assert not trained.done(runs.trained, "vgg-C7", 0, **asked | {"rates": SIX})
    assert not trained.done(runs.trained, "vgg-C7", 0, **asked | {"curves": True})
    assert not trained.done(runs.trained, "vgg-C7", 0, **asked | {"rate": 0.01})
    assert not trained.done(runs.trained, "vgg-C7", 1, **asked)


# --- trainings ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def train():
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    return load("train")[0]


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cifar")
    rng = np.random.default_rng(0)
    for b in range(6):  # as pictures.py unpacks them
        y = rng.integers(0, 10, 40).astype(np.uint8)
        x = np.clip(25 * y[:, None, None, None] + rng.normal(0, 5, (40, 32, 32, 3)), 0, 255).astype(np.uint8)
        np.savez(folder / f"batch-{b}.npz", x=x, y=y)
    return folder


def planned(folder, *queue):
    path = folder / "plan.json"
    path.write_text(json.dumps({"deadline": 1e9, "beside": 2, "queue": queue}))
    return path


def test_trainings_go_on_where_the_store_ends(train, pictures, tmp_path, capsys):
    out, store = tmp_path / "out", tmp_path / "store"
    store.mkdir()
    jobs = [["lenet-cifar", seed, 2, None, {"curves": seed == 1, "rates": [0, 0.3, 0.5]}] for seed in range(2)]
    plan = planned(tmp_path, *jobs)
    pool = store / "pool-1.npz"
    options = [
        str(pictures),
        str(out),
        "--plan",
        str(plan),
        "--limit",
        "32",
        "--store",
        str(store),
        "--pool",
        str(pool),
    ]
    train.main([*options, "--minutes", "0"])
    assert "2 jobs of the plan are left" in capsys.readouterr().out
    assert not list(out.glob("*.npz"))  # no time: nothing is begun
    train.main(options)
    said = capsys.readouterr().out
    assert "failed" not in said
    runs = Runs(store)
    assert [(t.seed, t.epochs, t.limit, t.rates) for t in runs.of("lenet-cifar")] == [
        (seed, 2, 2, [0.0, 0.3, 0.5]) for seed in range(2)
    ]
    assert [t.get("curves/spatial") is not None for t in runs.of("lenet-cifar")] == [False, True]
    assert runs.of("lenet-cifar")[1].record["fgsm"] == "margin"
    assert runs.noise("lenet-cifar").on_given.shape == (3, 2, 32)
    for folder in (out, tmp_path / "another"):  # it is left out for what OUT has, and for what the store has
        train.main([options[0], str(folder), *options[2:-2]])
        assert "0 jobs of the plan are left" in capsys.readouterr().out
        if folder == out:
            pool.rename(store / "pool-7.npz")
    longer = planned(tmp_path, ["lenet-cifar", 0, 3, None, {"curves": False, "rates": [0, 0.3, 0.5]}])
    train.main([*options[:3], str(longer), *options[4:-2], "--only", "vgg-C5"])
    assert "0 jobs of the plan are left" in capsys.readouterr().out


def test_seeds_of_a_job_train_at_once(train, pictures, tmp_path, capsys):
    """Each with what it would have by itself; a seed that is there is left out."""
    more = {"curves": True, "rates": [0, 0.5]}
    options = ["--limit", "32", "--plan"]
    one = planned(tmp_path, ["lenet-cifar", 1, 2, None, more], ["lenet-cifar", 2, 2, None, more])
    train.main([str(pictures), str(tmp_path / "one"), *options, str(one)])
    some = planned(tmp_path, ["lenet-cifar", [1, 2], 2, None, more])
    out = tmp_path / "some"
    train.main([str(pictures), str(out), *options, str(some)])
    said = capsys.readouterr().out
    assert "failed" not in said
    assert "lenet-cifar/1+2 begins, 2 epochs" in said
    for seed in (1, 2):
        (by_itself,), (with_another,) = (
            trained.read(tmp_path / folder / f"lenet-cifar-seed{seed}.npz") for folder in ("one", "some")
        )
        assert with_another.arrays.keys() == by_itself.arrays.keys()
        for key in by_itself.arrays.keys() - {f"lenet-cifar/seed{seed}/record"}:
            np.testing.assert_array_equal(with_another.arrays[key], by_itself.arrays[key], err_msg=key)
        mine, other = ({k: v for k, v in t.record.items() if k != "seconds"} for t in (with_another, by_itself))
        assert mine == other
        weights = [tmp_path / folder / "weights" / f"lenet-cifar-seed{seed}.npz" for folder in ("one", "some")]
        with np.load(weights[0]) as a, np.load(weights[1]) as b:
            assert all((a[k] == b[k]).all() for k in a.files)
            assert a.files == b.files
    (out / "lenet-cifar-seed1.npz").unlink()
    train.main([str(pictures), str(out), *options, str(some)])
    said = capsys.readouterr().out
    assert "lenet-cifar/1 begins" in said
    assert "lenet-cifar/1+2" not in said
    train.main([str(pictures), str(out), *options, str(some)])
    assert "0 jobs of the plan are left" in capsys.readouterr().out


def test_a_job_says_how_its_networks_are_trained(train, pictures, tmp_path, monkeypatch):
    """By themselves, in float32 too, where a GPU would have them as one; that way is kept in the record."""
    jobs = [["vgg-C6", 0, 1, None, {"engine": engine, "label": engine}] for engine in ("plain", "float32")]
    plan = planned(tmp_path, ["vgg-C6", 0, 1, None], *jobs)
    out = tmp_path / "out"
    out.mkdir()
    args = train.argparse.Namespace(data=pictures, out=out, plan=plan, limit=32, store=None, minutes=None, pool=None,
                                    only=["lenet-cifar"], corrupted=None, patience=0.0)  # fmt: skip
    pool = train.Pool(args)
    usual, plain, whole = map(train.Job.read, pool.plan()["queue"])
    places = [train.Place("vgg-C6", 1, engine) for engine in ("", "plain", "float32")]
    assert [pool.place_of(job) for job in (usual, plain, whole)] == places
    with monkeypatch.context() as patch:
        patch.setattr(pool, "device", "cuda")
        asked = [pool.place_of(job) for job in (usual, plain, whole)]
        assert [place.groups for place in asked] == [6, 1, 1]
        assert [pool.fused(place) for place in asked] == [True, False, False]
        assert [pool.half(place) for place in asked] == [True, True, False]
        assert pool.kind(places[2]) is train.Training
        pool.agreements["vgg-C6"] = {"ours": [0.1, 0.2]}
        assert [pool.agreed(place) for place in asked] == [{"ours": [0.1, 0.2]}, None, None]
    for row, match in [
        ({"engine": "slow", "label": "slow"}, "`engine` must be one of plain, float32, not slow"),
        ({"engine": "plain"}, "a job with an `engine` needs a `label`"),
    ]:
        with pytest.raises(ValueError, match=match):
            train.Job.read(["vgg-C6", 0, 1, None, row])
    row = ["lenet-cifar", 0, 1, None, {"engine": "float32", "label": "float32", "rates": [0, 0.5]}]
    train.main([str(pictures), str(out), "--plan", str(planned(tmp_path, row)), "--limit", "32"])
    (kept,) = trained.read(out / "lenet-cifar-float32-seed0.npz")
    assert (kept.way, kept.network, kept.record["bfloat16"]) == ("float32", "lenet-cifar", False)


def test_float32_is_not_rounded(train, pictures, tmp_path, monkeypatch):
    """Neither steps nor the last answers of such a job by TF32's products; of others both."""
    flags = train.torch.backends.cuda.matmul, train.torch.backends.cudnn
    seen = []

    class Seen(train.Training):
        def prepare(self, stream):
            seen.append(("step", *(f.allow_tf32 for f in flags)))

        def predict(self, g, images):
            seen.append(("answers", *(f.allow_tf32 for f in flags)))
            return super().predict(g, images)

    monkeypatch.setattr(train, "Training", Seen)
    for engine in ("plain", "float32"):
        row = ["lenet-cifar", 0, 1, None, {"engine": engine, "label": engine, "rates": [0.5]}]
        plan = planned(tmp_path, row)
        train.main([str(pictures), str(tmp_path / engine), "--plan", str(plan), "--limit", "32"])
    assert seen == [("step", True, True), ("answers", True, True), ("step", False, False), ("answers", False, False)]


def test_what_would_end_too_late_is_not_begun(train, pictures, tmp_path, capsys):
    plan = planned(tmp_path, ["lenet-cifar", 0, 10, None], ["lenet-cifar", 1, 10, 60.0], ["vgg-C5", 0, 10, None])
    out = tmp_path / "out"
    out.mkdir()
    args = train.argparse.Namespace(data=pictures, out=out, plan=plan, limit=32, store=None, minutes=None, pool=None,
                                    only=["lenet-cifar"], corrupted=None, patience=0.0)  # fmt: skip
    pool = train.Pool(args)
    whole, squeezed, _ = (train.Job.read(row) for row in pool.plan()["queue"])
    now = train.time.monotonic() - train.STARTED
    expected = train.MARGIN * train.OTHERS * 10 * pool.alone[train.Place("lenet-cifar", 1)] + train.LAST
    assert pool.fits(whole, now + expected + 5)
    assert not pool.fits(whole, now + expected - 5)
    assert pool.fits(squeezed, now)  # gets as many epochs as there is time for
    pool.paces[whole.key] = 2 * train.OTHERS
    assert not pool.fits(whole, now + expected + 5)
    assert not pool.fits(train.Job.read(["vgg-C5", 0, 10, None]), 1e9)  # its graph was not made
    assert [j.network for j in pool.jobs(pool.plan())] == ["lenet-cifar", "lenet-cifar"]
    args.minutes = 0.0  # begun all the same: given up after an epoch, and nothing is kept of it
    pool.train(whole, pool.streams[0])
    assert "lenet-cifar/0 is given up after 1 of 10 epochs" in capsys.readouterr().out
    assert not list(out.glob("*.npz"))
    pool.train(squeezed, pool.streams[0])  # this one is cut short
    (cut,) = trained.read(out / "lenet-cifar-seed1.npz")
    assert cut.epochs == 1


def test_kernels_that_are_off_are_refused(train, pictures, tmp_path, monkeypatch):
    """In one tensor, a little in most, or where a gradient is missing; networks of the same layers are checked once."""
    plan = planned(tmp_path, ["lenet-cifar", 0, 10, None])
    (tmp_path / "out").mkdir()
    args = train.argparse.Namespace(data=pictures, out=tmp_path / "out", plan=plan, limit=32, store=None, minutes=None,
                                    pool=None, only=["lenet-cifar"], corrupted=None, patience=0.0)  # fmt: skip
    pool = train.Pool(args)
    plain = dict.fromkeys("abcde", 0.1)
    found, along, asked = dict(plain), dict.fromkeys("abcde", 0.8), []

    def agreement(setting, images, device, half):
        asked.append(setting.name)
        return found, plain, along, dict.fromkeys("abcde", 0.8)

    def summary(*given):
        two = zip(("ours", "plain"), given[:2], strict=True)
        return {k: [float(np.median(list(d.values()))), max(d.values())] for k, d in two}

    monkeypatch.setitem(sys.modules, "agreement", SimpleNamespace(agreement=agreement, summary=summary))
    monkeypatch.setattr(pool, "fused", lambda place: True)
    for off in ({"a": 0.4}, {"a": 0.16, "b": 0.16, "c": 0.16}, {"a": np.nan}):
        found |= off
        with pytest.raises(RuntimeError, match="differ too much"):
            pool.check(pool.settings["vgg-C5"], None)
        assert train.torch.backends.cudnn.allow_tf32
        found |= plain
    for part in (0.0, 0.39, np.nan):
        along["b"] = part
        with pytest.raises(RuntimeError, match=r"b .* along"):
            pool.check(pool.settings["vgg-C5"], None)
    along["b"] = 0.41
    pool.check(pool.settings["vgg-C5"], None)
    before = len(asked)
    pool.check(pool.settings["vgg-C1"], None)
    assert pool.agreements["vgg-C1"] == pool.agreements["vgg-C5"]
    assert len(asked) == before
    pool.check(pool.settings["vgg-C7"], None)
    assert len(asked) == before + 1
