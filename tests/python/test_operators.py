"""The operators under opcheck, torch.compile, autograd's tools, autocast and torch.func."""

import copy
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import jfa
import pytest
import torch
from batches import batch, offsets_of
from jfa import _torch
from torch.utils.checkpoint import checkpoint

LENGTHS = [3, 0, 17, 1]


def arguments(device, dtype, *, broadcast=False, plan=False, gradient=True, causal=True):
    """Arguments of the operator jfa::forward."""
    q, k, v, kv_offsets, q_offsets = batch(LENGTHS, device, dtype)
    if broadcast:
        q, q_offsets = q[:3].contiguous(), None
    plan = jfa.Plan(q, k, v, kv_offsets, q_offsets, causal=causal) if plan else None
    tensors = [t.requires_grad_(gradient) for t in (q, k, v)]
    problem = *tensors, kv_offsets, q_offsets, None, None, causal, (-1, -1), None
    return _torch._arguments(*problem, plan=plan)


@pytest.mark.parametrize("plan", [False, True])
@pytest.mark.parametrize("broadcast", [False, True])
def test_opcheck(device, dtype, broadcast, plan):
    given = arguments(device, dtype, broadcast=broadcast, plan=plan)
    torch.library.opcheck(torch.ops.jfa.forward.default, given)
    detached = [t.detach() if isinstance(t, torch.Tensor) else t for t in given]
    out, lse = torch.ops.jfa.forward.default(*detached)
    for dlse in (None, torch.randn_like(lse)):
        given = (torch.randn_like(out), out, lse, dlse, *detached)
        torch.library.opcheck(torch.ops.jfa.backward.default, given)


def compiled(function):
    """`function` compiled whole; a second compilation is an error, but for the one that makes sizes
    dynamic."""
    torch._dynamo.reset()
    return torch.compile(function, fullgraph=True, dynamic=True, backend="aot_eager")


FIRST_CALL = """
import jfa, torch
x, offsets = torch.randn(5, 2, 16), torch.tensor([0, 2, 5])
step = torch.compile(lambda x, o: jfa.attention(x, x, x, o, o), fullgraph=True, backend="aot_eager")
assert torch.equal(step(x, offsets), jfa.attention(x, x, x, offsets, offsets))
"""


def test_the_first_call_of_a_process_can_be_compiled():
    subprocess.run([sys.executable, "-c", FIRST_CALL], check=True)


def layer(q, k, v, kv_offsets, q_offsets, weight, plan=None):
    out, lse = jfa.attention(
        q @ weight, k, v, kv_offsets, q_offsets, causal=True, return_lse=True, plan=plan
    )
    return (out * 2).sum() + lse.nan_to_num(neginf=0.0).sum()


@pytest.mark.parametrize("broadcast", [False, True])
@pytest.mark.parametrize("planned", [False, True])
def test_compiles_once_for_all_shapes(device, dtype, broadcast, planned):
    step = compiled(layer)
    torch._dynamo.config.error_on_recompile = True
    try:
        for lengths in ([3, 4, 5], [7, 2], [16, 0, 1, 30, 5], [2, 2, 9]):
            q, k, v, kv_offsets, q_offsets = batch(lengths, device, dtype)
            if broadcast:
                q, q_offsets = q[:2].contiguous(), None
            weight = torch.randn(16, 16, device=device, dtype=dtype, requires_grad=True)
            given = [t.requires_grad_() for t in (q, k, v)]
            plan = jfa.Plan(*given, kv_offsets, q_offsets, causal=True) if planned else None
            expected = layer(*given, kv_offsets, q_offsets, weight)
            result = step(*given, kv_offsets, q_offsets, weight, plan)
            torch.testing.assert_close(result, expected)
            leaves = [*given, weight]
            for a, b in zip(
                torch.autograd.grad(result, leaves), torch.autograd.grad(expected, leaves)
            ):
                torch.testing.assert_close(a, b)
    finally:
        torch._dynamo.config.error_on_recompile = False


def test_plan_is_made_inside_compiled_code(device, dtype):
    def two_layers(q, k, v, kv_offsets, q_offsets):
        plan = jfa.Plan(q, k, v, kv_offsets, q_offsets, causal=True)
        for _ in range(2):
            q = jfa.attention(q, k, v, kv_offsets, q_offsets, causal=True, plan=plan)
        return q

    given = batch(LENGTHS, device, dtype)
    assert torch.equal(compiled(two_layers)(*given), two_layers(*given))


def test_inductor(device, dtype):
    given = batch(LENGTHS, device, dtype)
    step = torch.compile(jfa.attention, fullgraph=True, dynamic=True)
    torch.testing.assert_close(step(*given, causal=True), jfa.attention(*given, causal=True))


