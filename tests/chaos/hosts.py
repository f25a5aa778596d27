"""The hosts of the cluster and the network between them.

    Namespaces   each host is a network namespace with an address of its own; one more is the switch, a bridge. A cable
                 is a veth pair. A cut from A to B: A sends to a hardware address that nobody has, so that packets are
                 lost in silence in that direction only. An unplugged host: its port of the switch is down.
    Loopback     all hosts are this machine. Nothing can be cut.

Whether packets get through is asked with datagrams from socket to socket, one in each namespace.
"""

import ctypes
import os
import shutil
import socket
import time

from cleaning import run

CLONE_NEWNET = 0x40000000
SUBNET = "10.99.0"
NOBODY = "02:99:00:00:ff:ff"
PROBE_PORT = 7999
# Users of the hosts' processes, beyond those that systems give out. So a worker cannot read another's folder by its
# path.
FIRST_USER = 64_001


class Host:
    """A host: its name, its address, its namespace and its user, both None on loopback."""

    def __init__(self, name, number, address, namespace=None):
        self.name = name
        self.number = number
        self.address = address
        self.namespace = namespace
        self.user = None if namespace is None else FIRST_USER + number

    def command(self, *words):
        """The command line that runs `words` on this host."""
        if self.namespace is None:
            return list(words)
        user = str(self.user)
        return ["nsenter", f"--net=/run/netns/{self.namespace}", f"--setuid={user}", f"--setgid={user}", *words]


class Loopback:
    """All hosts on this machine's loopback."""

    kind = "loopback"
    cuts = False

    def __init__(self, names):
        self.hosts = {name: Host(name, number, "127.0.0.1") for number, name in enumerate(names, 1)}

    def port(self, host, wanted):
        """A free port; `wanted` is what a host of its own would use."""
        with socket.socket() as free:
            free.bind((host.address, 0))
            return free.getsockname()[1]

    def close(self):
        pass


class Namespaces:
    """Each host in a network namespace of its own, connected by a switch."""

    kind = "network namespaces"
    cuts = True

    @staticmethod
    def why_not():
        """Why namespaces cannot be made here, or None."""
        if os.geteuid() != 0:
            return "not root"
        for program in ("ip", "nsenter"):
            if shutil.which(program) is None:
                return f"no program {program}"
        name = f"keima-try-{os.getpid()}"
        made = run("ip", "netns", "add", name, check=False)
        try:
            if made.returncode != 0:
                return made.stderr.strip()
            bridge = run("ip", "-n", name, "link", "add", "br0", "type", "bridge", check=False)
            return bridge.stderr.strip() if bridge.returncode != 0 else None
        finally:
            run("ip", "netns", "del", name, check=False)

    def __init__(self, names, prefix):
        self.switch = f"{prefix}switch"
        self.hosts = {}
        self.sockets = {}
        self.token = 0
        run("ip", "netns", "add", self.switch)
        run("ip", "-n", self.switch, "link", "add", "br0", "type", "bridge", "forward_delay", "0")
        run("ip", "-n", self.switch, "link", "set", "br0", "up")
        for number, name in enumerate(names, 1):
            host = Host(name, number, f"{SUBNET}.{number}", f"{prefix}{name}")
            self.hosts[name] = host
            self.plug_in(host)
        for host in self.hosts.values():
            self.sockets[host.name] = self.socket_in(host)

    def plug_in(self, host):
        inside = ("ip", "-n", host.namespace)
        run("ip", "netns", "add", host.namespace)
        run("ip", "-n", self.switch, "link", "add", host.name, "type", "veth", "peer", "name", "eth0", "netns",
            host.namespace)
        run("ip", "-n", self.switch, "link", "set", host.name, "master", "br0", "up")
        run(*inside, "link", "set", "eth0", "address", f"02:99:00:00:00:{host.number:02x}")
        run(*inside, "addr", "add", f"{host.address}/24", "dev", "eth0")
        run(*inside, "link", "set", "lo", "up")
        run(*inside, "link", "set", "eth0", "up")

    def socket_in(self, host):
        """A socket that stays in the host's namespace. This thread goes there and back."""
        libc = ctypes.CDLL(None, use_errno=True)
        with open("/proc/thread-self/ns/net") as here, open(f"/run/netns/{host.namespace}") as there:
            if libc.setns(there.fileno(), CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "setns")
            try:
                made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                made.bind((host.address, PROBE_PORT))
            finally:
                if libc.setns(here.fileno(), CLONE_NEWNET) != 0:
                    os._exit(1)
        return made

    def port(self, host, wanted):
        """A host has all its ports."""
        return wanted

    def reaches(self, a, b, patience=0.15):
        """Whether a datagram gets from host `a` to host `b`."""
        self.token += 1
        token, end = str(self.token).encode(), time.monotonic() + patience
        receiver = self.sockets[b.name]
        try:
            self.sockets[a.name].sendto(token, (b.address, PROBE_PORT))
            while (left := end - time.monotonic()) > 0:
                receiver.settimeout(left)
                if receiver.recv(64) == token:
                    return True
        except OSError:
            pass
        return False

    def cut(self, a, b):
        """Loses what `a` sends to `b`."""
        run("ip", "-n", a.namespace, "neigh", "replace", b.address, "lladdr", NOBODY, "dev", "eth0", "nud", "permanent")

    def heal(self, a, b):
        """Ends `cut`."""
        run("ip", "-n", a.namespace, "neigh", "del", b.address, "dev", "eth0", check=False)

    def unplug(self, host):
        """Takes the host's cable out of the switch."""
        run("ip", "-n", self.switch, "link", "set", host.name, "down")

    def replug(self, host):
        """Ends `unplug`."""
        run("ip", "-n", self.switch, "link", "set", host.name, "up")

    def close(self):
        for one in self.sockets.values():
            one.close()
