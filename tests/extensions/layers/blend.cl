__kernel void blend(const __global INPUT0_TYPE* first, const __global INPUT1_TYPE* second, __global OUTPUT0_TYPE* out) {
  const uint i = get_global_id(0);
  out[i] = WEIGHT * first[i] + (1 - WEIGHT) * second[i];
}
