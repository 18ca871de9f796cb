"""The ports to sample are those that transfers use."""

from collections.abc import Mapping

import pytest

from nic_metrics import (
    AffinityPolicy,
    ChoiceOrigin,
    Combination,
    LinkRate,
    Nic,
    NicChoice,
    NicChoiceError,
    NicMetricsError,
    NoNicReason,
    PciAddressError,
    PciPlace,
    Port,
    PortId,
    Topology,
    UnknownReason,
    Utilization,
    choose_nics,
    parse_nics,
)

GPUS = ("0000:10:00.0", "0000:20:00.0", "0000:30:00.0", "0000:40:00.0")


def nic(device: str, path: tuple[str, ...], gbps: int = 400) -> Nic:
    port = Port(PortId(device), None, None, None, LinkRate(gbps * 10**9), None)
    return Nic(device, PciPlace(path[-1] if path else None, path), (port,), verbs=True, rate_text=f"{gbps} Gb/sec")


# Two GPUs beside each of two NICs, so that the policies differ; and a slower NIC for storage.
MACHINE = Topology(
    tuple(PciPlace(address, (f"pci0000:{index // 2}0", address)) for index, address in enumerate(GPUS)),
    (
        nic("mlx5_0", ("pci0000:00", "0000:0f:00.0")),
        nic("mlx5_1", ("pci0000:10", "0000:1f:00.0")),
        nic("mlx5_9", ("pci0000:20", "0000:2f:00.0"), 100),
    ),
)
# modelexpress takes turns; closeness keeps the pairs together.
TAKEN_BY_MODELEXPRESS = ("mlx5_0", "mlx5_1", "mlx5_1", "mlx5_0")
CLOSEST = ("mlx5_0", "mlx5_0", "mlx5_1", "mlx5_1")


def choose(
    environ: Mapping[str, str] | None = None, *, gpu: str | None = None, cuda_index: int | None = None
) -> NicChoice:
    return choose_nics(MACHINE, environ or {}, gpu=gpu, cuda_index=cuda_index)


def test_without_any_pin_ucx_chooses_and_the_nic_is_unknown() -> None:
    choice = choose(gpu=GPUS[0], cuda_index=0)
    assert (choice.ports, choice.origin, choice.reason) == ((), None, NoNicReason.TRANSPORT_CHOOSES)
    assert choice.detail == "neither MX_RDMA_NIC_PIN nor UCX_NET_DEVICES pins: UCX chooses"
    assert choice.combine({}) is None


@pytest.mark.parametrize("devices", ["mlx5_7", "mlx5_7:1", ["mlx5_7"], ["mlx5_7:1", " mlx5_7 "]])
def test_devices_that_the_caller_names_are_taken_whatever_the_environment_says(devices: str | list[str]) -> None:
    choice = choose_nics(MACHINE, {"UCX_NET_DEVICES": "mlx5_1:1"}, devices=devices)
    assert (choice.ports, choice.origin, choice.reason) == ((PortId("mlx5_7"),), ChoiceOrigin.CALLER, None)


def test_ports_may_be_given_as_they_are() -> None:
    ports = [PortId("mlx5_9", 2), PortId("mlx5_0")]
    assert choose_nics(MACHINE, {}, devices=ports).ports == tuple(ports)
    assert choose_nics(MACHINE, {}, resolver=lambda: ports).ports == tuple(ports)
    assert choose_nics(MACHINE, {}, busiest_of=[*ports, "mlx5_1:1"]).ports == (*ports, PortId("mlx5_1"))


def test_a_resolver_is_asked_now_and_gives_rails() -> None:
    choice = choose_nics(MACHINE, {"MX_RDMA_NIC_PIN": "auto"}, resolver=lambda: ["mlx5_0:1", "mlx5_1:2"])
    assert choice.ports == (PortId("mlx5_0"), PortId("mlx5_1", 2))
    assert (choice.origin, choice.combination) == (ChoiceOrigin.CALLER, Combination.RAILS)


def test_what_a_resolver_raises_is_raised() -> None:
    def broken() -> str:
        raise KeyError("rail")

    with pytest.raises(KeyError, match="rail"):
        choose_nics(MACHINE, {}, resolver=broken)


def test_two_callers_words_contradict() -> None:
    with pytest.raises(NicChoiceError, match="give one of them"):
        choose_nics(MACHINE, {}, devices="mlx5_0", pinned_by=AffinityPolicy.BALANCED_THEN_CLOSEST)


@pytest.mark.parametrize("text", ["", " , ", "mlx5_0:one", "mlx5_0:0", "a/b", ":1"])
def test_a_list_that_names_no_port_is_refused(text: str) -> None:
    with pytest.raises(NicChoiceError, match="give a list such as 'mlx5_0:1,mlx5_1:1'") as caught:
        parse_nics(text)
    assert isinstance(caught.value, NicMetricsError)


