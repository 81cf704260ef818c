"""The networks: where each comes from, what it is fed, and the ways in which it is exported.

A way is a letter:
  L  the TorchScript exporter (dynamo=False)     D  torch.export (dynamo=True)
  Y  as L with dynamic axes, run with two shapes  Z  as D with a dynamic batch, run with two shapes
  H  L converted to f16                           O  L as ONNX Runtime's extended optimizer leaves it
  S  L quantized to int8 with QDQ nodes           Q  L with dynamically quantized MatMul weights

Inputs are written `name:type[dims]`, whole numbers with their upper bound: `ids:i64[2,12]<100`, or one value: `=0`. In a dynamic export the
first axis of every input may change, and further axes that are marked with `*`.
"""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Network:
    name: str      # family and model
    library: str   # torchvision, timm, transformers, blocks
    model: str     # as the library names it
    inputs: str
    ways: str
    options: tuple = ()  # keyword arguments, as pairs

    def rows(self):
        return [(self.name + ("" if w == "L" else "." + WAYS[w]), self, w) for w in self.ways]


WAYS = {"L": "legacy", "D": "dynamo", "Y": "dynamic", "Z": "dynamo_dynamic", "H": "f16", "O": "ort", "S": "qdq", "Q": "int8"}


def picture(size, batch=1, name="x"):
    return "%s:f32[%d,3,%s]" % (name, batch, size)


# model, height and width, ways
TORCHVISION = """
resnet18 64,64 LDYZHOS
resnet50 64,64 L
wide_resnet50_2 64,64 L
resnext50_32x4d 64,64 L
mobilenet_v2 96,96 LDYHS
mobilenet_v3_small 96,96 LDHO
mobilenet_v3_large 96,96 Y
mnasnet0_5 96,96 L
mnasnet1_0 64,96 D
squeezenet1_1 64,64 LD
squeezenet1_0 65,67 L
shufflenet_v2_x0_5 96,96 LDY
shufflenet_v2_x1_0 64,64 L
densenet121 64,64 LD
googlenet 96,96 L
inception_v3 128,128 L
efficientnet_b0 64,64 LDO
efficientnet_v2_s 64,64 L
regnet_x_400mf 64,64 LD
regnet_y_400mf 64,64 LY
regnet_y_800mf 64,64 D
convnext_tiny 64,64 LD
swin_t 96,96 LY
swin_v2_t 96,96 L
maxvit_t 224,224 L
vit_b_32 224,224 L
fcn_resnet50 64,64 L
deeplabv3_mobilenet_v3_large 96,96 L
lraspp_mobilenet_v3_large 96,96 LY
deeplabv3_resnet50 64,64 L
"""
TORCHVISION_VIDEO = """
r3d_18 8,64,64 L
mc3_18 8,64,64 L
r2plus1d_18 8,64,64 L
s3d 16,224,224 L
swin3d_t 8,64,64 L
"""
TIMM = """
resnet10t 64,64 LD
resnetv2_18 64,64 L
resnetblur18 64,64 L
seresnet18 64,64 L
skresnet18 64,64 L
ecaresnet26t 64,64 L
gcresnet33ts 64,64 L
res2net50_26w_4s 64,64 L
resnest14d 64,64 L
hrnet_w18_small 64,64 L
dla34 64,64 L
dpn48b 64,64 L
regnetz_005 64,64 LD
tf_efficientnet_b0 65,65 LY
tf_efficientnetv2_b0 64,64 L
efficientnet_b0_gn 64,64 L
efficientnet_cc_b0_4e 64,64 L
tf_mixnet_s 64,64 L
ghostnet_050 64,64 L
repghostnet_050 64,64 L
lcnet_050 64,64 LS
fbnetc_100 64,64 L
hardcorenas_a 64,64 L
mobilenetv4_conv_small 64,64 LD
mobileone_s0 64,64 L
repvgg_a0 64,64 L
repvit_m0_9 64,64 L
fasternet_t0 64,64 L
starnet_s1 64,64 L
nf_regnet_b0 64,64 L
nfnet_l0 64,64 L
cspresnet50 64,64 L
cs3darknet_s 64,64 L
darknet17 64,64 L
vovnet39a 64,64 L
selecsls42b 64,64 L
xception41 96,96 L
pnasnet5large 96,96 L
inception_v4 96,96 L
convmixer_768_32 56,56 L
convnextv2_atto 64,64 LD
convnext_atto 64,64 YZH
inception_next_atto 64,64 L
rdnet_tiny 64,64 L
mambaout_femto 64,64 L
edgenext_xx_small 64,64 L
mobilevit_xxs 64,64 LY
mobilevitv2_050 64,64 L
efficientvit_b0 64,64 L
efficientvit_m0 224,224 L
efficientformer_l1 224,224 L
efficientformerv2_s0 224,224 L
levit_128s 224,224 L
swiftformer_xs 64,64 L
fastvit_t8 64,64 L
poolformer_s12 64,64 L
caformer_s18 64,64 L
focalnet_tiny_srf 64,64 L
vit_tiny_patch16_224 224,224 LDQH
deit_tiny_distilled_patch16_224 224,224 L
vit_small_patch16_rope_224 224,224 L
eva02_tiny_patch14_224 224,224 L
cait_xxs24_224 224,224 L
crossvit_tiny_240 240,240 L
convit_tiny 224,224 L
pit_ti_224 224,224 L
tnt_s_legacy_patch16_224 224,224 L
xcit_nano_12_p16_224 224,224 L
twins_svt_small 224,224 L
pvt_v2_b0 64,64 LD
nest_tiny 224,224 L
coat_lite_tiny 224,224 L
coatnet_nano_rw_224 224,224 L
maxvit_rmlp_pico_rw_256 256,256 L
gcvit_xxtiny 224,224 L
swin_tiny_patch4_window7_224 224,224 LD
swinv2_tiny_window8_256 256,256 L
davit_tiny 96,96 LY
mvitv2_tiny 224,224 L
hiera_tiny_224 224,224 L
sequencer2d_s 224,224 L
mixer_s32_224 224,224 L
gmlp_s16_224 224,224 L
resmlp_12_224 224,224 LQ
visformer_tiny 224,224 L
volo_d1_224 224,224 D
nextvit_small 64,64 L
tiny_vit_5m_224 224,224 L
"""