def test_activation_checkpointing(device, dtype):
    q, k, v, *offsets = batch(LENGTHS, device, dtype)
    results = []
    for run in (lambda f, *a: f(*a), lambda f, *a: checkpoint(f, *a, use_reentrant=False)):
        leaves = [t.clone().requires_grad_() for t in (q, k, v)]
        plan = jfa.Plan(*leaves, *offsets)
        out = run(lambda *qkv: jfa.attention(*qkv, *offsets, plan=plan), *leaves)
        out.square().sum().backward()
        results.append([t.grad for t in leaves])
    assert all(torch.equal(a, b) for a, b in zip(*results))


def test_gradients_by_differences():
    """Of out and lse, in the direction of one random step for each input."""
    q, k, v, *offsets = batch([4, 0, 6], "cpu", torch.float32, heads=4, heads_kv=2, head_dim=8)
    d_out, d_lse = torch.randn_like(q), torch.randn(4, 10)

    def loss(q, k, v):
        options = dict(causal=True, softcap=3.0, return_lse=True)
        out, lse = jfa.attention(q, k, v, *offsets, **options)
        return (out * d_out).double().sum() + (lse * d_lse).double().sum()

    leaves = [t.requires_grad_() for t in (q, k, v)]
    gradients = torch.autograd.grad(loss(*leaves), leaves)
    for i, gradient in enumerate(gradients):
        step = torch.randn_like(gradient)
        at = [t.detach() for t in leaves]
        ahead, back = list(at), list(at)
        ahead[i], back[i] = at[i] + 1e-2 * step, at[i] - 1e-2 * step
        difference = (loss(*ahead) - loss(*back)) / 2e-2
        torch.testing.assert_close(
            (gradient * step).double().sum(), difference, rtol=3e-3, atol=3e-3
        )


@pytest.mark.filterwarnings("ignore:.*not a double precision")
@pytest.mark.parametrize("broadcast", [False, True])
def test_gradcheck(broadcast):
    """fp32 is the CPU engine's widest type: steps and tolerances are wide."""
    q, k, v, kv_offsets, q_offsets = batch(
        [4, 0, 6], "cpu", torch.float32, heads=2, heads_kv=1, head_dim=4
    )
    if broadcast:
        q, q_offsets = q[:2].clone(), None

    def function(q, k, v):
        options = dict(causal=True, softcap=3.0, return_lse=True)
        out, lse = jfa.attention(q, k, v, kv_offsets, q_offsets, **options)
        return out, lse[lse > -torch.inf]

    leaves = [t.requires_grad_() for t in (q, k, v)]
    assert torch.autograd.gradcheck(function, leaves, eps=1e-2, atol=2e-3, rtol=1e-2)


def test_only_wanted_gradients(device, dtype):
    q, k, v, *offsets = batch(LENGTHS, device, dtype)
    v.requires_grad_()
    jfa.attention(q, k, v, *offsets).sum().backward()
    assert v.grad is not None and q.grad is None
    out, lse = jfa.attention(q.requires_grad_(), k, v, *offsets, return_lse=True)
    (dq,) = torch.autograd.grad(lse.nan_to_num(neginf=0.0).sum(), [q])  # out is not used
    assert dq.abs().sum() > 0


def test_second_derivatives_are_refused(device, dtype):
    q, k, v, *offsets = batch(LENGTHS, device, dtype)
    q.requires_grad_()
    (dq,) = torch.autograd.grad(
        jfa.attention(q, k, v, *offsets).square().sum(), [q], create_graph=True
    )
    with pytest.raises(RuntimeError, match="differentiate twice"):
        dq.sum().backward()


def test_second_derivatives_of_a_constant_dout_are_refused():
    x = torch.randn(3, 1, 8, requires_grad=True)
    out = jfa.attention(x, x.detach(), x.detach(), offsets_of([3]))
    (gradient,) = torch.autograd.grad(out.sum(), x, create_graph=True)
    penalty = out.sum() + gradient.square().sum()
    with pytest.raises(RuntimeError, match="differentiate twice"):
        torch.autograd.grad(penalty, x)


def test_derivatives_by_dout_are_refused(device, dtype):
    q, k, v, *offsets = batch(LENGTHS, device, dtype)
    with pytest.raises(RuntimeError, match="differentiate twice"):
        torch.autograd.functional.jvp(lambda q: jfa.attention(q, k, v, *offsets), q, q)


