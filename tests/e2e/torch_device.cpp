// SPDX-License-Identifier: Apache-2.0
// A device for PyTorch (PrivateUse1) whose memory is the stand-in driver's. The processor cannot access this
// memory; only the driver copies it. The processor carries out PyTorch's operations on tensors by another
// mapping of the memory: at once or, in a stream of the driver, later.
#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <dlfcn.h>
#include <torch/library.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace {

constexpr auto kind = c10::DeviceType::PrivateUse1;

template <typename Function>
Function of_driver(const char* name) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  void* const function = driver == nullptr ? nullptr : dlsym(driver, name);
  if (function == nullptr) throw std::runtime_error(std::string("the stand-in driver has no ") + name);
  return reinterpret_cast<Function>(function);
}

/// The number of streams. Stream 0 is the default one, whose handle of the driver is null.
constexpr std::size_t streams = 4;
void* handle(c10::StreamId id) {
  static std::array<void*, streams> handles{};
  void*& its = handles.at(static_cast<std::size_t>(id));
  if (its == nullptr && id != 0) its = of_driver<void* (*)()>("stand_in_stream")();
  return its;
}
thread_local c10::StreamId current = 0;
std::atomic<int> waits{0};

c10::Device device() {
  return {kind, 0};
}

c10::Stream stream_of(c10::StreamId id) {
  return c10::Stream(c10::Stream::UNSAFE, device(), id);
}

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return kind; }
  c10::Device exchangeDevice(c10::Device) const override { return device(); }
  c10::Device getDevice() const override { return device(); }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }
  c10::Stream getStream(c10::Device) const override { return stream_of(current); }
  c10::Stream getDefaultStream(c10::Device) const override { return stream_of(0); }
  c10::Stream getStreamFromGlobalPool(c10::Device, bool) const override { return stream_of(streams - 1); }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    return stream_of(std::exchange(current, stream.id()));
  }
  void* getStreamNativeHandle(const c10::Stream stream) const override { return handle(stream.id()); }
  void synchronizeStream(const c10::Stream& stream) const override {
    if (stream.id() == 0) ++waits;  // for all operations that the program has put there
  }
  // Only operations that a test puts into a stream by set_later() are late.
  void record(void**, const c10::Stream&, const c10::DeviceIndex, const c10::EventFlag) const override {}
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  void destroyEvent(void*, const c10::DeviceIndex) const noexcept override {}
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

struct Hooks final : at::PrivateUse1HooksInterface {
  void init() const override {}
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
};

std::atomic<bool> is_foreign{false};
/// Whether an MPI library could read the memory, as libraries that support device memory do.
const bool is_open = std::getenv("STANDIN_OPEN") != nullptr;

struct Allocator final : c10::Allocator {
  c10::DataPtr allocate(std::size_t bytes) override {
    if (bytes == 0) return {nullptr, device()};
    if (is_foreign) {
      void* const data = std::calloc(1, bytes);
      return {data, data, &std::free, device()};
    }
    void* const data =
        of_driver<void* (*)(std::size_t)>(is_open ? "stand_in_allocate_open" : "stand_in_allocate")(bytes);
    return {data, data, &release, device()};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void*, const void*, std::size_t) const override {
    throw std::runtime_error("this device does not copy so");
  }

  static void release(void* data) { of_driver<void (*)(void*)>("stand_in_free")(data); }
};
Allocator allocator;
REGISTER_ALLOCATOR(kind, &allocator);

/// Returns a tensor of the same elements in the mapping that the processor can access.
at::Tensor reached(const at::Tensor& tensor) {
  if (tensor.device().type() != kind) return tensor;
  const auto options = at::TensorOptions().dtype(tensor.dtype());
  if (tensor.numel() == 0) return at::empty(tensor.sizes(), options);
  char* const data = of_driver<char* (*)(void*)>("stand_in_reach")(tensor.data_ptr());
  return at::from_blob(data == nullptr ? tensor.data_ptr() : data, tensor.sizes(), tensor.strides(), options);
}

at::Tensor empty(c10::IntArrayRef size, std::optional<at::ScalarType> type, std::optional<at::Layout>,
                 std::optional<at::Device>, std::optional<bool>, std::optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(size, &allocator, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                   c10::dtype_or_default(type), format);
}

at::Tensor empty_strided(c10::IntArrayRef size, c10::IntArrayRef stride, std::optional<at::ScalarType> type,
                         std::optional<at::Layout>, std::optional<at::Device>, std::optional<bool>) {
  return at::detail::empty_strided_generic(size, stride, &allocator,
                                           c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                           c10::dtype_or_default(type));
}

at::Tensor copy_from(const at::Tensor& from, const at::Tensor& into, bool) {
  reached(into).copy_(reached(from));
  return into;
}

at::Tensor copy_from_and_resize(const at::Tensor& from, const at::Tensor& into) {
  if (from.sizes() != into.sizes()) {
    at::TensorImpl& its = *into.unsafeGetTensorImpl();
    its.set_storage_and_dtype(at::empty(from.sizes(), into.options()).storage(), into.dtype());
    its.set_sizes_contiguous(from.sizes());
  }
  return copy_from(from, into, false);
}

at::Tensor as_strided(const at::Tensor& of, c10::SymIntArrayRef size, c10::SymIntArrayRef stride,
                      std::optional<c10::SymInt> offset) {
  return at::native::as_strided_tensorimpl(
      of, C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride),
      offset ? std::optional<int64_t>(offset->expect_int()) : std::nullopt);
}

at::Tensor view(const at::Tensor& of, c10::SymIntArrayRef size) {
  return at::native::view(of, C10_AS_INTARRAYREF_SLOW(size));
}

void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  at::native::cpu_fallback(op, stack);
}

}  // namespace

const bool has_hooks = [] {
  at::RegisterPrivateUse1HooksInterface(new Hooks);
  return true;
}();

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("empty.memory_format", &empty);
  library.impl("empty_strided", &empty_strided);
  library.impl("_copy_from", &copy_from);
  library.impl("_copy_from_and_resize", &copy_from_and_resize);
  library.impl("as_strided", &as_strided);
  library.impl("view", &view);
  library.impl("view_as_real", &at::native::view_as_real);
}
TORCH_LIBRARY_IMPL(_, PrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>());
}

// For the test, by ctypes.
#define VISIBLE extern "C" __attribute__((visibility("default")))
/// Makes a stream the current one of this thread.
VISIBLE void standin_use_stream(int id) {
  current = id;
}
/// After some time, the current stream sets bytes of a tensor.
VISIBLE void standin_set_later(void* data, int value, std::size_t bytes, int milliseconds) {
  of_driver<void (*)(void*, void*, int, std::size_t, int)>("stand_in_set_later")(handle(current), data, value,
                                                                                 bytes, milliseconds);
}
/// Puts tensors, from now on, into memory that the driver does not know, as on another vendor's device. 0
/// ends this.
VISIBLE void standin_be_foreign(int foreign) {
  is_foreign = foreign != 0;
}
/// Returns how often a thread waited for all operations of the default stream.
VISIBLE int standin_waits() {
  return waits;
}
