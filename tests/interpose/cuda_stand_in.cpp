// SPDX-License-Identifier: Apache-2.0
// A stand-in for the CUDA driver (libcuda.so.1). A program that accesses its "device memory" crashes. Only
// the driver's copies can access it, by a second mapping.
//
// A thread for each stream does asynchronous copies, late, and in the order of the stream. Copies of two
// streams end in any order. A copy takes the time of its bytes at the rate that is set. Copies in one
// direction are done one after the other, as by the two copy engines of a device. Tests can make every call
// fail, and a context be lost. Any use of an object that does not belong to the current context is an error,
// and a use after a fork ends the process.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr int success = 0;
constexpr int invalid_value = 1;
constexpr int out_of_memory = 2;
constexpr int invalid_context = 201;
constexpr int not_ready = 600;
constexpr int launch_failed = 719;

struct Context {
  std::atomic<bool> is_lost{false};
};

enum class Memory { plain, managed, pooled, open };
struct Area {
  std::size_t bytes;
  char* reachable;
  Context* context = nullptr;
  Memory memory = Memory::plain;
};

/// Never destroyed: the threads of streams go on to the end of the process.
struct State {
  std::mutex mutex;
  std::map<std::uintptr_t, Area> areas;
  std::map<std::uintptr_t, std::size_t> pinned;
  std::array<Context, 2> contexts;
  std::array<Clock::time_point, 2> free_at{};  // of each direction's engine
  std::atomic<double> bytes_per_second{0};     // 0: as fast as possible
  std::atomic<bool> is_late{false};
  std::atomic<int> copies{0};
  std::atomic<int> copies_under_way{0};
  std::atomic<int> unpinned_copies{0};
  std::atomic<int> calls{0};
  std::atomic<int> failing_call{0};  // its number; 0: none
  pid_t process = getpid();
};
State& state() {
  static auto& its = *new State;
  return its;
}

thread_local std::vector<Context*> current;

/// To be called at the beginning of each function. Returns an error if it is to fail.
int enter() {
  if (getpid() != state().process) std::abort();
  return ++state().calls == state().failing_call ? launch_failed : success;
}

#define ENTER() \
  if (const int error = enter(); error != success) return error

/// Returns where the processor can access `address`; nullptr if these bytes are not device memory.
char* reach(std::uint64_t address, std::size_t bytes, Area* found = nullptr) {
  const std::lock_guard lock(state().mutex);
  auto after = state().areas.upper_bound(address);
  if (after == state().areas.begin()) return nullptr;
  const auto& [start, area] = *--after;
  if (found != nullptr) *found = area;
  return address + bytes <= start + area.bytes ? area.reachable + (address - start) : nullptr;
}

int check_current() {
  if (current.empty()) return invalid_context;
  return current.back()->is_lost ? launch_failed : success;
}

/// Waits as long as the engine of a direction takes for so many bytes.
void take_time(std::size_t direction, std::size_t bytes) {
  const double rate = state().bytes_per_second;
  if (state().is_late) std::this_thread::sleep_for(std::chrono::microseconds(std::rand() % 50));
  if (rate <= 0) return;
  Clock::time_point end;
  {
    const std::lock_guard lock(state().mutex);
    Clock::time_point& free_at = state().free_at.at(direction);
    free_at = std::max(free_at, Clock::now()) +
              std::chrono::duration_cast<Clock::duration>(
                  std::chrono::duration<double>(static_cast<double>(bytes) / rate));
    end = free_at;
  }
  std::this_thread::sleep_until(end);
}

struct Stream {
  explicit Stream(Context* its) : context(its), thread([this] { work(); }) { thread.detach(); }

  void add(std::function<void()> task) {
    const std::lock_guard lock(mutex);
    tasks.push_back(std::move(task));
    changed.notify_one();
  }

  void work() {
    for (;;) {
      std::function<void()> task;
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return !tasks.empty(); });
        task = std::move(tasks.front());
        tasks.pop_front();
      }
      task();
    }
  }

  Context* context;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> tasks;
  std::thread thread;
};

struct Event {
  Context* context;
  std::atomic<unsigned> recorded{0};
  std::atomic<unsigned> reached{0};
};