@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_batches_of_gradients(device, dtype):
    q, k, v, *offsets = batch(LENGTHS, device, dtype)
    q.requires_grad_()
    results = jfa.attention(q, k, v, *offsets, deterministic=True, return_lse=True)
    for of in (results, results[:1], results[1:]):
        given = [torch.randn(3, *t.shape, device=device).to(t.dtype) for t in of]
        options = dict(retain_graph=True)
        (got,) = torch.autograd.grad(of, q, given, is_grads_batched=True, **options)
        each = [torch.autograd.grad(of, q, one, **options)[0] for one in zip(*given)]
        assert torch.equal(got, torch.stack(each))


def test_autocast(device):
    q, k, v, *offsets = batch(LENGTHS, device, torch.float32)
    q.requires_grad_()
    with torch.autocast(device, dtype=torch.bfloat16):
        out = jfa.attention(q, k, v, *offsets)
    assert out.dtype == torch.bfloat16
    out.float().sum().backward()
    assert q.grad.dtype == torch.float32
    expected = jfa.attention(*(t.detach().bfloat16() for t in (q, k, v)), *offsets)
    assert torch.equal(out, expected)
    with torch.autocast(device, dtype=torch.bfloat16), pytest.raises(jfa.InvalidArgument) as refused:
        jfa.attention(q.double(), k, v, *offsets)  # autocast leaves fp64 as it is
    assert "q.dtype is torch.float64" in str(refused.value)


def test_transforms_are_refused(device, dtype):
    q, k, v, *offsets = batch(LENGTHS, device, dtype)

    def total(q):
        return jfa.attention(q, k, v, *offsets).sum()

    for transform, argument in ((torch.func.vmap, q[None]), (torch.func.grad, q)):
        with pytest.raises(jfa.Unsupported, match="torch.func"):
            transform(total)(argument)


def test_forward_mode_is_refused(device, dtype):
    q, k, v, *offsets = batch(LENGTHS, device, dtype)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(q, torch.ones_like(q))
        with pytest.raises(jfa.Unsupported, match="forward-mode"):
            jfa.attention(dual, k, v, *offsets)
        jfa.attention(q, k, v, *offsets)


def test_what_watches_operators_sees_them(device, dtype):
    """Eager calls leave the dispatcher out, but not where it would be missed."""

    class Seen(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, arguments=(), options=None):
            operators.append(str(function))
            return function(*arguments, **(options or {}))

    operators = []
    q, k, v, *offsets = batch(LENGTHS, device, dtype)
    q.requires_grad_()
    with Seen():
        jfa.attention(q, k, v, *offsets).sum().backward()
    assert "jfa.forward.default" in operators and "jfa.backward.default" in operators
    with torch.profiler.profile() as profiler:
        jfa.attention(q, k, v, *offsets)
    assert "jfa::forward" in {event.key for event in profiler.key_averages()}


def test_meta_tensors_have_shapes():
    q, k, v, *offsets = (t.to("meta") for t in batch(LENGTHS, "cpu", torch.float32))
    out, lse = jfa.attention(q, k, v, *offsets, return_lse=True)
    assert out.shape == q.shape and lse.shape == (2, 21) and out.is_meta


@pytest.mark.parametrize("broadcast", [False, True])
def test_older_pytorch(device, dtype, broadcast, monkeypatch):
    """Without DLPack's exchange API the same is computed."""
    q, k, v, kv_offsets, q_offsets = batch(LENGTHS, device, dtype)
    if broadcast:
        q, q_offsets = q[:3], None
    used = torch.tensor([1, 0, 9, 1], device=device)
    plan = jfa.Plan(q, k, v, kv_offsets, q_offsets, kv_lengths=used)
    given = (q, k, v, kv_offsets, q_offsets)
    options = dict(kv_lengths=used, plan=plan, return_lse=True)
    results = jfa.attention(*given, **options)
    monkeypatch.setattr(_torch, "_forward_in_c", None)
    for a, b in zip(jfa.attention(*given, **options), results):
        assert torch.equal(a, b)


def test_explicit_backward(device, dtype):
    q, k, v, *offsets = batch(LENGTHS, device, dtype)
    leaves = [t.requires_grad_() for t in (q, k, v)]
    options = dict(causal=True, deterministic=True)
    out, lse = jfa.attention(*leaves, *offsets, return_lse=True, **options)
    d_out, d_lse = torch.randn_like(out), torch.randn_like(lse)
    expected = torch.autograd.grad([out, lse], leaves, [d_out, d_lse])
    given = d_out, out, lse, *leaves, *offsets
    for a, b in zip(jfa.attention_backward(*given, dlse=d_lse, **options), expected):
        assert torch.equal(a, b) and not a.requires_grad
    with pytest.raises(jfa.InvalidArgument, match=r"lse\.dtype is torch.float64, must be"):
        jfa.attention_backward(d_out, out, lse.double(), *leaves, *offsets)


