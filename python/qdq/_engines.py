"""Engines: where their libraries are, and what is measured on them."""

from __future__ import annotations

import contextlib
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
OPTIONS = (
    *("ort_library", "openvino_library", "providers", "plugin_libraries", "engine_timeout"),
    *("host", "host_timeout", "trtexec", "trtexec_args", "timing_cache"),
)


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


def options_of(engine: str, given: Mapping[str, Any], job: Job, in_worker: bool = False) -> Options:
    """Engine options: what the caller says, then the environment, then what is loaded."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    libraries = {
        member: given.get(member) or os.environ.get(variable) or loaded_library(stem)
        for member, variable, stem in LIBRARIES.values()
    }
    options = Options(
        "qdq_engine_opts",
        job,
        given_of(given) | libraries,
        search_dirs=package_folders(),
        temp_dir=os.environ.get("TMPDIR") or None,
        worker=os.path.join(BIN, "qdq-worker") if os.path.isdir(BIN) else None,
        in_worker=in_worker,
    )
    need = _core.text(lib.qdq_engine_environment(_core.encode(engine), options.c))
    if need:
        name, _, value = need.partition("=")
        os.environ[name] = value
    return options


def given_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Those of a call's options that are of an engine."""
    return {name: options[name] for name in OPTIONS if options.get(name) is not None}


def reject_unknown(options: Mapping[str, Any]) -> None:
    unknown = set(options) - set(OPTIONS)
    if unknown:
        raise TypeError(f"unexpected option of an engine: {', '.join(sorted(unknown))}")


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
        reject_unknown(options)
        if not isinstance(spec, str):
            raise wrong("engine", spec, "a text or a qdq.Engine")
        options = {k: TYPES[k](k, v) for k, v in options.items() if v is not None}
        self._job = job if job is not None else Job()
        self._spec, self._given = spec, options
        self._options = options_of(spec, options, self._job, in_worker=True)
        made = self._job.make(lib.qdq_engine_open, _core.encode(spec), self._options.c)
        self._c = ffi.gc(made, lib.qdq_engine_close)

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
    def runs_as_written(self) -> bool:
        """It can compute a graph as it is written: others are checked against it."""
        return bool(self.info.capabilities & lib.QDQ_RUNS_AS_WRITTEN)

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

    def __init__(self, engine: Engine, model: Any, job: Job, given: Mapping[str, Any]) -> None:
        self.options = Options("qdq_session_opts", given=given)
        self.keep = (engine, model)
        made = job.make(lib.qdq_session_open, engine.c, model.c, self.options.c)
        self.c = ffi.gc(made, lib.qdq_session_close)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        ffi.release(self.c)


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
    options = given_of(given)
    if "trtexec_args" in options and split(engine) != "trtexec":
        raise errors.UsageError(
            f"found trtexec_args and engine {split(engine)}: expected engine trtexec"
        )
    if isinstance(engine, Engine) and options:
        raise errors.UsageError(
            f"{next(iter(options))}: conflicts with an engine that is open; expected it in "
            "qdq.Engine(...)"
        )
    return options


def open_engine(
    engine: str | Engine, job: Job, given: Mapping[str, Any]
) -> contextlib.AbstractContextManager[Engine]:
    """`engine` itself if it is open, else an engine that ends with the `with` statement."""
    options = options_in(engine, given)
    if isinstance(engine, Engine):
        return contextlib.nullcontext(engine)
    return Engine(engine, job=job, **options)