IDS = "input_ids:i64[2,12*]<100 attention_mask:i64[2,12*]<2"
IDS_ONLY = "input_ids:i64[2,12*]<100"
PIXELS = "pixel_values:f32[1,3,32,32]"
PIXELS64 = "pixel_values:f32[1,3,64,64]"
WAVE = "input_values:f32[1,4000*]"
PAIR = "input_ids:i64[2,12]<100 decoder_input_ids:i64[2,7]<100"

TEXT = dict(vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, max_position_embeddings=64,
            pad_token_id=0, bos_token_id=1, eos_token_id=2)
GROUPED = dict(TEXT, num_key_value_heads=2, head_dim=8)
VISION = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, image_size=32, patch_size=8)
SPEECH = dict(TEXT, conv_dim=(16, 16, 16), conv_stride=(5, 2, 2), conv_kernel=(10, 3, 3), num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4,
              num_feat_extract_layers=3, mask_time_prob=0.0, apply_spec_augment=False)
BART = dict(vocab_size=100, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64,
            decoder_ffn_dim=64, max_position_embeddings=64, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, forced_eos_token_id=None)
T5 = dict(vocab_size=100, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_decoder_layers=2, num_heads=4, pad_token_id=0, decoder_start_token_id=0)

# model class, configuration, inputs, ways
TRANSFORMERS = [
    ("BertModel", TEXT, IDS, "LDYZOQ"),
    ("RobertaModel", TEXT, IDS, "L"),
    ("DistilBertModel", dict(TEXT, dim=32, hidden_dim=64, n_layers=2, n_heads=4), IDS, "LD"),
    ("AlbertModel", dict(TEXT, embedding_size=16), IDS, "LD"),
    ("ElectraModel", dict(TEXT, embedding_size=16), IDS, "L"),
    ("DebertaV2Model", dict(TEXT, relative_attention=True, pos_att_type=["p2c", "c2p"]), IDS, "L"),
    ("MPNetModel", TEXT, IDS, "L"),
    ("MobileBertModel", dict(TEXT, embedding_size=16, intra_bottleneck_size=32, true_hidden_size=32), IDS, "L"),
    ("SqueezeBertModel", dict(TEXT, embedding_size=32, q_groups=2, k_groups=2, v_groups=2, post_attention_groups=1, intermediate_groups=2, output_groups=2), IDS, "L"),
    ("ConvBertModel", dict(TEXT, embedding_size=16), IDS, "L"),
    ("FNetModel", dict(TEXT, tpu_short_seq_length=12), IDS_ONLY, "D"),
    ("RoFormerModel", dict(TEXT, embedding_size=16), IDS, "L"),
    ("RemBertModel", dict(TEXT, input_embedding_size=16), IDS, "L"),
    ("XLNetModel", dict(vocab_size=100, d_model=32, n_layer=2, n_head=4, d_inner=64, mem_len=None), IDS_ONLY, "L"),
    ("FunnelModel", dict(vocab_size=100, d_model=32, n_head=4, d_head=8, d_inner=64, block_sizes=[1, 1], num_decoder_layers=1), IDS, "L"),
    ("LongformerModel", dict(TEXT, attention_window=[4, 4]), IDS_ONLY, "L"),
    ("BigBirdModel", dict(TEXT, attention_type="original_full"), IDS, "L"),
    ("MegatronBertModel", TEXT, IDS, "L"),
    ("ModernBertModel", dict(TEXT, global_attn_every_n_layers=2, local_attention=8), IDS, "LD"),
    ("LayoutLMModel", TEXT, "input_ids:i64[2,12]<100 bbox:i64[2,12,4]=0", "L"),
    ("LiltModel", dict(TEXT, hidden_size=48), "input_ids:i64[2,12]<100 bbox:i64[2,12,4]=0", "L"),
    ("GPT2Model", dict(TEXT, n_positions=64, use_cache=False), IDS, "LDYQ"),
    ("GPTNeoXModel", dict(TEXT, use_cache=False), IDS, "LD"),
    ("GPTJModel", dict(TEXT, n_positions=64, rotary_dim=4, use_cache=False), IDS, "L"),
    ("GPTNeoModel", dict(TEXT, attention_types=[[["global", "local"], 1]], num_layers=2, num_heads=4, window_size=8, use_cache=False), IDS, "L"),
    ("OPTModel", dict(TEXT, ffn_dim=64, word_embed_proj_dim=32, use_cache=False), IDS, "L"),
    ("BloomModel", dict(TEXT, n_head=4, n_layer=2, use_cache=False), IDS, "L"),
    ("FalconModel", dict(TEXT, multi_query=True, use_cache=False), IDS, "L"),
    ("MptModel", dict(vocab_size=100, d_model=32, n_heads=4, n_layers=2, max_seq_len=64, use_cache=False), IDS, "L"),
    ("CodeGenModel", dict(TEXT, n_positions=64, rotary_dim=4, use_cache=False), IDS, "L"),
    ("LlamaModel", dict(GROUPED, use_cache=False), IDS, "LDYZO"),
    ("MistralModel", dict(GROUPED, sliding_window=8, use_cache=False), IDS, "LD"),
    ("Qwen2Model", dict(GROUPED, use_cache=False), IDS, "LD"),
    ("Qwen3Model", dict(GROUPED, use_cache=False), IDS, "LDH"),
    ("Phi3Model", dict(GROUPED, use_cache=False), IDS, "L"),
    ("PhiModel", dict(GROUPED, partial_rotary_factor=0.5, use_cache=False), IDS, "L"),
    ("GemmaModel", dict(GROUPED, use_cache=False), IDS, "L"),
    ("Gemma2Model", dict(GROUPED, sliding_window=8, use_cache=False), IDS, "LD"),
    ("Gemma3TextModel", dict(GROUPED, sliding_window=8, use_cache=False), IDS, "L"),
    ("CohereModel", dict(GROUPED, use_cache=False), IDS, "D"),
    ("Olmo2Model", dict(GROUPED, use_cache=False), IDS, "L"),
    ("StableLmModel", dict(GROUPED, use_cache=False), IDS, "L"),
    ("Starcoder2Model", dict(GROUPED, use_cache=False), IDS, "L"),
    ("GraniteModel", dict(GROUPED, use_cache=False), IDS, "L"),
    ("SmolLM3Model", dict(GROUPED, use_cache=False), IDS, "D"),
    ("NemotronModel", dict(GROUPED, use_cache=False), IDS, "L"),
    ("PersimmonModel", dict(GROUPED, use_cache=False), IDS, "L"),
    ("MambaModel", dict(TEXT, state_size=8, use_cache=False), IDS_ONLY, "L"),
    ("T5Model", T5, PAIR, "LD"),
    ("MT5Model", T5, PAIR, "L"),
    ("BartModel", dict(BART, use_cache=False), PAIR, "LD"),
    ("MBartModel", dict(BART, use_cache=False), PAIR, "L"),
    ("PegasusModel", dict(BART, use_cache=False), PAIR, "L"),
    ("MarianModel", dict(BART, use_cache=False), PAIR, "L"),
    ("M2M100Model", dict(BART, use_cache=False), PAIR, "L"),
    ("LEDModel", dict(BART, max_encoder_position_embeddings=64, max_decoder_position_embeddings=64, attention_window=[4, 4], use_cache=False), "input_ids:i64[2,12]<100 decoder_input_ids:i64[2,7]<100", "L"),
    ("ViTModel", VISION, PIXELS, "LDQ"),
    ("DeiTModel", VISION, PIXELS, "L"),
    ("BeitModel", dict(VISION, use_relative_position_bias=True, use_mask_token=False), PIXELS, "L"),
    ("Dinov2Model", dict(VISION, mlp_ratio=2), PIXELS, "LD"),
    ("Dinov2WithRegistersModel", dict(VISION, mlp_ratio=2), PIXELS, "D"),
    ("DINOv3ViTModel", VISION, PIXELS, "D"),
    ("IJepaModel", VISION, PIXELS, "L"),
    ("YolosModel", dict(VISION, image_size=[32, 32], num_detection_tokens=5, use_mid_position_embeddings=False), PIXELS, "L"),
    ("SiglipVisionModel", VISION, PIXELS, "LD"),
    ("CLIPVisionModel", VISION, PIXELS, "LD"),
    ("CLIPTextModel", TEXT, IDS, "L"),
    ("SwinModel", dict(embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4, image_size=36, patch_size=2), "pixel_values:f32[1,3,36,36]", "LD"),
    ("Swinv2Model", dict(embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4, image_size=32, patch_size=2), PIXELS, "L"),
    ("DonutSwinModel", dict(embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4, image_size=32, patch_size=2), PIXELS, "L"),
    ("PvtModel", dict(image_size=64, hidden_sizes=[16, 16, 32, 32], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 4, 4]), PIXELS64, "L"),
    ("SegformerModel", dict(hidden_sizes=[16, 16, 32, 32], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 4, 4], decoder_hidden_size=32), PIXELS64, "LY"),
    ("GLPNModel", dict(hidden_sizes=[16, 16, 32, 32], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 4, 4]), PIXELS64, "L"),
    ("LevitModel", dict(image_size=64, hidden_sizes=[32, 32, 32], num_attention_heads=[2, 2, 2], depths=[1, 1, 1], key_dim=[8, 8, 8]), PIXELS64, "L"),
    ("PoolFormerModel", dict(hidden_sizes=[16, 16, 32, 32], depths=[1, 1, 1, 1]), PIXELS64, "L"),
    ("ConvNextModel", dict(hidden_sizes=[16, 16, 32, 32], depths=[1, 1, 1, 1]), PIXELS64, "LD"),
    ("RegNetModel", dict(hidden_sizes=[16, 16, 32, 32], depths=[1, 1, 1, 1], embedding_size=16, groups_width=8), PIXELS64, "L"),
    ("ResNetModel", dict(hidden_sizes=[16, 16, 32, 32], depths=[1, 1, 1, 1], embedding_size=16), PIXELS64, "L"),
    ("BitModel", dict(hidden_sizes=[32, 32, 64, 64], depths=[1, 1, 1, 1], embedding_size=32, num_groups=8), PIXELS64, "L"),
    ("EfficientNetModel", dict(width_coefficient=0.5, depth_coefficient=0.5, image_size=64, hidden_dim=640), PIXELS64, "LY"),
    ("MobileNetV1Model", dict(depth_multiplier=0.25, image_size=64), PIXELS64, "L"),
    ("MobileNetV2Model", dict(depth_multiplier=0.25, image_size=64), PIXELS64, "L"),
    ("MobileViTV2Model", dict(image_size=64, width_multiplier=0.5), PIXELS64, "D"),
    ("FocalNetModel", dict(image_size=32, patch_size=2, embed_dim=16, hidden_sizes=[16, 32], depths=[1, 1], focal_levels=[2, 2], focal_windows=[3, 3]), PIXELS, "L"),
    ("SwiftFormerModel", dict(image_size=64, depths=[1, 1, 1, 1], embed_dims=[16, 16, 32, 32]), PIXELS64, "L"),
    ("VitDetModel", dict(VISION, mlp_ratio=2), PIXELS, "L"),
    ("HieraModel", dict(embed_dim=16, image_size=[64, 64], patch_stride=[4, 4], depths=[1, 1, 1, 1], num_heads=[1, 1, 2, 4]), PIXELS64, "L"),
    ("DetrModel", dict(d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, num_queries=5,
                       use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, backbone_config=dict(model_type="resnet", hidden_sizes=[16, 16, 32, 32], depths=[1, 1, 1, 1], embedding_size=16, out_features=["stage4"])), PIXELS64, "L"),
    ("VideoMAEModel", dict(VISION, num_frames=4, tubelet_size=2), "pixel_values:f32[1,4,3,32,32]", "L"),
    ("TimesformerModel", dict(VISION, num_frames=2), "pixel_values:f32[1,2,3,32,32]", "L"),
    ("VivitModel", dict(VISION, num_frames=4, tubelet_size=[2, 8, 8]), "pixel_values:f32[1,4,3,32,32]", "L"),
    ("Wav2Vec2Model", SPEECH, WAVE, "LD"),
    ("HubertModel", SPEECH, WAVE, "L"),
    ("WavLMModel", SPEECH, WAVE, "L"),
    ("Data2VecAudioModel", dict(SPEECH, conv_pos_kernel_size=5, num_conv_pos_embeddings=2), WAVE, "L"),
    ("UniSpeechModel", SPEECH, WAVE, "L"),
    ("SEWModel", dict(SPEECH, squeeze_factor=2), WAVE, "L"),
    ("ASTModel", dict(VISION, max_length=40, num_mel_bins=16, patch_size=8, frequency_stride=8, time_stride=8), "input_values:f32[1,40,16]", "L"),
    ("WhisperModel", dict(BART, num_mel_bins=8, max_source_positions=20, max_target_positions=64, use_cache=False), "input_features:f32[1,8,40] decoder_input_ids:i64[1,7]<100", "D"),
    ("PatchTSTModel", dict(num_input_channels=2, context_length=32, patch_length=8, patch_stride=8, d_model=32, num_hidden_layers=2, num_attention_heads=4, ffn_dim=64, do_mask_input=False), "past_values:f32[2,32,2]", "D"),
    ("PatchTSMixerModel", dict(num_input_channels=2, context_length=32, patch_length=8, patch_stride=8, d_model=16, num_layers=2, do_mask_input=False, mask_mode="random"), "past_values:f32[2,32,2]", "D"),
    ("DecisionTransformerModel", dict(state_dim=5, act_dim=3, hidden_size=32, n_layer=2, n_head=4, n_positions=64, max_ep_len=50),
     "states:f32[1,4,5] actions:f32[1,4,3] rewards:f32[1,4,1] returns_to_go:f32[1,4,1] timesteps:i64[1,4]<50", "L"),
    # Text, less common.
    ("XLMModel", dict(TEXT, emb_dim=32, n_layers=2, n_heads=4), IDS, "L"),
    ("CTRLModel", dict(TEXT, n_positions=64, n_embd=32, dff=64, n_layer=2, n_head=4, use_cache=False), IDS, "L"),
    ("OpenAIGPTModel", dict(TEXT, n_positions=64), IDS, "L"),
    ("BioGptModel", dict(TEXT, use_cache=False), IDS, "L"),
    ("XGLMModel", dict(TEXT, d_model=32, ffn_dim=64, num_layers=2, attention_heads=4, use_cache=False), IDS, "L"),
    ("GPTBigCodeModel", dict(TEXT, n_positions=64, use_cache=False), IDS, "L"),
    ("YosoModel", dict(TEXT, use_expectation=True), IDS, "L"),
    ("EsmModel", dict(TEXT, mask_token_id=3, position_embedding_type="rotary"), IDS, "L"),
    ("IBertModel", TEXT, IDS, "L"),
    ("SplinterModel", TEXT, IDS, "L"),
    ("XmodModel", dict(TEXT, default_language="en_XX", languages=["en_XX"]), IDS, "L"),
    ("EuroBertModel", GROUPED, IDS, "L"),
    ("ModernBertDecoderModel", dict(TEXT, global_attn_every_n_layers=2, local_attention=8, use_cache=False), IDS, "L"),
    ("HeliumModel", dict(GROUPED, use_cache=False), IDS, "D"),
    ("GlmModel", dict(GROUPED, use_cache=False), IDS, "D"),
    ("Glm4Model", dict(GROUPED, use_cache=False), IDS, "D"),
    ("Exaone4Model", dict(GROUPED, sliding_window=8, use_cache=False), IDS, "L"),
    ("Ernie4_5Model", dict(GROUPED, use_cache=False), IDS, "D"),
    ("ApertusModel", dict(GROUPED, use_cache=False), IDS, "D"),
    ("ArceeModel", dict(GROUPED, use_cache=False), IDS, "L"),
    ("SeedOssModel", dict(GROUPED, use_cache=False), IDS, "L"),
    ("DiffLlamaModel", dict(GROUPED, use_cache=False), IDS, "D"),
    ("BitNetModel", dict(GROUPED, use_cache=False), IDS, "L"),
    ("VaultGemmaModel", dict(GROUPED, use_cache=False), IDS, "L"),
    ("NanoChatModel", dict(GROUPED, use_cache=False), IDS, "L"),
    ("Lfm2Model", dict(GROUPED, layer_types=["conv", "full_attention"], use_cache=False), IDS, "LD"),
    ("Mamba2Model", dict(TEXT, state_size=8, num_heads=8, head_dim=8, n_groups=2, chunk_size=4, use_cache=False), IDS_ONLY, "D"),
    ("FalconMambaModel", dict(TEXT, state_size=8, use_cache=False), IDS_ONLY, "L"),
    ("RwkvModel", dict(vocab_size=100, context_length=64, hidden_size=32, num_hidden_layers=2, attention_hidden_size=32, intermediate_size=64, use_cache=False), IDS_ONLY, "L"),
    ("RecurrentGemmaModel", dict(GROUPED, lru_width=32, attention_window_size=8, conv1d_width=4, use_cache=False), IDS_ONLY, "L"),
    ("UMT5Model", T5, PAIR, "L"),
    ("LongT5Model", dict(T5, local_radius=3, global_block_size=4), PAIR, "L"),
    ("SwitchTransformersModel", dict(T5, num_sparse_encoder_layers=0, num_sparse_decoder_layers=0), PAIR, "L"),
    ("BlenderbotModel", dict(BART, use_cache=False), PAIR, "L"),
    ("PLBartModel", dict(BART, use_cache=False), PAIR, "L"),
    ("PegasusXModel", dict(BART, block_size=4, num_global_tokens=2, use_cache=False), "input_ids:i64[2,12]<100 decoder_input_ids:i64[2,7]<100", "L"),
    ("ProphetNetModel", dict(vocab_size=100, hidden_size=32, num_encoder_layers=2, num_decoder_layers=2, num_encoder_attention_heads=4, num_decoder_attention_heads=4,
                             encoder_ffn_dim=64, decoder_ffn_dim=64, max_position_embeddings=64, ngram=2, num_buckets=8, relative_max_distance=16, use_cache=False), PAIR, "L"),
    # Pictures and sound, less common.
    ("Data2VecVisionModel", VISION, PIXELS, "L"),
    ("ViTMSNModel", VISION, PIXELS, "L"),
    ("DPTModel", dict(VISION, is_hybrid=False, backbone_out_indices=[0, 0, 1, 1], neck_hidden_sizes=[8, 8, 16, 16], fusion_hidden_size=16), PIXELS, "L"),
    ("ImageGPTModel", dict(vocab_size=17, n_positions=64, n_embd=32, n_layer=2, n_head=4, use_cache=False), "input_ids:i64[2,12]<16", "L"),
    ("TextNetModel", dict(), PIXELS64, "L"),
    ("SamVisionModel", dict(VISION, output_channels=16, window_size=3, global_attn_indexes=[1], num_pos_feats=8, mlp_dim=64), PIXELS, "L"),
    ("Swin2SRModel", dict(embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4, image_size=16), "pixel_values:f32[1,3,16,16]", "L"),
    ("MaskFormerSwinModel", dict(embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=3, image_size=32, patch_size=2), PIXELS, "L"),
    ("Aimv2VisionModel", VISION, PIXELS, "L"),
    ("InternVLVisionModel", dict(VISION, image_size=[32, 32], patch_size=[8, 8]), PIXELS, "L"),
    ("MLCDVisionModel", VISION, PIXELS, "L"),
    ("VJEPA2Model", dict(VISION, crop_size=32, frames_per_clip=4, tubelet_size=2, mlp_ratio=2.0, pred_hidden_size=32, pred_num_attention_heads=4, pred_num_hidden_layers=1, pred_num_mask_tokens=2), "pixel_values_videos:f32[1,4,3,32,32]", "L"),
    ("ConvNextV2Model", dict(hidden_sizes=[16, 16, 32, 32], depths=[1, 1, 1, 1]), PIXELS64, "L"),
    ("MobileViTModel", dict(image_size=64, hidden_sizes=[16, 24, 32], neck_hidden_sizes=[8, 8, 16, 16, 24, 32, 64]), PIXELS64, "L"),
    ("AlignModel", dict(text_config=TEXT, vision_config=dict(width_coefficient=0.5, depth_coefficient=0.5, image_size=64, hidden_dim=640), projection_dim=160), "input_ids:i64[2,12]<100 pixel_values:f32[2,3,64,64]", "L"),
    ("GroupViTModel", dict(text_config=TEXT, vision_config=dict(VISION, depths=[2, 2, 2], num_group_tokens=[8, 4, 0], num_output_groups=[8, 4, 4])), "input_ids:i64[2,12]<100 pixel_values:f32[1,3,32,32]", "L"),
    ("Wav2Vec2ConformerModel", SPEECH, WAVE, "L"),
    ("UniSpeechSatModel", SPEECH, WAVE, "L"),
    ("SEWDModel", dict(SPEECH, squeeze_factor=2), WAVE, "L"),
    ("Speech2TextModel", dict(BART, input_feat_per_channel=8, num_conv_layers=2, conv_channels=16, conv_kernel_sizes=[3, 3], max_source_positions=64, max_target_positions=64, use_cache=False), "input_features:f32[1,20,8] decoder_input_ids:i64[1,7]<100", "L"),
    ("EncodecModel", dict(num_filters=4, num_residual_layers=1, upsampling_ratios=[4, 2], codebook_size=16, codebook_dim=16, hidden_size=16, num_lstm_layers=1), "input_values:f32[1,1,320]", "L"),
    ("CLIPModel", dict(text_config=dict(TEXT, projection_dim=16), vision_config=dict(VISION, projection_dim=16), projection_dim=16), "input_ids:i64[2,12]<100 pixel_values:f32[1,3,32,32]", "L"),
]