def test_plan(device, dtype):
    q, k, v, *offsets = batch(LENGTHS, device, dtype)
    plan = jfa.Plan(torch.full_like(q, torch.nan), k, v, *offsets, causal=True)  # shapes count
    out = jfa.attention(q, k, v, *offsets, causal=True, plan=plan)
    assert torch.equal(out, jfa.attention(q, k, v, *offsets, causal=True))
    with pytest.raises(jfa.InvalidArgument, match="plan"):
        jfa.attention(q[:9], k, v, offsets[0], offsets_of([3, 3, 3, 0], device), plan=plan)


def test_plan_outlives_its_object(device, dtype):
    q, k, v, *offsets = batch(LENGTHS, device, dtype)
    q.requires_grad_()
    out = jfa.attention(q, k, v, *offsets, plan=jfa.Plan(q, k, v, *offsets))
    out.sum().backward()  # the plan is gone but for what autograd kept
    assert q.grad.isfinite().all()
    with torch.autograd.graph.saved_tensors_hooks(torch.clone, torch.clone):
        out = jfa.attention(q, k, v, *offsets, plan=jfa.Plan(q, k, v, *offsets))
    out.sum().backward()
    plan = jfa.Plan(q, k, v, *offsets)
    plan.number = plan.number.clone()
    with pytest.raises(jfa.InvalidArgument, match="no longer there"):
        jfa.attention(q, k, v, *offsets, plan=plan)


def test_module_can_be_copied_and_frozen(device, dtype):
    """Nothing of a call stays in a module: deepcopy, no_grad and inference_mode work."""
    q, k, v, *offsets = batch(LENGTHS, device, dtype)
    expected = jfa.attention(q, k, v, *offsets)
    with torch.inference_mode():
        assert torch.equal(jfa.attention(*copy.deepcopy((q, k, v)), *offsets), expected)
    with torch.no_grad():
        assert not jfa.attention(q.requires_grad_(), k, v, *offsets).requires_grad


def test_calls_from_several_threads(device, dtype):
    q, k, v, *offsets = batch(LENGTHS, device, dtype)
    plan = jfa.Plan(q, k, v, *offsets)
    expected = jfa.attention(q, k, v, *offsets)
    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(jfa.attention, q, k, v, *offsets, plan=plan) for _ in range(100)]
        assert all(torch.equal(call.result(), expected) for call in calls)


def test_errors(device, dtype):
    q, k, v, *offsets = batch(LENGTHS, device, dtype)
    refused = [
        (dict(q=q[0]), r"q\.dim\(\) is 2, must be 3"),
        (dict(q=q.double()), r"q\.dtype is torch.float64, must be one of"),
        (dict(v=v[:-1]), r"v\.rows is 20, must be 21"),
        (dict(kv_offsets=offsets[0].float()), r"kv_offsets\.dtype is .*32, must be .*int"),
        (dict(q_offsets=offsets[1][:2]), r"q_offsets\.size is 2, must be 5"),
        (dict(q_offsets=offsets[1][:0]), r"q_offsets\.size is 0, must be 5"),
        (dict(softcap=-1.0), r"softcap is -1, must be 0"),
        (dict(window=(-2, 0)), r"window\.left is -2, must be -1"),
        (dict(kv_offsets=offsets[0][None]), r"kv_offsets\.dim\(\) is 2, must be 1"),
        (dict(window=None), r"window is None, must be a pair"),
        (dict(window=(1, 2, 3)), r"window is \(1, 2, 3\), must be a pair"),
        (dict(block_sparse=jfa.BlockSparse(32, 64, offsets[0], offsets[0])), "block_q is 32"),
        (dict(q_offsets=None, q_lengths=offsets[0][1:]), "q_lengths is given without q_offsets"),
    ]
    given = dict(q=q, k=k, v=v, kv_offsets=offsets[0], q_offsets=offsets[1])
    for change, message in refused:
        with pytest.raises(jfa.InvalidArgument, match=message):
            jfa.attention(**{**given, **change})
        with pytest.raises(ValueError):
            jfa.attention(**{**given, **change})


def test_options_are_read_at_each_call():
    q, k, v, *offsets = batch(LENGTHS, "cpu", torch.float32)
    for scale, side in ((0.25, 0), (1.0, 2)):
        given = torch.tensor(0.0).fill_(scale), torch.tensor(0).fill_(side)
        if scale == 0.25:
            held = given
        for mine, new in zip(held, given):
            mine.copy_(new)
        ours = jfa.attention(q, k, v, *offsets, softmax_scale=held[0], window=(held[1], held[1]))
        plain = jfa.attention(q, k, v, *offsets, softmax_scale=scale, window=(side, side))
        assert torch.equal(ours, plain)


