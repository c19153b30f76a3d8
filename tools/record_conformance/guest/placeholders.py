"""Stand-ins for GPU-only packages, so that the server's argument handling imports on a machine without them.

A stand-in module answers every attribute with a :class:`Placeholder`. Nothing in argument handling calls into
these packages for a value; where it does (a version, a signature), ``devices`` gives the answer explicitly.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

STAND_IN_VERSION = "99.0.0"
"""Version every stand-in reports: new enough for any "at least" check."""

PACKAGES = (
    # kernels and compilers
    "aiter apache_tvm_ffi cuda cutlass deep_ep deep_gemm flash_attn flash_mla flashinfer humming kernels numba nvshmem"
    " quack sgl_flash_mla sgl_kernel sgl_kernel_npu tilelang timm torch_memory_saver torch_npu torchao triton"
    " triton_kernels tvm_ffi"
    # grammars, tokenizers and model formats
    " blobfile gguf interegular llguidance mistral_common outlines sentence_transformers tml_renderers xgrammar"
    # media
    " av datasets decord decord2 modelscope scipy soundfile torchaudio torchcodec torchvision"
    # transfer, cache and serving
    " kvcached lmcache mooncake nixl smg_grpc_proto smg_grpc_servicer uvloop"
    # small helpers of the above
    " anthropic cachetools dateutil dill easydict openai openai_harmony py_spy pynvml watchfiles xxhash zstandard"
).split()
"""Packages to stand in for, where they are not really installed."""

DISTRIBUTIONS = ("flash-attn-4", "flashinfer-python", "sgl-kernel", "sglang-kernel", "torch-memory-saver")
"""Distributions whose name differs from their package and whose version is asked for."""


class Placeholder:
    """Answers any use quietly: attributes and calls give placeholders, decorating gives the function back."""

    def __init__(self, name: str) -> None:
        self.__dict__["_name"] = name

    def __repr__(self) -> str:
        return f"<stand-in {self._name}>"

    def __getattr__(self, attribute: str) -> Placeholder:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return Placeholder(f"{self._name}.{attribute}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        is_decorator = len(args) == 1 and not kwargs and callable(args[0]) and not isinstance(args[0], Placeholder)
        return args[0] if is_decorator else Placeholder(f"{self._name}()")

    def __getitem__(self, key: object) -> Placeholder:
        return Placeholder(f"{self._name}[...]")

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __bool__(self) -> bool:
        return False

    def __or__(self, other: object) -> Placeholder:
        return self

    __ror__ = __or__

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        return (object,)

    def __get_pydantic_core_schema__(self, *_: object) -> Any:
        from pydantic_core import core_schema  # noqa: PLC0415 - present in the isolated environment only

        return core_schema.any_schema()


class PlaceholderModule(types.ModuleType):
    """A module, and a package of any submodule, made of placeholders."""

    def __getattr__(self, attribute: str) -> Placeholder:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return Placeholder(f"{self.__name__}.{attribute}")


class PlaceholderFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds a stand-in for every module below *packages*; installed last, so real packages win."""

    def __init__(self, packages: Iterable[str]) -> None:
        self.packages = frozenset(packages)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return a spec for a module of a stand-in package, ``None`` for any other."""
        del path, target
        if fullname.partition(".")[0] not in self.packages:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """Make the stand-in module."""
        module = PlaceholderModule(spec.name)
        module.__path__ = []
        module.__version__ = STAND_IN_VERSION
        module.__file__ = f"<stand-in {spec.name}>"
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """Do nothing: there is no code to run."""


def missing_packages() -> frozenset[str]:
    """Return those of :data:`PACKAGES` that are not really installed."""
    return frozenset(name for name in PACKAGES if importlib.util.find_spec(name) is None)


def answer_versions(packages: Iterable[str]) -> None:
    """Let ``importlib.metadata.version`` answer for *packages* as it would were they installed."""
    known = {name.replace("_", "-") for name in packages} | set(DISTRIBUTIONS)
    real = importlib.metadata.version

    def version(distribution_name: str) -> str:
        try:
            return real(distribution_name)
        except importlib.metadata.PackageNotFoundError:
            if distribution_name.replace("_", "-").lower() in known:
                return STAND_IN_VERSION
            raise

    importlib.metadata.version = version
