"""The fields that a Worker may call unknown."""

from loadmonitor_proto import UNKNOWABLE_FIELDS, RankLoad


def test_the_fields_that_may_be_unknown_are_those_for_which_v1_has_no_word() -> None:
    assert dict(UNKNOWABLE_FIELDS) == {
        5: "num_waiting_uncached_tokens",
        6: "num_used_tokens",
        7: "num_total_tokens",
        10: "token_usage",
        11: "gen_throughput",
        12: "cache_hit_rate",
    }
    assert list(UNKNOWABLE_FIELDS) == sorted(UNKNOWABLE_FIELDS)
    assert not any(RankLoad.DESCRIPTOR.fields_by_number[number].has_presence for number in UNKNOWABLE_FIELDS)


def test_a_rank_that_names_no_unknown_field_has_the_bytes_of_the_first_version() -> None:
    known = RankLoad(dp_rank=1, num_used_tokens=2)
    before = known.SerializeToString()
    known.unknown_field_numbers.extend([])
    assert known.SerializeToString() == before
    known.unknown_field_numbers.append(5)
    assert known.SerializeToString() == before + bytes([0xBA, 0x06, 0x01, 0x05])
