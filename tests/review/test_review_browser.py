"""The review page in a browser: verdicts, undo, reload, kill -9, two tabs, hostile text."""

import os
import signal
import subprocess
import sys

import pandas as pd
import pytest
from browsers import needs_browser, open_browser
from reviews import HOSTILE, animals_session, serving, write_animals
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from unconfused.review import read_verdicts

pytestmark = needs_browser


@pytest.fixture(scope="module")
def browser():
    with open_browser() as driver:
        yield driver


@pytest.fixture
def folder(tmp_path):
    write_animals(tmp_path / "animals.csv", 90)
    return tmp_path


@pytest.fixture
def session(folder):
    return animals_session(folder, by="suspicion")


@pytest.fixture
def page(browser, session):
    with serving(session) as server:
        browser.get(server.url)
        row(browser)
        yield browser


def wait(browser, condition):
    return WebDriverWait(browser, 20, poll_frequency=0.05).until(lambda _: condition())


def row(browser):
    return wait(browser, lambda: browser.find_element(By.ID, "row-title").text)


def press(browser, key):
    before = browser.find_element(By.ID, "message").text, row(browser)
    browser.find_element(By.TAG_NAME, "body").send_keys(key)
    wait(browser, lambda: (browser.find_element(By.ID, "message").text, row(browser)) != before)


def key_of(browser):
    return row(browser).removeprefix("Row ")


def test_keys_answer_and_undo(page, session):
    first = key_of(page)
    label = page.find_element(By.ID, "label").text
    press(page, "k")
    assert read_verdicts(session.path).settled[first].verdict == label
    second = key_of(page)
    suggested = page.find_element(By.CSS_SELECTOR, "#suggestion bdi").text
    press(page, "s")
    assert read_verdicts(session.path).settled[second].verdict == suggested
    third = key_of(page)
    chosen = page.find_element(By.CSS_SELECTOR, "#classes button:nth-child(2) bdi").text
    press(page, "2")
    assert read_verdicts(session.path).settled[third].verdict == chosen
    fourth = key_of(page)
    press(page, "x")
    assert read_verdicts(session.path).skipped == {fourth}
    assert page.find_element(By.CSS_SELECTOR, "#facts dd").text == "3 of 90"
    press(page, "u")
    assert key_of(page) == fourth
    press(page, "u")
    assert key_of(page) == third and set(read_verdicts(session.path).settled) == {first, second}


def test_classes_that_are_digits_have_their_own_keys(browser, folder):
    table = pd.read_csv(folder / "animals.csv")
    table["kind"] = table["kind"].map({"cat": 0, "dog": 3, "<b>hen</b>": 7})
    table.to_csv(folder / "animals.csv", index=False)
    session = animals_session(folder)
    with serving(session) as server:
        browser.get(server.url)
        asked = key_of(browser)
        press(browser, "7")
        assert read_verdicts(session.path).settled[asked].verdict == "7"


def test_another_class_by_name(page, session):
    asked = key_of(page)
    page.find_element(By.TAG_NAME, "body").send_keys("/")
    field = page.switch_to.active_element
    assert field.get_attribute("id") == "find"
    field.send_keys("kds")  # no shortcuts while typing
    assert key_of(page) == asked and not session.verdicts.settled
    field.send_keys(Keys.ESCAPE)
    field.send_keys("lizard", Keys.ENTER)
    wait(page, lambda: key_of(page) != asked)
    assert read_verdicts(session.path).settled[asked].verdict == "lizard"


def test_reload_and_two_tabs(page, session):
    asked = key_of(page)
    page.refresh()
    assert key_of(page) == asked
    first = page.current_window_handle
    page.switch_to.new_window("tab")
    page.get(page_url := session_url(page, first))
    assert page_url and key_of(page) != asked
    press(page, "k")
    page.close()
    page.switch_to.window(first)
    assert key_of(page) == asked
    press(page, "k")
    assert len(read_verdicts(session.path).settled) == 2
    assert not read_verdicts(session.path).conflicts


def session_url(page, window):
    here = page.current_window_handle
    page.switch_to.window(window)
    url = page.current_url
    page.switch_to.window(here)
    return url


def test_hostile_text_stays_text(page):
    assert page.execute_script("return window.hacked") is None
    shown = page.execute_script("return document.querySelector('#cells').textContent")
    assert HOSTILE in shown
    assert page.execute_script("return document.querySelectorAll('main img, main b').length") == 0
    assert "<b>hen</b>" in page.find_element(By.ID, "classes").text
    assert [one for one in page.get_log("browser") if one["level"] == "SEVERE"] == []
    page.execute_script(
        "const s = document.createElement('script'); s.textContent = 'window.hacked = 7';"
        "document.body.append(s);"
    )
    assert page.execute_script("return window.hacked") is None
    page.get_log("browser")


def test_without_the_token_there_is_nothing(page):
    bare = page.current_url.split("?")[0]
    page.get(bare)
    assert "lacks the token" in page.find_element(By.TAG_NAME, "body").text


@pytest.mark.parametrize("width", [360, 1280])
def test_no_screen_is_too_narrow_and_everything_has_a_name(page, width):
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    assert page.execute_script("return document.documentElement.scrollWidth") <= width
    nameless = page.execute_script(
        "return [...document.querySelectorAll('button, input')].filter(e => e.offsetParent && "
        "!(e.textContent.trim() || e.labels?.length || e.ariaLabel)).length"
    )
    assert nameless == 0
    assert page.find_element(By.ID, "message").get_attribute("role") == "status"
    assert page.switch_to.active_element.get_attribute("id") == "row-title", "read out at once"


def test_kill_9_loses_nothing(browser, folder):
    command = [
        sys.executable, "-m", "unconfused", "review", "animals.csv", "--label", "kind", "--id",
        "name", "--ignore", "remark,photo", "--no-browser", "--by", "suspicion",
    ]  # fmt: skip

    def start():
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
        url = next(line for line in process.stdout if line.startswith("http://"))
        return process, url.strip()

    process, url = start()
    try:
        browser.get(url)
        row(browser)
        for _ in range(3):
            press(browser, "k")
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert len(read_verdicts(folder / "verdicts.csv").settled) == 3
        browser.find_element(By.TAG_NAME, "body").send_keys("k")
        said = browser.find_element(By.ID, "message")
        wait(browser, lambda: "does not respond" in said.text)
        browser.get_log("browser")
        process.stdout.close()
        process, url = start()
        browser.get(url)
        row(browser)
        assert browser.find_element(By.CSS_SELECTOR, "#facts dd").text == "3 of 90"
        press(browser, "k")
        assert len(read_verdicts(folder / "verdicts.csv").settled) == 4
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
