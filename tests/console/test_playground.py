"""The page Playground: the answers are those of the session, the URL holds the state, and the page survives its faults."""

import csv
import io
import json
import re
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Locator, Page, expect

MARKUP = "<img src=x onerror=alert(1)>"


def place(**query) -> str:
    return "/#/playground?" + urlencode({name.replace("__", "."): value for name, value in query.items()})


def drawn(**query) -> str:
    """A perceptron on drawn examples, with other parts of the query as given."""
    return place(**{"learner": "perceptron", "from": "generated", "g__n": 15, "g__target": "binary_weights", "g__sampling": "uniform",
                    "g__count": 1000, **query})


def panel(page: Page, title: str):
    return page.get_by_role("region", name=title, exact=True)


def fact(page: Page, name: str):
    return page.locator("dl.facts > div", has=page.locator("dt", has_text=re.compile(f"^{re.escape(name)}$"))).locator("dd").first


def at(page: Page, position: int) -> None:
    """Waits until the run rests at a position."""
    expect(page.locator("[data-position]")).to_have_attribute("data-position", str(position))
    expect(page.get_by_role("button", name="Step", exact=True)).to_be_visible()


def ready(page: Page) -> None:
    expect(page.get_by_role("button", name="Restart", exact=True)).to_have_attribute("aria-disabled", "false")


def go_to(page: Page, position: int) -> None:
    ready(page)
    page.get_by_label("Position to go to").fill(str(position))
    page.get_by_label("Position to go to").press("Enter")
    at(page, position)
    ready(page)


def session_id(page: Page) -> str:
    return fact(page, "Session").inner_text()


def answers(page: Page) -> list[dict]:
    with page.expect_download() as download:
        page.get_by_role("button", name="Download answers as CSV").click()
    return list(csv.DictReader(io.StringIO(download.value.path().read_text())))


def api_answers(service, request: dict, dataset: str, count: int) -> list[dict]:
    """The answers of a session that this test drives by itself, one batch after the other."""
    session = service.post("/v1/sessions", request)["id"]
    found: list[dict] = []
    while len(found) < count:
        items = service.get(f"/v1/datasets/{dataset}/examples?offset={len(found)}&limit={min(700, count - len(found))}")["items"]
        found += service.post(f"/v1/sessions/{session}/examples", {"labelled": {"examples": items}})["answers"]
    return found


LEARNERS = ["perceptron", "winnow", "directed-drift"]


@pytest.mark.parametrize("count", [1000, pytest.param(10_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("learner", LEARNERS)
def test_playground_shows_the_answers_of_the_session(page, service, learner, count):
    data = {"n": 15, "target": {"binary_weights": {}}, "sampling": "uniform", "count": count, "noise": 0.1}
    dataset = service.post("/v1/datasets", {"data": {"generated": data}, "seed": 5})["id"]
    page.goto(place(learner=learner, seed=7, dataset=dataset, speed="full", stop__max_examples=count))
    ready(page)
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.get_by_text("has ended: limit")).to_be_visible(timeout=60_000 if count == 1000 else 600_000)
    at(page, count)
    request = {"learner": {"name": learner}, "n": 15, "seed": 7}
    expected = [(answer["position"], answer["prediction"], answer["mistake"]) for answer in api_answers(service, request, dataset, count)]
    shown = [(int(row["position"]), int(row["prediction"]), row["mistake"] == "true") for row in answers(page)]
    assert shown == expected
    assert any(mistake for _, _, mistake in shown)


def test_an_example_run_is_one_click_away(page, see):
    page.goto("/#/playground")
    see("playground-start")
    page.get_by_role("link", name="Perceptron on 20 points of the plane").click()
    at(page, 0)
    ready(page)
    page.get_by_role("button", name="Step", exact=True).click()
    at(page, 1)
    go_to(page, 3)
    page.get_by_role("button", name="Compute the bound").click()
    expect(page.get_by_text("Novikoff's bound: 68.88.")).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("The plane with 20 points"))).to_be_visible()
    see("playground-plane")
    panel(page, "Plane").get_by_role("button", name="Table").click()
    expect(panel(page, "Plane").get_by_role("row")).to_have_count(21)
    panel(page, "Plane").get_by_role("button", name="Table").click()
    with page.expect_download() as download:
        panel(page, "Plane").get_by_role("button", name="SVG").click()
    assert "var(" not in download.value.path().read_text()
    go_to(page, 20)
    expect(page.get_by_text("The data begin again.")).to_be_visible()
    page.get_by_role("button", name="Step", exact=True).click()
    expect(page.get_by_text("of pass 2 over 20 examples")).to_be_visible()


