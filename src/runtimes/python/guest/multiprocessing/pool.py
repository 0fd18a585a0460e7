"""Pools of threads. This file replaces `multiprocessing.pool`; see multiprocessing/context.py."""

import os
import queue
import threading
from collections import deque

import _sandbox_threads as threads

from . import TimeoutError, context

__all__ = ['Pool', 'ThreadPool']

RUN, CLOSE, TERMINATE = 'RUN', 'CLOSE', 'TERMINATE'


class AsyncResult:
    def __init__(self, callback, error_callback):
        self._done = threading.Event()
        self._callback = callback
        self._error_callback = error_callback
        self._success = False
        self._value = None

    def _set(self, success, value):
        self._success, self._value = success, value
        notify = self._callback if success else self._error_callback
        if notify is not None:
            notify(value)
        self._done.set()

    def ready(self):
        return self._done.is_set()

    def successful(self):
        if not self.ready():
            raise ValueError(f'{self!r} not ready')
        return self._success

    def wait(self, timeout=None):
        self._done.wait(timeout)

    def get(self, timeout=None):
        if not self._done.wait(timeout):
            raise TimeoutError
        if self._success:
            return self._value
        raise self._value


ApplyResult = AsyncResult


class MapResult(AsyncResult):
    def __init__(self, count, callback, error_callback):
        super().__init__(callback, error_callback)
        self._values = [None] * count
        self._missing = count
        self._error = None
        if count == 0:
            self._set(True, [])

    def _set_item(self, index, success, value):
        self._missing -= 1
        if success:
            self._values[index] = value
        elif self._error is None:
            self._error = value
        if self._missing == 0:
            self._set(self._error is None, self._values if self._error is None else self._error)


class IMapIterator:
    def __init__(self, is_ordered):
        self._cond = threading.Condition(threading.Lock())
        self._is_ordered = is_ordered
        self._items = deque()
        self._early = {}
        self._index = 0
        self._length = None

    def _set_item(self, index, success, value):
        with self._cond:
            if not self._is_ordered:
                self._items.append((success, value))
            else:
                self._early[index] = success, value
                while self._index + len(self._items) in self._early:
                    self._items.append(self._early.pop(self._index + len(self._items)))
            self._cond.notify()

    def _set_length(self, length):
        with self._cond:
            self._length = length
            self._cond.notify()

    def __iter__(self):
        return self

    def next(self, timeout=None):
        with self._cond:
            while not self._items:
                if self._index == self._length:
                    raise StopIteration
                if not self._cond.wait(timeout) and not self._items:
                    raise TimeoutError
            self._index += 1
            success, value = self._items.popleft()
        if success:
            return value
        raise value

    __next__ = next


IMapUnorderedIterator = IMapIterator


class Pool:
    def __init__(self, processes=None, initializer=None, initargs=(), maxtasksperchild=None, context=None):
        processes = (os.cpu_count() or 1) if processes is None else processes
        if processes < 1:
            raise ValueError('Number of processes must be at least 1')
        if maxtasksperchild is not None and (not isinstance(maxtasksperchild, int) or maxtasksperchild <= 0):
            raise ValueError('maxtasksperchild must be a positive int or None')
        if initializer is not None and not callable(initializer):
            raise TypeError('initializer must be a callable')
        self._processes = processes
        self._initializer = initializer
        self._initargs = initargs
        self._state = RUN
        self._tasks = queue.SimpleQueue()
        self._pool = [self._worker() for _ in range(processes)]
        for worker in self._pool:
            worker.start()

    def _worker(self):
        worker = context.Process(target=self._run, daemon=True)
        worker.name = worker.name.replace('Process', f'{type(self).__name__}Worker')
        return worker

    def _run(self):
        if self._initializer is not None:
            self._initializer(*self._initargs)
        while (task := self._tasks.get()) is not None:
            report, function, args, kwds = task
            try:
                success, value = True, threads.call(function, args, kwds)
            except Exception as error:
                success, value = False, error
            report(success, value)

    def _check_running(self):
        if self._state != RUN:
            raise ValueError('Pool not running')

    def _submit(self, report, function, args, kwds):
        self._tasks.put((report, function, args, kwds))

    def apply(self, func, args=(), kwds={}):
        return self.apply_async(func, args, kwds).get()

    def apply_async(self, func, args=(), kwds={}, callback=None, error_callback=None):
        self._check_running()
        result = AsyncResult(callback, error_callback)
        self._submit(result._set, func, args, kwds)
        return result

    def map(self, func, iterable, chunksize=None):
        return self.map_async(func, iterable, chunksize).get()

    def map_async(self, func, iterable, chunksize=None, callback=None, error_callback=None):
        return self._map(func, [(item,) for item in iterable], callback, error_callback)

    def starmap(self, func, iterable, chunksize=None):
        return self.starmap_async(func, iterable, chunksize).get()

    def starmap_async(self, func, iterable, chunksize=None, callback=None, error_callback=None):
        return self._map(func, [tuple(items) for items in iterable], callback, error_callback)

    def _map(self, func, calls, callback, error_callback):
        self._check_running()
        result = MapResult(len(calls), callback, error_callback)
        for index, args in enumerate(calls):
            self._submit(_reporter(result, index), func, args, {})
        return result

    def imap(self, func, iterable, chunksize=1):
        return self._iterate(func, iterable, chunksize, True)

    def imap_unordered(self, func, iterable, chunksize=1):
        return self._iterate(func, iterable, chunksize, False)

    def _iterate(self, func, iterable, chunksize, is_ordered):
        self._check_running()
        if chunksize < 1:
            raise ValueError(f'Chunksize must be 1+, not {chunksize:n}')
        result = IMapIterator(is_ordered)
        length = 0
        for item in iterable:
            self._submit(_reporter(result, length), func, (item,), {})
            length += 1
        result._set_length(length)
        return result

    def close(self):
        if self._state == RUN:
            self._state = CLOSE
            for _ in self._pool:
                self._tasks.put(None)

    def terminate(self):
        self._state = TERMINATE
        for worker in self._pool:
            worker.terminate()

    def join(self):
        if self._state == RUN:
            raise ValueError('Pool is still running')
        for worker in self._pool:
            worker.join()

    def __enter__(self):
        self._check_running()
        return self

    def __exit__(self, *_):
        self.terminate()

    def __reduce__(self):
        raise NotImplementedError('pool objects cannot be passed between processes or pickled')

    def __repr__(self):
        kind = type(self)
        return f'<{kind.__module__}.{kind.__qualname__} state={self._state} pool_size={len(self._pool)}>'


def _reporter(result, index):
    return lambda success, value: result._set_item(index, success, value)


class ThreadPool(Pool):
    def __init__(self, processes=None, initializer=None, initargs=()):
        super().__init__(processes, initializer, initargs)
