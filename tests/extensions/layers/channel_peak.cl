// The largest channel of each pixel. In BYXF the channels of a pixel are neighbors.
__kernel void channel_peak(const __global INPUT0_TYPE* in, __global OUTPUT0_TYPE* out) {
#if !defined(INPUT0_FORMAT_BYXF)
#error expected channels last
#endif
  const uint x = get_global_id(0), y = get_global_id(1), b = get_global_id(2);
  const __global INPUT0_TYPE* pixel = in + ((b * INPUT0_DIMS[2] + y) * INPUT0_DIMS[3] + x) * INPUT0_DIMS[1];
  float best = pixel[0];
  for (uint f = 1; f < INPUT0_DIMS[1]; ++f) best = fmax(best, pixel[f]);
  out[b * OUTPUT0_PITCHES[0] + y * OUTPUT0_PITCHES[2] + x * OUTPUT0_PITCHES[3]] = best;
}
