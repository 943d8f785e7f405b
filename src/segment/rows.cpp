#include "segment/rows.h"

#include <algorithm>

namespace fusec {

namespace {

// The tensor whose axes an anchor works on.
ValueId operand_of(const Facts& facts, OpId anchor) { return facts.graph[anchor].in[0].value; }

std::vector<uint8_t> inner_flags(const Facts& facts, OpId anchor) {
  std::vector<uint8_t> inner(facts.extents(operand_of(facts, anchor)).size());
  for (int64_t d : facts.inner_dims(anchor)) inner[static_cast<size_t>(d)] = 1;
  return inner;
}

// Merges neighbours that continue one digit, drops extents of 1.
RowDim normal(const RowDim& parts) {
  RowDim out;
  for (const RowPart& p : parts) {
    if (p.extent == 1) continue;
    if (!out.empty() && p.stride == 0 && out.back().stride == 0) out.back().extent *= p.extent;
    else if (!out.empty() && p.stride != 0 && out.back().stride == p.stride * p.extent)
      out.back() = {p.stride, out.back().extent * p.extent};
    else out.push_back(p);
  }
  return out;
}

RowDim inner_dim(int64_t extent) { return extent == 1 ? RowDim{} : RowDim{{0, extent}}; }

}  // namespace

std::vector<int64_t> axes_signature(const Facts& facts, OpId anchor) {
  std::vector<int64_t> signature;  // kept extents as they are, inner ones negative
  const auto shape = facts.extents(operand_of(facts, anchor));
  const auto inner = inner_flags(facts, anchor);
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    const int64_t extent = inner[d] ? -shape[d] : shape[d];
    if (!signature.empty() && (signature.back() < 0) == (extent < 0)) signature.back() *= extent < 0 ? -extent : extent;
    else signature.push_back(extent);
  }
  return signature;
}

RowMapper::RowMapper(const Facts& facts)
    : facts_(facts), tag_stamp_(facts.graph.values.size()), outer_stamp_(facts.graph.values.size()), tags_(facts.graph.values.size()) {}

RowMapping RowMapper::map(const std::vector<OpId>& ops, const std::vector<uint8_t>& depends, const std::vector<OpId>& outer) {
  ++stamp_;
  demoted_.clear();
  result_ = {};
  std::vector<OpId> sources;
  for (size_t n = 0; n < ops.size(); ++n)
    if (facts_.is_anchor(ops[n]) && !depends[n] && std::find(outer.begin(), outer.end(), ops[n]) == outer.end()) sources.push_back(ops[n]);
  if (sources.empty()) return result_;
  bool by_signature = false;
  const int64_t rows = common_rows(sources, by_signature);
  for (size_t n = 0; n < ops.size(); ++n) {
    const OpId id = ops[n];
    const Op& op = facts_.graph[id];
    if (!depends[n]) {
      if (!facts_.is_anchor(id)) continue;
      if (std::find(outer.begin(), outer.end(), id) != outer.end()) {
        if (!ends_here(ops, n)) return result_;
        result_.outer.push_back(id);
        for (ValueId v : op.out)
          if (v.valid()) outer_stamp_[v] = stamp_;
      } else {
        tag_source(id, rows, by_signature);
      }
      continue;
    }
    // What follows a reduction across rows waits for all rows: only its own epilogue, which ends_here has checked.
    bool after_outer = false;
    for (const Operand& o : op.in) after_outer |= o.is_value() && outer_stamp_[o.value] == stamp_;
    if (after_outer) {
      for (ValueId v : op.out)
        if (v.valid()) outer_stamp_[v] = stamp_;
      continue;
    }
    switch (facts_.role(id)) {
      case Role::kPointwise:
        tag_pointwise(id);
        break;
      case Role::kView:
        tag_view(id);
        break;
      case Role::kGather:
        tag_gather(id);
        break;
      default:
        tag_anchor(id, facts_.role(id) == Role::kReduction && ends_here(ops, n));
        break;
    }
  }
  // Rows: all digits that were never demoted.
  std::sort(demoted_.begin(), demoted_.end(), [](const RowPart& a, const RowPart& b) { return a.stride < b.stride; });
  double lost = 1;
  int64_t end = 0;
  for (const RowPart& p : demoted_) {
    const int64_t p_end = p.stride * p.extent;
    const int64_t begin = std::max(p.stride, end);
    if (p_end <= begin) continue;
    lost *= static_cast<double>(p_end) / static_cast<double>(begin);
    end = p_end;
  }
  result_.rows = std::max(1.0, static_cast<double>(rows) / lost);
  result_.ok = true;
  return result_;
}

