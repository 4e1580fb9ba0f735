// SPDX-License-Identifier: Apache-2.0
// MPI_Scan and MPI_Exscan in every form, by every algorithm: elements with gaps, the program's operations,
// MPI_IN_PLACE on some ranks only, and an exscan's rank 0, whose receive buffer has no meaning.
#include "collectives.hpp"
#include "forcing.hpp"

namespace {

enum class Face { blocking, non_blocking, persistent };

class ScanCall {
 public:
  void prepare(bool is_exclusive, MPI_Comm comm, Random& shared, Random& own) {
    constexpr std::array<std::size_t, 4> counts{1, 7, 500, 9000};
    is_exclusive_ = is_exclusive;
    comm_ = comm;
    rank_ = rank_in(comm);
    count_ = counts.at(shared.next() % counts.size());
    how_ = static_cast<Combine>(shared.next() % 4);
    elements_ = shared.next() % 2 == 0 ? doubles() : ints();
    // The library's operations do not support elements with gaps.
    const bool has_gaps = how_ >= Combine::add && shared.next() % 2 == 0;
    static const std::array<Elements, 2> spaced{with_gaps(ints()), with_gaps(doubles())};
    if (has_gaps) elements_ = spaced.at(elements_.real ? 1 : 0);
    is_large_ = own.next() % 2 == 0;
    // Here, ranks may differ in whether they call in place.
    in_place_ = own.next() % 3 == 0;
    has_no_buffer_ = is_exclusive && rank_ == 0 && !in_place_ && own.next() % 2 == 0;
    refill(shared.next());
  }

  void refill(std::uint64_t seed) {
    seed_ = seed;
    in_.assign(count_ * elements_.extent, filler);
    out_.assign(count_ * elements_.extent, filler);
    std::vector<char>& given = in_place_ ? out_ : in_;
    for (std::size_t i = 0; i < count_; ++i) put(given, i, contribution(rank_, i));
  }