/// The default streams of contexts, which programs use.
Stream* default_stream(Context* context) {
  static std::mutex mutex;
  static auto& all = *new std::map<Context*, Stream*>;
  const std::lock_guard lock(mutex);
  Stream*& its = all[context];
  if (its == nullptr) its = new Stream(context);
  return its;
}

Stream* find_stream(void* handle) {
  if (handle == nullptr || handle == reinterpret_cast<void*>(1)) return default_stream(current.back());
  return static_cast<Stream*>(handle);
}

bool is_pinned(const void* host, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(host);
  const std::lock_guard lock(state().mutex);
  auto after = state().pinned.upper_bound(address);
  if (after == state().pinned.begin()) return false;
  const auto& [start, size] = *--after;
  return address + bytes <= start + size;
}

/// Copies bytes, the latter half first.
void move(char* into, const char* from, std::size_t bytes) {
  const std::size_t half = bytes / 2;
  std::memcpy(into + half, from + half, bytes - half);
  std::memcpy(into, from, half);
}

struct Rows {
  struct End {
    std::size_t x, y;
    unsigned memory_type;
    void* host;
    std::uint64_t device;
    void* array;
    std::size_t pitch;
  };
  End from, to;
  std::size_t width, height;
};

/// Makes a copy in the default stream. If the source is not pinned memory, this returns when the driver has
/// the bytes, and the device gets them later, as the driver's documentation says.
int copy(void* into, const void* from, std::size_t bytes, std::size_t direction) {
  if (into == nullptr || from == nullptr) return invalid_value;
  if (const int error = check_current(); error != success) return error;
  struct Task {
    std::vector<char> bytes;
    std::atomic<bool> has_ended{false};
  };
  const auto task = std::make_shared<Task>();
  const bool returns_before = direction == 1 && !is_pinned(from, bytes);
  const auto* source = static_cast<const char*>(from);
  if (returns_before) {
    task->bytes.assign(source, source + bytes);
    source = task->bytes.data();
  }
  default_stream(current.back())->add([=] {
    take_time(direction, bytes);
    std::memcpy(into, source, bytes);
    ++state().copies;
    task->has_ended = true;
  });
  while (!returns_before && !task->has_ended) std::this_thread::sleep_for(std::chrono::microseconds(5));
  return success;
}

/// Adds a copy of rows to a stream.
int copy_later(char* into, const char* from, std::size_t direction, std::size_t width, std::size_t height,
               std::size_t into_pitch, std::size_t from_pitch, void* handle) {
  if (into == nullptr || from == nullptr || width == 0) return invalid_value;
  if (const int error = check_current(); error != success) return error;
  Stream* stream = find_stream(handle);
  if (stream->context != current.back()) return invalid_context;
  char* const host = direction == 0 ? into : const_cast<char*>(from);
  if (!is_pinned(host, width)) ++state().unpinned_copies;
  ++state().copies_under_way;
  stream->add([=, context = stream->context] {
    take_time(direction, width * height);
    for (std::size_t row = 0; row < height && !context->is_lost; ++row)
      move(into + row * into_pitch, from + row * from_pitch, width);
    ++state().copies;
    --state().copies_under_way;
  });
  return success;
}

void* allocate(std::size_t bytes, Context* context, Memory memory) {
  const int file = memfd_create("device memory", 0);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) return nullptr;
  const bool is_open = memory == Memory::managed || memory == Memory::open;
  const int access = is_open ? PROT_READ | PROT_WRITE : PROT_NONE;
  void* device = mmap(nullptr, bytes, access, MAP_SHARED, file, 0);
  void* reachable = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (device == MAP_FAILED || reachable == MAP_FAILED) return nullptr;
  const std::lock_guard lock(state().mutex);
  state().areas[reinterpret_cast<std::uintptr_t>(device)] = {bytes, static_cast<char*>(reachable), context,
                                                             memory};
  return device;
}

/// Returns whether there was something to free.
bool release(void* device) {
  const std::lock_guard lock(state().mutex);
  const auto found = state().areas.find(reinterpret_cast<std::uintptr_t>(device));
  if (found == state().areas.end()) return false;
  munmap(device, found->second.bytes);
  munmap(found->second.reachable, found->second.bytes);
  state().areas.erase(found);
  return true;
}

}  // namespace

#define VISIBLE extern "C" __attribute__((visibility("default")))

