# SPDX-License-Identifier: Apache-2.0
"""The choices of the selectors of SimGrid 3.32's SMPI (library_choices.py), found by calling them.

Each line has a library, a collective, the least ranks per node, and the least ranks. Then come the
algorithms, each after the number of bytes from which on it is used. The selectors were called with 2 to 512
ranks and all powers of two up to 1 GiB, with a user-defined operation (MPI_Op_create). SMPI's algorithms
were replaced by functions that record their name. The algorithm of MVAPICH2's broadcast among the nodes was
identified by its time.
`leaders/X` is X among the leaders of the nodes. `mvapich2` is MVAPICH2's choice. Bytes are the bytes of the
whole message; in alltoall, gather and scatter, and in the allgather of MVAPICH2 and Intel MPI, they are the
bytes of a block. Intel MPI's reduce is MVAPICH2's. Alltoall, gather, scatter and barrier were called with
only some numbers of ranks: powers of two, the numbers after them, and a few others. With several ranks per
node, they were called with up to 256 ranks.
"""

TABLES = """
openmpi allreduce 1 2 lr 8:rdb 4KiB:lr 8KiB:rdb 16KiB:lr 64KiB:ompi_ring_segmented 256KiB:rab_rdb
openmpi allreduce 1 4 lr 16:rdb 8KiB:rab_rdb
openmpi allreduce 1 8 rdb 8KiB:rab_rdb
openmpi allreduce 1 16 ompi_ring_segmented 64:rdb 4KiB:rab_rdb
openmpi allreduce 1 32 ompi_ring_segmented 128:rab_rdb
openmpi allreduce 1 64 rdb 256KiB:rab_rdb
openmpi allreduce 1 128 redbcast 128KiB:rdb 256KiB:rab_rdb
openmpi allreduce 1 256 redbcast 4KiB:rab_rdb
openmpi allreduce 1 512 redbcast 2KiB:rdb 16KiB:rab_rdb
openmpi bcast 1 2 ompi_pipeline 32:NTSB 256:ompi_pipeline 512:mvapich2_knomial_intra_node 1KiB:NTSL
    32KiB:NTSB 128KiB:ompi_pipeline 256KiB:NTSL 512KiB:binomial_tree 1MiB:NTSB
openmpi bcast 1 4 NTSB 64:binomial_tree 128:NTSB 2KiB:binomial_tree 8KiB:NTSL 1MiB:ompi_pipeline
openmpi bcast 1 8 mvapich2_knomial_intra_node 8:NTSB 64:mvapich2_knomial_intra_node 4KiB:NTSB
    16KiB:binomial_tree 32KiB:NTSL
openmpi bcast 1 16 mvapich2_knomial_intra_node 4KiB:binomial_tree 1MiB:scatter_rdb_allgather
openmpi bcast 1 32 binomial_tree 2KiB:mvapich2_knomial_intra_node
openmpi bcast 1 64 mvapich2_knomial_intra_node
openmpi bcast 1 128 NTSB 16KiB:NTSL 32KiB:NTSB 64KiB:mvapich2_knomial_intra_node
openmpi bcast 1 256 mvapich2_knomial_intra_node 16KiB:ompi_split_bintree 32KiB:mvapich2_knomial_intra_node
openmpi bcast 1 1024 mvapich2_knomial_intra_node 512KiB:scatter_rdb_allgather
openmpi reduce 1 2 ompi_basic_linear 8:ompi_binary 16:ompi_pipeline 32:ompi_basic_linear
    256KiB:ompi_pipeline 512KiB:ompi_chain 1MiB:ompi_pipeline
openmpi reduce 1 4 ompi_binary 4KiB:ompi_chain 64KiB:ompi_binomial 256KiB:ompi_basic_linear
    512KiB:ompi_binomial 1MiB:ompi_basic_linear
openmpi reduce 1 8 ompi_binary 8KiB:ompi_binomial
openmpi reduce 1 16 ompi_binary 4KiB:ompi_binomial
openmpi reduce 1 32 ompi_binomial
openmpi reduce 1 256 ompi_binomial 8KiB:ompi_in_order_binary 16KiB:ompi_binomial
openmpi reduce 1 512 ompi_binomial
openmpi reduce_scatter 1 2 ompi_ring 64KiB:ompi_butterfly 128KiB:ompi_ring
openmpi reduce_scatter 1 4 ompi_basic_recursivehalving 256KiB:ompi_ring
openmpi reduce_scatter 1 32 ompi_basic_recursivehalving 2KiB:ompi_butterfly 512KiB:ompi_ring
openmpi reduce_scatter 1 64 ompi_basic_recursivehalving 512:ompi_butterfly
    2KiB:ompi_basic_recursivehalving 4KiB:ompi_butterfly
openmpi reduce_scatter 1 128 ompi_butterfly
openmpi reduce_scatter 1 512 ompi_butterfly 8KiB:ompi_basic_recursivehalving 16KiB:ompi_butterfly
openmpi reduce_scatter 1 1024 ompi_butterfly 16KiB:ompi_basic_recursivehalving 32KiB:ompi_butterfly
openmpi allgather 1 2 pair
openmpi allgather 1 4 rdb
openmpi allgather 1 32 rdb 32KiB:ompi_neighborexchange 2MiB:ring
openmpi allgather 1 64 rdb 32KiB:ompi_neighborexchange 4MiB:ring
openmpi allgather 1 128 rdb 64KiB:ompi_neighborexchange 16MiB:ring 64MiB:ompi_neighborexchange 128MiB:ring
openmpi allgather 1 256 rdb 8KiB:bruck 32KiB:rdb 256KiB:ompi_neighborexchange 32MiB:ring
    128MiB:ompi_neighborexchange 256MiB:ring
openmpi allgather 1 512 rdb 32KiB:bruck 128KiB:rdb 1MiB:ompi_neighborexchange
openmpi allgather 1 1024 bruck 8KiB:rdb 16KiB:bruck 32KiB:rdb 256KiB:bruck 512KiB:rdb
    4MiB:ompi_neighborexchange
mpich allreduce 1 2 mvapich2_two_level
mpich bcast 1 2 SMP_binomial
mpich reduce 1 2 mvapich2_two_level
mpich reduce_scatter 1 2 mpich_rdb 4MiB:mpich_pair
mvapich2 allreduce 1 2 mvapich2_two_level 2KiB:mvapich2_rs
mvapich2 allreduce 1 17 mvapich2_two_level 32KiB:mvapich2_rs
mvapich2 bcast 1 2 leaders/binomial_tree 128KiB:leaders/scatter_LR_allgather
mvapich2 bcast 1 9 leaders/binomial_tree 32KiB:leaders/scatter_LR_allgather
mvapich2 bcast 1 17 leaders/binomial_tree 16KiB:leaders/scatter_LR_allgather
mvapich2 bcast 1 65 leaders/binomial_tree 16KiB:leaders/scatter_LR_allgather 1MiB:scatter_LR_allgather
mvapich2 bcast 1 129 leaders/binomial_tree 16KiB:leaders/scatter_LR_allgather
mvapich2 bcast 2 1 leaders/binomial_tree 128KiB:leaders/scatter_LR_allgather
mvapich2 bcast 2 17 leaders/binomial_tree
mvapich2 bcast 2 65 leaders/binomial_tree 1MiB:scatter_LR_allgather
mvapich2 bcast 2 129 leaders/binomial_tree
mvapich2 reduce 1 2 mvapich2_two_level 512KiB:binomial 2MiB:scatter_gather
mvapich2 reduce 1 17 mvapich2_two_level 128KiB:mvapich2_knomial 512KiB:binomial 2MiB:scatter_gather
mvapich2 reduce 1 33 mvapich2_two_level 512KiB:scatter_gather
mvapich2 reduce 1 65 mvapich2_two_level 16KiB:mvapich2_knomial 32KiB:mvapich2_two_level
    128KiB:mvapich2_knomial 512KiB:mvapich2_two_level 2MiB:scatter_gather
mvapich2 reduce 1 129 mvapich2_two_level 64KiB:binomial 128KiB:mvapich2_two_level 2MiB:scatter_gather
mvapich2 reduce 1 257 mvapich2_two_level 16KiB:mvapich2_knomial 32KiB:mvapich2_two_level
    2MiB:scatter_gather
mvapich2 reduce_scatter 1 2 default 128:ompi_basic_recursivehalving 128KiB:mpich_pair
mvapich2 reduce_scatter 1 17 ompi_basic_recursivehalving 256KiB:mpich_pair
mvapich2 reduce_scatter 1 33 default 2KiB:ompi_basic_recursivehalving 512KiB:mpich_pair
mvapich2 reduce_scatter 1 65 ompi_basic_recursivehalving
mvapich2 allgather 1 2 ring
mvapich2 allgather 1 3 rdb 512KiB:ring
mvapich2 allgather 1 5 rdb 256KiB:ring
mvapich2 allgather 1 17 rdb 128KiB:ring
mvapich2 allgather 1 33 rdb 64KiB:ring
mvapich2 allgather 2 2 rdb 1MiB:ring
mvapich2 allgather 2 5 rdb 64KiB:mvapich2_smp
mvapich2 allgather 2 9 rdb 32KiB:mvapich2_smp
mvapich2 allgather 2 17 mvapich2_smp
mvapich2 allgather 4 1 rdb 512KiB:ring
mvapich2 allgather 4 5 rdb 256KiB:ring
mvapich2 allgather 4 17 rdb 128KiB:ring
mvapich2 allgather 4 33 rdb 64KiB:ring
mvapich2 allgather 16 1 rdb 2KiB:ring
mvapich2 allgather 16 17 two_level 2KiB:ring
intelmpi allreduce 1 2 ompi_ring_segmented 8:rdb 128:ompi_ring_segmented 256:rdb 1KiB:ompi_ring_segmented
    2KiB:rdb 32KiB:ompi_ring_segmented 64KiB:redbcast 2MiB:ompi_ring_segmented
intelmpi allreduce 1 3 ompi_ring_segmented 16:rdb 64:ompi_ring_segmented 4KiB:rdb
    32KiB:ompi_ring_segmented 128KiB:redbcast 2MiB:ompi_ring_segmented
intelmpi allreduce 1 5 rdb 128:mvapich2_two_level 256:rdb 32KiB:mvapich2_two_level
    64KiB:ompi_ring_segmented 512KiB:redbcast 4MiB:ompi_ring_segmented
intelmpi allreduce 1 9 rdb 1KiB:mvapich2_two_level 2KiB:rdb 16KiB:rab1 64KiB:ompi_ring_segmented
    1MiB:redbcast
intelmpi allreduce 1 17 mvapich2_two_level 16:rdb 256:mvapich2_two_level 2KiB:rdb 16KiB:mvapich2_two_level
    128KiB:rab1 1MiB:redbcast
intelmpi allreduce 2 2 ompi_ring_segmented 4KiB:rdb 16KiB:ompi_ring_segmented 128KiB:redbcast 256KiB:rab1
    512KiB:ompi_ring_segmented
intelmpi allreduce 2 5 rdb 16KiB:rab1 128KiB:ompi_ring_segmented 256KiB:redbcast
    512KiB:ompi_ring_segmented 1MiB:rab1
intelmpi allreduce 2 9 rdb 32KiB:rab1 128KiB:ompi_ring_segmented 1MiB:rab1 2MiB:redbcast
intelmpi allreduce 2 17 rdb 16KiB:rab1 128KiB:ompi_ring_segmented 1MiB:rab1
intelmpi allreduce 2 33 rdb 1KiB:rab1 4KiB:rdb 8KiB:rab1 512KiB:ompi_ring_segmented 4MiB:redbcast
intelmpi allreduce 2 65 rdb 1KiB:rab1 1MiB:mvapich2_two_level 2MiB:rab1 4MiB:ompi_ring_segmented
intelmpi allreduce 2 129 rdb 1KiB:rab1 4MiB:ompi_ring_segmented
intelmpi allreduce 4 1 rdb 8KiB:rab1 256KiB:ompi_ring_segmented 1MiB:rab1
intelmpi allreduce 4 5 rdb 8KiB:rab1 128KiB:ompi_ring_segmented 256KiB:redbcast 1MiB:rab1
    2MiB:ompi_ring_segmented 4MiB:rab1
intelmpi allreduce 4 9 rdb 1KiB:rab1 4KiB:rdb 16KiB:rab1 128KiB:ompi_ring_segmented 512KiB:redbcast
    4MiB:ompi_ring_segmented
intelmpi allreduce 4 17 rdb 1KiB:rab1 256KiB:ompi_ring_segmented 1MiB:redbcast
intelmpi allreduce 4 33 rdb 1KiB:rab1 256KiB:ompi_ring_segmented 2MiB:redbcast
intelmpi allreduce 4 65 rdb 512:rab1 1MiB:ompi_ring_segmented
intelmpi allreduce 4 129 rdb 1KiB:rab1
intelmpi allreduce 4 257 rdb 1KiB:rab1 4MiB:ompi_ring_segmented
intelmpi allreduce 8 1 rdb 4KiB:mvapich2_two_level 128KiB:ompi_ring_segmented 512KiB:rab1
    1MiB:mvapich2_two_level
intelmpi allreduce 8 9 rdb 512:rab1 64KiB:ompi_ring_segmented 512KiB:redbcast 4MiB:ompi_ring_segmented
intelmpi allreduce 8 17 rdb 512:rab1 128KiB:ompi_ring_segmented 1MiB:redbcast 4MiB:ompi_ring_segmented
intelmpi allreduce 8 33 rdb 128:smp_binomial 1KiB:rab1 512KiB:ompi_ring_segmented 4MiB:redbcast
intelmpi allreduce 8 65 rdb 8:smp_binomial 1KiB:rab1 512KiB:ompi_ring_segmented
intelmpi allreduce 8 129 smp_binomial 1KiB:rab1 1MiB:ompi_ring_segmented
intelmpi allreduce 8 257 smp_binomial 1KiB:rab1 1MiB:mvapich2_two_level 2MiB:rab1 4MiB:ompi_ring_segmented
intelmpi allreduce 16 1 rdb 512:mvapich2_two_level 4KiB:rab1 16KiB:mvapich2_two_level 32KiB:rab1
    64KiB:mvapich2_two_level 128KiB:rab1 256KiB:mvapich2_two_level 1MiB:rab1 2MiB:ompi_ring_segmented
intelmpi allreduce 16 17 rdb 8:smp_binomial 32:rdb 128:smp_binomial 1KiB:rab1 128KiB:ompi_ring_segmented
intelmpi allreduce 16 33 smp_binomial 1KiB:mvapich2_two_level 2KiB:smp_binomial 4KiB:rab1
    256KiB:ompi_ring_segmented 2MiB:redbcast
intelmpi allreduce 16 65 smp_binomial 4KiB:rab1 512KiB:ompi_ring_segmented
intelmpi allreduce 16 129 smp_binomial 4KiB:rab1 1MiB:ompi_ring_segmented
intelmpi allreduce 16 257 smp_binomial 4KiB:rab1 2MiB:ompi_ring_segmented
intelmpi bcast 1 2 mvapich2 512:NTSL 1KiB:SMP_binomial 2KiB:mvapich2 8KiB:binomial_tree 32KiB:SMP_linear
    128KiB:NTSL 512KiB:binomial_tree
intelmpi bcast 1 3 mvapich2
intelmpi bcast 1 5 SMP_linear 32:binomial_tree 256:SMP_linear 1KiB:binomial_tree 2KiB:SMP_linear 4KiB:NTSL
    8KiB:binomial_tree 16KiB:mvapich2 4MiB:SMP_linear
intelmpi bcast 1 9 mvapich2
intelmpi bcast 2 2 SMP_binomial 1KiB:mvapich2 32KiB:SMP_linear 64KiB:SMP_binomial 256KiB:binomial_tree
    1MiB:mvapich2
intelmpi bcast 2 5 binomial_tree 32:SMP_binomial 128:binomial_tree 32KiB:mvapich2 1MiB:binomial_tree
    2MiB:NTSL
intelmpi bcast 2 9 mvapich2 256:binomial_tree 32KiB:mvapich2
intelmpi bcast 2 17 mvapich2 256:binomial_tree 16KiB:mvapich2
intelmpi bcast 2 33 mvapich2 1KiB:binomial_tree 8KiB:mvapich2
intelmpi bcast 4 1 SMP_binomial 256:binomial_tree 32KiB:mvapich2
intelmpi bcast 4 9 mvapich2
intelmpi bcast 8 1 mvapich2 512:binomial_tree 2KiB:mvapich2
intelmpi bcast 8 17 mvapich2 512:binomial_tree 1KiB:mvapich2
intelmpi bcast 8 65 mvapich2
intelmpi bcast 16 1 mvapich2
intelmpi reduce_scatter 1 2 mpich_pair 512KiB:default 2MiB:mpich_pair 4MiB:default
intelmpi reduce_scatter 1 3 mpich_rdb 128:ompi_basic_recursivehalving 1KiB:mpich_rdb
    16KiB:ompi_basic_recursivehalving 64KiB:mpich_pair 1MiB:default 2MiB:mpich_pair
intelmpi reduce_scatter 1 5 ompi_basic_recursivehalving 4KiB:mpich_rdb 32KiB:ompi_basic_recursivehalving
    64KiB:mpich_pair 256KiB:default 4MiB:mpich_pair
intelmpi reduce_scatter 1 9 ompi_basic_recursivehalving 16KiB:mpich_rdb 64KiB:mpich_pair 512KiB:default
intelmpi reduce_scatter 1 17 ompi_basic_recursivehalving 32KiB:mpich_rdb 64KiB:mpich_pair 4MiB:default
intelmpi reduce_scatter 1 33 ompi_basic_recursivehalving 128KiB:mpich_pair
intelmpi reduce_scatter 1 65 ompi_basic_recursivehalving 256KiB:mpich_rdb 512KiB:mpich_pair 2MiB:default
intelmpi reduce_scatter 2 2 mpich_pair
intelmpi reduce_scatter 2 3 mpich_rdb 64:ompi_basic_recursivehalving 128:mpich_rdb 128KiB:default
    1MiB:mpich_pair
intelmpi reduce_scatter 2 5 mpich_rdb 128KiB:mpich_pair 256KiB:default 2MiB:mpich_pair
intelmpi reduce_scatter 2 9 ompi_basic_recursivehalving
intelmpi reduce_scatter 2 17 ompi_basic_recursivehalving 1KiB:mpich_rdb 128KiB:mpich_pair
intelmpi reduce_scatter 2 33 ompi_basic_recursivehalving 2KiB:mpich_rdb 256KiB:mpich_pair
intelmpi reduce_scatter 2 65 ompi_basic_recursivehalving 64KiB:mpich_rdb 512KiB:mpich_pair
intelmpi reduce_scatter 2 129 ompi_basic_recursivehalving 64KiB:mpich_rdb 2MiB:default
intelmpi reduce_scatter 4 1 default 32:mpich_rdb 64:ompi_basic_recursivehalving 256:mpich_rdb
    512KiB:default 1MiB:mpich_pair
intelmpi reduce_scatter 4 5 ompi_basic_recursivehalving 256:mpich_rdb 256KiB:default
intelmpi reduce_scatter 4 9 mpich_rdb 128:ompi_basic_recursivehalving 512:mpich_rdb 256KiB:mpich_pair
intelmpi reduce_scatter 4 17 ompi_basic_recursivehalving 512:mpich_rdb 256KiB:default 2MiB:mpich_pair
    4MiB:default
intelmpi reduce_scatter 4 33 ompi_basic_recursivehalving 1KiB:mpich_rdb 256KiB:default 2MiB:mpich_pair
intelmpi reduce_scatter 4 65 ompi_basic_recursivehalving 2KiB:mpich_rdb 512KiB:default 4MiB:mpich_pair
intelmpi reduce_scatter 4 129 ompi_basic_recursivehalving 4KiB:mpich_rdb
intelmpi reduce_scatter 4 257 ompi_basic_recursivehalving 64KiB:mpich_rdb 4MiB:default
intelmpi reduce_scatter 8 1 ompi_basic_recursivehalving 512:mpich_rdb 128KiB:mpich_pair 512KiB:default
    1MiB:mpich_pair
intelmpi reduce_scatter 8 9 mpich_rdb 128:ompi_basic_recursivehalving 256:mpich_rdb 256KiB:default
intelmpi reduce_scatter 8 17 ompi_basic_recursivehalving 512:mpich_rdb 256KiB:default
intelmpi reduce_scatter 8 33 ompi_basic_recursivehalving 512:mpich_rdb 512KiB:default
intelmpi reduce_scatter 8 65 ompi_basic_recursivehalving 1KiB:mpich_rdb 512KiB:default
intelmpi reduce_scatter 8 129 ompi_basic_recursivehalving 2KiB:mpich_rdb 512KiB:default 1MiB:mpich_rdb
    2MiB:default
intelmpi reduce_scatter 8 257 ompi_basic_recursivehalving 8KiB:mpich_rdb
intelmpi reduce_scatter 16 1 mpich_rdb 128:ompi_basic_recursivehalving 512:mpich_rdb 256KiB:mpich_pair
intelmpi reduce_scatter 16 17 ompi_basic_recursivehalving 512:mpich_rdb 256KiB:default 2MiB:mpich_pair
    4MiB:default
intelmpi reduce_scatter 16 33 ompi_basic_recursivehalving 1KiB:mpich_rdb 256KiB:default 2MiB:mpich_pair
intelmpi reduce_scatter 16 65 ompi_basic_recursivehalving 2KiB:mpich_rdb 512KiB:default 4MiB:mpich_pair
intelmpi reduce_scatter 16 129 ompi_basic_recursivehalving 4KiB:mpich_rdb
intelmpi reduce_scatter 16 257 ompi_basic_recursivehalving 64KiB:mpich_rdb 4MiB:default
intelmpi allgather 1 2 rdb 512:GB 2KiB:rdb 4KiB:GB 16KiB:ring 32KiB:GB 256KiB:ring 512KiB:GB 1MiB:ring
    2MiB:GB
intelmpi allgather 1 5 GB 16:rdb 64:GB 256:bruck 4KiB:GB 8KiB:rdb 16KiB:ring 32KiB:GB 64KiB:rdb
    512KiB:ring
intelmpi allgather 1 9 rdb 64:GB 128:rdb 256:GB 8KiB:rdb 128KiB:GB 256KiB:ring
intelmpi allgather 1 17 rdb 256:GB 512:rdb 1KiB:GB 2KiB:rdb 4KiB:GB 16KiB:rdb 128KiB:GB 256KiB:rdb
    512KiB:GB
intelmpi allgather 2 2 rdb 512:bruck 1KiB:rdb 4KiB:ring 64KiB:rdb 4MiB:ring
intelmpi allgather 2 9 rdb 1KiB:bruck 2KiB:rdb 4KiB:ring
intelmpi allgather 2 17 rdb 4KiB:ring
intelmpi allgather 4 1 rdb 4KiB:ring
intelmpi allgather 4 9 rdb 1KiB:ring
intelmpi allgather 8 1 rdb 128:GB 256:rdb 1KiB:ring
intelmpi allgather 8 65 rdb 512:ring
intelmpi allgather 8 129 rdb 256:ring
intelmpi allgather 16 1 rdb 1KiB:ring
openmpi alltoall 1 2 pair 16:basic_linear 64:pair 256:basic_linear 4KiB:pair 32KiB:basic_linear 1MiB:pair
openmpi alltoall 1 3 basic_linear 512KiB:pair 1MiB:basic_linear
openmpi alltoall 1 8 basic_linear
openmpi alltoall 1 16 bruck 512:basic_linear
openmpi alltoall 1 64 bruck 1KiB:basic_linear 256KiB:pair
openmpi alltoall 1 256 bruck 1KiB:basic_linear 32KiB:pair
openmpi alltoall 1 512 bruck 512:basic_linear 256KiB:pair
openmpi alltoallv 1 2 pair
openmpi alltoallv 1 4 ompi_basic_linear
openmpi alltoallv 1 64 pair
openmpi alltoallv 1 128 ompi_basic_linear
openmpi alltoallv 1 256 pair
openmpi gather 1 2 ompi_binomial 32KiB:ompi_basic_linear 64KiB:ompi_binomial 128KiB:ompi_linear_sync
openmpi gather 1 4 ompi_binomial 1KiB:ompi_basic_linear 8KiB:ompi_binomial 32KiB:ompi_basic_linear
    256KiB:ompi_linear_sync
openmpi gather 1 8 ompi_binomial
openmpi gather 1 256 ompi_binomial 2KiB:ompi_basic_linear 8KiB:ompi_binomial
openmpi gather 1 512 ompi_binomial
openmpi scatter 1 2 ompi_basic_linear 128KiB:ompi_linear_nb 256KiB:ompi_basic_linear
openmpi scatter 1 4 ompi_binomial 2KiB:ompi_basic_linear 4KiB:ompi_binomial 8KiB:ompi_basic_linear
    32KiB:ompi_linear_nb 1MiB:ompi_basic_linear
openmpi scatter 1 8 ompi_binomial 16KiB:ompi_linear_nb 1MiB:ompi_basic_linear
openmpi scatter 1 16 ompi_binomial 16KiB:ompi_basic_linear 32KiB:ompi_linear_nb
openmpi scatter 1 32 ompi_binomial 512:ompi_linear_nb 8KiB:ompi_binomial 16KiB:ompi_linear_nb
openmpi scatter 1 64 ompi_binomial 512:ompi_linear_nb
openmpi barrier 1 2 ompi_recursivedoubling
openmpi barrier 1 4 ompi_basic_linear
openmpi barrier 1 8 ompi_recursivedoubling
openmpi barrier 1 64 ompi_bruck
openmpi barrier 1 256 ompi_tree
openmpi barrier 1 512 ompi_bruck
mpich alltoallv 1 2 bruck
mpich gather 1 2 ompi_binomial
mpich scatter 1 2 ompi_binomial
mpich barrier 1 2 ompi_bruck
mvapich2 alltoall 1 2 pair
mvapich2 alltoall 1 3 mvapich2_scatter_dest 512KiB:pair
mvapich2 alltoall 1 5 rdb 16:mvapich2_scatter_dest
mvapich2 alltoall 1 9 rdb 128:bruck 1KiB:mvapich2_scatter_dest
mvapich2 alltoall 1 17 rdb 64:bruck 4KiB:mvapich2_scatter_dest
mvapich2 alltoall 1 33 rdb 16:bruck 2KiB:mvapich2_scatter_dest
mvapich2 alltoallv 1 2 ring
mvapich2 gather 1 2 ompi_basic_linear 1MiB:ompi_binomial
mvapich2 gather 1 17 ompi_basic_linear 32KiB:ompi_binomial 256KiB:mvapich2_two_level
mvapich2 gather 1 33 mvapich2_two_level 512:ompi_basic_linear 32KiB:mvapich2_two_level
mvapich2 gather 1 65 mvapich2_two_level 1KiB:ompi_basic_linear 32KiB:mvapich2_two_level
mvapich2 scatter 1 2 ompi_binomial
mvapich2 scatter 1 3 ompi_basic_linear
mvapich2 scatter 1 33 ompi_binomial 64:ompi_basic_linear
mvapich2 scatter 2 2 ompi_binomial 8KiB:ompi_basic_linear
mvapich2 scatter 2 5 mvapich2_two_level_direct 1KiB:ompi_basic_linear
mvapich2 scatter 2 9 mvapich2_two_level_direct 4KiB:ompi_basic_linear
mvapich2 scatter 2 33 mvapich2_two_level_direct 16KiB:ompi_basic_linear
mvapich2 scatter 2 65 ompi_binomial 32:mvapich2_two_level_binomial 256:mvapich2_two_level_direct
    32KiB:ompi_basic_linear
mvapich2 scatter 4 4 ompi_basic_linear
mvapich2 scatter 4 33 ompi_binomial 64:ompi_basic_linear
mvapich2 scatter 16 16 ompi_binomial 512:ompi_basic_linear
mvapich2 scatter 16 17 ompi_binomial 1KiB:ompi_basic_linear
mvapich2 scatter 16 33 mvapich2_two_level_direct 2KiB:ompi_basic_linear
mvapich2 scatter 16 65 mvapich2_two_level_direct 4KiB:ompi_basic_linear
mvapich2 barrier 1 2 mvapich2_pair
intelmpi alltoall 1 2 pair
intelmpi alltoall 1 3 mvapich2_scatter_dest
intelmpi alltoall 1 9 mvapich2_scatter_dest 128KiB:pair 256KiB:mvapich2_scatter_dest
intelmpi alltoall 1 17 bruck 64:mvapich2_scatter_dest 256:bruck 1KiB:mvapich2_scatter_dest 256KiB:pair
    512KiB:mvapich2_scatter_dest
intelmpi alltoall 1 33 bruck 1KiB:mvapich2_scatter_dest
intelmpi alltoall 2 2 pair 128:mvapich2_scatter_dest
intelmpi alltoall 2 5 bruck 1KiB:mvapich2_scatter_dest
intelmpi alltoall 2 9 mvapich2_scatter_dest 64KiB:pair 256KiB:mvapich2_scatter_dest
intelmpi alltoall 2 17 bruck 128:mvapich2_scatter_dest 256:bruck 2KiB:mvapich2_scatter_dest 128KiB:pair
    512KiB:mvapich2_scatter_dest
intelmpi alltoall 2 33 bruck 2KiB:mvapich2_scatter_dest 64KiB:pair 512KiB:mvapich2_scatter_dest
intelmpi alltoall 4 4 bruck 512:mvapich2_scatter_dest
intelmpi alltoall 4 9 bruck 8:rdb 128:bruck 1KiB:mvapich2_scatter_dest 256KiB:pair
intelmpi alltoall 4 17 bruck 8:rdb 64:bruck 4KiB:mvapich2_scatter_dest 256KiB:pair
intelmpi alltoall 4 33 bruck 8:rdb 16:bruck 2KiB:mvapich2_scatter_dest 256KiB:pair
intelmpi alltoall 4 65 bruck 2KiB:mvapich2_scatter_dest 32KiB:pair 64KiB:mvapich2_scatter_dest 128KiB:pair
intelmpi alltoall 8 8 bruck 1KiB:mvapich2_scatter_dest
intelmpi alltoall 8 17 bruck 4KiB:mvapich2_scatter_dest 32KiB:pair 64KiB:mvapich2_scatter_dest 256KiB:pair
intelmpi alltoall 8 33 bruck 8:rdb 16:bruck 2KiB:mvapich2_scatter_dest 8KiB:pair
    64KiB:mvapich2_scatter_dest 256KiB:pair
intelmpi alltoall 8 65 bruck 2KiB:mvapich2_scatter_dest 4KiB:pair 64KiB:mvapich2_scatter_dest 256KiB:pair
intelmpi alltoall 16 16 bruck 1KiB:mvapich2_scatter_dest 64KiB:pair 256KiB:mvapich2_scatter_dest
intelmpi alltoall 16 17 bruck 2KiB:mvapich2_scatter_dest 64KiB:pair 256KiB:mvapich2_scatter_dest
intelmpi alltoall 16 33 bruck 2KiB:mvapich2_scatter_dest 4KiB:pair 8KiB:mvapich2_scatter_dest 32KiB:pair
    64KiB:mvapich2_scatter_dest 128KiB:pair
intelmpi alltoall 16 65 bruck 8KiB:pair 64KiB:mvapich2_scatter_dest 128KiB:pair
intelmpi alltoall 16 129 bruck 4KiB:pair 8KiB:mvapich2_scatter_dest 32KiB:pair
intelmpi alltoallv 1 2 ompi_basic_linear
intelmpi alltoallv 8 8 ompi_basic_linear
intelmpi alltoallv 8 17 bruck
intelmpi alltoallv 16 16 ompi_basic_linear
intelmpi gather 1 2 ompi_basic_linear 32KiB:ompi_binomial 64KiB:ompi_basic_linear 1MiB:ompi_binomial
intelmpi gather 1 9 ompi_basic_linear 32KiB:ompi_binomial 128KiB:ompi_basic_linear 256KiB:ompi_binomial
intelmpi gather 1 17 ompi_basic_linear 32KiB:ompi_binomial 512KiB:mvapich2_two_level
intelmpi gather 1 33 mvapich2_two_level 512:ompi_basic_linear 32KiB:mvapich2_two_level 64KiB:ompi_binomial
    512KiB:mvapich2_two_level
intelmpi gather 1 65 mvapich2_two_level 1KiB:ompi_basic_linear 32KiB:mvapich2_two_level
    64KiB:ompi_binomial 512KiB:mvapich2_two_level
intelmpi gather 2 2 ompi_basic_linear 1MiB:ompi_binomial
intelmpi gather 2 17 ompi_basic_linear 32KiB:ompi_binomial 256KiB:mvapich2_two_level
intelmpi gather 2 33 mvapich2_two_level 512:ompi_basic_linear 32KiB:mvapich2_two_level
intelmpi gather 2 65 mvapich2_two_level 1KiB:ompi_basic_linear 32KiB:mvapich2_two_level
intelmpi gather 8 8 ompi_basic_linear 1MiB:ompi_binomial
intelmpi gather 8 17 ompi_binomial 16:ompi_basic_linear 32KiB:ompi_binomial 256KiB:mvapich2_two_level
intelmpi gather 8 33 ompi_binomial 1KiB:ompi_basic_linear 32KiB:mvapich2_two_level
intelmpi gather 8 65 mvapich2_two_level 256:ompi_binomial 1KiB:ompi_basic_linear 32KiB:mvapich2_two_level
intelmpi gather 16 16 ompi_basic_linear 1MiB:ompi_binomial
intelmpi gather 16 17 ompi_basic_linear 32KiB:ompi_binomial 256KiB:mvapich2_two_level
intelmpi gather 16 33 mvapich2_two_level 512:ompi_basic_linear 32KiB:mvapich2_two_level
intelmpi gather 16 65 mvapich2_two_level 1KiB:ompi_basic_linear 32KiB:mvapich2_two_level
intelmpi scatter 1 2 ompi_binomial
intelmpi scatter 1 3 ompi_basic_linear 32KiB:ompi_binomial 256KiB:ompi_basic_linear 512KiB:ompi_binomial
    1MiB:ompi_basic_linear 2MiB:ompi_binomial
intelmpi scatter 1 5 ompi_basic_linear 4KiB:ompi_binomial 8KiB:ompi_basic_linear 16KiB:ompi_binomial
    32KiB:ompi_basic_linear 128KiB:ompi_binomial 2MiB:ompi_basic_linear
intelmpi scatter 1 9 ompi_basic_linear 2KiB:ompi_binomial 4KiB:ompi_basic_linear 32KiB:ompi_binomial
    128KiB:ompi_basic_linear 1MiB:ompi_binomial 4MiB:ompi_basic_linear
intelmpi scatter 1 17 ompi_basic_linear 128KiB:ompi_binomial 256KiB:ompi_basic_linear 1MiB:ompi_binomial
intelmpi scatter 1 33 ompi_binomial 64:ompi_basic_linear 128KiB:ompi_binomial 256KiB:ompi_basic_linear
    1MiB:ompi_binomial
intelmpi scatter 2 2 ompi_binomial 8KiB:ompi_basic_linear
intelmpi scatter 2 5 mvapich2_two_level_direct 1KiB:ompi_basic_linear
intelmpi scatter 2 9 mvapich2_two_level_direct 4KiB:ompi_basic_linear
intelmpi scatter 2 33 mvapich2_two_level_direct 16KiB:ompi_basic_linear
intelmpi scatter 2 65 ompi_binomial 32:mvapich2_two_level_binomial 256:mvapich2_two_level_direct
    32KiB:ompi_basic_linear
intelmpi scatter 4 4 ompi_basic_linear
intelmpi scatter 4 9 ompi_basic_linear 256:ompi_binomial 2KiB:ompi_basic_linear
intelmpi scatter 4 17 ompi_basic_linear 256:ompi_binomial 512:ompi_basic_linear
intelmpi scatter 4 33 ompi_binomial 256:ompi_basic_linear
intelmpi scatter 8 8 ompi_binomial 4KiB:ompi_basic_linear
intelmpi scatter 8 65 ompi_binomial 1KiB:ompi_basic_linear
intelmpi scatter 16 16 ompi_binomial 2KiB:ompi_basic_linear
intelmpi scatter 16 17 ompi_binomial 1KiB:ompi_basic_linear
intelmpi scatter 16 33 ompi_binomial 256:mvapich2_two_level_direct 2KiB:ompi_basic_linear
intelmpi scatter 16 65 ompi_binomial 256:mvapich2_two_level_direct 4KiB:ompi_basic_linear
intelmpi barrier 1 2 ompi_recursivedoubling
intelmpi barrier 1 3 default
intelmpi barrier 1 5 ompi_basic_linear
intelmpi barrier 1 9 ompi_recursivedoubling
intelmpi barrier 1 65 default
intelmpi barrier 2 2 ompi_basic_linear
intelmpi barrier 2 5 default
intelmpi barrier 2 9 ompi_recursivedoubling
intelmpi barrier 2 33 ompi_basic_linear
intelmpi barrier 4 4 ompi_recursivedoubling
intelmpi barrier 4 5 default
intelmpi barrier 4 9 ompi_recursivedoubling
intelmpi barrier 8 8 ompi_basic_linear
intelmpi barrier 8 9 ompi_recursivedoubling
"""
