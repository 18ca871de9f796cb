"""The definition of the custom resource: modelexpress' own, and the fields that its server may leave out."""

from typing import Any, Final

from p2p_registry.kubernetes.names import GROUP, KIND, PLURAL, VERSION
from p2p_registry.kubernetes.objects import Object
from p2p_registry.records import SourceStatus


def custom_resource_definition() -> Object:
    """Return the CustomResourceDefinition of ModelMetadata, for `kubectl apply`."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": KIND,
                "plural": PLURAL,
                "singular": KIND.lower(),
                "shortNames": ["mxmeta", "mm"],
            },
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": _COLUMNS,
                    "schema": {"openAPIV3Schema": _SCHEMA},
                }
            ],
        },
    }


def _text(description: str, **more: Any) -> Object:
    return {"type": "string", "description": description, **more}


def _integer(description: str, **more: Any) -> Object:
    return {"type": "integer", "description": description, **more}


def _time(description: str) -> Object:
    return _text(description, format="date-time")


_COLUMNS: Final = [
    {"name": "Model", "type": "string", "jsonPath": ".spec.modelName"},
    {"name": "Type", "type": "string", "jsonPath": ".spec.sourceType"},
    {"name": "Rank", "type": "integer", "jsonPath": ".status.worker.workerRank"},
    {"name": "Status", "type": "string", "jsonPath": ".status.worker.status"},
    {"name": "Load", "type": "number", "jsonPath": ".status.worker.sourceLoad"},
    {"name": "Updated", "type": "date", "jsonPath": ".status.worker.updatedAt"},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
]

_STATE: Final[Object] = {
    "status": _text(
        "State as of the last heartbeat.", enum=[each.name.capitalize() for each in SourceStatus], default="Unknown"
    ),
    "updatedAt": _time("When the registry took the last publication or heartbeat."),
    "sourceLoad": {
        "type": "number",
        "nullable": True,
        "description": "How busy the source says it is, from 0 to 1; absent where it doesn't know, which isn't 0.",
    },
    "exactSourceLoad": {
        "type": "object",
        "description": "The load of this update where a JSON number can't hold it: NaN, infinity or minus zero.",
        "required": ["text", "updatedAt"],
        "properties": {"text": _text("The load."), "updatedAt": _time("The update that brought it.")},
    },
}

_ARTIFACT: Final[Object] = {
    "type": "object",
    "description": "What a source of files offers.",
    "properties": {
        "artifactId": _text("Digest of the artifact's manifest."),
        "totalSize": _integer("Bytes of all its files.", format="int64", minimum=0),
        "fileCount": _integer("Number of its files.", minimum=0),
        "chunkCount": _integer("Number of its chunks.", minimum=0),
        "nodeRank": _integer("Rank of the node that it belongs to.", minimum=0),
    },
}

_WORKER: Final[Object] = {
    "type": "object",
    "description": "What the worker published last, and its state.",
    "required": ["workerRank"],
    "properties": {
        "workerRank": _integer("Rank that the worker published as.", minimum=0),
        "backendType": _text("How its memory is reached.", enum=["nixl", "transfer_engine", "none"]),
        "nixlMetadata": _text("Metadata of its NIXL agent, in base64."),
        "transferEngineSessionId": _text("Session of its transfer engine."),
        "metadataEndpoint": _text("Where its NIXL agent answers, as host:port."),
        "agentName": _text("Name of its NIXL agent."),
        "workerGrpcEndpoint": _text("Where it serves its tensors' manifest, as host:port."),
        "accelerator": _text("Kind of its accelerator."),
        "topology": {
            "type": "object",
            "description": "Where it runs, by level.",
            "additionalProperties": {"type": "string"},
        },
        "tensorCount": _integer("Number of its tensors.", minimum=0),
        "tensorConfigMap": _text("Name of the ConfigMap that describes them."),
        "artifactSource": _ARTIFACT,
        **_STATE,
    },
}

_CONDITION: Final[Object] = {
    "type": "object",
    "required": ["type", "status"],
    "properties": {
        "type": _text("Ready.", enum=["Ready"]),
        "status": _text("Whether it holds.", enum=["True", "False", "Unknown"]),
        "reason": _text("Why, in one word."),
        "message": _text("Why."),
        "lastTransitionTime": _time("Since when."),
    },
}

_SCHEMA: Final[Object] = {
    "type": "object",
    "description": "One worker that others can pull model weights or a compile cache from.",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["modelName"],
            "properties": {
                "modelName": _text("Name of the model, such as deepseek-ai/DeepSeek-V3."),
                "sourceType": _text("What the source serves, such as weights."),
            },
        },
        "status": {
            "type": "object",
            "properties": {
                "worker": _WORKER,
                "earlierRanks": {
                    "type": "object",
                    "description": "States of ranks that the worker published before its last, by rank.",
                    "additionalProperties": {"type": "object", "properties": _STATE},
                },
                "conditions": {"type": "array", "items": _CONDITION},
                "observedGeneration": _integer("Generation of the spec that was published.", format="int64"),
                "publishedAt": _time("When the worker was last published."),
            },
        },
    },
}
