"""A client of `ccc lsp`: conversations with expected answers.

usage: client.py CCC DIRECTORY. Prints `ok - WHAT` and `not ok - WHAT` lines. Nothing here
asserts a time: every wait is for a message, with a limit after which the test has failed.
"""
import json
import os
import random
import select
import signal
import subprocess
import sys
import urllib.parse
import xml.etree.ElementTree

CCC, TMP = os.path.abspath(sys.argv[1]), os.path.realpath(sys.argv[2])
LIMIT = 60  # seconds until a message that does not come is a failure
failed = False


def check(what, value, seen=None):
    global failed
    print(("ok - " if value else "not ok - ") + what, flush=True)
    if not value:
        failed = True
        print("# " + json.dumps(seen)[:2000], flush=True)


def uri(name):
    return "file://" + urllib.parse.quote(os.path.join(TMP, name))


def write(name, text):
    with open(os.path.join(TMP, name), "w", encoding="utf-8") as f:
        f.write(text)
    return text


class Gone(Exception):
    pass


class Client:
    """One server, and its messages."""

    def __init__(self, *options):
        self.p = subprocess.Popen([CCC, "lsp", *options], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=TMP)
        self.bytes = b""
        self.sent = []  # notifications of the server
        self.answers = {}
        self.id = 0

    def raw(self, data):
        try:
            self.p.stdin.write(data)
            self.p.stdin.flush()
        except BrokenPipeError:
            raise Gone from None

    def send(self, **fields):
        body = json.dumps({"jsonrpc": "2.0", **fields}).encode()
        self.raw(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def notify(self, method, **params):
        self.send(method=method, params=params)

    def read(self):
        """The next message of the server."""
        while True:
            head, end, rest = self.bytes.partition(b"\r\n\r\n")
            if end:
                length = int(head.split(b":")[1])
                if len(rest) >= length:
                    self.bytes = rest[length:]
                    return json.loads(rest[:length])
            if not select.select([self.p.stdout], [], [], LIMIT)[0]:
                raise Gone("no message")
            more = os.read(self.p.stdout.fileno(), 1 << 16)
            if not more:
                raise Gone("the server has ended")
            self.bytes += more

    def until(self, holds):
        """Reads until a message for which it holds, which is returned."""
        while True:
            m = self.read()
            if "method" in m:
                self.sent.append(m)
            else:
                self.answers[json.dumps(m["id"])] = m
            if holds(m):
                return m

    def ask(self, method, **params):
        self.id += 1
        me = self.id
        self.send(id=me, method=method, params=params)
        return self.until(lambda m: m.get("id") == me and "method" not in m)

    def result(self, method, **params):
        return self.ask(method, **params).get("result")

    def error(self, method, **params):
        return self.ask(method, **params).get("error", {}).get("code")

    def start(self, encodings=None, refreshes=False, **settings):
        general = {"positionEncodings": encodings} if encodings else {}
        workspace = {"codeLens": {"refreshSupport": refreshes}}
        m = self.ask("initialize", processId=None, rootUri=None, initializationOptions=settings,
                     capabilities={"general": general, "workspace": workspace})
        self.notify("initialized")
        return m["result"]

    def open(self, name, text, version=1):
        self.notify("textDocument/didOpen", textDocument={
            "uri": uri(name), "languageId": "ccs", "version": version, "text": text})

    def change(self, name, version, *changes):
        self.notify("textDocument/didChange", contentChanges=list(changes),
                    textDocument={"uri": uri(name), "version": version})

    def about(self, method, name, line=0, character=0, **more):
        return self.result("textDocument/" + method, textDocument={"uri": uri(name)},
                           position={"line": line, "character": character}, **more)

    def findings(self, name, version, holds=lambda found: True):
        """The diagnostics of that version, when they are there, and it holds for them."""
        m = self.until(lambda m: m.get("method") == "textDocument/publishDiagnostics" and
                       m["params"]["uri"] == uri(name) and m["params"]["version"] == version and
                       holds(m["params"]["diagnostics"]))
        return m["params"]["diagnostics"]

    def wrong(self, name, version):
        """The same, of the check of values, before which those of the text may be sent."""
        return self.findings(name, version,
                             lambda found: any(f.get("code", "")[:3] in ("E03", "E04")
                                               for f in found))

    def refreshed(self):
        """The check has ended, and the lenses are to be asked for anew: answered."""
        m = self.until(lambda m: m.get("method") == "workspace/codeLens/refresh")
        self.send(id=m["id"], result=None)

    def lenses(self, name):
        """(line, title, picture) of each."""
        return [(m["range"]["start"]["line"], m["command"]["title"], m["command"]["arguments"][0])
                for m in self.about("codeLens", name)]

    def draw(self, name, **picture):
        m = self.ask("workspace/executeCommand", command="ccc.draw",
                     arguments=[{"uri": uri(name), **picture}])
        return m.get("result") or m["error"]["message"]

    def end(self):
        self.result("shutdown")
        self.notify("exit")
        return self.p.wait(LIMIT)


def span(lo_line, lo, hi_line, hi):
    return {"start": {"line": lo_line, "character": lo}, "end": {"line": hi_line, "character": hi}}


RING = """// Around the ring.
schedule ring(X = 2)
  implements allreduce(inout data[N])
  on ring
  where N >= X
{
  let mine = data_of(rank)
  for s in 0..N-1 {
    step {
      send   data[(mine - s) % N]     to   next
      reduce data[(mine - s - 1) % N] from prev
    }
  }
  for s in 0..N-1 {
    step {
      send data[(mine - s + 1) % N] to   next
      recv data[(mine - s) % N]     from prev
    }
  }
}

fn data_of(r) = r % N   // E0304 is a deadlock
"""


def conversation():
    c = Client("-n", "2,4")
    said = c.start()
    can = said["capabilities"]
    check("initialize answers what it can do", can["positionEncoding"] == "utf-16" and
          can["textDocumentSync"]["change"] == 2 and can["hoverProvider"] and
          can["definitionProvider"] and can["documentFormattingProvider"] and
          can["documentSymbolProvider"] and said["serverInfo"]["name"] == "ccc", said)
    check("a second initialize is refused", c.error("initialize", capabilities={}) == -32600)

    c.open("ring.ccs", RING)
    check("a right schedule has no findings", c.findings("ring.ccs", 1) == [])

    # typing: a letter is taken away, and the whole text is sent anew
    c.change("ring.ccs", 2, {"range": span(9, 6, 9, 10), "text": "sned"})
    wrong = c.findings("ring.ccs", 2)
    check("a syntax error has its code and its range", len(wrong) >= 1 and
          wrong[0]["code"] == "E0101" and wrong[0]["severity"] == 1 and
          wrong[0]["source"] == "ccc" and wrong[0]["range"]["start"] == {"line": 9,
                                                                        "character": 6}, wrong)
    c.change("ring.ccs", 3, {"range": span(9, 6, 9, 10), "text": "send"},
             {"range": span(9, 14, 9, 17), "text": "N"})
    c.change("ring.ccs", 4, {"text": RING.replace("recv data[(mine - s)", "recv data[(mine)")})
    wrong = c.wrong("ring.ccs", 4)
    check("the whole text sent anew is what is checked", wrong and
          wrong[0]["code"] == "E0402", wrong)
    places = [r for w in wrong for r in w["relatedInformation"]]
    check("... its notes are related information, or in the message",
          "rank" in wrong[0]["message"] and isinstance(places, list), wrong)
    c.change("ring.ccs", 5, {"text": RING})
    check("the right text again has none", c.findings("ring.ccs", 5) == [])

    # names
    hover = lambda *at: (c.about("hover", "ring.ccs", *at) or
                         {"contents": {"value": ""}})["contents"]["value"]
    check("hover: a keyword", "send X to P" in hover(9, 7), hover(9, 7))
    check("hover: a buffer with its shape", "inout data[N]" in hover(9, 14) and
          "N chunks" in hover(9, 14), hover(9, 14))
    check("hover: a parameter with its value", "X = 2" in hover(4, 14), hover(4, 14))
    check("hover: a name of the topology", "let next = (rank + 1) % N" in hover(9, 43),
          hover(9, 43))
    check("hover: a let", "let mine = data_of(rank)" in hover(9, 20), hover(9, 20))
    check("hover: a contract of the prelude, with its comment",
          "contract allreduce(inout data[C])" in hover(2, 15) and
          "sum over all ranks" in hover(2, 15), hover(2, 15))
    check("hover: a constant", "the number of ranks" in hover(4, 8), hover(4, 8))
    check("hover: a code in a comment", "E0304" in hover(21, 30) and
          "deadlock" in hover(21, 30).lower(), hover(21, 30))
    check("hover: nothing", c.about("hover", "ring.ccs", 20, 0) is None)
    check("definition: a fn further below", c.about("definition", "ring.ccs", 6, 15) ==
          {"uri": uri("ring.ccs"), "range": span(21, 3, 21, 10)},
          c.about("definition", "ring.ccs", 6, 15))
    check("definition: what the prelude has is in no file",
          c.about("definition", "ring.ccs", 9, 43) is None)
    uses = c.about("references", "ring.ccs", 6, 7, context={"includeDeclaration": True})
    check("references: a let", [u["range"]["start"]["line"] for u in uses] == [6, 9, 10, 15, 16],
          uses)
    check("highlights are the same places", [u["range"] for u in uses] ==
          [u["range"] for u in c.about("documentHighlight", "ring.ccs", 6, 7)])
    symbols = c.about("documentSymbol", "ring.ccs")
    check("symbols: the declarations", [(s["name"], s["detail"]) for s in symbols] ==
          [("ring", "schedule"), ("data_of", "fn")] and
          symbols[0]["selectionRange"] == span(1, 9, 1, 13), symbols)
    labels = [i["label"] for i in c.about("completion", "ring.ccs", 9, 6)]
    check("completion: words, functions, declarations",
          {"send", "switch", "cost", "latency", "ilog2", "torus", "data_of", "allreduce"} <= set(labels), labels)

    # renaming
    place = lambda *at: {"textDocument": {"uri": uri("ring.ccs")},
                         "position": {"line": at[0], "character": at[1]}}
    prepared = c.result("textDocument/prepareRename", **place(9, 20))
    check("prepareRename: the name and its range", prepared ==
          {"range": span(9, 19, 9, 23), "placeholder": "mine"}, prepared)
    check("... what the topology has cannot be renamed",
          c.result("textDocument/prepareRename", **place(9, 43)) is None)
    edits = c.result("textDocument/rename", newName="own", **place(9, 20))
    edits = edits["changes"][uri("ring.ccs")]
    check("rename: all its places, and no others",
          [e["range"]["start"]["line"] for e in edits] == [6, 9, 10, 15, 16] and
          {e["newText"] for e in edits} == {"own"}, edits)
    check("... a loop's name, in its loop alone", [e["range"]["start"]["line"] for e in c.result(
        "textDocument/rename", newName="turn", **place(7, 6))["changes"][uri("ring.ccs")]] ==
        [7, 9, 10])
    check("... the parameter of a fn", [e["range"] for e in c.result(
        "textDocument/rename", newName="of_rank", **place(21, 11))["changes"][uri("ring.ccs")]] ==
        [span(21, 11, 21, 12), span(21, 16, 21, 17)])
    for name, why in (("s", "would mean the loops'"), ("data", "is taken"), ("send", "a keyword"),
                      ("next", "would hide the topology's"), ("9x", "is no name"), ("", "nothing"),
                      ("a b", "two words"), ("x" * 256, "too long")):
        check("rename is refused: " + why, c.error(
            "textDocument/rename", newName=name, **place(9, 20)) == -32803)
    check("... of what another file defines", c.error(
        "textDocument/rename", newName="onward", **place(9, 43)) == -32803)
    check("... without a new name", c.error("textDocument/rename", **place(9, 20)) == -32803)
    check("... in the middle of nothing", c.error(
        "textDocument/rename", newName="onward", **place(20, 0)) == -32803)

    # formatting
    check("formatting: canonical text stays", c.about("formatting", "ring.ccs", options={}) == [])
    ugly = RING.replace("  let mine", "        let    mine")
    c.change("ring.ccs", 6, {"text": ugly})
    edits = c.about("formatting", "ring.ccs", options={})
    check("formatting: one edit, of the line that differs", len(edits) == 1 and
          edits[0]["range"] == span(6, 0, 7, 0) and
          edits[0]["newText"] == "  let mine = data_of(rank)\n", edits)
    c.change("ring.ccs", 7, {"text": RING.replace("{", "(", 1)})
    check("formatting: not with a mistake", c.about("formatting", "ring.ccs", options={}) is None)

    # fixes
    c.change("ring.ccs", 8, {"text": RING.replace("from prev", "from perv", 1)})
    wrong = c.findings("ring.ccs", 8)
    actions = c.result("textDocument/codeAction", textDocument={"uri": uri("ring.ccs")},
                       range=wrong[0]["range"], context={"diagnostics": wrong})
    edit = actions[0]["edit"]["changes"][uri("ring.ccs")]
    check("a code action for the fix", wrong[0]["code"] == "E0201" and
          actions[0]["kind"] == "quickfix" and edit[0]["newText"] == "prev" and
          edit[0]["range"] == wrong[0]["range"], actions)
    check("... and none elsewhere", c.result(
        "textDocument/codeAction", textDocument={"uri": uri("ring.ccs")},
        range=span(0, 0, 0, 1), context={"diagnostics": []}) == [])
    check("hover over a finding: what its code means", "unknown name" in
          hover(10, wrong[0]["range"]["start"]["character"]).lower())
    explain = actions[1]["command"]
    told = c.result("workspace/executeCommand", **explain)
    check("the code is explained", told and "E0201" in explain["title"] and
          any(m["method"] == "window/showMessage" and m["params"]["message"] == told
              for m in c.sent), told)
    check("... an unknown one is an error",
          c.error("workspace/executeCommand", command="ccc.explain", arguments=["E9"]) == -32602)
    c.change("ring.ccs", 9, {"range": edit[0]["range"], "text": edit[0]["newText"]})
    check("the text with the fix is right", c.findings("ring.ccs", 9) == [])

    # a fix that the whole check found, in a text that is on no disk
    c.change("ring.ccs", 10, {"text": RING.replace("recv data[(mine - s)",
                                                   "recv data[(mine - s - 1)")})
    wrong = c.wrong("ring.ccs", 10)
    actions = c.result("textDocument/codeAction", textDocument={"uri": uri("ring.ccs")},
                       range=wrong[0]["range"], context={"diagnostics": wrong})
    edit = actions[0]["edit"]["changes"][uri("ring.ccs")]
    check("a code action for a mistake of values", wrong[0]["code"] == "E0402" and
          "in line 17 makes it right" in actions[0]["title"], actions)
    c.change("ring.ccs", 11, {"range": edit[0]["range"], "text": edit[0]["newText"]})
    check("... makes the text right", c.findings("ring.ccs", 11) == [])

    # closing
    c.notify("textDocument/didClose", textDocument={"uri": uri("ring.ccs")})
    c.until(lambda m: m.get("method") == "textDocument/publishDiagnostics")
    check("a closed document has no findings", c.sent[-1]["params"]["diagnostics"] == [])
    check("... and is not asked about", c.error(
        "textDocument/hover", textDocument={"uri": uri("ring.ccs")},
        position={"line": 0, "character": 0}) == -32602)
    check("shutdown, exit: status 0", c.end() == 0)


def files():
    """Imports from the disk, and from other documents."""
    write("lib.ccs", "proc pass(d[1]) {\n  send d to (rank + 1) % N\n"
                     "  recv d from (rank + N - 1) % N\n}\n")
    main = 'import "lib.ccs"\ncontract any(inout x[C])\nschedule s implements any(inout x[1])' \
           ' where N > 1 { pass(x) }\n'
    c = Client("-n", "2..3")
    c.start()
    c.open("main file.ccs", main)
    c.change("main file.ccs", 2, {"text": main.replace("pass", "pas")})
    wrong = c.findings("main file.ccs", 2)
    check("an imported name is known", wrong[0]["code"] == "E0201" and
          "`pass`" in wrong[0]["message"], wrong)
    c.change("main file.ccs", 3, {"text": main})
    wrong = c.findings("main file.ccs", 3)
    check("a file of the disk is imported", all(w["severity"] > 1 for w in wrong), wrong)
    check("definition: in the other file", c.about("definition", "main file.ccs", 2, 56)["uri"]
          .endswith("/lib.ccs"), c.about("definition", "main file.ccs", 2, 56))
    check("definition: an import is its file", c.about("definition", "main file.ccs", 0, 10) ==
          {"uri": uri("lib.ccs"), "range": span(0, 0, 0, 0)})
    broken = "proc pass(d[1]) {\n  send d to rnak\n}\n"
    c.open("lib.ccs", broken)
    wrong = c.findings("main file.ccs", 3)
    check("what is open and not saved is imported instead", wrong[0]["code"] == "E0201" and
          wrong[0]["range"] == span(0, 7, 0, 16) and
          wrong[0]["relatedInformation"][0]["location"]["uri"] == uri("lib.ccs") and
          wrong[0]["relatedInformation"][0]["location"]["range"] == span(1, 12, 1, 16), wrong)
    c.change("lib.ccs", 2, {"text": "proc pass(d[1]) {\n  if rank == 0 { send d to 1 }\n}\n"})
    wrong = c.wrong("main file.ccs", 3)
    check("what a called proc does wrong is told at the call", wrong[0]["code"] == "E0301" and
          wrong[0]["range"] == span(2, 52, 2, 59) and
          wrong[0]["relatedInformation"][0]["location"] ==
          {"uri": uri("lib.ccs"), "range": span(1, 17, 1, 28)}, wrong)
    c.notify("textDocument/didClose", textDocument={"uri": uri("lib.ccs")})
    wrong = c.findings("main file.ccs", 3)
    check("... and, closed, no more", all(w["severity"] > 1 for w in wrong), wrong)
    os.remove(os.path.join(TMP, "lib.ccs"))
    c.notify("workspace/didChangeWatchedFiles", changes=[{"uri": uri("lib.ccs"), "type": 3}])
    wrong = c.findings("main file.ccs", 3)
    check("a file that vanishes is an error at its import", wrong[0]["code"] == "E0201" and
          "lib.ccs" in wrong[0]["message"] and wrong[0]["range"] == span(0, 7, 0, 16), wrong)
    c.notify("textDocument/didOpen", textDocument={
        "uri": "untitled:Untitled-1", "languageId": "ccs", "version": 1, "text": "let a = b\n"})
    m = c.until(lambda m: m.get("method") == "textDocument/publishDiagnostics" and
                m["params"]["uri"] == "untitled:Untitled-1")
    check("a document without a file", m["params"]["diagnostics"][0]["code"] == "E0201", m)
    c.notify("textDocument/didOpen", textDocument={
        "uri": "file:///dev/stdin", "languageId": "ccs", "version": 1, "text": "let a = b\n"})
    m = c.until(lambda m: m.get("method") == "textDocument/publishDiagnostics" and
                m["params"]["uri"] == "file:///dev/stdin")
    check("a document called as the standard input", len(m["params"]["diagnostics"]) == 1, m)
    check("status 0", c.end() == 0)


def encodings():
    text = 'let a = 1 // \U0001d11e\u00e4\r\nassert2\nlet s = 1 /* \U0001d11e */ + x\n'
    for offered, name, column in ((None, "utf-16", 21), (["utf-16"], "utf-16", 21),
                                  (["utf-16", "utf-8"], "utf-8", 23)):
        c = Client()
        check("%s for %s" % (name, offered),
              c.start(offered)["capabilities"]["positionEncoding"] == name)
        c.open("e.ccs", text.replace("assert2\n", ""))
        wrong = c.findings("e.ccs", 1)
        check("... a column behind a character of two units", wrong[0]["range"] ==
              span(1, column, 1, column + 1), wrong)
        c.change("e.ccs", 2, {"range": wrong[0]["range"], "text": "a"})
        wrong = c.findings("e.ccs", 2)
        check("... is that of an edit, too", wrong == [], wrong)
        renamed = c.about("rename", "e.ccs", 0, 4, newName="longer")["changes"][uri("e.ccs")]
        check("... and of a name", [e["range"] for e in renamed] ==
              [span(0, 4, 0, 5), span(1, column, 1, column + 1)], renamed)
        c.change("e.ccs", 3, {"range": span(900, 0, 900, 5), "text": "let z = y"})
        check("... beyond the end is the end", c.findings("e.ccs", 3)[0]["range"]["start"] ==
              {"line": 2, "character": 8})
        c.end()


SLOW = """schedule slow
  implements allreduce(inout data[N])
{
  let n = f(0)
  for i in 0..n { for j in 0..n { for k in 0..n { if i + j + k < 0 { send data to rank } } } }
}
fn f(a) = 400000
"""


def long_checks():
    """An endless check delays no request, and the newest text wins."""
    c = Client("-n", "2")
    c.start(seconds=3600)
    for version in range(1, 20):
        c.open("slow.ccs", SLOW, version)
    c.open("ok.ccs", "let a = 1\n")
    check("requests are answered while a check runs",
          "number" in c.about("hover", "slow.ccs", 1, 34)["contents"]["value"])
    c.change("slow.ccs", 20, {"text": SLOW.replace("f(0)", "g(0)")})
    check("the newest text wins", c.findings("slow.ccs", 20)[0]["code"] == "E0201")
    check("an older one is not published", not any(
        m["params"].get("version", 99) < 20 and m["params"]["diagnostics"]
        for m in c.sent if m["method"] == "textDocument/publishDiagnostics" and
        m["params"]["uri"] == uri("slow.ccs")))
    check("status 0, with a check running or not", c.end() == 0)

    c = Client()
    c.start(seconds=0.2, arguments=["-n", "2"])
    c.open("ok.ccs", "let a = 1\n")
    c.findings("ok.ccs", 1)
    c.open("slow.ccs", SLOW)
    c.about("hover", "slow.ccs")
    c.notify("textDocument/didClose", textDocument={"uri": uri("ok.ccs")})  # which ends the check
    m = c.until(lambda m: m.get("method") == "textDocument/publishDiagnostics" and
                m["params"]["diagnostics"])
    found = m["params"]["diagnostics"]
    check("a check that takes too long is stopped, and that is said, or over a limit",
          any("stopped after" in f["message"] or f.get("code") == "E0204" for f in found), found)
    c.end()


def children(pid):
    """Processes that it has started, and that still run."""
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as f:
        return [int(word) for word in f.read().split()]


def killed_check():
    """What the front end says comes first where the rest takes its time, and stays if that dies."""
    c = Client("-n", "2")
    c.start(seconds=3600)
    c.open("slow.ccs", SLOW)
    first = c.findings("slow.ccs", 1)
    check("what the front end finds comes before a long check is over",
          [f["code"] for f in first] == ["W0201"], first)
    for child in children(c.p.pid):
        os.kill(child, signal.SIGKILL)
    last = c.findings("slow.ccs", 1)
    check("a check that dies is told beside it", len(last) == 2 and last[0] == first[0] and
          "ended without a result" in last[1]["message"], last)
    c.end()

SWAPPED = RING.replace("recv data[(mine - s)", "recv data[(mine)")


def titles(c, name):
    return [title for _, title, _ in c.lenses(name)]


ROOTED = """schedule ok
  implements broadcast(inout data[1]; root = 0)
  where N == 3
{
  if rank == 0 { for p in 1..N { send data[0] to p } } else { recv data[0] from 0 }
}

schedule rooted(root)
  implements broadcast(inout data[1]; root = root)
  where N == 3
{
  if rank == 0 { for p in 1..N { send data[0] to p } } else { recv data[0] from 0 }
}
"""


def lenses():
    """What stands above a schedule, and when."""
    c = Client()
    can = c.start(refreshes=True)["capabilities"]
    check("lenses are offered, and the command", can["codeLensProvider"] == {} and
          "ccc.draw" in can["executeCommandProvider"]["commands"], can)
    c.open("ring.ccs", RING)
    c.refreshed()
    check("a lens of a right schedule: steps for every N, volume, slots; it draws that N",
          c.lenses("ring.ccs") == [
              (1, "N = 4: 2(N-1) = 6 steps, 1.50 S per rank, 0 slots; draw",
               {"uri": uri("ring.ccs"), "schedule": "ring", "n": 4})], c.lenses("ring.ccs"))
    c.change("ring.ccs", 2, {"text": SWAPPED})
    c.refreshed()
    seen = c.lenses("ring.ccs")
    check("... of a wrong one: its first error", len(seen) == 1 and
          seen[0][1] == "E0402 at N = 3; draw" and seen[0][2]["n"] == 3, seen)
    c.change("ring.ccs", 3, {"text": RING.replace("{", "(", 1)})
    c.refreshed()
    check("... with a syntax error: no figures", all(t == "draw" for t in titles(c, "ring.ccs")),
          c.lenses("ring.ccs"))
    c.open("rooted.ccs", ROOTED)
    c.refreshed()
    seen = c.lenses("rooted.ccs")
    check("... of two, one wrong for another root", [s[:2] for s in seen] == [
        (0, "N = 3: 2 steps, 2.00 S per rank, 0 slots; draw"),
        (7, "E0405 at N = 3, root = 1; draw")] and seen[1][2]["root"] == 1, seen)
    about = {**seen[1][2], "format": "svg"}
    del about["uri"]
    drawn = c.draw("rooted.ccs", **about)
    check("... whose picture is that of this root", 'data-code="E0405"' in drawn,
          drawn[:600])
    c.open("procs.ccs", "proc pass(d[1]) {\n  send d to rank\n}\n")
    check("a file without a schedule has none", c.lenses("procs.ccs") == [])
    c.end()

    c = Client("-n", "3")
    c.start()
    c.open("ring.ccs", RING)
    c.findings("ring.ccs", 1)
    check("one N that was asked for", titles(c, "ring.ccs") ==
          ["N = 3: 4 steps, 1.33 S per rank, 0 slots; draw"], c.lenses("ring.ccs"))
    check("... is what is drawn", "on 3 ranks" in c.draw("ring.ccs"))
    c.ask("textDocument/none")
    check("a client that knows no refresh is not asked", not any(
        m["method"] == "workspace/codeLens/refresh" for m in c.sent))
    c.end()

    c = Client("-n", "2")
    c.start(seconds=3600)
    c.open("slow.ccs", SLOW)
    check("a check that has not ended: no figures", titles(c, "slow.ccs") == ["draw"])
    c.end()


def is_svg(text):
    return text.startswith("<") and xml.etree.ElementTree.fromstring(text).tag.endswith("svg")


def pictures():
    """ccc.draw: the text as it is in the editor."""
    c = Client()
    c.start()
    write("ring.ccs", "this is not what is drawn")
    c.open("ring.ccs", RING)
    drawn = c.draw("ring.ccs", schedule="ring", n=3)
    check("a picture of a right schedule", is_svg(drawn) and "allreduce on 3 ranks" in drawn,
          drawn[:300])
    write("alike.ccs", RING)
    said = subprocess.run([CCC, "explain", os.path.join(TMP, "alike.ccs"), "-n", "3",
                           "--format=svg"], capture_output=True, text=True, check=True).stdout
    check("... is that of ccc explain", drawn.replace("ring.ccs", "alike.ccs") == said,
          [drawn[:200], said[:200]])
    page = c.draw("ring.ccs", schedule="ring", n=3, format="html")
    check("... as a page", page.lower().startswith("<!doctype html>") and "</html>" in page,
          page[:300])
    check("... of 4 ranks, if that is not said", "on 4 ranks" in c.draw("ring.ccs"))
    c.change("ring.ccs", 2, {"text": SWAPPED})
    drawn = c.draw("ring.ccs", schedule="ring", n=3)
    check("a picture of a wrong one, not saved", is_svg(drawn) and 'data-code="E0402"' in drawn,
          drawn[:300])
    c.change("ring.ccs", 3, {"range": span(9, 6, 9, 10), "text": "sned"})
    said = c.draw("ring.ccs", schedule="ring")
    check("a syntax error: the line, and what to do",
          said.startswith("correct line 10, then draw again: "), said)
    c.change("ring.ccs", 4, {"text": RING})
    for what, about, why in (
            ("no such schedule", {"schedule": "rimg"}, "schedule: the file has no schedule 'rimg'; did you mean 'ring'?"),
            ("an N that `where` refuses", {"n": 1}, "where"),
            ("too many ranks", {"n": 65536}, "draw it for fewer ranks"),
            ("no number of ranks", {"n": 0}, "from 1 to 65536"),
            ("a number that is none", {"n": "four"}, "from 1 to 65536"),
            ("a root of a schedule without one", {"root": 1}, "root: no schedule of the file has a parameter for its root"),
            ("a root that is none", {"root": -1}, "root is a rank"),
            ("another format", {"format": "png"}, '"svg" or "html"'),
            ("a name that is none", {"schedule": 7}, "is the name of one")):
        said = c.draw("ring.ccs", **about)
        check("no picture: " + what, why in said and "<svg" not in said, said[:300])
        check("... by the command's names", "--" not in said, said[:300])
    check("... of a document that is not open", "open it" in c.draw("closed.ccs"))
    check("... without arguments", c.error("workspace/executeCommand", command="ccc.draw") == -32602)
    c.open("procs.ccs", "proc pass(d[1]) {\n  send d to rank\n}\n")
    said = c.draw("procs.ccs")
    check("... of a file without a schedule", "has no schedule" in said, said)
    check("status 0", c.end() == 0)


def slow_pictures():
    """A picture that takes long stops nothing else."""
    c = Client()
    c.start(seconds=3600)
    c.open("slow.ccs", SLOW)
    c.open("ring.ccs", RING)
    c.findings("ring.ccs", 1)
    asked = {"command": "ccc.draw", "arguments": [{"uri": uri("slow.ccs")}]}
    for i in range(5):
        c.send(id="p%d" % i, method="workspace/executeCommand", params=asked)
    m = c.until(lambda m: m.get("id") == "p4")
    check("a fifth picture at a time is refused", "wait for one" in m["error"]["message"], m)
    check("requests are answered meanwhile",
          "number" in c.about("hover", "slow.ccs", 1, 34)["contents"]["value"])
    c.notify("$/cancelRequest", id="p0")
    m = c.until(lambda m: m.get("id") == "p0")
    check("a picture is cancelled", m["error"]["code"] == -32800, m)
    check("... and there is room for another", is_svg(c.draw("ring.ccs")))
    for child in children(c.p.pid):
        os.kill(child, signal.SIGKILL)
    m = c.until(lambda m: m.get("id") == "p1")
    check("a picture that dies is told", "fewer ranks" in m["error"]["message"], m)
    c.send(id="p5", method="workspace/executeCommand", params=asked)
    check("status 0, with a picture running", c.end() == 0)
    check("... which is answered that it was cancelled",
          c.answers['"p5"']["error"]["code"] == -32800, c.answers['"p5"'])
    c = Client()
    c.start(seconds=0.2)
    c.open("slow.ccs", SLOW)
    said = c.draw("slow.ccs")
    check("one that takes too long is stopped, or over a limit",
          "drawing was stopped after 0.2 s" in said or "line 4" in said or "line 5" in said, said)
    c.end()


def settings():
    c = Client()
    c.start(arguments=["-n", "3", "-D", "X=7", "-Wno-unused"], seconds=30)
    c.open("p.ccs", "contract any(inout x[C])\nschedule s(X = 2) implements any(inout x[X])"
                    " where N == 2 { let unused = 1 }\n")
    wrong = c.findings("p.ccs", 1)
    check("arguments of the client: -n, -W", [w.get("code") for w in wrong] == ["E0205"], wrong)
    check("... -D", "X = 7" in c.about("hover", "p.ccs", 1, 41)["contents"]["value"])
    c.end()
    c = Client()
    c.start(arguments=["--nonsense"], seconds="soon")
    c.ask("textDocument/none")
    check("wrong settings are told, and passed over", sum(
        m["method"] == "window/showMessage" and m["params"]["type"] == 1 for m in c.sent) == 2,
        c.sent)
    check("status 0", c.end() == 0)


def protocol():
    c = Client()
    check("before initialize nothing is answered", c.error("textDocument/hover") == -32002)
    c.start()
    check("an unknown method", c.error("textDocument/wonder") == -32601)
    c.notify("$/unknown")
    c.notify("textDocument/didChange")
    c.notify("textDocument/didOpen", textDocument=5)
    check("a request without parameters", c.error("textDocument/hover") == -32602)
    c.send(id="text", method="textDocument/definition",
           params={"textDocument": {"uri": "file:///none"}})
    check("an id that is a string, and a document that is not open",
          c.until(lambda m: m.get("id") == "text")["error"]["code"] == -32602)

    def lost(what, code, data):
        c.raw(data)
        m = c.until(lambda m: "error" in m and m["id"] is None)
        check(what, m["error"]["code"] == code, m)
        c.notify("$/known")  # input without a header is reported once, up to the next header

    lost("what is no JSON", -32700, b"Content-Length: 3\r\n\r\n{{{")
    lost("bytes that are no UTF-8", -32700, b"Content-Length: 4\r\n\r\n\"\xff\xff\"")
    lost("JSON that is no message", -32600, b"Content-Length: 2\r\n\r\n[]")
    lost("a number", -32600, b"Content-Length: 1\r\n\r\n7")
    lost("a message without a method", -32600, b'Content-Length: 2\r\n\r\n{}')
    lost("deep JSON", -32700, b"Content-Length: 100000\r\n\r\n" + b"[" * 100000)
    lost("a header without a length", -32700, b"Content-Type: x\r\n\r\n")
    lost("a length that is none", -32700, b"Content-Length: -5\r\n\r\n")
    lost("no header at all", -32700, b"hello\n\n" + b"x" * 9000 + b"\n")
    check("... and it finds its way again", c.error("textDocument/wonder") == -32601)
    lost("a length beyond all", -32700, b"Content-Length: 99999999999999999999999999999\r\n\r\n")
    c.raw(b"Content-Length: 40000000\r\n\r\n" + b" " * 40000000)
    m = c.until(lambda m: "error" in m and m["id"] is None)
    check("a huge message", m["error"]["code"] == -32600, m)
    check("... is passed over", c.error("textDocument/wonder") == -32601)
    body = json.dumps({"jsonrpc": "2.0", "id": "lf", "method": "x"}).encode()
    c.raw(b"content-length: %d\n\n" % len(body) + body)
    check("a header in small letters, without CR",
          c.until(lambda m: m.get("id") == "lf")["error"]["code"] == -32601)

    # cancelled while it waits: both are in one write, behind requests that take longer
    c.open("ring.ccs", RING)
    many = b""
    for i in range(20):
        for m in ({"id": "h%d" % i, "method": "textDocument/hover", "params": {
                "textDocument": {"uri": uri("ring.ccs")}, "position": {"line": 9, "character": 7}}},
                  {"method": "$/cancelRequest", "params": {"id": "h%d" % i}} if i == 19 else
                  {"method": "$/cancelRequest", "params": {"id": "never"}}):
            body = json.dumps({"jsonrpc": "2.0", **m}).encode()
            many += b"Content-Length: %d\r\n\r\n" % len(body) + body
    c.raw(many)
    for i in range(20):
        while '"h%d"' % i not in c.answers:
            c.until(lambda m: True)
    check("a cancelled request", c.answers['"h19"'].get("error", {}).get("code") == -32800,
          c.answers['"h19"'])
    check("... and no other", all("result" in c.answers['"h%d"' % i] for i in range(19)))
    check("shutdown", c.ask("shutdown")["result"] is None)
    check("... after which there is only exit", c.error("textDocument/hover") == -32600)
    c.notify("exit")
    check("exit: status 0", c.p.wait(LIMIT) == 0)
    c = Client()
    c.start()
    c.notify("exit")
    check("exit without shutdown: status 1", c.p.wait(LIMIT) == 1)
    c = Client()
    c.start()
    c.open("ring.ccs", RING)
    c.p.stdout.close()
    try:
        for i in range(50):
            c.send(id=i, method="textDocument/wonder")
    except Gone:
        pass
    check("a client that is gone: status 2", c.p.wait(LIMIT) == 2)


def fuzz(seed, rounds):
    """Changed messages: it answers each valid request, and ends on request."""
    rng = random.Random(seed)
    c = Client("-n", "2")
    c.start(seconds=1)
    c.open("ring.ccs", RING)
    at = {"textDocument": {"uri": uri("ring.ccs")}, "position": {"line": 9, "character": 20}}
    seeds = [
        {"method": "textDocument/" + m, "params": at, "id": 1}
        for m in ("hover", "definition", "references", "documentSymbol", "formatting",
                  "completion")] + [
        {"id": 2, "method": "textDocument/codeAction", "params": {**at, "range": span(0, 0, 9, 9)}},
        {"id": 3, "method": "textDocument/rename", "params": {**at, "newName": "other"}},
        {"id": 4, "method": "textDocument/prepareRename", "params": at},
        {"method": "textDocument/didChange", "params": {**at, "contentChanges": [
            {"range": span(9, 6, 10, 2), "text": "par for x in {"}]}},
        {"method": "textDocument/didOpen", "params": {"textDocument": {
            "uri": uri("f.ccs"), "version": 2, "text": "schedule"}}},
        {"method": "textDocument/didClose", "params": at},
        {"method": "textDocument/codeLens", "params": at, "id": 5},
        {"method": "workspace/executeCommand", "id": 6, "params": {
            "command": "ccc.draw", "arguments": [{"uri": uri("ring.ccs"), "schedule": "ring",
                                                  "n": 2, "root": 0, "format": "html"}]}}]
    odd = [None, -1, 1 << 62, 1e300, "", "\u0000x", [], {}, True, "file://%00%zz", "file:"]

    def shake(v):
        if rng.random() < 0.08:
            return rng.choice(odd)
        if isinstance(v, dict):
            return {k: shake(x) for k, x in v.items() if rng.random() > 0.03}
        if isinstance(v, list):
            return [shake(x) for x in v for _ in range(rng.choice((1, 1, 2)))]
        return v

    for i in range(rounds):
        body = json.dumps({"jsonrpc": "2.0", **{k: shake(x) for k, x in
                                            rng.choice(seeds).items()}}).encode()
        if rng.random() < 0.2:
            body = bytearray(body)
            for _ in range(rng.randrange(1, 4)):
                body[rng.randrange(len(body))] = rng.randrange(256)
            body = bytes(body)
        c.raw(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        if rng.random() < 0.05:
            c.raw(bytes(rng.randrange(256) for _ in range(20)).replace(b"\n", b"") + b"\n\n")
        if i % 50 == 49:  # it is still there, and has read all
            c.ask("textDocument/wonder")
    check("%d changed messages of seed %d: it still answers" % (rounds, seed),
          c.error("textDocument/wonder") == -32601)
    check("... and ends with 0", c.end() == 0)


for part in (conversation, files, encodings, long_checks, killed_check, lenses, pictures,
             slow_pictures, settings, protocol,
             lambda: fuzz(1, 400), lambda: fuzz(2, 400)):
    try:
        part()
    except (Gone, LookupError, TypeError, subprocess.TimeoutExpired) as e:
        check("%s goes to its end" % part.__name__, False, repr(e))
sys.exit(failed)
