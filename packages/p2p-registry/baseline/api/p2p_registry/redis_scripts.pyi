from _typeshed import Incomplete

PUBLISH: str
UPDATE_STATE: Incomplete
GET: Incomplete
SUMMARIES: Incomplete
MARK_STALE: Incomplete
REMOVE: Incomplete
