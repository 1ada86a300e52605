"""Learners of half-spaces as a service: train, compare, predict and learn on line.

    import halfspace

    with halfspace.local() as client:
        job = client.train(X, y, learner="winnow")
        job.model.predict(X)
"""

from . import types
from .client import AsyncClient, Client, connect, connect_async, local
from .errors import Busy, DataError, HalfspaceError, JobFailed, NotFound, Problem, Unauthorized, Unreachable
from .resources import AsyncSession, Comparison, Dataset, Job, Model, Session, Trace
from .version import VERSION as __version__

__all__ = [
    "AsyncClient",
    "AsyncSession",
    "Busy",
    "Client",
    "Comparison",
    "DataError",
    "Dataset",
    "HalfspaceError",
    "Job",
    "JobFailed",
    "Model",
    "NotFound",
    "Problem",
    "Session",
    "Trace",
    "Unauthorized",
    "Unreachable",
    "__version__",
    "connect",
    "connect_async",
    "local",
    "types",
]
