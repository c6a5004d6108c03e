from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.fetch.ip_policy import forbidden_reason, is_loopback_host, metadata_reason


@pytest.mark.parametrize(
    "ip",
    [
        "127.0.0.1", "127.255.0.9", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1",
        "172.31.255.255", "192.168.1.1", "169.254.1.1", "169.254.169.254", "100.64.0.1",
        "100.127.255.255", "192.0.0.1", "192.0.2.1", "198.18.0.1", "198.51.100.7",
        "203.0.113.1", "192.88.99.1", "224.0.0.1", "239.1.1.1", "240.0.0.1",
        "255.255.255.255", "::", "::1", "[::1]", "fe80::1", "fe80::1%eth0", "fec0::1", "fc00::1",
        "fd00:ec2::254", "ff02::1", "2001:db8::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
        "::127.0.0.1", "2002:7f00:1::", "2002:a00:1::1", "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe", "64:ff9b:1::a00:1", "64:ff9b:1::808:808", "64:ff9b:1:ffff::1",
        "168.63.129.16", "192.0.0.9", "192.0.0.192", "3fff::1", "3fff:fff::1", "100.100.100.200",
        "2001:0:0:0:0:0:80ff:fffe", "nonsense", "",
    ],
)  # fmt: skip
def test_forbidden(ip: str) -> None:
    assert forbidden_reason(ip)


@pytest.mark.parametrize(
    "ip",
    [
        "8.8.8.8", "1.1.1.1", "93.184.216.34", "100.63.255.255", "100.128.0.1", "172.15.0.1",
        "172.32.0.1", "2606:4700:4700::1111", "2a00:1450:4001:81b::200e", "::ffff:8.8.8.8",
        "64:ff9b::808:808", "2002:808:808::1",
    ],
)  # fmt: skip
def test_public(ip: str) -> None:
    assert forbidden_reason(ip) == ""


@pytest.mark.parametrize(
    "ip",
    [
        "169.254.169.254", "[fd00:ec2::254]", "168.63.129.16", "100.100.100.200", "fd20:ce::254",
        "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1", "::169.254.169.254",
    ],
)  # fmt: skip
def test_metadata(ip: str) -> None:
    assert metadata_reason(ip) == "a cloud metadata address"
    assert forbidden_reason(ip).startswith("a cloud metadata address")


@pytest.mark.parametrize("ip", ["127.0.0.1", "10.0.0.1", "8.8.8.8", "::1", "nonsense", "fd00::1"])
def test_not_metadata(ip: str) -> None:
    assert metadata_reason(ip) == ""


def test_the_reason_is_said() -> None:
    assert forbidden_reason("169.254.169.254") == "a cloud metadata address"
    assert forbidden_reason("::ffff:127.0.0.1") == "a loopback address inside an IPv6 address"


@given(st.ip_addresses(v=4))
def test_an_address_inside_ipv6_is_as_forbidden_as_itself(inner: IPv4Address) -> None:
    bare = bool(forbidden_reason(str(inner)))
    for prefix in ("::ffff:0:0", "64:ff9b::"):
        outer = IPv6Address(int(IPv6Address(prefix)) | int(inner))
        assert bool(forbidden_reason(str(outer))) == bare


@pytest.mark.parametrize(
    "name", ["localhost", "LOCALHOST.", "a.localhost", "127.9.9.9", "[::1]", "::1"]
)
def test_loopback(name: str) -> None:
    assert is_loopback_host(name)


@pytest.mark.parametrize("name", ["localhost.example", "128.0.0.1", "10.0.0.1", "", "notlocalhost"])
def test_not_loopback(name: str) -> None:
    assert not is_loopback_host(name)
