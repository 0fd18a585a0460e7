

# Processes as threads. The build appends this file to `multiprocessing/context.py` of CPython.
#
# A process is a thread of the same interpreter (_sandbox_threads.py): it shares all objects with the program, and arguments and
# results are passed without pickling.

import itertools
import queue
import traceback
from types import SimpleNamespace

import _sandbox_threads as threads


def current_process():
    return getattr(threading.current_thread(), '_process', process._current_process)


def _run(self):
    if self._target is not None:
        threads.call(self._target, self._args, self._kwargs)


process.current_process = current_process
process.BaseProcess.run = _run
_pids = itertools.count(os.getpid() + 1)


class _Popen:
    """The thread of a process, with the methods that `BaseProcess` calls."""

    method = 'fork'

    def __init__(self, started):
        self.returncode = None
        self.pid = self.sentinel = next(_pids)
        self._thread = threading.Thread(target=self._run, args=(started,), name=started.name, daemon=started.daemon)
        self._thread._process = started
        # The process refers to its thread before it runs.
        started._popen = self
        self._thread.start()

    def _run(self, started):
        code = 1
        try:
            started.run()
            code = 0
        except SystemExit as error:
            if error.code is None:
                code = 0
            elif isinstance(error.code, int):
                code = error.code
            else:
                print(error.code, file=sys.stderr)
        except Exception:
            print(f'Process {started.name}:', file=sys.stderr)
            traceback.print_exc()
        finally:
            if self.returncode is None:
                self.returncode = code

    def poll(self, flag=None):
        return None if self._thread.is_alive() else self.returncode

    def wait(self, timeout=None):
        self._thread.join(timeout)
        return self.poll()

    def terminate(self, code=-15):
        if self.poll() is None:
            self.returncode = code
            threads.interrupt(self._thread.ident, SystemExit())

    def kill(self):
        self.terminate(-9)

    def close(self):
        pass


for _kind in (Process, ForkProcess, SpawnProcess, ForkServerProcess):
    _kind._Popen = _Popen


class _QueueMethods:
    """The methods that queues of `multiprocessing` have in addition."""

    _is_closed = False

    def put(self, *args, **kwargs):
        if self._is_closed:
            raise ValueError(f'Queue {self!r} is closed')
        return super().put(*args, **kwargs)

    def close(self):
        self._is_closed = True

    def join_thread(self):
        pass

    cancel_join_thread = join_thread


class Queue(_QueueMethods, queue.Queue):
    pass


class SimpleQueue(_QueueMethods, queue.SimpleQueue):
    pass


class Connection:
    """An end of a pipe. Objects are passed without pickling."""

    def __init__(self, inbox, outbox):
        self._inbox = inbox
        self._outbox = outbox
        self._closed_by = set()
        self.peer = None

    @property
    def closed(self):
        return current_process() in self._closed_by

    def _check(self, box, direction):
        if self.closed:
            raise OSError('handle is closed')
        if box is None:
            raise OSError(f'connection is {direction}-only')

    def send(self, item):
        self._check(self._outbox, 'read')
        self._outbox.put(item)

    def recv(self):
        self._check(self._inbox, 'write')
        if self._inbox.empty() and self.peer._closed_by and not threads.has_others():
            raise EOFError
        try:
            return self._inbox.get()
        except RuntimeError:
            # Nothing can send an item anymore.
            if self.peer._closed_by:
                raise EOFError from None
            raise

    def poll(self, timeout=0.0):
        self._check(self._inbox, 'write')
        inbox = self._inbox
        if timeout != 0 and inbox.empty():
            with inbox.not_empty:
                inbox.not_empty.wait_for(inbox._qsize, timeout)
        else:
            threads.poll()
        return not inbox.empty()

    def send_bytes(self, buffer, offset=0, size=None):
        data = bytes(memoryview(buffer).cast('B')[offset:])
        self.send(data if size is None else data[:size])

    def recv_bytes(self, maxlength=None):
        data = self.recv()
        if maxlength is not None and len(data) > maxlength:
            raise OSError('message is too long')
        return data

    def close(self):
        self._closed_by.add(current_process())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Namespace(SimpleNamespace):
    pass


class Manager:
    """Creates the objects that a manager shares. All threads share them anyway."""

    dict, list, Namespace = dict, list, Namespace

    def __getattr__(self, name):
        return getattr(_default_context, name)

    def start(self, *_):
        pass

    shutdown = join = start

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def _pipe(self, duplex=True):
    there, back = queue.Queue(), queue.Queue() if duplex else None
    one, other = Connection(back, there), Connection(there, back)
    one.peer, other.peer = other, one
    return (one, other) if duplex else (other, one)


for _name in ('Lock', 'RLock', 'Condition', 'Semaphore', 'BoundedSemaphore', 'Event', 'Barrier'):
    setattr(BaseContext, _name, staticmethod(getattr(threading, _name)))
BaseContext.current_process = staticmethod(current_process)
BaseContext.Pipe = _pipe
BaseContext.Queue = BaseContext.JoinableQueue = Queue
BaseContext.SimpleQueue = SimpleQueue
BaseContext.Manager = Manager
_default_context = DefaultContext(_concrete_contexts['fork'])
