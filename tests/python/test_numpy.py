"""NumPy arrays, and others by DLPack, through the CPU engine, without PyTorch."""

import subprocess
import sys

import jfa
import numpy as np
import pytest


def expected(q, k, v, kv_offsets, q_offsets, causal):
    """(out, lse) in fp64."""
    out, lse = np.zeros(q.shape), np.full((q.shape[1], q.shape[0]), -np.inf)
    for b in range(len(kv_offsets) - 1):
        rows = slice(q_offsets[b], q_offsets[b + 1])
        keys = slice(kv_offsets[b], kv_offsets[b + 1])
        lq, lk = rows.stop - rows.start, keys.stop - keys.start
        if lk == 0:
            continue
        scores = np.einsum("qhd,khd->hqk", q[rows], k[keys]) / q.shape[2] ** 0.5
        if causal:
            scores[:, np.triu(np.ones((lq, lk), bool), lk - lq + 1)] = -np.inf
        weights = np.exp(scores - scores.max(2, keepdims=True))
        total = weights.sum(2)
        out[rows] = np.einsum("hqk,khd->qhd", weights / total[:, :, None], v[keys])
        lse[:, rows] = np.log(total) + scores.max(2)
    return out, lse


def arrays(dtype=np.float32):
    random = np.random.default_rng(0)
    q, k, v = (random.standard_normal((21, 2, 8)).astype(dtype) for _ in range(3))
    return q, k, v, np.array([0, 3, 3, 20, 21])


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("causal", [False, True])
def test_numpy(dtype, causal):
    q, k, v, offsets = arrays(dtype)
    out, lse = jfa.attention(q, k, v, offsets, offsets, causal=causal, return_lse=True)
    assert out.dtype == dtype and lse.dtype == np.float32
    exact, exact_lse = expected(*(t.astype(float) for t in (q, k, v)), offsets, offsets, causal)
    np.testing.assert_allclose(out, exact, atol=2 * np.finfo(dtype).eps * np.abs(exact).max())
    np.testing.assert_allclose(lse, exact_lse, rtol=1e-3 if dtype == np.float16 else 1e-5)


def by_differences(function, at, direction, step=1e-2):
    return (function(at + step * direction) - function(at - step * direction)) / (2 * step)


@pytest.mark.parametrize("broadcast", [False, True])
def test_gradients(broadcast):
    q, k, v, kv_offsets = arrays()
    q, q_offsets = (q[:2], None) if broadcast else (q, kv_offsets)
    offsets, options = (kv_offsets, q_offsets), dict(causal=True, softcap=2.0)
    random = np.random.default_rng(1)
    out, lse = jfa.attention(q, k, v, *offsets, return_lse=True, **options)
    dout = random.standard_normal(out.shape, np.float32)
    dlse = np.where(lse == -np.inf, np.float32(0), random.standard_normal(lse.shape, np.float32))
    gradients = jfa.attention_backward(
        dout, out, lse, q, k, v, *offsets, dlse=dlse, plan=jfa.Plan(q, k, v, *offsets, causal=True),
        **options,
    )  # fmt: skip
    for i, gradient in enumerate(gradients):

        def loss(x):
            given = [q, k, v]
            given[i] = x
            out, lse = jfa.attention(*given, *offsets, return_lse=True, **options)
            return np.sum(out * dout, dtype=float) + np.sum(np.nan_to_num(lse, neginf=0) * dlse)

        at = (q, k, v)[i]
        direction = random.standard_normal(at.shape, np.float32)
        assert gradient.shape == at.shape and gradient.dtype == at.dtype
        difference = by_differences(loss, at, direction)
        np.testing.assert_allclose(np.sum(gradient * direction), difference, rtol=5e-3, atol=5e-3)
    with pytest.raises(jfa.InvalidArgument, match=r"lse\.dtype is float64, must be float32"):
        jfa.attention_backward(dout, out, lse.astype(float), q, k, v, *offsets)


