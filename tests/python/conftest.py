import jfa
import pytest
import torch

DTYPES = {"cpu": torch.float32, "cuda": torch.bfloat16}


def no_gpu():
    """Why tests on a GPU cannot run; empty where they can."""
    if not torch.cuda.is_available():
        return "no GPU"
    q = torch.zeros(1, 1, 64, device="cuda", dtype=torch.bfloat16)
    try:
        jfa.attention(q, q, q, torch.tensor([0, 1], device="cuda"))
    except jfa.Unavailable as error:
        return str(error)
    return ""


NO_GPU = no_gpu()


def pytest_generate_tests(metafunc):
    """Tests of a `device` run on the CPU and on a GPU; where there is none, visibly not."""
    if "device" in metafunc.fixturenames:
        gpu = pytest.mark.skipif(bool(NO_GPU), reason=NO_GPU)
        metafunc.parametrize("device", ["cpu", pytest.param("cuda", marks=gpu)])


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    """What a build has no GPU kernel for is a skipped test that says so."""
    try:
        return (yield)
    except jfa.Unsupported as error:
        if pyfuncitem.funcargs.get("device") != "cuda":
            raise
        pytest.skip(f"not in this build: {error}")


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@pytest.fixture
def dtype(device):
    """The type that tests compute in, unless they say another."""
    return DTYPES[device]
