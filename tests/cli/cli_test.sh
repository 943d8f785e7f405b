#!/usr/bin/env bash
# The command line as a user meets it: exit codes, streams, messages. Usage: cli_test.sh FUSEC
set -u
fusec=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0

cat > good.fusion.json <<'G'
{"version": 1, "dims": {"N": 8}, "inputs": [{"name": "x", "dtype": "bf16", "shape": ["N"]}],
 "ops": [{"op": "neg", "in": ["x"], "out": "y"}], "outputs": ["y"]}
G
cat > unused.fusion.json <<'G'
{"version": 1, "inputs": [{"name": "x", "dtype": "f32", "shape": [2]}, {"name": "z", "dtype": "f32", "shape": [2]}],
 "ops": [{"op": "neg", "in": ["x"], "out": "y"}], "outputs": ["y"]}
G
sed 's/version/name": "good", "version/' good.fusion.json > ./-dash.fusion.json
sed 's/neg/nge/' good.fusion.json > bad.fusion.json
printf '{"version": 1,' > cut.fusion.json
mkdir folder

# expect EXIT STREAM PATTERN ARGS...: the exit code, and a fixed text in that stream ("" asks for an empty one).
expect() {
  local code=$1 stream=$2 pattern=$3 got
  shift 3
  "$fusec" "$@" >out 2>err </dev/null
  got=$?
  if [ "$got" -ne "$code" ]; then echo "FAILED: fusec $*: exit $got, wanted $code"; cat out err; failed=1; fi
  if [ -z "$pattern" ]; then
    if [ -s "$stream" ]; then echo "FAILED: fusec $*: $stream is not empty"; cat "$stream"; failed=1; fi
  elif ! grep -qF -- "$pattern" "$stream"; then echo "FAILED: fusec $*: $stream lacks '$pattern'"; cat "$stream"; failed=1; fi
}

expect 2 err "Subcommands"
expect 2 out ""
expect 0 out "fusec compile model.fusion.json" --help
expect 0 out "--strict" check --help
expect 0 out "  fusec run out --bench" run --help
expect 0 out "fusec " --version
expect 0 out "fusec " version
expect 0 out '"format": 1' version --json

expect 2 err "no command 'chekc'; did you mean 'check'?" chekc good.fusion.json
expect 2 err "no command 'frobnicate'" frobnicate
expect 2 err "has no option '--jsno'; did you mean '--json'?" check --jsno good.fusion.json
expect 2 err "has no option '--quite'; did you mean '--quiet'?" --quite check good.fusion.json
expect 2 err "needs a graph" check
expect 2 err "does not take the argument 'more'" show good.fusion.json more
expect 2 err "'N' is not NAME=SIZE" check good.fusion.json --dim N
expect 2 err "must be ≥ 0" check good.fusion.json --dim N=-1
expect 2 err "is not an integer" check good.fusion.json --dim N=4x
expect 2 err "does not fit" check good.fusion.json --dim N=99999999999999999999
expect 2 err "did you mean 'always'?" check good.fusion.json --color allways
expect 2 err "did you mean 'cubin'?" compile good.fusion.json --emit cu,cubni
expect 2 err "is no architecture" compile good.fusion.json --arch 90
expect 2 err "is not an integer ≥ 0" run good.fusion.json --seed -3
expect 2 err "--out needs a value" compile good.fusion.json --out
expect 2 err "'' names no folder" compile good.fusion.json --out ""
expect 2 err "--strict takes no value" check good.fusion.json --strict=maybe
expect 2 err "no stage 'simplfy'; did you mean 'simplify'? (the stages: read" compile good.fusion.json --skip simplfy
expect 2 err "a file stands where a folder is needed" compile good.fusion.json --emit cu --out good.fusion.json
expect 2 err "gpu, cpu" run good.fusion.json --device tpu

expect 0 out "graph 'good' is good: 1 inputs, 1 ops, 1 outputs" check good.fusion.json
expect 0 err "" check good.fusion.json
expect 0 out "graph 'good' is good" check --color=never -- -dash.fusion.json
expect 0 out "" check good.fusion.json --quiet
expect 0 err "warning[unused-input]" check unused.fusion.json
expect 1 err "warning[unused-input]" check unused.fusion.json --strict
expect 2 err "error[unknown-op]: no op 'nge'; did you mean 'neg'?" check bad.fusion.json good.fusion.json
expect 2 out '"word": "unknown-op", "line": 2, "column": 17' check bad.fusion.json --json
expect 2 out '"word": "failure", "text": "cannot read absent.fusion.json' check absent.fusion.json good.fusion.json --json
expect 2 err "the file ends here" check cut.fusion.json
expect 2 err "No such file" check absent.fusion.json
expect 2 err "cannot read folder" check folder
expect 2 err "--dim 'M'" check good.fusion.json --dim M=4
expect 0 out "x: bf16[4096]" show good.fusion.json --dim N=4096
expect 0 out "digraph" show good.fusion.json --dot
expect 0 out '"shape": [8]' show good.fusion.json --json
expect 2 err "excludes" show good.fusion.json --json --dot
expect 0 out "matmul" ops
expect 0 out '{"op": "gelu", "kind": "elementwise", "min_operands": 1, "max_operands": 1' ops gelu --json
expect 2 err "did you mean 'softmax'?" ops sofmax

