"""The report in a browser: sorting, filtering, themes, keys, and labels that would like to run."""

import time

import numpy as np
import pandas as pd
import pytest
from browsers import needs_browser, open_browser
from reports import HOSTILE, confused_digits, some_truth
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select

from unconfused import UnconfusedLogisticRegression, noise, write_report
from unconfused.review import match_verdicts, read_verdicts

pytestmark = needs_browser


def hostile_columns(n_rows):
    text = "</td><script>window.hacked=4</script><img src=x onerror=hacked=5>"
    return pd.DataFrame({"text": text}, index=[f"<i>row</i> {i}" for i in range(n_rows)])


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Write a report whose labels, names, texts and title are hostile."""
    X, true, seen, _ = confused_digits()
    y_true = np.where(some_truth(true) >= 0, HOSTILE[true], None)
    model = UnconfusedLogisticRegression(l2=1e-3, relabel=0, random_state=0)
    model.fit(X, HOSTILE[seen], y_true=y_true)
    return write_report(
        model,
        X,
        HOSTILE[seen],
        tmp_path_factory.mktemp("report") / "report.html",
        y_true=y_true,
        row_columns=hostile_columns(len(X)),
        row_text="text",
        title="</title><script>window.hacked=6</script>",
        random_state=0,
    )


@pytest.fixture(scope="module")
def browser():
    with open_browser() as driver:
        yield driver


@pytest.fixture
def page(browser, path):
    """Open the report afresh, at a usual width, in the light theme."""
    set_screen(browser, 1280)
    browser.get(path.as_uri())
    browser.execute_script("localStorage.clear()")
    browser.get(path.as_uri())
    return browser


def set_screen(browser, width, dark=False):
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    # A page that is still scrolling cannot be clicked on.
    still = {"name": "prefers-reduced-motion", "value": "reduce"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [theme, still]})


def visible_rows(page):
    """Return (row, label code, suggested code, probability) of the rows shown."""
    return page.execute_script(
        "return [...document.querySelectorAll('#suspects tbody tr')].filter(r => !r.hidden)"
        ".map(r => [Number(r.cells[0].textContent), r.dataset.l, r.dataset.s, Number(r.dataset.w)])"
    )


def head(page, key):
    return page.find_element(By.CSS_SELECTOR, f'#suspects th[data-key="{key}"]')


def test_nothing_runs_but_our_script(page):
    assert page.execute_script("return window.hacked") is None
    assert page.execute_script("return document.querySelectorAll('img, main i').length") == 0
    messages = [
        entry for entry in page.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")
    ]
    assert messages == []
    shown = page.execute_script("return document.querySelector('main').textContent")
    assert HOSTILE[0] in shown and HOSTILE[2] in shown
    # What is let in otherwise, the policy keeps from running.
    page.execute_script(
        "const s = document.createElement('script'); s.textContent = 'window.hacked = 7';"
        "document.body.append(s); const d = document.createElement('div');"
        "d.setAttribute('onclick', 'window.hacked = 8'); document.body.append(d); d.click();"
    )
    assert page.execute_script("return window.hacked") is None
    page.get_log("browser")


def test_nothing_is_fetched(page, path):
    page.get_log("performance")
    page.get(path.as_uri())
    sent = [
        entry["message"]
        for entry in page.get_log("performance")
        if '"Network.requestWillBeSent"' in entry["message"]
    ]
    assert len(sent) == 1 and path.name in sent[0], "the file itself, and nothing else"


def test_sorting(page):
    first = visible_rows(page)
    assert len(first) == 50
    assert [one[3] for one in first] == sorted((one[3] for one in first), reverse=True)
    assert head(page, "wrong").get_attribute("aria-sort") == "descending"
    button = head(page, "row").find_element(By.TAG_NAME, "button")
    button.click()
    rows = [one[0] for one in visible_rows(page)]
    assert rows == sorted(rows) and head(page, "row").get_attribute("aria-sort") == "ascending"
    assert head(page, "wrong").get_attribute("aria-sort") is None
    button.send_keys(Keys.ENTER)
    rows = [one[0] for one in visible_rows(page)]
    assert rows == sorted(rows, reverse=True)
    head(page, "label").find_element(By.TAG_NAME, "button").send_keys(Keys.SPACE)
    labels = [int(one[1]) for one in visible_rows(page)]
    assert labels == sorted(labels)
    head(page, "name").find_element(By.TAG_NAME, "button").click()
    rows = [one[0] for one in visible_rows(page)]
    assert rows == sorted(rows), "names with numbers sort by these"


def test_filtering(page):
    label = Select(page.find_element(By.ID, "by-label"))
    label.select_by_index(3)
    chosen = label.first_selected_option.get_attribute("value")
    assert {one[1] for one in visible_rows(page)} == {chosen}
    least = page.find_element(By.ID, "at-least")
    least.clear()
    least.send_keys("90")
    kept = visible_rows(page)
    assert kept and all(one[3] >= 0.9 and one[1] == chosen for one in kept)
    status = page.find_element(By.ID, "matches").text
    assert status.startswith(f"{len(kept)} of 1000 rows match")
    page.find_element(By.ID, "clear").click()
    assert len(visible_rows(page)) == 50
    wanted = visible_rows(page)[7][0]
    page.find_element(By.ID, "search").send_keys(f"<I>row</i> {wanted}")
    assert wanted in [one[0] for one in visible_rows(page)]
    page.find_element(By.ID, "search").send_keys("no such row")
    assert visible_rows(page) == []


def test_more_rows(page):
    page.find_element(By.ID, "more").send_keys(Keys.ENTER)
    assert len(visible_rows(page)) == 100
    focused = page.switch_to.active_element.text
    assert int(focused) == visible_rows(page)[50][0], "the keyboard goes on where it was"


def test_the_heat_map_by_keyboard_and_pointer(page):
    readout = page.find_element(By.ID, "readout")
    cells = page.find_elements(By.CSS_SELECTOR, "#heat tbody td")
    assert [cell.get_attribute("tabindex") for cell in cells].count("0") == 1
    page.execute_script("arguments[0].focus()", cells[0])
    assert "95 % interval" in readout.text
    page.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    page.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    page.switch_to.active_element.send_keys(Keys.ARROW_UP)
    assert page.switch_to.active_element == cells[1]
    page.switch_to.active_element.send_keys(Keys.ARROW_UP)
    assert page.switch_to.active_element == cells[1], "the rim is the end"
    assert readout.text == cells[1].get_attribute("aria-label")
    ActionChains(page).move_to_element(cells[12]).perform()
    assert readout.text == cells[12].get_attribute("aria-label")


def background(page):
    return page.execute_script("return getComputedStyle(document.body).backgroundColor")


def test_themes(page, path):
    light = background(page)
    button = page.find_element(By.ID, "theme")
    button.send_keys(Keys.ENTER)
    dark = background(page)
    assert light != dark and button.text == "Light theme"
    page.get(path.as_uri())
    assert background(page) == dark, "the choice is remembered"
    page.execute_script("localStorage.clear()")
    set_screen(page, 1280, dark=True)
    page.get(path.as_uri())
    assert background(page) == dark, "the system's choice is followed"
    page.find_element(By.ID, "theme").click()
    assert background(page) == light


CONTRASTS = """
const channel = (v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
const rgb = (colour, under) => {
  canvas.fillStyle = under; canvas.fillRect(0, 0, 1, 1);
  canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
};
const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const page = getComputedStyle(document.body).backgroundColor;
const found = [];
for (const e of document.querySelectorAll('p, h1 span, h2, dt, dd, th, td, caption, a, button, figcaption')) {
  let ground = e;
  while (ground && getComputedStyle(ground).backgroundColor === 'rgba(0, 0, 0, 0)') ground = ground.parentElement;
  const back = light(rgb(ground ? getComputedStyle(ground).backgroundColor : page, page));
  const ink = light(rgb(getComputedStyle(e).color, page));
  const ratio = (Math.max(back, ink) + 0.05) / (Math.min(back, ink) + 0.05);
  if (e.textContent.trim() && ratio < 4.5) found.push([e.tagName, e.className, ratio, e.textContent.slice(0, 30)]);
}
return found.slice(0, 5);
"""  # noqa: E501


@pytest.mark.parametrize("dark", [False, True])
def test_text_stands_out_in_both_themes(page, path, dark):
    set_screen(page, 1280, dark=dark)
    page.get(path.as_uri())
    assert page.execute_script(CONTRASTS) == []


@pytest.mark.parametrize("width", [360, 768, 1600])
def test_no_screen_is_too_narrow(page, path, width):
    set_screen(page, width)
    page.get(path.as_uri())
    assert page.execute_script("return document.documentElement.scrollWidth") <= width


def test_keyboard_reaches_everything_and_can_skip(page):
    page.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
    skip = page.switch_to.active_element
    assert skip.text == "Skip to the verdict" and skip.is_displayed()
    skip.send_keys(Keys.ENTER)
    assert page.switch_to.active_element.get_attribute("id") == "main"
    unreachable = page.execute_script(
        "return [...document.querySelectorAll('button, input, select, a')]"
        ".filter(e => e.tabIndex < 0).length"
    )
    assert unreachable == 0


def test_without_script_the_page_is_complete(page, path):
    page.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        page.get(path.as_uri())
        # The driver's own scripts may still run.
        assert len(page.find_elements(By.CSS_SELECTOR, "#suspects tbody tr")) == 1000
        assert not page.find_element(By.ID, "filters").is_displayed()
        cell = page.find_element(By.CSS_SELECTOR, "#heat tbody td")
        assert "95 % interval" in cell.get_attribute("title")
    finally:
        page.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_printing(page):
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert not page.find_element(By.ID, "filters").is_displayed()
        assert not page.find_element(By.ID, "theme").is_displayed()
        assert page.find_element(By.TAG_NAME, "h1").is_displayed()
    finally:
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def downloaded(page, folder, button, name):
    page.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)}
    )
    page.find_element(By.ID, button).click()
    deadline = time.monotonic() + 20
    while not (folder / name).exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    return folder / name


def test_decisions_are_downloaded_as_a_verdict_file(page, path, tmp_path):
    X, _, seen, _ = confused_digits()
    assert not page.find_element(By.ID, "verdicts").is_enabled()
    rows = page.find_elements(By.CSS_SELECTOR, "#suspects tbody tr")[:4]
    numbers = [int(one.find_element(By.TAG_NAME, "th").text) for one in rows]

    def press(row, text):
        buttons = row.find_elements(By.CSS_SELECTOR, ".decide button")
        next(one for one in buttons if one.text == text).click()

    press(rows[0], "Keep")
    press(rows[1], "Change")
    press(rows[2], "Skip")
    press(rows[3], "Other")
    Select(page.switch_to.active_element).select_by_index(2)
    assert page.find_element(By.ID, "decided").text.startswith("4 decided")
    page.get(path.as_uri())
    assert page.find_element(By.ID, "decided").text.startswith("4 decided"), "kept in the page"
    file = downloaded(page, tmp_path, "verdicts", "verdicts.csv")
    found = read_verdicts(file)
    columns = hostile_columns(len(X))
    checked = match_verdicts(found, columns, HOSTILE[seen], keys=columns.index)
    assert checked.notes == [] and np.flatnonzero(checked.known).tolist() == sorted(
        numbers[i] for i in (0, 1, 3)
    )
    assert checked.y_true[numbers[0]] == HOSTILE[seen][numbers[0]]
    assert checked.y_true[numbers[1]] != HOSTILE[seen][numbers[1]]
    assert checked.y_true[numbers[3]] == sorted(HOSTILE)[1]
    assert checked.skipped.tolist() == [numbers[2]]
    assert not checked.representative.any(), "they were chosen for looking wrong"
    labels = downloaded(page, tmp_path, "corrected", "corrected_labels.csv").read_text()
    assert labels.startswith("key,label_before,label,label_source\n") and labels.count("\n") == 5
    page.find_element(By.ID, "forget").click()
    assert not page.find_element(By.ID, "verdicts").is_enabled()


def test_the_buttons_cover_no_cell(browser, tmp_path):
    rng = np.random.RandomState(0)
    y = np.array(["cat", "rabbit"])[rng.randint(2, size=80)]
    model = UnconfusedLogisticRegression(l2=1e-2, relabel=0)
    X = rng.randn(80, 2)
    columns = pd.DataFrame({"weight": np.abs(X[:, 0]), "colour": "brown"})
    columns["text"] = "carrot ears hay hutch and owner food its often food"
    columns.index = [f"p{row:03d}" for row in range(80)]
    found = write_report(
        model.fit(X, y), X, y, tmp_path / "report.html", row_columns=columns, row_text="text",
        random_state=0,
    )  # fmt: skip
    set_screen(browser, 1280)
    browser.get(found.as_uri())
    room = browser.execute_script(
        "return [...document.querySelectorAll('#suspects tbody tr:not([hidden]) .decide')].map(e =>"
        " e.getBoundingClientRect().left - e.previousElementSibling.getBoundingClientRect().right)"
    )
    assert len(room) > 40 and min(room) > -1


def test_three_classes_fit_a_phone(browser, tmp_path):
    """Nothing of the matrix and its tables is out of sight."""
    X = np.random.RandomState(0).randn(300, 2)
    truth = np.array(["basic", "golden", "silver"])[(X[:, 0] > -0.5).astype(int) + (X[:, 1] > 0)]
    C = noise.symmetric(3, 0.3)
    labels = noise.corrupt_labels(truth, C, random_state=0)
    y_true = np.where(np.arange(300) < 60, truth, None)
    model = UnconfusedLogisticRegression(l2=1e-3, relabel=0).fit(X, labels, y_true=y_true)
    path = write_report(model, X, labels, tmp_path / "r.html", y_true=y_true, sensitivity=False)
    set_screen(browser, 390)
    browser.get(path.as_uri())
    hidden = "return [...document.querySelectorAll('#confusion .scroll, #mix .scroll')].map("
    hidden += "one => one.scrollWidth - one.clientWidth)"
    assert browser.execute_script(hidden) == [0, 0, 0]
