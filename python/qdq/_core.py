"""The way into the library: status codes become exceptions, callbacks run on the caller's thread.

A long call runs in a thread of its own while the caller waits, so that Ctrl-C and other signals are
answered at once. The library never runs two callbacks of one call at the same time.
"""

from __future__ import annotations

import importlib
import logging
import os
import queue
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from . import _records, errors
from ._qdq import ffi, lib

T = TypeVar("T")
Path = str | os.PathLike[str]
Shapes = Mapping[str, Sequence[int]]
Progress = bool | Callable[[str, int, int], object]

logger = logging.getLogger("qdq")
LEVELS = {
    lib.QDQ_LOG_ERROR: logging.ERROR,
    lib.QDQ_LOG_WARNING: logging.WARNING,
    lib.QDQ_LOG_INFO: logging.INFO,
    lib.QDQ_LOG_DEBUG: logging.DEBUG,
}
ERRORS: dict[int, type[BaseException]] = {
    lib.QDQ_E_USAGE: errors.UsageError,
    lib.QDQ_E_NOMEM: errors.OutOfMemory,
    lib.QDQ_E_IO: errors.FileError,
    lib.QDQ_E_FORMAT: errors.FormatError,
    lib.QDQ_E_UNSUPPORTED: errors.UnsupportedError,
    lib.QDQ_E_ENGINE: errors.EngineError,
    lib.QDQ_E_GOAL: errors.GoalNotReached,
    lib.QDQ_E_INTERRUPTED: errors.Cancelled,
    lib.QDQ_E_BUG: errors.InternalError,
}


def text(c: Any) -> str:
    """A C string; NULL is ""."""
    return "" if c == ffi.NULL else ffi.string(c).decode("utf-8", "replace")


def encode(value: Path) -> bytes:
    """A path or another text for C."""
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"found {value!r}, expected a text or a path")
    data = os.fsencode(value)
    if b"\0" in data:
        raise errors.UsageError(f"{value!r}: has a NUL character in it, expected text")
    return data


def package(name: str, needs: str) -> Any:
    """A module of a package that only some calls need."""
    try:
        return importlib.import_module(name)
    except ImportError:
        own = name.partition(".")[0]
        raise ImportError(f"{needs} needs {own}: pip install {own}") from None


def raise_for(status: int, err: Any) -> None:
    """The exception of a status; nothing for QDQ_OK."""
    if status == lib.QDQ_OK:
        return
    said = text(err.text)
    kind = ERRORS[status]
    if kind is errors.EngineError and "library was found" in said:
        name = "openvino" if "OpenVINO" in said else "onnxruntime"
        said = f"{said.split(' library was found')[0]} library was found: pip install {name}"
    raise errors.file_error(said) if kind is errors.FileError else kind(said)


def set_error(err: Any, status: int, said: str) -> int:
    """The status of a callback that failed, with its text in err."""
    if err != ffi.NULL:
        data = said.encode()[: ffi.sizeof(err.text) - 1] + b"\0"
        err.code = status
        ffi.memmove(err.text, data, len(data))
    return status


def call(function: Callable[..., int], *args: Any) -> None:
    """A short call: function(*args, err)."""
    err = ffi.new("qdq_error *")
    raise_for(function(*args, err), err)


def out_of(function: Callable[..., int]) -> Any:
    """Where a function stores what it makes, if that is its last argument but err."""
    return ffi.new(ffi.typeof(function).args[-2])


# What frees an object of C; others are plain memory.
FREE = {
    "qdq_model *": "qdq_model_free",
    "qdq_plan *": "qdq_plan_free",
    "qdq_target *": "qdq_target_free",
    "qdq_data *": "qdq_data_close",
    "qdq_engine *": "qdq_engine_close",
    "qdq_session *": "qdq_session_close",
    "qdq_statistics *": "qdq_statistics_free",
}


def free_of(c: Any) -> Any:
    """What frees the object of C at a pointer."""
    return getattr(lib, FREE.get(ffi.typeof(c).cname.removeprefix("struct "), "qdq_free"))


def make(function: Callable[..., int], *args: Any) -> Any:
    """A short call that makes something, which the caller frees."""
    out = out_of(function)
    call(function, *args, out)
    return out[0]


def take_text(function: Callable[..., int], *args: Any) -> str:
    """A short call that makes a text."""
    made = make(function, *args)
    try:
        return text(made)
    finally:
        lib.qdq_free(made)


