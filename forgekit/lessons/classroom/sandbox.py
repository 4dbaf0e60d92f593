"""Confine a student's process to read-only system libraries and Python, and a scratch folder.

Linux namespaces, created without root privileges, isolate processes, network, file system and
inter-process communication. The sandbox's file system contains the listed paths, read-only, and a
small in-memory file system for HOME and temporary files. It does not contain the course's
exercises, other submissions or the user's files.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import struct
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from forgekit import course

HOME = "/tmp/home"
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/etc", "/opt", "/nix/store")
# /dev/zero is omitted, because its shared mappings would escape the memory limit
_DEVICES = ("null", "full", "random", "urandom")
_NEW_NS, _NEW_IPC, _NEW_USER, _NEW_PID, _NEW_NET = (
    0x20000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)  # fmt: skip
_BIND, _REC, _PRIVATE, _DETACH = 4096, 16384, 1 << 18, 2
_READ_ONLY, _NO_SUID_NO_DEV = 1, 2 | 4
_AT_RECURSIVE, _AT_FDCWD = 0x8000, -100
_MOUNT_SETATTR, _PIVOT_ROOT, _CAPSET = (
    (442, 155, 126) if os.uname().machine == "x86_64" else (442, 41, 91))  # fmt: skip
_PARENT_DEATH, _DUMPABLE, _SECCOMP, _NO_NEW_PRIVILEGES = 1, 4, 22, 38
# For the system-call filter: the architecture, the highest call number, mmap's number, and the
# denied calls memfd_create, memfd_secret, shmget, semget and msgget.
_CALLS = (
    (0xC000003E, 0x3FFFFFFF, 9, 319, 447, 29, 64, 68) if os.uname().machine == "x86_64"
    else (0xC00000B7, 0xFFFFFFFF, 222, 279, 447, 194, 190, 186))  # fmt: skip
_LOAD, _EQUAL, _ABOVE, _AND, _RETURN = 0x20, 0x15, 0x25, 0x54, 0x06

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Limits:
    """The limits for a submission. seconds: the time for each cell. total_seconds: the time for all
    cells and grades. memory_mib: the total memory of its processes, not counting each process's
    memory when idle. files_mib: the size of HOME and temporary files. processes: the maximum number
    of processes. sandbox: False to run trusted submissions without a sandbox."""

    seconds: float = 120
    total_seconds: float = 1800
    memory_mib: int = 4096
    files_mib: int = 256
    processes: int = 32
    sandbox: bool = True


def die_with_parent() -> None:
    """Make the kernel end this process when its parent ends."""
    _libc.prctl(_PARENT_DEATH, signal.SIGKILL, 0, 0, 0)


def not_to_be_traced() -> None:
    """Prevent the user's other processes from inspecting this process."""
    _libc.prctl(_DUMPABLE, 0, 0, 0, 0)


def readable() -> list[str]:
    """Return the paths that a student's process needs: Python and its packages, forgekit, and
    recorded files."""
    package = Path(__file__).resolve().parents[2]
    recorded = [file.parent for file in course.recorded_files().values()]
    wanted = [*map(Path, _SYSTEM), Path(sys.prefix), Path(sys.base_prefix), package, *recorded]
    wanted += [Path(p) for p in sys.path if p and Path(p) != Path.cwd()]
    # The import path may include a checkout with solutions; allow only its forgekit.
    solutions = [*course.exercise_folders().values(), *course.week_folders(package.parent)]
    found: list[str] = []
    for path in sorted({p.absolute() for p in wanted if p.exists()}):
        holds = any(folder.is_relative_to(path.resolve()) for folder in solutions)
        if not holds and not any(path.is_relative_to(known) for known in found):
            found.append(str(path))
    return found