/// For memory that the stand-in does not know, this returns the same as a GPU's driver: no error, type 0,
/// device -2.
VISIBLE int cuPointerGetAttributes(unsigned number, const int* attributes, void** values,
                                   std::uint64_t address) {
  ENTER();
  Area area{};
  const bool is_known = reach(address, 1, &area) != nullptr;
  void* context = area.memory == Memory::pooled ? nullptr : area.context;
  const unsigned type = is_known ? 2 : 0;
  const unsigned managed = area.memory == Memory::managed ? 1 : 0;
  const int ordinal = is_known ? static_cast<int>(area.context - state().contexts.data()) : -2;
  for (unsigned i = 0; i < number; ++i) {
    switch (attributes[i]) {
      case 1:
        std::memcpy(values[i], static_cast<const void*>(&context), sizeof(context));
        break;
      case 2:
        std::memcpy(values[i], &type, sizeof(type));
        break;
      case 8:
        std::memcpy(values[i], &managed, sizeof(managed));
        break;
      case 9:
        std::memcpy(values[i], &ordinal, sizeof(ordinal));
        break;
      default:
        return invalid_value;
    }
  }
  return success;
}
VISIBLE int cuInit(unsigned /*flags*/) {
  ENTER();
  return success;
}
VISIBLE int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
  ENTER();
  if (const int error = check_current(); error != success) return error;
  *address = reinterpret_cast<std::uintptr_t>(allocate(bytes, current.back(), Memory::plain));
  return *address == 0 ? out_of_memory : success;
}
VISIBLE int cuMemFree_v2(std::uint64_t address) {
  ENTER();
  return release(reinterpret_cast<void*>(address)) ? success : invalid_value;
}
VISIBLE int cuMemcpyDtoH_v2(void* into, std::uint64_t from, std::size_t bytes) {
  ENTER();
  return copy(into, reach(from, bytes), bytes, 0);
}
VISIBLE int cuMemcpyHtoD_v2(std::uint64_t into, const void* from, std::size_t bytes) {
  ENTER();
  return copy(reach(into, bytes), from, bytes, 1);
}
VISIBLE int cuCtxPushCurrent_v2(void* which) {
  ENTER();
  for (Context& one : state().contexts) {
    if (which == &one) {
      current.push_back(&one);
      return success;
    }
  }
  return invalid_value;
}
VISIBLE int cuCtxPopCurrent_v2(void** which) {
  if (getpid() != state().process) std::abort();
  if (current.empty()) return invalid_context;
  *which = current.back();
  current.pop_back();
  return success;
}

VISIBLE int cuMemcpyDtoHAsync_v2(void* into, std::uint64_t from, std::size_t bytes, void* stream) {
  ENTER();
  return copy_later(static_cast<char*>(into), reach(from, bytes), 0, bytes, 1, 0, 0, stream);
}
VISIBLE int cuMemcpyHtoDAsync_v2(std::uint64_t into, const void* from, std::size_t bytes, void* stream) {
  ENTER();
  return copy_later(reach(into, bytes), static_cast<const char*>(from), 1, bytes, 1, 0, 0, stream);
}
VISIBLE int cuMemcpy2DAsync_v2(const Rows* rows, void* stream) {
  ENTER();
  if (rows->width > rows->from.pitch || rows->width > rows->to.pitch) return invalid_value;
  const bool to_host = rows->to.memory_type == 1;
  const auto end = [&](const Rows::End& one) {
    const std::size_t bytes = one.pitch * (rows->height - 1) + rows->width;
    return one.memory_type == 1 ? static_cast<char*>(one.host) : reach(one.device, bytes);
  };
  return copy_later(end(rows->to), end(rows->from), to_host ? 0 : 1, rows->width, rows->height,
                    rows->to.pitch, rows->from.pitch, stream);
}
VISIBLE int cuStreamCreateWithPriority(void** stream, unsigned /*flags*/, int /*priority*/) {
  ENTER();
  if (const int error = check_current(); error != success) return error;
  *stream = new Stream(current.back());
  return success;
}
VISIBLE int cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  ENTER();
  *least = 0;
  *greatest = -5;
  return check_current();
}
VISIBLE int cuStreamGetCtx(void* stream, void** context) {
  ENTER();
  *context = static_cast<Stream*>(stream)->context;
  return success;
}
VISIBLE int cuEventCreate(void** event, unsigned /*flags*/) {
  ENTER();
  if (const int error = check_current(); error != success) return error;
  *event = new Event{.context = current.back()};
  return success;
}
VISIBLE int cuEventRecord(void* handle, void* stream_handle) {
  ENTER();
  if (const int error = check_current(); error != success) return error;
  auto* event = static_cast<Event*>(handle);
  Stream* stream = find_stream(stream_handle);
  if (event->context != stream->context || stream->context != current.back()) return invalid_context;
  const unsigned number = ++event->recorded;
  stream->add([event, number] { event->reached = number; });
  return success;
}
VISIBLE int cuEventQuery(void* handle) {
  ENTER();
  if (const int error = check_current(); error != success) return error;
  auto* event = static_cast<Event*>(handle);
  if (event->context != current.back()) return invalid_context;
  return event->recorded == event->reached ? success : not_ready;
}
VISIBLE int cuMemHostRegister_v2(void* host, std::size_t bytes, unsigned /*flags*/) {
  ENTER();
  if (const int error = check_current(); error != success) return error;
  const std::lock_guard lock(state().mutex);
  state().pinned[reinterpret_cast<std::uintptr_t>(host)] = bytes;
  return success;
}
VISIBLE int cuMemHostUnregister(void* host) {
  ENTER();
  const std::lock_guard lock(state().mutex);
  return state().pinned.erase(reinterpret_cast<std::uintptr_t>(host)) == 1 ? success : invalid_value;
}
VISIBLE int cuDeviceGet(int* device, int ordinal) {
  ENTER();
  *device = ordinal + 100;
  return success;
}
VISIBLE int cuDevicePrimaryCtxRetain(void** context, int device) {
  ENTER();
  *context = &state().contexts.at(static_cast<std::size_t>(device) - 100);
  return success;
}

