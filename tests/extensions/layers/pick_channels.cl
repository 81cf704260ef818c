__kernel void pick_channels(const __global INPUT0_TYPE* in, __global OUTPUT0_TYPE* out) {
  const uint x = get_global_id(0), y = get_global_id(1), bf = get_global_id(2);
  const uint b = bf / OUTPUT0_DIMS[1], f = bf % OUTPUT0_DIMS[1];
  out[b * OUTPUT0_PITCHES[0] + f * OUTPUT0_PITCHES[1] + y * OUTPUT0_PITCHES[2] + x * OUTPUT0_PITCHES[3]] =
      in[b * INPUT0_PITCHES[0] + ORDER[f] * INPUT0_PITCHES[1] + y * INPUT0_PITCHES[2] + x * INPUT0_PITCHES[3]];
}