// Rows that all source anchors share: the kept elements where all reduce the same axes, else the leading kept extents they have in common.
int64_t RowMapper::common_rows(const std::vector<OpId>& sources, bool& by_signature) const {
  const auto first = axes_signature(facts_, sources[0]);
  by_signature = std::all_of(sources.begin(), sources.end(), [&](OpId s) { return axes_signature(facts_, s) == first; });
  if (by_signature) {
    int64_t rows = 1;
    for (int64_t e : first) rows *= e > 0 ? e : 1;
    return rows;
  }
  std::vector<int64_t> common;
  for (OpId s : sources) {
    std::vector<int64_t> products{1};
    const auto shape = facts_.extents(operand_of(facts_, s));
    const auto inner = inner_flags(facts_, s);
    for (size_t d = 0; d < shape.size() && (!inner[d] || shape[d] == 1); ++d) products.push_back(products.back() * shape[d]);
    if (s == sources[0]) common = products;
    std::erase_if(common, [&](int64_t p) { return std::find(products.begin(), products.end(), p) == products.end(); });
  }
  return *std::max_element(common.begin(), common.end());
}

void RowMapper::set_tag(OpId op, RowTag tag) {
  for (ValueId v : facts_.graph[op].out) {
    if (!v.valid()) continue;
    tag_stamp_[v] = stamp_;
    tags_[v] = tag;
  }
}

// A tag with every position inside the row.
RowTag RowMapper::inner_tag(ValueId v) const {
  RowTag tag;
  for (int64_t e : facts_.extents(v)) tag.push_back(inner_dim(e));
  return tag;
}

void RowMapper::tag_source(OpId id, int64_t rows, bool by_signature) {
  const Op& op = facts_.graph[id];
  const auto shape = facts_.extents(operand_of(facts_, id));
  const auto inner = inner_flags(facts_, id);
  RowTag tag;
  int64_t left = rows;
  const bool drops = facts_.role(id) == Role::kReduction;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (inner[d]) {
      if (!drops) tag.push_back(inner_dim(facts_.extents(facts_.result(id))[d]));
      else if (facts_.graph.attrs(op).keepdim) tag.push_back({});
      continue;
    }
    const bool row = by_signature || left > 1;
    if (row && shape[d] > 0) left /= shape[d];
    tag.push_back(shape[d] == 1 ? RowDim{} : row ? RowDim{{std::max<int64_t>(left, 1), shape[d]}} : inner_dim(shape[d]));
  }
  set_tag(id, std::move(tag));
}

// Row parts without the digits that were demoted since.
RowDim RowMapper::settle(const RowDim& dim) const {
  RowDim parts = dim;
  for (const RowPart& lost : demoted_) {
    RowDim next;
    for (const RowPart& p : parts) {
      const int64_t begin = p.stride, end = p.stride * p.extent, cut_begin = std::max(begin, lost.stride),
                    cut_end = std::min(end, lost.stride * lost.extent);
      if (p.stride == 0 || cut_begin >= cut_end) {
        next.push_back(p);
      } else if (end % cut_end || cut_end % cut_begin || cut_begin % begin) {
        next.push_back({0, p.extent});
      } else {
        next.push_back({cut_end, end / cut_end});
        next.push_back({0, cut_end / cut_begin});
        next.push_back({begin, cut_begin / begin});
      }
    }
    parts = std::move(next);
  }
  return normal(parts);
}

void RowMapper::demote(const RowDim& dim, OpId at) {
  for (const RowPart& p : settle(dim)) {
    if (p.stride == 0) continue;
    demoted_.push_back(p);
    if (!result_.mixed_at.valid()) result_.mixed_at = at;
  }
}

// One digit in two dims of a value: row i meets row j.
void RowMapper::demote_repeats(const RowTag& tag, OpId at) {
  std::vector<RowPart> seen;
  for (const RowDim& dim : tag)
    for (const RowPart& p : settle(dim)) {
      if (p.stride == 0) continue;
      for (const RowPart& s : seen)
        if (p.stride < s.stride * s.extent && s.stride < p.stride * p.extent) {
          demote({p}, at);
          demote({s}, at);
        }
      seen.push_back(p);
    }
}

