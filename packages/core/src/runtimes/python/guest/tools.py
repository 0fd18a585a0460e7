"""The module `tools` of programs: the tools by name, and the program that runs with them.

It is part of the boot image, because importing asyncio takes longer than most programs. `await tools.name(...)` makes a call.
"""

import _ast as ast
import asyncio
import builtins
import linecache
import sys
from asyncio import events, tasks, unix_events
from collections.abc import Coroutine
from itertools import islice
from types import ModuleType

from _sandbox_tool_calls import (
    State, ToolError, UnknownToolError, call, decode, encode, encode_arguments, exchange, perform, wait_in_loop,
)  # fmt: skip

__builtins__ = dict(vars(builtins))

ASYNC = 0x80 | 0x200


def _corrected_line(tool, code, instruction, line):
    """The corrected line of a call that was made at an instruction of a code object."""
    text = linecache.getline(code.co_filename, line).rstrip('\n')
    position = next(islice(code.co_positions(), instruction // 2, None), None)
    if not text or position is None or None in position or position[0] != position[1]:
        return f'await tools.{tool}(...)'
    data = text.encode()
    before, made, after = (part.decode() for part in (data[: position[2]], data[position[2] : position[3]], data[position[3] :]))
    is_function = code.co_name != '<module>' and not code.co_flags & ASYNC
    if is_function:
        arguments = made[made.find('(') + 1 :]
        separator = '' if arguments == ')' else ', '
        fixed = f'tools.call({tool!r}{separator}{arguments}'
    else:
        fixed = f'(await {made})' if after.lstrip()[:1] in ('[', '.', '(') else f'await {made}'
    return (before + fixed + after).strip()


class ToolCall(Coroutine):
    """A call of a tool. `await` it to make the call and get its result."""

    __slots__ = ('_tool', '_arguments', '_place', '_coroutine')

    def __init__(self, tool, arguments, place):
        self._tool = tool
        self._arguments = arguments
        self._place = place
        self._coroutine = None
        State.created.add(self)

    def _start(self):
        if self._coroutine is None:
            State.created.discard(self)
            self._coroutine = perform(self._tool, self._arguments)
        return self._coroutine

    def __await__(self):
        return self._start().__await__()

    def send(self, value):
        return self._start().send(value)

    def throw(self, *error):
        return self._start().throw(*error)

    def close(self):
        State.created.discard(self)
        if self._coroutine is not None:
            self._coroutine.close()

    def __repr__(self):
        return f'<call of the tool {self._tool}>'

    def _corrected_line(self):
        return _corrected_line(self._tool, *self._place)

    def _misused(self, *_):
        State.created.discard(self)
        raise TypeError(f'tools.{self._tool}(...) has no value before it is awaited. Write: {self._corrected_line()}')

    def __getattr__(self, name):
        # asyncio and inspect look for these.
        if name.startswith(('_', 'cr_', 'gi_', 'ag_')):
            raise AttributeError(name)
        self._misused()

    def __eq__(self, other):
        return self is other or self._misused()

    def __hash__(self):
        return id(self)


for _name in (
    'str format bool len getitem setitem contains iter call int float index bytes lt le gt ge add radd sub rsub mul rmul '
    'truediv rtruediv floordiv rfloordiv mod rmod pow rpow and rand or ror xor rxor neg pos abs invert round enter exit'
).split():
    setattr(ToolCall, f'__{_name}__', ToolCall._misused)


class Tool:
    """A tool of the caller."""

    def __init__(self, name):
        self._name = name
        self.__name__ = self.__qualname__ = name

    def __call__(self, *args, **kwargs):
        arguments = encode_arguments(self._name, args, kwargs)
        frame = sys._getframe(1)
        return ToolCall(self._name, arguments, (frame.f_code, frame.f_lasti, frame.f_lineno))

    @property
    def __doc__(self):
        found = decode(exchange(f'describe\n{encode(self._name)}'))
        return found.get('description') if isinstance(found, dict) else None

    def __repr__(self):
        return f'<tool {self._name}>'


def search_tools(query, limit=10):
    """The tools that match a query, best first: a list of dicts."""
    return decode(exchange(f'search\n{int(limit)}\n{encode(str(query))}'))


def describe_tool(name):
    """The description of a tool: its parameters, its result, and its signature."""
    name = getattr(name, '_name', name)
    found = decode(exchange(f'describe\n{encode(str(name))}'))
    if found is None:
        raise _unknown(name)
    return found


def _unknown(name):
    from difflib import get_close_matches

    similar = get_close_matches(str(name), list(_by_name), 3)
    hint = f'Did you mean {", ".join(similar)}?' if similar else 'search_tools(query) lists the available tools.'
    return UnknownToolError(f'there is no tool {str(name)[:200]!r}. {hint}', 'unknown_tool', str(name)[:200])


class _Namespace:
    """Tools of one source."""

    def __init__(self, prefix):
        self.__dict__['_prefix'] = prefix

    def __getattr__(self, name):
        if name.startswith('__'):
            raise AttributeError(name)
        raise _unknown(f'{self._prefix}.{name}')

    def __getitem__(self, name):
        found = _by_name.get(f'{self._prefix}.{name}')
        if found is None:
            return getattr(self, name)
        return found

    def __dir__(self):
        return [name for name in self.__dict__ if name != '_prefix']

    def __repr__(self):
        return f'<tools {self._prefix}: {", ".join(self.__dir__())}>'


class _ToolsModule(ModuleType):
    def __getattr__(self, name):
        if name.startswith('__'):
            raise AttributeError(name)
        raise _unknown(name)

    def __getitem__(self, name):
        if name in _by_name:
            return _by_name[name]
        raise _unknown(name)

    def __contains__(self, name):
        return name in _by_name

    def __iter__(self):
        return iter(sorted(tool._name for tool in set(_by_name.values())))


# ---- programs ----

# The tools by original name and by path.
_by_name = {}
_module = None
_BUILTINS = ('tools', 'search_tools', 'describe_tool', 'ToolError', _RUN := '__run_async__')


def begin(names):
    """Installs the tools of a program. A program that has only the network has no names."""
    global _module
    _by_name.clear()
    State.waiting.clear()
    State.queue.clear()
    State.created.clear()
    State.runner = State.task = None
    State.is_paused = False
    unix_events._SleepingSelector.tools = _selector
    if names is None:
        _remove()
        builtins.__run_async__ = _run_async
        return
    module = _module = _ToolsModule('tools', 'The tools that this program can call.')
    for name, path in decode(names):
        tool = Tool(name)
        _by_name.setdefault('.'.join(path), tool)
        _by_name[name] = tool
        target = module.__dict__
        for index, part in enumerate(path[:-1]):
            space = target.get(part)
            if not isinstance(space, _Namespace):
                space = target[part] = _Namespace('.'.join(path[: index + 1]))
            target = space.__dict__
        target.setdefault(path[-1], tool)
    for part in (call, search_tools, describe_tool, ToolError):
        module.__dict__[part.__name__] = part
    sys.modules['tools'] = module
    values = (module, search_tools, describe_tool, ToolError, _run_async)
    for name, value in zip(_BUILTINS, values):
        setattr(builtins, name, value)


def end():
    """Removes the tools of an earlier program, for a program that has none."""
    if unix_events._SleepingSelector.tools is not None:
        _remove()
        unix_events._SleepingSelector.tools = None


def _remove():
    global _module
    if _module is not None and sys.modules.get('tools') is _module:
        del sys.modules['tools']
    _module = None
    for name in _BUILTINS:
        builtins.__dict__.pop(name, None)


def _selector(timeout):
    """Waits if there are calls. Returns False otherwise."""
    if not State.waiting:
        return False
    wait_in_loop(timeout)
    return True


async def _run_async(module, main, **options):
    """`asyncio.run(main)` at the top level of a program, which can pause."""
    if module is not asyncio:
        return module.run(main, **options)
    if not asyncio.iscoroutine(main):
        raise ValueError(f'a coroutine was expected, got {main!r}')
    outer = asyncio.all_tasks()
    task = asyncio.create_task(main)
    try:
        return await task
    finally:
        left = [one for one in asyncio.all_tasks() - outer if not one.done()]
        for one in left:
            one.cancel()
        await asyncio.gather(*left, return_exceptions=True)


def _nested_run(main, **options):
    """`asyncio.run` in a function, which may be called while the main loop runs."""
    loop = events._get_running_loop()
    if State.runner is None or loop is not State.runner.get_loop():
        return _asyncio_run(main, **options)
    task = tasks._swap_current_task(loop, None)
    events._set_running_loop(None)
    try:
        return _asyncio_run(main, **options)
    finally:
        events.set_event_loop(loop)
        events._set_running_loop(loop)
        tasks._swap_current_task(loop, task)


_asyncio_run = asyncio.run


def run(main):
    """Runs the coroutine of a program. Returns None and sets `is_paused` if it pauses."""
    runner = State.runner = asyncio.Runner()
    loop = runner.get_loop()
    State.task = loop.create_task(main)
    State.task.add_done_callback(lambda _: loop.stop())
    return drive()


def drive():
    """Continues the program until it ends or pauses."""
    State.is_paused = False
    task = State.task
    asyncio.run = _nested_run
    try:
        State.runner.get_loop().run_forever()
        if not State.is_paused:
            return task.result()
    finally:
        asyncio.run = _asyncio_run
        if not State.is_paused:
            runner, State.runner, State.task = State.runner, None, None
            runner.close()


def is_paused():
    return State.is_paused


def check_awaited():
    """Fails if the program has created a call and not awaited it."""
    for made in State.created:
        State.created.clear()
        raise RuntimeError(
            f'line {made._place[2]}: tools.{made._tool}(...) was not awaited, so the tool was not called. '
            f'Write: {made._corrected_line()}'
        )


def transform(tree):
    """Replaces `asyncio.run(...)` outside of functions, so that the program can pause in it."""

    def is_run(node):
        function = node.func
        return (
            isinstance(function, ast.Attribute)
            and function.attr == 'run'
            and isinstance(function.value, ast.Name)
            and function.value.id == 'asyncio'
        )

    def visit(node):
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, ast.AST):
                setattr(node, field, replace(value))
            elif isinstance(value, list):
                value[:] = [replace(item) if isinstance(item, ast.AST) else item for item in value]
        return node

    def replace(node):
        if isinstance(node, SCOPES):
            return node
        visit(node)
        if not isinstance(node, ast.Call) or not is_run(node):
            return node
        place = {
            name: getattr(node, name) for name in ('lineno', 'col_offset', 'end_lineno', 'end_col_offset')
        }
        name = ast.Name(_RUN, ast.Load(), **place)
        inner = ast.Call(name, [node.func.value, *node.args], node.keywords, **place)
        return ast.Await(inner, **place)

    SCOPES = (
        ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp,
    )  # fmt: skip
    return visit(tree)
