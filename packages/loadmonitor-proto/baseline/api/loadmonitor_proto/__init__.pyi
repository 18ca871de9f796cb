from loadmonitor_proto.codes import StreamErrorCode as StreamErrorCode, is_terminal as is_terminal
from loadmonitor_proto.unknown import UNKNOWABLE_FIELDS as UNKNOWABLE_FIELDS
from loadmonitor_proto.v1.load_monitor_pb2 import DESCRIPTOR as DESCRIPTOR, KeepAlive as KeepAlive, LoadReport as LoadReport, POOL as POOL, RankLoad as RankLoad, RegisterRequest as RegisterRequest, RegisterResponse as RegisterResponse, ReportStatus as ReportStatus, RouterFrame as RouterFrame, StopRequest as StopRequest, StreamError as StreamError, UpdateConfigRequest as UpdateConfigRequest, Worker as Worker, WorkerFrame as WorkerFrame, WorkerState as WorkerState, WorkerType as WorkerType

__all__ = ['StreamErrorCode', 'is_terminal', 'UNKNOWABLE_FIELDS', 'DESCRIPTOR', 'POOL', 'KeepAlive', 'LoadReport', 'RankLoad', 'RegisterRequest', 'RegisterResponse', 'ReportStatus', 'RouterFrame', 'StopRequest', 'StreamError', 'UpdateConfigRequest', 'Worker', 'WorkerFrame', 'WorkerState', 'WorkerType']
