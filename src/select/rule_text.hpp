// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace stretto {

/// The built-in rule, as RuleTable reads it and `stretto explain --rule` prints it.
inline constexpr std::string_view rule_text = R"rule(
# The built-in rule: the spec of a call where there is no tuning table, and nothing was learnt.
#
#   COLLECTIVES CONDITIONS -> SPEC
#
# The first row of a section that holds decides. If none does, the MPI library carries out the call. The
# conditions beside a section's name hold for all of its rows. They compare
#
#   bytes, block         of the whole message; bytes / ranks: some algorithms have a round for each block
#   ranks, nodes, cache  cache: ranks on the emptiest last-level cache
#   ppn, min-ppn         ranks on the fullest and on the emptiest node
#   ppn*block            what a rank sends to another node in an alltoall; ppn*ppn*block: what a node sends
#   rounds               of a tree: log2 ranks, rounded up
#   bytes/depth          depth: (ranks-2) / log2 ranks, by which a chain is deeper than a tree
#
# or name a property, which ! negates: blocking; background (non-blocking and persistent calls); memory
# (messages inside nodes go through Stretto's shared memory); pof2 (the number of ranks is a power of two);
# even (no node has more than 1.25 times its share of ranks or bytes); commutative. {...} in a spec is
# computed. {X=A..B} is X, or A or B if X is not between them, rounded down to a power of two.

[derived]
# scripts/derive-rule writes these figures. With them, by the schedule walker, the rule loses least against
# the best spec on the machines in python/stretto/model/machines (docs/models.md).
#
# The bytes of a message in pipelined schedules. It is short enough for every library to send it eagerly, and
# long enough that its overhead is small against its time.
message = 16KiB, least_message = 8KiB
# From this size or this block on, a blocking call between nodes uses an algorithm of Stretto.
allreduce = 32KiB, allreduce_block = 8KiB, allreduce_pof2 = 64KiB, pof2_block = 64KiB
bcast = 32KiB, bcast_depth = 64KiB, bcast_chain = 64KiB, bcast_of_nodes = 32KiB, reduce = 64KiB
reduce_scatter_ring = 32KiB, reduce_scatter_halves = 128KiB, reduce_scatter_lanes = 128KiB
allgather = 512KiB, blocks_of_pair = 128KiB
# The same for non-blocking and persistent calls.
background_doubling = 64KiB, background_doubling_pof2 = 32KiB, background_ring_block = 1KiB
background_chain = 32KiB, background_bcast = 64KiB, background_reduce = 512
background_allgather_block = 32KiB, background_allgather_lanes_block = 512

[measured]
# Every library sends this length eagerly, too (Open MPI over TCP up to 64 KiB with its header). Shorter
# messages fill links equally well, but each takes processor time from the computation (docs/notebook.md).
# The models do not know that.
message in background = 56KiB
# Below this size, no call that runs step by step inside a node gains by shared memory.
in_memory = 4KiB, in_memory_of_pair = 8KiB
# The longest message to another node that takes its time mostly to start.
gathered = 16KiB

[inside a node]
any ranks=1 -> native
any !commutative -> native

[inside a node: memory]
# The time depends on how often ranks wait for each other, and on the bytes that they move. A few ranks write
# to all others at once; data for all of them are written once. Up to 16 ranks, sizes and specs are those that
# were fastest with 2, 3, 4 and 8 ranks on two cores (docs/shared-memory.md).
allreduce ranks=2 bytes>=4MiB -> ring:segment_bytes=512KiB
allreduce ranks=2 bytes>=128KiB -> ring
allreduce ranks=2 bytes>=1 -> recursive_doubling
allreduce blocking ranks=3..16 bytes>=16KiB -> two_shot
allreduce blocking ranks=3..16 bytes>=1 -> recursive_multiplying:radix={ranks}
# These rows follow the model of a node of 128 ranks. Long messages cross between caches as little as
# possible, however ranks are mapped. For shorter ones, fewer messages among caches count more than fewer
# rounds.
allreduce blocking ranks>16 cache>1 bytes>=64KiB -> cache_lanes(two_shot)
allreduce blocking ranks>16 cache>1 bytes>=in_memory -> cache_lanes(rabenseifner)
allreduce bytes>=1MiB -> rabenseifner:segment_bytes=1MiB
allreduce bytes>=in_memory -> rabenseifner
# Many ranks would write many lines to all others, and wait for as many.
allreduce blocking bytes>=1 -> recursive_doubling
bcast,reduce ranks=2 bytes>=in_memory_of_pair -> binomial
bcast blocking ranks=3..16 bytes>=in_memory -> linear
bcast ranks>2 bytes>=128KiB -> chain:segment_bytes=128KiB
bcast ranks>2 bytes>=in_memory -> binomial
reduce blocking ranks=3..16 bytes>=in_memory bytes<64KiB -> linear
reduce ranks=3..8 bytes>=in_memory -> binomial
reduce ranks>8 bytes>=in_memory -> rabenseifner:segment_bytes=1MiB
reduce_scatter,allgather ranks=2 bytes>=in_memory_of_pair -> ring
reduce_scatter blocking ranks=3..16 bytes>=in_memory -> direct
reduce_scatter pof2 ranks>2 bytes>=in_memory -> recursive_halving
reduce_scatter ranks>2 bytes>=in_memory -> ring
allgather blocking ranks=3..16 bytes>=in_memory -> linear
allgather ranks>2 bytes>=1MiB -> ring
allgather pof2 ranks>2 bytes>=in_memory -> recursive_doubling
allgather ranks>2 bytes>=in_memory -> bruck
# The MPI library moves long blocks with one copy.
alltoall blocking ranks<=16 bytes>=1 block<=32KiB -> linear
barrier blocking ranks=3..16 -> dissemination:radix={ranks}
barrier blocking -> dissemination

