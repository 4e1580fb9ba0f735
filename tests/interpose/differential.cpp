// SPDX-License-Identifier: Apache-2.0
// Random calls of all collectives, by Stretto and by the library, compared.
//
//   compare SEED CALLS [FIRST]      the calls FIRST to FIRST+CALLS-1 of a seed
//   reproducible SEED CALLS [FIRST]      STRETTO_REPRODUCIBLE=1: the same bits by every spec and placement
//
// Each call has its own random numbers, so that it can be repeated alone. All ranks draw the same numbers
// from one generator. A rank's data and layouts come from a second generator. The library gets the same data
// in the simplest layout, so its own faults with rare datatypes do not matter.
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <thread>

#include "algorithms/mpi_function.hpp"
#include "check.hpp"
#include "layouts.hpp"
#include "select/spec.hpp"
#include "stretto/stretto.h"
#include "topology/topology_text.hpp"

namespace {

using stretto::Collective;
using stretto::MpiFunction;
using stretto::Spec;
using stretto::Topology;
using Bytes = std::vector<char>;

// ---- random choices

std::size_t below(Random& random, std::size_t limit) {
  return static_cast<std::size_t>(random.next() % limit);
}
template <typename T>
const T& one_of(Random& random, const std::vector<T>& values) {
  return values[below(random, values.size())];
}
bool chance(Random& random, std::size_t percent) {
  return below(random, 100) < percent;
}

// ---- operations

enum class Values { bits, flags, halves, few, residues, reals, factors };
struct Operation {
  const char* name;
  MPI_Op handle;
  Values values;
  bool commutative = true;
};

constexpr std::int64_t prime = 30011;  // products of two fit 32 bits

std::vector<const Layout*>& known_layouts() {
  static std::vector<const Layout*> all;
  return all;
}
const Layout& layout_of(MPI_Datatype handle) {
  for (const Layout* layout : known_layouts()) {
    if (layout->handle == handle && layout->units == 1) return *layout;
  }
  CHECK(false, "an operation was called with a datatype that is not the program's");
  std::abort();
}

using Numbers = std::array<std::int64_t, 4>;
Numbers read(const char* element, const Layout& layout) {
  Numbers numbers{};
  for (std::size_t i = 0; i < layout.parts.size(); ++i) {
    std::memcpy(&numbers.at(i), element + layout.parts[i].offset, layout.parts[i].bytes);
  }
  return numbers;
}
void write(char* element, const Layout& layout, const Numbers& numbers) {
  for (std::size_t i = 0; i < layout.parts.size(); ++i) {
    std::memcpy(element + layout.parts[i].offset, &numbers.at(i), layout.parts[i].bytes);
  }
}

Numbers add_and_multiply(const Numbers& a, const Numbers& b) {
  return {(a[0] + b[0]) % prime, a[1] * b[1] % prime, (a[2] + b[2]) % prime, a[3] * b[3] % prime};
}
/// Composes x → a x + b of the first two; adds the others.
Numbers compose(const Numbers& a, const Numbers& b) {
  return {a[0] * b[0] % prime, (a[0] * b[1] + a[1]) % prime, (a[2] + b[2]) % prime, (a[3] + b[3]) % prime};
}
Numbers multiply_matrices(const Numbers& a, const Numbers& b) {
  return {(a[0] * b[0] + a[1] * b[2]) % prime, (a[0] * b[1] + a[1] * b[3]) % prime,
          (a[2] * b[0] + a[3] * b[2]) % prime, (a[2] * b[1] + a[3] * b[3]) % prime};
}

template <Numbers (*combine)(const Numbers&, const Numbers&)>
void user_operation(void* in, void* inout, int* length, MPI_Datatype* datatype) {
  const Layout& layout = layout_of(*datatype);
  for (int i = 0; i < *length; ++i) {
    const char* left = static_cast<char*>(in) + i * layout.extent;
    char* right = static_cast<char*>(inout) + i * layout.extent;
    write(right, layout, combine(read(left, layout), read(right, layout)));
  }
}

MPI_Op made(MPI_User_function* function, bool commutative) {
  MPI_Op op{};
  MPI_Op_create(function, commutative ? 1 : 0, &op);
  return op;
}

/// Returns MPI's operations for this family, and the program's own operations. A byte holds no residue.
std::vector<Operation> operations_on(const Family& family) {
  static const Operation adds{"(add, multiply)", made(user_operation<add_and_multiply>, true),
                              Values::residues};
  static const Operation composes{"compose", made(user_operation<compose>, false), Values::residues, false};
  static const Operation multiplies{"2x2 matrices", made(user_operation<multiply_matrices>, false),
                                    Values::residues, false};
  const Layout& plain = family.layouts[0];
  const Kind kind = plain.parts[0].kind;
  const std::size_t parts = plain.parts.size();
  if (!family.predefined) {
    for (const Part& part : plain.parts) {
      if (part.bytes < 4) return {};
    }
    if (parts == 4) return {adds, composes, multiplies};
    return {adds, composes};
  }
  if (plain.handle == MPI_BYTE) {
    return {{"MPI_BAND", MPI_BAND, Values::bits},
            {"MPI_BOR", MPI_BOR, Values::bits},
            {"MPI_BXOR", MPI_BXOR, Values::bits}};
  }
  if (parts == 2 && plain.parts[1].kind == Kind::integer) {
    return {{"MPI_MINLOC", MPI_MINLOC, Values::few}, {"MPI_MAXLOC", MPI_MAXLOC, Values::few}};
  }
  std::vector<Operation> all{{"MPI_SUM", MPI_SUM, Values::bits}, {"MPI_PROD", MPI_PROD, Values::bits}};
  if (kind != Kind::integer) {
    all[0].values = Values::reals;
    all[1].values = Values::factors;
    if (parts == 1) {
      all.push_back({"MPI_MIN", MPI_MIN, Values::reals});
      all.push_back({"MPI_MAX", MPI_MAX, Values::reals});
    }
    return all;
  }
  // Both libraries may compare unsigned numbers as signed ones, so these stay in the common half.
  for (const Operation& op : {Operation{"MPI_MIN", MPI_MIN, Values::halves},
                              {"MPI_MAX", MPI_MAX, Values::halves},
                              {"MPI_LAND", MPI_LAND, Values::flags},
                              {"MPI_LOR", MPI_LOR, Values::flags},
                              {"MPI_LXOR", MPI_LXOR, Values::flags},
                              {"MPI_BAND", MPI_BAND, Values::bits},
                              {"MPI_BOR", MPI_BOR, Values::bits},
                              {"MPI_BXOR", MPI_BXOR, Values::bits}}) {
    all.push_back(op);
  }
  if (plain.parts[0].bytes >= 4) all.push_back(adds);
  return all;
}

double real_value(Values values, Random& random) {
  if (values == Values::few) return static_cast<double>(below(random, 4));
  return values == Values::factors ? 0.5 + random.real() : 2 * random.real() - 1;
}

std::uint64_t integer_value(Values values, std::size_t bytes, Random& random) {
  const std::uint64_t bits = random.next();
  switch (values) {
    case Values::flags:
      return (bits & 1) != 0 ? bits >> 56 : 0;
    case Values::halves:
      return (bits >> (64 - 8 * bytes)) >> 1;
    case Values::few:
      return bits % 4;
    case Values::residues:
      return bits % prime;
    default:
      return bits;
  }
}

/// Random elements in compact form.
Bytes make_values(const Layout& layout, std::size_t count, Values values, Random& random) {
  Bytes compact(count * layout.compact_bytes());
  char* into = compact.data();
  for (std::size_t i = 0; i < count; ++i) {
    for (const Part& part : layout.parts) {
      if (part.kind == Kind::integer) {
        const std::uint64_t value = integer_value(values, part.bytes, random);
        std::memcpy(into, &value, part.bytes);
      } else {
        const double value = real_value(values, random);
        const auto single = static_cast<float>(value);
        const void* from = part.kind == Kind::f32 ? static_cast<const void*>(&single) : &value;
        std::memcpy(into, from, part.bytes);
      }
      into += part.bytes;
    }
  }
  return compact;
}

double real_at(const char* from, Kind kind) {
  float single = 0;
  double value = 0;
  if (kind == Kind::f64) {
    std::memcpy(&value, from, sizeof(value));
    return value;
  }
  std::memcpy(&single, from, sizeof(single));
  return static_cast<double>(single);
}

/// Equal bits. Sums and products of floats may differ as much as another order of p terms allows: terms of
/// sums are at most 1, products of p complex factors at most 2^(2p).
bool same(const Bytes& left, const Bytes& right, const Layout& layout, const Operation& op, int ranks) {
  if (left == right) return true;
  if (left.size() != right.size() || layout.parts[0].kind == Kind::integer) return false;
  if (op.handle != MPI_SUM && op.handle != MPI_PROD) return false;
  const Kind kind = layout.parts[0].kind;
  const std::size_t bytes = layout.parts[0].bytes;
  const double epsilon = kind == Kind::f32 ? std::numeric_limits<float>::epsilon() : 0x1p-52;
  const double greatest = op.handle == MPI_SUM ? ranks : std::pow(4.0, ranks);
  for (std::size_t at = 0; at < left.size(); at += bytes) {
    const double difference = real_at(&left[at], kind) - real_at(&right[at], kind);
    if (!(std::fabs(difference) <= epsilon * ranks * greatest)) return false;
  }
  return true;
}

// ---- specs

/// STRETTO_TOPOLOGY's nodes, or one node.
Topology world_topology() {
  const char* text = std::getenv("STRETTO_TOPOLOGY");
  if (text != nullptr) return stretto::parse_topology(text);
  return Topology::from_labels(std::vector<int>(static_cast<std::size_t>(size_of(MPI_COMM_WORLD)), 0));
}

/// A communicator and the places of its ranks.
struct Place {
  std::string name;
  MPI_Comm comm = MPI_COMM_NULL;
  int ranks = 0;
  int rank = 0;
  Topology topology{};
};

Place place(std::string name, MPI_Comm comm) {
  Place result{std::move(name), comm};
  if (comm == MPI_COMM_NULL) return result;
  result.ranks = size_of(comm);
  result.rank = rank_in(comm);
  const int world = world_rank();
  std::vector<int> world_ranks(static_cast<std::size_t>(result.ranks));
  LIBRARY(PMPI_Allgather)(&world, 1, MPI_INT, world_ranks.data(), 1, MPI_INT, comm);
  const Topology whole = world_topology();
  std::vector<int> nodes;
  for (const int rank : world_ranks) nodes.push_back(whole.node(rank));
  result.topology = Topology::from_labels(nodes);
  return result;
}

stretto::Pipelining random_pipelining(Random& random, std::size_t bytes) {
  stretto::Pipelining result;
  switch (below(random, 4)) {
    case 0:
      break;
    case 1:
    case 2:
      result.segments = 1 + static_cast<int>(below(random, 9));
      break;
    default:
      // Segments must not be so small that a call would send thousands of messages.
      result.segment_bytes = std::max((std::size_t{1} << below(random, 17)), bytes / 200 + 1);
  }
  if (chance(random, 50)) result.window = 1 + static_cast<int>(below(random, 9));
  return result;
}

bool fits(const Spec& spec, const Place& where, int root, bool commutative) {
  if (spec.is_native()) return true;
  if (!commutative && !stretto::keeps_order(spec.recipe, where.topology, root)) return false;
  return spec.recipe.algorithm->why_unsupported(stretto::task_of(spec.recipe, where.topology, root)).empty();
}

Spec random_spec(Collective collective, std::size_t bytes, Random& random) {
  static std::map<Collective, std::vector<stretto::Recipe>> recipes;
  auto& all = recipes[collective];
  if (all.empty()) all = stretto::sample_recipes(collective);
  Spec spec{.recipe = one_of(random, all), .pipelining = random_pipelining(random, bytes)};
  if (stretto::is_never_cut(collective)) spec.pipelining = {};
  if (chance(random, 5)) {
    spec.recipe = {};
    spec.pipelining.window = 0;
  }
  return spec;
}

/// Returns mostly specs that fit. The library carries out calls whose spec does not fit.
Spec random_fitting_spec(Collective collective, std::size_t bytes, const Place& where, int root,
                         bool commutative, Random& random) {
  Spec spec = random_spec(collective, bytes, random);
  for (int tries = 0; tries < 10 && !fits(spec, where, root, commutative) && !chance(random, 2); ++tries) {
    spec = random_spec(collective, bytes, random);
  }
  return spec;
}

// ---- calls

/// How a call is made.
enum class Way { library, stretto, by_spec, begun_by_spec };

int waited(int error, MPI_Request& request) {
  return error != MPI_SUCCESS ? error : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/// MPI_X, PMPI_X, stretto_x or stretto_ix with the same arguments.
#define CALL(X, x, ...)                                                                                 \
  [&] {                                                                                                 \
    static const auto by_spec = from_stretto<decltype(&stretto_##x)>("stretto_" #x);                    \
    static const auto begun_by_spec = from_stretto<decltype(&stretto_i##x)>("stretto_i" #x);            \
    MPI_Request request = MPI_REQUEST_NULL;                                                             \
    return way == Way::by_spec   ? by_spec(__VA_ARGS__, spec.c_str())                                   \
           : way == Way::stretto ? MPI_##X(__VA_ARGS__)                                                 \
           : way == Way::library ? LIBRARY(PMPI_##X)(__VA_ARGS__)                                       \
                                 : waited(begun_by_spec(__VA_ARGS__, spec.c_str(), &request), request); \
  }()

struct Reduction {
  MpiFunction function = MpiFunction::allreduce;
  const Place* where = nullptr;
  const Operation* op = nullptr;
  std::vector<int> blocks;  // of each rank in reduce_scatter; else of all elements together
  int root = 0;
  bool in_place = false;

  [[nodiscard]] std::size_t total() const {
    return static_cast<std::size_t>(std::accumulate(blocks.begin(), blocks.end(), 0));
  }
  [[nodiscard]] bool scatters() const {
    return function == MpiFunction::reduce_scatter || function == MpiFunction::reduce_scatter_block;
  }
  [[nodiscard]] bool has_no_result() const {
    return (function == MpiFunction::reduce && where->rank != root) ||
           (function == MpiFunction::exscan && where->rank == 0);
  }
  [[nodiscard]] std::size_t result_count() const {
    if (has_no_result()) return 0;
    return scatters() ? static_cast<std::size_t>(blocks[static_cast<std::size_t>(where->rank)]) : total();
  }
  [[nodiscard]] bool in_place_here() const {
    return in_place && (function != MpiFunction::reduce || where->rank == root);
  }
};

int call(const Reduction& reduction, const void* from, void* to, MPI_Datatype type, Way way,
         const std::string& spec) {
  const int count = static_cast<int>(reduction.total());
  const MPI_Op op = reduction.op->handle;
  MPI_Comm comm = reduction.where->comm;
  switch (reduction.function) {
    case MpiFunction::allreduce:
      return CALL(Allreduce, allreduce, from, to, count, type, op, comm);
    case MpiFunction::reduce:
      return CALL(Reduce, reduce, from, to, count, type, op, reduction.root, comm);
    case MpiFunction::reduce_scatter:
      return CALL(Reduce_scatter, reduce_scatter, from, to, reduction.blocks.data(), type, op, comm);
    case MpiFunction::scan:
      return CALL(Scan, scan, from, to, count, type, op, comm);
    case MpiFunction::exscan:
      return CALL(Exscan, exscan, from, to, count, type, op, comm);
    default:
      return CALL(Reduce_scatter_block, reduce_scatter_block, from, to, reduction.blocks[0], type, op, comm);
  }
}

/// One call with its own buffers. If the result is empty, `wrong` says what is wrong.
Bytes result_of(const Reduction& reduction, const Layout& layout, const Bytes& values, Way way,
                const std::string& spec, std::size_t shift, bool check_gaps, std::string& wrong) {
  const std::size_t total = reduction.total();
  const bool in_place = reduction.in_place_here();
  Buffer input(layout, total, shift);
  Buffer output(layout, in_place ? total : reduction.result_count(), shift);
  (in_place ? output : input).load(values, 0, total);
  const Bytes before = input.memory();
  // A buffer that is not significant may be null.
  const bool none = reduction.function == MpiFunction::reduce && reduction.has_no_result() && shift == 0;
  const void* from = in_place ? MPI_IN_PLACE : input.address();
  const int error = call(reduction, from, none ? nullptr : output.address(), layout.handle, way, spec);
  if (error != MPI_SUCCESS) wrong = "error " + std::to_string(error_class(error));
  if (input.memory() != before) wrong = "the input was changed";
  if (!output.surroundings_untouched()) wrong = "something around the output was changed";
  Bytes result = output.unload(0, reduction.result_count());
  if (check_gaps && !output.gaps_untouched()) wrong = "gaps were changed";
  return result;
}

// ---- one random call

class Differ {
 public:
  Differ(std::uint64_t seed, bool reproducible) : seed_(seed), reproducible_(reproducible) {
    const int world = world_rank();
    const auto split = [](std::string name, int color, int key) {
      MPI_Comm comm = MPI_COMM_NULL;
      MPI_Comm_split(MPI_COMM_WORLD, color, key, &comm);
      return place(std::move(name), comm);
    };
    MPI_Comm duplicate{};
    MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
    const int ranks = size_of(MPI_COMM_WORLD);
    whole_ = {place("world", MPI_COMM_WORLD), place("duplicate", duplicate), split("reversed", 0, -world),
              split("rotated", 0, (world + 2) % ranks)};
    parts_ = {split("odd and even", world % 2, world), split("all but rank 0, reversed", world > 0, -world),
              split("first three", world < 3, -world), split("alone", world, 0)};
    for (const auto& families : {predefined_families(), derived_families()}) {
      families_.insert(families_.end(), families.begin(), families.end());
    }
    for (const Family& family : families_) {
      operations_.push_back(operations_on(family));
      for (const Layout& layout : family.layouts) known_layouts().push_back(&layout);
      if (family.predefined && family.layouts[0].parts.back().kind != Kind::integer)
        floats_.push_back(&family);
    }
  }

  void run(std::size_t first, std::size_t calls) {
    for (number_ = first; number_ < first + calls; ++number_) {
      if (fresh_.comm == MPI_COMM_NULL || number_ % 64 == 0) renew();
      Random shared(mixed(number_));
      reproducible_ ? run_reproducibly(shared) : run_one(shared);
    }
    // A library's barrier may spin and starve ranks that still work.
    MPI_Request request{};
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    for (int done = 0; done == 0;) {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (world_rank() == 0) {
      for (const auto& [what, count] : counts_) std::printf("%-24s %zu\n", what.c_str(), count);
      std::printf("%zu calls, no difference; digest %016llx\n", calls,
                  static_cast<unsigned long long>(digest_));
    }
  }

 private:
  [[nodiscard]] std::uint64_t mixed(std::size_t number) const {
    return Random(seed_ * 0x9E3779B97F4A7C15ULL + number).next();
  }

  /// A communicator that is made and freed now and then, the same one for 64 calls in a row.
  void renew() {
    if (fresh_.comm != MPI_COMM_NULL) MPI_Comm_free(&fresh_.comm);
    Random shared(mixed(number_ / 64) ^ 1);
    const bool reversed = chance(shared, 50);
    std::size_t color = 0;
    for (int rank = 0; rank <= world_rank(); ++rank) color = below(shared, 3);
    MPI_Comm comm{};
    MPI_Comm_split(MPI_COMM_WORLD, static_cast<int>(color), reversed ? -world_rank() : 0, &comm);
    fresh_ = place("random split", comm);
  }

  void report(const std::string& what) const {
    if (std::getenv("DIFFERENTIAL_CONTINUE") != nullptr) {
      std::fprintf(stderr, "rank %d: %s: call %zu: %s\n", world_rank(), what.c_str(), number_,
                   about_.c_str());
      return;
    }
    fail("differential", static_cast<int>(number_), "the same as by the library",
         what + ": seed " + std::to_string(seed_) + " call " + std::to_string(number_) + ": " + about_);
  }

  const Place& random_place(Random& shared) {
    const std::size_t which = below(shared, 20);
    if (which < 8) return whole_[which / 2];
    if (which < 17) return parts_[(which - 8) * 4 / 9];
    return fresh_;
  }

  static std::size_t random_count(Random& shared, int ranks, std::size_t element_bytes) {
    const auto p = static_cast<std::size_t>(ranks);
    const std::size_t kind = below(shared, 1000);
    if (kind < 200) return one_of<std::size_t>(shared, {0, 1, p - 1, p, p + 1});
    if (kind < 700) return below(shared, 100);
    const double most = kind < 990 ? 1e4 : 1e6;
    const auto count = static_cast<std::size_t>(std::exp(shared.real() * std::log(most)));
    return std::min(count, (std::size_t{4} << 20) / element_bytes);
  }

  static std::vector<int> random_blocks(MpiFunction function, Random& shared, int ranks,
                                        std::size_t element_bytes) {
    const std::size_t total = random_count(shared, ranks, element_bytes);
    const auto p = static_cast<std::size_t>(ranks);
    if (function == MpiFunction::reduce_scatter_block)
      return std::vector<int>(p, static_cast<int>(total / p));
    if (function != MpiFunction::reduce_scatter) return {static_cast<int>(total)};
    std::vector<int> blocks(p, 0);
    for (int& block : blocks) {
      if (!chance(shared, 30)) block = static_cast<int>(below(shared, 2 * total / p + 1));
    }
    return blocks;
  }

  Random own_random(const Place& where) const {
    return Random(mixed(number_) ^ (static_cast<std::uint64_t>(where.rank + 1) << 40));
  }

  void describe(MpiFunction function, const Place& where, const Spec* spec, std::size_t count,
                const std::string& more) {
    about_ = std::string(name_of(function)) + " by " + (spec == nullptr ? "auto" : to_string(*spec)) +
             ", count " + std::to_string(count) + ", " + more + ", on " + where.name + " of " +
             std::to_string(where.ranks);
    ++counts_[std::string(name_of(function))];
    if (const char* trace = std::getenv("DIFFERENTIAL_TRACE"); trace != nullptr) {
      std::fprintf(stderr, "%zu on %d: %s\n", number_, world_rank(), about_.c_str());
    }
  }

  /// Non-blocking calls are Stretto's only if any thread may run the program's operations.
  static Way random_way(Random& shared, bool by_auto, bool by_library) {
    static const bool may_begin = std::getenv("STRETTO_PROGRESS_THREAD") != nullptr;
    const bool begins = chance(shared, 40);
    if (by_auto) return Way::stretto;
    return begins && may_begin && !by_library ? Way::begun_by_spec : Way::by_spec;
  }

  std::size_t random_family(Random& shared, MpiFunction function) {
    const bool reduces = stretto::is_reduction(collective_of(function));
    for (;;) {
      const std::size_t family = below(shared, families_.size());
      if (!reduces || !operations_[family].empty()) return family;
    }
  }

  void run_one(Random& shared) {
    const auto function = stretto::mpi_functions.at(below(shared, stretto::mpi_functions.size())).function;
    const Place& where = random_place(shared);
    if (where.comm == MPI_COMM_NULL) return;
    if (function == MpiFunction::bcast) return broadcast(shared, where);
    if (function == MpiFunction::allgather) return allgather(shared, where);
    if (function == MpiFunction::barrier) return barrier(shared, where);
    if (function == MpiFunction::alltoall || function == MpiFunction::gather ||
        function == MpiFunction::scatter)
      return exchange(shared, where, function);
    if (!stretto::is_reduction(collective_of(function))) return exchange_unequal(shared, where, function);
    reduce(shared, where, function);
  }

  void reduce(Random& shared, const Place& where, MpiFunction function) {
    const std::size_t which = random_family(shared, function);
    const Family& family = families_[which];
    const Operation& op = one_of(shared, operations_[which]);
    const std::size_t element_bytes = family.layouts[0].compact_bytes();
    Reduction reduction{.function = function,
                        .where = &where,
                        .op = &op,
                        .blocks = random_blocks(function, shared, where.ranks, element_bytes),
                        .root = static_cast<int>(below(shared, static_cast<std::size_t>(where.ranks))),
                        .in_place = chance(shared, 40)};
    const bool by_auto = chance(shared, 8);
    Spec spec = random_fitting_spec(collective_of(function), reduction.total() * element_bytes, where,
                                    reduction.root, op.commutative, shared);
    const bool by_library =
        by_auto || spec.is_native() || where.ranks == 1 || !fits(spec, where, reduction.root, op.commutative);
    if (by_library) avoid_faults_of_the_library(reduction, spec);
    const Layout& layout = reducible_layout(shared, family, by_library);
    describe(reduction.function, where, by_auto ? nullptr : &spec, reduction.total(),
             family.name + " " + layout.name + " " + op.name +
                 (reduction.in_place ? " in place, root " : ", root ") + std::to_string(reduction.root) +
                 blocks_text(reduction));
    const Way way = random_way(shared, by_auto, by_library);
    Random own = own_random(where);
    const std::size_t shift = 8 * below(own, 4);
    const Bytes values = make_values(layout, reduction.total(), op.values, own);
    std::string wrong;
    const Bytes wanted = result_by_library(reduction, family.layouts[0], values, wrong);
    if (!wrong.empty()) report("the library: " + wrong);
    const Bytes got = result_of(reduction, layout, values, way, to_string(spec), shift, !by_library, wrong);
    if (!wrong.empty()) report(wrong);
    if (!same(got, wanted, layout, op, where.ranks)) report("another result");
    if (reduction.function == MpiFunction::allreduce && !by_library) require_same_on_all(got, where);
  }

#if defined(MPICH_VERSION) || defined(MPI_ABI)  // the library of the standard ABI that tests use is an MPICH
  static constexpr bool mpich = true;
#else
  static constexpr bool mpich = false;
#endif

  /// MPICH 4.0.2 writes past its own buffers in a reduce_scatter with a non-commutative operation (results
  /// are wrong, or the process ends).
  static bool library_scatters_wrongly(const Reduction& reduction) {
    return mpich && reduction.scatters() && !reduction.op->commutative;
  }

  /// MPICH 4.0.2's MPI_Reduce in place crashes at roots other than 0.
  static void avoid_faults_of_the_library(Reduction& reduction, Spec& spec) {
    if (library_scatters_wrongly(reduction)) {
      reduction.blocks = {static_cast<int>(reduction.total())};
      reduction.function = MpiFunction::allreduce;
      spec = {};
    }
    if (mpich && reduction.function == MpiFunction::reduce && reduction.root != 0) reduction.in_place = false;
  }

  static Bytes result_by_library(Reduction reduction, const Layout& plain, const Bytes& values,
                                 std::string& wrong) {
    reduction.in_place = false;
    if (!library_scatters_wrongly(reduction)) {
      return result_of(reduction, plain, values, Way::library, "", 8, false, wrong);
    }
    const auto mine = reduction.blocks.begin() + reduction.where->rank;
    const auto offset =
        std::accumulate(reduction.blocks.begin(), mine, std::size_t{0}) * plain.compact_bytes();
    const std::size_t bytes = static_cast<std::size_t>(*mine) * plain.compact_bytes();
    reduction.blocks = {static_cast<int>(reduction.total())};
    reduction.function = MpiFunction::allreduce;
    const Bytes all = result_of(reduction, plain, values, Way::library, "", 8, false, wrong);
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(offset);
    return {first, first + static_cast<std::ptrdiff_t>(bytes)};
  }

  static std::string blocks_text(const Reduction& reduction) {
    std::string text;
    if (!reduction.scatters()) return text;
    for (const int block : reduction.blocks)
      text += (text.empty() ? ", blocks " : "+") + std::to_string(block);
    return text;
  }

  /// Returns a layout whose handle is one element, and that the library can reduce. Neither library reduces
  /// elements in falling order. If elements do not begin at their address, MPICH's MPI_Reduce may free memory
  /// that it has not allocated.
  static const Layout& reducible_layout(Random& shared, const Family& family, bool by_library) {
    for (;;) {
      const Layout& layout = one_of(shared, family.layouts);
      const bool troubles_library = layout.extent < 0 || (mpich && layout.parts[0].offset != 0);
      if (layout.units == 1 && !(by_library && troubles_library)) return layout;
    }
  }

  /// Open MPI's own allgather ends in an internal error if elements are in falling order.
  static const Layout& movable_layout(Random& own, const Family& family, bool by_library) {
    for (;;) {
      const Layout& layout = one_of(own, family.layouts);
      if (!(by_library && layout.extent < 0)) return layout;
    }
  }

  void require_same_on_all(const Bytes& got, const Place& where) const {
    const auto digest = static_cast<std::int64_t>(hash(seed_, got.data(), got.size()) >> 2);
    const std::int64_t both[] = {digest, -digest};
    std::int64_t greatest[2] = {};
    LIBRARY(PMPI_Allreduce)(both, greatest, 2, MPI_INT64_T, MPI_MAX, where.comm);
    if (greatest[0] != -greatest[1]) report("ranks differ");
  }

  /// Each rank has another layout.
  void broadcast(Random& shared, const Place& where) {
    const Family& family = families_[random_family(shared, MpiFunction::bcast)];
    const std::size_t element_bytes = family.layouts[0].compact_bytes();
    const std::size_t count = random_count(shared, where.ranks, element_bytes);
    const int root = static_cast<int>(below(shared, static_cast<std::size_t>(where.ranks)));
    const bool by_auto = chance(shared, 8);
    const Spec spec =
        random_fitting_spec(Collective::bcast, count * element_bytes, where, root, true, shared);
    Random own = own_random(where);
    const bool by_library = by_auto || spec.is_native() || where.ranks == 1 || !fits(spec, where, root, true);
    const Way way = random_way(shared, by_auto, by_library);
    const Layout& layout = movable_layout(own, family, by_library);
    describe(MpiFunction::bcast, where, by_auto ? nullptr : &spec, count,
             family.name + " here " + layout.name + ", root " + std::to_string(root));
    const bool is_root = where.rank == root;
    const Bytes values =
        is_root ? make_values(layout, count, Values::bits, own) : Bytes(count * element_bytes);
    const auto go = [&](const Layout& lies, Way by, Buffer& buffer) {
      if (is_root) buffer.load(values, 0, count);
      return call_bcast(buffer.address(), static_cast<int>(count) * lies.units, lies.handle, root, where.comm,
                        by, to_string(spec));
    };
    Buffer expected(family.layouts[0], count, 8);
    Buffer buffer(layout, count, 8 * below(own, 4));
    CHECK(go(family.layouts[0], Way::library, expected) == MPI_SUCCESS);
    if (go(layout, way, buffer) != MPI_SUCCESS) report("an error");
    if (buffer.unload(0, count) != expected.unload(0, count)) report("another result");
    if (!buffer.gaps_untouched()) report("gaps were changed");
  }

  static int call_bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, Way way,
                        const std::string& spec) {
    return CALL(Bcast, bcast, buffer, count, type, root, comm);
  }

  void allgather(Random& shared, const Place& where) {
    const Family& family = families_[random_family(shared, MpiFunction::allgather)];
    const auto ranks = static_cast<std::size_t>(where.ranks);
    const std::size_t element_bytes = family.layouts[0].compact_bytes();
    const std::size_t total = random_count(shared, where.ranks, element_bytes);
    const std::size_t count = chance(shared, 50) ? total / ranks : std::min<std::size_t>(total, 10000);
    const bool in_place = chance(shared, 30);
    const bool by_auto = chance(shared, 8);
    const Spec spec =
        random_fitting_spec(Collective::allgather, count * ranks * element_bytes, where, 0, true, shared);
    Random own = own_random(where);
    const bool by_library = by_auto || spec.is_native() || where.ranks == 1 || !fits(spec, where, 0, true);
    const Way way = random_way(shared, by_auto, by_library);
    const Layout& sent = movable_layout(own, family, by_library);
    const Layout& received = movable_layout(own, family, by_library);
    describe(MpiFunction::allgather, where, by_auto ? nullptr : &spec, count,
             family.name + " here " + (in_place ? "in place" : sent.name) + " to " + received.name);
    const Bytes values = make_values(sent, count, Values::bits, own);
    const auto go = [&](const Layout& from, const Layout& to, Way by, Buffer& input, Buffer& output) {
      if (in_place) {
        output.load(values, static_cast<std::size_t>(where.rank) * count, count);
      } else {
        input.load(values, 0, count);
      }
      return call_allgather(in_place ? MPI_IN_PLACE : input.address(),
                            in_place ? 0 : static_cast<int>(count) * from.units, from.handle,
                            output.address(), static_cast<int>(count) * to.units, to.handle, where.comm, by,
                            to_string(spec));
    };
    const Layout& plain = family.layouts[0];
    Buffer plain_input(plain, count, 0);
    Buffer expected(plain, count * ranks, 8);
    Buffer input(sent, count, 8 * below(own, 4));
    Buffer output(received, count * ranks, 8 * below(own, 4));
    CHECK(go(plain, plain, Way::library, plain_input, expected) == MPI_SUCCESS);
    if (go(sent, received, way, input, output) != MPI_SUCCESS) report("an error");
    if (output.unload(0, count * ranks) != expected.unload(0, count * ranks)) report("another result");
    if (!output.gaps_untouched()) report("gaps were changed");
    if (!in_place && input.unload(0, count) != values) report("the input was changed");
    if (!input.gaps_untouched()) report("gaps of the input were changed");
  }

  static int call_allgather(const void* from, int sent, MPI_Datatype sent_type, void* to, int received,
                            MPI_Datatype type, MPI_Comm comm, Way way, const std::string& spec) {
    return CALL(Allgather, allgather, from, sent, sent_type, to, received, type, comm);
  }

  /// The elements of a family as bytes without gaps. MPICH's own binomial gathers and scatters of elements
  /// with gaps end in errors.
  const Layout& bytes_of(const Family& family) {
    const std::size_t bytes = family.layouts[0].compact_bytes();
    const auto extent = static_cast<std::ptrdiff_t>(bytes);
    return bytes_
        .try_emplace(bytes,
                     Layout{"bytes", MPI_BYTE, {{Kind::integer, 0, bytes}}, extent, static_cast<int>(bytes)})
        .first->second;
  }

  /// Blocks of one length. Each rank has other layouts.
  void exchange(Random& shared, const Place& where, MpiFunction function) {
    const Family& family = families_[random_family(shared, function)];
    const auto ranks = static_cast<std::size_t>(where.ranks);
    const std::size_t element_bytes = family.layouts[0].compact_bytes();
    const std::size_t total = random_count(shared, where.ranks, element_bytes);
    const std::size_t count = chance(shared, 50) ? total / ranks : std::min<std::size_t>(total, 10000);
    const int root = static_cast<int>(below(shared, ranks));
    const bool by_auto = chance(shared, 8);
    const Spec spec = random_fitting_spec(collective_of(function), count * ranks * element_bytes, where, root,
                                          true, shared);
    Random own = own_random(where);
    const bool by_library = by_auto || spec.is_native() || where.ranks == 1 || !fits(spec, where, root, true);
    const Way way = random_way(shared, by_auto, by_library);
    const bool is_root = where.rank == root;
    const bool in_place = chance(shared, 30) && !by_library && (function == MpiFunction::alltoall || is_root);
    const bool only_bytes = by_library && mpich && stretto::has_root(collective_of(function));
    const Layout& plain = bytes_of(family);
    const Layout& sent = only_bytes ? plain : movable_layout(own, family, by_library);
    const Layout& received = only_bytes ? plain : movable_layout(own, family, by_library);
    describe(function, where, by_auto ? nullptr : &spec, count,
             family.name + " here " + sent.name + " to " + received.name + (in_place ? " in place" : "") +
                 ", root " + std::to_string(root));
    const std::size_t given = function == MpiFunction::gather                ? count
                              : function == MpiFunction::scatter && !is_root ? 0
                                                                             : count * ranks;
    const std::size_t taken = function == MpiFunction::scatter              ? count
                              : function == MpiFunction::gather && !is_root ? 0
                                                                            : count * ranks;
    const Bytes values = make_values(family.layouts[0], given, Values::bits, own);
    const auto go = [&](const Layout& from, const Layout& to, bool replaces, Way by, Buffer& input,
                        Buffer& output) {
      const bool has_no_input = replaces && function != MpiFunction::scatter;
      if (has_no_input) {
        output.load(values,
                    function == MpiFunction::gather ? static_cast<std::size_t>(where.rank) * count : 0,
                    given);
      } else {
        input.load(values, 0, given);
      }
      return call_exchange(
          function, has_no_input ? MPI_IN_PLACE : input.address(), static_cast<int>(count) * from.units,
          from.handle, replaces && function == MpiFunction::scatter ? MPI_IN_PLACE : output.address(),
          static_cast<int>(count) * to.units, to.handle, root, where.comm, by, to_string(spec));
    };
    Buffer plain_input(plain, given, 0);
    Buffer expected(plain, taken, 8);
    Buffer input(sent, given, 8 * below(own, 4));
    Buffer output(received, taken, 8 * below(own, 4));
    CHECK(go(plain, plain, false, Way::library, plain_input, expected) == MPI_SUCCESS);
    if (go(sent, received, in_place, way, input, output) != MPI_SUCCESS) report("an error");
    const bool has_result = !(in_place && function == MpiFunction::scatter);
    if (has_result && output.unload(0, taken) != expected.unload(0, taken)) report("another result");
    if (!output.gaps_untouched()) report("gaps were changed");
    if ((!in_place || function == MpiFunction::scatter) && input.unload(0, given) != values)
      report("the input was changed");
    if (!input.gaps_untouched()) report("gaps of the input were changed");
  }

  static int call_exchange(MpiFunction function, const void* from, int sent, MPI_Datatype sent_type, void* to,
                           int received, MPI_Datatype type, int root, MPI_Comm comm, Way way,
                           const std::string& spec) {
    if (function == MpiFunction::alltoall)
      return CALL(Alltoall, alltoall, from, sent, sent_type, to, received, type, comm);
    if (function == MpiFunction::gather)
      return CALL(Gather, gather, from, sent, sent_type, to, received, type, root, comm);
    return CALL(Scatter, scatter, from, sent, sent_type, to, received, type, root, comm);
  }

  /// The sent or received blocks as arguments of MPI. If there is one block, counts[0] is its length.
  struct Side {
    Room room;
    std::vector<int> counts{0};
    std::vector<int> places;
    std::vector<MPI_Datatype> types{MPI_BYTE};
  };

  /// Lays out blocks of these lengths one after the other or, with random numbers, in another order and with
  /// gaps.
  static void lay_out(Side& side, const std::vector<const Layout*>& layouts,
                      const std::vector<std::size_t>& lengths, bool by_bytes, Random* own) {
    const std::size_t count = lengths.size();
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = count; own != nullptr && i > 1; --i) std::swap(order[i - 1], order[below(*own, i)]);
    side.counts.resize(std::max<std::size_t>(count, 1));
    side.types.resize(side.counts.size());
    side.places.assign(count, 0);
    std::vector<Room::Block> blocks(count);
    // A single block has no displacement.
    std::ptrdiff_t next = own == nullptr || count == 1 ? 0 : -3;
    for (const std::size_t i : order) {
      const Layout& layout = *layouts[i];
      std::ptrdiff_t place = next;
      const std::ptrdiff_t gap = own == nullptr ? 0 : static_cast<std::ptrdiff_t>(below(*own, 4));
      if (by_bytes) {
        const auto [low, high] = Room::span(layout, lengths[i]);
        // Every layout begins where its numbers are aligned.
        place = (next - low + 7) / 8 * 8;
        next = place + high + gap;
      } else {
        next += static_cast<std::ptrdiff_t>(lengths[i]) + gap;
      }
      blocks[i] = {&layout, lengths[i], by_bytes ? place : place * layout.extent};
      side.places[i] = static_cast<int>(by_bytes ? place : place * layout.units);
      side.counts[i] = static_cast<int>(lengths[i]) * layout.units;
      side.types[i] = layout.handle;
    }
    side.room.assign(blocks, own == nullptr ? 0 : 8 * below(*own, 4));
  }

  /// Returns the lengths of the blocks from each rank (row) to each rank, in elements.
  static std::vector<std::size_t> random_lengths(Random& shared, std::size_t ranks, std::size_t total) {
    std::vector<std::size_t> lengths(ranks * ranks);
    const std::size_t zeros = one_of<std::size_t>(shared, {0, 30, 90});
    for (std::size_t& length : lengths) {
      const std::size_t drawn = below(shared, 2 * total / ranks + 1);
      length = chance(shared, zeros) ? 0 : drawn;
    }
    if (chance(shared, 20)) lengths[below(shared, lengths.size())] = total;
    return lengths;
  }

  /// Blocks of any lengths at any places. Each rank has other layouts; in an alltoallw, each block.
  void exchange_unequal(Random& shared, const Place& where, MpiFunction function) {
    const auto ranks = static_cast<std::size_t>(where.ranks);
    const auto me = static_cast<std::size_t>(where.rank);
    const bool exchanges = function == MpiFunction::alltoallv || function == MpiFunction::alltoallw;
    const bool by_bytes = function == MpiFunction::alltoallw;
    std::vector<const Family*> families(ranks * ranks, &families_[random_family(shared, function)]);
    for (const Family*& family : families) {
      if (by_bytes) family = &families_[random_family(shared, function)];
    }
    const std::size_t total = random_count(shared, where.ranks, 16);
    std::vector<std::size_t> lengths = random_lengths(shared, ranks, total);
    const std::size_t root = below(shared, ranks);
    const bool is_root = me == root;
    // The block between two ranks. A gather has the root's column of blocks, and a scatter its row.
    const auto block = [&](std::size_t from, std::size_t to) {
      return from * ranks + (function == MpiFunction::allgatherv ? 0 : to);
    };
    std::size_t bytes = 0;
    for (std::size_t from = 0; from < ranks; ++from)
      bytes += lengths[block(from, root)] * families[block(from, root)]->layouts[0].compact_bytes();
    const bool by_auto = chance(shared, 8);
    const Spec spec =
        random_fitting_spec(collective_of(function), bytes, where, static_cast<int>(root), true, shared);
    const bool by_library =
        by_auto || spec.is_native() || where.ranks == 1 || !fits(spec, where, static_cast<int>(root), true);
    const Way way = random_way(shared, by_auto, by_library);
    const bool all_in_place = chance(shared, 30) && !by_library;
    const bool in_place = all_in_place && (exchanges || function == MpiFunction::allgatherv || is_root);
    const bool has_no_input = in_place && function != MpiFunction::scatterv;
    if (all_in_place && exchanges) {
      for (std::size_t from = 0; from < ranks; ++from) {
        for (std::size_t to = 0; to < from; ++to) {
          lengths[block(from, to)] = lengths[block(to, from)];
          families[block(from, to)] = families[block(to, from)];
        }
      }
    }

    std::vector<std::size_t> given;  // the blocks of this rank
    std::vector<std::size_t> taken;
    for (std::size_t peer = 0; peer < ranks; ++peer) {
      if (exchanges || (function == MpiFunction::scatterv && is_root)) given.push_back(block(me, peer));
      if (exchanges || function == MpiFunction::allgatherv || (function == MpiFunction::gatherv && is_root))
        taken.push_back(block(peer, me));
    }
    if (function == MpiFunction::allgatherv || function == MpiFunction::gatherv)
      given.push_back(block(me, root));
    if (function == MpiFunction::scatterv) taken.push_back(block(root, me));
    Random own = own_random(where);
    enum class Lying { plainly, as_the_library_takes_it, anyhow };
    const auto layouts_of = [&](const std::vector<std::size_t>& blocks, Lying lying) {
      std::vector<const Layout*> layouts;
      const std::size_t place = below(own, 1000);
      for (const std::size_t one : blocks) {
        const Family& family = *families[one];
        const std::size_t which = (by_bytes ? below(own, 1000) : place) % family.layouts.size();
        const bool only_bytes = lying == Lying::plainly || (lying != Lying::anyhow && mpich);
        layouts.push_back(only_bytes               ? &bytes_of(family)
                          : lying == Lying::anyhow ? &family.layouts[which]
                                                   : &family.layouts[0]);
      }
      return layouts;
    };
    const auto lengths_of = [&](const std::vector<std::size_t>& blocks) {
      std::vector<std::size_t> all;
      for (const std::size_t one : blocks) all.push_back(lengths[one]);
      return all;
    };
    const Lying lying = by_library ? Lying::as_the_library_takes_it : Lying::anyhow;
    Side input;
    Side output;
    Side plain_input;
    Side expected;
    Random* placing = by_library ? nullptr : &own;
    if (!has_no_input) lay_out(input, layouts_of(given, lying), lengths_of(given), by_bytes, placing);
    lay_out(output, layouts_of(taken, lying), lengths_of(taken), by_bytes, placing);
    lay_out(plain_input, layouts_of(given, Lying::plainly), lengths_of(given), by_bytes, nullptr);
    lay_out(expected, layouts_of(taken, Lying::plainly), lengths_of(taken), by_bytes, nullptr);
    describe(function, where, by_auto ? nullptr : &spec, total,
             (families[0]->name + " here ") + (has_no_input ? "in place" : first_layout(input)) + " to " +
                 first_layout(output) + (in_place ? " in place" : "") + ", root " + std::to_string(root));

    std::vector<Bytes> values;
    for (const std::size_t one : given)
      values.push_back(make_values(families[one]->layouts[0], lengths[one], Values::bits, own));
    for (std::size_t i = 0; i < given.size(); ++i) {
      plain_input.room.load(i, values[i]);
      // The blocks of an alltoall in place are in the order of their ranks, too.
      if (has_no_input) output.room.load(exchanges ? i : me, values[i]);
      if (!has_no_input) input.room.load(i, values[i]);
    }
    CHECK(call_unequal(function, plain_input, expected, false, root, where.comm, Way::library, "") ==
          MPI_SUCCESS);
    if (call_unequal(function, input, output, in_place, root, where.comm, way, to_string(spec)) !=
        MPI_SUCCESS)
      report("an error");
    const bool has_result = !(in_place && function == MpiFunction::scatterv);
    for (std::size_t i = 0; has_result && i < taken.size(); ++i) {
      if (output.room.unload(i) != expected.room.unload(i)) report("another block " + std::to_string(i));
    }
    if (!output.room.rest_untouched()) report("something beside the blocks was changed");
    for (std::size_t i = 0; !has_no_input && i < given.size(); ++i) {
      if (input.room.unload(i) != values[i]) report("the input was changed");
    }
    if (!has_no_input && !input.room.rest_untouched()) report("something beside the input was changed");
  }

  static std::string first_layout(const Side& side) {
    return side.room.blocks().empty() ? "nothing" : side.room.blocks()[0].layout->name;
  }

  static int call_unequal(MpiFunction function, Side& in, Side& out, bool in_place, std::size_t root_rank,
                          MPI_Comm comm, Way way, const std::string& spec) {
    const int root = static_cast<int>(root_rank);
    const bool has_input = !in_place || function == MpiFunction::scatterv;
    const void* from = has_input ? in.room.address() : MPI_IN_PLACE;
    void* to = in_place && function == MpiFunction::scatterv ? MPI_IN_PLACE : out.room.address();
    const MPI_Datatype sent = in.types[0];
    const MPI_Datatype received = out.types[0];
    switch (function) {
      case MpiFunction::allgatherv:
        return CALL(Allgatherv, allgatherv, from, in.counts[0], sent, to, out.counts.data(),
                    out.places.data(), received, comm);
      case MpiFunction::alltoallv:
        return CALL(Alltoallv, alltoallv, from, in.counts.data(), in.places.data(), sent, to,
                    out.counts.data(), out.places.data(), received, comm);
      case MpiFunction::alltoallw:
        return CALL(Alltoallw, alltoallw, from, in.counts.data(), in.places.data(), in.types.data(), to,
                    out.counts.data(), out.places.data(), out.types.data(), comm);
      case MpiFunction::gatherv:
        return CALL(Gatherv, gatherv, from, in.counts[0], sent, to, out.counts.data(), out.places.data(),
                    received, root, comm);
      default:
        return CALL(Scatterv, scatterv, from, in.counts.data(), in.places.data(), sent, to, out.counts[0],
                    received, root, comm);
    }
  }

  /// Makes a barrier among the other calls. barrier.cpp tests the guarantees of barriers.
  void barrier(Random& shared, const Place& where) {
    const bool by_auto = chance(shared, 8);
    const Spec spec = random_fitting_spec(Collective::barrier, 0, where, 0, true, shared);
    const bool by_library = by_auto || spec.is_native() || where.ranks == 1 || !fits(spec, where, 0, true);
    describe(MpiFunction::barrier, where, by_auto ? nullptr : &spec, 0, "");
    if (call_barrier(where.comm, random_way(shared, by_auto, by_library), to_string(spec)) != MPI_SUCCESS)
      report("an error");
  }

  static int call_barrier(MPI_Comm comm, Way way, const std::string& spec) {
    return CALL(Barrier, barrier, comm);
  }

  // ---- reproducible mode

  /// Reduces the same values of each rank by several specs, and on communicators with other placements of
  /// ranks.
  void run_reproducibly(Random& shared) {
    constexpr std::array functions{MpiFunction::allreduce, MpiFunction::reduce, MpiFunction::reduce_scatter,
                                   MpiFunction::reduce_scatter_block};
    const MpiFunction function = functions.at(below(shared, functions.size()));
    const Family& family = *floats_.at(below(shared, floats_.size()));
    const Layout& layout = family.layouts[0];
    const Operation op = operations_on(family)[below(shared, 2)];
    const std::size_t element_bytes = layout.compact_bytes();
    Reduction reduction{.function = function,
                        .where = &whole_[0],
                        .op = &op,
                        .blocks = random_blocks(function, shared, whole_[0].ranks, element_bytes),
                        .root = static_cast<int>(below(shared, static_cast<std::size_t>(whole_[0].ranks))),
                        .in_place = false};
    std::vector<std::int64_t> wanted;
    for (int turn = 0; turn < 5; ++turn) {
      reduction.where = &whole_[turn == 0 ? 0 : below(shared, whole_.size())];
      reduction.in_place = chance(shared, 30);
      const bool by_auto = turn == 0 || chance(shared, 10);
      Spec spec = fixed_spec(reduction, reduction.total() * element_bytes, shared);
      describe(
          function, *reduction.where, by_auto ? nullptr : &spec, reduction.total(),
          family.name + " " + op.name + ", root " + std::to_string(reduction.root) + blocks_text(reduction));
      Random own = own_random(*reduction.where);
      const Bytes values = make_values(layout, reduction.total(), op.values, own);
      std::string wrong;
      const Bytes got = result_of(reduction, layout, values, by_auto ? Way::stretto : Way::by_spec,
                                  to_string(spec), 8 * below(own, 4), true, wrong);
      if (!wrong.empty()) report(wrong);
      const std::vector<std::int64_t> digests = digests_by_rank(got, *reduction.where);
      if (turn == 0) {
        wanted = digests;
        digest_ = hash(digest_, digests.data(), digests.size() * sizeof(digests[0]));
      }
      if (digests != wanted) report("other bits");
    }
  }

  /// Mostly a reproducible spec. Others are replaced by one.
  static Spec fixed_spec(const Reduction& reduction, std::size_t bytes, Random& shared) {
    const Collective collective = collective_of(reduction.function);
    Spec spec = random_spec(collective, bytes, shared);
    for (int tries = 0; tries < 30; ++tries) {
      const bool fixed = !spec.is_native() && fits(spec, *reduction.where, reduction.root, true) &&
                         stretto::has_fixed_tree(spec.recipe, reduction.where->topology, reduction.root);
      if (fixed || chance(shared, 2)) break;
      spec = random_spec(collective, bytes, shared);
    }
    return spec;
  }

  static std::vector<std::int64_t> digests_by_rank(const Bytes& got, const Place& where) {
    const auto own = static_cast<std::int64_t>(hash(0, got.data(), got.size()));
    std::vector<std::int64_t> all(static_cast<std::size_t>(where.ranks));
    LIBRARY(PMPI_Allgather)(&own, 1, MPI_INT64_T, all.data(), 1, MPI_INT64_T, where.comm);
    return all;
  }

  std::uint64_t seed_;
  bool reproducible_;
  std::size_t number_ = 0;
  std::string about_;
  std::vector<Place> whole_;  // all ranks, placed in several ways
  std::vector<Place> parts_;
  Place fresh_;
  std::vector<Family> families_;
  std::vector<std::vector<Operation>> operations_;  // of each family
  std::map<std::size_t, Layout> bytes_;             // by the bytes of an element
  std::map<std::string, std::size_t> counts_;
  std::uint64_t digest_ = 0xcbf29ce484222325ULL;
  std::vector<const Family*> floats_ = {};
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CHECK(argc == 4 || argc == 5);
  const bool reproducible = std::string_view(argv[1]) == "reproducible";
  Differ differ(std::strtoull(argv[2], nullptr, 10), reproducible);
  differ.run(argc == 5 ? std::strtoull(argv[4], nullptr, 10) : 0, std::strtoull(argv[3], nullptr, 10));
  MPI_Finalize();
}