def test_the_prediction_comes_before_the_example_is_learnt(page, service):
    page.goto(drawn(seed=3))
    at(page, 0)
    ready(page)
    told = []
    for position in range(1, 7):
        told.append(page.locator(".predictions td strong").inner_text().replace("−", "-"))
        assert service.get(f"/v1/sessions/{session_id(page)}")["position"] == position - 1
        page.get_by_role("button", name="Step", exact=True).click()
        at(page, position)
        ready(page)
    assert [int(text) for text in told] == [int(row["prediction"]) for row in answers(page)]


def test_a_reload_goes_on_at_the_same_position_with_the_same_session(page, service):
    page.goto(drawn(seed=11))
    go_to(page, 17)
    session, mistakes = session_id(page), fact(page, "Mistakes").inner_text()
    page.reload()
    at(page, 17)
    ready(page)
    assert session_id(page) == session
    expect(fact(page, "Mistakes")).to_have_text(mistakes)
    page.get_by_label("Speed").select_option("full")
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.locator("[data-position='17']")).to_have_count(0)
    page.reload()
    ready(page)
    position = int(page.locator("[data-position]").get_attribute("data-position") or 0)
    assert position > 17
    assert service.get(f"/v1/sessions/{session_id(page)}")["position"] == position
    assert [int(row["position"]) for row in answers(page)] == list(range(1, position + 1))


def test_a_link_shows_the_same_state_to_others(page, browser, service):
    page.goto(place(**{"learner": "directed-drift", "from": "generated", "g__n": 15, "g__target": "binary_weights", "g__sampling": "uniform-positive",
                       "g__count": 500, "assume": "uniform-positive"}))
    go_to(page, 40)
    expect(page).to_have_url(re.compile(r"at=40"))
    texts = lambda of: [panel(of, "Hypothesis").inner_text(), fact(of, "Mistakes").inner_text(), panel(of, "Next example").inner_text()]
    context = browser.new_context(base_url=service.address)
    other = context.new_page()
    other.goto(page.url)
    at(other, 40)
    ready(other)
    ready(page)
    assert texts(other) == texts(page)
    assert session_id(other) != session_id(page)
    assert fact(other, "Data").get_by_role("link").get_attribute("href") == fact(page, "Data").get_by_role("link").get_attribute("href")
    context.close()


def test_back_and_restart_replay_in_a_new_session(page, service):
    page.goto(drawn(seed=4))
    go_to(page, 30)
    first, rows = session_id(page), answers(page)
    page.get_by_role("button", name="Back", exact=True).click()
    at(page, 29)
    ready(page)
    assert session_id(page) != first
    assert answers(page) == rows[:29]
    with pytest.raises(HTTPError, match="404"):
        service.get(f"/v1/sessions/{first}")
    page.get_by_role("button", name="Restart", exact=True).click()
    at(page, 0)
    ready(page)
    assert answers(page) == []


def test_the_run_follows_a_position_in_the_url(page):
    page.goto(drawn(seed=4, at=12))
    at(page, 12)
    ready(page)
    page.evaluate("location.hash = location.hash.replace('at=12', 'at=5')")
    at(page, 5)
    ready(page)
    page.go_back()
    at(page, 12)
    ready(page)
    assert len(answers(page)) == 12


def test_a_position_in_the_url_stays_while_the_run_follows(page):
    """The run writes its position into the URL from time to time, but not before it reaches the position of a link."""
    page.clock.install()
    page.goto(drawn(seed=4, at=12))
    at(page, 12)
    ready(page)
    page.clock.run_for(1_000)
    page.route("**/v1/sessions/**", lambda route: None)
    with page.expect_request("**/v1/sessions/**"):
        page.evaluate("location.hash = location.hash.replace('at=12', 'at=5')")
    page.clock.run_for(1_000)
    assert page.url.endswith("at=5")
    page.unroute("**/v1/sessions/**")
    at(page, 5)
    ready(page)
    page.go_back()
    at(page, 12)


