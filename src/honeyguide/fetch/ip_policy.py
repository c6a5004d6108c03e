"""Which network addresses a crawler must not touch, whatever a name or a redirect says."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

_METADATA_ADDRESSES = frozenset(
    map(
        ip_address,
        (
            "169.254.169.254",  # nearly all clouds
            "169.254.170.2",  # Amazon's containers
            "fd00:ec2::254",  # Amazon
            "fd20:ce::254",  # Google
            "168.63.129.16",  # Azure; looks public
            "100.100.100.200",  # Alibaba
            "192.0.0.192",  # Oracle
        ),
    )
)
"""Where a machine in a cloud learns its own secrets: nobody ever wants a page from there."""

_NAMED_NETWORKS: tuple[tuple[IPv4Network | IPv6Network, str], ...] = (
    (IPv4Network("100.64.0.0/10"), "a carrier's shared address"),
    (IPv4Network("192.0.0.0/24"), "a protocol's own address"),
    (IPv4Network("192.88.99.0/24"), "a 6to4 relay address"),
    (IPv6Network("64:ff9b:1::/48"), "a local translator's address"),
    (IPv6Network("3fff::/20"), "an address for documentation"),
    (IPv6Network("fec0::/10"), "a site-local address"),
)
"""What the standard library's properties do not cover, or not in every version we support."""

_NAMED_PROPERTIES = {
    "is_loopback": "a loopback address",
    "is_unspecified": "the unspecified address",
    "is_link_local": "a link-local address",
    "is_multicast": "a multicast address",
    "is_private": "a private address",
    "is_reserved": "a reserved address",
}
"""The standard library's properties of an address that is not public."""
_NAT64 = IPv6Network("64:ff9b::/96")
_IPV4_COMPATIBLE = IPv6Network("::/96")


@lru_cache(maxsize=4096)
def forbidden_reason(ip: str) -> str:
    """Why nobody outside may be sent to this address, in words; '' if it is public.

    >>> forbidden("127.0.0.1")
    'a loopback address'
    """
    try:
        address = ip_address(ip.strip("[]").partition("%")[0])
    except ValueError:
        return "not a network address"
    return _address_reason(address)


@lru_cache(maxsize=4096)
def metadata_reason(ip: str) -> str:
    """The same for cloud metadata addresses only: no setting allows those."""
    try:
        address = ip_address(ip.strip("[]").partition("%")[0])
    except ValueError:
        return ""
    while isinstance(address, IPv6Address) and (inner := _embedded_ipv4(address)) is not None:
        address = inner
    return "a cloud metadata address" if address in _METADATA_ADDRESSES else ""


@lru_cache(maxsize=4096)
def is_loopback_host(host: str) -> bool:
    """Is this host, by name or number, certainly this machine itself?"""
    name = host.strip("[]").rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def _address_reason(address: IPv4Address | IPv6Address) -> str:
    if isinstance(address, IPv6Address) and (inner := _embedded_ipv4(address)) is not None:
        reason = _address_reason(inner)
        return f"{reason} inside an IPv6 address" if reason else ""
    if address in _METADATA_ADDRESSES:
        return "a cloud metadata address"
    for network, reason in _NAMED_NETWORKS:
        if address.version == network.version and address in network:
            return reason
    for name, reason in _NAMED_PROPERTIES.items():
        if getattr(address, name):
            return reason
    return "" if address.is_global else "a reserved address"


def _embedded_ipv4(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that packets to this IPv6 address end up at."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    old = address in _IPV4_COMPATIBLE and int(address) > 1  # not :: and ::1 themselves
    if old or address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return None
