"""What makes two sources interchangeable: the same model, served the same way."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import IntEnum

from p2p_registry.errors import InvalidIdentityError


class SourceType(IntEnum):
    """What a source serves; the numbers are those of the wire's `MxSourceType`."""

    WEIGHTS = 0
    LORA = 1
    CUDA_GRAPH = 2
    TORCH_COMPILE_CACHE = 3
    TRITON_CACHE = 4
    DEEP_GEMM_CACHE = 5
    TILELANG_CACHE = 6
    CUTE_DSL_CACHE = 7
    FLASHINFER_CACHE = 8
    TVM_FFI_CACHE = 9


class BackendFramework(IntEnum):
    """The inference engine of a source; the numbers are those of the wire."""

    UNKNOWN = 0
    VLLM = 1
    SGLANG = 2
    TRT_LLM = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceIdentity:
    """Identity of a source, field for field the wire's message; sources with equal identities can replace each other.

    An empty text or a size of 0 is the wire's "not set". Sizes and the two enums are unsigned and signed 32-bit numbers there;
    an enum value that a newer peer added is a plain number here, and is kept.

    Attributes:
        model_name: Name of the model, such as `deepseek-ai/DeepSeek-V3`; "" only where a listing isn't limited to one.
        mx_version: Version of the modelexpress convention that the source follows.
        mx_source_type: What the source serves: a `SourceType`, or the number of a newer one.
        backend_framework: The engine: a `BackendFramework`, or the number of a newer one.
        tensor_parallel_size: Processes that share each layer.
        pipeline_parallel_size: Stages that share the layers.
        expert_parallel_size: Processes that share the experts.
        dtype: Type of the weights, such as `bfloat16`.
        quantization: Name of the quantisation.
        extra_parameters: What else must be equal; copied, so later changes to the mapping given have no effect.
        revision: Revision of the model.
        backend_framework_version: Version of the engine; like the five below, set where a cache depends on it.
        torch_version: Version of PyTorch.
        cuda_version: Version of CUDA.
        triton_version: Version of Triton.
        gpu_arch: GPU architecture, such as `sm90`.
        compile_config_digest: Digest of the compiler's settings.

    Raises:
        InvalidIdentityError: A field holds what the wire can't carry.
    """

    model_name: str
    mx_version: str = ""
    mx_source_type: int = SourceType.WEIGHTS
    backend_framework: int = BackendFramework.UNKNOWN
    tensor_parallel_size: int = 0
    pipeline_parallel_size: int = 0
    expert_parallel_size: int = 0
    dtype: str = ""
    quantization: str = ""
    # Left out of the hash, because a mapping has none; equality sees it.
    extra_parameters: Mapping[str, str] = field(default_factory=dict, hash=False)
    revision: str = ""
    backend_framework_version: str = ""
    torch_version: str = ""
    cuda_version: str = ""
    triton_version: str = ""
    gpu_arch: str = ""
    compile_config_digest: str = ""

    def __post_init__(self) -> None:
        for name in (f.name for f in fields(self) if f.type is str):
            _check_text(name, getattr(self, name))
        for name in ("tensor_parallel_size", "pipeline_parallel_size", "expert_parallel_size"):
            _check_number(name, getattr(self, name), 0, 2**32 - 1)
        for name in ("mx_source_type", "backend_framework"):
            _check_number(name, getattr(self, name), -(2**31), 2**31 - 1)
        if not isinstance(self.extra_parameters, Mapping):
            raise InvalidIdentityError(
                f"extra_parameters={self.extra_parameters!r} is not allowed: a mapping of texts to texts is"
            )
        for key, value in self.extra_parameters.items():
            _check_text("a key of extra_parameters", key)
            _check_text(f"extra_parameters[{key!r}]", value)
        object.__setattr__(self, "extra_parameters", dict(self.extra_parameters))


def _check_text(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise InvalidIdentityError(f"{name}={value!r} is not allowed: a text is")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidIdentityError(f"{name}={value!r} holds a lone surrogate: UTF-8 can't carry it") from None


def _check_number(name: str, value: object, least: int, most: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise InvalidIdentityError(f"{name}={value!r} is not allowed: an integer from {least} to {most} is")
