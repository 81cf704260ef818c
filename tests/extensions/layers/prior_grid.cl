// Boxes of several sizes around the center of each cell, in parts of the image: only the shapes of the inputs matter.
__kernel void prior_grid(const __global INPUT0_TYPE* cells, const __global INPUT1_TYPE* image, __global OUTPUT0_TYPE* out) {
  const uint x = get_global_id(0), y = get_global_id(1), count = OUTPUT0_DIMS[1] / (INPUT0_DIMS[2] * INPUT0_DIMS[3]);
  const float cx = (x + 0.5f) / INPUT0_DIMS[3], cy = (y + 0.5f) / INPUT0_DIMS[2];
  for (uint k = 0; k < count; ++k) {
    const float w = SIZES[k] / INPUT1_DIMS[3] / 2, h = SIZES[k] / INPUT1_DIMS[2] / 2;
    const uint box = ((y * INPUT0_DIMS[3] + x) * count + k) * 4;
    out[box] = cx - w, out[box + 1] = cy - h, out[box + 2] = cx + w, out[box + 3] = cy + h;
  }
}
