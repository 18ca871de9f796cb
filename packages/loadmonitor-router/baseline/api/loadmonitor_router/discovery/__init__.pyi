from loadmonitor_router.discovery.dns import DnsDiscovery as DnsDiscovery, EMPTY_AFTER as EMPTY_AFTER, LookupConfig as LookupConfig, SrvDiscovery as SrvDiscovery
from loadmonitor_router.discovery.file import FileDiscovery as FileDiscovery, parse_worker_file as parse_worker_file
from loadmonitor_router.discovery.interfaces import Discovery as Discovery, EndpointSliceApi as EndpointSliceApi, SliceEvent as SliceEvent, SliceEventType as SliceEventType
from loadmonitor_router.discovery.kubernetes import KubernetesDiscovery as KubernetesDiscovery
from loadmonitor_router.discovery.router import RouterDiscovery as RouterDiscovery
from loadmonitor_router.discovery.slices import EndpointSlice as EndpointSlice, REPORTER_PORT_NAME as REPORTER_PORT_NAME, ROLE_LABEL as ROLE_LABEL, SliceEndpoint as SliceEndpoint, workers_of_slices as workers_of_slices
from loadmonitor_router.discovery.spec import FORMS as FORMS, parse_discovery as parse_discovery
from loadmonitor_router.discovery.static import StaticDiscovery as StaticDiscovery
from loadmonitor_router.discovery.targets import DEFAULT_REPORTER_PORT as DEFAULT_REPORTER_PORT, base_url as base_url, reporter_endpoint as reporter_endpoint, target_set as target_set, worker_target as worker_target
from loadmonitor_router.discovery.worker_list import REPORTER_PORT_LABEL as REPORTER_PORT_LABEL, parse_worker_list as parse_worker_list

__all__ = ['FileDiscovery', 'parse_worker_file', 'Discovery', 'EndpointSliceApi', 'SliceEvent', 'SliceEventType', 'REPORTER_PORT_NAME', 'ROLE_LABEL', 'EndpointSlice', 'SliceEndpoint', 'workers_of_slices', 'FORMS', 'parse_discovery', 'StaticDiscovery', 'DEFAULT_REPORTER_PORT', 'base_url', 'reporter_endpoint', 'target_set', 'worker_target', 'REPORTER_PORT_LABEL', 'parse_worker_list', 'EMPTY_AFTER', 'DnsDiscovery', 'LookupConfig', 'SrvDiscovery', 'KubernetesDiscovery', 'RouterDiscovery']
