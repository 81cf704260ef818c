"""Whole Caffe architectures with random weights, and what OpenCV computes for every layer of them.

  caffe_models.py OUT [NAME...]              OUT/NAME gets model.prototxt, model.caffemodel, inputs.npz, expected.npz, network.json
  caffe_models.py --model-only OUT [NAME...]  only the model: needs no OpenCV
"""
import json
import os
import sys

import numpy as np

from caffe_net import Net


def alexnet():
    n = Net("AlexNet", 1, [1, 3, 99, 99])
    x = n.relu("relu1", n.conv("conv1", "data", 96, 11, 4))
    x = n.pool("pool1", n.lrn("norm1", x), "MAX", 3, 2)
    x = n.relu("relu2", n.conv("conv2", x, 256, 5, pad=2, group=2))
    x = n.pool("pool2", n.lrn("norm2", x), "MAX", 3, 2)
    x = n.relu("relu3", n.conv("conv3", x, 384, 3, pad=1))
    x = n.relu("relu4", n.conv("conv4", x, 384, 3, pad=1, group=2))
    x = n.relu("relu5", n.conv("conv5", x, 256, 3, pad=1, group=2))
    x = n.pool("pool5", x, "MAX", 3, 2)
    for i in (6, 7):
        x = n.dropout("drop%d" % i, n.relu("relu%d" % i, n.dense("fc%d" % i, x, 4096)))
    n.softmax("prob", n.dense("fc8", x, 1000))
    return n


def googlenet():
    n = Net("GoogLeNet", 2, [1, 3, 224, 224])

    def conv(name, x, out, kernel, stride=1, pad=0):
        head, _, tail = name.rpartition("/")
        return n.relu(head + "/relu_" + tail, n.conv(name, x, out, kernel, stride, pad))

    def inception(name, x, one, reduce3, three, reduce5, five, pool):
        p = "inception_" + name + "/"
        a = conv(p + "1x1", x, one, 1)
        b = conv(p + "3x3", conv(p + "3x3_reduce", x, reduce3, 1), three, 3, pad=1)
        c = conv(p + "5x5", conv(p + "5x5_reduce", x, reduce5, 1), five, 5, pad=2)
        d = conv(p + "pool_proj", n.pool(p + "pool", x, "MAX", 3, 1, 1), pool, 1)
        return n.concat(p + "output", [a, b, c, d])

    x = n.pool("pool1/3x3_s2", conv("conv1/7x7_s2", "data", 64, 7, 2, 3), "MAX", 3, 2)
    x = conv("conv2/3x3_reduce", n.lrn("pool1/norm1", x), 64, 1)
    x = n.lrn("conv2/norm2", conv("conv2/3x3", x, 192, 3, pad=1))
    x = n.pool("pool2/3x3_s2", x, "MAX", 3, 2)
    x = inception("3a", x, 64, 96, 128, 16, 32, 32)
    x = inception("3b", x, 128, 128, 192, 32, 96, 64)
    x = n.pool("pool3/3x3_s2", x, "MAX", 3, 2)
    x = inception("4a", x, 192, 96, 208, 16, 48, 64)
    x = inception("4b", x, 160, 112, 224, 24, 64, 64)
    x = inception("4c", x, 128, 128, 256, 24, 64, 64)
    x = inception("4d", x, 112, 144, 288, 32, 64, 64)
    x = inception("4e", x, 256, 160, 320, 32, 128, 128)
    x = n.pool("pool4/3x3_s2", x, "MAX", 3, 2)
    x = inception("5a", x, 256, 160, 320, 32, 128, 128)
    x = inception("5b", x, 384, 192, 384, 48, 128, 128)
    x = n.dropout("pool5/drop_7x7_s1", n.pool("pool5/7x7_s1", x, "AVE", 7, 1))
    n.softmax("prob", n.dense("loss3/classifier", x, 1000, 0.3))
    return n


