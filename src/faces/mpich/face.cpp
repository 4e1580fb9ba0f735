// SPDX-License-Identifier: Apache-2.0
// The interface of MPICH and Intel MPI: handles are numbers of 32 bits. Functions that take arrays of them
// get copies.
#include "faces/face.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace stretto::faces {
namespace {

/// Whether a handle may be one that the user made. Handles contain the kind of their object, so most handles
/// that were freed or never made are recognized without a call to the MPI library. Such a call would raise an
/// error in a call other than the user's.
bool is_user_handle(RawHandle handle, unsigned object) {
  const auto bits = static_cast<unsigned>(handle);
  constexpr unsigned direct = 2;
  constexpr unsigned indirect = 3;
  const unsigned kind = bits >> 30;
  return (kind == direct || kind == indirect) && ((bits >> 26) & 0xf) == object;
}
bool may_be_communicator(MPI_Comm comm) {
  constexpr unsigned comm_object = 0x1;
  const auto bits = static_cast<unsigned>(to_raw(comm));
  return comm != mpi.comm_null && (bits >> 30) != 0 && ((bits >> 26) & 0xf) == comm_object;
}
constexpr unsigned op_object = 0x6;
constexpr unsigned datatype_object = 0x3;

/// A list of handles for the MPI library. Handles that it changes are copied back.
template <typename Handle, typename Word>
class HandleList {
 public:
  HandleList(int count, Word* words) : words_(words), count_(static_cast<std::size_t>(std::max(count, 0))) {
    if (count_ > short_.size()) long_.resize(count_);
    std::transform(words, words + count_, data(), to_handle<Handle, std::remove_const_t<Word>>);
  }
  HandleList(const HandleList&) = delete;
  HandleList& operator=(const HandleList&) = delete;
  ~HandleList() {
    if constexpr (!std::is_const_v<Word>)
      std::transform(data(), data() + count_, words_, to_word<Word, Handle>);
  }
  [[nodiscard]] Handle* data() { return long_.empty() ? short_.data() : long_.data(); }

 private:
  Word* words_;
  std::size_t count_;
  std::array<Handle, 64> short_;
  std::vector<Handle> long_;
};
using Requests = HandleList<::MPI_Request, MPI_Request>;

::MPI_Status* real(MPI_Status* status) {
  return reinterpret_cast<::MPI_Status*>(status);
}

#define STRETTO_REAL(name) STRETTO_ADAPTED(name)::real

// NOLINTBEGIN(readability-identifier-naming): MPI's names
namespace by_copies {
int Startall(int count, MPI_Request* requests) {
  return STRETTO_REAL(Startall)(count, Requests(count, requests).data());
}
int Testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  return STRETTO_REAL(Testall)(count, Requests(count, requests).data(), flag, real(statuses));
}
int Testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  return STRETTO_REAL(Testany)(count, Requests(count, requests).data(), index, flag, real(status));
}
int Testsome(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  return STRETTO_REAL(Testsome)(count, Requests(count, requests).data(), done, indices, real(statuses));
}
int Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  return STRETTO_REAL(Waitall)(count, Requests(count, requests).data(), real(statuses));
}
int Type_create_struct(int count, const int* lengths, const MPI_Aint* places, const MPI_Datatype* types,
                       MPI_Datatype* datatype) {
  HandleList<::MPI_Datatype, const MPI_Datatype> list(count, types);
  return STRETTO_REAL(Type_create_struct)(count, lengths, places, list.data(),
                                          Argument<::MPI_Datatype*, MPI_Datatype*>(datatype));
}
int Type_get_contents(MPI_Datatype datatype, int integers, int addresses, int datatypes, int* integer,
                      MPI_Aint* address, MPI_Datatype* types) {
  return STRETTO_REAL(Type_get_contents)(to_handle<::MPI_Datatype>(datatype), integers, addresses, datatypes,
                                         integer, address,
                                         HandleList<::MPI_Datatype, MPI_Datatype>(datatypes, types).data());
}
}  // namespace by_copies
// NOLINTEND(readability-identifier-naming)

const char* bind(void* (*find)(const char* symbol)) {
  STRETTO_MPI_FUNCTIONS(STRETTO_BIND)
#define STRETTO_BIND_LIST(name, parameters)                                                 \
  STRETTO_REAL(name) = reinterpret_cast<decltype(STRETTO_REAL(name))>(find("PMPI_" #name)); \
  if (STRETTO_REAL(name) == nullptr) return "PMPI_" #name;                                  \
  mpi.name = by_copies::name;
  STRETTO_MPI_LIST_FUNCTIONS(STRETTO_BIND_LIST)
  STRETTO_MPI_4_FUNCTIONS(STRETTO_BIND_OPTIONAL)
  STRETTO_MPI_TOOL_FUNCTIONS(STRETTO_BIND_OPTIONAL)
  set_constants(Interface::mpich);
  mpi.may_be_communicator = may_be_communicator;
  mpi.may_be_user_op = [](MPI_Op op) { return is_user_handle(to_raw(op), op_object); };
  mpi.may_be_user_datatype = [](MPI_Datatype datatype) {
    return is_user_handle(to_raw(datatype), datatype_object);
  };
  return nullptr;
}

}  // namespace

extern const BindFace mpich = bind;

}  // namespace stretto::faces
