// SPDX-License-Identifier: Apache-2.0
#include "select/form.hpp"

namespace stretto {

std::string name_of(Collective collective, Form form) {
  std::string name(name_of(collective));
  switch (form) {
    case Form::blocking:
      break;
    case Form::non_blocking:
      return 'i' + name;
    case Form::persistent:
      return name + "_init";
  }
  return name;
}

std::optional<NamedCall> find_call(std::string_view name) {
  for (const Collective collective : collectives) {
    for (const Form form : forms) {
      if (name == name_of(collective, form)) return NamedCall{collective, form};
    }
  }
  return std::nullopt;
}

}  // namespace stretto
