// Divides each element by the norm over the channels. A work group computes one line of all channels, in local memory.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

__kernel void __dma_preload_grn(const __global half* restrict src, __global half* restrict dst, __local half* restrict in,
                                __local half* restrict out, int channels, float bias) {
  const size_t line = get_local_size(0) * sizeof(half), plane = line * get_num_groups(1);
  WorkGroupDmaCreateStrideTransaction(src + get_group_id(1) * get_local_size(0), in, line, line, plane, line,
                                      line * channels, 0);
}

__kernel void __dma_postwrite_grn(const __global half* restrict src, __global half* restrict dst,
                                  __local half* restrict in, __local half* restrict out, int channels, float bias) {
  const size_t line = get_local_size(0) * sizeof(half), plane = line * get_num_groups(1);
  WorkGroupDmaCreateStrideTransaction(out, dst + get_group_id(1) * get_local_size(0), line, line, line, plane,
                                      line * channels, 0);
}

__kernel void grn(const __global half* restrict src, __global half* restrict dst, __local half* restrict in,
                  __local half* restrict out, int channels, float bias) {
  const int x = get_local_id(0), w = get_local_size(0);
  float sum = bias;
  for (int c = 0; c < channels; ++c) sum += (float)in[c * w + x] * (float)in[c * w + x];
  const half scale = (half)rsqrt(sum);
  for (int c = 0; c < channels; ++c) out[c * w + x] = in[c * w + x] * scale;
}
