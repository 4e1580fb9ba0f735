// SPDX-License-Identifier: Apache-2.0
#include "learn/fabrics/fabric.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <nlohmann/json.hpp>
#include <utility>

#include "model/machine_text.hpp"
#include "text/json_reader.hpp"
#include "text/size.hpp"

namespace stretto {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view format = "stretto-fabric";
constexpr int version = 1;
constexpr std::int64_t most_nodes = 1 << 20;
constexpr std::int64_t most_ppn = 1 << 16;
constexpr std::int64_t most_streams = 1024;
constexpr std::int64_t most_connections_from = 1LL << 40;
constexpr std::size_t most_text = 1000;
constexpr std::size_t most_date = 40;

FabricIdentity read_identity(const JsonValue& value) {
  JsonObject object = value.object();
  FabricIdentity identity{.mpi = object.required("mpi").text(most_text),
                          .network = object.required("network").text(most_text),
                          .processor = object.required("processor").text(most_text),
                          .hosts = object.required("hosts").text(most_text)};
  object.finish();
  return identity;
}

double read_busy(JsonObject& object) {
  const auto busy = object.optional("busy");
  if (!busy) return 0;
  const double part = busy->positive();
  if (part > 1) busy->fail("expected a number up to 1");
  return part;
}

/// Whether a call can be as fast as it says, cut into so many segments.
bool is_possible(const Decision& decision) {
  constexpr double least_of_segment = 0.1e-6;
  const std::size_t segments =
      decision.spec.pipelining.count(decision.bytes / sizeof(double), sizeof(double));
  return decision.seconds == 0 || least_of_segment * static_cast<double>(segments - 1) < decision.seconds;
}

Decision read_decision(const JsonValue& value) {
  JsonObject object = value.object();
  Decision decision;
  CallKind& kind = decision.kind;
  kind.nodes = static_cast<int>(object.required("nodes").whole(1, most_nodes));
  kind.max_ppn = static_cast<int>(object.required("ppn").whole(1, most_ppn));
  kind.min_ppn = kind.max_ppn;
  if (const auto least = object.optional("min_ppn")) {
    kind.min_ppn = static_cast<int>(least->whole(1, kind.max_ppn));
  }
  const JsonValue name = object.required("call");
  const auto call = find_call(name.text(most_text));
  if (!call) name.fail("expected a call such as allreduce or ibcast");
  kind.collective = call->collective;
  kind.form = call->form;
  if (const auto in_place = object.optional("in_place")) kind.in_place = in_place->truth();
  const JsonValue from = object.required("from");
  kind.from = from.bytes();
  if (!std::has_single_bit(kind.from)) from.fail("expected a power of two");
  const JsonValue spec = object.required("spec");
  try {
    decision.spec = parse_spec(kind.collective, spec.text(most_text));
  } catch (const SpecError& error) {
    spec.fail(error.what());
  }
  if (const auto gain = object.optional("gain")) decision.gain = gain->positive();
  if (const auto seconds = object.optional("seconds")) {
    decision.seconds = seconds->positive();
    decision.bytes = object.required("bytes").bytes();
  }
  if (const auto when = object.optional("when")) decision.when = when->text(most_date);
  decision.busy = read_busy(object);
  if (const auto dropped = object.optional("dropped")) decision.is_dropped = dropped->truth();
  object.finish();
  decision.is_dropped = decision.is_dropped || !is_possible(decision);
  return decision;
}

/// Adds the part in hundredths; less is not worth mentioning.
void add_busy(Json& json, double busy) {
  const double hundredths = std::round(busy * 100);
  if (hundredths >= 1) json["busy"] = std::min(hundredths, 100.0) / 100;
}

/// Whether a figure is known and can be read back from a file.
bool is_known(double figure) {
  return figure > 0 && std::isfinite(figure);
}

Json json_of(const Decision& decision) {
  const CallKind& kind = decision.kind;
  Json json{{"nodes", kind.nodes}, {"ppn", kind.max_ppn}};
  if (kind.min_ppn != kind.max_ppn) json["min_ppn"] = kind.min_ppn;
  json["call"] = name_of(kind.collective, kind.form);
  if (kind.in_place) json["in_place"] = true;
  json["from"] = size_text(kind.from);
  json["spec"] = to_string(decision.spec);
  if (is_known(decision.gain)) json["gain"] = decision.gain;
  if (is_known(decision.seconds)) {
    json["seconds"] = decision.seconds;
    json["bytes"] = size_text(decision.bytes);
  }
  if (!decision.when.empty()) json["when"] = decision.when;
  add_busy(json, decision.busy);
  if (decision.is_dropped) json["dropped"] = true;
  return json;
}

MeasuredNetwork read_measured(const JsonValue& value) {
  JsonObject object = value.object();
  MeasuredNetwork measured;
  measured.nodes = static_cast<int>(object.required("nodes").whole(1, most_nodes));
  measured.ppn = static_cast<int>(object.required("ppn").whole(1, most_ppn));
  if (const auto when = object.optional("when")) measured.when = when->text(most_date);
  measured.busy = read_busy(object);
  if (const auto seconds = object.optional("library_seconds")) measured.library_seconds = seconds->positive();
  if (const auto from = object.optional("connections_from"))
    measured.connections_from = static_cast<std::size_t>(from->whole(1, most_connections_from));
  if (const auto streams = object.optional("streams"))
    measured.streams = static_cast<int>(streams->whole(1, most_streams));
  JsonObject machine = object.required("machine").object();
  measured.machine = read_machine(machine);
  machine.finish();
  object.finish();
  return measured;
}

Json json_of(const MeasuredNetwork& measured) {
  Json json{{"nodes", measured.nodes}, {"ppn", measured.ppn}};
  if (!measured.when.empty()) json["when"] = measured.when;
  add_busy(json, measured.busy);
  if (is_known(measured.library_seconds)) json["library_seconds"] = measured.library_seconds;
  if (measured.connections_from > 0) json["connections_from"] = measured.connections_from;
  if (measured.streams > 1) json["streams"] = measured.streams;
  json["machine"] = json_of(measured.machine);
  return json;
}

/// Whether a finding comes from a much busier machine than the known one. If the machine was only a little
/// busier, the latest finding counts, because networks change.
template <typename Finding>
bool is_disturbed(const Finding& finding, const Finding& known) {
  constexpr double much = 0.2;
  return finding.busy > known.busy + much;
}

/// Returns a text that names the first difference.
std::string find_difference(const FabricIdentity& file, const FabricIdentity& job) {
  const auto differs = [](std::string_view what, const std::string& there, const std::string& here) {
    return std::string(what) + " is \"" + shown(there) + "\", not \"" + shown(here) + "\" as in this job";
  };
  if (file.mpi != job.mpi) return differs("mpi", file.mpi, job.mpi);
  if (file.network != job.network) return differs("network", file.network, job.network);
  if (file.processor != job.processor) return differs("processor", file.processor, job.processor);
  return differs("hosts", file.hosts, job.hosts);
}

}  // namespace

