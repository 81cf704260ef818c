"""Crop from the center, as HED was trained with; Caffe's layer of today crops from the top-left corner."""
import graft


class CropLayer:
    def __init__(self, params, blobs):
        self.top = self.left = self.bottom = self.right = 0

    def getMemoryShapes(self, inputs):
        (batch, channels, height, width), like = inputs
        self.top, self.left = (height - like[2]) // 2, (width - like[3]) // 2
        self.bottom, self.right = self.top + like[2], self.left + like[3]
        return [[batch, channels, like[2], like[3]]]

    def forward(self, inputs):
        return [inputs[0][:, :, self.top:self.bottom, self.left:self.right]]


graft.register_layer("Crop", CropLayer)
