// SPDX-License-Identifier: Apache-2.0
// One collective that moves blocks as a program calls it: the places of its blocks, all forms of the call,
// and a check of the result. The contents of a block follow from a seed and its two ranks.
#pragma once

#include <mpi.h>
#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define MPI_Allgather_init MPIX_Allgather_init
#define MPI_Allgatherv_init MPIX_Allgatherv_init
#define MPI_Alltoall_init MPIX_Alltoall_init
#define MPI_Alltoallv_init MPIX_Alltoallv_init
#define MPI_Alltoallw_init MPIX_Alltoallw_init
#define MPI_Gather_init MPIX_Gather_init
#define MPI_Gatherv_init MPIX_Gatherv_init
#define MPI_Scatter_init MPIX_Scatter_init
#define MPI_Scatterv_init MPIX_Scatterv_init
#endif

#include <array>
#include <utility>
#include <vector>

#include "algorithms/mpi_function.hpp"
#include "check.hpp"
#include "layouts.hpp"

using stretto::MpiFunction;

inline constexpr auto moving_functions = [] {
  using enum MpiFunction;
  return std::array{allgather, allgatherv, alltoall, alltoallv, alltoallw,
                    gather,    gatherv,    scatter,  scatterv};
}();
inline bool gathers_at_root(MpiFunction function) {
  return is_gather(collective_of(function));
}
inline bool scatters(MpiFunction function) {
  return is_scatter(collective_of(function));
}
inline bool gathers_on_all(MpiFunction function) {
  return collective_of(function) == stretto::Collective::allgather;
}
inline bool exchanges(MpiFunction function) {
  return is_alltoall(collective_of(function));
}
/// Whether the caller gives the place of each block.
inline bool is_displaced(MpiFunction function) {
  return has_private_lengths(collective_of(function)) || function == MpiFunction::allgatherv;
}

enum class Face { blocking, non_blocking, persistent };

/// The places of blocks that the caller chooses: one after the other; in another order and with gaps; or all
/// at one place, which is allowed for blocks that are sent.
enum class Placing { in_order, shuffled, at_one_place };

/// A call, the same on all ranks of `comm`.
struct Exchange {
  MpiFunction function;
  MPI_Comm comm;
  int root = 0;
  std::size_t most = 0;    // elements of a block
  bool has_zeros = false;  // some blocks are empty
  bool in_place = false;
  Placing sent = Placing::in_order;
  Placing received = Placing::in_order;
  std::uint64_t seed = 0;
};

/// The properties of a call in which ranks may differ: layouts of one signature.
struct Own {
  const Layout* sent;
  const Layout* received;
  bool absolute = false;     // by MPI_BOTTOM, where one type describes one block
  bool frees_types = false;  // as soon as the call is made
  bool large = false;        // MPI_x_c
  std::size_t shift = 0;     // of the buffers, from an aligned address
};

/// One call and its buffers. prepare() makes all of them anew.
class BlocksCall {
 public:
  BlocksCall() = default;
  BlocksCall(const BlocksCall&) = delete;
  BlocksCall& operator=(const BlocksCall&) = delete;
  ~BlocksCall() { free_types(); }

  void prepare(const Exchange& what, const Own& own) {
    free_types();
    what_ = what;
    own_ = own;
    rank_ = rank_in(what.comm);
    ranks_ = size_of(what.comm);
    // A call in place has one buffer, and gets as much from each rank as it sends.
    if (what_.in_place) own_.absolute = false;
    if (what_.in_place && exchanges(what_.function)) own_.sent = own_.received;
    shuffle_ = Random(what.seed * 31 + static_cast<std::uint64_t>(rank_));
    place(sent_, true);
    place(received_, false);
    refill(what.seed);
  }