# Built from torch.nn in blocks.py.
BLOCKS = """
lstm x:f32[5*,2,8] LD
gru x:f32[5*,2,8] LD
rnn x:f32[5,2,8] L
bidirectional_lstm x:f32[2,5,8] L
attention x:f32[5,2,16] LD
encoder_layer x:f32[2,5,16] LD
decoder_layer x:f32[2,5,16] L
stft x:f32[2,256] LD
ceil_pools x:f32[1,3,7,9] LDY
pad_modes x:f32[1,3,6,7] LD
resizes x:f32[1,3,6,7] LD
grid x:f32[1,3,6,7] LD
transposed_convolutions x:f32[1,4,6,7] LD
norms x:f32[2,8,6,7] LD
scatters x:f32[4,6] LD
einsums x:f32[2,3,4,5] LD
tensor_split x:f32[2,7,5] LY
chunks x:f32[2,9*,6] LDY
sorting x:f32[3,9] LD
pixel_shuffles x:f32[1,8,4,6] LD
folds x:f32[1,8,4,6] D
activations x:f32[3,17] LD
embedding_bag x:i64[4,5]<20 L
unet x:f32[1,3,32,32] LDYS
windows x:f32[1,9*,10*,8] LYZ
"""


def networks():
    out = []
    for library, family, rows in (("torchvision", "tv", TORCHVISION), ("torchvision", "video", TORCHVISION_VIDEO), ("timm", "timm", TIMM)):
        for line in rows.split("\n"):
            if line:
                model, size, ways = line.split()
                out.append(Network("%s_%s" % (family, model), library, model, picture(size), ways))
    for model, options, inputs, ways in TRANSFORMERS:
        out.append(Network("hf_" + model.removesuffix("Model").lower(), "transformers", model, inputs, ways, tuple(sorted(options.items()))))
    for line in BLOCKS.split("\n"):
        if line:
            model, inputs, ways = line.rsplit(" ", 1)[0].split(" ", 1) + [line.rsplit(" ", 1)[1]]
            out.append(Network("nn_" + model, "blocks", model, inputs, ways))
    return out


def rows():
    return [r for n in networks() for r in n.rows()]


if __name__ == "__main__":
    print(len(networks()), "networks,", len(rows()), "files")
