"""A Ray cluster of two nodes on this machine: the same files, byte for byte, whatever happens to a node."""

from __future__ import annotations

import contextlib
import os
import pickle
import shutil
import socket
import sys
import tempfile
import threading
import time
import types
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from heldout import InputError, clusters
from heldout.clusters import check_cluster, one_task, run_on_cluster
from heldout.errors import MissingExtraError
from heldout.images import LabelledImages, Wrap, from_folder
from heldout.images.pieces import piece_of
from heldout.independence.rounds import keep_result
from heldout.scorers import OnnxScorer, TorchScorer
from heldout.scorers.base import device_of, portable
from heldout.workers.parcels import packed
from heldout.workers.surroundings import Surroundings
from tests.independence.test_jobs import audited, nets, pictures, small_shards  # noqa: F401  # a fixture

torch = pytest.importorskip("torch")


@pytest.fixture
def two_nodes(monkeypatch) -> Iterator[Any]:
    """A cluster: this process beside its head, and one node more, which says that it has a GPU."""
    folder = tempfile.mkdtemp(prefix="ray")  # a short one: Ray's sockets are in it
    for name, value in {"HOME": folder, "RAY_TMPDIR": folder, "RAY_USAGE_STATS_ENABLED": "0"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(entry or os.getcwd() for entry in sys.path))
    cluster_utils = pytest.importorskip("ray.cluster_utils")
    memory = {"object_store_memory": 80 * 2**20}
    head = {"num_cpus": 1, "num_gpus": 0, "include_dashboard": False, **memory}
    cluster = cluster_utils.Cluster(initialize_head=True, head_node_args=head)
    try:
        cluster.other = cluster.add_node(num_cpus=1, num_gpus=1, **memory)
        yield cluster
    finally:
        cluster.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


def devices(task: int, tell: Callable[..., None]) -> tuple[int, str | None]:
    """What a worker sees."""
    return task, os.environ.get("CUDA_VISIBLE_DEVICES")


def test_the_same_bytes_on_two_nodes(two_nodes, tmp_path, capsys):
    alone = audited(tmp_path, nets())
    assert audited(tmp_path, nets(), cluster=two_nodes.address, progress=True) == alone
    assert "evaluations, 240/240 pictures" in capsys.readouterr().err.splitlines()[-1]


class Slow(torch.nn.Module):
    """Takes its time in another process than this one, and leaves a file that is called by the node."""

    def __init__(self, net: torch.nn.Module, folder: Path) -> None:
        super().__init__()
        self.net, self.folder, self.home = net, folder, os.getpid()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if os.getpid() != self.home:
            import ray

            (self.folder / ray.get_runtime_context().get_node_id()).touch()
            time.sleep(0.05)
        return self.net(x)


@pytest.mark.slow
def test_a_node_that_is_killed_changes_nothing(two_nodes, tmp_path):
    models = [TorchScorer(Slow(net, tmp_path), prepare=False) for net in nets()]
    alone = audited(tmp_path, models)
    killed = threading.Event()

    def kill() -> None:  # as soon as a shard is at work there
        while not (tmp_path / two_nodes.other.node_id).exists():
            time.sleep(0.05)
        two_nodes.remove_node(two_nodes.other, allow_graceful=False)
        killed.set()

    threading.Thread(target=kill, daemon=True).start()
    said: list[str] = []
    assert audited(tmp_path, models, cluster=two_nodes.address, notify=said.append) == alone
    assert killed.is_set()
    assert any(sentence.endswith(" died; what was at work there is begun again.") for sentence in said)


@pytest.mark.slow
def test_tasks_for_a_gpu_go_where_one_is(two_nodes):
    found = run_on_cluster(devices, [7, 8], cluster=two_nodes.address, gpus=[True, True])
    assert found == [(7, "0"), (8, "0")]


class Interrupted(Exception):
    """Stands for whatever ends this process."""


