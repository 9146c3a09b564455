import pytest
import torch

DTYPES = {"cpu": torch.float32, "cuda": torch.bfloat16}


def pytest_generate_tests(metafunc):
    """Tests of a `device` run on the CPU and on a GPU; where there is none, visibly not."""
    if "device" in metafunc.fixturenames:
        gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
        metafunc.parametrize("device", ["cpu", pytest.param("cuda", marks=gpu)])


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@pytest.fixture
def dtype(device):
    """The type that tests compute in, unless they say another."""
    return DTYPES[device]
