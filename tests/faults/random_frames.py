"""Random messages that are valid protobuf, and often nonsense; the same seed gives the same ones."""

from random import Random
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

_INTEGERS = {
    FieldDescriptor.TYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.TYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.TYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.TYPE_UINT64: (0, 2**64 - 1),
}
_TEXTS = ("", " ", "r-random", "\0", "ÄÖÜ" * 100, "x" * 300)


def fill(message: Message, random: Random) -> Message:
    """Fill about half of the message's fields, and theirs; return it."""
    for field in message.DESCRIPTOR.fields:
        if random.random() < 0.5:
            continue
        if field.message_type is not None:
            children = getattr(message, field.name)
            for child in [children.add() for _ in range(random.randrange(4))] if field.is_repeated else [children]:
                child.SetInParent()
                fill(child, random)
        elif field.is_repeated:
            getattr(message, field.name).extend(_value(field, random) for _ in range(random.randrange(4)))
        else:
            setattr(message, field.name, _value(field, random))
    return message


def _value(field: Any, random: Random) -> object:
    if field.type in _INTEGERS:
        least, most = _INTEGERS[field.type]
        return random.choice((0, 1, 2, 1_000, least, most, random.randint(least, most)))
    if field.type == FieldDescriptor.TYPE_DOUBLE:
        return random.choice((0.0, 0.5, -1.0, float("nan"), float("inf"), random.uniform(-1e300, 1e300)))
    if field.type == FieldDescriptor.TYPE_ENUM:
        return random.choice((*field.enum_type.values_by_number, 77))
    return random.choice(_TEXTS)
