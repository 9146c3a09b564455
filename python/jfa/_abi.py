"""The C ABI of include/jfa/jfa.h through ctypes: its structs, functions and errors."""

import ctypes
import functools
import itertools
import operator
import os
import pathlib
import struct
import sys
import weakref
from ctypes import (
    POINTER,
    c_char_p,
    c_double,
    c_int32,
    c_int64,
    c_size_t,
    c_uint32,
    c_uint64,
    c_void_p,
    py_object,
    pythonapi,
)

BF16, F16, F32, I32, I64 = range(5)
CPU, CUDA = range(2)

# An address for arrays without elements: the library takes a null one for an absent array.
NOWHERE = 64


class Error(Exception):
    """A call failed; nothing was written."""


class InvalidArgument(Error, ValueError):
    """An argument breaks the contract; the message names it, its value and what is allowed."""


class Unsupported(Error, NotImplementedError):
    """Within the contract, but not offered by the engine of this device."""


class OutOfMemory(Error, MemoryError):
    """Memory for the call could not be had."""


class Unavailable(Error, RuntimeError):
    """The engine or the device is not there."""


class InternalError(Error, RuntimeError):
    """A defect of the library."""


NOT_TAKEN = 6  # of jfa_python_forward

_ERRORS = {1: InvalidArgument, 2: Unsupported, 3: OutOfMemory, 4: Unavailable, 5: InternalError}


class Tensor(ctypes.Structure):
    """jfa_tensor"""

    _fields_ = [
        ("data", c_void_p),
        ("dtype", c_int32),
        ("rows", c_int64),
        ("heads", c_int64),
        ("head_dim", c_int64),
        ("row_stride", c_int64),
        ("head_stride", c_int64),
    ]


class Lse(ctypes.Structure):
    """jfa_lse"""

    _fields_ = [
        ("data", c_void_p),
        ("heads", c_int64),
        ("rows", c_int64),
        ("head_stride", c_int64),
    ]


class Index(ctypes.Structure):
    """jfa_index"""

    _fields_ = [("data", c_void_p), ("dtype", c_int32), ("size", c_int64)]


class Inputs(ctypes.Structure):
    """jfa_inputs"""

    _fields_ = [
        ("size", c_size_t),
        ("q", Tensor),
        ("k", Tensor),
        ("v", Tensor),
        ("kv_offsets", Index),
        ("q_offsets", Index),
        ("kv_lengths", Index),
        ("q_lengths", Index),
    ]


class BlockSparse(ctypes.Structure):
    """jfa_block_sparse"""

    _fields_ = [
        ("size", c_size_t),
        ("block_q", c_int64),
        ("block_kv", c_int64),
        ("heads", c_int64),
        ("row_offsets", Index),
        ("columns", Index),
    ]


class Options(ctypes.Structure):
    """jfa_options"""

    _fields_ = [
        ("size", c_size_t),
        ("window_left", c_int64),
        ("window_right", c_int64),
        ("causal", c_int32),
        ("deterministic", c_int32),
        ("has_softmax_scale", c_int32),
        ("softmax_scale", c_double),
        ("softcap", c_double),
        ("block_sparse", POINTER(BlockSparse)),
    ]


class Execution(ctypes.Structure):
    """jfa_execution"""

    _fields_ = [
        ("size", c_size_t),
        ("device", c_int32),
        ("threads", c_int32),
        ("workspace", c_void_p),
        ("workspace_bytes", c_size_t),
        ("stream", c_void_p),
        ("check", c_void_p),
    ]


class ForwardOutputs(ctypes.Structure):
    """jfa_forward_outputs"""

    _fields_ = [("size", c_size_t), ("out", Tensor), ("lse", Lse)]


class BackwardInputs(ctypes.Structure):
    """jfa_backward_inputs"""

    _fields_ = [
        ("size", c_size_t),
        ("dout", Tensor),
        ("out", Tensor),
        ("lse", Lse),
        ("dlse", Lse),
    ]


