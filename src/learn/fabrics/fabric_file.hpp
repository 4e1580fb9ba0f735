// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "learn/fabrics/fabric.hpp"

namespace stretto {

/// The file of a fabric: $STRETTO_CACHE/fabrics/NAME.json, below $XDG_CACHE_HOME/stretto or below
/// $HOME/.cache/stretto. Empty if none of these is set, or if HOME is needed and does not exist.
std::string fabric_path(const FabricIdentity& identity);

/// What the file says. If there is none, nothing is known. If it cannot be used, nothing is known either, and
/// `error` says why in one line.
Fabric read_fabric(const std::string& path, const FabricIdentity& identity, std::string& error);

/// Adds what a job has found to the file, which other jobs may have changed meanwhile; creates it if there is
/// none. Replaces a file that cannot be read. Returns why that failed; empty if it did not.
std::string add_to_fabric(const std::string& path, const Fabric& found);

}  // namespace stretto
