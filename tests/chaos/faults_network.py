"""Faults of the network: cut links, both ways and one way, and hosts without a cable."""

from faults import Fault, Missed, kind


def cuts(world):
    return world.network.cuts


def pair(world, rng):
    """Two hosts of which none is unplugged."""
    hosts = [service.host for service in world.all_services()]
    return rng.sample(hosts, 2)


def claims(a, b):
    return [f"link {min(a.name, b.name)} {max(a.name, b.name)}"]


@kind("link cut both ways", 3.5, cuts)
def cut_both(world, rng):
    a, b = pair(world, rng)
    world.must_be_free(claims(a, b))
    network = world.network

    def end():
        network.heal(a, b)
        network.heal(b, a)

    network.cut(a, b)
    network.cut(b, a)
    if network.reaches(a, b, 0.05) or network.reaches(b, a, 0.05):
        end()
        raise Missed("link cut both ways: packets got through")
    return Fault("link cut both ways", f"{a.name} and {b.name}", claims(a, b), rng.uniform(0.3, 6), end,
                 services=world.services_on(a, b))


@kind("link cut one way", 3.5, cuts)
def cut_one_way(world, rng):
    a, b = pair(world, rng)
    world.must_be_free(claims(a, b))
    network = world.network
    network.cut(a, b)
    if network.reaches(a, b, 0.05):
        network.heal(a, b)
        raise Missed("link cut one way: packets got through")
    return Fault("link cut one way", f"{a.name} to {b.name}", claims(a, b), rng.uniform(0.3, 6),
                 lambda: network.heal(a, b), services=world.services_on(a, b))


@kind("host unplugged", 2.5, cuts)
def unplug(world, rng):
    host = rng.choice(world.all_services()).host
    claim = [f"cable {host.name}"]
    world.must_be_free(claim)
    network, other = world.network, world.network.hosts["client"]
    network.unplug(host)
    if network.reaches(other, host, 0.05) or network.reaches(host, other, 0.05):
        network.replug(host)
        raise Missed("host unplugged: packets got through")
    return Fault("host unplugged", host.name, claim, rng.uniform(0.3, 5), lambda: network.replug(host),
                 services=world.services_on(host))