def test_a_far_jump_shows_its_progress_and_stops_at_once(page):
    page.goto(drawn(at=900_000, **{"pass": 900}))
    expect(page.get_by_role("progressbar", name="Progress to the position")).to_be_visible()
    expect(page.locator("[data-position]")).not_to_have_attribute("data-position", "0")
    page.get_by_role("button", name="Pause", exact=True).click()
    ready(page)
    position = int(page.locator("[data-position]").get_attribute("data-position") or 0)
    assert position < 900_000
    assert [int(row["position"]) for row in answers(page)] == list(range(1, position + 1))
    expect(page).to_have_url(re.compile(rf"at={position}\b"))
    page.get_by_role("button", name="Step", exact=True).click()
    at(page, position + 1)


def test_a_jump_stops_at_the_end_of_the_data(page, see):
    page.goto(drawn(at=5000, g__count=200))
    at(page, 200)
    ready(page)
    expect(page.get_by_text("Pass 1 is complete: all 200 examples of the data are learnt.")).to_be_visible()
    see("playground-pass")
    page.get_by_role("button", name="Step", exact=True).click()
    at(page, 201)
    expect(page).to_have_url(re.compile(r"at=201&pass=2"))
    go = page.get_by_label("Position to go to")
    go.fill("3000")
    go.press("Enter")
    at(page, 400)
    page.get_by_role("button", name="Go on to position 3,000").click()
    at(page, 3000)
    page.reload()
    at(page, 3000)
    page.get_by_label("Pause at the end of the data").uncheck()
    page.get_by_label("Speed").select_option("full")
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.locator("[data-position]")).to_have_attribute("data-position", re.compile(r"^(3[2-9]\d\d|[4-9]\d{3}|\d{5,})$"))
    page.get_by_role("button", name="Pause", exact=True).click()
    ready(page)


def test_play_pauses_at_the_end_of_the_data(page):
    page.goto(drawn(g__count=300, speed="full"))
    ready(page)
    for end in (300, 600):
        page.get_by_role("button", name="Play", exact=True).click()
        at(page, end)
    expect(page.get_by_text("Pass 2 is complete")).to_be_visible()


def test_a_fault_of_a_position_stands_at_the_field(page):
    page.goto(drawn(at="1e9"))
    at(page, 0)
    field = page.get_by_label("Position to go to")
    expect(page.get_by_role("alert")).to_contain_text("The link asks for the position 1e9. A position is a whole number")
    for text, fault in [("-3", "whole number"), ("abc", "whole number"), ("1000001", "at most 1,000,000"), ("", "Type a position")]:
        field.fill(text)
        expect(page.get_by_role("alert")).to_have_count(0)
        field.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text(fault)
        expect(field).to_have_attribute("aria-invalid", "true")
    go_to(page, 5)
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_link_with_a_wrong_value_leads_to_the_set_up(page, see):
    page.goto(drawn(g__count="1e99"))
    expect(page.get_by_text("The value has too many digits.")).to_be_visible()
    expect(page.get_by_role("link", name="Start the run")).to_have_count(0)
    page.get_by_label("Examples", exact=True).fill("50")
    page.get_by_role("link", name="Start the run").click()
    at(page, 0)
    page.goto(drawn(learner="foo"))
    expect(page.get_by_role("alert")).to_contain_text("The service has no learner named foo.")
    see("playground-unknown")
    page.get_by_role("alert").get_by_role("link", name="Winnow", exact=True).click()
    at(page, 0)
    page.goto(drawn(**{"with": "pocket"}))
    expect(page.get_by_role("alert")).to_contain_text("learns from a whole sample")
    page.get_by_role("link", name="no second learner").click()
    at(page, 0)


def test_a_run_leaves_no_session_no_dataset_and_no_job_behind(page, own_service):
    page.goto(own_service.address + drawn(seed=5))
    go_to(page, 20)
    count = lambda: tuple(len(own_service.get(f"/v1/{kind}")["items"]) for kind in ("sessions", "datasets", "jobs"))
    assert count() == (1, 1, 0)
    page.reload()
    at(page, 20)
    expect(page).to_have_url(re.compile("at=20"))
    assert count() == (1, 1, 0)
    with page.expect_response(lambda response: response.request.method == "DELETE"):
        page.get_by_role("link", name="Other examples").click()
    assert count() == (0, 1, 0)
    page.go_back()
    at(page, 20)
    ready(page)
    assert count() == (1, 1, 0)
    page.get_by_role("link", name="Change the set-up").click()
    page.get_by_label("Seed", exact=True).fill("6")
    with page.expect_response(lambda response: response.request.method == "DELETE"):
        page.get_by_role("link", name="Start the run").click()
    at(page, 0)
    ready(page)
    assert count() == (1, 1, 0)
    page.get_by_role("button", name="Compute the bound").click()
    expect(page.get_by_role("link", name="The job behind the bound")).to_be_visible()
    assert count() == (1, 1, 1)


