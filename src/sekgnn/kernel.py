"""Compiled kernels: one decorator, and a cache on disk that is never stale.

Numba's cache is beside the source, fails if that is read-only, and keeps a kernel whose
callee in another file has changed. This one is in the user's cache folder, in a
subfolder named after a digest of all sources that a kernel can reach and the versions
of the compiler: an edit of these sources compiles again, any other edit does not, and
equal sources share a subfolder wherever they are.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import pickle
import secrets
import shutil
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, overload

import numpy as np

from sekgnn.errors import OutputError
from sekgnn.files import (
    CACHE_VARIABLE,
    cache_folder,
    check_private,
    is_private,
    make_private,
)

F = TypeVar("F", bound=Callable[..., Any])

PACKAGE = Path(__file__).resolve().parent
SOURCES = (
    "*.py",
    "graphs/**/*.py",
    "hops/**/*.py",
    "walks/**/*.py",
    "encoding/**/*.py",
    "wl/**/*.py",
    "nn/kernels.py",
    "nn/lane_kernels.py",
    "paper/overlap_kernel.py",
    "paper/tangent_kernel.py",
)
"""Files of kernels of this package, and of constants they read."""

_CALLEES_TESTED_WITH = ("0.68",)
"""Versions of numba whose internals :func:`_callee_compiler` relies on; with others
kernels compile more slowly to the same code."""

_MOST_FOLDERS = 8  # recently used subfolders to keep
_BUSY = 3600.0  # seconds after its last use in which a subfolder is never removed

_REFUSED: list[OSError] = []  # reasons why a subfolder is not used

_LOG = logging.getLogger("sekgnn")


@overload
def kernel(function: F) -> F: ...
@overload
def kernel(*, fastmath: bool) -> Callable[[F], F]: ...
def kernel(function: F | None = None, *, fastmath: bool = False) -> Any:
    """Compile a function with numba, without the GIL, when it is first called.

    It must be at the top level of its module. Divisions by zero give inf, nan or 0, as
    in numpy, instead of raising. With ``fastmath`` sums may be reordered.
    """
    if function is None:
        return functools.partial(kernel, fastmath=fastmath)
    return _Kernel(function, fastmath)


class _Kernel:
    """A compiled function in two forms: for Python, and for other kernels.

    Reading arguments from Python objects is half of a small function's code, so kernels
    call a form without it. That form is compiled once for all values of an argument,
    while numba would compile it for each constant argument. Numba itself is loaded when
    the function is first used.
    """

    _lock = threading.RLock()

    def __init__(self, function: Callable[..., Any], fastmath: bool) -> None:
        functools.update_wrapper(self, function)
        self._fastmath = fastmath

    def __getattr__(self, name: str) -> Any:
        if name not in ("_outer", "_numba_type_"):
            raise AttributeError(name)
        with self._lock:
            if name not in vars(self):
                self._make_forms(self.__wrapped__)
        return vars(self)[name]

    def _make_forms(self, function: Callable[..., Any]) -> None:
        import numba

        if numba.config.DISABLE_JIT:
            self._outer, self._numba_type_ = function, None
            return
        _listen()

        def compiled(inner: bool) -> Any:
            version = numba.__version__.rpartition(".")[0]
            is_callee = inner and version in _CALLEES_TESTED_WITH
            options = {"pipeline_class": _callee_compiler()} if is_callee else {}
            dispatcher: Any = numba.njit(
                nogil=True,
                error_model="numpy",
                fastmath=self._fastmath,
                no_cfunc_wrapper=True,
                no_cpython_wrapper=inner,
                **options,
            )(function)
            dispatcher._cache = _Cache(function, inner)
            return dispatcher

        self._outer, self._inner = compiled(False), compiled(True)
        template = self._inner.get_call_template

        def without_constants(args: Any, kws: Any) -> Any:
            kws = {name: numba.types.unliteral(kind) for name, kind in kws.items()}
            return template(tuple(map(numba.types.unliteral, args)), kws)

        self._inner.get_call_template = without_constants
        # the attribute that numba reads from objects in a kernel
        self._numba_type_ = numba.types.Dispatcher(self._inner)

    def __call__(self, *args: Any) -> Any:
        return self._outer(*args)


@functools.cache
def _callee_compiler() -> Any:
    """Return a compiler of numba for callees, which leaves them to their callers.

    Numba optimises and translates every function, and again within each of its callers.
    Here a callee stays as it was lowered: the function that Python calls contains it,
    and is optimised and translated as a whole.
    """
    from llvmlite import binding
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler

    class CalleeLibrary(JITCodeLibrary):  # type: ignore[misc]
        def _optimize_final_module(self) -> None:
            pass

        def _finalize_final_module(self) -> None:
            self._finalize_dynamic_globals()
            self._verify_declare_only_symbols()
            # numba fills in these pointers at once, so they must be defined
            pointers = [v.name for v in self._final_module.global_variables]
            text = [
                f'@"{v}" = common global ptr null' for v in pointers if "NumbaEnv" in v
            ]
            self._codegen._add_module(binding.parse_assembly("\n".join(text)))
            self._finalized = True

        def get_pointer_to_function(self, name: str) -> int:
            self._ensure_finalized()
            return 0

        def serialize_using_object_code(self) -> Any:
            return self.serialize_using_bitcode()  # there is no object code

    class CalleeCompiler(Compiler):  # type: ignore[misc]
        def __init__(self, typing: Any, target: Any, *args: Any) -> None:
            super().__init__(typing, target, *args)
            self.state.library = CalleeLibrary(target.codegen(), "callee")

    return CalleeCompiler


def clock() -> float:
    """Return a time in seconds that stops while kernels are compiled."""
    return time.perf_counter() - compile_seconds()


def cpu_clock() -> float:
    """Return a processor time in seconds that stops likewise."""
    return time.process_time() - _COMPILING.cpu_seconds


def compile_seconds() -> float:
    """Return the seconds that this process has spent compiling kernels."""
    return _COMPILING.seconds


def kernel_folder() -> Path | None:
    """Return the folder of compiled kernels, or None if there is none."""
    return _folder(__file__)


class _Compiling:
    """Adds up the times of compilations, which contain those of their callees."""

    def __init__(self) -> None:
        self.seconds, self.cpu_seconds = 0.0, 0.0
        self._depth, self._since, self._cpu_since, self.announced = 0, 0.0, 0.0, False

    def on_start(self, event: Any) -> None:
        if isinstance(event.data["dispatcher"]._cache, _Cache):
            if self._depth == 0:
                self._since, self._cpu_since = time.perf_counter(), time.process_time()
            self._depth += 1

    def on_end(self, event: Any) -> None:
        if isinstance(event.data["dispatcher"]._cache, _Cache):
            self._depth -= 1
            if self._depth == 0:
                self.seconds += time.perf_counter() - self._since
                self.cpu_seconds += time.process_time() - self._cpu_since


_COMPILING = _Compiling()


@functools.cache
def _listen() -> None:
    """Start to measure the time of compilations."""
    from numba.core import event

    class Listener(event.Listener):  # type: ignore[misc]
        on_start, on_end = _COMPILING.on_start, _COMPILING.on_end

    event.register("numba:compile", Listener())


class _Cache:
    """The files of one kernel, one for each signature; used under numba's lock.

    A file is written under another name and renamed, so several processes may compile
    the kernel at once.
    """

    def __init__(self, function: Callable[..., Any], inner: bool) -> None:
        self._function, self._inner = function, inner

    @property
    def cache_path(self) -> str | None:
        folder = _folder(self._function.__code__.co_filename)
        return None if folder is None else str(folder)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        from numba.core.compiler import CompileResult

        target_context.refresh()
        path = self._path(sig, target_context.codegen())
        if path is not None:
            # compiling again cures any fault of a file
            with suppress(Exception):
                stored_sig, payload = pickle.loads(_read_private(path))
                if stored_sig == sig:
                    return CompileResult._rebuild(target_context, *payload)
        module = str(self._function.__module__)
        room = module.removeprefix("sekgnn.").partition(".")[0]
        _announce(None if path is None else path.parent, room)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        from numba.core.serialize import dumps

        path = self._path(sig, data.codegen)
        if path is None or data.library.has_dynamic_globals:
            return
        draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
        try:
            make_private(path.parent)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
            with open(os.open(draft, flags, 0o600), "wb") as file:
                file.write(dumps((sig, data._reduce())))
            draft.replace(path)
        except OSError:  # compiled, but not cached
            with suppress(OSError):
                draft.unlink()

    def _path(self, sig: Any, codegen: Any) -> Path | None:
        code = self._function.__code__
        folder = _folder(code.co_filename)
        if folder is None or self._function.__closure__ is not None:
            return None
        # `codegen.magic_tuple()` names the processor
        about = sig, self._inner, code.co_code, code.co_firstlineno
        facts = repr((about, codegen.magic_tuple()))
        mark = hashlib.sha256(facts.encode()).hexdigest()[:16]
        return folder / f"{self._function.__module__}.{code.co_name}.{mark}"


def _read_private(path: Path) -> bytes:
    """Return the content of a file to execute, which only this user can have written.

    Raises:
        OSError: If there is none, or it is a link.
        OutputError: If somebody else may have written it.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(path, flags), "rb") as file:
        if not is_private(os.fstat(file.fileno())):
            raise OutputError(f"{path} may be somebody else's")
        return file.read()


