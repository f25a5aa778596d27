"""The hosts' file systems: one small one each, so that a fault on it hits nobody else.

    Ext4     an image on a loop device. It can be filled, frozen, cut off from power, copied and rolled back
    Tmpfs    memory with a size. It can be filled and copied
    Folder   a folder of the machine's disk. It can be copied

What keima uses is the folder `keima` in it.
"""

import errno
import fcntl
import os
import shutil
import struct
from pathlib import Path

from cleaning import run

# Ends a file system as a power cut does: nothing more is written, not even its journal.
EXT4_SHUTDOWN = 0x8004587D
WITHOUT_FLUSH = 2


class Folder:
    """A plain folder."""

    kind = "plain folders"
    fills = freezes = powers = False

    def __init__(self, host, root, mebibytes):
        self.host = host
        self.point = Path(root) / f"disk-{host.name}"
        self.image = Path(root) / f"disk-{host.name}.image"
        self.kept = Path(root) / f"disk-{host.name}.kept"
        self.mebibytes = mebibytes
        self.folder = self.point / "keima"
        self.point.mkdir()
        self.make()
        self.own()

    def make(self):
        """Makes an empty file system."""

    def own(self):
        """Gives the mount point to the host's user."""
        if self.host.user is not None:
            os.chown(self.point, self.host.user, self.host.user)
            self.point.chmod(0o700)

    def wipe(self):
        """Loses everything. Nobody may use it."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def snapshot(self):
        """Keeps a copy for `roll_back`."""
        shutil.rmtree(self.kept, ignore_errors=True)
        copy_tree(self.folder, self.kept)

    def roll_back(self):
        """Goes back to the snapshot; False where there is none. Nobody may use it."""
        if not self.kept.exists():
            return False
        self.wipe()
        copy_tree(self.kept, self.folder)
        return True

    def copy_to(self, other):
        """Copies the folder, as it is now, to another disk."""
        other.wipe()
        copy_tree(self.folder, other.folder)
        if other.host.user is not None:
            for path in [other.folder, *other.folder.rglob("*")]:
                os.chown(path, other.host.user, other.host.user)


def copy_tree(source, target):
    """Copies a folder from which files may go meanwhile."""
    if Path(source).exists():
        run("cp", "-a", str(source), str(target), check=False)


class Tmpfs(Folder):
    """A file system in memory, with a size."""

    kind = "tmpfs"
    fills = True

    @staticmethod
    def why_not(root):
        """Why this cannot be had, or None."""
        point = Path(root) / "try"
        point.mkdir()
        tried = run("mount", "-t", "tmpfs", "-o", "size=1m", "keima", str(point), check=False)
        if tried.returncode == 0:
            run("umount", str(point))
        point.rmdir()
        return tried.stderr.strip() if tried.returncode != 0 else None

    def make(self):
        run("mount", "-t", "tmpfs", "-o", f"size={self.mebibytes}m", "keima", str(self.point))

    def fill(self):
        """Takes all room that is left; whether there is none now."""
        with open(self.point / "ballast", "ab") as ballast:
            try:
                room = os.statvfs(self.point)
                os.posix_fallocate(ballast.fileno(), 0, max(1, room.f_bavail * room.f_frsize))
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
            ballast.seek(0, os.SEEK_END)
            for size in (1 << 16, 1 << 12):
                while self.takes(ballast.fileno(), size):
                    pass
        return self.is_full()

    @staticmethod
    def takes(file, size):
        """Whether there was room for so many bytes."""
        try:
            return os.write(file, bytes(size)) == size
        except OSError as error:
            if error.errno == errno.ENOSPC:
                return False
            raise

    def is_full(self):
        """Whether nothing can be written."""
        path = self.point / "probe"
        try:
            with open(path, "wb", buffering=0) as probe:
                return not self.takes(probe.fileno(), 1 << 14)
        except OSError as error:
            return error.errno == errno.ENOSPC
        finally:
            path.unlink(missing_ok=True)

    def drain(self):
        """Ends `fill`."""
        (self.point / "ballast").unlink(missing_ok=True)


class Ext4(Tmpfs):
    """An ext4 file system in an image on a loop device."""

    kind = "ext4 images on loop devices"
    freezes = powers = True

    @staticmethod
    def why_not(root):
        """Why this cannot be had, or None."""
        for program in ("mkfs.ext4", "mount", "umount", "fsfreeze"):
            if shutil.which(program) is None:
                return f"no program {program}"
        image, point = Path(root) / "try.image", Path(root) / "try"
        point.mkdir()
        try:
            make_image(image, 4)
            mounted = run("mount", "-o", "loop", str(image), str(point), check=False)
            if mounted.returncode == 0:
                run("umount", str(point))
            return mounted.stderr.strip() if mounted.returncode != 0 else None
        except OSError as error:
            return str(error)
        finally:
            point.rmdir()
            image.unlink(missing_ok=True)

    def make(self):
        make_image(self.image, self.mebibytes)
        self.mount()

    def mount(self):
        run("mount", "-o", "loop", str(self.image), str(self.point))

    def umount(self):
        run("umount", str(self.point))

    def wipe(self):
        self.umount()
        make_image(self.image, self.mebibytes)
        self.mount()
        self.own()

    def snapshot(self):
        self.freeze()
        try:
            copy_image(self.image, self.kept)
        finally:
            self.thaw()

    def roll_back(self):
        if not self.kept.exists():
            return False
        self.umount()
        copy_image(self.kept, self.image)
        self.mount()
        self.drain()
        return True

    def freeze(self):
        """Makes whoever writes wait."""
        run("fsfreeze", "-f", str(self.point))

    def thaw(self):
        """Ends `freeze`."""
        run("fsfreeze", "-u", str(self.point), check=False)

    def cut_power(self):
        """Loses what was not on the device; whether every write fails from now on."""
        folder = os.open(self.point, os.O_RDONLY)
        try:
            fcntl.ioctl(folder, EXT4_SHUTDOWN, struct.pack("I", WITHOUT_FLUSH))
        finally:
            os.close(folder)
        try:
            (self.point / "probe").write_bytes(b"lost")
        except OSError as error:
            return error.errno == errno.EIO
        return False

    def restore_power(self):
        """Mounts again what reached the device. Nobody may use it."""
        self.umount()
        self.mount()
        self.drain()


def make_image(image, mebibytes):
    """An image with an empty ext4 without reserved blocks."""
    image.unlink(missing_ok=True)
    with open(image, "wb") as file:
        file.truncate(mebibytes << 20)
    run("mkfs.ext4", "-q", "-m", "0", "-O", "^resize_inode", str(image))


def copy_image(source, target):
    run("cp", "--sparse=always", str(source), str(target))


def best(root):
    """The best kind of file system that this machine allows, and why not the better ones."""
    refused = []
    for kind in (Ext4, Tmpfs):
        why = kind.why_not(root)
        if why is None:
            return kind, refused
        refused.append(f"no {kind.kind}: {why}")
    return Folder, refused
