from p2p_selection.candidates import Candidate as Candidate
from p2p_selection.errors import MalformedCandidateError as MalformedCandidateError

def candidate_from(entry: object) -> Candidate: ...
