"""The page of `xrelay view` in a browser: headless Chromium, when there is one."""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import onnx
import pytest

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
if CHROMIUM is None or DRIVER is None:
    pytest.skip("chromium and chromedriver are not installed", allow_module_level=True)

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from xrelay.options import CompileOptions
from xrelay.placement.costs.key import Machine
from xrelay.placement.plan_file import FORMAT, model_digest
from xrelay.placement.rules.base import is_call
from xrelay.placement.rules.candidate import OWN
from xrelay.sources import Source

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[1] / "data" / "view.mlir"
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--no-first-run", "--disable-dev-shm-usage", "--window-size=1400,900"),
)
T = "tensor<4x4xf32>"


@pytest.fixture(scope="module")
def browser() -> Iterator[webdriver.Chrome]:
    """A browser that reaches no network."""
    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for flag in (*FLAGS, "--host-resolver-rules=MAP * ~NOTFOUND"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(str(DRIVER)))
    yield driver
    driver.quit()


class Page:
    """A page in the browser."""

    def __init__(self, browser: webdriver.Chrome, path: Path):
        self.browser = browser
        browser.get_log("browser")
        browser.get(path.as_uri())

    def at(self, selector: str) -> Any:
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector: str) -> list[Any]:
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def run(self, script: str) -> Any:
        return self.browser.execute_script(script)

    def shown(self, kind: str = "card") -> list[str]:
        """The texts of the cards on show."""
        return [each.text for each in self.all(f".scene:not([hidden]) .{kind}")]

    def visible(self) -> list[str]:
        """The texts of the cards on the canvas."""
        return self.run(
            "const c = canvas.getBoundingClientRect();"
            "return [...scene().querySelectorAll('.card')].filter((card) => {"
            "  const r = card.getBoundingClientRect();"
            "  return r.bottom > c.top && r.top < c.bottom && r.right > c.left && r.left < c.right;"
            "}).map((card) => card.textContent);"
        )

    def click_card(self, label: str) -> str:
        """Clicks a card, whose title starts so; what the panel then says."""
        number = self.run(
            "return [...scene().querySelectorAll('.card')].findIndex("
            f"(card) => card.querySelector('title')?.textContent.startsWith('{label}'))"
        )
        self.all(".scene:not([hidden]) .card .box")[number].click()
        return self.at("#details").text

    def keys(self, *keys: str) -> None:
        self.browser.switch_to.active_element.send_keys(*keys)


@pytest.fixture
def show(
    cmd: Callable[..., Any], browser: webdriver.Chrome, folder: Path
) -> Iterator[Callable[..., Page]]:
    """Opens the page of a model. In the end nothing may have gone wrong in it."""

    def run(model: Path, *arguments: str) -> Page:
        path = folder / "page.html"
        assert cmd("view", model, "-o", path, *arguments).code == 0
        return Page(browser, path)

    yield run
    assert browser.get_log("browser") == []


@pytest.fixture
def page(show: Callable[..., Page]) -> Page:
    """The page of the example."""
    return show(EXAMPLE, "--no-simplify")


def test_before_and_after(page: Page) -> None:
    assert len(page.shown()) == 12
    assert len(page.shown("hull")) == 2
    page.at("#units").click()
    assert page.at("#units").get_attribute("aria-pressed") == "true"
    assert len(page.shown()) == 6
    (kernel,) = [text for text in page.shown() if "nn.conv2d" in text]
    assert [line for line in kernel.split("\n") if "×" not in line] == [
        *("nn.conv2d", "add", "nn.relu", "multiply", "add"),
    ]
    page.at("#operators").click()
    assert len(page.shown()) == 12
    page.at("#hulls").click()
    assert not any(each.is_displayed() for each in page.all(".hull"))


def test_click_shows_the_reason(page: Page) -> None:
    text = page.click_card("add #5")
    assert "tensor<1x16x8x8xf32>" in text
    assert "rule 21: the path to relay.nn.softmax is out_ewise_fusable" in text
    text = page.click_card("nn.conv2d #1")
    for part in ("out_ewise_fusable", "anchor", "in the same group", "kernel_layout", "add #5"):
        assert part in text
    assert len(page.all(".card.selected")) == 1
    page.at("#details .link").click()
    assert page.at("#details h2").text == "x"
    page.keys(Keys.ESCAPE)
    assert not page.all(".card.selected")


