// A group of 8 items computes the mean of one row in local memory.
__kernel __attribute__((reqd_work_group_size(8, 1, 1)))
void row_mean(const __global INPUT0_TYPE* in, __global OUTPUT0_TYPE* out) {
  __local float part[8];
  const uint item = get_local_id(0), y = get_global_id(1), bf = get_global_id(2);
  const uint b = bf / INPUT0_DIMS[1], f = bf % INPUT0_DIMS[1];
  const uint row = b * INPUT0_PITCHES[0] + f * INPUT0_PITCHES[1] + y * INPUT0_PITCHES[2];
  float sum = 0;
  for (uint x = item; x < INPUT0_DIMS[3]; x += LOCAL_WORKSIZE[0]) sum += in[row + x * INPUT0_PITCHES[3]];
  part[item] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (item) return;
  for (uint i = 1; i < 8; ++i) sum += part[i];
  out[b * OUTPUT0_PITCHES[0] + f * OUTPUT0_PITCHES[1] + y * OUTPUT0_PITCHES[2]] = sum / INPUT0_DIMS[3];
}
