#!/usr/bin/env python3
"""`ccc explain --format=json` against docs/explain.schema.json, and against itself: the value of each chunk is the one that
its `from` and `onto` lead to. Over the library, broken schedules, MSCCL's XML and random programs; and spoiled models are refused.
usage: schema_test.py BUILD [RANDOM]"""
import copy
import glob
import json
import os
import sys
import tempfile

BUILD = sys.argv[1] if len(sys.argv) > 1 else "build"
RANDOM = int(sys.argv[2]) if len(sys.argv) > 2 else 200
os.environ.setdefault("CCC", BUILD + "/bin/ccc")
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), *glob.glob("build/wheels/lib/python3*/site-packages")]
from models import BROKEN, LIBRARY, XML, NotAdmitted, model, random_files, shares  # noqa: E402

failed = False


def check(what, wrong):
    global failed
    for why in list(wrong)[:5]:
        print("#", str(why)[:300])
    print("not ok -" if wrong else "ok -", what, flush=True)
    failed |= bool(wrong)


def origins(m):
    """Where the data of a chunk came from makes the sum that it holds. Returns the differences."""
    wrong, sums = [], {}  # by move and chunk

    def held(rank, chunk, move):
        if move is None:
            return {(chunk, rank): 1} if m["start"][rank][chunk] else {}
        return sums[move, chunk]

    if any(e["code"] == "E0402" for e in m["errors"]):
        return []  # a race: which data it is, is not known
    for move in m["moves"]:
        for k, holds in enumerate(move.get("holds", [])):
            source, target = move["source"][0] + k, move["target"][0] + k
            if not holds:
                sums[move["id"], target] = {}
                continue
            total = dict(held(move["from"], source, holds["from"]))
            for key, times in (held(move["to"], target, holds["onto"]) if move["combines"] else {}).items():
                total[key] = total.get(key, 0) + times
            sums[move["id"], target] = total
            if shares(m, holds["text"], target) not in (None, total):
                wrong.append(f"move {move['id']}, chunk {target}: holds {holds['text']}, and came to {total}")
    return wrong


def spoiled(m):
    """(what, a model that is not valid): each key left out, one more, and each value of another type."""
    def parts(value, path=()):
        if isinstance(value, dict):
            yield path
        items = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
        for key, inner in items:
            yield from parts(inner, (*path, key))

    for path in parts(m):
        for key in at(m, path):
            for change in ("left out", "of another type"):
                other = copy.deepcopy(m)
                if change == "left out":
                    del at(other, path)[key]
                else:
                    at(other, path)[key] = {"no": "such"}
                yield f"{'.'.join(map(str, (*path, key)))} {change}", other
        other = copy.deepcopy(m)
        at(other, path)["unknown"] = 1
        yield f"{'.'.join(map(str, path))}: one key more", other


def at(m, path):
    for key in path:
        m = m[key]
    return m


OPTIONAL = {"whole", "other", "channel", "fault", "from", "onto"}

cases = [(f, "-n", str(n)) for f in LIBRARY + BROKEN for n in (1, 3, 4, 6, 8)]
cases += [(f,) for f in XML + sorted(glob.glob("tests/msccl/diag/*.xml"))]
cases += [("schedules/binomial_broadcast.ccs", "-n", "6", "-D", f"R={r}") for r in range(6)]
cases += [("schedules/ring_allreduce.ccs", "-n", "4", *view) for view in (
    ("--step", "3,5"), ("--step", "0"), ("--rank", "1"), ("--rank", "0,2", "--step", "4"), ("--chunk", "data[2]"))]
cases += [("schedules/broken/both_send_first.ccs", "-n", "2", "--slots", "0")]
cases += [(f, "-n", "4") for f in sorted(glob.glob("tests/check/good/*.ccs"))]

models = []
with tempfile.TemporaryDirectory() as folder:
    for case in [*cases, *random_files(folder, RANDOM, 1)]:
        try:
            models.append((case, model(*case)))
        except NotAdmitted:
            pass
check("the files have models", [] if len(models) > 250 + RANDOM // 2 else [f"{len(models)} of {len(cases)}"])
check("right ones and wrong ones", [] if {m["right"] for _, m in models} == {True, False} else ["one kind alone"])
check("what a chunk holds is what came together there", [
    f"{' '.join(case)}: {why}" for case, m in models if m["shown_ranks"] == list(range(m["ranks"])) and "--step" not in case
    and "--chunk" not in case for why in origins(m)])
again = copy.deepcopy(dict(models)["schedules/ring_allreduce.ccs", "-n", "4"])
again["moves"][9]["holds"][0]["from"] = None
check("... and another origin is noticed", [] if origins(again) else ["it is not"])

try:
    import jsonschema
except ImportError:
    print(f"skip - {len(models)} models against the schema: jsonschema is not in build/wheels")
    sys.exit(failed)
with open("docs/explain.schema.json", encoding="utf-8") as f:
    schema = json.load(f)
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
check(f"{len(models)} models are what docs/explain.schema.json says", [
    f"{' '.join(case)}: {'/'.join(map(str, e.absolute_path))}: {e.message}"
    for case, m in models for e in validator.iter_errors(m)])

samples = [("schedules/ring_allreduce.ccs", "-n", "4"), ("schedules/broken/receive_first.ccs", "-n", "3"),
           ("schedules/broken/missing_round.ccs", "-n", "3"), ("schedules/ring_allreduce.ccs", "-n", "4", "--step", "3,5")]
tried, passed = 0, []
for case in samples:
    m = dict(models)[case]
    m["moves"] = m["moves"][:2]
    for what, other in spoiled(m):
        if what.endswith("left out") and what.split()[0].split(".")[-1] in OPTIONAL:
            continue
        tried += 1
        if validator.is_valid(other):
            passed.append(what)
check(f"{tried} spoiled ones are not", passed)


def described(part, path):
    """Each key has a description, by itself or in the part that it refers to."""
    for key, value in part.get("properties", {}).items():
        plain = {"rank", "chunk", "name", "text", "message", "line", "format", "version", "kind", "code", "parameters", "holds",
                 "promised", "at"}
        if "description" not in value and key not in plain:
            yield f"{path}.{key}"
        yield from described(value, f"{path}.{key}")
    if isinstance(part.get("items"), dict):
        yield from described(part["items"], path)


check("each key is described", [
    key for name, part in [("", schema), *schema["$defs"].items()] for key in described(part, name)])
sys.exit(failed)