Fabric::Fabric(std::string_view text, FabricIdentity identity) : identity_(std::move(identity)) {
  read(text, true);
}

void Fabric::read(std::string_view text, bool is_of_this_fabric) {
  const JsonText json(text);
  JsonObject file = json.file(format, version);
  const JsonValue place = file.required("fabric");
  FabricIdentity found = read_identity(place);
  if (is_of_this_fabric && found != identity_) place.fail(find_difference(found, identity_));
  identity_ = std::move(found);
  for (const JsonValue& value : file.required("decisions").items(most_decisions)) {
    keep(read_decision(value));
  }
  if (const auto measured = file.optional("measured")) measured_ = read_measured(*measured);
  file.finish();
}

const Decision* Fabric::find(const CallKind& kind) const {
  const auto found = std::ranges::find(decisions_, kind, &Decision::kind);
  return found == decisions_.end() || found->is_dropped ? nullptr : &*found;
}

const Decision* Fabric::drop(const CallKind& kind) {
  const auto found = std::ranges::find(decisions_, kind, &Decision::kind);
  if (found == decisions_.end()) return nullptr;
  found->is_dropped = true;
  return &*found;
}

void Fabric::keep(const Decision& decision) {
  const Decision* known = find(decision.kind);
  if (known != nullptr && is_disturbed(decision, *known)) return;
  if (known != nullptr && decision.is_dropped && known->spec != decision.spec) return;
  std::erase_if(decisions_, [&](const Decision& other) { return other.kind == decision.kind; });
  if (decisions_.size() == most_decisions) decisions_.erase(decisions_.begin());
  decisions_.push_back(decision);
}

void Fabric::keep(const MeasuredNetwork& measured) {
  if (measured_ && measured_->covers(measured.nodes, measured.ppn) &&
      (!measured.covers(measured_->nodes, measured_->ppn) || is_disturbed(measured, *measured_))) {
    return;
  }
  const std::string text = json_of(measured).dump();
  try {
    measured_ = read_measured(JsonText(text).root());
  } catch (const FormatError&) {
    return;
  }
}

std::string Fabric::text() const {
  Json list = Json::array();
  for (const Decision& decision : decisions_) list.push_back(json_of(decision));
  Json file{{"format", format},
            {"version", version},
            {"fabric",
             {{"mpi", identity_.mpi},
              {"network", identity_.network},
              {"processor", identity_.processor},
              {"hosts", identity_.hosts}}},
            {"decisions", std::move(list)}};
  if (measured_) file["measured"] = json_of(*measured_);
  return file.dump(1) + '\n';
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  std::array<char, 16> text{};
  if (gmtime_r(&now, &utc) == nullptr || std::strftime(text.data(), text.size(), "%Y-%m-%d", &utc) == 0)
    return {};
  return text.data();
}

}  // namespace stretto
