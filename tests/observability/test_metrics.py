"""The metrics of the program: clean under promtool, documented, and counted by work."""

from conftest import NOT_CAUSED


def test_promtool_accepts_the_metrics(promtool, metrics_text):
    found = promtool("check", "metrics", input=metrics_text)
    assert found.returncode == 0 and not found.stdout, found.stdout


def test_promtool_refuses_broken_metrics(promtool):
    broken = "# TYPE halfspace_requests counter\nhalfspace_requests 1\n"
    found = promtool("check", "metrics", input=broken)
    assert found.returncode != 0 and "_total" in found.stdout and "help" in found.stdout


def test_work_moves_every_documented_metric(exported, documented):
    assert len(documented) > 25
    assert set(documented) - set(exported) == NOT_CAUSED
    assert exported == {name: kind for name, kind in documented.items() if name in exported}