def resnet50():
    n = Net("ResNet-50", 3, [1, 3, 224, 224])

    def conv(name, x, out, kernel, stride=1, pad=0, relu=True, gain=1.0, bias=False):
        tail = name[3:] if name.startswith("res") else "_" + name
        y = n.conv(name, x, out, kernel, stride, pad, bias=bias)
        n.batch_norm("bn" + tail, y, "scale" + tail, gain)
        return n.relu(name + "_relu", y) if relu else y

    x = n.pool("pool1", conv("conv1", "data", 64, 7, 2, 3, bias=True), "MAX", 3, 2)
    for stage, (blocks, width) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512)), 2):
        for b in range(blocks):
            name = "res%d%s" % (stage, "abcdef"[b])
            stride = 2 if b == 0 and stage > 2 else 1
            left = conv(name + "_branch1", x, 4 * width, 1, stride, relu=False, gain=0.8) if b == 0 else x
            y = conv(name + "_branch2b", conv(name + "_branch2a", x, width, 1, stride), width, 3, pad=1)
            y = conv(name + "_branch2c", y, 4 * width, 1, relu=False, gain=0.4)
            x = n.relu(name + "_relu", n.add(name, [left, y]))
    n.softmax("prob", n.dense("fc1000", n.pool("pool5", x, "AVE", 7, 1), 1000, 0.5))
    return n


def squeezenet():
    n = Net("SqueezeNet", 4, [1, 3, 131, 131])

    def fire(name, x, squeeze, expand):
        s = n.relu(name + "/relu_squeeze1x1", n.conv(name + "/squeeze1x1", x, squeeze, 1))
        a = n.relu(name + "/relu_expand1x1", n.conv(name + "/expand1x1", s, expand, 1))
        b = n.relu(name + "/relu_expand3x3", n.conv(name + "/expand3x3", s, expand, 3, pad=1))
        return n.concat(name + "/concat", [a, b])

    x = n.pool("pool1", n.relu("relu_conv1", n.conv("conv1", "data", 64, 3, 2)), "MAX", 3, 2)
    x = n.pool("pool3", fire("fire3", fire("fire2", x, 16, 64), 16, 64), "MAX", 3, 2)
    x = n.pool("pool5", fire("fire5", fire("fire4", x, 32, 128), 32, 128), "MAX", 3, 2)
    for name, squeeze, expand in (("fire6", 48, 192), ("fire7", 48, 192), ("fire8", 64, 256), ("fire9", 64, 256)):
        x = fire(name, x, squeeze, expand)
    x = n.relu("relu_conv10", n.conv("conv10", n.dropout("drop9", x), 1000, 1))
    n.softmax("prob", n.pool("pool10", x, "AVE"))
    return n


def mobilenet():
    n = Net("MobileNet", 5, [1, 3, 128, 128])

    def conv(name, x, width, kernel, stride=1, pad=0, group=1):
        y = n.conv(name, x, width, kernel, stride, pad, group, bias=False)
        n.batch_norm(name + "/bn", y, name + "/scale")
        return n.relu("relu" + name[4:], y)

    x, width = conv("conv1", "data", 32, 3, 2, 1), 32
    for name, to, stride in (("conv2_1", 64, 1), ("conv2_2", 128, 2), ("conv3_1", 128, 1), ("conv3_2", 256, 2), ("conv4_1", 256, 1), ("conv4_2", 512, 2), ("conv5_1", 512, 1), ("conv5_2", 512, 1),
                             ("conv5_3", 512, 1), ("conv5_4", 512, 1), ("conv5_5", 512, 1), ("conv5_6", 1024, 2), ("conv6", 1024, 1)):
        x = conv(name + "/sep", conv(name + "/dw", x, width, 3, stride, 1, width), to, 1)
        width = to
    n.softmax("prob", n.conv("fc7", n.pool("pool6", x, "AVE"), 1000, 1))
    return n


