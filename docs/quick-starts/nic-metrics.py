"""How busy each RDMA port of this machine is, or why that is unknown."""

import time

from nic_metrics import PortSampler, list_ports

ports = list_ports().ports
with PortSampler([port.id for port in ports]) as sampler:
    sampler.sample()  # the first has nothing to compare with
    time.sleep(1)
    for port, use in sampler.sample().items():
        print(port.device, port.port, use.value, use.reason, use.source)
print(len(ports), "ports")
