// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <thread>

namespace stretto {

/// A thread that handles none of the program's signals.
std::thread start_helper_thread(const char* name, std::function<void()> body);

}  // namespace stretto