def test_engines_of_a_plan(show: Callable[..., Page], folder: Path) -> None:
    graph = Source.read(EXAMPLE).prepared(CompileOptions())
    engines = {
        node.index: "fast" if node.label == "nn.conv2d" else OWN
        for node in graph.nodes
        if is_call(node.op)
    }
    regions = [
        {
            "engine": engine,
            "seconds": 12.5e-6,
            "source": "measured",
            "nodes": [{"index": index}],
            "nested": [{"attributes": {"Compiler": engine}, "nodes": [index]}]
            if engine != OWN
            else [],
        }
        for index, engine in engines.items()
    ]
    plan = {
        "format": FORMAT,
        "model": model_digest(graph),
        "machine": asdict(Machine("cpu", "features", 1, "1")),
        "engines": {"fast": {"version": "1"}},
        "regions": regions,
    }
    path = folder / "plan.json"
    path.write_text(json.dumps(plan))
    page = show(EXAMPLE, "--placement", path)
    assert "fast operators: 1" in page.at("#details").text
    text = page.click_card("nn.conv2d #1")
    assert "fast 12.5 µs, measured" in text and "the cost is that of the region" in text
    assert "default 12.5 µs, measured" in page.click_card("add #5")
    assert [each.text for each in page.all(".region-name")] == ["fast, 12.5 µs"]


def test_selection_stays_between_views(page: Page) -> None:
    page.click_card("multiply #4")
    page.at("#units").click()
    assert page.at("#details h2").text == "Group 0"
    assert "rule 21" in page.at("#details").text
    page.at("#operators").click()
    assert page.at("#details h2").text == "add #5"


def test_search(page: Page) -> None:
    page.at("#canvas").send_keys("/")
    page.keys("nn.")
    assert page.at("#found").text == "3 places"
    assert len(page.all(".card.hit")) == 3
    page.keys(Keys.ENTER)
    assert (page.at("#found").text, page.at("#details h2").text) == ("1 of 3", "nn.conv2d #1")
    page.keys(Keys.ENTER)
    assert page.at("#details h2").text == "nn.relu #3"
    page.keys(Keys.SHIFT, Keys.ENTER)
    assert page.at("#details h2").text == "nn.conv2d #1"
    page.keys(Keys.ESCAPE)
    assert not page.all(".card.hit")
    page.at("#search").send_keys("kernel_layout oihw")
    assert page.at("#found").text == "1 place"
    page.at("#search").clear()
    page.at("#search").send_keys("nothing like this")
    assert page.at("#found").text == "0 places"


def test_keys_go_along_the_edges(page: Page) -> None:
    page.click_card("nn.softmax #6")
    canvas = page.at("#canvas")
    for key, label in (
        (Keys.ARROW_DOWN, "exp #7"),
        (Keys.ARROW_UP, "nn.softmax #6"),
        (Keys.ARROW_UP, "add #5"),
    ):
        canvas.send_keys(key)
        assert page.at("#details h2").text == label
    canvas.send_keys("2")
    assert page.at("#details h2").text == "Group 0"


def test_zoom_keeps_what_is_under_the_pointer(page: Page) -> None:
    before = page.run("return [state.place.x, state.place.y, state.place.scale]")
    page.run("zoom(2, 100, 50)")
    x, y, scale = page.run("return [state.place.x, state.place.y, state.place.scale]")
    assert scale == pytest.approx(2 * before[2])
    assert (100 - x) / scale == pytest.approx((100 - before[0]) / before[2])
    assert (50 - y) / scale == pytest.approx((50 - before[1]) / before[2])
    page.at("#fit").click()
    box = page.run("return scene().getBoundingClientRect().toJSON()")
    whole = page.run("return canvas.getBoundingClientRect().toJSON()")
    assert whole["left"] <= box["left"] and box["right"] <= whole["right"]
    assert whole["top"] <= box["top"] and box["bottom"] <= whole["bottom"]


def column(count: int) -> str:
    """A program of one operator after the other."""
    lines, value = list[str](), "%x"
    for number in range(count):
        name = ("exp", "nn.softmax")[number % 2]
        lines.append(f"%v{number} = relay.{name} {value} : ({T}) -> {T}")
        value = f"%v{number}"
    return "\n".join([f"func.func @main(%x: {T}) -> {T} {{", *lines, f"return {value} : {T}\n}}"])


