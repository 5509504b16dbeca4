"""Crawlers in Java: Maven copies their files from Maven Central, and asks no other server."""

from __future__ import annotations

from pathlib import Path

from benchmarks.peers.peer import need, step

JAVA = ["java", "-Xmx1g"]
SETTINGS = """<settings><mirrors><mirror>
<id>central-only</id><mirrorOf>*</mirrorOf><url>https://repo.maven.apache.org/maven2</url>
</mirror></mirrors></settings>
"""
PROJECT = """<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion>
<groupId>peer</groupId><artifactId>peer</artifactId><version>1</version><packaging>pom</packaging>
<dependencies>{}</dependencies>
</project>
"""


def maven(folder: Path, goal: str, *options: str, dependencies: str = "") -> None:
    """Run one goal of the dependency plugin in a folder. Raise Missing if it fails."""
    need("java", "mvn")
    (folder / "settings.xml").write_text(SETTINGS)
    (folder / "pom.xml").write_text(PROJECT.format(dependencies))
    step(folder, "mvn", "-s", "settings.xml", "-q", "-B", f"dependency:{goal}", *options)
