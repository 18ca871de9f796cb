"""What is asked of a metrics text: a mapping, and what the operator of one engine adds to it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from loadmonitor_worker.sources._metrics_terms import REFERABLE, Reading, Term
from loadmonitor_worker.sources._prom_text import plain_name
from loadmonitor_worker.sources.metrics_mapping import MetricsMapping


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a text besides the mapping.

    Attributes:
        mapping: Where each field is found.
        fixed: Fields with a value that the operator gives; what the text says of them isn't read.
        select: What labels must be where a series has them.
        prefix: What stands before each name of the mapping.
        unlabelled_rank: The rank of an engine that doesn't name it.
        where: What was asked, for messages.
    """

    mapping: MetricsMapping
    fixed: Mapping[str, int]
    select: Mapping[str, str]
    prefix: str
    unlabelled_rank: int
    where: str

    @property
    def wanted(self) -> frozenset[str]:
        """The names of the metrics that are read, without colons."""
        terms = [term for field in self.fields for reading in self.readings(field) for term in reading.terms]
        return frozenset(map(self.name, [*terms, *filter(None, [self.mapping.awake])]))

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that have a value, those that others refer to first."""
        names = {*self.mapping.readings, *self.fixed}
        return tuple(sorted(names, key=lambda field: (field not in REFERABLE, field)))

    def readings(self, field: str) -> tuple[Reading, ...]:
        """Return how a field is read; nothing for a fixed one."""
        return () if field in self.fixed else self.mapping.readings[field]

    def name(self, term: Term) -> str:
        """Return the name of a term's metric, without colons."""
        return plain_name(self.prefix + term.metric)