@pytest.fixture
def deep(show: Callable[..., Page], folder: Path) -> Page:
    """The page of a graph that is much higher than the canvas."""
    path = folder / "deep.mlir"
    path.write_text(column(100))
    return show(path, "--no-simplify")


def test_the_way_is_kept_between_views(deep: Page) -> None:
    """What is at the end of the graph before fusion is there after it, chosen or not."""
    deep.at("#search").send_keys("softmax")
    deep.at("#search").send_keys(*[Keys.ENTER] * 49)
    assert deep.at("#details h2").text == "nn.softmax #97"
    for _ in "a card is chosen", "none is":
        for key in "21":
            deep.at("#canvas").send_keys(key)
            assert 0 < len(deep.visible()) < 20
            number = deep.run("return nearest()")
            node = number if key == "1" else f"graph().units[{number}].members.at(-1)"
            # The kernel has two operators.
            assert deep.run(f"return graph().nodes[{node}].label") in ("nn.softmax #97", "exp #98")
        deep.run("canvas.dispatchEvent(new MouseEvent('click', { bubbles: true }))")
        assert not deep.all(".card.selected")


@pytest.mark.parametrize("key", ["0", "1", "2", "+", "-", Keys.ARROW_DOWN, Keys.ESCAPE])
def test_no_key_leads_to_an_empty_canvas(deep: Page, key: str) -> None:
    for place in ("1e5, 1e5, 1", "-1e5, -1e5, 1", "-1e5, 1e5, 4", "0, 0, 0.01"):
        deep.run(f"place({place})")
        deep.at("#canvas").send_keys(*[key] * 20)
        assert deep.visible()
    deep.browser.set_window_size(700, 500)
    assert deep.visible()
    deep.browser.set_window_size(1400, 900)


def test_a_deep_graph_fits_at_a_scale_that_can_be_read(deep: Page) -> None:
    deep.run("select(90)")
    deep.at("#fit").click()
    assert deep.run("return state.place.scale") >= 0.85
    assert "#90" in "".join(deep.visible()).replace("\n", "")
    deep.run("zoom(0.001)")
    box, whole = deep.run(
        "return [scene(), canvas].map((each) => each.getBoundingClientRect().toJSON())"
    )
    assert whole["top"] <= box["top"] and box["bottom"] <= whole["bottom"]


def test_steps_are_brought_into_view(deep: Page) -> None:
    deep.run("zoom(0.001)")
    deep.at("#tab-lesson").click()
    for step in (3, 60, 99):
        deep.run(f"zoom(0.001); state.step = {step}; lesson()")
        assert deep.run("return state.place.scale") >= 0.85
        now = deep.run("return document.querySelector('.now').getBoundingClientRect().toJSON()")
        whole = deep.run("return canvas.getBoundingClientRect().toJSON()")
        assert whole["top"] <= now["top"] and now["bottom"] <= whole["bottom"]


def test_a_program_opens_on_its_main_function(show: Callable[..., Page], folder: Path) -> None:
    """Though it only chooses a region, and the region has more operators."""
    path = folder / "branches.mlir"
    path.write_text(
        f"func.func @main(%c: i1, %x: {T}) -> {T} {{\n  %r = scf.if %c -> ({T}) {{\n"
        f"    %0 = relay.exp %x : ({T}) -> {T}\n    %1 = relay.nn.softmax %0 : ({T}) -> {T}\n"
        f"    scf.yield %1 : {T}\n  }} else {{\n    scf.yield %x : {T}\n  }}\n"
        f"  return %r : {T}\n}}\n"
    )
    page = show(path, "--no-simplify")
    assert page.at("#details h2").text == "func.func main"
    assert any("scf.if" in text for text in page.visible())


def test_table_sorts(page: Page) -> None:
    page.at("#tab-table").click()

    def column(number: int) -> list[str]:
        return [cell.text for cell in page.all(f"#table td:nth-child({number})")]

    assert column(1) == ["0", "1"]
    page.all("#table th button")[3].click()
    assert column(4) == ["2", "6"]
    page.all("#table th button")[3].click()
    assert column(4) == ["6", "2"]
    assert page.all("#table th")[3].get_attribute("aria-sort") == "descending"
    page.all("#table td .link")[1].click()
    assert page.at("#details h2").text == "exp #7"


