from p2p_registry.kubernetes.names import GROUP as GROUP, KIND as KIND, PLURAL as PLURAL, VERSION as VERSION
from p2p_registry.kubernetes.objects import Object as Object
from p2p_registry.records import SourceStatus as SourceStatus

def custom_resource_definition() -> Object: ...
