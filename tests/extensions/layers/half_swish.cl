// Elements are stored as half and computed as float, so that the device needs no half arithmetic.
__kernel void half_swish(const __global INPUT0_TYPE* in, __global OUTPUT0_TYPE* out) {
  const uint i = get_global_id(0);
  const float v = vload_half(i, in);
  vstore_half(v / (1 + exp(-v)), i, out);
}
