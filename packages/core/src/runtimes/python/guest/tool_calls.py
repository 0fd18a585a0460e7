"""Calls the tools of the caller: sends messages to the host and waits for answers, in the event loop or blocking.

When the main loop only waits for external decisions, it stops, and the program is paused: no frame of the interpreter is
active then, so the memory of the guest is the complete state.
"""

import asyncio
import builtins
from asyncio import events
from errno import EAGAIN
from fcntl import ioctl
from json import JSONDecoder, JSONEncoder

__builtins__ = dict(vars(builtins))

# The ioctl requests, with the numbers of TOOL_IOCTL in syscalls/abi.ts.
SEND = 0x4C570011
TAKE = 0x4C570012
# Python copies shorter buffers, and the host would not see the original.
BUFFER_BYTES = 1100
MAX_DEPTH = 100
MAX_EXACT = 2**53 - 1
# The largest finite number. NaN and infinity are not within the range.
MAX_FLOAT = 1.7976931348623157e308

decode = JSONDecoder().decode
encode = JSONEncoder(allow_nan=False, separators=(',', ':')).encode


class ToolError(Exception):
    """A tool call failed. `code` is one of invalid_arguments, denied, timeout, limit, failed and unknown_tool."""

    def __init__(self, message, code='failed', tool=None):
        super().__init__(message)
        self.code = code
        self.tool = tool


class UnknownToolError(ToolError, AttributeError):
    """No tool has this name."""

    def __init__(self, message, code, tool):
        super().__init__(message, code, tool)
        # Otherwise Python sets the context of the error and adds a suggestion of its own to the message.
        self.obj = tool


ToolError.__module__ = UnknownToolError.__module__ = 'tools'


class State:
    """State of the running program."""

    last_id = 0
    # Futures of the calls that have no answer, by number.
    waiting = {}
    # Calls that the host does not accept yet.
    queue = []
    # Calls that are created but not awaited.
    created = set()
    # Answers of blocking calls, by number.
    blocking = {}
    runner = task = None
    is_paused = False


def exchange(text):
    """Sends a message to the host and returns its reply as text."""
    data = text.encode()
    buffer = bytearray(max(len(data) + 4, BUFFER_BYTES))
    buffer[:4] = len(data).to_bytes(4, 'little')
    buffer[4 : 4 + len(data)] = data
    size = ioctl(0, SEND, buffer, True)
    if size == 0:
        return ''
    buffer = bytearray(max(size + 4, BUFFER_BYTES))
    buffer[:4] = size.to_bytes(4, 'little')
    ioctl(0, TAKE, buffer, True)
    return buffer[4 : 4 + size].decode()


# ---- arguments ----


class NotJson(Exception):
    """A value that JSON would change without an error. `path` leads to it."""

    def __init__(self, problem):
        self.problem = problem
        self.path = []


def check_member(key, value, depth):
    try:
        check(value, depth)
    except NotJson as error:
        error.path.append(str(key)[:200])
        raise


def check(value, depth=0):
    """Rejects values that JSON would change without an error."""
    kind = type(value)
    if kind is str:
        return
    if depth > MAX_DEPTH:
        raise NotJson(f'is nested more than {MAX_DEPTH} levels deep')
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str:
                raise NotJson(f'has the key {key!r:.50}, which is not a string')
            check_member(key, item, depth + 1)
    elif kind is list or kind is tuple:
        for index, item in enumerate(value):
            check_member(index, item, depth + 1)
    elif isinstance(value, int) and not -MAX_EXACT <= value <= MAX_EXACT:
        raise NotJson('is an integer beyond 2**53, which JSON numbers cannot represent exactly; pass it as a string')
    elif isinstance(value, float) and not -MAX_FLOAT <= value <= MAX_FLOAT:
        raise NotJson(f'is {value}, which is not JSON data; pass a number, a string or None')


def encode_arguments(tool, args, kwargs):
    if len(args) == 1 and not kwargs and isinstance(args[0], dict):
        kwargs = dict(args[0])
    elif args:
        raise ToolError(
            f'{tool} takes keyword arguments, as in tools.{tool}(name=value), or one dict',
            'invalid_arguments',
            tool,
        )
    try:
        check(kwargs)
        return encode(kwargs)
    except NotJson as error:
        path = '.'.join(reversed(error.path))
        where = f'the argument {path[:200]!r}' if path else 'the object with the arguments'
        raise ToolError(f'{where} {error.problem}', 'invalid_arguments', tool) from None
    except (TypeError, ValueError) as error:
        raise ToolError(f'the arguments are not JSON data: {error}', 'invalid_arguments', tool) from None


