/*
 * The VS Code extension: a client of `ccc lsp`, and a panel with the picture of a schedule.
 *
 * In: documents of the language ccs. Out: diagnostics, fixes, hover, definitions, formatting, code
 * lenses, and beside the text the page of `ccc explain`, renewed as the text changes. It needs no
 * packages, so a copy of this folder is the whole extension.
 */
"use strict";
const vscode = require("vscode");
const { spawn } = require("child_process");

const PAUSE = 300; // milliseconds without a change until the picture is renewed

/* ---- the server's messages ---------------------------------------------------------------- */

/* Answers of requests by number; what the server sends goes to `handlers` by its method. */
class Connection {
  constructor(command, args, handlers, ended) {
    this.handlers = handlers;
    this.asked = new Map();
    this.number = 0;
    this.bytes = Buffer.alloc(0);
    this.process = spawn(command, args, { stdio: ["pipe", "pipe", "ignore"] });
    const end = (why) => {
      if (!this.over) {
        this.over = true;
        for (const { refuse } of this.asked.values()) refuse(new Error(why));
        ended(why);
      }
    };
    this.process.on("error", (e) => end(`${command} does not start: ${e.message}`));
    this.process.on("exit", (status) => end(`${command} lsp has ended with status ${status}`));
    this.process.stdin.on("error", () => {}); // "exit" follows
    this.process.stdout.on("data", (more) => this.take(more));
  }

  send(message) {
    const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
    if (!this.over) this.process.stdin.write(`Content-Length: ${body.length}\r\n\r\n${body}`);
  }

  notify(method, params) {
    this.send({ method, params });
  }

  ask(method, params, token) {
    if (this.over) return Promise.reject(new Error("ccc lsp does not run"));
    const id = ++this.number;
    token?.onCancellationRequested(() => this.notify("$/cancelRequest", { id }));
    return new Promise((accept, refuse) => {
      this.asked.set(id, { accept, refuse });
      this.send({ id, method, params });
    });
  }

  take(more) {
    this.bytes = Buffer.concat([this.bytes, more]);
    for (;;) {
      const end = this.bytes.indexOf("\r\n\r\n");
      if (end < 0) return;
      const length = Number(/Content-Length: (\d+)/.exec(this.bytes.toString("latin1", 0, end))[1]);
      if (this.bytes.length < end + 4 + length) return;
      const message = JSON.parse(this.bytes.toString("utf8", end + 4, end + 4 + length));
      this.bytes = this.bytes.subarray(end + 4 + length);
      this.receive(message);
    }
  }

  receive({ id, method, params, result, error }) {
    if (method) {
      this.handlers[method]?.(params);
      if (id !== undefined) this.send({ id, result: null });
      return;
    }
    const waiting = this.asked.get(id);
    this.asked.delete(id);
    if (error) waiting?.refuse(new Error(error.message));
    else waiting?.accept(result);
  }
}

/* ---- what LSP and VS Code call things ---------------------------------------------------------- */

const range = (r) => new vscode.Range(r.start.line, r.start.character, r.end.line, r.end.character);
const plainRange = (r) => ({
  start: { line: r.start.line, character: r.start.character },
  end: { line: r.end.line, character: r.end.character },
});
const location = (l) => new vscode.Location(vscode.Uri.parse(l.uri), range(l.range));
const edits = (list) => (list ?? []).map((e) => new vscode.TextEdit(range(e.range), e.newText));
const about = (document) => ({ textDocument: { uri: document.uri.toString() } });
const at = (document, position) => ({
  ...about(document),
  position: { line: position.line, character: position.character },
});

function diagnostic(d) {
  const shown = new vscode.Diagnostic(range(d.range), d.message, d.severity - 1);
  shown.source = d.source;
  shown.code = d.code;
  shown.tags = d.tags;
  shown.relatedInformation = (d.relatedInformation ?? []).map((r) =>
    new vscode.DiagnosticRelatedInformation(location(r.location), r.message));
  return shown;
}

function action(a) {
  const shown = new vscode.CodeAction(a.title, vscode.CodeActionKind.QuickFix);
  shown.isPreferred = a.isPreferred;
  shown.command = a.command;
  if (a.edit) {
    shown.edit = new vscode.WorkspaceEdit();
    for (const [uri, list] of Object.entries(a.edit.changes))
      shown.edit.set(vscode.Uri.parse(uri), edits(list));
  }
  return shown;
}

/* ---- the panel ------------------------------------------------------------------------------------ */

const escaped = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

/* A renewed page begins where the last one stood. */
const KEEP_PLACE = `<script>
addEventListener("DOMContentLoaded", () => {
  const panel = acquireVsCodeApi(), player = document.getElementById("player");
  const slider = player?.querySelector("input[type=range]"), last = panel.getState();
  if (!slider) return;
  if (last) {
    slider.value = last;
    slider.dispatchEvent(new Event("input"));
  }
  new MutationObserver(() => panel.setState(player.dataset.at)).observe(player, { attributes: true });
});
</script>`;

/* The picture of one schedule, as the text is. There is one request at a time. */
class Picture {
  constructor(panel, connection, what) {
    Object.assign(this, { panel, connection, what });
    panel.title = what.schedule ?? "schedule";
    this.renew();
  }

  changed() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.renew(), PAUSE);
  }

  async renew() {
    if (this.running) {
      this.again = true;
      return;
    }
    this.running = true;
    do {
      this.again = false;
      await this.draw();
    } while (this.again);
    this.running = false;
  }

  async draw() {
    let page;
    try {
      page = await this.connection().ask("workspace/executeCommand", {
        command: "ccc.draw", arguments: [{ ...this.what, format: "html" }] });
      page = page.replace("<style>", () => KEEP_PLACE + "<style>");
    } catch (e) {
      page = `<!DOCTYPE html><html><body><pre>${escaped(e.message)}</pre></body></html>`;
    }
    if (!this.closed) this.panel.webview.html = page;
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
  }
}