# --json prints one JSON value on stdout, whatever goes wrong
json() {
  local code=$1 got
  shift
  "$fusec" "$@" --json >out 2>err </dev/null
  got=$?
  if [ "$got" -ne "$code" ]; then echo "FAILED: fusec $* --json: exit $got, wanted $code"; cat out err; failed=1; fi
  python3 -c 'import json, sys; json.load(open(sys.argv[1]))' out || { echo "FAILED: fusec $* --json: no JSON"; cat out; failed=1; }
}
json 0 check good.fusion.json unused.fusion.json
json 2 check absent.fusion.json bad.fusion.json
json 2 show bad.fusion.json
json 2 compile bad.fusion.json absent.fusion.json -o json_out --emit cu
json 2 compile good.fusion.json -o good.fusion.json/below --emit cu
json 0 compile good.fusion.json -o json_out --emit cu
json 0 compile good.fusion.json --stop-after segment
json 2 run bad.fusion.json --device cpu
json 2 run good.fusion.json --device cpu --inputs absent.npz
json 0 run good.fusion.json --device cpu
json 2 check good.fusion.json --dim N=x
json 2 ops sofmax
grep -qF '"error": "no op' out || { echo "FAILED: --json has no error"; cat out; failed=1; }

# A folder whose manifest is missing, as a killed compile leaves it, is refused.
cp -r json_out half && rm half/good.manifest.json
expect 0 out "y  bf16[8]" run json_out --device cpu
expect 2 err "holds no *.manifest.json" run half --device cpu

# explain: a pair, another way, names that there are not
cat > sum.fusion.json <<'G'
{"version": 1, "inputs": [{"name": "x", "dtype": "f32", "shape": [16777216]}],
 "ops": [{"op": "sum", "in": ["x"], "out": "total"}, {"op": "div", "in": ["x", "total"], "out": "share"}], "outputs": ["share"]}
G
expect 0 out "grid-wide dependence: \`total\` is a full reduction over 16777216 elements and \`share\` needs it everywhere" explain sum.fusion.json
expect 0 out "these two alone in one kernel: no. grid-wide dependence" explain sum.fusion.json total share
expect 0 out "what if 0+1 (one kernel): no. grid-wide dependence" explain sum.fusion.json --what-if 0+1
expect 2 err "no value 'shar'; did you mean 'share'?" explain sum.fusion.json shar
expect 2 err "write A+B for one kernel, A/B for two" explain sum.fusion.json --what-if total
expect 2 err "needs a graph" explain
json 0 explain sum.fusion.json total --what-if total+share
json 2 explain sum.fusion.json shar
json 2 explain bad.fusion.json

# the HTML report, beside or instead of the Markdown one
expect 0 out "good.report.html" compile good.fusion.json -o html_out --emit report --report html
[ -f html_out/good.report.html ] && [ ! -e html_out/good.report.md ] || { echo "FAILED: --report html"; failed=1; }
expect 0 out "good.report.md good.report.html" compile good.fusion.json -o html_out --emit report --report md,html --layout layers
expect 2 err "did you mean 'html'?" compile good.fusion.json --report htm
expect 2 err "not what 'fusec run GRAPH --bench --json' prints" compile good.fusion.json -o html_out --emit report --report html --measured good.fusion.json

# reduce: the graph shrinks while the command ends alike
cat > long.fusion.json <<'G'
{"version": 1, "inputs": [{"name": "x", "dtype": "f32", "shape": [8, 64]}],
 "ops": [{"op": "neg", "in": ["x"], "out": "a"}, {"op": "erfinv", "in": ["a"], "out": "b"}, {"op": "abs", "in": ["b"], "out": "c"}], "outputs": ["c"]}
G
expect 0 out "small.json: 1 of 3 ops" reduce long.fusion.json --check 'grep -q erfinv {} && exit 5' -o small.json
expect 0 out "f32[1,1] = erfinv" show small.json
expect 0 out "still runs out of time" reduce long.fusion.json --check 'grep -q erfinv {} && sleep 20' -o small.json --timeout 1 --max-tries 1
expect 2 err "the command succeeds on the whole graph" reduce long.fusion.json --check 'true {}'
expect 2 err "the command cannot be run" reduce long.fusion.json --check 'no_such_command {}'
expect 2 err "needs --check COMMAND" reduce long.fusion.json
expect 2 err "must be ≥ 1" reduce long.fusion.json --check false --timeout 0
json 0 reduce long.fusion.json --check 'grep -q erfinv {} && exit 5' -o small.json

# A crash says that it is a bug and leaves a reproducer; the sanitizers of other builds say more.
mkfifo pipe
"$fusec" check - < pipe > out 2> err &
crashing=$!
exec 9> pipe
sleep 0.5
kill -FPE $crashing
wait $crashing
got=$?
exec 9>&-
if ! grep -q Sanitizer err; then
  [ $got -eq 70 ] && grep -qF "this is a bug in fusec, not in your graph: a division by zero" err && [ -f fusec-bug-1/message.txt ] ||
    { echo "FAILED: a crash: exit $got"; cat err; failed=1; }
fi

# stdin, and what show writes is read again
if ! "$fusec" show --json - < good.fusion.json | "$fusec" check - > out; then echo "FAILED: show | check"; failed=1; fi
grep -qF "<stdin>" out || { echo "FAILED: stdin has no name"; failed=1; }
# no colour unless asked for
"$fusec" --color always check bad.fusion.json 2>&1 | grep -q $'\033' || { echo "FAILED: --color always"; failed=1; }
"$fusec" check bad.fusion.json 2>&1 | grep -q $'\033' && { echo "FAILED: colour in a pipe"; failed=1; }
# a reader that goes away
"$fusec" ops --json | head -c 10 > out
[ "${PIPESTATUS[0]}" -eq 0 ] || { echo "FAILED: a closed pipe"; failed=1; }
if [ -e /dev/full ]; then
  "$fusec" ops > /dev/full 2> err
  [ $? -eq 2 ] && grep -qF "cannot write to stdout" err || { echo "FAILED: a full disk"; failed=1; }
fi

[ $failed -eq 0 ] && echo "all passed"
exit $failed
