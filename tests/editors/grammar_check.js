// The tree-sitter grammar without tree-sitter: grammar.js is evaluated, and texts are looked at by
// an Earley recognizer, which knows no precedence and needs none.
//
// usage: node grammar_check.js GRAMMAR.JS right|wrong FILE...: prints the files for which that
// does not hold, and exits with 1 if there are any. tokens: prints the grammar's words.
'use strict';
const fs = require('fs');

// ---- grammar.js's words

const rule = (type, fields) => ({ type, ...fields });
const lift = (r) => typeof r === 'string' ? rule('text', { text: r })
  : r instanceof RegExp ? rule('regex', { source: r.source }) : r;
const inside = (type) => (r) => rule(type, { r: lift(r) });
const dsl = {
  seq: (...v) => rule('seq', { v: v.map(lift) }),
  choice: (...v) => rule('choice', { v: v.map(lift) }),
  optional: inside('optional'),
  repeat: inside('repeat'),
  repeat1: inside('repeat1'),
  token: inside('token'),
  field: (name, r) => lift(r),
  alias: (r, as) => lift(r),
  prec: (level, r) => lift(r),
};
dsl.prec.left = dsl.prec.right = (level, r) => r === undefined ? lift(level) : lift(r);

function evaluate(path) {
  let made;
  const symbols = new Proxy({}, { get: (_, name) => rule('symbol', { name }) });
  const grammar = (g) => { made = g; return g; };
  new Function('module', 'grammar', ...Object.keys(dsl), fs.readFileSync(path, 'utf8'))(
    {}, grammar, ...Object.values(dsl));
  const rules = {};
  for (const [name, make] of Object.entries(made.rules)) rules[name] = lift(make(symbols));
  return { rules, extras: made.extras(symbols).map(lift), conflicts: made.conflicts(symbols) };
}

// ---- productions

const source = (r) => r.type === 'regex' ? r.source
  : r.type === 'text' ? r.text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  : r.type === 'choice' ? '(?:' + r.v.map(source).join('|') + ')' : source(r.r);

function compile(g) {
  const productions = {}, regexes = {}, texts = new Set();
  let fresh = 0;
  const add = (name, ...right) => (productions[name] = productions[name] || []).push(right);
  const parts = (r) => r.type === 'seq' ? r.v.map(symbol) : [symbol(r)];
  function symbol(r) {
    if (r.type === 'text') { texts.add(r.text); return "'" + r.text; }
    if (r.type === 'symbol') {
      if (!(r.name in g.rules)) throw new Error('no rule ' + r.name);
      return r.name;
    }
    const name = '#' + ++fresh;
    if (r.type === 'seq') add(name, ...r.v.map(symbol));
    else if (r.type === 'choice') for (const x of r.v) add(name, ...parts(x));
    else if (r.type === 'optional') { add(name); add(name, ...parts(r.r)); }
    else if (r.type === 'repeat') { add(name); add(name, name, ...parts(r.r)); }
    else if (r.type === 'repeat1') { const p = parts(r.r); add(name, ...p); add(name, name, ...p); }
    else throw new Error('a rule of type ' + r.type);
    return name;
  }
  for (const [name, r] of Object.entries(g.rules)) {
    if (r.type === 'regex' || r.type === 'token') regexes[name] = new RegExp(source(r), 'y');
    else if (r.type === 'choice') for (const x of r.v) add(name, ...parts(x));
    else add(name, ...parts(r));
  }
  return { productions, regexes, texts };
}

// ---- tokens: the longest, and a word before a name

function tokens(c, text) {
  const v = [], fixed = [...c.texts].sort((a, b) => b.length - a.length);
  for (let at = 0; at < text.length;) {
    let best = null;
    for (const [name, regex] of Object.entries(c.regexes)) {
      regex.lastIndex = at;
      const m = regex.exec(text);
      if (m && (!best || m[0].length > best.n)) best = { name, n: m[0].length };
    }
    const word = fixed.find((t) => text.startsWith(t, at) && (!best || t.length >= best.n));
    if (/\s/.test(text[at])) at++;
    else if (best && best.name === 'comment') at += best.n;
    else if (word) { v.push("'" + word); at += word.length; }
    else if (best) { v.push(best.name); at += best.n; }
    else return null;
  }
  return v;
}

// ---- Earley's recognizer

// Words of one place. tree-sitter takes a word as a name where no rule wants the word.
const NAMES_ELSEWHERE = new Set(["'switch", "'cost"]);

function recognize(c, start, input) {
  const { productions } = c, nullable = new Set();
  for (let more = true; more;) {
    more = false;
    for (const [name, all] of Object.entries(productions))
      if (!nullable.has(name) && all.some((p) => p.every((s) => nullable.has(s))))
        more = nullable.add(name) && true;
  }
  const sets = Array.from({ length: input.length + 1 }, () => ({ items: [], known: new Set(),
    waiting: {} }));
  const push = (k, name, i, dot, from) => {
    const key = name + '/' + i + '/' + dot + '/' + from;
    if (sets[k].known.has(key)) return;
    sets[k].known.add(key);
    sets[k].items.push({ name, i, dot, from });
  };
  productions[start].forEach((_, i) => push(0, start, i, 0, 0));
  for (let k = 0; k <= input.length; k++) {
    const set = sets[k];
    for (let n = 0; n < set.items.length; n++) {
      const { name, i, dot, from } = set.items[n], next = productions[name][i][dot];
      if (next === undefined) {
        for (const w of sets[from].waiting[name] || []) push(k, w.name, w.i, w.dot + 1, w.from);
      } else if (next in productions) {
        (set.waiting[next] = set.waiting[next] || []).push(set.items[n]);
        productions[next].forEach((_, j) => push(k, next, j, 0, k));
        if (nullable.has(next)) push(k, name, i, dot + 1, from);
      } else if (k < input.length && (next === input[k] ||
          (next === 'identifier' && NAMES_ELSEWHERE.has(input[k])))) {
        push(k + 1, name, i, dot + 1, from);
      }
    }
    if (k < input.length && !sets[k + 1].items.length) return false;
  }
  return sets[input.length].items.some((x) => x.name === start && x.from === 0 &&
    productions[start][x.i].length === x.dot);
}

const [path, what, ...files] = process.argv.slice(2);
const g = evaluate(path), c = compile(g);
if (what === 'tokens') {
  for (const t of c.texts) console.log(t);
} else {
  for (const file of files) {
    const v = tokens(c, fs.readFileSync(file, 'latin1').replace(/^\xef\xbb\xbf/, ''));
    if ((v !== null && recognize(c, 'file', v)) !== (what === 'right')) {
      console.log(file);
      process.exitCode = 1;
    }
  }
}
