// Pixels of a stride x stride square become channels.
__kernel void reorg(const __global INPUT0_TYPE* in, __global OUTPUT0_TYPE* out) {
  const uint x = get_global_id(0), y = get_global_id(1), bf = get_global_id(2);
  const uint b = bf / OUTPUT0_DIMS[1], f = bf % OUTPUT0_DIMS[1];
  const uint part = f / INPUT0_DIMS[1], c = f % INPUT0_DIMS[1];
  out[b * OUTPUT0_PITCHES[0] + f * OUTPUT0_PITCHES[1] + y * OUTPUT0_PITCHES[2] + x * OUTPUT0_PITCHES[3]] =
      in[b * INPUT0_PITCHES[0] + c * INPUT0_PITCHES[1] + (y * STRIDE + part / STRIDE) * INPUT0_PITCHES[2] +
         (x * STRIDE + part % STRIDE) * INPUT0_PITCHES[3]];
}
