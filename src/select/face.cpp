// SPDX-License-Identifier: Apache-2.0
#include "select/face.hpp"

namespace stretto {

std::string name_of(Collective collective, Face face) {
  std::string name(name_of(collective));
  switch (face) {
    case Face::blocking:
      break;
    case Face::non_blocking:
      return 'i' + name;
    case Face::persistent:
      return name + "_init";
  }
  return name;
}

std::optional<NamedCall> find_call(std::string_view name) {
  for (const Collective collective : collectives) {
    for (const Face face : faces) {
      if (name == name_of(collective, face)) return NamedCall{collective, face};
    }
  }
  return std::nullopt;
}

}  // namespace stretto