  int make(Face face, MPI_Request* request) {
    const void* from = in_place_ ? MPI_IN_PLACE : in_.data();
    void* to = has_no_buffer_ ? nullptr : out_.data();
    const auto n = static_cast<int>(count_);
    const MPI_Op op = op_of(how_, elements_.real);
#define STRETTO_FORMS(Name, Iname, suffix)                                             \
  (face == Face::blocking ? MPI_##Name##suffix(from, to, n, elements_.type, op, comm_) \
   : face == Face::non_blocking                                                        \
       ? MPI_##Iname##suffix(from, to, n, elements_.type, op, comm_, request)          \
       : MPI_##Name##_init##suffix(from, to, n, elements_.type, op, comm_, MPI_INFO_NULL, request))
#if MPI_VERSION >= 4
    if (is_large_) return is_exclusive_ ? STRETTO_FORMS(Exscan, Iexscan, _c) : STRETTO_FORMS(Scan, Iscan, _c);
#endif
    return is_exclusive_ ? STRETTO_FORMS(Exscan, Iexscan, ) : STRETTO_FORMS(Scan, Iscan, );
#undef STRETTO_FORMS
  }

  void check(const std::string& context) const {
    const bool has_result = !is_exclusive_ || rank_ > 0;
    for (std::size_t i = 0; i < count_; ++i) {
      if (has_result) {
        const int last = is_exclusive_ ? rank_ - 1 : rank_;
        std::int64_t wanted = contribution(0, i);
        for (int rank = 1; rank <= last; ++rank) wanted = combined(how_, wanted, contribution(rank, i));
        CHECK(get(out_, i) == wanted, text(context) + ", element " + std::to_string(i) + " is " +
                                          std::to_string(get(out_, i)) + ", not " + std::to_string(wanted));
        check_gap(out_, i, context);
      } else if (in_place_) {
        CHECK(get(out_, i) == contribution(rank_, i), text(context) + ": rank 0's buffer was changed");
      }
      if (in_place_) continue;
      CHECK(get(in_, i) == contribution(rank_, i), text(context) + ": the input was changed");
      check_gap(in_, i, context);
    }
    if (has_result || in_place_) return;
    for (const char c : out_) CHECK(c == filler, text(context) + ": rank 0's buffer was written to");
  }

  [[nodiscard]] std::string text(const std::string& context) const {
    constexpr std::array operations{"sum", "max", "add", "compose"};
    return context + ": " + operations.at(static_cast<std::size_t>(how_)) + " of " + std::to_string(count_) +
           (elements_.real ? " doubles" : " ints") + (in_place_ ? ", in place" : "") +
           (elements_.extent > elements_.size() ? ", gaps" : "");
  }

 private:
  static constexpr char filler = 0x5A;

  [[nodiscard]] std::int64_t contribution(int rank, std::size_t i) const {
    const std::uint64_t mixed =
        seed_ % 1000003 * 7919 + static_cast<std::uint64_t>(rank + 1) * 104729 + i * 31337;
    return static_cast<std::int64_t>(mixed % static_cast<std::uint64_t>(prime * prime));
  }
  void put(std::vector<char>& buffer, std::size_t i, std::int64_t value) const {
    const auto real = static_cast<double>(value);
    const auto whole = static_cast<int>(value);
    const void* from = elements_.real ? static_cast<const void*>(&real) : &whole;
    std::memcpy(buffer.data() + i * elements_.extent, from, elements_.size());
  }
  [[nodiscard]] std::int64_t get(const std::vector<char>& buffer, std::size_t i) const {
    const char* at = buffer.data() + i * elements_.extent;
    double real = 0;
    int whole = 0;
    std::memcpy(elements_.real ? static_cast<void*>(&real) : &whole, at, elements_.size());
    if (!elements_.real) return whole;
    // Memory that was never written need not hold a number.
    return real >= 0 && real < 0x1p53 ? static_cast<std::int64_t>(real)
                                      : std::numeric_limits<std::int64_t>::min();
  }
  void check_gap(const std::vector<char>& buffer, std::size_t i, const std::string& context) const {
    for (std::size_t k = elements_.size(); k < elements_.extent; ++k)
      CHECK(buffer[i * elements_.extent + k] == filler, text(context) + ": written to a gap");
  }

  bool is_exclusive_ = false;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  std::size_t count_ = 0;
  Combine how_ = Combine::sum;
  Elements elements_{};
  bool is_large_ = false;
  bool in_place_ = false;
  bool has_no_buffer_ = false;
  std::uint64_t seed_ = 0;
  std::vector<char> in_;
  std::vector<char> out_;
};

/// Several calls at once. Those that are persistent start twice, in another order on each rank.
void run(bool is_exclusive, MPI_Comm comm, std::uint64_t seed, const std::string& context) {
  Random shared(seed);
  Random own(seed * 31 + static_cast<std::uint64_t>(rank_in(comm)));
  constexpr std::array faces{Face::blocking,   Face::non_blocking, Face::persistent,
                             Face::persistent, Face::blocking,     Face::non_blocking};
  std::array<ScanCall, faces.size()> calls;
  std::array<MPI_Request, faces.size()> requests;
  requests.fill(MPI_REQUEST_NULL);
  for (std::size_t i = 0; i < faces.size(); ++i) {
    calls.at(i).prepare(is_exclusive, comm, shared, own);
    CHECK(calls.at(i).make(faces.at(i), &requests.at(i)) == MPI_SUCCESS, calls.at(i).text(context));
    if (faces.at(i) == Face::blocking) calls.at(i).check(context);
  }
  for (std::uint64_t start = 0; start < 2; ++start) {
    const std::size_t turn = own.next() % 2;
    for (std::size_t i = 0; i < 2; ++i) {
      const std::size_t which = 2 + (i + turn) % 2;
      if (start > 0) calls.at(which).refill(seed + which);
      CHECK(MPI_Start(&requests.at(which)) == MPI_SUCCESS, calls.at(which).text(context));
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    for (std::size_t i = 0; i < faces.size(); ++i) {
      const bool is_checked =
          faces.at(i) == Face::persistent || (faces.at(i) == Face::non_blocking && start == 0);
      if (is_checked)
        calls.at(i).check(context + (faces.at(i) == Face::persistent ? ", persistent" : ", non-blocking"));
    }
  }
  for (const std::size_t i : {2, 3}) MPI_Request_free(&requests.at(i));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm reversed{};
  MPI_Comm some{};
  MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank(), &reversed);
  MPI_Comm_split(MPI_COMM_WORLD, world_rank() == 0 ? 1 : 0, -world_rank(), &some);
  std::uint64_t seed = 0;
  for (const char* collective : {"scan", "exscan"}) {
    for (const std::string& spec : specs_of(collective)) {
      force(collective, spec);
      for (int round = 0; round < 3; ++round) {
        for (MPI_Comm comm : {MPI_COMM_WORLD, reversed, some}) {
          ++seed;
          if (size_of(comm) == 1) continue;
          run(std::string_view(collective) == "exscan", comm, seed, std::string(collective) + " by " + spec);
        }
      }
    }
  }
  MPI_Comm_free(&reversed);
  MPI_Comm_free(&some);
  MPI_Finalize();
}