[inside a node]
# The MPI library's shared memory is fastest as long as the message fits into the caches. For longer
# messages, a pair of ranks is faster if each reduces one half and segments stay in the cache.
allreduce blocking ranks=2 bytes>=16MiB -> ring:segment_bytes=256KiB
allreduce background ranks=2 bytes>=32KiB -> ring:segment_bytes=256KiB
allreduce background ranks=2 -> recursive_doubling
allreduce background bytes>=256KiB -> rabenseifner:segment_bytes=1MiB
reduce background bytes>=64KiB -> rabenseifner:segment_bytes=1MiB
reduce_scatter background ranks=2 bytes>=1KiB -> ring:segment_bytes=256KiB
reduce_scatter background bytes>=256KiB -> ring:segment_bytes=256KiB

[between nodes]
any !commutative -> native
# A ring pays if each of its 2(p-1) rounds transfers for longer than its latency, and if there are segments to
# fill each other's gaps. That is so for shorter messages if p is no power of two: then the libraries'
# algorithms send the whole message once or twice more. With lanes, a node's link carries the bytes for N
# nodes, not for p ranks.
allreduce pof2 min-ppn>1 bytes>=allreduce_pof2 block>=pof2_block -> multilane:segment_bytes={message*ranks}
allreduce pof2 bytes>=allreduce_pof2 block>=pof2_block -> ring:segment_bytes={message*ranks}
allreduce !pof2 min-ppn>1 bytes>=allreduce block>=allreduce_block -> multilane:segment_bytes={message*ranks}
allreduce !pof2 bytes>=allreduce block>=allreduce_block -> ring:segment_bytes={message*ranks}
# The trees of a circulant graph send the message over each link once, as a chain does, in 2 log2(p) rounds.
# Several segments meet at a rank, so a broadcast takes some 1.2 times as long as the link needs. A chain takes
# less if it has many segments: as long as the link needs, plus the time until the last rank gets its first
# segment. Two ranks have one link between them, and any message fills it.
bcast ppn=1 ranks>5 bytes>=bcast block<bcast_chain -> circulant:segment_bytes={message*rounds}
bcast ranks>2 bytes>=bcast bytes/depth>=bcast_depth -> chain:segment_bytes={block/16=least_message..message}
bcast ppn>1 nodes>4 bytes>=bcast_of_nodes -> smp(circulant):segment_bytes={least_message*rounds}
reduce ppn=1 ranks>2 bytes>=reduce -> circulant:segment_bytes={message*rounds}
reduce ranks>2 bytes>=reduce block>=2*least_message -> chain:segment_bytes={block/16=least_message..message}
# Every block crosses the links once. With lanes, the node that owns a block sends it to (or gets its parts
# from) all others, so if one node has most of the bytes, its link is the bottleneck. Around a ring, all links
# carry the same. The libraries' reduce-scatters use the links, too, and more than needed if not node-aware.
# Two ranks exchange one message with any algorithm; only very long ones gain by segments.
reduce_scatter,allgather ranks=2 bytes>=blocks_of_pair -> ring:segment_bytes={message*ranks}
reduce_scatter ppn>1 !even bytes>=reduce_scatter_lanes -> ring:segment_bytes={message*ranks}
reduce_scatter ppn>1 bytes>=reduce_scatter_lanes -> multilane:segment_bytes={message*ranks}
reduce_scatter ppn=1 ranks>2 block>=reduce_scatter_ring -> ring:segment_bytes={message*ranks}
reduce_scatter ppn=1 ranks>2 !pof2 bytes>=reduce_scatter_halves -> circulant
allgather ppn>1 even bytes>=allgather -> multilane:segment_bytes={message*ranks}
allgather ranks>2 bytes>=allgather -> ring:segment_bytes={message*ranks}
# Alltoall and barrier were measured on emulated clusters (docs/notebook.md). Short blocks cross the network
# together: those of all pairs of ranks of two nodes, or of a lane. One leader of many ranks has too much to
# do (in simulation, from 8 ranks a node on). Many short messages meet at a receiver without harm, and a wait
# for some of them costs more (in simulation, on 64 nodes). Long blocks go directly, in segments, one partner
# at a time, so that no two ranks send to the same one.
alltoall ppn=2..4 bytes>=1 ppn*ppn*block<=gathered -> smp
alltoall ppn>1 bytes>=1 ppn*block<=1KiB -> multilane(linear:radix=257)
alltoall ppn>1 bytes>=1 ppn*block<=gathered -> multilane
alltoall ppn=1 ranks>=8 bytes>=1 block<=2KiB -> bruck
alltoall block>=4*gathered -> pairwise:segment_bytes={message*ranks}
barrier blocking memory ppn>1 -> smp:radix=4

