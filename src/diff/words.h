// How differences are said to people, in text and Markdown alike.
#pragma once

#include <string>

#include "diff/segment_diff.h"

namespace fusec {

std::string bytes_text(double bytes);          // "20.0 MiB"
std::string microseconds_text(double us);      // "12.5 µs"
std::string number_text(double n);             // "12"
std::string percent_text(double a, double b);  // "+12.5 %"

std::string phrase(const Change& change);  // "dtype \"bf16\" → \"f32\""
// "1 changed, 2 added; 12 follow", or "the same".
std::string graph_summary(const GraphDiff& diff);
std::string recut_summary(const SegmentDiff& diff);
std::string recut_text(const Recut& recut);
// "`x` (cast, line 21): f32, 40 MiB where 20 MiB would do: why"
std::string wide_text(const EdgeChange& edge);
std::string edge_text(const EdgeChange& edge);
// What a metric counts, and a number of it.
std::string metric_label(const Metric& metric);
std::string metric_text(const Metric& metric, double n);

}  // namespace fusec