def test_a_far_bound_leaves_the_curve_its_height(page):
    page.goto(place(learner="winnow", p__relevant=3, g__count=100, g__n=49, g__sampling="uniform",
                    **{"from": "generated", "g.target": "disjunction", "g.density": "0.2"}))
    go_to(page, 4)
    expect(page.get_by_text(re.compile(r"Littlestone's bound: [\d.,]+ lies above the frame."))).to_be_visible()
    chart = page.get_by_role("img", name=re.compile("Chart of mistakes"))
    expect(chart).not_to_have_attribute("aria-label", re.compile("Littlestone"))
    page.get_by_label("Show the bound in the chart").check()
    expect(chart).to_have_attribute("aria-label", re.compile("Littlestone"))
    expect(page).to_have_url(re.compile("bound=on"))
    expect(page.get_by_text("lies above the frame")).to_have_count(0)


def test_the_keyboard_alone_drives_a_run(page):
    page.goto("/#/playground")
    page.get_by_role("link", name="XOR with the kernel perceptron").focus()
    page.keyboard.press("Enter")
    at(page, 0)
    ready(page)
    for _ in range(40):
        if page.evaluate("document.activeElement.textContent") == "Step":
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    at(page, 1)
    ready(page)
    page.keyboard.press("ArrowRight")
    at(page, 2)
    ready(page)
    page.keyboard.press("ArrowLeft")
    at(page, 1)
    ready(page)
    page.keyboard.press("k")
    expect(page.get_by_role("button", name="Pause", exact=True)).to_be_visible()
    expect(page.locator("[data-position]")).to_have_attribute("data-position", re.compile(r"^([4-9]|\d\d+)$"))
    page.keyboard.press("k")
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    ready(page)
    page.keyboard.press("Home")
    at(page, 0)
    assert page.evaluate("document.activeElement.textContent") == "Step"


def test_two_learners_see_the_same_examples(page, service, see):
    page.goto(drawn(**{"with": "winnow", "q__alpha": "1.5", "seed": 2, "g__n": 16}))
    go_to(page, 200)
    rows = answers(page)
    one, other = ([row for row in rows if row["learner"] == name] for name in ("perceptron", "winnow"))
    assert len(one) == len(other) == 200
    differing = sum(left["prediction"] != right["prediction"] for left, right in zip(one, other))
    assert differing > 0
    expect(page.get_by_text(f"The learners predicted different labels for {differing} examples.")).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("Weights after as a square of 4 by 4"))).to_have_count(2)
    see("playground-two")
    session = page.locator("dl.facts > div", has_text="Session").locator("code").nth(1).inner_text()
    assert service.get(f"/v1/sessions/{session}")["learner"]["params"]["alpha"] == 1.5


def saved(page: Page, button: str) -> tuple[str, str]:
    """The name and the text of a file that a button saves."""
    return saved_in(page.locator("body"), button)


def saved_in(part: Locator, button: str) -> tuple[str, str]:
    with part.page.expect_download() as download:
        part.get_by_role("button", name=button, exact=True).click()
    return download.value.suggested_filename, download.value.path().read_text()


def test_squares_and_bars_are_saved_and_stand_in_the_url(page, service):
    page.goto(drawn(g__n=36, seed=2))
    go_to(page, 30)
    weights = service.get(f"/v1/sessions/{session_id(page)}")["hypothesis"]["weights"]
    name, table = saved(page, "Weights of perceptron as CSV")
    assert name == "weights-of-perceptron.csv"
    assert [float(row["after"]) for row in csv.DictReader(io.StringIO(table))] == weights
    _, picture = saved(page, "Weights of perceptron as SVG")
    assert picture.count(": 6 rows of 6 values from ") == 2 and ">before<" in picture
    page.get_by_role("button", name="Bars", exact=True).click()
    page.get_by_role("button", name="Show all of 36").click()
    panel(page, "Mistakes").get_by_role("button", name="Table").click()
    expect(page).to_have_url(re.compile(r"weights=list%2Call\b.*table=mistakes-by-examples"))
    page.reload()
    at(page, 30)
    expect(panel(page, "Mistakes").get_by_role("table")).to_be_visible()
    expect(panel(page, "Hypothesis").get_by_role("row")).to_have_count(37)
    _, table = saved(page, "Weights as CSV")
    assert [float(row["weight"]) for row in csv.DictReader(io.StringIO(table))] == weights
    _, picture = saved(page, "Weights as SVG")
    assert picture.count('class="bar"') == 36 and "x36" in picture


