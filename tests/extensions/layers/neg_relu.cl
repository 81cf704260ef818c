__kernel void neg_relu(const __global INPUT0_TYPE* in, __global OUTPUT0_TYPE* out) {
  const uint x = get_global_id(0), y = get_global_id(1), bf = get_global_id(2);
  const uint b = bf / INPUT0_DIMS[1], f = bf % INPUT0_DIMS[1];
  const uint i = b * INPUT0_PITCHES[0] + f * INPUT0_PITCHES[1] + y * INPUT0_PITCHES[2] + x * INPUT0_PITCHES[3];
  out[i] = in[i] < 0 ? in[i] * neg_slope : in[i];
}
