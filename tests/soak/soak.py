"""Soaks the service: a mixed load over all routes while processes are killed, with a report at the end.

The report has the times of each route, the refusals, the errors, and the growth of each process. The exit status is 1
after an error, a growth above the tolerance, a route without a request, or a run without preemptions.
"""

import argparse
import asyncio
import csv
import os
import pathlib
import random
import statistics
import sys
import time

import aiohttp

import work
from client import Broken, Client, Counts
from fleet import Fleet, Life

SAMPLE_SECONDS = 10
CLIENTS = 6
LONG_JOBS = 3
# A task that does not end by itself after the load is an error.
LAST_TASKS_SECONDS_MAX = 300
# Growth of a fitted line over the measured time. A sixth of the time comes before.
TOLERANCES = {"resident": 32 << 20, "allocated": 8 << 20, "handles": 10}


async def clients_until(end: float, client: Client, tasks) -> None:
    functions, shares = zip(*tasks)
    while time.monotonic() < end:
        [task] = client.chance.choices(functions, shares)
        try:
            await task(client)
        except Broken:
            pass
        except Exception as error:  # An answer of another shape is a finding, and the load goes on.
            client.counts.errors.append(f"{task.__name__}: {error!r}")


async def watch(fleet: Fleet, http, end: float) -> None:
    while time.monotonic() < end:
        for member in fleet.members:
            await fleet.sample(http, member)
        await asyncio.sleep(SAMPLE_SECONDS)


async def soak(options, directory: pathlib.Path):
    chance = random.Random(options.seed)
    # The program refuses variables that are not its settings.
    fleet = Fleet(options.program, os.environ.pop("HALFSPACE_TEST_POSTGRES"), directory)
    counts = Counts()
    # The time for which a connection stays open is shorter than that of the service.
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=5)
    async with aiohttp.ClientSession(connector=connector) as http:
        try:
            secrets = [await fleet.create_key(name) for name in ("ada", "ben")]
            await fleet.start()
            fleet.begun = time.monotonic()
            seconds = options.minutes * 60
            end = fleet.begun + seconds
            async with http.get(fleet.apis[0].address + "/openapi.json") as answer:
                document = await answer.json()
            tasks = [*work.SHARES, (work.reading(document), 10)]
            background = [
                asyncio.create_task(fleet.keep_killing(random.Random(options.seed), seconds / 6)),
                asyncio.create_task(watch(fleet, http, end)),
            ]

            def client(number: int) -> Client:
                own = random.Random(chance.getrandbits(64))
                return Client(http, fleet, secrets[number % len(secrets)], counts, own)

            loads = [clients_until(end, client(number), tasks) for number in range(CLIENTS)]
            # The long jobs belong to both keys.
            loads += [clients_until(end, client(number), [(work.long_job, 1)]) for number in range(LONG_JOBS)]
            load = asyncio.ensure_future(asyncio.gather(*loads))
            await asyncio.wait([load, *background], timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
            await until_ended(load, counts)
            for task in background:
                task.cancel()
            for result in await asyncio.gather(*background, return_exceptions=True):
                if isinstance(result, Exception):
                    counts.errors.append(f"in the background: {result!r}")
            counts.errors += fleet.unexpected_ends()
        finally:
            await fleet.stop()
    return fleet, counts, document


async def until_ended(load, counts: Counts) -> None:
    try:
        await asyncio.wait_for(load, LAST_TASKS_SECONDS_MAX)
    except asyncio.TimeoutError:
        counts.errors.append(f"a task did not end {LAST_TASKS_SECONDS_MAX} s after the load")


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]


def routes_table(counts: Counts) -> list[str]:
    lines = [f"{'route':58} {'answers':>8} {'p50 ms':>8} {'p99 ms':>9} {'refused':>8} {'lost':>5}"]
    for name, seconds in sorted(counts.seconds.items(), key=lambda item: item[0].split()[::-1]):
        refused = sum(count for (route, _), count in counts.refusals.items() if route == name)
        times = f"{1000 * statistics.median(seconds):8.1f} {1000 * percentile(seconds, 0.99):9.1f}"
        lines.append(f"{name:58} {len(seconds):8} {times} {refused:8} {counts.lost[name]:5}")
    total = sum(map(len, counts.seconds.values()))
    codes = {code for _, code in counts.refusals}
    by_code = {code: sum(n for (_, each), n in counts.refusals.items() if each == code) for code in sorted(codes)}
    lines.append(f"{total} answers, {counts.lost.total()} requests lost to kills and repeated, refusals: {by_code}")
    return lines