class BackwardOutputs(ctypes.Structure):
    """jfa_backward_outputs"""

    _fields_ = [("size", c_size_t), ("dq", Tensor), ("dk", Tensor), ("dv", Tensor)]


class Python(ctypes.Structure):
    """jfa_python"""

    _fields_ = [
        ("size", c_size_t),
        ("exchange", c_void_p),
        ("none", c_void_p),
        ("release", c_void_p),
        ("acquire", c_void_p),
    ]


# What is packed into argument structs as a whole, which is faster than field by field: the fields
# of a jfa_tensor, a jfa_lse, a jfa_index, each flat, one after the other.
_TENSOR, _LSE, _INDEX = "Pi5q", "P3q", "Piq"
ABSENT = (0, I32, 0)
NO_LSE = (0, 0, 0, 0)


def _packer(structure, fields):
    layout = struct.Struct("@N" + fields)
    size = ctypes.sizeof(structure)
    assert layout.size == size

    def pack(*values):
        packed = structure()
        layout.pack_into(packed, 0, size, *values)
        return packed

    return pack


pack_inputs = _packer(Inputs, 3 * _TENSOR + 4 * _INDEX)
pack_block_sparse = _packer(BlockSparse, "3q" + 2 * _INDEX)
pack_forward_outputs = _packer(ForwardOutputs, _TENSOR + _LSE)
pack_backward_inputs = _packer(BackwardInputs, 2 * _TENSOR + 2 * _LSE)
pack_backward_outputs = _packer(BackwardOutputs, 3 * _TENSOR)
_pack_execution = _packer(Execution, "2iPNPP")


def options(causal, left, right, softmax_scale, softcap, deterministic):
    """jfa_options without block_sparse; calls with equal ones share it."""
    # A tensor's value may change: it is read before the look-up.
    return _options(
        bool(causal),
        operator.index(left),
        operator.index(right),
        None if softmax_scale is None else float(softmax_scale),
        float(softcap),
        bool(deterministic),
    )


@functools.lru_cache
def _options(causal, left, right, softmax_scale, softcap, deterministic):
    for side in (left, right):  # ctypes would cut it down to 64 bits
        if not -(2**63) <= side < 2**63:
            raise InvalidArgument(f"window has {side}, must be -1 (unbounded) to 2^63 - 1")
    scale = softmax_scale
    return Options(
        ctypes.sizeof(Options),
        left,
        right,
        causal,
        deterministic,
        scale is not None,
        0.0 if scale is None else scale,
        softcap,
    )


def with_block_sparse(shared_options, *fields):
    """A copy of `shared_options` with a mask of lists: jfa_block_sparse's fields but its size."""
    copy = Options.from_buffer_copy(shared_options)
    copy.block_sparse = ctypes.pointer(pack_block_sparse(*fields))
    return copy


@functools.lru_cache
def cpu_execution(threads):
    return Execution(ctypes.sizeof(Execution), CPU, threads)


def cuda_execution(stream, workspace=0, workspace_bytes=0, check=0):
    return _pack_execution(CUDA, 0, workspace, workspace_bytes, stream, check)


def _library_path():
    """Of libjfa.so: beside these modules, or where an editable install of them keeps it."""
    folders = [pathlib.Path(__file__).parent, *map(pathlib.Path, sys.modules["jfa"].__path__)]
    places = [folder / "libjfa.so" for folder in folders]
    return os.fspath(next((place for place in places if place.exists()), places[0]))


_PATH = os.environ.get("JFA_LIBRARY") or _library_path()