/* ---- the extension ------------------------------------------------------------------------------------ */

let connection;

function activate(context) {
  const keep = (...things) => context.subscriptions.push(...things);
  const diagnostics = vscode.languages.createDiagnosticCollection("ccs");
  const refreshed = new vscode.EventEmitter();
  const pictures = new Map(); // by document and schedule
  const settings = vscode.workspace.getConfiguration("ccs");
  const command = settings.get("command") || "ccc";
  const isOurs = (document) => document.languageId === "ccs";
  const ask = (method, params, token) => connection.ask(method, params, token);

  connection = new Connection(command, ["lsp"], {
    "textDocument/publishDiagnostics": ({ uri, diagnostics: list }) =>
      diagnostics.set(vscode.Uri.parse(uri), list.map(diagnostic)),
    "workspace/codeLens/refresh": () => refreshed.fire(),
    "window/showMessage": ({ type, message }) =>
      type === 1 ? vscode.window.showErrorMessage(message) : vscode.window.showInformationMessage(message),
  }, (why) => {
    if (!connection.leaving)
      vscode.window.showErrorMessage(`${why}. Install ccs, or set ccs.command to the path of ccc.`);
  });
  connection.ask("initialize", {
    processId: process.pid, rootUri: null,
    capabilities: { workspace: { codeLens: { refreshSupport: true } } },
    initializationOptions: { arguments: settings.get("arguments") ?? [] },
  }).catch(() => {});
  connection.notify("initialized", {});

  const open = (document) => isOurs(document) && connection.notify("textDocument/didOpen", {
    textDocument: { uri: document.uri.toString(), languageId: "ccs", version: document.version,
      text: document.getText() } });
  vscode.workspace.textDocuments.forEach(open);
  keep(diagnostics, refreshed,
    vscode.workspace.onDidOpenTextDocument(open),
    vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
      if (!isOurs(document) || !contentChanges.length) return;
      connection.notify("textDocument/didChange", {
        textDocument: { uri: document.uri.toString(), version: document.version },
        contentChanges: [{ text: document.getText() }] });
      for (const p of pictures.values()) p.changed(); // it may be imported
    }),
    vscode.workspace.onDidSaveTextDocument((document) =>
      isOurs(document) && connection.notify("textDocument/didSave", about(document))),
    vscode.workspace.onDidCloseTextDocument((document) =>
      isOurs(document) && connection.notify("textDocument/didClose", about(document))));

  const languages = vscode.languages, ccs = { language: "ccs" };
  keep(
    languages.registerHoverProvider(ccs, { provideHover: async (d, p, token) => {
      const hover = await ask("textDocument/hover", at(d, p), token);
      return hover && new vscode.Hover(new vscode.MarkdownString(hover.contents.value));
    } }),
    languages.registerDefinitionProvider(ccs, { provideDefinition: async (d, p, token) => {
      const found = await ask("textDocument/definition", at(d, p), token);
      return found && location(found);
    } }),
    languages.registerDocumentFormattingEditProvider(ccs, {
      provideDocumentFormattingEdits: async (d, _, token) =>
        edits(await ask("textDocument/formatting", about(d), token)) }),
    languages.registerCodeActionsProvider(ccs, { provideCodeActions: async (d, r, _, token) =>
      (await ask("textDocument/codeAction", { ...about(d), range: plainRange(r), context: { diagnostics: [] } },
        token)).map(action) }),
    languages.registerCodeLensProvider(ccs, {
      onDidChangeCodeLenses: refreshed.event,
      provideCodeLenses: async (d, token) => (await ask("textDocument/codeLens", about(d), token))
        .map((lens) => new vscode.CodeLens(range(lens.range), lens.command)) }));

  const draw = (what) => {
    const key = JSON.stringify([what.uri, what.schedule]), old = pictures.get(key);
    if (old) {
      old.what = what;
      old.panel.reveal();
      old.renew();
      return;
    }
    const panel = vscode.window.createWebviewPanel("ccs.picture", "schedule",
      { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true }, { enableScripts: true });
    const picture = new Picture(panel, () => connection, what);
    pictures.set(key, picture);
    panel.onDidDispose(() => {
      picture.close();
      pictures.delete(key);
    });
  };
  keep(
    vscode.commands.registerCommand("ccc.draw", draw),
    vscode.commands.registerCommand("ccc.explain", (code) =>
      ask("workspace/executeCommand", { command: "ccc.explain", arguments: [code] })),
    // The lens at the cursor, or the last above it, knows the schedule and an N that shows it.
    vscode.commands.registerCommand("ccs.draw", async () => {
      const editor = vscode.window.activeTextEditor;
      if (!editor || !isOurs(editor.document)) {
        vscode.window.showInformationMessage("Open a file of schedules (.ccs) to draw one.");
        return;
      }
      const lenses = await ask("textDocument/codeLens", about(editor.document));
      const above = lenses.filter((lens) => lens.range.start.line <= editor.selection.active.line);
      const lens = above[above.length - 1] ?? lenses[0];
      draw(lens ? lens.command.arguments[0] : { uri: editor.document.uri.toString() });
    }));
}

async function deactivate() {
  connection.leaving = true;
  await connection.ask("shutdown").catch(() => {});
  connection.notify("exit");
}

module.exports = { activate, deactivate };