def test_three_classes_have_their_names_and_the_borders_between_them(page, service, see):
    page.goto("/#/playground")
    page.get_by_role("link", name="Three classes in the plane").click()
    at(page, 0)
    go_to(page, 17)
    see("playground-three-classes")
    session = service.get(f"/v1/sessions/{session_id(page)}")
    assert session["classes"] == ["red", "green", "blue"] and session["position"] == 17
    expect(page.locator("svg.plane g line")).to_have_count(6)
    for x, y in middles(page, [(2.1, 1.9), (1.4, 2.6)]):
        scores = sorted(member["weights"][0] * x + member["weights"][1] * y + member["bias"] for member in session["hypothesis"]["members"])
        assert scores[2] == pytest.approx(scores[1], abs=1e-6) and scores[0] < scores[1]
    expect(panel(page, "Next example").get_by_role("row", name=re.compile("^Perceptron blue .* blue$"))).to_be_visible()
    shown = answers(page)
    assert {row["class"] for row in shown} == {"red", "green", "blue"}
    assert sum(row["mistake"] == "true" for row in shown) == session["mistakes"]
    hypothesis = panel(page, "Hypothesis")
    for name, member in zip(session["classes"], session["hypothesis"]["members"]):
        hypothesis.get_by_label("Class").select_option(name)
        _, table = saved(page, "Weights as CSV")
        assert [float(row["weight"]) for row in csv.DictReader(io.StringIO(table))] == member["weights"]
    _, picture = saved_in(panel(page, "Plane"), "SVG")
    assert all(name in picture for name in ["red", "green", "blue", "Perceptron, now"])
    panel(page, "Plane").get_by_role("button", name="Table").click()
    expect(panel(page, "Plane").get_by_role("cell", name="green")).to_have_count(6)


