"""Processes of the service over one store: their start, their kills, and samples of their memory and file handles.

Each process is a child of this program and ends with it. Kills go to the process ids of these children only.
"""

import asyncio
import ctypes
import dataclasses
import os
import pathlib
import random
import re
import signal
import time

import aiohttp

# Short leases, so that a killed worker's jobs and a killed process's sessions go on soon.
SETTINGS = ["--lease-seconds", "5", "--checkpoint-seconds", "2", "--workers", "1", "--attempts-max", "1000"]
SETTINGS += ["--memory-bytes-max", str(1 << 30), "--log", "warn"]
START_SECONDS_MAX = 120
# Gauges and counters that samples take from `/metrics`.
METRICS = ["halfspace_memory_allocated_bytes", "halfspace_preemptions_total"]


@dataclasses.dataclass
class Sample:
    seconds: float
    resident: int
    handles: int
    metrics: dict[str, float]


@dataclasses.dataclass
class Life:
    """One process from its start to its end."""

    name: str
    number: int
    samples: list[Sample] = dataclasses.field(default_factory=list)


class Member:
    """A place in the fleet. After a kill the next process of the same role takes the place."""

    def __init__(self, role: str, number: int) -> None:
        self.role = role
        self.name = f"{role} {number}"
        self.process: asyncio.subprocess.Process | None = None
        # The address of a killed process stays, so that clients find it closed.
        self.address = ""
        self.is_up = False
        # The count of kills and starts. A request that met one of them may be lost.
        self.changes = 0
        self.lives: list[Life] = []


class Fleet:
    def __init__(self, program: str, database_url: str, directory: pathlib.Path) -> None:
        self.program = program
        self.directory = directory
        self.store = ["--database-url", database_url, "--data-dir", str(directory / "data")]
        self.members = [Member(role, number) for role in ("api", "worker") for number in (1, 2)]
        self.begun = time.monotonic()

    @property
    def apis(self) -> list[Member]:
        return [member for member in self.members if member.role == "api"]

    async def start(self) -> None:
        for member in self.members:
            await self.launch(member)

    async def launch(self, member: Member) -> None:
        log = open(self.directory / f"{member.name.replace(' ', '-')}.log", "ab")
        command = [self.program, "serve", "--listen", "127.0.0.1:0", "--role", member.role, *self.store, *SETTINGS]
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
            preexec_fn=end_with_parent,
        )
        log.close()
        # From here on `stop` ends the process, also if the process says nothing.
        member.process = process
        assert process.stdout is not None
        banner = (await asyncio.wait_for(process.stdout.readline(), START_SECONDS_MAX)).decode()
        found = re.search(r"http://\S+:\d+", banner)
        if found is None:
            raise RuntimeError(f"{member.name} did not start: see its log in {self.directory}")
        member.address = found.group()
        member.changes += 1
        member.is_up = True
        member.lives.append(Life(member.name, len(member.lives) + 1))

    async def kill(self, member: Member) -> None:
        process, member.process = member.process, None
        # Requests to this process are lost from now on.
        member.changes += 1
        member.is_up = False
        if process is not None and process.returncode is None:
            process.kill()
            await process.wait()

    async def keep_killing(self, chance: random.Random, everyone_until: float) -> None:
        """Kills a process every 20 seconds or so. Later, only the second process of each role is killed, so the first
        ones live long enough to show a growth."""
        while True:
            await asyncio.sleep(chance.uniform(15, 25))
            is_early = time.monotonic() - self.begun < everyone_until
            victim = chance.choice(self.members if is_early else self.members[1::2])
            await self.kill(victim)
            await asyncio.sleep(chance.uniform(0, 3))
            await self.launch(victim)

    def lost(self, member: Member, changes: int) -> bool:
        """Whether a request to the process was lost to a kill. `changes` is the count from before the request."""
        return member.changes != changes or not member.is_up

    def unexpected_ends(self) -> list[str]:
        ended = (m for m in self.members if m.process is not None and m.process.returncode is not None)
        return [f"{member.name} ended by itself with status {member.process.returncode}" for member in ended]

    async def sample(self, http, member: Member) -> None:
        process, changes = member.process, member.changes
        if not member.is_up:
            return
        life = member.lives[-1]
        try:
            async with http.get(member.address + "/metrics") as answer:
                text = await answer.text()
            status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            handles = len(os.listdir(f"/proc/{process.pid}/fd"))
        except (OSError, aiohttp.ClientError, asyncio.TimeoutError):
            if self.lost(member, changes):
                return
            raise
        resident = re.search(r"^VmRSS:\s+(\d+) kB", status, re.M)
        if resident is None or self.lost(member, changes):
            return
        metrics = {
            name: sum(float(value) for value in re.findall(rf"^{name}(?:{{.*}})? (\S+)$", text, re.M))
            for name in METRICS
        }
        at = time.monotonic() - self.begun
        life.samples.append(Sample(at, int(resident.group(1)) * 1024, handles, metrics))

    async def stop(self) -> None:
        for member in self.members:
            await self.kill(member)

    async def create_key(self, name: str) -> str:
        process = await asyncio.create_subprocess_exec(
            self.program, "keys", "create", "--name", name, *self.store, stdout=asyncio.subprocess.PIPE
        )
        output, _ = await process.communicate()
        found = re.search(r"hsk_\S+", output.decode())
        if found is None:
            raise RuntimeError(f"no key in {output!r}")
        return found.group()


def end_with_parent() -> None:
    """The kernel kills the child when this program ends for any reason (prctl, PR_SET_PDEATHSIG)."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
