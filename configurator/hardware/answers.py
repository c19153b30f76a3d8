"""Answers of the NVML driver library: values, or an Unknown with the reason in words."""

from __future__ import annotations

from collections.abc import Callable
from inspect import unwrap
from typing import Any, TypeVar

from configurator.core.unknown import Unknown

T = TypeVar("T")

NOT_SUPPORTED = "this GPU or driver does not tell"
UNKNOWN_QUESTION = "the driver does not know this question"
_REASONS = {
    "NVMLError_NotSupported": NOT_SUPPORTED,
    "NVMLError_NoPermission": "permission denied",
    "NVMLError_GpuIsLost": "the GPU has fallen off the bus",
    "NVMLError_FunctionNotFound": "the driver is too old to tell",
    "NVMLLibraryMismatchError": "the driver is too old to tell",
    "NVMLError_Timeout": "the driver did not answer in time",
    "NVMLError_LibraryNotFound": "no NVIDIA driver is installed",
    "NVMLError_DriverNotLoaded": "the NVIDIA driver is not loaded",
    "NVMLError_LibRmVersionMismatch": "driver and driver library are of different versions; restart the machine",
    "NVMLError_ResetRequired": "the GPU must be reset",
    "NVMLError_InvalidArgument": UNKNOWN_QUESTION,
}


def reason_of(error: Exception) -> str:
    """Return why the driver gave no answer, as a phrase."""
    return _REASONS.get(type(error).__name__, f"the driver answered: {error}")


def ask(function: Callable[..., T], *args: Any) -> T | Unknown:
    """Return the answer of one NVML query, or why there is none."""
    try:
        return function(*args)
    except Exception as error:  # noqa: BLE001 - a driver may fail in any way, and each is an answer
        return Unknown(reason_of(error))


def ask_text(function: Callable[..., object], *args: Any) -> str | Unknown:
    """Return the text that one NVML query answers; bytes that are no UTF-8 are replaced.

    The binding decodes strictly and would lose the whole name for one odd byte, so its decorator is passed by.
    """
    value = ask(unwrap(function), *args)
    if isinstance(value, Unknown):
        return value
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
