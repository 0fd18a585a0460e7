"""An executor whose processes are threads. This file replaces `concurrent.futures.process`; see multiprocessing/context.py."""

from concurrent.futures import _base, thread

__all__ = ('BrokenProcessPool', 'ProcessPoolExecutor')

EXTRA_QUEUED_CALLS = 1


class BrokenProcessPool(_base.BrokenExecutor):
    """Raised if the initializer of the executor has failed."""


class ProcessPoolExecutor(thread.ThreadPoolExecutor):
    BROKEN = BrokenProcessPool

    def __init__(self, max_workers=None, mp_context=None, initializer=None, initargs=(), *, max_tasks_per_child=None):
        if max_tasks_per_child is not None and max_tasks_per_child <= 0:
            raise ValueError('max_tasks_per_child must be >= 1')
        super().__init__(max_workers, 'ProcessPoolExecutor', initializer, initargs)

    def map(self, fn, *iterables, timeout=None, chunksize=1, buffersize=None):
        if chunksize < 1:
            raise ValueError('chunksize must be >= 1.')
        return super().map(fn, *iterables, timeout=timeout, buffersize=buffersize)