// The operations that a program lets a device do.
VISIBLE void* stand_in_stream() {
  return new Stream(state().contexts.data());
}
/// After some time, sets bytes of device memory, in a stream or (nullptr) the default one of the first
/// context.
VISIBLE void stand_in_set_later(void* stream, void* device, int value, std::size_t bytes, int milliseconds) {
  Stream* its = stream == nullptr ? default_stream(state().contexts.data()) : static_cast<Stream*>(stream);
  its->add([=] {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    std::memset(reach(reinterpret_cast<std::uintptr_t>(device), bytes), value, bytes);
  });
}

// For the test itself.
VISIBLE void* stand_in_allocate(std::size_t bytes) {
  return allocate(bytes, state().contexts.data(), Memory::plain);
}
VISIBLE void* stand_in_allocate_elsewhere(std::size_t bytes) {
  return allocate(bytes, &state().contexts.back(), Memory::plain);
}
VISIBLE void* stand_in_allocate_managed(std::size_t bytes) {
  return allocate(bytes, state().contexts.data(), Memory::managed);
}
VISIBLE void* stand_in_allocate_pooled(std::size_t bytes) {
  return allocate(bytes, state().contexts.data(), Memory::pooled);
}
/// Memory of a device that an MPI library can access.
VISIBLE void* stand_in_allocate_open(std::size_t bytes) {
  return allocate(bytes, state().contexts.data(), Memory::open);
}
VISIBLE void stand_in_free(void* device) {
  release(device);
}
VISIBLE char* stand_in_reach(void* device) {
  return reach(reinterpret_cast<std::uintptr_t>(device), 1);
}
VISIBLE int stand_in_copies() {
  return state().copies;
}
VISIBLE int stand_in_copies_under_way() {
  return state().copies_under_way;
}
VISIBLE int stand_in_unpinned_copies() {
  return state().unpinned_copies;
}
VISIBLE int stand_in_pushed() {
  return static_cast<int>(current.size());
}
VISIBLE void stand_in_set_rate(double bytes_per_second) {
  state().bytes_per_second = bytes_per_second;
}
VISIBLE void stand_in_be_late(int is_late) {
  state().is_late = is_late != 0;
}
VISIBLE int stand_in_calls() {
  return state().calls;
}
/// Lets the n-th call from now on fail; 0: none.
VISIBLE void stand_in_fail(int n) {
  state().failing_call = n == 0 ? 0 : state().calls + n;
}
VISIBLE void stand_in_lose_context() {
  state().contexts.front().is_lost = true;
}
