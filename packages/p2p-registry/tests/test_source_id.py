"""The canonical id of a source: the figures that modelexpress pins on both its sides, and where those two differ."""

from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2p_registry import (
    BackendFramework,
    InvalidIdentityError,
    P2PRegistryError,
    SourceIdentity,
    SourceType,
    mx_source_id,
)

BASE = SourceIdentity(
    model_name="deepseek-ai/DeepSeek-V3",
    mx_version="0.5.0",
    mx_source_type=SourceType.WEIGHTS,
    backend_framework=BackendFramework.VLLM,
    tensor_parallel_size=8,
    pipeline_parallel_size=1,
    expert_parallel_size=0,
    dtype="bfloat16",
)
REVISION = "abc123def4567890"
CACHE = replace(
    BASE,
    mx_version="0.8.0",
    mx_source_type=SourceType.TORCH_COMPILE_CACHE,
    backend_framework_version="0.10.0",
    torch_version="2.8.0+cu128",
    cuda_version="12.8",
    triton_version="3.4.0",
    gpu_arch="SM90",
    compile_config_digest="abc123",
)
TEXT_FIELDS = [f.name for f in fields(SourceIdentity) if f.type is str]
NUMBER_FIELDS = [f.name for f in fields(SourceIdentity) if f.type is int]


def with_field(identity: SourceIdentity, name: str, value: Any) -> SourceIdentity:
    changes: dict[str, Any] = {name: value}
    return replace(identity, **changes)


@pytest.mark.parametrize(
    ("identity", "expected"),
    [
        (BASE, "5a5f555570065064"),
        (replace(BASE, revision=REVISION), "d0c184b2a9a34c82"),
        (replace(BASE, extra_parameters={"Foo": "a", "foo": "b"}), "bf71fb9340cd940a"),
        (replace(BASE, mx_version="0.3.0"), "b0c2c67edeaefc20"),
        (replace(BASE, mx_version="0.3.0", revision=REVISION), "40704b34e4b7deaa"),
        (replace(BASE, mx_version="0.8.0"), "e0d1bc7459cb4cde"),
        (replace(BASE, mx_version="0.8.0", revision=REVISION), "96db7e109daf9e53"),
        (replace(BASE, mx_version="0.8.0", extra_parameters={"Foo": "a", "foo": "b"}), "f4eeab03e859b088"),
    ],
)
def test_ids_pinned_by_the_rust_server_and_the_python_client(identity: SourceIdentity, expected: str) -> None:
    assert mx_source_id(identity) == expected


def test_the_fields_of_a_compile_cache_are_part_of_the_id() -> None:
    assert mx_source_id(CACHE) == "337969126b533119"


def test_names_beyond_ascii_are_hashed_as_utf8_like_the_rust_server_does() -> None:
    # The Python client of modelexpress 0.7.0 escapes the name and gives 98b2a80e67ffe82d.
    assert mx_source_id(replace(BASE, model_name="модель/ünïcode-模型")) == "ef23221f399a31da"
    assert mx_source_id(replace(BASE, model_name="МОДЕЛЬ/ÜNÏCODE-模型")) == "ef23221f399a31da"


def test_only_what_json_forces_is_escaped() -> None:
    # Encoded once with serde_json: quote, backslash, newline and \x01 are escaped; DEL, the slash and U+2028 aren't.
    assert mx_source_id(replace(BASE, model_name='a"b\\c\n\x01\x7f/d\u2028')) == "c8cb52071ee78b4c"


@pytest.mark.parametrize("name", [*TEXT_FIELDS, *NUMBER_FIELDS])
def test_every_field_is_part_of_the_id(name: str) -> None:
    changed = with_field(CACHE, name, 2 if name in NUMBER_FIELDS else "other")
    assert mx_source_id(changed) != mx_source_id(CACHE)


@pytest.mark.parametrize("name", TEXT_FIELDS)
def test_upper_and_lower_case_make_no_difference(name: str) -> None:
    assert mx_source_id(with_field(CACHE, name, "ab-é1")) == mx_source_id(with_field(CACHE, name, "AB-É1"))


