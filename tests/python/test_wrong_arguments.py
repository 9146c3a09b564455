"""Arguments of the wrong kind are named, by jfa's own errors, whoever notices them first."""

import copy
import pickle

import jfa
import numpy as np
import pytest
import torch

Q = torch.randn(5, 4, 64)
OFFSETS = torch.tensor([0, 2, 2, 5])
ARRAYS = dict(q=Q, k=Q, v=Q, kv_offsets=OFFSETS, q_offsets=OFFSETS)
LISTS = jfa.BlockSparse(64, 64, OFFSETS, OFFSETS)


def nested(layout):
    return torch.nested.nested_tensor([Q, Q[:2]], layout=layout)


WRONG_TENSORS = {
    "int": Q.int(),
    "complex": Q.to(torch.complex64),
    "bool": Q.bool(),
    "fp64": Q.double(),
    "fp8": Q.to(torch.float8_e4m3fn),
    "quantized": torch.quantize_per_tensor(Q, 0.1, 0, torch.qint8),
    "sparse": Q.to_sparse(),
    "csr": Q[0].to_sparse_csr(),
    "mkldnn": Q.to_mkldnn(),
    "meta": Q.to("meta"),
    "jagged": nested(torch.jagged),
    "nested": nested(torch.strided),
    "no dimension": torch.tensor(1.0),
    "one dimension": Q[0, 0],
    "two dimensions": Q[0],
    "four dimensions": Q[None],
    "list": Q.tolist(),
    "text": "x",
    "number": 3.0,
    "object": object(),
    "array of text": np.array(["x"]),
}

def refused(call, *words):
    with pytest.raises(jfa.InvalidArgument) as raised:
        call()
    assert all(word in str(raised.value) for word in (*words, "must be")), str(raised.value)


@pytest.mark.parametrize("wrong", WRONG_TENSORS)
@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("call", [jfa.attention, jfa.Plan])
def test_arrays(call, name, wrong):
    arguments = ARRAYS | {name: WRONG_TENSORS[wrong]}
    # Devices are those that q is on: the first that differs is named.
    refused(lambda: call(**arguments), "k" if (name, wrong) == ("q", "meta") else name)


NO_ARRAYS = [[[1], [1, 2]], Q.clone().requires_grad_()]


@pytest.mark.parametrize("wrong", NO_ARRAYS, ids=["ragged", "leaf"])
def test_what_turns_into_no_array(wrong):
    arrays = {name: array.numpy() for name, array in ARRAYS.items()}
    refused(lambda: jfa.attention(**arrays | {"k": wrong}), "k is a")


@pytest.mark.parametrize("name", ["q", "k", "v", "kv_offsets"])
def test_absent_arrays(name):
    refused(lambda: jfa.attention(**ARRAYS | {name: None}), name)


@pytest.mark.parametrize("name", ["dout", "out", "lse", "dlse"])
@pytest.mark.parametrize("wrong", ["int", "sparse", "list", "jagged", "one dimension", "meta"])
def test_arrays_of_the_backward_pass(name, wrong):
    lse = torch.zeros(4, 5)
    arguments = ARRAYS | dict(dout=Q, out=Q, lse=lse, dlse=lse) | {name: WRONG_TENSORS[wrong]}
    refused(lambda: jfa.attention_backward(**arguments), name)


@pytest.mark.parametrize(
    "option, wrong",
    [
        ("softmax_scale", Q),
        ("softmax_scale", "x"),
        ("softcap", None),
        ("softcap", [1]),
        ("window", 3),
        ("window", (0.5, 1)),
        ("window", (None, 1)),
        ("causal", Q),
        ("deterministic", Q.numpy()),
        ("plan", 7),
        ("plan", Q),
        ("block_sparse", Q),
        ("block_sparse", (64, 64)),
        ("block_sparse", LISTS._replace(block_q="x")),
        ("block_sparse", LISTS._replace(block_q=2**80)),
        ("block_sparse", LISTS._replace(row_offsets=[0, 1])),
        ("block_sparse", LISTS._replace(columns=None)),
    ],
    ids=str,
)
def test_options(option, wrong):
    refused(lambda: jfa.attention(**ARRAYS, **{option: wrong}), option)


def test_a_plan_of_other_arrays():
    of_numpy = jfa.Plan(**{name: array.numpy() for name, array in ARRAYS.items()})
    of_torch = jfa.Plan(**ARRAYS)
    of_meta = jfa.Plan(**{name: array.to("meta") for name, array in ARRAYS.items()})
    refused(lambda: jfa.attention(**ARRAYS, plan=of_numpy), "plan", "PyTorch")
    refused(lambda: jfa.attention(**ARRAYS, plan=of_meta), "plan", "meta")
    arrays = {name: array.numpy() for name, array in ARRAYS.items()}
    refused(lambda: jfa.attention(**arrays, plan=of_torch), "plan", "NumPy")


@pytest.mark.parametrize("option", ["softmax_scale", "softcap"])
def test_constants_that_require_grad_are_refused(option):
    value = torch.tensor(0.25, requires_grad=True)
    refused(lambda: jfa.attention(**ARRAYS, **{option: value}), option, "requires grad")
    expected = jfa.attention(**ARRAYS, **{option: 0.25})
    assert torch.equal(jfa.attention(**ARRAYS, **{option: value.detach()}), expected)
    with torch.no_grad():
        assert torch.equal(jfa.attention(**ARRAYS, **{option: value}), expected)


def test_a_copied_plan_is_the_plan():
    plan = jfa.Plan(**ARRAYS)
    copies = copy.copy(plan), copy.deepcopy({"plan": [plan]})["plan"][0]
    del plan
    for one in copies:
        assert torch.equal(jfa.attention(**ARRAYS, plan=one), jfa.attention(**ARRAYS))


def test_a_pickled_plan_is_refused():
    with pytest.raises(jfa.Unsupported, match="plan is pickled, must be"):
        pickle.dumps(jfa.Plan(**ARRAYS))


def test_capacity_takes_no_memory():
    k = torch.zeros(1, 1, 64).expand(2**50, 1, 64)
    jfa.Plan(torch.zeros(5, 1, 64), k, k, OFFSETS, OFFSETS)
    jfa.Plan(k, torch.zeros(5, 1, 64), torch.zeros(5, 1, 64), OFFSETS, OFFSETS)
