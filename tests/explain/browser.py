"""A headless Chromium, driven over its DevTools protocol by a pipe: nothing but the standard library.

    with Browser() as b:
        page = b.open("file:///tmp/x.html")
        page.run("document.title")      # what the expression is
        page.press("ArrowRight")
        page.errors                     # what its console complained of

NoBrowser says why there is none: none is installed, or it does not start here.
"""
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
PATIENCE = 120  # seconds for an answer, on a machine with much to do
KEYS = {" ": "Space"}  # a key's code, where that is not its name


class NoBrowser(Exception):
    pass


class PageError(Exception):
    pass


class Browser:
    def __init__(self):
        program = next((p for p in map(shutil.which, NAMES) if p), None)
        if not program:
            raise NoBrowser("there is no Chromium")
        self.folder = tempfile.TemporaryDirectory()
        to_read, to_write = os.pipe(), os.pipe()  # it reads 3, and writes 4

        def descriptors():
            a, b = os.dup(to_read[0]), os.dup(to_write[1])
            os.dup2(a, 3)
            os.dup2(b, 4)

        options = ["--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--no-first-run",
                   "--disable-dev-shm-usage", "--user-data-dir=" + self.folder.name]
        if os.geteuid() == 0:
            options.append("--no-sandbox")  # root has none
        self.process = subprocess.Popen([program, *options, "about:blank"], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False,
                                        preexec_fn=descriptors)
        os.close(to_read[0])
        os.close(to_write[1])
        self.output, self.input = to_read[1], to_write[0]
        self.rest, self.number, self.events = b"", 0, []
        try:
            self.call("Browser.getVersion")
        except PageError as e:
            self.close()
            raise NoBrowser(f"Chromium does not start: {e}") from e

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for fd in (self.output, self.input):
            os.close(fd)
        self.process.terminate()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder.name, ignore_errors=True)
        self.folder.cleanup()

    def receive(self, until):
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.input], [], [], max(0, until - time.monotonic()))
            part = os.read(self.input, 1 << 20) if ready else b""
            if not part:
                raise PageError("it ended" if ready else f"no answer for {PATIENCE} s")
            self.rest += part
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=None, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        try:
            data = json.dumps(message).encode() + b"\0"
            while data:
                data = data[os.write(self.output, data):]
        except BrokenPipeError as e:
            raise PageError("it ended") from e
        until = time.monotonic() + PATIENCE
        while True:
            answer = self.receive(until)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise PageError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, url, script=True, width=1400, height=1000, dark=False, calm=False, before=""):
        return Page(self, url, script, width, height, dark, calm, before)


class Page:
    def __init__(self, browser, url, script, width, height, dark, calm, before):
        self.browser, self.errors = browser, []
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.target = target
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if calm else "no-preference"}])
        if before:
            self.call("Page.addScriptToEvaluateOnNewDocument", source=before)
        if not script:
            self.call("Emulation.setScriptExecutionDisabled", value=True)
        self.call("Page.navigate", url=url)
        self.wait_event("Page.loadEventFired")

    def call(self, method, **params):
        result = self.browser.call(method, self.session, **params)
        self.look()
        return result

    # Complaints of the console, exceptions, and whatever was fetched beside the page itself.
    def look(self):
        left = []
        for e in self.browser.events:
            params, method = e.get("params", {}), e.get("method")
            if e.get("sessionId") != self.session:
                left.append(e)
            elif method == "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                self.errors.append(details.get("exception", {}).get("description", details["text"]))
            elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
                self.errors.append(json.dumps(params["args"]))
            elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                self.errors.append(params["entry"]["text"])
            elif method == "Network.requestWillBeSent" and not params["documentURL"] == params["request"]["url"]:
                self.errors.append("asks for " + params["request"]["url"])
            elif method == "Page.javascriptDialogOpening":
                self.errors.append("opens a dialog: " + params["message"])
            else:
                left.append(e)
        self.browser.events = left

    def wait_event(self, name):
        until = time.monotonic() + PATIENCE
        while True:
            self.look()
            for e in self.browser.events:
                if e.get("method") == name and e.get("sessionId") == self.session:
                    self.browser.events.remove(e)
                    return
            self.browser.events.append(self.browser.receive(until))

    def run(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise PageError(details.get("exception", {}).get("description", details["text"]))
        return result["result"].get("value")

    def wait(self, expression):
        until = time.monotonic() + PATIENCE
        while not self.run(expression):
            if time.monotonic() > until:
                raise PageError(f"not within {PATIENCE} s: {expression}")
            time.sleep(0.05)

    def press(self, key):
        text = {"text": key} if len(key) == 1 else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=KEYS.get(key, key),
                      **(text if kind == "keyDown" else {}))

    # At an element's middle, with the mouse.
    def point(self, selector, open_details=False):
        x, y = self.run(f"""(() => {{
            const e = document.querySelector({json.dumps(selector)});
            if ({json.dumps(open_details)})
                e.closest("details").open = true;
            e.scrollIntoView({{ block: "center" }});
            const r = e.getBoundingClientRect();
            return [r.x + r.width / 2, r.y + r.height / 2];
        }})()""")
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def picture(self, file):
        import base64
        with open(file, "wb") as f:
            f.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)