# --- results --------------------------------------------------------------------------------------


def read(struct: Any, **more: Any) -> Any:
    """A result as an object of Python that has copies of all its members."""
    kind = ffi.typeof(struct)
    if kind.kind == "pointer":
        struct, kind = struct[0], kind.item
    members = dict(kind.fields)
    found: dict[str, Any] = {}
    made = _records.CLASSES[kind.cname.removeprefix("struct ")]
    for name, said in made.__annotations__.items():
        c_name = name.rstrip("_")
        length = _records.LENGTHS.get(c_name, f"n_{c_name}")
        n = int(getattr(struct, length)) if said.startswith("tuple") else None
        found[name] = read_member(getattr(struct, c_name), members[c_name].type, n)
    return made(**found, **more)


def read_member(value: Any, kind: Any, n: int | None) -> Any:
    if kind.kind == "enum":
        return enum_name(kind, value)
    if kind.kind == "struct":
        return read(value)
    if kind.kind == "array" and kind.item.cname == "char":
        return text(value)
    if kind.kind == "pointer" and kind.item.cname == "char" and n is None:
        return text(value)
    if kind.kind in ("pointer", "array"):
        if n is None:
            return None if value == ffi.NULL else read(value)
        return tuple(read_member(value[i], kind.item, None) for i in range(n))
    return value


def enum_name(kind: Any, number: int) -> str:
    """The library's name of a value, or what the names of the enumeration do not share."""
    names = dict(kind.elements)
    namer = getattr(lib, f"{kind.cname.removeprefix('enum ')}_name", None)
    known = text(namer(number)) if namer is not None else ""
    if known:
        return known
    shared = os.path.commonprefix(list(names.values()))
    shared = shared[: shared.rfind("_") + 1]
    name: str = names[number].removeprefix(shared).lower().replace("_", "-")
    return name


# --- callbacks ------------------------------------------------------------------------------------


LOST = 0.05  # seconds after which a message may have been lost


class Job:
    """What one long call uses of its caller: log, progress, cancellation, and its exceptions."""

    def __init__(self, progress: Progress = False) -> None:
        self.error: BaseException | None = None
        own = bar() if progress is True else None
        self.close_bar = own.close if own is not None else None
        self.progress: Callable[[str, int, int], object] | None = own or asked_for(progress)
        self.requests: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self.away = False  # the call runs on another thread than the caller's
        self.cancel = ffi.gc(lib.qdq_cancel_new(), lib.qdq_cancel_free)
        self.handle = ffi.new_handle(self)
        self.c = ffi.new("qdq_job *")
        lib.qdq_job_python_init(self.c)
        self.c.ctx = self.handle
        self.c.log = lib.qdq_job_log_python
        if self.progress is not None:
            self.c.progress = lib.qdq_job_progress_python
        self.c.cancel = self.cancel

    def ask(self, function: Callable[[], T]) -> T | None:
        """Runs a callback of the user on the caller's thread. None: it or an earlier one failed."""
        if self.error is not None:
            return None
        if not self.away:
            return self.try_(function)
        done = threading.Event()
        answer: list[T | None] = [None]

        def request() -> None:
            if self.error is None:
                answer[0] = self.try_(function)
            done.set()

        self.requests.put(request)
        while not done.wait(LOST) and self.error is None:
            pass
        return answer[0]

    def try_(self, function: Callable[[], T]) -> T | None:
        try:
            return function()
        except BaseException as e:
            self.fail(e)
            return None

    def fail(self, e: BaseException) -> None:
        """The call ends as soon as it can, with this exception."""
        if self.error is None:
            self.error = e
        lib.qdq_cancel_set(self.cancel)

    def status(self, function: Callable[..., int], *args: Any) -> tuple[int, Any]:
        """A long call, function(*args, err): its status and err. Callbacks' exceptions come out."""
        err = ffi.new("qdq_error *")
        if threading.current_thread() is threading.main_thread():
            status = self.on_own_thread(lambda: function(*args, err))
        else:
            status = function(*args, err)
        if self.close_bar is not None:
            self.close_bar()
        if self.error is not None:
            error, self.error = self.error, None
            if type(error) is KeyboardInterrupt:
                raise errors.Cancelled("interrupted") from error
            raise error
        return status, err

    def run(self, function: Callable[..., int], *args: Any) -> None:
        """The same; failures are exceptions."""
        status, err = self.status(function, *args)
        raise_for(status, err)

    def make(self, function: Callable[..., int], *args: Any, free: Any = None) -> Any:
        """A long call that makes something, which the caller frees."""
        out = out_of(function)
        try:
            self.run(function, *args, out)
        except BaseException:  # of a signal's handler: the call may have succeeded
            if out[0] != ffi.NULL:
                (free or free_of(out[0]))(out[0])
            raise
        return out[0]

    def report(self, function: Callable[..., int], *args: Any, free: Any = lib.qdq_free) -> Any:
        """A long call that makes a result; the copy of it."""
        made = self.make(function, *args, free=free)
        try:
            return read(made)
        finally:
            free(made)

    def on_own_thread(self, function: Callable[[], int]) -> int:
        """Waits for the call, and runs its callbacks meanwhile.

        An exception of a signal's handler may come between any two steps, and what the queue had
        just handed out is lost then: once there is an error, no thread waits for one message.
        """
        status: list[int] = []
        may_begin, finished = threading.Event(), threading.Event()
        is_left = False  # no one waits for the thread: it makes no call

        def work() -> None:
            may_begin.wait()
            try:
                if not is_left and self.error is None:
                    status.append(function())
            except BaseException as e:
                self.fail(e)
            finally:
                finished.set()
                self.requests.put(None)

        before, self.away = self.away, True
        try:
            threading.Thread(target=work, name="qdq", daemon=True).start()
        except BaseException as e:  # whether it runs or not: it will not make the call
            is_left = True
            hidden = e.__context__ if isinstance(e, KeyError) else None  # a handler's exception
            self.fail(hidden or e)
            finished.set()
        while True:
            try:
                may_begin.set()
                while not finished.is_set():
                    self.serve(LOST if self.error is not None else None)
                break
            except BaseException as e:
                self.fail(e)
        self.away = before
        return status[0] if status else int(lib.QDQ_E_INTERRUPTED)

    def serve(self, timeout: float | None) -> None:
        """Runs the next callback, if there is one in time."""
        try:
            request = self.requests.get(timeout=timeout)
        except queue.Empty:
            return
        if request is not None:
            request()


