// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "interpose/call_traits.hpp"
#include "interpose/clock.hpp"
#include "interpose/progress.hpp"
#include "interpose/statistics.hpp"

namespace stretto {

/// Lives while the library carries a call out, which may wait there, and counts it. Of a call that is not
/// blocking only the start is seen.
class NativeCall {
 public:
  explicit NativeCall(const Form& form) : form_(form), began_(form.counted ? seconds_now() : 0) {}
  NativeCall(const NativeCall&) = delete;
  NativeCall& operator=(const NativeCall&) = delete;
  ~NativeCall() {
    if (form_.counted) {
      record_call(form_.counted->collective, form_.counted->bytes, Spec{}, seconds_now() - began_);
    }
  }

 private:
  const Form& form_;
  double began_;
  WaitingElsewhere elsewhere_;
};

}  // namespace stretto