def test_shards_that_came_back_are_taken_up(tmp_path, monkeypatch):
    """With or without the cluster, whose nodes are this process here."""

    def here(function, tasks, *, done, tell, **options):
        found = []
        for number, task in enumerate(tasks):
            found.append(function(pickle.loads(pickle.dumps(task)), partial(tell, number)))
            done(number, found[-1])
        return found

    def keep_three(shard, result):
        if len(list(tmp_path.glob("kept/test-*.npz"))) == 3:
            raise Interrupted
        keep_result(shard, result)

    monkeypatch.setattr("heldout.independence.audit.check_cluster", lambda *given: None)
    monkeypatch.setattr("heldout.independence.afar.run_on_cluster", here)
    alone = audited(tmp_path, nets())
    with monkeypatch.context() as patch:
        patch.setattr("heldout.independence.afar.keep_result", keep_three)
        with pytest.raises(Interrupted):
            audited(tmp_path, nets(), checkpoint=tmp_path / "kept", cluster="auto")
    for number, cluster in enumerate(("auto", None)):
        folder, said = shutil.copytree(tmp_path / "kept", tmp_path / f"{number}"), list[str]()
        again = audited(tmp_path, nets(), checkpoint=folder, resume=True, cluster=cluster, notify=said.append)
        assert again == alone
        assert any("continuing: 60 of 60 pictures were done" in sentence for sentence in said)


def test_a_cluster_that_is_not_there(monkeypatch):
    refused = r"^`cluster={}`: there is no Ray cluster at 127.0.0.1:1 \(connection refused\); start one with "
    with pytest.raises(InputError, match=refused.format("'127.0.0.1:1'")):
        check_cluster("127.0.0.1:1", 1)
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    with pytest.raises(InputError, match=refused.format("'auto'")):
        check_cluster("auto", 1)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'heldout\[ray\]'"):
        check_cluster("auto", 1)


@pytest.mark.parametrize(("answer", "says"), [(b"", "no answer within 0.2 seconds"), (b"SSH-2.0-x\r\n", "is not Ray")])
def test_something_else_at_the_address(answer, says, monkeypatch):
    pytest.importorskip("ray")
    monkeypatch.setattr(clusters, "SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answered() -> None:
            with server.accept()[0] as line, contextlib.suppress(ConnectionResetError):
                line.sendall(answer)
                while line.recv(100):  # until the other end leaves
                    pass

        thread = threading.Thread(target=answered)
        thread.start()
        with pytest.raises(InputError, match=says):
            check_cluster(f"127.0.0.1:{server.getsockname()[1]}", 1)
        thread.join()


def test_a_node_without_the_package_is_named(monkeypatch):
    cloudpickle = pytest.importorskip("ray.cloudpickle")
    monkeypatch.setattr(os, "environ", dict(os.environ))
    work = pickle.loads(cloudpickle.dumps(clusters._worker()))
    board = SimpleNamespace(begin=SimpleNamespace(remote=lambda number: None))
    monkeypatch.setitem(sys.modules, "heldout", None)
    outcome, said, _ = work("0", [], os.getcwd(), 1, None, [], 0, board)
    assert outcome == "missing"
    assert said.endswith(" has no module 'heldout'")


def test_a_node_without_the_models_module_is_named(monkeypatch):
    module = types.ModuleType("only_here")
    exec("class Model:\n    pass", vars(module))
    monkeypatch.setitem(sys.modules, "only_here", module)
    letter = packed((devices, module.Model(), Surroundings.here()), "the work", "cluster='auto'", instead="")
    monkeypatch.delitem(sys.modules, "only_here")
    outcome, said, _ = one_task((letter.key, letter.content, letter.arrays), [], "the node n", print)
    assert (outcome, said) == ("missing", "the node n has no module 'only_here'")


def test_pictures_travel_by_themselves(tmp_path):
    rng = np.random.default_rng(0)
    for name in "abcdef":
        (tmp_path / "x" / name).parent.mkdir(exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (9, 9, 3), np.uint8)).save(tmp_path / "x" / f"{name}.png")
    files = LabelledImages(from_folder(tmp_path), Wrap())
    arrays = pictures(1)
    rows = np.array([4, 1, 2])
    before = [[images.canvas(int(i), 1, "nchw") for i in rows] for images in (files, arrays)]
    sent = [pickle.dumps(piece_of(images.take(np.arange(5)), rows)) for images in (files, arrays)]
    assert len(sent[1]) < len(pickle.dumps(arrays))
    shutil.rmtree(tmp_path / "x")
    for content, expected, whole in zip(sent, before, (files, arrays), strict=True):
        piece = pickle.loads(content)
        assert [piece.canvas(i, 1, "nchw").tobytes() for i in range(3)] == [canvas.tobytes() for canvas in expected]
        assert piece.labels.tolist() == whole.labels[rows].tolist()
        assert list(piece.ids) == [whole.ids[i] for i in rows]


