// Spreads the elements of each cell of stride x stride over as many channels, as Darknet numbers them.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

__kernel void reorg(const __global half* restrict src, __global half* restrict dst, int w, int h, int c, int stride) {
  const int x = get_global_id(0), y = get_global_id(1), f = get_global_id(2);
  const int planes = c / (stride * stride), place = f / planes;
  const int from_x = x * stride + place % stride, from_y = y * stride + place / stride;
  dst[(f * h + y) * w + x] = src[(f % planes * h * stride + from_y) * w * stride + from_x];
}