def asked_for(progress: Any) -> Callable[[str, int, int], object] | None:
    """The function of the user, if there is one."""
    if progress is None or progress is False or progress is True:
        return None
    if not callable(progress):
        raise TypeError(f"progress: found {progress!r}, expected True, False or a function")
    return progress  # type: ignore[no-any-return]


def bar() -> Any:
    """A progress bar of tqdm."""
    tqdm = package("tqdm.auto", "progress=True").tqdm

    class Bar:
        shown: Any = None
        stage = ""

        def __call__(self, stage: str, done: int, total: int) -> None:
            if self.shown is None or stage != self.stage:
                self.close()
                self.stage = stage
                self.shown = tqdm(desc=stage, total=total or None)
            self.shown.update(done - self.shown.n)

        def close(self) -> None:
            if self.shown is not None:
                self.shown.close()
                self.shown = None

    return Bar()


@ffi.def_extern()  # type: ignore[untyped-decorator]
def qdq_job_log_python(ctx: Any, level: int, line: Any) -> None:
    job: Job = ffi.from_handle(ctx)
    said = text(line)
    number = LEVELS.get(int(level), logging.INFO)
    if logger.isEnabledFor(number):
        job.ask(lambda: logger.log(number, "%s", said))


@ffi.def_extern()  # type: ignore[untyped-decorator]
def qdq_job_progress_python(ctx: Any, stage: Any, done: int, total: int) -> None:
    job: Job = ffi.from_handle(ctx)
    name = text(stage)
    progress = job.progress
    if progress is not None:
        job.ask(lambda: progress(name, int(done), int(total)))


# --- options --------------------------------------------------------------------------------------


KEPT: weakref.WeakKeyDictionary[Any, list[Any]] = weakref.WeakKeyDictionary()


# An option of the user sets the member of its name, or this one.
MEMBERS = {
    "shape": "shapes",
    "state": "states",
    "mask": "masks",
    "growth_budget": "growth_bytes",
    "external_data": "external",
    "force": "allow_overwrite",
    "time": "time_s",
    "plugin_libraries": "plugins",
    "engine_timeout": "deadline_s",
    "host_timeout": "host_timeout_s",
}