def test_steps_build_the_groups(page: Page) -> None:
    page.at("#tab-lesson").click()
    assert "post-dominators" in page.at("#said").text
    lines = []
    for _ in range(7):
        lines.append(len(page.all("#tree path")))
        page.at("#next").click()
    assert lines == sorted(lines) and lines[-1] > 4
    assert not page.all(".hull > .on")
    last = page.run("return graph().lesson.length - 1")
    page.run(f"state.step = {last}; lesson()")
    groups = page.run(
        "return [...document.querySelectorAll('.hull')].map((hull) => "
        "hull.querySelectorAll('rect.on').length)"
    )
    assert groups == [6, 2]
    page.at("#back").click()
    assert f"step {last} of {last + 1}" in page.at("#said").text
    page.at("#tab-details").click()
    assert not page.all("#tree path") and not page.all(".card.now")


def test_theme(page: Page) -> None:
    def paper() -> str:
        return page.run("return getComputedStyle(document.body).backgroundColor")

    first = paper()
    page.at("#theme").click()
    assert paper() != first
    page.at("#theme").click()
    assert paper() == first


def test_several_graphs(show: Callable[..., Page], folder: Path) -> None:
    path = folder / "two.mlir"
    path.write_text(
        f"func.func @f(%x: {T}) -> {T} {{\n  %0 = relay.exp %x : ({T}) -> {T}\n"
        f"  return %0 : {T}\n}}\n"
        f"func.func @g(%x: {T}) -> {T} {{\n  %0 = relay.exp %x : ({T}) -> {T}\n"
        f"  %1 = relay.nn.softmax %0 : ({T}) -> {T}\n  return %1 : {T}\n}}\n"
    )
    page = show(path, "--no-simplify")
    assert "func.func g" in page.at("#details").text  # the largest one
    page.run("at('graph').value = 0; at('graph').dispatchEvent(new Event('change'))")
    assert "func.func f" in page.at("#details").text
    assert len(page.shown()) == 3


def test_names_stay_text(
    show: Callable[..., Page], folder: Path, model_of: Callable[..., onnx.ModelProto]
) -> None:
    hostile = '</script><img src=x onerror="document.title=1"><b>'
    nodes = [onnx.helper.make_node("Relu", [hostile], ["y"], hostile)]
    path = folder / "hostile.onnx"
    onnx.save(model_of(nodes, {hostile: ("float32", [4])}, ["y"]), path)
    page = show(path)
    page.run("select(0)")
    assert page.at("#details h2").text == hostile
    page.run("select(1)")
    assert hostile in page.at("#details").text
    assert not page.all("img") and not page.all("#details b")
    assert page.browser.title == "hostile.onnx"


@pytest.mark.parametrize("blocks", [100, pytest.param(750, marks=pytest.mark.extensive)])
def test_large_programs(show: Callable[..., Page], folder: Path, blocks: int) -> None:
    """Blocks of a product, an epilogue and a connection around them: more than a lesson is about."""
    lines, value = list[str](), "%x"
    for number in range(blocks):
        a, b, c, d = (f"%{name}{number}" for name in "abcd")
        lines += [
            f"{a} = relay.nn.dense {value}, %w : ({T}, {T}) -> {T}",
            f"{b} = relay.nn.relu {a} : ({T}) -> {T}",
            f"{c} = relay.add {b}, %mask : ({T}, {T}) -> {T}",
            f"{d} = relay.add {c}, {value} : ({T}, {T}) -> {T}",
        ]
        value = d
    path = folder / "large.mlir"
    path.write_text(
        f"func.func @main(%x: {T}, %w: {T}, %mask: {T}) -> {T} {{\n"
        + "\n".join(lines)
        + f"\nreturn {value} : {T}\n}}\n"
    )
    page = show(path, "--no-simplify")
    assert page.run("return cards.size") == 4 * blocks + 4
    page.run("at('search').value = 'dense'; search()")
    assert page.at("#found").text == f"{blocks} places"
    page.run(f"select(hits[{blocks - 50}])")
    assert page.at("#details h2").text == f"nn.dense #{4 * blocks - 200}"
    assert page.at(".card.selected").is_displayed()
    page.at("#units").click()
    assert page.run("return cards.size") == blocks + 4
    page.at("#fit").click()
    page.at("#tab-lesson").click()
    assert "fewer than 200 nodes" in page.at("#lesson").text