def test_keys_and_values_of_extra_parameters_are_part_of_the_id_in_lower_case() -> None:
    plain = mx_source_id(replace(BASE, extra_parameters={"lora": "x"}))
    assert plain == mx_source_id(replace(BASE, extra_parameters={"LoRA": "X"}))
    assert len({plain, mx_source_id(BASE), mx_source_id(replace(BASE, extra_parameters={"lora": "y"}))}) == 3


@given(
    extra=st.dictionaries(st.sampled_from(["a", "A", "é", "É", "b", "ß"]), st.text(alphabet="xY", max_size=2)),
    data=st.data(),
)
def test_the_order_of_extra_parameters_makes_no_difference(extra: dict[str, str], data: st.DataObject) -> None:
    shuffled = dict(data.draw(st.permutations(list(extra.items()))))
    one, other = replace(BASE, extra_parameters=extra), replace(BASE, extra_parameters=shuffled)
    assert mx_source_id(one) == mx_source_id(other)


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1))
def test_any_model_name_has_an_id_of_16_hexadecimal_digits(model_name: str) -> None:
    source_id = mx_source_id(SourceIdentity(model_name=model_name))
    assert len(source_id) == 16
    assert set(source_id) <= set("0123456789abcdef")


def test_a_source_without_a_model_name_has_no_id() -> None:
    with pytest.raises(InvalidIdentityError, match="model_name='' is not allowed"):
        mx_source_id(SourceIdentity(model_name=""))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("tensor_parallel_size", -1, "tensor_parallel_size=-1 is not allowed: an integer from 0 to 4294967295 is"),
        ("pipeline_parallel_size", 2**32, "pipeline_parallel_size=4294967296 is not allowed"),
        ("expert_parallel_size", True, "expert_parallel_size=True is not allowed"),
        ("tensor_parallel_size", "8", "tensor_parallel_size='8' is not allowed"),
        ("mx_source_type", 2**31, "mx_source_type=2147483648 is not allowed"),
        ("backend_framework", None, "backend_framework=None is not allowed"),
        ("dtype", None, "dtype=None is not allowed: a text is"),
        ("revision", b"abc", "revision=b'abc' is not allowed: a text is"),
        ("model_name", "a\ud800", r"model_name='a\\ud800' holds a lone surrogate"),
        ("extra_parameters", None, "extra_parameters=None is not allowed: a mapping"),
        ("extra_parameters", {1: "x"}, "a key of extra_parameters=1 is not allowed"),
        ("extra_parameters", {"tp": 8}, r"extra_parameters\['tp'\]=8 is not allowed: a text is"),
        ("extra_parameters", {"k": "\udfff"}, r"extra_parameters\['k'\]='\\udfff' holds a lone surrogate"),
    ],
)
def test_what_the_wire_cannot_carry_is_refused_by_field(name: str, value: object, message: str) -> None:
    with pytest.raises(InvalidIdentityError, match=message) as caught:
        with_field(BASE, name, value)
    assert isinstance(caught.value, P2PRegistryError)
    assert isinstance(caught.value, ValueError)


def test_an_enum_value_of_a_newer_peer_is_kept() -> None:
    assert mx_source_id(replace(BASE, mx_source_type=12)) != mx_source_id(BASE)


def test_a_number_and_its_enum_member_are_the_same_identity() -> None:
    assert replace(BASE, mx_source_type=0, backend_framework=1) == BASE
    assert mx_source_id(replace(BASE, mx_source_type=0, backend_framework=1)) == mx_source_id(BASE)


def test_identities_are_immutable_hashable_and_own_their_parameters() -> None:
    given_parameters = {"lora": "x"}
    identity = replace(BASE, extra_parameters=given_parameters)
    given_parameters["lora"] = "y"
    assert identity.extra_parameters == {"lora": "x"}
    with pytest.raises(FrozenInstanceError):
        identity.dtype = "float16"  # type: ignore[misc]
    assert {identity: 1}[replace(BASE, extra_parameters={"lora": "x"})] == 1
    assert identity != BASE