@pytest.mark.parametrize("index", range(4))
@pytest.mark.parametrize("pin", ["auto", "1", "true", "YES", " on ", "anything"])
def test_an_automatic_pin_is_modelexpress_map(pin: str, index: int) -> None:
    choice = choose({"MX_RDMA_NIC_PIN": pin, "UCX_NET_DEVICES": "mlx5_9:1"}, gpu=GPUS[index])
    assert choice.ports == (PortId(TAKEN_BY_MODELEXPRESS[index]),)
    assert choice.origin is ChoiceOrigin.MX_RDMA_NIC_PIN


def test_the_name_of_a_single_device_is_no_list_and_so_an_automatic_pin() -> None:
    assert choose({"MX_RDMA_NIC_PIN": "mlx5_9:1"}, gpu=GPUS[0]).ports == (PortId("mlx5_0"),)


@pytest.mark.parametrize("pin", ["", "off", "OFF", "0", "false", "No", "  "])
def test_a_pin_that_is_off_leaves_ucx_list(pin: str) -> None:
    choice = choose({"MX_RDMA_NIC_PIN": pin, "UCX_NET_DEVICES": "mlx5_9:1"}, gpu=GPUS[0])
    assert (choice.ports, choice.origin) == ((PortId("mlx5_9"),), ChoiceOrigin.UCX_NET_DEVICES)


def test_the_slowest_rate_of_the_pin_counts() -> None:
    environ = {"MX_RDMA_NIC_PIN": "auto", "MX_RDMA_NIC_PIN_MIN_RATE_GBPS": "100"}
    assert [choose(environ, gpu=gpu).ports[0].device for gpu in GPUS] == ["mlx5_0", "mlx5_1", "mlx5_9", "mlx5_1"]
    unreadable = environ | {"MX_RDMA_NIC_PIN_MIN_RATE_GBPS": "fast"}
    assert [choose(unreadable, gpu=gpu).ports[0].device for gpu in GPUS] == list(TAKEN_BY_MODELEXPRESS)


@pytest.mark.parametrize(("index", "port"), [(0, PortId("mlx5_1")), (1, PortId("mlx5_9")), (2, PortId("mlx5_0", 2))])
def test_a_pin_list_is_by_cuda_index(index: int, port: PortId) -> None:
    environ = {"MX_RDMA_NIC_PIN": "mlx5_1, ,mlx5_9:1,mlx5_0:2", "UCX_NET_DEVICES": "mlx5_0:1"}
    choice = choose(environ, cuda_index=index)
    assert (choice.ports, choice.origin) == ((port,), ChoiceOrigin.MX_RDMA_NIC_PIN)


@pytest.mark.parametrize("index", [-1, 2])
def test_beyond_the_pin_list_ucx_list_stays(index: int) -> None:
    pin = {"MX_RDMA_NIC_PIN": "mlx5_0:1,mlx5_1:1"}
    assert choose(pin, cuda_index=index).reason is NoNicReason.TRANSPORT_CHOOSES
    assert choose(pin | {"UCX_NET_DEVICES": "mlx5_9:1"}, cuda_index=index).ports == (PortId("mlx5_9"),)


def test_a_pin_that_depends_on_an_unknown_gpu_is_unknown_even_where_ucx_list_is_set() -> None:
    for pin in ("auto", "mlx5_0:1,mlx5_1:1"):
        choice = choose({"MX_RDMA_NIC_PIN": pin, "UCX_NET_DEVICES": "mlx5_9:1"})
        assert (choice.ports, choice.reason) == ((), NoNicReason.GPU_UNKNOWN)
    assert choose({"MX_RDMA_NIC_PIN": "auto"}, gpu="0000:99:00.0").reason is NoNicReason.GPU_UNKNOWN


def test_a_gpu_may_be_written_as_nvml_does() -> None:
    assert choose({"MX_RDMA_NIC_PIN": "auto"}, gpu="00000000:10:00.0").ports == (PortId("mlx5_0"),)
    with pytest.raises(PciAddressError):
        choose(gpu="0")


def test_where_no_nic_is_eligible_ucx_list_stays() -> None:
    bare = Topology(MACHINE.gpus, (nic("mlx5_bond_0", ()),))
    pin = {"MX_RDMA_NIC_PIN": "auto"}
    choice = choose_nics(bare, pin, gpu=GPUS[0])
    assert choice.reason is NoNicReason.NO_ELIGIBLE_NIC
    assert choice.detail.endswith("finds no eligible NIC among 1 RDMA devices, 1 with a verbs node, and 4 GPUs")
    listed = choose_nics(bare, pin | {"UCX_NET_DEVICES": "mlx5_bond_0:1"}, gpu=GPUS[0])
    assert listed.ports == (PortId("mlx5_bond_0"),)