def _load():
    library = ctypes.CDLL(_PATH)
    call = [POINTER(Inputs), POINTER(Options)]
    size = POINTER(c_size_t)
    for name, result, arguments in (
        ("last_error", c_char_p, []),
        ("check_result", c_int32, [c_uint64]),
        ("version", c_char_p, []),
        ("plan_create", c_int32, [*call, POINTER(Execution), POINTER(c_void_p)]),
        ("plan_destroy", None, [c_void_p]),
        ("workspace_sizes", c_int32, [*call, POINTER(Execution), size, size]),
        ("plan_workspace_size", c_int32, [*call, POINTER(Execution), size]),
        ("forward", c_int32, [*call, POINTER(ForwardOutputs), POINTER(Execution), c_void_p]),
        (
            "backward",
            c_int32,
            [
                *call,
                POINTER(BackwardInputs),
                POINTER(BackwardOutputs),
                POINTER(Execution),
                c_void_p,
            ],
        ),
    ):
        function = getattr(library, "jfa_" + name)
        function.restype = result
        function.argtypes = arguments
    return library


def python_forward(tensor_type):
    """jfa_python_forward of tensors of `tensor_type`, which releases Python's lock by itself, or
    None where they have no exchange API of DLPack's version 1 (PyTorch before 2.10)."""
    capsule = getattr(tensor_type, "__dlpack_c_exchange_api__", None)
    if capsule is None:
        return None
    pointer = ctypes.PYFUNCTYPE(c_void_p, py_object, c_char_p)(("PyCapsule_GetPointer", pythonapi))
    exchange = pointer(capsule, b"dlpack_exchange_api")
    if c_uint32.from_address(exchange).value != 1:
        return None
    lock = (pythonapi.PyEval_SaveThread, pythonapi.PyEval_RestoreThread)
    python = Python(
        ctypes.sizeof(Python), exchange, id(None), *(ctypes.cast(f, c_void_p) for f in lock)
    )
    function = ctypes.PyDLL(_PATH).jfa_python_forward
    function.restype = c_int32
    function.argtypes = [POINTER(Python), *9 * [py_object], POINTER(Options), c_int32, c_void_p]
    return functools.partial(function, python)


_library = _load()
version = _library.jfa_version().decode()


def check(status):
    """Raises what a status other than JFA_OK stands for, with the library's message."""
    if status != 0:
        raise _ERRORS[status](_library.jfa_last_error().decode())


def forward(inputs, options, outputs, execution, plan=None):
    check(_library.jfa_forward(inputs, options, outputs, execution, plan))


def backward(inputs, options, given, outputs, execution, plan=None):
    check(_library.jfa_backward(inputs, options, given, outputs, execution, plan))


def raise_if_check_failed(word):
    """What the word that a call left at Execution.check says, as a signed integer."""
    check(_library.jfa_check_result(word & 0xFFFF_FFFF_FFFF_FFFF))


def workspace_sizes(inputs, options, execution):
    """Bytes of workspace that forward and backward need."""
    ahead, back = c_size_t(), c_size_t()
    check(_library.jfa_workspace_sizes(inputs, options, execution, ahead, back))
    return ahead.value, back.value


def plan_workspace_size(inputs, options, execution):
    """Bytes of workspace that a plan lives in."""
    size = c_size_t()
    check(_library.jfa_plan_workspace_size(inputs, options, execution, size))
    return size.value


class PlanNumber(c_int64):
    """Owns a plan of the library, which lives as long as this object: a number to look it up by."""


_plans = {}  # number -> jfa_plan*
_numbers = itertools.count(1)


def _destroy_plan(number):
    _library.jfa_plan_destroy(_plans.pop(number))


def create_plan(inputs, options, execution):
    """A plan of the library, as a PlanNumber."""
    handle = c_void_p()
    check(_library.jfa_plan_create(inputs, options, execution, handle))
    number = PlanNumber(next(_numbers))
    _plans[number.value] = handle
    weakref.finalize(number, _destroy_plan, number.value).atexit = False
    return number


def plan_handle(number):
    """The jfa_plan* of a plan's number."""
    if number not in _plans:
        raise InvalidArgument("plan is no longer there, must live until the last call that uses it")
    return _plans[number]
