// DLPack's records (version 0.8), as far as tensors on the CPU need them.
#pragma once

#include <cstdint>

extern "C" {

typedef struct {
  int32_t device_type;  // 1: CPU
  int32_t device_id;
} DLDevice;

typedef struct {
  uint8_t code;  // 0 signed, 1 unsigned, 2 float, 4 bfloat, 6 boolean
  uint8_t bits;
  uint16_t lanes;
} DLDataType;

typedef struct {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null: dense and row-major
  uint64_t byte_offset;
} DLTensor;

typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(struct DLManagedTensor* self);
} DLManagedTensor;
}
