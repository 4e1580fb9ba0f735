// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "learn/fabrics/fabric.hpp"

namespace stretto {

/// Returns the path of a fabric's file: $STRETTO_CACHE/fabrics/NAME.json, or a path below
/// $XDG_CACHE_HOME/stretto or $HOME/.cache/stretto. Returns "" if none of these variables is set, or if HOME
/// is needed and does not exist.
std::string fabric_path(const FabricIdentity& identity);

/// Reads the file. If there is none, the fabric is empty. If it cannot be used, the fabric is empty as well,
/// and `error` says why in one line.
Fabric read_fabric(const std::string& path, const FabricIdentity& identity, std::string& error);

/// Adds a job's findings to the file, which other jobs may have changed meanwhile. Creates the file if there
/// is none, and replaces it if it cannot be read. Returns why that failed, or "" if it did not.
std::string add_to_fabric(const std::string& path, const Fabric& found);

}  // namespace stretto