def middles(page: Page, circles: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The middles of the present borders in the coordinates of the plane, of which the first two circles are known."""
    plane = page.locator("svg.plane")
    drawn = [tuple(float(dot.get_attribute(name)) for name in ("cx", "cy")) for dot in plane.locator("> circle[r='5']").all()[:2]]
    scales = [(circles[1][axis] - circles[0][axis]) / (drawn[1][axis] - drawn[0][axis]) for axis in (0, 1)]
    found = []
    for line in plane.locator("g line[stroke-width='3']").all():
        ends = [float(line.get_attribute(name)) for name in ("x1", "x2", "y1", "y2")]
        middle = [(ends[2 * axis] + ends[2 * axis + 1]) / 2 for axis in (0, 1)]
        found.append(tuple(circles[0][axis] + (middle[axis] - drawn[0][axis]) * scales[axis] for axis in (0, 1)))
    assert len(found) == 3
    return found


def test_classes_join_in_the_playground(page, service, see):
    page.goto(place(learner="perceptron", multiclass="joint", classes="open", rows="1,0,0,a\n0,1,0,b\n0,0,1,c"))
    at(page, 0)
    expect(page.get_by_text("The first example begins the hypothesis.")).to_be_visible()
    expect(panel(page, "Next example").get_by_role("row", name="Perceptron nothing a")).to_be_visible()
    page.get_by_role("button", name="Step", exact=True).click()
    at(page, 1)
    expect(page.get_by_text("predicted nothing, label a")).to_be_visible()
    go_to(page, 3)
    see("playground-open-classes")
    session = service.get(f"/v1/sessions/{session_id(page)}")
    assert session["open"] and session["classes"] == ["a", "b", "c"]
    go_to(page, 2)
    expect(panel(page, "Hypothesis").get_by_label("Class").get_by_role("option")).to_have_text(["a", "b"])
    page.reload()
    at(page, 2)
    page.get_by_role("link", name="Change the set-up").click()
    expect(page.get_by_label("Classes", exact=True)).to_have_value("open")
    expect(page.get_by_label("More than two classes")).to_have_value("joint")


@pytest.mark.parametrize("query, file", [({"rows": "110,1\n001,-1"}, "rows.ndjson"), ({"rows": "a,b,y\n1,0,1\n0,1,-1"}, "rows.csv"), ({"sample": "tic-tac-toe"}, None)])
def test_the_requests_of_a_run_can_be_repeated(page, service, query, file):
    page.goto(place(learner="perceptron", **query))
    at(page, 0)
    ready(page)
    session = session_id(page)

    def shown(title: str) -> str:
        part = page.locator("details", has=page.get_by_text(title, exact=True))
        part.locator("summary").click()
        return part.locator("pre").inner_text()

    if file:
        assert f"@{file}" in shown("The request that stores the data")
        assert saved(page, f"Download {file}")[0] == file
    else:
        assert "/v1/samples/tic-tac-toe" in shown("The request that reads the sample")
    command = shown("The request that teaches the next example")
    body = json.loads(re.search(r"-d '(.*)'", command)[1])
    found = service.post(f"/v1/sessions/{session}/examples", body, if_match='"0"')
    assert found["answers"][0]["position"] == 1
    address = re.search(r"'(http://[^']+)'", shown("The request that reads the examples as such lines"))[1]
    with urlopen(address, timeout=20) as answer:
        lines = answer.read()
    teach = shown("The request that teaches many examples, one per line")
    assert "application/x-ndjson" in teach and "@examples.ndjson" in teach
    headers = {"content-type": "application/x-ndjson"}
    with urlopen(Request(f"{service.address}/v1/sessions/{session}/examples", lines, headers), timeout=20) as answer:
        assert len(answer.read().splitlines()) == len(lines.splitlines())
    assert service.get(f"/v1/sessions/{session}")["position"] > 2


def test_a_stop_rule_ends_the_session_and_says_so(page, see):
    page.goto("/#/playground")
    page.get_by_role("link", name="Majority with Directed Drift").click()
    go_to(page, 12)
    expect(page.get_by_role("progressbar", name=re.compile("Run length against the threshold of"))).to_be_visible()
    # A run length of 0 proves nothing, so its certificate is withheld.
    expect(fact(page, "Run length")).to_have_text("0")
    expect(page.get_by_text("1 certificate withheld")).to_be_visible()
    expect(page.get_by_text("progressive", exact=True)).to_be_visible()
    page.goto(place(**{"learner": "directed-drift", "from": "generated", "g__n": 5, "g__target": "binary_weights", "g__sampling": "uniform-positive",
                       "g__count": 2000, "assume": "uniform-positive", "stop__confidence": "0.9", "speed": "full"}))
    ready(page)
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.get_by_text("has ended: confident.")).to_be_visible()
    expect(page.get_by_role("button", name="Step", exact=True)).to_have_attribute("aria-disabled", "true")
    see("playground-ended")


@pytest.mark.faults
def test_two_tabs_on_one_session_learn_nothing_twice(page, service):
    page.goto(drawn(seed=21))
    go_to(page, 3)
    session = session_id(page)
    expect(page).to_have_url(re.compile(r"at=3"))
    with page.expect_popup() as popup:
        page.evaluate("() => { window.open(location.href); }")
    other = popup.value
    at(other, 3)
    ready(other)
    assert session_id(other) == session
    other.get_by_role("button", name="Step", exact=True).click()
    at(other, 4)
    page.get_by_role("button", name="Step", exact=True).click()
    expect(page.get_by_text("This page caught up and taught nothing twice.")).to_be_visible()
    expect(page.locator(".notice")).to_have_count(1)
    at(page, 4)
    assert service.get(f"/v1/sessions/{session}")["position"] == 4
    page.get_by_role("button", name="Replay in a session of this tab").click()
    expect(page.get_by_text("taught nothing twice")).to_have_count(0)
    at(page, 4)
    ready(page)
    assert [int(row["position"]) for row in answers(page)] == [1, 2, 3, 4]
    other.close()


LATE = """(place) => { const real = window.fetch;
window.fetch = async (...given) => { const answer = await real(...given);
  if (String(given[0]).includes(place)) await new Promise((done) => setTimeout(done, 1500));
  return answer; }; }"""


@pytest.mark.faults
@pytest.mark.parametrize("gone", [0, 1])
def test_deleted_session_of_two_gives_one_notice(page, service, gone):
    page.goto(drawn(**{"with": "winnow", "seed": 22}))
    go_to(page, 6)
    sessions = page.locator("dl.facts > div", has_text="Session").locator("code").all_inner_texts()
    service.send("DELETE", f"/v1/sessions/{sessions[gone]}")
    # The answer of the other session is late, and must not meet the replay.
    page.evaluate(LATE, f"{sessions[1 - gone]}/examples")
    page.get_by_role("button", name="Step", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("The session is gone.")
    expect(page.locator(".notice")).to_have_count(1)
    page.get_by_role("button", name="Replay in a new session").click()
    expect(page.locator(".notice")).to_have_count(0)
    ready(page)
    rows = answers(page)
    assert len([row for row in rows if row["learner"] == "perceptron"]) == len([row for row in rows if row["learner"] == "winnow"])


def test_back_during_a_stream_returns_to_the_earlier_position(page, service):
    page.goto(drawn(seed=31))
    go_to(page, 10)
    expect(page).to_have_url(re.compile(r"at=10\b"))
    page.evaluate("location.hash = location.hash.replace('at=10', 'at=12')")
    at(page, 12)
    ready(page)
    page.get_by_label("Speed").select_option("full")
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.locator("[data-position='12']")).to_have_count(0)
    page.go_back()
    at(page, 10)
    ready(page)
    assert [int(row["position"]) for row in answers(page)] == list(range(1, 11))
    assert service.get(f"/v1/sessions/{session_id(page)}")["position"] == 10
    page.get_by_label("Speed").select_option("full")
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.locator("[data-position='10']")).to_have_count(0)
    page.get_by_role("link", name="Home", exact=True).click()
    page.go_back()
    ready(page)
    position = int(page.locator("[data-position]").get_attribute("data-position") or 0)
    assert position > 10
    assert [int(row["position"]) for row in answers(page)] == list(range(1, position + 1))


SHIFT = """(() => { const day = %d * 86400000, Real = Date;
window.Date = class extends Real { constructor(...given) { if (given.length) super(...given); else super(Real.now() + day); }
  static now() { return Real.now() + day; } }; })()"""


@pytest.mark.parametrize("days", [1, -1])
def test_a_clock_that_is_a_day_off_changes_nothing(page, service, days):
    page.add_init_script(SHIFT % days)
    page.goto(drawn(seed=41, speed="25"))
    ready(page)
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.locator("[data-position]")).to_have_attribute("data-position", re.compile(r"^([3-9]\d|\d{3,})$"))
    page.get_by_role("button", name="Pause", exact=True).click()
    ready(page)
    assert len(answers(page)) == int(page.locator("[data-position]").get_attribute("data-position") or 0)
    opened = service.get(f"/v1/sessions/{session_id(page)}")["created_at"]
    expect(fact(page, "Opened").locator("time")).to_have_attribute("datetime", opened)
    assert not re.search(r"NaN|Invalid|[-−]\d+ (s|min|h|d)\b", page.locator("#main").inner_text())


@pytest.mark.faults
def test_a_deleted_session_is_replayed(page, service, see):
    page.goto(drawn(seed=22))
    go_to(page, 6)
    service.send("DELETE", f"/v1/sessions/{session_id(page)}")
    page.get_by_role("button", name="Step", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("The session is gone.")
    expect(page.locator(".notice")).to_have_count(1)
    see("playground-gone")
    page.get_by_role("button", name="Replay in a new session").click()
    expect(page.get_by_role("alert")).to_have_count(0)
    at(page, 6)
    ready(page)
    page.get_by_role("button", name="Step", exact=True).click()
    at(page, 7)


@pytest.mark.faults
def test_a_run_goes_on_after_a_restart_of_the_service(page, own_service):
    page.goto(own_service.address + drawn(seed=23, speed="100"))
    ready(page)
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.locator("[data-position='0']")).to_have_count(0)
    port = own_service.port
    own_service.stop()
    expect(page.get_by_role("alert")).to_have_count(1)
    expect(page.get_by_role("alert")).to_contain_text("continues as soon as the service is back")
    stopped = int(page.locator("[data-position]").get_attribute("data-position") or 0)
    own_service.start(port)
    expect(page.locator("[data-position]")).not_to_have_attribute("data-position", str(stopped))
    page.get_by_role("button", name="Pause", exact=True).click()
    ready(page)
    rows = answers(page)
    assert len(rows) > stopped
    assert [int(row["position"]) for row in rows] == list(range(1, len(rows) + 1))
    dataset = (fact(page, "Data").get_by_role("link").get_attribute("href") or "").rsplit("/", 1)[1]
    expected = api_answers(own_service, {"learner": {"name": "perceptron"}, "n": 15, "seed": 23}, dataset, len(rows))
    assert [int(row["prediction"]) for row in rows] == [answer["prediction"] for answer in expected]


def test_a_run_is_set_up_by_hand(page, see):
    page.goto("/#/playground")
    page.get_by_label("On-line learner").select_option("winnow")
    page.get_by_label("Source of the examples").select_option("rows")
    page.get_by_label("Rows").fill("1100,1\n0011,-1\n1000,1")
    page.get_by_text("Parameters of Winnow").click()
    page.get_by_label("alpha").fill("3")
    see("playground-setup")
    page.get_by_role("link", name="Start the run").click()
    ready(page)
    expect(panel(page, "Next example")).to_contain_text("1100")
    expect(fact(page, "alpha")).to_have_text("3")
    page.get_by_role("link", name="Change the set-up").click()
    expect(page.get_by_label("Rows")).to_have_value("1100,1\n0011,-1\n1000,1")


@pytest.mark.faults
def test_a_refused_set_up_says_why(page, service):
    page.goto(drawn(stop__confidence="0.9"))
    expect(page.get_by_role("alert")).to_contain_text("perceptron needs an error beside the confidence")
    unlabelled = service.post("/v1/datasets", {"data": {"unlabelled": {"examples": ["101", "010"]}}})["id"]
    page.goto(place(learner="perceptron", dataset=unlabelled))
    expect(page.get_by_role("alert")).to_contain_text("have no labels")
    page.goto(place(learner="perceptron", dataset="ds_01a20e2bb321790bb98b6206a7bc0000"))
    expect(page.get_by_role("alert")).to_contain_text("Check the id")


def test_the_hypothesis_becomes_a_model_and_the_session_ends(page, service):
    page.goto(place(learner="kernel-perceptron", sample="tic-tac-toe"))
    go_to(page, 20)
    session = session_id(page)
    page.get_by_label("Save the hypothesis of Kernel perceptron as a model").fill(MARKUP)
    page.get_by_role("button", name="Save as a model").click()
    href = page.get_by_role("link", name="open the model").get_attribute("href") or ""
    model = service.get(f"/v1/models/{href.rsplit('/', 1)[1]}")
    assert model["name"] == MARKUP
    page.get_by_role("button", name="End session").click()
    page.get_by_role("dialog").get_by_role("button", name="End session").click()
    expect(page.get_by_role("heading", name="Start with an example")).to_be_visible()
    with pytest.raises(HTTPError, match="404"):
        service.get(f"/v1/sessions/{session}")


def test_markup_in_a_dataset_is_shown_as_text(page, service):
    table = f"{MARKUP},b,class\n" + "".join(f"{number % 2},{number % 3},{MARKUP if number % 2 else 'no'}\n" for number in range(12))
    dataset = service.post("/v1/datasets?" + urlencode({"name": MARKUP, "labels": "last"}), table.encode(), media_type="text/csv")["id"]
    page.on("dialog", lambda dialog: pytest.fail("a name ran as a script"))
    page.goto(place(learner="perceptron", dataset=dataset))
    go_to(page, 2)
    expect(page.get_by_text(MARKUP).first).to_be_visible()
    assert page.locator("img[src='x']").count() == 0


def test_400_000_features_stay_usable(page, service):
    n = 400_000
    lines = "".join(json.dumps({"x": ("10" if number % 2 else "01") * (n // 2), "y": 1 if number % 2 else -1}) + "\n" for number in range(4))
    dataset = service.post("/v1/datasets", lines.encode(), media_type="application/x-ndjson")["id"]
    page.goto(place(learner="perceptron", dataset=dataset))
    go_to(page, 2)
    expect(panel(page, "Hypothesis")).to_contain_text("larger than 256 KiB")
    expect(page.get_by_text("The first 1,000 of 400,000 bits.")).to_be_visible()


def test_playground_shows_the_default_stop_rule(page, service):
    """The session says which rule ends it, also one that nobody asked for."""
    page.goto(drawn(learner="directed-drift", g__sampling="uniform-positive", assume="uniform-positive"))
    go_to(page, 40)
    rule = service.get(f"/v1/sessions/{session_id(page)}")["stop_rule"]
    assert (rule["rule"], rule["confidence"]) == ("anytime", 0.99)
    expect(page.get_by_text("Stop rule anytime with confidence 99 %: ")).to_contain_text(f"in a row of {rule['threshold']}.")
    page.goto(drawn())
    at(page, 0)
    expect(page.get_by_text("No confidence ends this session.")).to_be_visible()
