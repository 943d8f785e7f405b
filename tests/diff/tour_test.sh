#!/usr/bin/env bash
# A gate in CI, from the change to its repair: a cast goes from a graph with a rotary embedding, and a wide edge appears.
# Usage: tour_test.sh FUSEC SOURCE_DIR
set -u
fusec=$(realpath "$1")
example=$(realpath "$2")/examples/ci/rotary_scores.fusion.json
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0

# step EXIT SAYS… -- ARGS…: the exit code of fusec diff, and texts that it prints.
step() {
  local code=$1 says=()
  shift
  while [ "$1" != -- ]; do says+=("$1"); shift; done
  shift
  "$fusec" diff "$@" > out 2> err < /dev/null
  local got=$?
  if [ $got -ne "$code" ]; then echo "FAILED: fusec diff $*: exit $got, wanted $code"; cat out err; failed=1; fi
  for text in "${says[@]}"; do
    grep -qF -- "$text" out || { echo "FAILED: fusec diff $*: it does not say '$text'"; cat out err; failed=1; }
  done
}

cp "$example" base.fusion.json
# 1. Somebody takes the rounding out.
sed 's/"dtype": "bf16", "out": "rotated"/"dtype": "f32", "out": "rotated"/' base.fusion.json > wide.fusion.json
cmp -s base.fusion.json wide.fusion.json && { echo "FAILED: nothing was changed"; exit 1; }
# 2. The gate says which edge, how many bytes, which op is to blame, and why the segments are apart.
step 1 '`q` (slice, line 17) crosses segments as f32 with 1.0 MiB, where narrower values would do with 512.0 KiB' \
  '`rotated` (cast, line 16) changed: dtype "bf16" → "f32"' 'a matrix product: a library call of its own' \
  'FAILS wide-edges' -- base.fusion.json wide.fusion.json --fail-on wide-edges
"$fusec" diff base.fusion.json wide.fusion.json --fail-on wide-edges --json > out
python3 - <<'P' || failed=1
import json
d = json.load(open("out"))
e = d["segments"]["wide_edges"]
ok = d["differs"] and d["fail_on"][0]["broken"] and [x["op"]["name"] for x in e] == ["q", "k_transposed"] and \
     all(x["b"]["bytes"] == 2 * x["b"]["narrow_bytes"] == 1048576 and x["a"]["bytes"] == 524288 and x["cause"]["b"]["line"] == 16 for x in e)
if not ok: raise SystemExit("FAILED: the JSON of the wide graph: " + json.dumps(d, indent=1))
P
# 3. The same from what CI has compiled: reports tell the edge and its bytes, without lines.
"$fusec" compile base.fusion.json -o base --emit report > /dev/null && "$fusec" compile wide.fusion.json -o wide --emit report > /dev/null
step 1 '`q` crosses segments as f32 with 1.0 MiB, where narrower values would do with 512.0 KiB' -- base wide --fail-on wide-edges
# 4. Other rules: what grew by how much.
step 1 'FAILS edge-bytes:10: bytes between segments 5.0 MiB → 6.0 MiB (+20.0 %)' -- base.fusion.json wide.fusion.json --fail-on edge-bytes:10
step 0 -- base.fusion.json wide.fusion.json --fail-on edge-bytes:25,launches,segments
step 1 'FAILS graph: 1 changed op' -- base.fusion.json wide.fusion.json --fail-on graph --only graph
# 5. The repair narrows, and nothing is wide.
step 0 'narrowed: `q`' -- wide.fusion.json base.fusion.json --fail-on wide-edges
# 6. The repaired graph is written anew, with other names and another order: it is the same.
python3 - base.fusion.json <<'P'
import json, random, sys
g = json.load(open(sys.argv[1]))
r = random.Random(6)
old = [i["name"] for i in g["inputs"]] + [o["out"] for o in g["ops"]]
new = [f"t{i}" for i in range(len(old))]
r.shuffle(new)
names = dict(zip(old, new))
for i in g["inputs"]: i["name"] = names[i["name"]]
for o in g["ops"]: o["in"], o["out"] = [names[x] for x in o["in"]], names[o["out"]]
g["outputs"] = [names[o] for o in g["outputs"]]
g["name"] = "rewritten"
r.shuffle(g["ops"])
json.dump(g, open("rewritten.fusion.json", "w"))
P
step 0 'graph: the same, 11 ops' -- base.fusion.json rewritten.fusion.json
step 0 'graph: the same, 11 ops' -- base.fusion.json rewritten.fusion.json --fail-on graph,segments,edge-bytes,launches,wide-edges,time
step 1 '`rotated` (cast' -- rewritten.fusion.json wide.fusion.json --fail-on wide-edges

[ $failed -eq 0 ] && echo "all passed"
exit $failed