def fitted_growth(times: list[float], values: list[float]) -> float:
    """Growth of the least-squares line from the first to the last sample."""
    return statistics.linear_regression(times, values).slope * (times[-1] - times[0])


def growth_table(lives: list[Life], seconds: float) -> tuple[list[str], list[str]]:
    """The growth of each life that covers at least half of the measured time, which begins after a sixth."""
    lines = [f"{'process':12} {'seconds':>8} {'resident MiB':>18} {'allocated MiB':>18} {'handles':>14}"]
    faults, judged = [], 0
    for life in lives:
        samples = [sample for sample in life.samples if sample.seconds >= seconds / 6]
        if len(samples) < 4 or samples[-1].seconds - samples[0].seconds < seconds * 5 / 12:
            continue
        judged += 1
        times = [sample.seconds for sample in samples]
        series = {
            "resident": [sample.resident for sample in samples],
            "allocated": [sample.metrics["halfspace_memory_allocated_bytes"] for sample in samples],
            "handles": [sample.handles for sample in samples],
        }
        cells = []
        for name, values in series.items():
            growth = fitted_growth(times, values)
            unit = 1 if name == "handles" else 1 << 20
            cells.append(f"{statistics.median(values) / unit:8.1f} {growth / unit:+8.1f}")
            if growth > TOLERANCES[name]:
                faults.append(f"{life.name}: {name} grew by {growth / unit:.1f}")
        span = f"{times[-1] - times[0]:8.0f}"
        lines.append(f"{life.name:12} {span} {cells[0]:>18} {cells[1]:>18} {cells[2]:>14}")
    lines.append(f"Each cell has the median and the fitted growth. {len(lives)} processes lived in all.")
    if judged < 2:
        faults.append("too few samples: no api and worker lived long enough")
    return lines, faults


def of_counter(lives: list[Life], name: str) -> float:
    """The last value in each life. Events between the last sample and a kill are missing."""
    return sum(life.samples[-1].metrics[name] for life in lives if life.samples)


def judge(options, fleet: Fleet, counts: Counts, document: dict, directory: pathlib.Path) -> bool:
    lives = [life for member in fleet.members for life in member.lives]
    growth, faults = growth_table(lives, options.minutes * 60)
    preempted = of_counter(lives, "halfspace_preemptions_total")
    kills = sum(len(member.lives) - 1 for member in fleet.members)
    if not preempted:
        faults.append("no job was preempted")
    wanted = {
        f"{method.upper()} {route}"
        for route, operations in document["paths"].items()
        for method in operations
        if method in {"get", "post", "delete", "put", "patch"}
    }
    if missing := sorted(wanted - counts.seconds.keys()):
        faults.append(f"routes without a request: {', '.join(missing)}")
    for member in fleet.members:
        log = (directory / f"{member.name.replace(' ', '-')}.log").read_text(errors="replace")
        if "panicked" in log or " ERROR " in log:
            faults.append(f"{member.name} logged an error")
    faults += [f"error: {text}" for text in counts.errors[:50]]
    lines = [*routes_table(counts), "", *growth, ""]
    lines.append(f"{kills} kills, {parked:.0f} jobs parked, {preempted:.0f} of them returned to the queue")
    lines.append(f"{len(counts.errors)} errors")
    lines += faults or [f"passed: {options.minutes:g} minutes with seed {options.seed}"]
    print("\n".join(lines))
    (directory / "report.txt").write_text("\n".join(lines) + "\n")
    write_samples(lives, directory / "samples.csv")
    return not faults


def write_samples(lives: list[Life], path: pathlib.Path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["process", "life", "seconds", "resident_bytes", "allocated_bytes", "handles"])
        for life in lives:
            for sample in life.samples:
                allocated = int(sample.metrics["halfspace_memory_allocated_bytes"])
                row = [f"{sample.seconds:.1f}", sample.resident, allocated, sample.handles]
                writer.writerow([life.name, life.number, *row])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--program", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--directory", type=pathlib.Path, required=True)
    options = parser.parse_args()
    options.directory.mkdir(parents=True)
    fleet, counts, document = asyncio.run(soak(options, options.directory))
    sys.exit(not judge(options, fleet, counts, document, options.directory))


main()