class Options:
    """A struct of options with its defaults, and whatever of Python it points into.

    `given` are options of the user, of which those are taken that the struct has; `members` are set
    in their place.
    """

    def __init__(
        self,
        type_name: str,
        job: Job | None = None,
        given: Mapping[str, Any] | None = None,
        **members: Any,
    ) -> None:
        self.c = ffi.new(f"{type_name} *")
        getattr(lib, f"{type_name}_python_init")(self.c)
        self.keep: list[Any] = [job]
        KEPT[self.c] = self.keep  # as long as the struct, which may outlive this object
        self.fields = dict(ffi.typeof(self.c[0]).fields)
        if job is not None:
            self.c.job = job.c
        for option, value in (given or {}).items():
            member = MEMBERS.get(option, option)
            if member in self.fields and member not in members:
                self.set(member, value, option)
        for member, value in members.items():
            self.set(member, value)

    def set(self, member: str, value: Any, option: str = "") -> None:
        """Sets a member. None leaves the default."""
        if value is None:
            return
        kind = self.fields[member].type
        try:
            setattr(self.c, member, self.convert(kind, value))
        except (TypeError, OverflowError) as e:
            raise type(e)(f"{option or member}: found {value!r}, {expected(kind)}") from None
        if f"n_{member}" in self.fields:
            setattr(self.c, f"n_{member}", len(value))

    def convert(self, kind: Any, value: Any) -> Any:
        c = getattr(value, "c", value)  # of an engine, a plan, other options
        if isinstance(c, ffi.CData):
            self.keep.append(value)
            return c
        if kind.kind == "enum":
            return enum_value(kind, value)
        name = kind.cname.removeprefix("struct ")
        if name == "char *":
            return self.hold(ffi.new("char[]", encode(value)))
        if name == "char * *":
            return self.texts(value)
        if name == "qdq_input_shape *":
            return self.shapes(value)
        if name == "qdq_state *":
            pairs = [[self.hold(ffi.new("char[]", encode(n))) for n in p] for p in value.items()]
            return self.hold(ffi.new("qdq_state[]", pairs))
        if kind.cname == "_Bool":
            if not isinstance(value, (bool, int)) or value not in (0, 1):
                raise TypeError
            return bool(value)
        if kind.kind == "array":
            return [float(x) for x in value]
        return value

    def hold(self, c: Any) -> Any:
        self.keep.append(c)
        return c

    def texts(self, values: Iterable[str]) -> Any:
        """A list of strings that ends with NULL."""
        items = [self.hold(ffi.new("char[]", encode(v))) for v in values]
        return self.hold(ffi.new("char *[]", [*items, ffi.NULL]))

    def shapes(self, shapes: Shapes) -> Any:
        if not isinstance(shapes, Mapping):
            raise TypeError
        out = self.hold(ffi.new("qdq_input_shape[]", len(shapes)))
        for c, (name, dims) in zip(out, shapes.items()):
            c.name = self.hold(ffi.new("char[]", encode(name)))
            if len(dims) > lib.QDQ_MAX_RANK:
                raise errors.UsageError(
                    f"shape of '{name}': found {len(dims)} dimensions, expected at most "
                    f"{lib.QDQ_MAX_RANK}"
                )
            c.rank = len(dims)
            for i, d in enumerate(dims):
                c.dim[i] = d
        return out


def enum_value(kind: Any, value: Any) -> int:
    """The number of a name ("moving-average"), of "default" or "auto" the one with number 0."""
    if not isinstance(value, str):
        raise TypeError
    for number in kind.elements:
        if enum_name(kind, number) == value:
            return int(number)
    raise TypeError


def expected(kind: Any) -> str:
    if kind.kind == "enum":
        return "expected one of " + ", ".join(
            repr(enum_name(kind, n)) for n in sorted(kind.elements)
        )
    words = {
        "char *": "a text or a path",
        "char * *": "a list of texts",
        "_Bool": "True or False",
        "double": "a number",
        "qdq_input_shape *": "a dict of shapes, as {'x': (1, 3, 224, 224)}",
    }
    other = "numbers" if kind.kind == "array" else "a whole number"
    word = words.get(kind.cname.removeprefix("struct "), other)
    return f"expected {word}"
