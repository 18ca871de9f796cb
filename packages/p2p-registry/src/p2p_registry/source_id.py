"""The id that publishers, pullers and the registry derive from a source identity, each for itself."""

import json
from hashlib import sha256

from p2p_registry.errors import InvalidIdentityError
from p2p_registry.identity import SourceIdentity

# Fields that came later: an identity without them keeps the id it had before they existed.
_ONLY_WHEN_SET = (
    "backend_framework_version",
    "torch_version",
    "cuda_version",
    "triton_version",
    "gpu_arch",
    "compile_config_digest",
)


def mx_source_id(identity: SourceIdentity) -> str:
    """Return the canonical id of `identity`: 16 lower-case hexadecimal digits.

    They are the first 16 of the SHA-256 of a canonical JSON object: every text in lower case, enums as numbers, keys sorted, no
    white space, UTF-8 with nothing escaped that JSON doesn't force to be. Upper and lower case and the order of
    `extra_parameters` therefore make no difference. Where two of its keys differ in case only, the one that sorts first by code
    point counts.

    This is what modelexpress' Rust server computes. Its Python client (0.7.0) escapes everything beyond printable ASCII instead,
    and so comes to another id for a name such as `модель`; for printable ASCII the two agree. Capital letters that Unicode added
    after the release that this Python knows (14.0 in Python 3.11) have no lower case here yet.

    Raises:
        InvalidIdentityError: The identity has no model name; the registry refuses such a source.
    """
    if not identity.model_name:
        raise InvalidIdentityError("model_name='' is not allowed: a source is listed under the name of its model")
    extra: dict[str, str] = {}
    for key, value in sorted(identity.extra_parameters.items()):
        extra.setdefault(key.lower(), value.lower())
    canonical: dict[str, object] = {
        "mx_version": identity.mx_version.lower(),
        "mx_source_type": int(identity.mx_source_type),
        "model_name": identity.model_name.lower(),
        "backend_framework": int(identity.backend_framework),
        "tensor_parallel_size": identity.tensor_parallel_size,
        "pipeline_parallel_size": identity.pipeline_parallel_size,
        "expert_parallel_size": identity.expert_parallel_size,
        "dtype": identity.dtype.lower(),
        "quantization": identity.quantization.lower(),
        "extra_parameters": extra,
        "revision": identity.revision.lower(),
    }
    for name in _ONLY_WHEN_SET:
        if value := getattr(identity, name):
            canonical[name] = value.lower()
    text = json.dumps(canonical, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return sha256(text.encode()).hexdigest()[:16]