def test_windows_beyond_64_bits_are_refused():
    q, k, v, *offsets = batch(LENGTHS, "cpu", torch.float32)
    for side in (2**63, 2**64, -(2**64)):
        with pytest.raises(jfa.InvalidArgument, match=f"window has {side}"):
            jfa.attention(q, k, v, *offsets, window=(side, 0))


def test_tensors_whose_memory_is_not_their_value():
    """Negative views and tensors of zeros without memory, forward and as gradients."""
    q, k, v, *offsets = batch(LENGTHS, "cpu", torch.float32)
    q.requires_grad_()
    zeros = torch._efficientzerotensor(k.shape)
    for lazy in (torch._neg_view(k), zeros):
        got = jfa.attention(q, lazy, v, *offsets)
        assert torch.equal(got, jfa.attention(q, lazy.clone(), v, *offsets))
    out, lse = jfa.attention(q, k, v, *offsets, return_lse=True)
    for dlse in (torch._neg_view(torch.randn(lse.shape)), torch._efficientzerotensor(lse.shape)):
        got, exact = (
            torch.autograd.grad([out, lse], q, [torch.ones_like(out), d], retain_graph=True)
            for d in (dlse, dlse.clone())
        )
        assert torch.equal(*got, *exact)


def test_other_devices_are_refused():
    """Also where PyTorch's dispatcher, on seeing a meta tensor, would give results of no value."""
    q, k, v, *offsets = batch(LENGTHS, "cpu", torch.float32)
    out, lse = jfa.attention(q, k, v, *offsets, return_lse=True)
    for name in ("k", "v", "kv_offsets"):
        given = dict(q=q, k=k, v=v, kv_offsets=offsets[0], q_offsets=offsets[1])
        given[name] = given[name].to("meta")
        with pytest.raises(jfa.InvalidArgument, match=rf"{name}\.device is meta, must be cpu"):
            jfa.attention(**given)
    for name in ("dout", "out", "lse", "dlse"):
        given = dict(dout=out, out=out, lse=lse, dlse=lse)
        given[name] = given[name].to("meta")
        with pytest.raises(jfa.InvalidArgument, match=rf"{name}\.device is meta, must be cpu"):
            jfa.attention_backward(**given, q=q, k=k, v=v, kv_offsets=offsets[0])


def test_absent_arguments_are_named():
    q, k, v, *offsets = batch(LENGTHS, "cpu", torch.float32)
    with pytest.raises(jfa.InvalidArgument, match="kv_offsets is None"):
        jfa.attention(q, k, v, None)
    lists = jfa.BlockSparse(64, 64, None, torch.tensor([0]))
    with pytest.raises(jfa.InvalidArgument, match=r"block_sparse\.row_offsets is None"):
        jfa.attention(q, k, v, *offsets, block_sparse=lists)


def test_wrong_offsets_are_named():
    q, k, v, *offsets = batch(LENGTHS, "cpu", torch.float32)
    with pytest.raises(ValueError, match=r"kv_offsets\[2\]"):
        jfa.attention(q, k, v, torch.tensor([0, 9, 3, 4, 5]), offsets[1])


def test_check(device, dtype):
    q, k, v, kv_offsets, q_offsets = batch(LENGTHS, device, dtype)
    q.requires_grad_()
    options = dict(causal=True, check=True)
    plan = jfa.Plan(q, k, v, kv_offsets, q_offsets, causal=True)
    for given in (None, plan):
        out = jfa.attention(q, k, v, kv_offsets, q_offsets, plan=given, **options)
        assert torch.equal(out, jfa.attention(q, k, v, kv_offsets, q_offsets, causal=True))
        out.sum().backward()
    wrong = torch.tensor([0, 9, 3, 4, 5], device=device)
    with pytest.raises(jfa.InvalidArgument, match=r"kv_offsets\[2\] is"):
        jfa.attention(q, k, v, wrong, q_offsets, **options)
    others = offsets_of([4, 0, 16, 1], device)
    with pytest.raises(jfa.InvalidArgument, match="plan"):
        jfa.attention(q, k, v, others, others, plan=plan, **options)
    used = torch.tensor([1, -1, 2, 1], device=device)
    with pytest.raises(jfa.InvalidArgument, match=r"kv_lengths\[1\]"):
        jfa.attention(q, k, v, kv_offsets, q_offsets, kv_lengths=used, **options)