def test_pictures_leave_the_store_with_their_last_task():
    put: list[Any] = []
    ray = SimpleNamespace(put=lambda thing: put.append(thing) or thing)
    model, some, others = (np.full(10, value) for value in range(3))
    parcels = clusters._Parcels(ray, "auto", [("the model", model)], [("pictures", some), ("pictures", others)])
    letters = [parcels.letter((model, part)) for part in (some, some, others)]
    assert [len(parcels.lend(letter)) for letter in letters] == [2, 2, 2]
    assert (len(put), len(parcels._stored)) == (3, 3)
    parcels.give_back(letters[0].bare())
    assert len(parcels._stored) == 3, "the second one still holds them"
    parcels.give_back(letters[1].bare())
    parcels.give_back(letters[2].bare())
    assert [which for which, _ in parcels._stored.values()] == [id(model)]
    again = parcels.letter((model, some))
    assert len(parcels.lend(again)) == 2
    assert len(put) == 4, "the model is there, pictures are read anew"


def test_a_run_that_waits_for_nodes_says_so_once(monkeypatch):
    clock, alive, said = iter(range(0, 1000, 20)), [True], list[str]()
    monkeypatch.setattr(clusters.time, "monotonic", lambda: next(clock))
    run = object.__new__(clusters._Run)
    run._ray = SimpleNamespace(nodes=lambda: [{"Alive": alive[0], "Resources": {"CPU": 2.0}}])
    run._say, run._seen, run.sent = said.append, {}, {"work": clusters._Sent(0, "CPU", None)}
    for alive[0] in (True, False, False, False, False):
        run.look_for_nodes()
    assert said == [
        "no node of the cluster has had a CPU for 30 seconds; the run waits for one to join, or for Ctrl-C. What was "
        "finished is kept."
    ]


def test_a_model_file_travels_along(tmp_path, honest_onnx):
    path = Path(shutil.copy(honest_onnx, tmp_path / "model.onnx"))
    scorer = OnnxScorer(path, threads=1)
    batch = np.random.default_rng(0).random((3, 1, 32, 32), dtype=np.float32)
    expected = scorer.logits(batch)
    sent = pickle.dumps(portable(scorer))
    path.unlink()
    there = pickle.loads(sent)
    assert there.name == "model"
    assert there.logits(batch).tobytes() == expected.tobytes()
    assert device_of(scorer) == device_of(there) == "cpu"


def test_weights_leave_their_gpu_for_the_way():
    scorer = TorchScorer(nets()[0])
    scorer.device = torch.device("cuda:1")  # none here: its weights are on the CPU already
    there = portable(scorer)
    assert (str(there.device), str(scorer.device)) == ("cuda", "cuda:1")
    assert device_of(scorer) == "cuda:1"
    assert there._original is scorer._original


def test_weights_leave_a_gpu_on_which_they_do_not_run():
    class Far(torch.nn.Linear):
        def buffers(self, recurse=True):
            yield SimpleNamespace(device=torch.device("cuda:0"))

        def cpu(self):
            return "here"

    assert portable(TorchScorer(Far(2, 2), device="cpu"))._original == "here"