def _digest(sources: list[Path]) -> str:
    """Return a digest of source files."""
    digest = hashlib.sha256()
    for source in sources:
        inside = source.is_relative_to(PACKAGE)
        name = source.relative_to(PACKAGE).as_posix() if inside else source.name
        text = source.read_bytes()
        digest.update(f"\n{name} {len(text)}\n".encode() + text)
    return digest.hexdigest()


_SOURCES = sorted({path for glob in SOURCES for path in PACKAGE.glob(glob)})
_TEXT = _digest(_SOURCES)  # before the modules are imported, and any later edit


@functools.cache
def _folder(file: str) -> Path | None:
    """Return the subfolder for the kernels of a source file, if there can be one."""
    import llvmlite
    import numba

    config, text = numba.config, _TEXT
    try:
        source = Path(file).resolve(strict=True)
        if source not in _SOURCES:  # a user's kernel, which may call its neighbours
            text += _digest(sorted(source.parent.glob("*.py")))
        root = cache_folder() / "kernels"
    except (OSError, RuntimeError):  # typed in, or no home
        return None
    versions = numba.__version__, llvmlite.__version__, np.__version__, sys.version
    settings = config.OPT, config.BOUNDSCHECK, config.DEBUGINFO_DEFAULT
    facts = repr((text, versions, settings))
    folder = root / hashlib.sha256(facts.encode()).hexdigest()[:24]
    try:
        check_private(folder, root.parent, root)  # its files will be executed
    except OSError as error:
        _REFUSED.append(error)
        return None
    with suppress(OSError):
        os.utime(folder)  # mark as recently used
    return folder