def vgg(n, x, use):
    """The thirteen convolutions of VGG-16 with their poolings, and all blobs by name. For "fcn" the first one pads by 100, for "ssd" the last
    pooling keeps the size."""
    blobs = {}
    for stage, (count, width) in enumerate(((2, 64), (2, 128), (3, 256), (3, 512), (3, 512)), 1):
        for i in range(1, count + 1):
            name = "%d_%d" % (stage, i)
            x = n.relu("relu" + name, n.conv("conv" + name, x, width, 3, pad=100 if use == "fcn" and name == "1_1" else 1))
            blobs["conv" + name] = x
        how = (3, 1, 1) if use == "ssd" and stage == 5 else (2, 2, 0)
        x = blobs["pool%d" % stage] = n.pool("pool%d" % stage, x, "MAX", *how)
    return x, blobs


def ssd():
    """SSD300 on VGG-16, 21 classes."""
    n = Net("VGG_SSD_300x300", 6, [1, 3, 300, 300])
    x, blobs = vgg(n, "data", "ssd")
    x = n.relu("relu6", n.conv("fc6", x, 1024, 3, pad=6, dilation=6))
    x = blobs["fc7"] = n.relu("relu7", n.conv("fc7", x, 1024, 1))
    for name, mid, out, kernel, stride, pad in (("conv6", 256, 512, 3, 2, 1), ("conv7", 128, 256, 3, 2, 1), ("conv8", 128, 256, 3, 1, 0), ("conv9", 128, 256, 3, 1, 0)):
        x = n.relu(name + "_1_relu", n.conv(name + "_1", x, mid, 1))
        x = blobs[name + "_2"] = n.relu(name + "_2_relu", n.conv(name + "_2", x, out, kernel, stride, pad))
    blobs["conv4_3_norm"] = n.layer("Normalize", "conv4_3_norm", blobs["conv4_3"], "conv4_3_norm", n.shapes[blobs["conv4_3"]], [n.uniform(15, 25, 512)],
                                    norm_param=dict(across_spatial=False, channel_shared=False))
    loc, conf, priors = [], [], []
    for source, low, high, ratios, step in (("conv4_3_norm", 30.0, 60.0, [2.0], 8), ("fc7", 60.0, 111.0, [2.0, 3.0], 16), ("conv6_2", 111.0, 162.0, [2.0, 3.0], 32),
                                            ("conv7_2", 162.0, 213.0, [2.0, 3.0], 64), ("conv8_2", 213.0, 264.0, [2.0], 100), ("conv9_2", 264.0, 315.0, [2.0], 300)):
        b, count = blobs[source], 2 + 2 * len(ratios)
        for kind, width, to in (("loc", 4, loc), ("conf", 21, conf)):
            name = "%s_mbox_%s" % (source, kind)
            y = n.conv(name, b, count * width, 3, pad=1, gain=0.5 if kind == "conf" else 0.3)
            _, c, h, w = n.shapes[y]
            y = n.layer("Permute", name + "_perm", y, name + "_perm", [1, h, w, c], permute_param=dict(order=[0, 2, 3, 1]))
            to.append(n.layer("Flatten", name + "_flat", y, name + "_flat", [1, h * w * c], flatten_param=dict(axis=1)))
        _, _, h, w = n.shapes[b]
        priors.append(n.layer("PriorBox", source + "_mbox_priorbox", [b, "data"], source + "_mbox_priorbox", [1, 2, h * w * count * 4],
                              prior_box_param=dict(min_size=low, max_size=high, aspect_ratio=ratios, flip=True, clip=False, variance=[0.1, 0.1, 0.2, 0.2], step=step, offset=0.5)))
    location = n.concat("mbox_loc", loc)
    scores = n.concat("mbox_conf", conf)
    prior = n.concat("mbox_priorbox", priors, 2)
    count = n.shapes[scores][1] // 21
    x = n.layer("Reshape", "mbox_conf_reshape", scores, "mbox_conf_reshape", [1, count, 21], reshape_param=dict(shape=dict(dim=[0, -1, 21])))
    x = n.softmax("mbox_conf_softmax", x, axis=2)
    x = n.layer("Flatten", "mbox_conf_flatten", x, "mbox_conf_flatten", [1, count * 21], flatten_param=dict(axis=1))
    n.layer("DetectionOutput", "detection_out", [location, x, prior], "detection_out", [1, 1, 200, 7],
            detection_output_param=dict(num_classes=21, share_location=True, background_label_id=0, nms_param=dict(nms_threshold=0.45, top_k=400), code_type="CENTER_SIZE",
                                        keep_top_k=200, confidence_threshold=0.2))
    return n


