#!/usr/bin/env python3
"""The VS Code extension, in node with a stand-in for VS Code (panel.js): its client of `ccc lsp`, and what its panel shows,
in a headless Chromium.     usage: panel_test.py BUILD"""
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build")
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "explain"))
from browser import Browser, NoBrowser  # noqa: E402

LIMIT = 60  # seconds, after which a missing element is a failure
RING = """schedule ring
  implements allreduce(inout data[N])
  on ring
{
  for s in 0..N-1 {
    step {
      send   data[(rank - s) % N]     to   next
      reduce data[(rank - s - 1) % N] from prev
    }
  }
  for s in 0..N-1 {
    step {
      send data[(rank - s + 1) % N] to   next
      recv data[(rank - s) % N]     from prev
    }
  }
}
"""
# What VS Code gives a page: its state, which the next page has, too.
API = """{ const state = %s; window.kept = null;
window.acquireVsCodeApi = () => ({ getState: () => state, setState: (s) => { window.kept = s; } }); }"""
failed = False


def check(what, value, seen=None):
    global failed
    if not value:
        failed = True
        print("# " + json.dumps(seen)[:1000])
    print(("ok - " if value else "not ok - ") + what, flush=True)


class Editor:
    """A user, and the visible page."""

    def __init__(self, folder, ccc):
        share = os.path.join(BUILD, "share", "ccs", "vscode")
        self.extension = shutil.copytree(share, os.path.join(folder, "ccs"))  # as users copy it
        self.p = subprocess.Popen(["node", os.path.join(HERE, "panel.js"), self.extension, ccc],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.rest, self.seen = b"", []

    def do(self, **what):
        self.p.stdin.write(json.dumps(what).encode() + b"\n")
        self.p.stdin.flush()

    def until(self, key, holds=lambda value: True):
        while True:
            line, end, rest = self.rest.partition(b"\n")
            if end:
                self.rest = rest
                self.seen.append(json.loads(line))
                if key in self.seen[-1] and holds(self.seen[-1][key]):
                    return self.seen[-1]
                continue
            if not select.select([self.p.stdout], [], [], LIMIT)[0]:
                raise LookupError(f"{key} is not seen, but {[list(s) for s in self.seen]}")
            more = os.read(self.p.stdout.fileno(), 1 << 20)
            if not more:
                raise LookupError("the extension has ended")
            self.rest += more

    def answer(self, what, *arguments):
        self.do(ask=what, arguments=arguments)
        return self.until("asked")["answer"]


def client(e, folder):
    e.do(open=os.path.join(folder, "my ring.ccs"), text=RING)
    seen = e.until("lenses", lambda v: v and ";" in v[0]["title"])["lenses"]
    check("a lens over the schedule", seen[0]["title"] ==
          "N = 4: 2(N-1) = 6 steps, 1.50 S per rank, 0 slots; draw" and seen[0]["command"] == "ccc.draw", seen)
    hover = e.answer("hover", 6, 8)
    check("hover", "send X to P" in hover["contents"]["value"], hover)
    e.do(type=RING.replace("from prev", "from perv", 1))
    check("diagnostics", e.until("findings", bool)["findings"] == ["E0201"])
    actions = e.answer("actions", 7)
    check("a fix, and the code explained", [a["title"] for a in actions] == ["Write `prev`", "Explain E0201"] and
          actions[0]["edit"]["edits"][0]["newText"] == "prev", actions)
    e.do(run="ccc.explain", arguments=["E0201"])
    check("... the explanation is shown", "name" in e.until("message")["message"])
    e.do(type=RING.replace("  on ring", "    on ring"))
    edits = e.answer("format")
    check("formatting", len(edits) == 1 and edits[0]["newText"] == "  on ring\n", edits)
    e.do(type=RING)
    check("the text is right again", e.until("findings", lambda v: not v)["findings"] == [])
    return seen[0]["arguments"]


class Shown:
    """A page of the panel, in a browser; without one, its text."""

    def __init__(self, browser, page, folder, state=None):
        self.text = page
        file = os.path.join(folder, "panel.html")
        with open(file, "w", encoding="utf-8") as f:
            f.write(page)
        self.page = browser.open("file://" + file, before=API % json.dumps(state))

    def run(self, expression):
        return self.page.run(expression)


def panel(e, folder, browser, what):
    e.do(run="ccc.draw", arguments=what)
    seen = e.until("page")
    s = Shown(browser, seen["page"], folder)
    check("the lens opens a panel with the schedule's page", seen["title"] == "ring" and
          "ring: allreduce on 4 ranks" in s.run("document.title"), [seen["title"], s.run("document.title")])
    check("... with its picture: 6 steps of 4 messages",
          s.run("document.querySelectorAll('#picture .message').length") == 24)
    s.page.press("End")
    s.page.wait("window.kept !== null")
    kept = s.run("window.kept")
    check("... that plays, and keeps its place", kept == s.run("document.querySelector('#player').dataset.at") and
          int(kept) == 6, kept)
    check("... without a complaint", not s.page.errors, s.page.errors)

    e.do(type=RING.replace("recv data[(rank - s)", "recv data[(rank)"))
    s = Shown(browser, e.until("page")["page"], folder, "2")
    check("the page is renewed as the text changes: now wrong", "E0402" in s.run("document.body.innerText"),
          s.run("document.body.innerText")[:500])
    check("... and stands where it stood", s.run("document.querySelector('#player').dataset.at") == "2")
    check("... without a complaint", not s.page.errors, s.page.errors)
    e.do(type="// <script>alert(1)</script>\nschedule ring {")
    s = Shown(browser, e.until("page")["page"], folder)
    text = s.run("document.body.innerText")
    check("text with a mistake: what to do", text.startswith("correct line 2, then draw again"), text)
    check("... as text", not s.page.errors and s.run("document.scripts.length") == 0, s.page.errors)
    e.do(type=RING)
    check("... and the picture again", "ring: allreduce on 4 ranks" in e.until("page")["page"])
    e.do(run="ccc.draw", arguments=what)
    check("the same schedule has one panel", e.until("revealed")["revealed"] == 0)
    e.until("page")
    e.do(close="panel")
    e.do(type=RING + RING.replace("schedule ring", "schedule other"))
    e.until("lenses", lambda v: len(v) == 2 and all(";" in lens["title"] for lens in v))
    e.do(cursor=RING.count("\n") + 3)
    e.do(run="ccs.draw")
    seen = e.until("page")
    check("the command draws the schedule at the cursor, in a new panel", seen["panel"] == 1 and
          seen["title"] == "other" and "other: allreduce" in seen["page"], [seen["panel"], seen["title"]])


def main():
    with open(os.path.join(BUILD, "share", "ccs", "vscode", "package.json"), encoding="utf-8") as f:
        check("the extension's package names its script",
              os.path.exists(os.path.join(BUILD, "share", "ccs", "vscode", json.load(f)["main"])))
    if not shutil.which("node"):
        print("skip - the VS Code extension: there is no node")
        return
    with tempfile.TemporaryDirectory() as folder:
        e = Editor(os.path.join(folder), os.path.join(BUILD, "bin", "ccc"))
        what = client(e, folder)
        try:
            with Browser() as browser:
                panel(e, folder, browser, what)
        except NoBrowser as why:
            print(f"skip - the VS Code extension's panel in a browser: {why}")
        e.do(end=True)
        check("it ends its server, and then ends", e.p.wait(LIMIT) == 0 and not any("error" in s for s in e.seen),
              [s for s in e.seen if "error" in s])
    with tempfile.TemporaryDirectory() as folder:
        e = Editor(folder, os.path.join(folder, "no-ccc"))
        check("without ccc: what to do", "set ccs.command to the path of ccc" in e.until("error")["error"])
        e.do(end=True)
        check("... and it ends", e.p.wait(LIMIT) == 0)


try:
    main()
except (LookupError, subprocess.TimeoutExpired) as why:
    check("it goes to its end", False, repr(why))
sys.exit(failed)
