"""What a segmentation report has to hold, derived anew from the rewritten graph: each op in one segment, edges forward and with a reason, and
no cut inside a cast group: no wide value is stored that narrower ones could stand for, and a group that is called whole is whole.

The graph comes as fusec prints it (`compile --stop-after remove_dead_ops`), the report as it writes it.
"""
import re

import data
import emulate

# Ops that no schedule evaluates wherever their value is needed: they may leave a cast group, and their results may be stored as they are.
ANCHORS = {
    "sum", "prod", "mean", "max", "min", "all", "any", "argmax", "argmin", "var", "var_mean", "logsumexp", "cumsum", "cumprod", "cummax", "cummin",
    "sort", "argsort", "topk", "scatter", "index_put", "matmul", "linear",
}
LINE = re.compile(r"^  (?P<results>[^=]*[\]_]) = (?P<op>\w+)\((?P<operands>.*)\)$")
INPUT = re.compile(r"^  input  (?P<name>[\w.:]+): (?P<dtype>\w+)\[")
RESULT = re.compile(r"([\w.:]+|_): (\w+)\[([^\]]*)\]")


class Op:
    def __init__(self, kind, operands, results):
        self.kind, self.operands, self.results = kind, operands, results
        self.name = results[0]


class Rewritten:
    """The ops of a printed graph, in order, and the dtype and number of elements of each value (None: not known before launch)."""

    def __init__(self, text):
        self.ops, self.dtypes, self.elements, self.inputs = [], {}, {}, set()
        for line in text.splitlines():
            if found := INPUT.match(line):
                self.inputs.add(found["name"])
                self.add(found["name"], found["dtype"], line[found.end() : line.index("]", found.end())])
            elif found := LINE.match(line):
                results = RESULT.findall(found["results"])
                for name, dtype, shape in results:
                    self.add(name, dtype, shape)
                self.ops.append(Op(found["op"], [w for w in re.split(r", ", found["operands"]) if w in self.dtypes], [name for name, _, _ in results if name != "_"]))
        self.maker = {name: op for op in self.ops for name in op.results}
        self.outputs = set(re.findall(r"^  output ([\w.:]+)", text, re.M))
        self.overwritten = {into for value, into in re.findall(r"^  output ([\w.:]+) over input ([\w.:]+)", text, re.M) if value in self.maker}

    def add(self, name, dtype, shape):
        self.dtypes[name] = dtype
        sizes = [n for n in shape.split(",") if n]
        self.elements[name] = None
        if all(n.isdigit() for n in sizes):
            self.elements[name] = 1
            for n in sizes:
                self.elements[name] *= int(n)

    def wide(self):
        """Float values of more bytes than all that they could be recomputed from without an anchor."""
        narrow = {}  # value → bytes of the widest value behind it
        for op in self.ops:
            if op.kind in ANCHORS or not op.results:
                continue
            v, widest = op.results[0], 0
            for operand in op.operands:
                a, b = self.elements[operand], self.elements[v]
                if a is not None and b is not None and a < b // 64:
                    continue  # a few numbers beside it
                widest = max(widest, narrow.get(operand, data.BYTES[self.dtypes[operand]]))
            if 0 < widest < data.BYTES[self.dtypes[v]]:
                narrow[v] = widest
        return {v for v in narrow if self.dtypes[v] in data.FLOATS}

    def made_of_overwritten(self):
        """Values that later kernels cannot make again without an anchor: they come from an input that an output is written over."""
        found = set(self.overwritten)
        for op in self.ops:
            if op.kind not in ANCHORS and found & set(op.operands):
                found |= set(op.results)
        return found


def check(text, report):
    """Raises emulate.Failure with the first rule that does not hold."""
    graph, segments = Rewritten(text), report["segments"]

    def must(holds, words):
        if not holds:
            raise emulate.Failure(f"the report: {words}")

    listed = [op for s in segments for op in s["ops"]]
    must(len(set(listed)) == len(listed), "an op is in two segments")
    missing = {op.name for op in graph.ops} - set(listed)
    must(not missing, f"{sorted(missing)[:3]} in no segment")
    edges = {e["value"]: e for e in report["edges"]}
    evaluated = [set(s["ops"]) | set(s["recomputed"]) for s in segments]
    written = {}
    for n, s in enumerate(segments):
        for value in s["inputs"]:
            must(value in graph.inputs or value in written, f"segment {n} reads {value} before it is written")
            must(value in graph.inputs or n in edges.get(value, {"to": []})["to"], f"{value} crosses segments but is no edge")
        for value in s["outputs"]:
            must(value not in written, f"{value} is written twice")
            written[value] = n
        for op in (graph.maker[name] for name in sorted(evaluated[n]) if name in graph.maker):  # the report tells of folded ops too
            for operand in op.operands:
                known = operand in s["inputs"] or (operand in graph.maker and graph.maker[operand].name in evaluated[n])
                must(known, f"segment {n} lacks {operand} for {op.name}")
    must(graph.outputs - graph.inputs <= set(written), f"outputs that nothing writes: {graph.outputs - graph.inputs - set(written)}")
    for value, edge in edges.items():
        must(edge["why"], f"the edge {value} does not say why")
        must(written.get(value) == edge["from"], f"the edge {value} does not start where it is written")
        must(all(to > edge["from"] for to in edge["to"]), f"the edge {value} goes backwards")
    check_groups(graph, report, edges, evaluated, must)
    must(report["totals"]["edge_bytes"] == sum(e["bytes"] for e in report["edges"]), "totals.edge_bytes is no sum")


def check_groups(graph, report, edges, evaluated, must):
    wide, cut = graph.wide(), set()
    for group in report["cast_groups"]:
        if group["whole"]:
            outside = set(group["ops"]) - evaluated[group["segment"]]
            must(not outside, f"cast group {group['id']} is called whole, but {sorted(outside)[:3]} stand elsewhere")
        else:
            must(group.get("why"), f"cast group {group['id']} is cut and does not say why")
            cut |= set(group["ops"])
    for value in sorted(v for v in wide & set(edges) - graph.made_of_overwritten() if graph.elements[v] not in (0, 1)):
        readers = [op.name for to in edges[value]["to"] for op in (graph.maker.get(name) for name in evaluated[to]) if op and value in op.operands and op.kind not in ANCHORS]
        must(not readers or graph.maker[value].name in cut, f"a cut inside a cast group: the wide value {value} is stored for {readers[:1]}")
    stored = [v for v in edges if v in wide]
    must(report["totals"]["wide_edges"] >= len(stored), "totals.wide_edges leaves some out")