def fcn():
    """FCN-8s on VGG-16 with the padding of 100 of the original; the two layers behind pool5 have 512 channels for 4096."""
    n = Net("FCN-8s", 7, [1, 3, 64, 72])
    x, blobs = vgg(n, "data", "fcn")
    x = n.dropout("drop6", n.relu("relu6", n.conv("fc6", x, 512, 7)))
    x = n.dropout("drop7", n.relu("relu7", n.conv("fc7", x, 512, 1)))
    x = n.deconv("upscore2", n.conv("score_fr", x, 21, 1), 21, 4, 2)

    def crop(name, x, like, offset):
        return n.layer("Crop", name, [x, like], name, n.shapes[x][:2] + n.shapes[like][2:], crop_param=dict(axis=2, offset=offset))

    def scale(name, x, factor):
        return n.layer("Scale", name, x, name, n.shapes[x], [np.array([factor], np.float32)], scale_param=dict(filler=dict(value=factor)))

    pool4 = n.conv("score_pool4", scale("scale_pool4", blobs["pool4"], 0.01), 21, 1)
    x = n.deconv("upscore_pool4", n.add("fuse_pool4", [x, crop("score_pool4c", pool4, x, 5)]), 21, 4, 2, 21)
    pool3 = n.conv("score_pool3", scale("scale_pool3", blobs["pool3"], 0.0001), 21, 1)
    x = n.deconv("upscore8", n.add("fuse_pool3", [x, crop("score_pool3c", pool3, x, 9)]), 21, 16, 8, 21)
    crop("score", x, "data", 31)
    return n


NETWORKS = [alexnet, googlenet, resnet50, squeezenet, mobilenet, ssd, fcn]


def expected(path, inputs, tensors):
    """OpenCV's value of every layer. Without fusing, or a layer's own value would be gone."""
    import cv2
    net = cv2.dnn.readNetFromCaffe(path + ".prototxt", path + ".caffemodel")
    net.enableFusion(False)
    net.enableWinograd(False)
    for name, value in inputs.items():
        net.setInput(value, name)
    known = set(net.getLayerNames())
    wanted = [(layer, tensor) for layer, tensor in tensors if layer in known]
    return {tensor: np.asarray(v) for (_, tensor), v in zip(wanted, net.forward([layer for layer, _ in wanted]))}


def leave(net, path, folder, rows):
    inputs = {"data": np.random.default_rng(100).standard_normal(net.shapes["data"]).astype(np.float32)}
    results = expected(path, inputs, net.tensors())
    np.savez(os.path.join(folder, "inputs.npz"), **inputs)
    np.savez(os.path.join(folder, "expected.npz"), **{"t%d" % i: v for i, v in enumerate(results.values())})
    last = net.tensors()[-1][1]
    with open(os.path.join(folder, "network.json"), "w") as f:
        json.dump({"framework": "caffe", "files": ["model.prototxt", "model.caffemodel"], "inputs": list(inputs), "outputs": [last], "tensors": list(results),
                   "rows": [last] if rows else [], "weights": os.path.getsize(path + ".caffemodel")}, f, indent=1)


def main(arguments):
    model_only = arguments[0] == "--model-only"
    out, *names = arguments[model_only:]
    for make in NETWORKS:
        if names and make.__name__ not in names:
            continue
        net = make()
        folder = os.path.join(out, make.__name__)
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "model")
        net.save(path)
        if not model_only:
            leave(net, path, folder, make is ssd)


if __name__ == "__main__":
    main(sys.argv[1:])