  /// Other contents, for another start of a persistent call.
  void refill(std::uint64_t seed) {
    seed_ = seed;
    if (!is_input_in_place()) {
      for (std::size_t i = 0; i < sent_.peers.size(); ++i)
        sent_.room.load(i, contents(rank_, sent_.peers[i], sent_.room.blocks()[i].count));
    }
    // If the right result were already there, the check would prove nothing.
    for (std::size_t i = 0; i < received_.peers.size(); ++i) {
      const Room::Block& block = received_.room.blocks()[i];
      received_.room.load(i, std::vector<char>(block.count * block.layout->compact_bytes(), '\x33'));
    }
    if (!what_.in_place) return;
    if (exchanges(what_.function)) {
      for (std::size_t i = 0; i < received_.peers.size(); ++i)
        received_.room.load(i, contents(rank_, received_.peers[i], received_.room.blocks()[i].count));
    } else if (gathers_on_all(what_.function) || (gathers_at_root(what_.function) && is_root())) {
      const auto mine = static_cast<std::size_t>(rank_);
      received_.room.load(mine, contents(rank_, what_.root, received_.room.blocks()[mine].count));
    }
  }

  int make(Face face, MPI_Request* request) {
    int error = MPI_ERR_OTHER;
    // The arguments as MPI has them, in both widths.
    const void* sendbuf = input();
    void* recvbuf = output();
    const Side& in = sent_;
    const Side& out = received_;
    MPI_Comm comm = what_.comm;
    const int root = what_.root;
#define STRETTO_FORMS(Name, Iname, suffix, ...)                             \
  (face == Face::blocking       ? MPI_##Name##suffix(__VA_ARGS__)           \
   : face == Face::non_blocking ? MPI_##Iname##suffix(__VA_ARGS__, request) \
                                : MPI_##Name##_init##suffix(__VA_ARGS__, MPI_INFO_NULL, request))
#define STRETTO_CALL(suffix, count, counts, places)                                                        \
  switch (what_.function) {                                                                                \
    case MpiFunction::allgather:                                                                           \
      error = STRETTO_FORMS(Allgather, Iallgather, suffix, sendbuf, in.count, in.type, recvbuf, out.count, \
                            out.type, comm);                                                               \
      break;                                                                                               \
    case MpiFunction::allgatherv:                                                                          \
      error = STRETTO_FORMS(Allgatherv, Iallgatherv, suffix, sendbuf, in.count, in.type, recvbuf,          \
                            out.counts.data(), out.places.data(), out.type, comm);                         \
      break;                                                                                               \
    case MpiFunction::alltoall:                                                                            \
      error = STRETTO_FORMS(Alltoall, Ialltoall, suffix, sendbuf, in.count, in.type, recvbuf, out.count,   \
                            out.type, comm);                                                               \
      break;                                                                                               \
    case MpiFunction::alltoallv:                                                                           \
      error = STRETTO_FORMS(Alltoallv, Ialltoallv, suffix, sendbuf, in.counts.data(), in.places.data(),    \
                            in.type, recvbuf, out.counts.data(), out.places.data(), out.type, comm);       \
      break;                                                                                               \
    case MpiFunction::alltoallw:                                                                           \
      error = STRETTO_FORMS(Alltoallw, Ialltoallw, suffix, sendbuf, in.counts.data(), in.places.data(),    \
                            in.types.data(), recvbuf, out.counts.data(), out.places.data(),                \
                            out.types.data(), comm);                                                       \
      break;                                                                                               \
    case MpiFunction::gather:                                                                              \
      error = STRETTO_FORMS(Gather, Igather, suffix, sendbuf, in.count, in.type, recvbuf, out.count,       \
                            out.type, root, comm);                                                         \
      break;                                                                                               \
    case MpiFunction::gatherv:                                                                             \
      error = STRETTO_FORMS(Gatherv, Igatherv, suffix, sendbuf, in.count, in.type, recvbuf,                \
                            out.counts.data(), out.places.data(), out.type, root, comm);                   \
      break;                                                                                               \
    case MpiFunction::scatter:                                                                             \
      error = STRETTO_FORMS(Scatter, Iscatter, suffix, sendbuf, in.count, in.type, recvbuf, out.count,     \
                            out.type, root, comm);                                                         \
      break;                                                                                               \
    case MpiFunction::scatterv:                                                                            \
      error = STRETTO_FORMS(Scatterv, Iscatterv, suffix, sendbuf, in.counts.data(), in.places.data(),      \
                            in.type, recvbuf, out.count, out.type, root, comm);                            \
      break;                                                                                               \
    default:                                                                                               \
      CHECK(false, "no call in blocks");                                                                   \
  }
#if MPI_VERSION >= 4
    if (own_.large) {
      STRETTO_CALL(_c, count, large_counts, large_places)
    } else
#endif
    {
      STRETTO_CALL(, count, counts, places)
    }
#undef STRETTO_CALL
#undef STRETTO_FORMS
    if (own_.frees_types) free_types();
    return error;
  }

  /// To be called when the call is complete. Forgets the result.
  void check(const std::string& context) {
    for (std::size_t i = 0; i < received_.peers.size(); ++i) {
      const Room::Block& block = received_.room.blocks()[i];
      // A root's block in place is where it was.
      CHECK(received_.room.unload(i) == contents(received_.peers[i], receiver(), block.count),
            text(context) + ": block of rank " + std::to_string(received_.peers[i]));
    }
    for (std::size_t i = 0; i < sent_.peers.size(); ++i) {
      CHECK(sent_.room.unload(i) == contents(rank_, sent_.peers[i], sent_.room.blocks()[i].count),
            text(context) + ": input for rank " + std::to_string(sent_.peers[i]));
    }
    CHECK(received_.room.rest_untouched(), text(context) + ": written where there is no block");
    CHECK(sent_.room.rest_untouched(), text(context) + ": written beside the input");
  }

  [[nodiscard]] std::string text(const std::string& context) const {
    constexpr std::array placings{"in order", "shuffled", "at one place"};
    return context + ": " + std::string(name_of(what_.function)) + (own_.large ? "_c" : "") + " on " +
           std::to_string(ranks_) + " ranks, at most " + std::to_string(what_.most) + " of " +
           (own_.sent->name + " " + placings.at(static_cast<std::size_t>(what_.sent))) + " to " +
           (own_.received->name + " " + placings.at(static_cast<std::size_t>(what_.received))) + ", root " +
           std::to_string(what_.root) + (what_.in_place ? ", in place" : "") +
           (what_.has_zeros ? ", empty blocks" : "") + (own_.absolute ? ", MPI_BOTTOM" : "") +
           (own_.frees_types ? ", freed types" : "") + ", seed " + std::to_string(what_.seed);
  }

 private:
  /// The sent or received blocks, as MPI's arguments.
  struct Side {
    std::vector<int> peers;  // of each block
    Room room;
    bool is_bottom = false;
    int count = 0;
    MPI_Datatype type = MPI_BYTE;
    std::vector<int> counts;
    std::vector<int> places;
    std::vector<MPI_Datatype> types;
#if MPI_VERSION >= 4
    std::vector<MPI_Count> large_counts;
    std::vector<MPI_Aint> large_places;
#endif
  };

  [[nodiscard]] bool is_root() const {
    return rank_ == what_.root;
  }
  [[nodiscard]] bool is_input_in_place() const {
    return what_.in_place && (exchanges(what_.function) || gathers_on_all(what_.function) ||
                              (gathers_at_root(what_.function) && is_root()));
  }
  /// Returns the receiver of the blocks that this rank receives.
  [[nodiscard]] int receiver() const {
    return gathers_at_root(what_.function) ? what_.root : rank_;
  }

  const void* input() {
    if (is_input_in_place()) return MPI_IN_PLACE;
    if (sent_.is_bottom) return MPI_BOTTOM;
    // An argument that is not significant may have any value.
    return sent_.peers.empty() ? nullptr : sent_.room.address();
  }
  void* output() {
    if (what_.in_place && scatters(what_.function) && is_root()) return MPI_IN_PLACE;
    if (received_.is_bottom) return MPI_BOTTOM;
    return received_.peers.empty() ? nullptr : received_.room.address();
  }

  /// Elements of the block from a rank to a rank.
  [[nodiscard]] std::size_t length(int from, int to) const {
    if (!is_displaced(what_.function)) return what_.most;
    if (what_.most == 0) return 0;
    std::uint64_t one = static_cast<std::uint64_t>(from);
    std::uint64_t other = static_cast<std::uint64_t>(to);
    if (gathers_on_all(what_.function) || gathers_at_root(what_.function)) other = 1000;
    if (scatters(what_.function)) one = 1000;
    if (exchanges(what_.function) && what_.in_place && one > other) std::swap(one, other);
    Random random(what_.seed * 1000003 + one * 1009 + other);
    random.next();
    // The library carries out calls that are empty on all ranks.
    const bool is_certain = gathers_on_all(what_.function) && from == 0;
    if (what_.has_zeros && random.next() % 2 == 0 && !is_certain) return 0;
    return 1 + random.next() % what_.most;
  }

  /// The bytes of a block's elements, one after the other.
  [[nodiscard]] std::vector<char> contents(int from, int to, std::size_t count) const {
    const bool is_same_for_all = gathers_on_all(what_.function) || what_.sent == Placing::at_one_place;
    Random random(seed_ * 7919 + static_cast<std::uint64_t>(from) * 104729 +
                  (is_same_for_all ? 99991 : static_cast<std::uint64_t>(to)));
    std::vector<char> compact(count * own_.sent->compact_bytes());
    for (std::size_t at = 0; at < compact.size(); at += sizeof(std::uint64_t)) {
      const std::uint64_t bits = random.next();
      std::memcpy(&compact[at], &bits, std::min(sizeof(bits), compact.size() - at));
    }
    return compact;
  }

  void place(Side& side, bool is_sent) {
    side.peers.clear();
    const bool all =
        exchanges(what_.function) ||
        (is_sent ? scatters(what_.function) && is_root()
                 : gathers_on_all(what_.function) || (gathers_at_root(what_.function) && is_root()));
    if (is_sent ? !is_input_in_place() : true) {
      if (all) {
        for (int peer = 0; peer < ranks_; ++peer) side.peers.push_back(peer);
      } else if (is_sent && !scatters(what_.function)) {
        side.peers.push_back(what_.root);
      } else if (!is_sent && scatters(what_.function) && !(what_.in_place && is_root())) {
        side.peers.push_back(what_.root);
      }
    }
    const Layout& layout = is_sent ? *own_.sent : *own_.received;
    std::vector<Room::Block> blocks;
    for (const int peer : side.peers)
      blocks.push_back({&layout, is_sent ? length(rank_, peer) : length(peer, rank_), 0});
    const std::vector<std::ptrdiff_t> at = placed_blocks(blocks, all, is_sent);
    const bool by_bytes = what_.function == MpiFunction::alltoallw;
    for (std::size_t i = 0; i < blocks.size(); ++i)
      blocks[i].offset = by_bytes ? at[i] : at[i] * layout.extent;
    side.room.assign(blocks, own_.shift);

    side.is_bottom = own_.absolute && !blocks.empty() && (by_bytes || !all);
    side.count = blocks.empty() ? 0 : elements(layout, blocks[0].count);
    side.type = blocks.empty() ? MPI_DATATYPE_NULL : layout.handle;
    if (side.is_bottom && !by_bytes && blocks[0].count > 0) {
      side.type = absolute_type(side.room, 0);
      side.count = 1;
    } else if (side.is_bottom && !by_bytes) {
      side.is_bottom = false;
    }
    side.counts.clear();
    side.places.clear();
    side.types.clear();
    for (std::size_t i = 0; all && i < blocks.size(); ++i) {
      side.counts.push_back(elements(layout, blocks[i].count));
      side.places.push_back(static_cast<int>(by_bytes ? at[i] : at[i] * layout.units));
      // (Neither library looks at the type of an empty block.)
      side.types.push_back(by_bytes && blocks[i].count == 0 && what_.has_zeros && takes_null_types
                               ? MPI_DATATYPE_NULL
                               : layout.handle);
      if (!side.is_bottom) continue;
      side.places.back() = 0;
      if (blocks[i].count == 0) continue;
      side.types.back() = absolute_type(side.room, i);
      side.counts.back() = 1;
    }
    if (own_.frees_types && side.type == layout.handle) side.type = copy_of(layout.handle);
    for (MPI_Datatype& type : side.types) {
      if (own_.frees_types && by_bytes && type == layout.handle) type = copy_of(type);
    }
#if MPI_VERSION >= 4
    side.large_counts.assign(side.counts.begin(), side.counts.end());
    side.large_places.assign(side.places.begin(), side.places.end());
#endif
  }

  /// Returns the beginnings of blocks: in elements, or for alltoallw in bytes.
  std::vector<std::ptrdiff_t> placed_blocks(const std::vector<Room::Block>& blocks, bool all, bool is_sent) {
    std::vector<std::ptrdiff_t> at(blocks.size(), 0);
    if (!all) return at;
    const Placing placing = !is_displaced(what_.function) ? Placing::in_order
                            : is_sent                     ? what_.sent
                                                          : what_.received;
    if (placing == Placing::at_one_place) return at;
    std::vector<std::size_t> order(blocks.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    const bool shuffles = placing == Placing::shuffled;
    for (std::size_t i = order.size(); shuffles && i > 1; --i)
      std::swap(order[i - 1], order[shuffle_.next() % i]);
    const auto gap = [&] { return shuffles ? static_cast<std::ptrdiff_t>(shuffle_.next() % 4) : 0; };
    std::ptrdiff_t next = shuffles ? -3 : 0;
    for (const std::size_t i : order) {
      const Room::Block& block = blocks[i];
      if (what_.function == MpiFunction::alltoallw) {
        const auto [low, high] = Room::span(*block.layout, block.count);
        // Every layout begins where its numbers are aligned.
        at[i] = (next - low + 7) / 8 * 8;
        next = at[i] + high + gap();
      } else {
        at[i] = next;
        next += static_cast<std::ptrdiff_t>(block.count) + gap();
      }
    }
    return at;
  }

  static int elements(const Layout& layout, std::size_t count) {
    return static_cast<int>(count) * layout.units;
  }

  MPI_Datatype absolute_type(Room& room, std::size_t which) {
    const Room::Block& block = room.blocks()[which];
    int count = elements(*block.layout, block.count);
    MPI_Aint address = 0;
    MPI_Get_address(room.address() + block.offset, &address);
    MPI_Datatype base = block.layout->handle;
    MPI_Datatype type{};
    MPI_Type_create_struct(1, &count, &address, &base, &type);
    MPI_Type_commit(&type);
    made_.push_back(type);
    return type;
  }
  MPI_Datatype copy_of(MPI_Datatype of) {
    MPI_Datatype type{};
    MPI_Type_dup(of, &type);
    made_.push_back(type);
    return type;
  }
  void free_types() {
    for (MPI_Datatype& type : made_) MPI_Type_free(&type);
    made_.clear();
  }

  /// Open MPI wants a type for an empty block, too.
#ifdef OPEN_MPI
  static constexpr bool takes_null_types = false;
#else
  static constexpr bool takes_null_types = true;
#endif

  Exchange what_{};
  Own own_{};
  int rank_ = 0;
  int ranks_ = 1;
  std::uint64_t seed_ = 0;
  Random shuffle_{0};
  Side sent_;
  Side received_;
  std::vector<MPI_Datatype> made_;
};
