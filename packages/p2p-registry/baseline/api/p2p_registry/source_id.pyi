from p2p_registry.errors import InvalidIdentityError as InvalidIdentityError
from p2p_registry.identity import SourceIdentity as SourceIdentity

def mx_source_id(identity: SourceIdentity) -> str: ...
