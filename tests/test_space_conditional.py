"""Points that differ only in parameters that are left out are one point."""

from __future__ import annotations

import pickle

import torch

from compbo import Categorical, Float, Int
from compbo.space.conditional import Condition, ConditionalSpace

SPACE = ConditionalSpace(
    {
        "kind": Categorical(["tree", "net", "line"]),
        "depth": Int(1, 9),
        "layers": Int(1, 3),
        "rate": Float(1e-4, 1.0, scale="log"),
        "last": Float(0.0, 1.0),
    },
    [
        Condition("depth", "kind", ("net", "line")),
        Condition("layers", "kind", ("tree", "line")),
        Condition("rate", "kind", ("tree", "line")),
        Condition("last", "layers", (1, 2)),
    ],
)


def test_what_is_left_out_stands_at_its_middle() -> None:
    point = SPACE.validate({"kind": "line", "depth": 9, "layers": 3, "rate": 0.5, "last": 0.9})
    assert point == {"kind": "line", "depth": 5, "layers": 2, "rate": 0.01, "last": 0.5}
    assert SPACE.left_out({"kind": "net", "layers": 1}) == {"depth", "last"}
    assert SPACE.left_out({"kind": "net", "layers": 3}) == {"depth"}
    assert SPACE.left_out({"kind": "tree", "layers": 3}) == {"layers", "rate", "last"}


def test_rounding_agrees_with_the_points() -> None:
    x = torch.rand(200, SPACE.dim, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    rounded = SPACE.round_unit(x)
    assert torch.allclose(SPACE.to_unit(SPACE.from_unit(x)), rounded, atol=1e-12)
    assert torch.equal(SPACE.round_unit(rounded), rounded)


def test_no_gradient_where_it_has_no_effect() -> None:
    (x,) = SPACE.to_unit([{"kind": "net", "depth": 5, "layers": 1, "rate": 0.5, "last": 0.9}])
    x.requires_grad_()
    SPACE.round_unit(x).sum().backward()
    rate, last = SPACE.dim - 2, SPACE.dim - 1
    assert x.grad is not None
    assert x.grad[rate] == 1.0
    assert x.grad[last] == 0.0


def test_a_finite_space_lists_every_point_once() -> None:
    parameters = {"kind": Categorical(["a", "b"]), "n": Int(1, 3)}
    space = ConditionalSpace(parameters, [Condition("n", "kind", ("a",))])
    assert [tuple(point.values()) for point in space.grid()] == [("a", 2), ("b", 1), ("b", 2), ("b", 3)]


def test_it_can_be_pickled() -> None:
    copy = pickle.loads(pickle.dumps(SPACE))
    x = torch.rand(5, SPACE.dim, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    assert torch.equal(copy.round_unit(x), SPACE.round_unit(x))