def test_views_and_plans():
    q, k, v, offsets = arrays()
    whole = jfa.attention(q, k, v, offsets, offsets)
    packed = np.stack([q, k, v], 1)
    assert np.array_equal(jfa.attention(*np.moveaxis(packed, 1, 0), offsets, offsets), whole)
    backwards = np.ascontiguousarray(v[::-1])[::-1]
    plan = jfa.Plan(q, k, backwards, offsets, offsets)
    assert np.array_equal(jfa.attention(q, k, backwards, offsets, offsets, plan=plan), whole)
    with pytest.raises(jfa.InvalidArgument, match="plan"):
        jfa.attention(q, k, v, offsets[:3], offsets[:3], plan=plan)


def test_scalars_of_numpy():
    q, k, v, offsets = arrays()
    options = dict(causal=np.bool_(True), window=(np.int64(4), np.int32(0)), softcap=np.float32(2))
    plain = dict(causal=True, window=(4, 0), softcap=2.0)
    out = jfa.attention(q, k, v, offsets, offsets, **options)
    assert np.array_equal(out, jfa.attention(q, k, v, offsets, offsets, **plain))


def test_broadcast_and_blocks():
    q, k, v, offsets = arrays()
    out = jfa.attention(q[:2], k, v, offsets)
    repeated = np.concatenate([q[:2]] * 4)
    rows = np.arange(0, 10, 2, dtype=np.int32)
    np.testing.assert_array_equal(out, jfa.attention(repeated, k, v, offsets, rows))
    blocks = jfa.BlockSparse(64, 64, np.arange(4), np.zeros(3, np.int32))  # all of what there is
    sparse = jfa.attention(q, k, v, offsets, offsets, block_sparse=blocks)
    np.testing.assert_array_equal(sparse, jfa.attention(q, k, v, offsets, offsets))


class Exported:
    """An array that is known by DLPack alone."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_dlpack():
    given = arrays()
    q, k, v, offsets = (Exported(array) for array in given)
    out = jfa.attention(q, k, v, offsets, offsets)
    assert np.array_equal(out, jfa.attention(*given, given[3]))


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    q, k, v, offsets = arrays(ml_dtypes.bfloat16)
    out = jfa.attention(q, k, v, offsets, offsets)
    exact = expected(*(t.astype(float) for t in (q, k, v)), offsets, offsets, False)[0]
    assert out.dtype == ml_dtypes.bfloat16
    np.testing.assert_allclose(out.astype(float), exact, atol=2e-2)


def test_errors():
    q, k, v, offsets = arrays()
    for change, message in (
        (dict(q=q[0]), r"q\.ndim is 2, must be 3"),
        (dict(k=k.astype(float)), r"k\.dtype is float64, must be one of"),
        (dict(q=q.astype(">f4")), r"q\.dtype is >f4, must be in this machine's byte order"),
        (dict(kv_offsets=offsets.astype(">i4")), r"kv_offsets\.dtype is >i4, must be in this"),
        (dict(kv_offsets=offsets.astype(float)), r"kv_offsets\.dtype is float64, must be one of"),
        (dict(kv_offsets=None), "kv_offsets is None"),
        (dict(kv_offsets=offsets[:0], q_offsets=None), r"kv_offsets\.size is 0"),
        (dict(kv_offsets=np.array(3)), r"kv_offsets\.ndim is 0, must be 1"),
        (dict(kv_offsets=np.array([0, 5, 4, 4, 4])), r"kv_offsets\[2\] is 4"),
    ):
        given = dict(q=q, k=k, v=v, kv_offsets=offsets, q_offsets=offsets)
        with pytest.raises(ValueError, match=message):
            jfa.attention(**{**given, **change})


def test_torch_is_not_imported():
    program = (
        "import sys, numpy as np, jfa; x = np.ones((2, 1, 4), np.float32);"
        "jfa.attention(x, x, x, np.array([0, 2])); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
