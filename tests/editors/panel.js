// The VS Code extension with a stand-in for the module `vscode`, driven by panel_test.py.
//
//   node panel.js EXTENSION CCC
//
// In: a line of JSON for each thing that a user does: {"open": PATH, "text"}, {"type": TEXT},
// {"cursor": LINE}, {"run": COMMAND, "arguments"}, {"close": "panel"}, {"end": true}. Out: a line for each
// thing that the user sees: {"panel", "page"}, {"lenses"}, {"findings"}, {"error"}, {"asked": METHOD, "answer"}.
'use strict';
const Module = require('module'), readline = require('readline');
const [extension, ccc] = process.argv.slice(2);
const say = (what) => console.log(JSON.stringify(what));

class Position { constructor(line, character) { Object.assign(this, { line, character }); } }
class Range {
  constructor(a, b, c, d) { this.start = new Position(a, b); this.end = new Position(c, d); }
}
class Emitter {
  constructor() {
    this.heard = [];
    this.event = (f) => { this.heard.push(f); return { dispose() {} }; };
  }
  fire(what) { this.heard.forEach((f) => f(what)); }
}
const plain = (...names) => class { constructor(...v) { names.forEach((name, i) => { this[name] = v[i]; }); } };
const events = Object.fromEntries(['open', 'change', 'save', 'close'].map((name) => [name, new Emitter()]));
const commands = new Map(), providers = {};
let editor, panels = 0, document;

function createWebviewPanel(type, title, column, options) {
  const closed = new Emitter(), number = panels++;
  const webview = {};
  Object.defineProperty(webview, 'html', { set: (page) => say({ panel: number, title: panel.title, page }) });
  const panel = { title, webview, onDidDispose: closed.event, reveal: () => say({ revealed: number }),
    dispose: () => closed.fire() };
  if (!options.enableScripts) say({ error: 'the page cannot play' });
  createWebviewPanel.last = panel;
  return panel;
}
const register = (name) => (selector, provider) => { providers[name] = provider; return { dispose() {} }; };
const vscode = {
  Position, Range, EventEmitter: Emitter,
  Uri: { parse: (text) => ({ toString: () => text }) },
  Location: plain('uri', 'range'), TextEdit: plain('range', 'newText'), Hover: plain('contents'),
  MarkdownString: plain('value'), Diagnostic: plain('range', 'message', 'severity'),
  DiagnosticRelatedInformation: plain('location', 'message'), CodeAction: plain('title', 'kind'),
  CodeActionKind: { QuickFix: 'quickfix' }, CodeLens: plain('range', 'command'), ViewColumn: { Beside: -2 },
  WorkspaceEdit: class { set(uri, list) { this.edits = list; } },
  languages: {
    createDiagnosticCollection: () => ({ dispose() {}, set: (uri, list) => say({ findings: list.map((d) => d.code) }) }),
    ...Object.fromEntries(['Hover', 'Definition', 'DocumentFormattingEdit', 'CodeActions', 'CodeLens']
      .map((name) => [`register${name}Provider`, register(name)])),
  },
  window: {
    createWebviewPanel, get activeTextEditor() { return editor; },
    showErrorMessage: (error) => say({ error }), showInformationMessage: (message) => say({ message }),
  },
  workspace: {
    textDocuments: [], getConfiguration: () => ({ get: (name) => ({ command: ccc })[name] }),
    onDidOpenTextDocument: events.open.event, onDidChangeTextDocument: events.change.event,
    onDidSaveTextDocument: events.save.event, onDidCloseTextDocument: events.close.event,
  },
  commands: { registerCommand: (name, run) => { commands.set(name, run); return { dispose() {} }; } },
};
const load = Module._load;
Module._load = (name, ...rest) => (name === 'vscode' ? vscode : load(name, ...rest));
const { activate, deactivate } = require(extension);
activate({ subscriptions: [] });

providers.CodeLens.onDidChangeCodeLenses(async () => say({
  lenses: (await providers.CodeLens.provideCodeLenses(document)).map((lens) => lens.command) }));
const ask = {
  hover: (line, character) => providers.Hover.provideHover(document, new Position(line, character)),
  definition: (line, character) => providers.Definition.provideDefinition(document, new Position(line, character)),
  format: () => providers.DocumentFormattingEdit.provideDocumentFormattingEdits(document, {}),
  actions: (line) => providers.CodeActions.provideCodeActions(document, new Range(line, 0, line, 99)),
};
readline.createInterface({ input: process.stdin }).on('line', async (line) => {
  const what = JSON.parse(line);
  if (what.open) {
    let text = what.text;
    document = { languageId: 'ccs', version: 1, uri: vscode.Uri.parse('file://' + what.open), getText: () => text,
      set: (t) => { text = t; document.version++; } };
    editor = { document, selection: { active: new Position(0, 0) } };
    events.open.fire(document);
  } else if (what.type) {
    document.set(what.type);
    events.change.fire({ document, contentChanges: [{}] });
  } else if (what.cursor !== undefined) {
    editor.selection.active = new Position(what.cursor, 0);
  } else if (what.run) {
    await commands.get(what.run)(...(what.arguments || []));
  } else if (what.ask) {
    say({ asked: what.ask, answer: await ask[what.ask](...what.arguments) });
  } else if (what.close) {
    createWebviewPanel.last.dispose();
  } else if (what.end) {
    await deactivate();
    process.stdin.destroy();
  }
});