# ---- calls ----


def send(call_id, name, arguments):
    """Returns whether the host accepted the call."""
    try:
        exchange(f'call\n{call_id}\n{encode(name)}\n{arguments}')
    except OSError as error:
        if error.errno != EAGAIN:
            raise ToolError('the host rejected the call: its name or its arguments are too long', 'limit', name) from None
        return False
    return True


def post(name, arguments):
    State.last_id += 1
    call_id = State.last_id
    if State.queue or not send(call_id, name, arguments):
        State.queue.append((call_id, name, arguments))
    return call_id


def send_queued():
    queue = State.queue
    while queue and send(*queue[0]):
        queue.pop(0)


def withdraw(call_id, reason):
    for index, (queued, _, _) in enumerate(State.queue):
        if queued == call_id:
            del State.queue[index]
            return
    exchange(f'withdraw\n{call_id}\n{reason}')


def error_of(answer, tool):
    kind = UnknownToolError if answer['code'] == 'unknown_tool' else ToolError
    return kind(answer['message'], answer['code'], tool)


def deliver(answer):
    """Passes an answer to the call that waits for it."""
    call_id = answer['id']
    if call_id in State.blocking:
        State.blocking[call_id] = answer
    elif call_id in State.waiting:
        future, tool = State.waiting.pop(call_id)
        if not future.done():
            if 'value' in answer:
                future.set_result(answer['value'])
            else:
                future.set_exception(error_of(answer, tool))
    send_queued()


async def perform(tool, arguments):
    future = events.get_running_loop().create_future()
    call_id = post(tool, arguments)
    State.waiting[call_id] = future, tool
    try:
        return await future
    except asyncio.CancelledError:
        if State.waiting.pop(call_id, None) is not None:
            withdraw(call_id, 'the program cancelled the call')
        raise


def cannot_pause(caller, name):
    # Requests are not functions of `tools`.
    call = '`await client.get(...)` with `httpx.AsyncClient`' if name == 'network:request' else f'`await tools.{name}(...)`'
    return (
        f'the call needs an external decision, for which the program has to pause, but {caller} cannot pause. '
        f'Write {call} at the top level, or in an async function that is run with `asyncio.run(main())` or '
        '`await main()` at the top level'
    )


def wait_in_loop(timeout):
    """Waits for an answer instead of sleeping. Called by the event loop."""
    answer = decode(exchange('wait\n' if timeout is None else f'wait\n{timeout * 1000}'))
    if 'id' in answer:
        deliver(answer)
    elif answer['status'] == 'paused':
        loop = events.get_running_loop()
        if State.runner is not None and loop is State.runner.get_loop():
            State.is_paused = True
            loop.stop()
            return
        for call_id, (future, tool) in list(State.waiting.items()):
            if future.get_loop() is loop:
                del State.waiting[call_id]
                withdraw(call_id, 'an event loop inside a function cannot pause')
                message = cannot_pause('an event loop that a function runs', tool)
                future.set_exception(ToolError(message, 'denied', tool))


def call(name, arguments=None, /, **kwargs):
    """Calls a tool and waits for its answer, for code that is not async: `call("weather", city="Berlin")`."""
    return call_blocking(name, encode_arguments(name, () if arguments is None else (arguments,), kwargs))


def call_blocking(name, text):
    call_id = post(name, text)
    State.blocking[call_id] = None
    try:
        while State.blocking[call_id] is None:
            answer = decode(exchange('wait\n'))
            if 'id' in answer:
                deliver(answer)
            elif answer['status'] == 'paused':
                withdraw(call_id, 'a blocking call cannot pause')
                raise ToolError(cannot_pause('a blocking call', name), 'denied', name)
            elif answer['status'] == 'idle':
                raise ToolError('the call was not answered', 'failed', name)
        answer = State.blocking[call_id]
    finally:
        del State.blocking[call_id]
    if 'value' not in answer:
        raise error_of(answer, name)
    return answer['value']
