"""Pavlitskaya's networks trained as one: every kernel against torch, by Triton's interpreter, and whole trainings."""

from __future__ import annotations

import dataclasses
import importlib

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tests.experiments.scripts import ROOT, short_names

pytest.importorskip("triton", reason="Triton is there for Linux only")
FOLDER = ROOT / "experiments" / "pavlitskaya"
NAMES = (
    "agreement", "convolutions", "endings", "evaluate", "fused", "hopper", "kernels", "networks", "processes",
    "training", "tune",
)  # fmt: skip
EPS = 1e-3
G, B = 2, 3


@pytest.fixture(scope="module")
def loaded():
    """The modules by their names; kernels run by the interpreter (tests/conftest.py), without a GPU."""
    with short_names(FOLDER):
        found = {name: importlib.import_module(name) for name in NAMES}
        found["convolutions"].TILES.clear()  # those of a GPU are large
        yield found


@pytest.fixture
def kernels(loaded):
    return loaded["kernels"]


@pytest.fixture
def convolutions(loaded):
    return loaded["convolutions"]


def draw(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32))


def pixels_first(t):
    """(B, H, W, C) to (B, C, H, W)."""
    return t.permute(0, 3, 1, 2)


def convolved(x, kernel, stride):
    """Of one network, by torch."""
    out = F.conv2d(pixels_first(x), kernel.permute(3, 2, 0, 1), stride=stride, padding=kernel.shape[0] // 2)
    return out.permute(0, 2, 3, 1)


def tiles(config, f, **more):
    return config | {"F": f, "num_warps": 4, "num_stages": 1} | more


SHAPES = [  # size, stride, channels in and out, F
    (3, 1, 16, 16, 1), (3, 1, 16, 16, 2), (3, 1, 16, 32, 1), (3, 2, 16, 32, 1), (1, 2, 32, 16, 1), (1, 1, 32, 32, 1),
]  # fmt: skip


@pytest.mark.parametrize(("size", "stride", "cs", "cd", "f"), SHAPES)
def test_convolve(convolutions, size, stride, cs, cd, f):
    x, kernel, add = draw(G, B, 8, 8, cs), draw(G, size, size, cs, cd), draw(G, B, 8 // stride, 8 // stride, cd)
    bias, sums, squares = draw(G, cd), torch.ones(G, cd), torch.zeros(G, cd)
    out = torch.full_like(add, torch.nan)
    config = tiles({"BM": 64, "BK": 64 if f > 1 else 16, "BN": 16}, f)  # several tiles in every direction
    convolutions.convolve(x, kernel, out, stride=stride, bias=bias, add=add, relu=True, sums=sums, squares=squares,
                     config=config)  # fmt: skip
    for g in range(G):
        wanted = F.relu(convolved(x[g], kernel[g], stride) + bias[g] + add[g])
        torch.testing.assert_close(out[g], wanted, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(sums, 1 + out.sum(dim=(1, 2, 3)), rtol=1e-4, atol=1e-3)
    torch.testing.assert_close(squares, (out**2).sum(dim=(1, 2, 3)), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize(("size", "stride", "cs", "cd", "f"), SHAPES)
def test_back(kernels, convolutions, size, stride, cs, cd, f):
    """By what came in, with each of the three ways in which it may be cut, and by the kernel."""
    x, kernel = draw(G, B, 8, 8, cs).requires_grad_(), draw(G, size, size, cs, cd).requires_grad_()
    slope, values, add = draw(G, B, 8 // stride, 8 // stride, cd), draw(G, B, 8, 8, cs), draw(G, B, 8, 8, cs, seed=1)
    made = torch.stack([convolved(x[g], kernel[g], stride) for g in range(G)])
    by_x, by_kernel = torch.autograd.grad((made * slope).sum(), (x, kernel))
    config = tiles({"BM": 64, "BK": 64 if f > 1 else 16, "BN": 16}, f)
    gamma, beta = draw(G, cs), draw(G, cs, seed=1)
    norm = values.sum(dim=(1, 2, 3)), (values**2).sum(dim=(1, 2, 3)), gamma, beta
    normal = torch.stack([F.batch_norm(pixels_first(values[g]), None, None, gamma[g], beta[g], True, eps=EPS)
                          for g in range(G)]).permute(0, 1, 3, 4, 2)  # fmt: skip
    step = torch.tensor([5])
    ones, kept = torch.ones(G, B, 8, 8, cs), torch.zeros(G, B, 8, 8, cs)
    kernels.settle(ones, kept, dropped=(step, 3, 0.3))
    for asked, wanted in (
        ({"mask": values}, torch.where(values > 0, by_x + add, 0)),
        ({"norm": norm}, torch.where(normal > 0, by_x + add, 0)),
        ({"dropped": (step, 3, 0.3)}, (by_x + add) * kept),
    ):
        out, sums, products = torch.full_like(values, torch.nan), torch.zeros(G, cs), torch.zeros(G, cs)
        convolutions.convolve(slope, kernel.detach(), out, stride=stride, back=True, add=add, values=values, sums=sums,
                         products=products, config=config, **asked)  # fmt: skip
        torch.testing.assert_close(out, wanted, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(sums, out.sum(dim=(1, 2, 3)), rtol=1e-4, atol=1e-3)
        torch.testing.assert_close(products, (out * values).sum(dim=(1, 2, 3)), rtol=1e-4, atol=1e-3)
    for split in (1, 3):
        out = torch.zeros(G, size, size, cs, cd)
        config = tiles({"COLS": 64, "BK": 16, "BN": 16, "SPLIT": split}, f)
        convolutions.kernel_gradient(x.detach(), slope, out, stride=stride, config=config)
        torch.testing.assert_close(out, by_kernel, rtol=1e-4, atol=1e-3)


def test_tiles_of_a_gpu_are_for_it_alone(convolutions, monkeypatch):
    """Those of hopper.py are not taken where its kernels cannot run, others are."""
    src, dst = torch.zeros(G, 128, 2, 2, 64), torch.zeros(G, 128, 2, 2, 64)
    name = convolutions.shape_name("forth", src, dst, 3)
    assert name == "forth 64-64 2-2 by 3, 128 pictures"
    usual = convolutions.usual_tiles("forth", src, dst, 3)
    for found, taken in (({"BM": 64, "STAGES": 3}, False), ({"BM": 64, "F": 1}, True)):
        monkeypatch.setitem(convolutions.TILES, name, found)
        assert convolutions.tiles("forth", src, dst, 3) == (found if taken else usual)


@pytest.mark.parametrize("kind", ["forth", "back", "kernel"])
def test_tiles_whose_numbers_are_off_are_seen(loaded, kind, monkeypatch):
    """By what tune.py compares: each tile with the first, in what comes out and, but by the kernel, in its sums."""
    tune = loaded["tune"]
    case = tune.Case(kind, 1, 2, 16, 16, 8, 1, device="cpu", dtype=torch.float32)
    if kind == "kernel":
        some, others = ({"COLS": 64, "BK": 16, "BN": 16, "SPLIT": n} for n in (1, 3))
    else:
        some, others = ({"BM": bm, "BK": 16, "BN": 16} for bm in (64, 32))
    first, again = case.made(tiles(some, 1)), case.made(tiles(others, 1))
    assert tune.distance(again, first) < tune.OFF
    assert first[0].any()
    assert bool(first[1].any()) == (kind != "kernel")
    for name in ("convolve", "kernel_gradient"):
        right = getattr(tune, name)

        def wrong(*args, right=right, sums=None, **options):
            right(*args, sums=sums, **options) if sums is not None else right(*args, **options)
            for t in (args[2], sums):
                if t is not None:
                    t *= 1.01

        monkeypatch.setattr(tune, name, wrong)
    off = [tune.distance([a], [b]) for a, b in zip(case.made(tiles(others, 1)), first, strict=True) if b.any()]
    assert min(off) > tune.OFF


def test_a_dense_layer_in_parts(loaded):
    given, weight = draw(G, B, 1024), draw(G, 1024, 10)
    torch.testing.assert_close(loaded["fused"].product(given, weight), given @ weight, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("pool", [False, True])
@pytest.mark.parametrize("regular", [False, True])
def test_cut_normalised_pooled(kernels, regular, pool):
    """relu, batch normalisation and the largest of 2 x 2, forwards and backwards; many values are equal."""
    bias, before = draw(G, 16), (2 * draw(G, B, 8, 8, 16)).round() / 2
    bias = (2 * bias).round() / 2
    gamma, beta = draw(G, 16, seed=1), draw(G, 16, seed=2)
    slope = draw(G, B, *((4, 4) if pool else (8, 8)), 16)
    y = F.relu(before + bias[:, None, None, None])
    sums, squares = y.sum(dim=(1, 2, 3)), (y**2).sum(dim=(1, 2, 3))
    running = [torch.zeros(G, 16), torch.ones(G, 16)]
    norm = (sums, squares, gamma, beta)
    out = torch.full_like(slope, torch.nan)
    kernels.settle(y, out, norm=(*norm, *running) if regular else None, pool=pool)
    gradients, products = torch.zeros(G, 16), torch.zeros(G, 16)
    own = [torch.zeros(G, 16) for _ in range(3)]
    dz = torch.full_like(y, torch.nan)
    asked = {"sums": gradients, "products": products} if regular else {"sums": gradients}
    if pool:
        kernels.unpool(slope, y, dz, norm=norm if regular else None, **asked)
    else:
        values = {"values": y} if regular else {}
        kernels.end_back(slope.flatten(1, 3), y, dz, cut=not regular, **asked, **values)
    dy = dz
    if regular:
        dy = torch.full_like(y, torch.nan)
        kernels.normalise_back(dz, y, dy, norm, gradients, products, *own)
    for g in range(G):
        x, b, ga, be = (t.clone().requires_grad_() for t in (before[g], bias[g], gamma[g], beta[g]))
        z = pixels_first(F.relu(x + b))
        mean, var = torch.zeros(16), torch.ones(16)
        if regular:
            z = F.batch_norm(z, mean, var, ga, be, True, momentum=0.01, eps=EPS)
            torch.testing.assert_close(running[0][g], mean, rtol=1e-5, atol=1e-6)
            torch.testing.assert_close(running[1][g], var, rtol=1e-5, atol=1e-6)
        z = (F.max_pool2d(z, 2) if pool else z).permute(0, 2, 3, 1)
        torch.testing.assert_close(out[g], z, rtol=1e-4, atol=1e-4)
        wanted = torch.autograd.grad((z * slope[g]).sum(), (x, b, ga, be), allow_unused=True)
        torch.testing.assert_close(dy[g], wanted[0], rtol=1e-4, atol=1e-4)
        for mine, theirs in zip((own[2] if regular else gradients, *own[:2]), wanted[1:], strict=True):
            if theirs is not None:
                torch.testing.assert_close(mine[g], theirs, rtol=1e-3, atol=1e-3)


def test_the_mean_over_pixels_back(kernels):
    out, given = draw(G, B, 4, 4, 16), draw(G, B, 16)
    dz, sums = torch.full_like(out, torch.nan), torch.zeros(G, 16)
    kernels.end_back(given, out, dz, cut=True, sums=sums)
    torch.testing.assert_close(dz, torch.where(out > 0, given[:, :, None, None] / 16, 0.0))
    torch.testing.assert_close(sums, dz.sum(dim=(1, 2, 3)), rtol=1e-4, atol=1e-4)


def test_dropout(kernels):
    """As many as asked for, for every network, channel and pixel alike; others for another step, layer or seed."""
    shape = 2, 8, 16, 16, 32

    def kept(step, layer, p=0.3):
        out = torch.zeros(shape)
        kernels.settle(torch.ones(shape), out, dropped=(torch.tensor([step]), layer, p))
        return out

    first = kept(7, 1)
    assert first.unique().tolist() == pytest.approx([0.0, 1 / 0.7])
    n = first.numel()
    dropped = (first == 0).double()
    assert abs(dropped.mean() - 0.3) < 4 * (0.21 / n) ** 0.5
    for dims in ((1, 2, 3, 4), (0, 2, 3, 4), (0, 1, 3, 4), (0, 1, 2, 3)):
        means = dropped.mean(dim=dims)
        assert (means - 0.3).abs().max() < 4.5 * (0.21 / (n / len(means))) ** 0.5
    torch.testing.assert_close(kept(7, 1), first)
    for step, layer in ((8, 1), (7, 2), (7 + (1000 << 20), 1), (7 + (2000 << 20), 1)):
        other = (kept(step, layer) == 0).double()
        assert abs((other * dropped).mean() - 0.09) < 4.5 * (0.09 * 0.91 / n) ** 0.5
    assert abs((kept(7, 1, 0.5) == 0).double().mean() - 0.5) < 4 * (0.25 / n) ** 0.5


@pytest.mark.parametrize("moved", [False, True])
def test_placed(kernels, moved):
    images = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (6, 3, 16, 16), np.uint8))
    order = torch.tensor([[5, 4, 3, 2, 1, 0], [0, 1, 2, 3, 4, 5]])
    moves = torch.eye(2, 3).repeat(G * B, 1, 1) + 0.2 * draw(G * B, 2, 3)
    out = torch.zeros(G, B, 16, 16, 16)
    kernels.placed(images, order, torch.tensor(2), out, 1 / 255, moves if moved else None)
    wanted = images[order[:, 2:5].flatten()].float() / 255
    if moved:
        grid = F.affine_grid(moves, list(wanted.shape), align_corners=False)
        wanted = F.grid_sample(wanted, grid, padding_mode="border", align_corners=False)
    torch.testing.assert_close(out[..., :3].flatten(0, 1), wanted.permute(0, 2, 3, 1), rtol=1e-4, atol=1e-4)
    assert not out[..., 3:].any()


@pytest.mark.parametrize("adam", [False, True])
def test_take_step(kernels, adam):
    n, split = 3000, 2000
    p, first, second, copy = draw(n), torch.zeros(n), torch.zeros(n) if adam else None, torch.zeros(n)
    parts = [nn.Parameter(part.clone()) for part in (p[:split], p[split:])]
    groups = [{"params": [part], "weight_decay": decay} for part, decay in zip(parts, (0.02, 0.0), strict=True)]
    other = torch.optim.Adam(groups, lr=1e-3, eps=1e-7) if adam else torch.optim.SGD(groups, lr=0.1, momentum=0.9)
    rate, count = torch.tensor(1e-3 if adam else 0.1), torch.zeros(1)
    for step in range(4):
        gradient = draw(n, seed=step)
        parts[0].grad, parts[1].grad = gradient[:split].clone(), gradient[split:].clone()
        other.step()
        kernels.take_step(p, gradient, first, second, copy, rate, count, split=split, decay=0.02, momentum=0.9)
        count += 1
    torch.testing.assert_close(p, torch.cat(parts).detach(), rtol=1e-5, atol=1e-6)
    assert torch.equal(copy, p)


# --- whole networks ------------------------------------------------------------------------------------


def small(loaded, name, batch=4):
    """A setting of the pool, with a network of the same kinds of layers that the interpreter can run."""
    networks = loaded["networks"]

    class Small(networks.Setting):
        def build(self, generator):
            network = small_vgg(networks, self.regularised) if self.family == "vgg" else small_resnet(networks, self)
            networks.initialise(network, generator, he=self.family == "resnet" and self.regularised)
            for module in network.modules():
                if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d):
                    module.num_batches_tracked = None
            return network

    return Small(**vars(dataclasses.replace(networks.settings()[name], size=8, batch=batch)))


class Layers(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(x)


def small_vgg(networks, regularised):
    """Two blocks, of 32 and of 16 pixels to a side, and two dense layers before the last."""

    def behind(channels, kind, drop):
        norm = [kind(channels, momentum=0.01, eps=EPS)] if regularised else []
        return [nn.ReLU(), *norm, *([networks.Dropout(0.3)] if regularised and drop else [])]

    flat, dense = nn.BatchNorm2d, nn.BatchNorm1d
    return Layers(
        nn.Conv2d(3, 16, 3, padding=1), *behind(16, flat, True), nn.Conv2d(16, 16, 3, padding=1),
        *behind(16, flat, False), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), *behind(32, flat, True),
        nn.Flatten(), nn.Linear(32 * 256, 32), *behind(32, dense, True), nn.Linear(32, 16), *behind(16, dense, False),
        nn.Linear(16, 10),
    )  # fmt: skip


def small_resnet(networks, setting):
    """A block of each kind."""
    network = networks.ResNet(fat=False, regularised=setting.regularised)
    widths = (16, 16, 1), (16, 32, 2), (32, 64, 2)
    network.blocks = nn.Sequential(*(networks.Block(*w, setting.regularised) for w in widths))
    return network


@pytest.fixture(scope="module")
def pictures():
    return torch.from_numpy(np.random.default_rng(1).integers(0, 256, (8, 3, 32, 32), np.uint8))


@pytest.mark.parametrize("name", ["resnet-C5", "vgg-C5", "vgg-C6"])
def test_each_network_has_its_own_weights(loaded, pictures, name):
    """What goes in by seed comes out by its number; a dense layer's pixels and the padded channels are put back."""
    setting = small(loaded, name)
    t = loaded["fused"].KINDS[setting.family](setting, pictures, "cpu", 2, False)
    draws = []
    for seeds in ([3, 4], [1003, 1004]):
        t.begin([np.arange(8) % 10, np.arange(8)[::-1] % 10], seeds)
        draws.append(t.draws.item())
        for g, seed in enumerate(seeds):
            wanted = setting.build(torch.Generator().manual_seed(seed)).state_dict()
            with t.finished(g) as network:
                assert network.state_dict().keys() == wanted.keys()
                assert all(torch.equal(value, wanted[key]) for key, value in network.state_dict().items())
                assert not network.training
    assert t.targets.tolist() == [list(range(8)), list(range(8))[::-1]]
    assert draws[0] != draws[1]


@pytest.mark.slow  # the interpreter takes half a minute for each
@pytest.mark.parametrize("name", ["resnet-C5", "resnet-C6", "vgg-C5", "vgg-C6"])
def test_gradients_agree(loaded, pictures, name):
    """With those of plain networks, all of them; a value near 0 may be cut in one and not in the other."""
    found = loaded["agreement"].agreement(small(loaded, name), pictures, "cpu", False)
    mine, plain, along, plain_along = found
    assert set(mine) == set(plain)
    kinds = {key.split(" ")[1].rsplit(".", 1)[-1] for key in mine}
    assert {"logits", "weight", "bias"} <= kinds
    assert ("running_var" in kinds) == (name in ("resnet-C5", "vgg-C5"))
    told = loaded["agreement"].summary(*found)
    assert told["ours"][0] < 1e-5
    assert told["along"] == pytest.approx([1, 1], abs=1e-5)
    assert along == pytest.approx(plain_along, abs=1e-2)
    assert max(mine.values()) < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["resnet-C5", "vgg-C6"])
def test_trainings_agree(loaded, pictures, name):
    """Pictures moved and drawn alike, steps of both optimisers, weights that come out (without dropout)."""
    setting = dataclasses.replace(small(loaded, name), rotation=15.0)
    came = []
    for kind in (loaded["fused"].KINDS[setting.family], loaded["training"].Training):
        t = kind(setting, pictures, "cpu", 1, False)
        t.begin([np.arange(8) % 10], [3])
        with t.finished(0) as network:
            before = {k: v.clone() for k, v in network.state_dict().items()}
        for _ in range(2):
            t.begin_epoch(1e-4)
            t.go(2)
        with t.finished(0) as network:
            came.append({k: v.clone() for k, v in network.state_dict().items()})
        seen = t.right.clone()
        said = t.predict(0, [pictures])[0]
        assert kind is loaded["training"].Training or t.draws.item() == (3 << 20) + 4  # another one at every step
        came[-1] |= {"seen": seen, "said": torch.from_numpy(said)}
    ours, theirs = came
    assert torch.equal(ours["seen"], theirs["seen"])
    assert torch.equal(ours["said"], theirs["said"])
    for key, value in before.items():
        if (
            setting.family == "resnet"
            and setting.regularised
            and key.endswith(("first.bias", "second.bias", "stem.bias"))
        ):
            assert not ours[key].any()  # nothing before batch normalisation
            continue
        moved = (theirs[key] - value).abs().mean()
        assert (ours[key] - theirs[key]).abs().mean() <= 0.02 * moved + 1e-9, key
