from router_lifecycle.testing._state import RegistryEvent as RegistryEvent, RouterOptions as RouterOptions
from router_lifecycle.testing.clock import ManualClock as ManualClock
from router_lifecycle.testing.engine import FakeEngine as FakeEngine, Health as Health
from router_lifecycle.testing.faults import Fault as Fault, FaultPlan as FaultPlan, Stage as Stage, delay as delay, html_page as html_page, lose_answer as lose_answer, lose_request as lose_request, reset as reset, server_error as server_error, too_many_requests as too_many_requests
from router_lifecycle.testing.profiles import IdKind as IdKind, PROFILES as PROFILES, RouterProfile as RouterProfile
from router_lifecycle.testing.router import EPOCH_SECONDS as EPOCH_SECONDS, FakeRouter as FakeRouter, ListedWorker as ListedWorker, SeenRequest as SeenRequest

__all__ = ['RegistryEvent', 'RouterOptions', 'ManualClock', 'FakeEngine', 'Health', 'Fault', 'FaultPlan', 'Stage', 'delay', 'html_page', 'lose_answer', 'lose_request', 'reset', 'server_error', 'too_many_requests', 'PROFILES', 'IdKind', 'RouterProfile', 'EPOCH_SECONDS', 'FakeRouter', 'ListedWorker', 'SeenRequest']
