"""The short script and the notebook of `examples`, run as they are."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import halfspace
import nbclient
import nbformat
import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "walks.csv").write_bytes((EXAMPLES / "walks.csv").read_bytes())
    return tmp_path


def test_ten_lines_lead_from_a_frame_to_a_model_on_any_service(client: halfspace.Client, directory: Path) -> None:
    here = (EXAMPLES / "walks.py").read_text()
    assert here.count("\n") == 10
    remote = here.replace("halfspace.local()", f"halfspace.connect({client.address!r})")
    outputs = []
    for script in (here, remote):
        run = subprocess.run([sys.executable, "-c", script], cwd=directory, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        assert (directory / "mistakes.png").stat().st_size > 10_000
        (directory / "mistakes.png").unlink()
        outputs.append(run.stdout)
    assert outputs[0] == outputs[1]
    assert "52 mistakes in 5 passes\n['yes', 'yes', 'yes']\nWith confidence 0.95" in outputs[0]


def test_the_notebook_runs(directory: Path) -> None:
    book: Any = nbformat.read(EXAMPLES / "walks.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    nbclient.NotebookClient(book, timeout=120, resources={"metadata": {"path": str(directory)}}).execute()
    outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    kinds = [kind for output in outputs for kind in output.get("data", {})]
    assert kinds.count("text/html") == 4, "a frame, a job, a model and a comparison"
    assert kinds.count("image/png") == 1
    texts = "".join(output.get("text", "") for output in outputs)
    assert "test-set - With confidence 0.95" in texts
    assert not [output for output in outputs if output.output_type == "error" or output.get("name") == "stderr"]
