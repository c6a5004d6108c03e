from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from honeyguide.errors import ClusterError, ConfigError, StorageUnreachable

pytest.importorskip("obstore", reason="needs the extra: pip install 'honeyguide[cluster]'")
server = pytest.importorskip("moto.server", reason="needs a local S3: pip install 'moto[server]'")

from honeyguide.cluster import bucket  # noqa: E402
from honeyguide.cluster.object_store import ObjectStore  # noqa: E402
from honeyguide.cluster.replicator import (  # noqa: E402
    ShardReplicator,
    open_object_store,
    rebuild_database,
)
from tests.unit.vaults import dump, opened, put, saved  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
SECRET = "a-secret-that-nobody-may-see"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    running = server.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    yield f"http://{host}:{port}"
    running.stop()


@pytest.fixture
def place(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    import boto3

    s3 = boto3.client("s3", endpoint_url=endpoint)
    s3.create_bucket(Bucket="crawls")
    for each in s3.list_objects_v2(Bucket="crawls").get("Contents", []):
        s3.delete_object(Bucket="crawls", Key=each["Key"])
    return open_object_store("s3://crawls/birds/north")


def test_what_is_made_is_never_made_again(place: ObjectStore) -> None:
    assert place.create("shard-0001/log/1", b"first")
    assert not place.create("shard-0001/log/1", b"second")
    assert place.read("shard-0001/log/1") == b"first"
    assert place.read("shard-0001/log/2") is None
    assert place.create("shard-0001/log/0", b"")
    assert place.create("shard-00012/log/0", b"")
    assert place.list_names("shard-0001/log/") == ["shard-0001/log/0", "shard-0001/log/1"]
    place.delete("shard-0001/log/1")
    place.delete("shard-0001/log/1")
    assert place.list_names("shard-0001/") == ["shard-0001/log/0"]
    assert place.list_names("none/") == []
    with pytest.raises(ClusterError, match="no name"):
        place.read("../x")


@pytest.mark.parametrize("at_once", [64_000_000, 1_000_000])
def test_large_files(
    place: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(bucket, "_AT_ONCE", at_once)
    path = tmp_path / "a.warc.gz"
    path.write_bytes(os.urandom(12_000_000))
    assert place.upload("warc/a.warc.gz", path)
    other = tmp_path / "b"
    other.write_bytes(b"x" * 2_000_000)
    assert not place.upload("warc/a.warc.gz", other)
    assert b"".join(place.read_chunks("warc/a.warc.gz") or ()) == path.read_bytes()
    assert place.read_chunks("warc/b") is None
    assert place.list_names("warc/") == ["warc/a.warc.gz"]


def test_a_shard_lives_in_it(place: ObjectStore, tmp_path: Path) -> None:
    first = ShardReplicator.claim(place, 0, "first")
    with opened(tmp_path / "a") as database:
        for key in "abc":
            put(database, key, 10_000)
            first.save(database)
        first.release_shard(database)
        told = dump(database)
    assert ShardReplicator.claim(place, 0, "second").owner.seconds_left()
    rebuild_database(place, 0, tmp_path / "b")
    assert saved(tmp_path / "b") == told


def test_failures_are_told_in_our_words(
    place: ObjectStore, endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match="no bucket"):
        open_object_store("s3://nowhere/x")
    with pytest.raises(ConfigError, match="cannot be used"):
        open_object_store("s3://")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(StorageUnreachable) as caught:
        open_object_store("s3://crawls/x")
    assert SECRET not in repr(caught.value) + repr(place) + str(caught.value.__cause__)
