"""Engines: where their libraries are, and what is measured on them."""

from __future__ import annotations

import functools
import importlib.util
import os
from collections.abc import Mapping, Sequence
from typing import Any

from . import _core, errors
from ._arguments import TYPES, wrong
from ._core import Job, Options
from ._qdq import ffi, lib

BIN = os.path.join(os.path.dirname(__file__), "bin")
# Packages of Python that bring an engine: where its library is in them.
PACKAGES = {"onnxruntime": "capi", "openvino": "libs"}
LIBRARIES = {
    "ort": ("ort_library", "QDQ_ORT_LIBRARY", "libonnxruntime.so"),
    "openvino": ("openvino_library", "QDQ_OPENVINO_LIBRARY", "libopenvino_c.so"),
}
OPTIONS = {
    "ort_library": "ort_library",
    "openvino_library": "openvino_library",
    "providers": "providers",
    "plugin_libraries": "plugins",
    "engine_timeout": "deadline_s",
    "host": "host",
    "host_timeout": "host_timeout_s",
    "trtexec": "trtexec",
    "trtexec_args": "trtexec_args",
    "timing_cache": "timing_cache",
}


def package_folders() -> list[str]:
    """Folders with libraries of engines in this interpreter's packages, which are not imported."""
    out = []
    for package, inner in PACKAGES.items():
        spec = importlib.util.find_spec(package)
        for place in (spec.submodule_search_locations or []) if spec is not None else []:
            folder = os.path.join(place, inner)
            if os.path.isdir(folder):
                out.append(folder)
    return out


def loaded_library(name: str) -> str | None:
    """The path of a library that this process has loaded."""
    try:
        with open("/proc/self/maps") as maps:
            for line in maps:
                path = line.rstrip().split(" ", 5)[-1].strip()
                if os.path.basename(path).startswith(name) and os.path.exists(path):
                    return path
    except OSError:
        pass
    return None


def environment() -> dict[str, str]:
    """The environment with which the tool finds what this package would find."""
    env = dict(os.environ)
    env.setdefault("ORT_DISABLE_TELEMETRY", "1")
    for _, variable, stem in LIBRARIES.values():
        for folder in package_folders() if not env.get(variable) else []:
            found = sorted(name for name in os.listdir(folder) if name.startswith(stem))
            if found:
                env[variable] = os.path.join(folder, found[-1])
    return env


