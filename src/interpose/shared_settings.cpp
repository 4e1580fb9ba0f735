// SPDX-License-Identifier: Apache-2.0
#include "interpose/shared_settings.hpp"

#include <unistd.h>

#include <utility>

#include "interpose/session.hpp"
#include "select/library_name.hpp"
#include "select/table_file.hpp"
#include "text/json_reader.hpp"

namespace stretto {
namespace {

/// Rank 0's text, on all ranks.
void share(std::string& text) {
  int length = static_cast<int>(text.size());
  mpi.Bcast(&length, 1, MPI_INT, 0, mpi.comm_world);
  text.resize(static_cast<std::size_t>(length));
  if (length > 0) mpi.Bcast(text.data(), length, MPI_CHAR, 0, mpi.comm_world);
}

TableFile share_table_file(const Settings& settings, const std::string& library) {
  TableFile file;
  if (session.world_rank == 0) {
    const auto name = parse_library_name(library);
    file = read_table_file(settings.table_file, name ? name->family : "");
  }
  // A job that learns may make it.
  if (settings.online && file.is_missing) file.path.clear();
  share(file.path);
  if (file.path.empty()) return file;
  share(file.error);
  share(file.text);
  return file;
}

}  // namespace

Settings share_settings() {
  std::string text;
  if (session.world_rank == 0) text = settings_text(environ);
  share(text);
  return parse_settings(text);
}

void share_table(Settings& settings, const std::string& library) {
  TableFile file = share_table_file(settings, library);
  if (file.path.empty()) return;
  const std::string name = (settings.table_file.empty() ? "" : "STRETTO_TABLE=") + file.path;
  const auto refuse = [&](const std::string& error) {
    settings.complaints.push_back({name, error, "the built-in rule is used"});
  };
  if (!file.error.empty()) return refuse(file.error);
  try {
    Table table = parse_table(file.text);
    const TableFit fit = find_fit(table, library);
    if (fit.is_refused) return refuse(fit.remark);
    if (!fit.remark.empty()) complain_once_on_rank_0(name + ": " + fit.remark + "; it is used all the same");
    session.table = std::move(table);
    session.table_path = std::move(file.path);
  } catch (const FormatError& error) {
    refuse(error.what());
  }
}

}  // namespace stretto
