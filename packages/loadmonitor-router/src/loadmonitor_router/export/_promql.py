"""PromQL over the families of `metrics`, as the dashboard and the alert rules need it."""

from loadmonitor_router.export.metrics import Family


def selector(family: Family, variables: tuple[str, ...] = (), /, *, suffix: str = "", **matchers: str) -> str:
    """Return a family with its matchers.

    Args:
        family: What to select.
        variables: Grafana variables to filter by, each if it is a label of the family; `namespace` comes from the scrape.
        suffix: `_bucket` for a histogram's buckets.
        matchers: Values of labels that must match as regular expressions.

    Raises:
        ValueError: A matcher names a label that the family hasn't got.
    """
    unknown = set(matchers) - set(family.labels)
    if unknown:
        raise ValueError(f"{family.name} has no label {', '.join(sorted(unknown))}; it has {', '.join(family.labels)}")
    parts = [f'{name}=~"${name}"' for name in variables if name == "namespace" or name in family.labels]
    parts += [f'{name}=~"{value}"' for name, value in matchers.items()]
    return f"{family.name}{suffix}" + (f"{{{','.join(parts)}}}" if parts else "")
