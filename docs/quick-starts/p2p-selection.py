"""The peers of a new replica, best first."""

from p2p_selection import Candidate, SelectionPipeline, Spread, Target

target = Target("deepseek-ai/DeepSeek-V3", worker_id="9f3c21ab", worker_rank=0)
listed = [
    Candidate("5a5f555570065064", "7112a311", 0, source_load=0.79),
    Candidate("5a5f555570065064", "9dd3b44f", 0, source_load=0.38),
    Candidate("5a5f555570065064", "fda0bcb9", 0, source_load=None),  # unknown, which is not idle
]
selection = SelectionPipeline(Spread()).select(listed, target)
print([source.worker_id for source in selection.sources])
