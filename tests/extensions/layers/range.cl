// The smallest and the largest element of each channel.
__kernel void range(const __global INPUT0_TYPE* in, __global OUTPUT0_TYPE* smallest, __global OUTPUT1_TYPE* largest) {
  const uint f = get_global_id(0), b = get_global_id(1);
  float low = INFINITY, high = -INFINITY;
  for (uint y = 0; y < INPUT0_DIMS[2]; ++y)
    for (uint x = 0; x < INPUT0_DIMS[3]; ++x) {
      const float v = in[b * INPUT0_PITCHES[0] + f * INPUT0_PITCHES[1] + y * INPUT0_PITCHES[2] + x * INPUT0_PITCHES[3]];
      low = fmin(low, v), high = fmax(high, v);
    }
  smallest[b * OUTPUT0_PITCHES[0] + f * OUTPUT0_PITCHES[1]] = low;
  largest[b * OUTPUT1_PITCHES[0] + f * OUTPUT1_PITCHES[1]] = high;
}