@pytest.mark.parametrize(
    ("allowed", "ports"),
    [
        ("mlx5_0:1", [PortId("mlx5_0")]),
        ("mlx5_0:1,mlx5_1:1", [PortId("mlx5_0"), PortId("mlx5_1")]),
        ("eth0, mlx5_1:1", [PortId("mlx5_1")]),
        ("mlx5_0:2", [PortId("mlx5_0", 2)]),
    ],
)
def test_ucx_list_names_rails_among_network_interfaces(allowed: str, ports: list[PortId]) -> None:
    choice = choose({"UCX_NET_DEVICES": allowed}, gpu=GPUS[0])
    assert (list(choice.ports), choice.origin) == (ports, ChoiceOrigin.UCX_NET_DEVICES)
    assert choice.combination is Combination.RAILS


@pytest.mark.parametrize(
    ("allowed", "reason"),
    [
        ("all", NoNicReason.TRANSPORT_CHOOSES),
        ("mlx5_0:1,all", NoNicReason.TRANSPORT_CHOOSES),
        ("eth0", NoNicReason.NOT_RDMA),
        ("mlx5_77:1", NoNicReason.NOT_RDMA),
        ("^mlx5_0:1", NoNicReason.SETTING_UNREADABLE),
        ("mlx5_[0-3]:1", NoNicReason.SETTING_UNREADABLE),
        ("mlx5_0:first", NoNicReason.SETTING_UNREADABLE),
    ],
)
def test_a_list_that_names_no_port_for_certain_is_unknown_with_its_reason(allowed: str, reason: NoNicReason) -> None:
    choice = choose({"UCX_NET_DEVICES": allowed}, gpu=GPUS[0])
    assert (choice.ports, choice.reason) == ((), reason)
    assert choice.detail.startswith(f"UCX_NET_DEVICES={allowed}")


@pytest.mark.parametrize(
    ("rails", "combination"), [(None, "busiest"), ("2", "busiest"), ("3", "rails"), ("x", "busiest")]
)
def test_of_more_devices_than_ucx_uses_the_busiest_counts(rails: str | None, combination: str) -> None:
    environ = {"UCX_NET_DEVICES": "mlx5_0:1,mlx5_1:1,mlx5_9:1"}
    choice = choose(environ if rails is None else environ | {"UCX_MAX_RMA_RAILS": rails})
    assert (len(choice.ports), choice.combination) == (3, combination)


@pytest.mark.parametrize("index", range(4))
def test_a_caller_who_pins_by_a_policy_gets_its_map(index: int) -> None:
    choice = choose_nics(
        MACHINE, {"MX_RDMA_NIC_PIN": "auto"}, gpu=GPUS[index], pinned_by=AffinityPolicy.BALANCED_THEN_CLOSEST
    )
    assert (choice.ports, choice.origin) == ((PortId(CLOSEST[index]),), ChoiceOrigin.POLICY)


def test_the_busiest_of_some_is_taken_only_where_nothing_names_the_nic() -> None:
    ports = "mlx5_0:1,mlx5_1:1"
    guessed = choose_nics(MACHINE, {}, busiest_of=ports)
    assert (guessed.ports, guessed.origin) == ((PortId("mlx5_0"), PortId("mlx5_1")), ChoiceOrigin.BUSIEST_OF)
    assert (guessed.combination, guessed.reason) == (Combination.BUSIEST, None)
    named = choose_nics(MACHINE, {"UCX_NET_DEVICES": "mlx5_9:1"}, busiest_of=["mlx5_0", "mlx5_1"])
    assert named.ports == (PortId("mlx5_9"),)


def test_a_choice_combines_the_samples_of_its_ports_alone() -> None:
    samples = {
        PortId("mlx5_0"): Utilization(0.5, None, 25e9, 0.0, 50e9, "counters"),
        PortId("mlx5_1"): Utilization(0.25, None, 12.5e9, 0.0, 50e9, "counters"),
        PortId("mlx5_9"): Utilization(None, UnknownReason.COUNTER_SATURATED),
    }
    rails = choose_nics(MACHINE, {}, devices=["mlx5_0", "mlx5_1"]).combine(samples)
    guessed = choose_nics(MACHINE, {}, busiest_of=["mlx5_0", "mlx5_1"]).combine(samples)
    blind = choose_nics(MACHINE, {}, busiest_of=["mlx5_0", "mlx5_9"]).combine(samples)
    assert rails is not None
    assert guessed is not None
    assert blind is not None
    assert (rails.value, guessed.value, blind.value) == (0.375, 0.5, None)
    with pytest.raises(KeyError):
        choose_nics(MACHINE, {}, devices="mlx5_7").combine(samples)