// Brings an operand of (at most) the result's shape into `tag`, aligned at the last dim.
void RowMapper::unite(RowTag& tag, ValueId operand, OpId at) {
  const RowTag* other = tag_of(operand);
  if (!other) return;
  const size_t shift = tag.size() - other->size();
  for (size_t d = 0; d < other->size(); ++d) {
    const RowDim theirs = settle((*other)[d]);
    if (theirs.empty()) continue;
    RowDim& ours = tag[d + shift];
    ours = settle(ours);
    if (ours.empty()) ours = theirs;
    else if (ours != theirs) {
      demote(ours, at);
      demote(theirs, at);
      ours = settle(ours);
    }
  }
}

void RowMapper::tag_pointwise(OpId id) {
  const auto shape = facts_.extents(facts_.result(id));
  RowTag tag(shape.size());
  for (const Operand& o : facts_.graph[id].in)
    if (o.is_value()) unite(tag, o.value, id);
  for (size_t d = 0; d < shape.size(); ++d)
    if (tag[d].empty()) tag[d] = inner_dim(shape[d]);
  demote_repeats(tag, id);
  set_tag(id, std::move(tag));
}

void RowMapper::tag_view(OpId id) {
  const Op& op = facts_.graph[id];
  const Attrs& a = facts_.graph.attrs(op);
  const auto shape = facts_.extents(facts_.result(id));
  const ValueId in = op.in[0].value;
  const RowTag* from = tag_of(in);
  RowTag tag = inner_tag(facts_.result(id));
  if (facts_.elems(facts_.result(id)) == 0) return set_tag(id, std::move(tag));
  switch (op.kind) {
    case OpKind::kPermute:
      for (size_t d = 0; d < shape.size(); ++d) tag[d] = (*from)[static_cast<size_t>(a.perm[d])];
      break;
    case OpKind::kExpand:
      for (size_t d = 0; d < from->size(); ++d)
        if (!(*from)[d].empty()) tag[d + shape.size() - from->size()] = (*from)[d];
      break;
    case OpKind::kReshape:
    case OpKind::kSqueeze:
    case OpKind::kUnsqueeze: {
      // The digits in row-major order, cut again at the new extents.
      RowDim parts;
      for (const RowDim& dim : *from)
        for (const RowPart& p : dim) parts.push_back(p);
      for (size_t d = shape.size(); d-- > 0;) {
        RowDim dim;
        int64_t want = shape[d];
        while (want > 1 && !parts.empty()) {
          RowPart p = parts.back();
          parts.pop_back();
          if (want % p.extent == 0) {
            want /= p.extent;
            dim.push_back(p);
          } else if (p.extent % want == 0) {
            parts.push_back({p.stride * want, p.extent / want});
            dim.push_back({p.stride, want});
            want = 1;
          } else {
            // The cut falls inside a digit: nothing to the left can be told apart.
            parts.push_back(p);
            demote(parts, id);
            demote(dim, id);
            parts.clear();
            dim = {{0, shape[d]}};
            want = 1;
          }
        }
        std::reverse(dim.begin(), dim.end());
        tag[d] = want > 1 ? inner_dim(shape[d]) : normal(dim);
      }
      break;
    }
    default:
      // slice, flip, pad: a dim that changes, or is turned round, is no row axis any more; cat, stack: nor is theirs.
      for (const Operand& o : op.in) {
        const RowTag* part = o.is_value() ? tag_of(o.value) : nullptr;
        if (!part) continue;
        const auto in_shape = facts_.extents(o.value);
        if (op.kind == OpKind::kStack) {
          RowTag lifted = *part;
          lifted.insert(lifted.begin() + a.dim, RowDim{});
          for (size_t d = 0; d < lifted.size(); ++d)
            if (d != static_cast<size_t>(a.dim) && !lifted[d].empty()) {
              if (tag[d] == inner_dim(shape[d])) tag[d] = lifted[d];
              else if (settle(tag[d]) != settle(lifted[d])) demote(tag[d], id), demote(lifted[d], id);
            }
          continue;
        }
        for (size_t d = 0; d < in_shape.size(); ++d) {
          const bool turned = op.kind == OpKind::kFlip && std::find(a.dims.begin(), a.dims.end(), static_cast<int64_t>(d)) != a.dims.end();
          const bool changed = turned || in_shape[d] != shape[d] || (op.kind == OpKind::kCat && d == static_cast<size_t>(a.dim));
          if (changed) demote((*part)[d], id);
          else if (tag[d] == inner_dim(shape[d])) tag[d] = (*part)[d];
          else if (settle(tag[d]) != settle((*part)[d])) demote(tag[d], id), demote((*part)[d], id);
        }
      }
      break;
  }
  set_tag(id, std::move(tag));
}

