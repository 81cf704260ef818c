// Each pixel is divided by the norm of its channels.
__kernel void grn(const __global INPUT0_TYPE* in, __global OUTPUT0_TYPE* out) {
  const uint x = get_global_id(0), y = get_global_id(1), b = get_global_id(2);
  const uint start = b * INPUT0_PITCHES[0] + y * INPUT0_PITCHES[2] + x * INPUT0_PITCHES[3];
  float sum = BIAS;
  for (uint f = 0; f < INPUT0_DIMS[1]; ++f) sum += in[start + f * INPUT0_PITCHES[1]] * in[start + f * INPUT0_PITCHES[1]];
  for (uint f = 0; f < INPUT0_DIMS[1]; ++f)
    out[start + f * INPUT0_PITCHES[1]] = in[start + f * INPUT0_PITCHES[1]] / sqrt(sum);
}
