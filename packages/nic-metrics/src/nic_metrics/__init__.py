"""What RDMA NICs say of themselves: reads the link rate of an InfiniBand or RoCE port."""

from nic_metrics.errors import LinkRateError, LinkRateProblem, NicMetricsError
from nic_metrics.link_rate import LinkRate, parse_link_rate

__all__ = ["LinkRate", "LinkRateError", "LinkRateProblem", "NicMetricsError", "parse_link_rate"]
