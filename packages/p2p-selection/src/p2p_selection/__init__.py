"""Which peer to pull model weights from: ranks candidates for one target, best first."""

from p2p_selection.candidates import Candidate, Target
from p2p_selection.rendezvous import RendezvousHash, rendezvous_digest

__all__ = ["Candidate", "RendezvousHash", "Target", "rendezvous_digest"]
