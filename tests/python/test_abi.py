"""The structs of jfa._abi are those of include/jfa/jfa.h."""

import pathlib
import re

import jfa
import pytest
from jfa import _abi

HEADER = (pathlib.Path(__file__).parents[2] / "include/jfa/jfa.h").read_text()
STRUCTS = {
    "jfa_tensor": _abi.Tensor,
    "jfa_lse": _abi.Lse,
    "jfa_index": _abi.Index,
    "jfa_inputs": _abi.Inputs,
    "jfa_block_sparse": _abi.BlockSparse,
    "jfa_options": _abi.Options,
    "jfa_execution": _abi.Execution,
    "jfa_forward_outputs": _abi.ForwardOutputs,
    "jfa_backward_inputs": _abi.BackwardInputs,
    "jfa_backward_outputs": _abi.BackwardOutputs,
    "jfa_python": _abi.Python,
}
C_TYPES = {
    "size_t": "c_ulong",
    "int64_t": "c_long",
    "int32_t": "c_int",
    "jfa_dtype": "c_int",
    "jfa_device": "c_int",
    "double": "c_double",
    "void*": "c_void_p",
    "const void*": "c_void_p",
    "float*": "c_void_p",
    "uint64_t*": "c_void_p",
    "void* (*)": "c_void_p",
    "void (*)": "c_void_p",
    "const jfa_block_sparse*": "LP_BlockSparse",
    **{name: struct.__name__ for name, struct in STRUCTS.items()},
}


def test_every_struct_is_known():
    assert set(re.findall(r"^typedef struct (\w+) \{", HEADER, re.MULTILINE)) == set(STRUCTS)


@pytest.mark.parametrize("name", STRUCTS)
def test_fields(name):
    body = re.search(r"typedef struct %s \{(.*?)\n\}" % name, HEADER, re.DOTALL)[1]
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.DOTALL)
    body = re.sub(r"\(\*(\w+)\)\(.*?\)", r"(*) \1", body)  # pointers to functions
    fields = re.findall(r"([\w ]+\*?(?:\s*\(\*\))?)\s+(\w+);", body)
    expected = [(field, C_TYPES[type_.strip()]) for type_, field in fields]
    assert [(field, type_.__name__) for field, type_ in STRUCTS[name]._fields_] == expected


def test_library_of_an_editable_install(tmp_path, monkeypatch):
    library = tmp_path / "libjfa.so"
    library.touch()
    monkeypatch.setattr(_abi, "__file__", str(tmp_path / "sources/_abi.py"))
    monkeypatch.setattr(jfa, "__path__", [str(tmp_path)])
    assert _abi._library_path() == str(library)