def fill(options: Options, engine: str, values: dict[str, Any]) -> None:
    """Engine options: what the caller says, then the environment, then what is loaded."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    for member, variable, stem in LIBRARIES.values():
        found = values.get(member) or os.environ.get(variable) or loaded_library(stem)
        options.set(member, found or None, member)
    options.fill(
        {k: v for k, v in OPTIONS.items() if k not in ("ort_library", "openvino_library")}, values
    )
    options.set("search_dirs", package_folders())
    options.set("temp_dir", os.environ.get("TMPDIR") or None)
    options.set("worker", os.path.join(BIN, "qdq-worker") if os.path.isdir(BIN) else None)
    need = _core.text(lib.qdq_engine_environment(_core.encode(engine), options.c))
    if need:
        name, _, value = need.partition("=")
        os.environ[name] = value


class Engine:
    """An open inference engine.

    Parameters
    ----------
    spec
        ``"ort"``, ``"openvino"``, ``"trtexec"``, ``"sim:cost.json"``, or a plugin's ``"FILE.so"``.
    **options
        As the command line's, with ``_`` for ``-``: ``ort_library``, ``openvino_library``,
        ``providers``, ``plugin_libraries``, ``engine_timeout`` (seconds), ``host``,
        ``host_timeout`` (seconds), ``trtexec``, ``trtexec_args``, ``timing_cache``.

    Raises
    ------
    EngineError
        The engine is not installed: the text says how to get it.

    Examples
    --------
    >>> qdq.Engine("ort").version
    """

    def __init__(self, spec: str = "ort", *, job: Job | None = None, **options: Any) -> None:
        unknown = set(options) - set(OPTIONS)
        if unknown:
            raise TypeError(f"unexpected option of an engine: {', '.join(sorted(unknown))}")
        if not isinstance(spec, str):
            raise wrong("engine", spec, "a text or a qdq.Engine")
        options = {k: TYPES[k](k, v) for k, v in options.items() if v is not None}
        self._job = job if job is not None else Job()
        self._spec, self._given = spec, options
        self._options = Options("qdq_engine_opts", self._job)
        fill(self._options, spec, options)
        self._options.set("in_worker", True)
        out = ffi.new("qdq_engine **")
        self._job.run(lib.qdq_engine_open, _core.encode(spec), self._options.c, out)
        self._c = ffi.gc(out[0], lib.qdq_engine_close)

    @property
    def c(self) -> Any:
        if self._c is None:
            raise errors.UsageError("the engine is closed")
        return self._c

    @property
    def info(self) -> Any:
        return lib.qdq_engine_get_info(self.c)

    @property
    def spec(self) -> str:
        """What it was made of: ``"sim:cost.json"``."""
        return self._spec

    @property
    def options(self) -> dict[str, Any]:
        """The options that it was made with."""
        return dict(self._given)

    def close(self) -> None:
        """Ends the engine's process. Closing twice does nothing."""
        if self._c is not None:
            ffi.release(self._c)
            self._c = None

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def name(self) -> str:
        """``"ort"``."""
        return _core.text(self.info.name)

    @property
    def version(self) -> str:
        """``"1.31.1"``; ``""`` if unknown."""
        return _core.text(self.info.version)

    @property
    def library(self) -> str:
        """The file it was loaded from."""
        return _core.text(self.info.library)

    @property
    def runs(self) -> bool:
        """It gives outputs of models, not times alone."""
        return bool(self.info.capabilities & lib.QDQ_CAN_RUN)

    @property
    def times(self) -> bool:
        """It measures latency."""
        return bool(self.info.capabilities & lib.QDQ_CAN_TIME)

    def __repr__(self) -> str:
        return (
            f"<qdq.Engine {self.name} {self.version}>"
            if self._c is not None
            else "<qdq.Engine closed>"
        )


class Session:
    """A model that an engine has made ready to run. For use in a `with` statement."""

    def __init__(
        self, engine: Engine, model: Any, job: Job, threads: int, shapes: Any = None
    ) -> None:
        self.options = Options("qdq_session_opts")
        self.options.set("threads", threads)
        self.options.set("shapes", shapes, "shape")
        self.keep = (engine, model)
        out = ffi.new("qdq_session **")
        job.run(lib.qdq_session_open, engine.c, model.c, self.options.c, out)
        self.c = ffi.gc(out[0], lib.qdq_session_close)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        ffi.release(self.c)


def threads_of(threads: int) -> int:
    """0: as many as this process may use."""
    return threads if threads > 0 else max(len(os.sched_getaffinity(0)), 1)


@functools.cache
def engine_names() -> Sequence[str]:
    """The engines that this build knows."""
    names: list[str] = []
    while (name := lib.qdq_engine_name(len(names), ffi.NULL)) != ffi.NULL:
        names.append(_core.text(name))
    return tuple(names)


def split(engine: str | Engine) -> str:
    """The name of an engine in a spec."""
    if not isinstance(engine, (str, Engine)):
        raise wrong("engine", engine, "a text or a qdq.Engine")
    return engine.name if isinstance(engine, Engine) else engine.partition(":")[0]


def options_in(engine: str | Engine, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of an engine that a call was given; an open engine has its own already."""
    options = {name: given[name] for name in OPTIONS if given.get(name) is not None}
    if isinstance(engine, Engine) and options:
        raise errors.UsageError(
            f"{next(iter(options))}: conflicts with an engine that is open; expected it in "
            "qdq.Engine(...)"
        )
    return options


def open_engine(engine: str | Engine, job: Job, given: Mapping[str, Any] | None = None) -> Engine:
    """`engine` itself if it is open, else an engine that the caller closes."""
    options = options_in(engine, given or {})
    return engine if isinstance(engine, Engine) else Engine(engine, job=job, **options)
