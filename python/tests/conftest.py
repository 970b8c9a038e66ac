"""What the tests of the Python package share."""

from __future__ import annotations

import ctypes
import gc
import hashlib
import pathlib
import signal

import numpy as np
import pytest

import qdq

# Shells start what runs in the background with SIGINT ignored, and children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = pathlib.Path(__file__).parents[2]
DIGITS = ROOT / "tests/models/digits"


@pytest.fixture
def cnn() -> str:
    return str(DIGITS / "digits_cnn.onnx")


@pytest.fixture
def calib() -> str:
    return str(DIGITS / "digits_calib.npz")


@pytest.fixture
def images(calib: str) -> np.ndarray:
    return np.load(calib)["x"]


@pytest.fixture(scope="session")
def quantized(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("quantized") / "model.onnx"
    calib = str(DIGITS / "digits_calib.npz")
    qdq.quantize(DIGITS / "digits_cnn.onnx", calib=calib, bench=False, output=path)
    return str(path)


@pytest.fixture(scope="session")
def ort() -> qdq.Engine:
    return qdq.Engine("ort")


# AddressSanitizer's library, if it is in this process (tests/tools/python.sh).
SANITIZER = ctypes.CDLL(None)
IS_SANITIZED = hasattr(SANITIZER, "__lsan_do_recoverable_leak_check")
measures_memory = pytest.mark.skipif(IS_SANITIZED, reason="AddressSanitizer keeps what is freed")


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    """Is memory lost? Asked while the interpreter still holds all that is not."""
    gc.collect()
    if IS_SANITIZED and SANITIZER.__lsan_do_recoverable_leak_check():
        print("python: memory was lost, see above")


def hash_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