def _announce(folder: Path | None, room: str) -> None:
    """Log once which kernels are compiled, and remove old subfolders.

    Of several processes that compile kernels of a room at the same time, one logs it.
    """
    if _COMPILING.announced:
        return
    _COMPILING.announced = True
    try:
        if folder is None:
            raise OSError
        make_private(folder)
        probe = folder / f".{secrets.token_hex(8)}"
        probe.touch()
        probe.unlink()
    except OSError:
        cure = f"set {CACHE_VARIABLE} to a folder that can be written to"
        if _REFUSED:
            cure = str(_REFUSED[0])
        _LOG.warning("compiling kernels; they cannot be kept: %s", cure)
        return
    with suppress(FileExistsError):
        (folder / f"{room}.announced").touch(0o600, exist_ok=False)
        _LOG.warning(
            "compiling kernels (%s, ...), each once per installation; 'sekgnn warmup' "
            "compiles all",
            room,
        )
        _prune(folder.parent)


def _prune(folder: Path) -> None:
    """Remove all subfolders but the recently used and those possibly in use."""
    with suppress(OSError):
        dated = sorted(((p.stat().st_mtime, p) for p in folder.iterdir()), reverse=True)
        for used, old in dated[_MOST_FOLDERS:]:
            if used < time.time() - _BUSY:
                shutil.rmtree(old, ignore_errors=True)
