#!/usr/bin/env bash
# What fusec diff and fusec bench-diff say to input that is none: exit 2, one message, nothing on stdout but JSON. Usage: FUSEC SOURCE_DIR
set -u
fusec=$(realpath "$1")
examples=$(realpath "$2")/examples
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0

# refused TEXT ARGS…: exit 2, the text on stderr; with --json one JSON value on stdout, without it nothing.
refused() {
  local text=$1 got
  shift
  for json in "" --json; do
    "$fusec" "$@" $json > out 2> err < "${stdin:-/dev/null}"
    got=$?
    if [ $got -ne 2 ]; then echo "FAILED: fusec $* $json: exit $got, wanted 2"; cat out err; failed=1; fi
    grep -qF -- "$text" err || { echo "FAILED: fusec $* $json: stderr lacks '$text'"; cat err; failed=1; }
    if [ -z "$json" ]; then [ ! -s out ] || { echo "FAILED: fusec $*: stdout is not empty"; failed=1; }
    else python3 -c 'import json; json.load(open("out"))' || { echo "FAILED: fusec $* --json: no JSON"; cat out; failed=1; }; fi
  done
}

cp "$examples"/cast_add.fusion.json good.fusion.json
cp "$examples"/softmax.fusion.json other.fusion.json
"$fusec" compile good.fusion.json -o out_full --emit cu > /dev/null
"$fusec" compile other.fusion.json -o out_other --emit report > /dev/null
report=out_full/cast_add.report.json
head -1 "$examples"/ci/before.bench.json > one.json

refused "compares two: 0 were given" diff
refused "compares two: 1 was given" diff good.fusion.json
refused "compares two: 3 were given" diff good.fusion.json good.fusion.json good.fusion.json
refused "only one side can be read from stdin" diff - -
refused "No such file" diff good.fusion.json absent.fusion.json
refused "have nothing in common: none of 4 ops is like one of 1" diff good.fusion.json other.fusion.json
refused "have nothing in common" diff out_full out_other
refused "by their names" diff $report other.fusion.json

# Graphs that are none, empty ones, noise.
: > empty.fusion.json
refused "the file is empty" diff good.fusion.json empty.fusion.json
head -c 3000 "$fusec" > noise.fusion.json
refused "error" diff noise.fusion.json good.fusion.json
printf '{"version": 1, "inputs": [], "ops": [], "outputs": []}' > nothing.fusion.json
refused "no-outputs" diff nothing.fusion.json nothing.fusion.json
printf '{"version": 1, "inputs": [{"name": "x", "dtype": "f32", "shape": [2]}], "ops": [], "outputs": ["x"]}' > opless.fusion.json
refused "the second has no ops" diff good.fusion.json opless.fusion.json
sed 's/"add"/"adde"/' good.fusion.json > wrong.fusion.json
refused "did you mean 'add'?" diff good.fusion.json wrong.fusion.json
"$fusec" diff opless.fusion.json opless.fusion.json > out || { echo "FAILED: a graph without ops is not itself"; failed=1; }

# Reports.
sed 's/"version": 1/"version": 2/' $report > later.json
refused "is a report of version 2; this fusec reads version 1" diff $report later.json
sed 's/"totals"/"total"/' $report > untold.json
refused "lacks 'totals'" diff $report untold.json
sed 's/"ops": \[/"ops": [7, /' $report > typed.json
refused "another type" diff typed.json $report
head -c 400 $report > cut.json
refused "error" diff $report cut.json
sed 's/"segments"/"segment"/' $report > unnamed.json
refused "lacks 'segments'" diff $report unnamed.json
cp out_full/cast_add.manifest.json moved.json
refused "is a manifest" diff good.fusion.json moved.json
refused "fusec bench-diff" diff good.fusion.json one.json

# Folders.
mkdir hollow
refused "holds no *.report.json" diff good.fusion.json hollow
for gone in report.json manifest.json cu h; do
  rm -rf half && cp -r out_full half && rm half/cast_add.$gone
  refused "compile the graph again" diff out_full half
done
rm -rf half && cp -r out_full half && head -c 300 out_full/cast_add.manifest.json > half/cast_add.manifest.json
refused "no manifest that this fusec can use" diff half out_full
rm -rf half && cp -r out_full half && cp out_other/softmax.report.json half
refused "holds several compiled graphs" diff half out_full
"$fusec" diff half/cast_add.manifest.json out_full > out || { echo "FAILED: one of several graphs, by its manifest"; cat out; failed=1; }

# Options.
refused "did you mean 'wide-edges'?" diff good.fusion.json good.fusion.json --fail-on wide-edge
refused "takes no percentage" diff good.fusion.json good.fusion.json --fail-on launches:3
refused "is no percentage" diff good.fusion.json good.fusion.json --fail-on time:-3
refused "is no percentage" diff good.fusion.json good.fusion.json --fail-on edge-bytes:nan
refused "names nothing" diff good.fusion.json good.fusion.json --fail-on ,
refused "did you mean 'segments'?" diff good.fusion.json good.fusion.json --only segment
refused "unknown-dim" diff good.fusion.json good.fusion.json --dim M=3

# Benchmarks.
before=$examples/ci/before.bench.json
refused "compares two results: 1 was given" bench-diff $before
refused "only one side can be read from stdin" bench-diff - -
refused "holds no result" bench-diff $before empty.fusion.json
refused "is no JSON" bench-diff $before noise.fusion.json
refused "it is a graph or a report" bench-diff good.fusion.json $before
printf '{"error": "no usable GPU", "exit": 3}' > run.json
refused "the error of a run that failed: no usable GPU" bench-diff $before run.json
printf '{"graph": "softmax", "us": {"median": 3}}' > thin.json
refused "lacks" bench-diff thin.json $before
printf '{"graph": "softmax", "us": {"median": 3, "q1": 4, "q3": 5, "min": 1, "n": 9}}' > crossed.json
refused "are not 0 < min" bench-diff $before crossed.json
sed 's/softmax/a/; s/adamw/b/; s/swiglu/c/' "$before" > strange.json
refused "have no graph in common" bench-diff $before strange.json
refused "is no percentage" bench-diff $before $before --threshold -1
grep -v adamw "$before" > fewer.json
"$fusec" bench-diff "$before" fewer.json > out 2> err
[ $? -eq 2 ] && grep -q "lacks 'adamw'" err && grep -q "ONLY-OLD adamw" out || { echo "FAILED: a graph that is gone"; cat out err; failed=1; }
"$fusec" bench-diff "$before" fewer.json --allow-missing > out || { echo "FAILED: --allow-missing"; failed=1; }
"$fusec" bench-diff - "$before" < "$before" > out || { echo "FAILED: bench-diff from stdin"; failed=1; }
git_like=$(cat good.fusion.json | "$fusec" diff - good.fusion.json --brief) || { echo "FAILED: diff from stdin: $git_like"; failed=1; }

[ $failed -eq 0 ] && echo "all passed"
exit $failed
