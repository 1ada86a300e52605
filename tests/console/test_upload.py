"""The upload of a large file: progress, bounded memory of the browser, and a way to stop."""

import re
import struct
from pathlib import Path

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.long

ROWS, FEATURES = 1_000_000, 1_000
GROWTH_BYTES_MAX = 200 * 2**20


@pytest.fixture(scope="module")
def large_file(tmp_path_factory) -> Path:
    """A matrix of 1 GB in the format of NumPy. The file system stores only its head, since all values are 0."""
    path = tmp_path_factory.mktemp("large") / "large.npy"
    head = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({ROWS}, {FEATURES}), }}"
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    with path.open("wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        file.truncate(file.tell() + ROWS * FEATURES)
    return path


def resident_bytes(session) -> int:
    """Memory of all processes of the browser."""
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    status = [Path(f"/proc/{process['id']}/status") for process in processes]
    found = [re.search(r"VmRSS:\s+(\d+) kB", path.read_text()) for path in status if path.exists()]
    return sum(1024 * int(size.group(1)) for size in found if size)


def choose(page, file):
    page.goto("/#/data/new?labels=none")
    page.get_by_label("Drop a file anywhere on this page").set_input_files(file)
    expect(page.get_by_role("heading", name="large.npy")).to_be_visible()
    store = page.get_by_role("button", name="Store 954 MiB")
    expect(store).to_be_enabled()
    return store


# Waits until the page tells another share of the upload, or shows the stored dataset.
NEXT = """last => {
    if (/#\\/data\\/ds_/.test(location.hash)) return "stored";
    const told = /\\((\\d+) %\\)|All .* are sent/.exec(document.querySelector("main").innerText);
    return told && told[0] !== last ? told[0] : false;
}"""


def test_a_file_of_1_gb_is_uploaded_with_progress_and_bounded_memory(page, browser, service, large_file):
    session = browser.new_browser_cdp_session()
    store = choose(page, large_file)
    before = resident_bytes(session)
    store.click()
    told, peak = "", before
    shares = []
    while told != "stored":
        told = page.wait_for_function(NEXT, arg=told, timeout=300_000).json_value()
        peak = max(peak, resident_bytes(session))
        shares.extend(int(share) for share in re.findall(r"\((\d+) %\)", told))
    assert shares == sorted(shares) and len(set(shares)) > 5, f"the progress was {shares}"
    assert peak - before < GROWTH_BYTES_MAX, f"the browser grew by {(peak - before) // 2**20} MiB"
    dataset = service.get(f"/v1/datasets/{page.url.rsplit('/', 1)[1]}")
    assert (dataset["examples"], dataset["n"]) == (ROWS, FEATURES)
    expect(page.get_by_text("1,000,000").first).to_be_visible()


@pytest.mark.faults
def test_an_upload_is_stopped_and_repeated(page, service, large_file):
    known = len(service.get("/v1/datasets")["items"])
    store = choose(page, large_file)
    store.click()
    expect(page.get_by_role("progressbar", name="Upload")).to_be_visible()
    page.get_by_role("button", name="Cancel the upload").click()
    expect(store).to_be_enabled()
    assert len(service.get("/v1/datasets")["items"]) == known