[between nodes: background]
# The libraries use simpler algorithms here, which are not node-aware. So Stretto gains with much
# shorter messages, too.
allreduce pof2 min-ppn>1 bytes>=background_doubling_pof2 -> multilane(rabenseifner):segment_bytes=1MiB
allreduce pof2 bytes>=background_doubling_pof2 -> rabenseifner:segment_bytes=1MiB
allreduce !pof2 min-ppn>1 bytes>=background_doubling -> multilane(rabenseifner):segment_bytes=1MiB
allreduce !pof2 bytes>=background_doubling block>=background_ring_block -> ring:segment_bytes={message*ranks}
allreduce !pof2 bytes>=background_doubling -> rabenseifner:segment_bytes=1MiB
allreduce ppn=1 -> recursive_doubling
# A chain is faster than a tree if there are enough segments: the time of its p-2 further rounds must be less
# than that of the tree's log p messages.
bcast ranks>2 bytes>=background_bcast bytes/depth>=background_chain -> chain:segment_bytes={least_message}
bcast ranks>2 bytes>=background_bcast -> binomial
reduce ranks>2 bytes>=background_reduce bytes/depth>=background_chain -> chain:segment_bytes={least_message}
reduce ranks>2 bytes>=background_reduce -> binomial
allgather ppn>1 !even block>=background_allgather_lanes_block -> ring:segment_bytes={message*ranks}
allgather ppn>1 block>=background_allgather_lanes_block -> multilane:segment_bytes={message*ranks}
allgather ppn=1 block>=background_allgather_block -> ring:segment_bytes={message*ranks}
allgather pof2 -> recursive_doubling
allgather -> bruck

[lengths]
# Specs that may be faster for calls whose lengths only two ranks know. Sizes are what the rank that moves
# most usually sends. The node-aware algorithms walk twice, first with lengths, so they gain only where a node
# has many messages to send. Long blocks go to two ranks at a time: while one waits for its turn, the other
# fills the link.
alltoallv nodes=1 memory blocking ranks<=16 block<=32KiB -> linear
alltoallv nodes>1 ppn=3..4 ppn*ppn*block<=gathered -> smp
alltoallv nodes>1 ppn>4 ppn*block<=gathered -> multilane
alltoallv nodes>1 block>=4*gathered -> linear:radix=3

[reproducible]
# These algorithms compute the fixed tree. Pairwise sends the fewest bytes for any p, in many rounds. But if a
# node has several ranks, each sends these bytes over its link. No figure here is derived, so that the bits of
# results stay as they are.
allreduce bytes<8KiB -> recursive_doubling
allreduce ppn=1 bytes>=32KiB -> pairwise:segment_bytes={16KiB*ranks}
reduce bytes<8KiB -> binomial
allreduce,reduce -> rabenseifner:segment_bytes={16KiB*ranks}
reduce_scatter -> pairwise:segment_bytes={16KiB*ranks}
scan,exscan -> recursive_doubling

[own]
# These rows are for calls that the MPI library must not carry out, if no row above gives a spec of Stretto.
bcast -> binomial
allgather block<8KiB -> bruck
allgather -> ring:segment_bytes={16KiB*ranks}
alltoall,alltoallv,gather,gatherv,scatter,scatterv -> linear
barrier -> dissemination
)rule";

}  // namespace stretto