def available() -> str:
    """Return the reason why sandboxes are unavailable here, or "" if they are available."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            enter(Limits(), readable())
            os.write(write, b"ok")
        except OSError as error:
            os.write(write, str(error).encode())
        finally:
            os._exit(0)
    os.close(write)
    os.waitpid(pid, 0)
    with open(read, "rb") as said:
        text = said.read().decode(errors="replace")
    return "" if text == "ok" else text or "no answer"


def enter(limits: Limits, paths: Iterable[str]) -> None:
    """Isolate this process permanently; it must have a single thread. Its children run in a new
    process namespace, so all of them end when the first child ends.

    Raises:
        OSError: the system does not allow it.
    """
    ids = os.getuid(), os.getgid()
    _check(_libc.unshare(_NEW_USER | _NEW_NS | _NEW_PID | _NEW_NET | _NEW_IPC), "unshare")
    Path("/proc/self/setgroups").write_text("deny")
    for name, number in zip(("uid_map", "gid_map"), ids, strict=True):
        Path(f"/proc/self/{name}").write_text(f"{number} {number} 1")
    _mount("", "/", "", _REC | _PRIVATE)
    _new_root(limits, list(paths))


def _new_root(limits: Limits, paths: list[str]) -> None:
    """Build a file system that contains these paths, harmless devices and /tmp, and switch to
    it."""
    root = "/tmp"  # a new file system, mounted over /tmp
    _mount("tmpfs", root, "tmpfs", _NO_SUID_NO_DEV, f"size={limits.files_mib}m,nr_inodes=100k")
    old = f"{root}/old"
    os.mkdir(old)
    links = {p: os.readlink(p) for p in paths if os.path.islink(p)}
    # Paths inside the old /tmp are hidden now, but reachable through the old root after the switch.
    _check(_libc.syscall(_PIVOT_ROOT, root.encode(), old.encode()), "pivot_root")
    os.chdir("/")
    for path in paths:
        if path in links:
            os.symlink(links[path], path)
        else:
            _bind(f"/old{path}", path)
    os.makedirs("/dev/shm", exist_ok=True)
    for device in _DEVICES:
        _bind(f"/old/dev/{device}", f"/dev/{device}", read_only=False)
    for folder in ("/proc", "/tmp", HOME):
        os.makedirs(folder, exist_ok=True)


def seal() -> None:
    """Mount a /proc for this process namespace, unmount the old root, and drop all privileges; the
    first child calls this.

    Raises:
        OSError: the system does not allow it.
    """
    with contextlib.suppress(OSError):  # forbid nested namespaces
        Path("/old/proc/sys/user/max_user_namespaces").write_text("0")
    # Read-only, because root may write to /proc/sys even without capabilities.
    if _libc.mount(b"proc", b"/proc", b"proc", _NO_SUID_NO_DEV | _READ_ONLY, None):
        _bind("/old/proc", "/proc")  # a container does not allow a new mount
    _check(_libc.umount2(b"/old", _DETACH), "umount")
    os.rmdir("/old")
    _drop_capabilities()
    _check(_libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0), "prctl")
    no_hidden_memory()


def limit(limits: Limits) -> None:
    """Set resource limits for this process and its descendants."""
    data = _status("VmData") + (limits.memory_mib << 20)
    for what, most in (
        (resource.RLIMIT_DATA, data), (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, limits.files_mib << 20), (resource.RLIMIT_NOFILE, 512),
    ):  # fmt: skip
        resource.setrlimit(what, (most, most))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def no_hidden_memory() -> None:
    """Deny this process and its descendants the memory that belongs to no process and therefore
    escapes the limits: in-memory files, System V IPC objects, and shared anonymous mappings.

    A system-call filter fails such calls with EPERM, and ends a process that makes a system call
    through another architecture's interface.

    Raises:
        OSError: the system does not allow it.
    """
    native, highest, mmap, *refused = _CALLS
    kill = 8 + len(refused)
    deny, allow = kill + 1, kill + 2
    code = [  # operation, value, jump if true, jump if false
        (_LOAD, 4, 0, 0), (_EQUAL, native, 0, kill),
        (_LOAD, 0, 0, 0), (_ABOVE, highest, kill, 0), *((_EQUAL, n, deny, 0) for n in refused),
        (_EQUAL, mmap, 0, allow), (_LOAD, 40, 0, 0),  # mmap's flags
        (_AND, 0x21, 0, 0), (_EQUAL, 0x21, deny, allow),
        (_RETURN, 0x80000000, 0, 0), (_RETURN, 0x00050001, 0, 0), (_RETURN, 0x7FFF0000, 0, 0),
    ]  # fmt: skip
    lines = [
        struct.pack("HBBI", operation, *(to and to - at - 1 for to in where), value)
        for at, (operation, value, *where) in enumerate(code)
    ]
    held = ctypes.create_string_buffer(b"".join(lines))
    program = struct.pack("HxxxxxxQ", len(code), ctypes.addressof(held))
    _check(_libc.prctl(_SECCOMP, 2, program, 0, 0), "seccomp")


def _bind(source: str, target: str, *, read_only: bool = True) -> None:
    if not os.path.exists(source):
        return
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        Path(target).touch()
    _mount(source, target, "", _BIND | _REC)
    if read_only:
        attributes = (ctypes.c_uint64 * 4)(_READ_ONLY, 0, 0, 0)
        done = _libc.syscall(_MOUNT_SETATTR, _AT_FDCWD, target.encode(), _AT_RECURSIVE,
                             ctypes.byref(attributes), ctypes.sizeof(attributes))  # fmt: skip
        _check(done, f"{target}, read-only")


def _mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    parts = source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags)
    _check(_libc.mount(*parts, options.encode()), f"mount {target}")


def _drop_capabilities() -> None:
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    _check(_libc.syscall(_CAPSET, ctypes.byref(header), ctypes.byref((ctypes.c_uint32 * 6)())),
           "capset")  # fmt: skip


def _check(result: int, what: str) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _status(name: str, pid: int | str = "self") -> int:
    """Return a field of a process's /proc status file, in bytes."""
    with open(f"/proc/{pid}/status") as file:
        return next((int(x.split()[1]) << 10 for x in file if x.startswith(f"{name}:")), 0)


def usage(pid: int, idle: int) -> tuple[int, int]:
    """Return (bytes of memory, number of processes) of a process and its descendants, not counting
    the first `idle` bytes of each process."""
    todo, memory, count = [pid], 0, 0
    while todo:
        one = todo.pop()
        try:
            memory += max(_status("VmRSS", one) - idle, 0)
            for task in os.listdir(f"/proc/{one}/task"):
                below = Path(f"/proc/{one}/task/{task}/children").read_text()
                todo += map(int, below.split())
        except OSError:  # the process has ended
            continue
        count += 1
    return memory, count