void RowMapper::tag_gather(OpId id) {
  const Op& op = facts_.graph[id];
  const size_t dim = static_cast<size_t>(facts_.graph.attrs(op).dim);
  const auto shape = facts_.extents(facts_.result(id));
  RowTag tag(shape.size());
  const bool embedding = op.kind == OpKind::kEmbedding;
  const ValueId data = op.in[embedding ? 1 : 0].value, index = op.in[embedding ? 0 : 1].value;
  if (const RowTag* at = tag_of(index)) {
    if (op.kind == OpKind::kIndexSelect) tag[dim] = (*at)[0];
    else if (embedding) std::copy(at->begin(), at->end(), tag.begin());
    else unite(tag, index, id);
  }
  if (const RowTag* from = tag_of(data)) {
    if (embedding) {
      demote((*from)[0], id);
      demote((*from)[1], id);
    } else {
      const auto data_shape = facts_.extents(data);
      for (size_t d = 0; d < data_shape.size(); ++d) {
        if (d == dim || data_shape[d] != shape[d]) demote((*from)[d], id);
        else if (tag[d].empty()) tag[d] = (*from)[d];
        else if (settle(tag[d]) != settle((*from)[d])) demote(tag[d], id), demote((*from)[d], id);
      }
    }
  }
  for (size_t d = 0; d < shape.size(); ++d)
    if (tag[d].empty()) tag[d] = inner_dim(shape[d]);
  demote_repeats(tag, id);
  set_tag(id, std::move(tag));
}

// An anchor that depends on another: its inner dims must lie inside the row.
void RowMapper::tag_anchor(OpId id, bool may_be_outer) {
  const Op& op = facts_.graph[id];
  const Role role = facts_.role(id);
  const auto shape = facts_.extents(operand_of(facts_, id));
  const auto inner = inner_flags(facts_, id);
  RowTag tag(shape.size());
  for (size_t k = 0; k < op.in.size(); ++k) {
    if (!op.in[k].is_value()) continue;
    if (const RowTag* t = tag_of(op.in[k].value); t && t->size() != shape.size()) {
      for (const RowDim& dim : *t) demote(dim, id);  // index_put's index list
      continue;
    }
    const auto in_shape = facts_.extents(op.in[k].value);
    unite(tag, op.in[k].value, id);
    if (k > 0)
      for (size_t d = 0; d < shape.size(); ++d)
        if (!inner[d] && in_shape.size() == shape.size() && in_shape[d] != shape[d]) demote(tag[d], id);
  }
  bool across = false;
  for (size_t d = 0; d < shape.size(); ++d)
    if (inner[d])
      for (const RowPart& p : settle(tag[d])) across |= p.stride != 0;
  if (across && may_be_outer) {
    result_.outer.push_back(id);
    for (ValueId v : op.out)
      if (v.valid()) outer_stamp_[v] = stamp_;
    return;
  }
  RowTag out;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (inner[d]) {
      demote(tag[d], id);
      if (role != Role::kReduction) out.push_back(inner_dim(facts_.extents(facts_.result(id))[d]));
      else if (facts_.graph.attrs(op).keepdim) out.push_back({});
    } else {
      out.push_back(tag[d].empty() ? inner_dim(shape[d]) : tag[d]);
    }
  }
  set_tag(id, std::move(out));
}

// Whether only an epilogue of its own size follows an anchor.
bool RowMapper::ends_here(const std::vector<OpId>& ops, size_t n) const {
  const int64_t elems = facts_.elems(facts_.result(ops[n]));
  std::vector<ValueId> after;
  for (ValueId v : facts_.graph[ops[n]].out)
    if (v.valid()) after.push_back(v);
  for (size_t m = n + 1; m < ops.size(); ++m) {
    const Op& op = facts_.graph[ops[m]];
    const bool reads = std::any_of(op.in.begin(), op.in.end(), [&](const Operand& o) {
      return o.is_value() && std::find(after.begin(), after.end(), o.value) != after.end();
    });
    if (!reads) continue;
    if (facts_.is_anchor(ops[m]) || facts_.role(ops[m]) == Role::kGather || facts_.elems(facts_.result(ops[m])) != elems) return false;
    for (ValueId v : op.out)
      if (v.valid()) after.push_back(v);
  }
  return true;
}

}  // namespace fusec
