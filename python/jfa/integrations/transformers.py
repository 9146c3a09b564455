"""Registers JFA with Hugging Face transformers (5.4 or later): import this module, then load a
model with `attn_implementation="jfa"`.

Padding, on either side, is skipped in place: a padded batch is a jagged batch whose padding lies in
gaps between sequences. Batches without padding, all sequences in one row, are told apart by
`cu_seq_lens_q` and `cu_seq_lens_k` (as DataCollatorWithFlattening gives them) or by `position_ids`
that begin again at 0. Attention weights cannot be had.
"""

import torch
import transformers
from torch.utils.weak import WeakTensorKeyDictionary
from transformers import AttentionInterface, AttentionMaskInterface

from jfa import attention
from jfa._arguments import require

if tuple(map(int, transformers.__version__.split(".")[:2])) < (5, 4):
    raise ImportError(f"transformers is {transformers.__version__}, must be 5.4 or later")

# What transformers and its models make masks of: what jfa_attention is told by its arguments, too,
# and what puts such together.
_TOLD = {
    "causal_mask_function",
    "bidirectional_mask_function",
    "sliding_window_overlay",
    "sliding_window_bidirectional_overlay",
    "_bidirectional_window_overlay",
    "packed_sequence_mask_function",
}
_TOGETHER = {"and_masks", "or_masks", "remap_positions_for_packed_sequence"}


def _require_told(mask_function, batch_size):
    name = mask_function.__qualname__.partition(".")[0]
    if name in _TOGETHER:
        for cell in mask_function.__closure__:
            parts = cell.cell_contents
            for part in parts if isinstance(parts, tuple) else (parts,):
                if callable(part):
                    _require_told(part, batch_size)
        return
    if mask_function.__code__.co_argcount == 0:  # looks at no index: lets all pairs be
        return
    require(name in _TOLD, "the model's mask", name, "causal, bidirectional or a sliding window")
    packed = name == "packed_sequence_mask_function"
    allowed = "increasing in each of several rows: put all sequences in one row"
    require(not packed or batch_size == 1, "position_ids", "begun again in a row", allowed)


def padding_mask(
    batch_size, q_length, kv_length, q_offset=0, attention_mask=None, mask_function=None, **unused
):
    """What a model makes of its attention_mask, `[batch, up to kv_length]`: the same, checked, or
    None where every key is in use."""
    if mask_function is not None and not torch.compiler.is_compiling():
        _require_told(mask_function, batch_size)
    if attention_mask is None:
        if q_offset + q_length >= kv_length:
            return None
        # The keys past the queries are capacity of a static cache.
        device = unused.get("device")
        return torch.ones(batch_size, q_offset + q_length, dtype=torch.bool, device=device)
    keep = attention_mask[:, -kv_length:].bool()
    begins = keep[:, 1:] & ~keep[:, :-1]
    single = (begins.sum(1) + keep[:, 0] <= 1).all()
    if not torch.compiler.is_compiling():  # waits for a GPU, once a model's call
        allowed = "one run, padded on either side, in each row"
        require(bool(single), "attention_mask", "several runs of tokens in a row", allowed)
    return keep


def _runs(keep, length):
    """Offsets `[2 * batch + 1]` and lengths `[2 * batch]` of rows `[batch * length]`, of which
    `keep`, `[batch, up to length]`, says which are in use. Each row of the batch becomes two
    sequences: the padding on the left, unused, and the tokens, with the padding on the right as
    their gap."""
    batch = keep.shape[0]
    used = keep.sum(1)
    begin = torch.arange(batch, device=keep.device) * length
    first = begin + keep.int().argmax(1)
    end = begin.new_full((1,), batch * length)
    offsets = torch.cat([torch.stack([begin, first], 1).flatten(), end])
    return offsets, torch.stack([torch.zeros_like(used), used], 1).flatten()


def _offsets_of_positions(position_ids):
    """Offsets of sequences in one row, each beginning at position 0. As many sequences as rows,
    most of them empty: how many there are is known on the device alone."""
    begins = position_ids.flatten() == 0
    begins[0] = True
    number = begins.cumsum(0) - 1
    lengths = torch.zeros_like(number).scatter_add_(0, number, torch.ones_like(number))
    return torch.nn.functional.pad(lengths.cumsum(0), (1, 0))


_kept = WeakTensorKeyDictionary()


def _once(tensor, key, make):
    """`make()` of a tensor that all layers of a model's call are given, made for the first of them.
    Compiled code leaves out what it computes twice by itself."""
    if torch.compiler.is_compiling():
        return make()
    kept = _kept.setdefault(tensor, {})
    # Only a mask can be an inference tensor here: padding_mask makes one for each call.
    key = *key, 0 if tensor.is_inference() else tensor._version
    if key not in kept:
        kept[key] = make()
    return kept[key]


def _layout_of_mask(mask, q_length, kv_length, causal):
    if causal or q_length == kv_length:
        keep_q = mask[:, -q_length:]
    else:  # cross attention: the mask is the keys'
        keep_q = mask.new_ones(mask.shape[0], q_length)
    kv_offsets, kv_lengths = _runs(mask, kv_length)
    q_offsets, q_lengths = _runs(keep_q, q_length)
    return kv_offsets, q_offsets, kv_lengths, q_lengths


def _layout(query, key, attention_mask, causal, position_ids, cu_seq_lens_q, cu_seq_lens_k):
    """Where the sequences lie: (kv_offsets, q_offsets, kv_lengths, q_lengths)."""
    (batch, _, q_length, _), kv_length = query.shape, key.shape[2]
    if attention_mask is not None:
        dims = attention_mask.dim()
        require(dims == 2, "attention_mask.dim()", dims, "2: this model makes masks of its own")
        of = q_length, kv_length, causal
        return _once(attention_mask, of, lambda: _layout_of_mask(attention_mask, *of))
    if cu_seq_lens_q is not None and cu_seq_lens_k is not None:
        return cu_seq_lens_k, cu_seq_lens_q, None, None
    if batch == 1 and q_length == kv_length and position_ids is not None:
        if position_ids.is_inference():
            offsets = _offsets_of_positions(position_ids)
        else:
            offsets = _once(position_ids, (), lambda: _offsets_of_positions(position_ids))
        return offsets, offsets, None, None
    rows = torch.arange(batch + 1, device=query.device)
    return rows * kv_length, rows * q_length, None, None


# Sinks, biases and selections of keys, by the names that models pass them by.
_NOT_OFFERED = "s_aux", "sinks", "position_bias", "indices", "block_indices"


def jfa_attention(
    module,
    query,
    key,
    value,
    attention_mask,
    dropout=0.0,
    scaling=None,
    sliding_window=None,
    softcap=None,
    is_causal=None,
    position_ids=None,
    cu_seq_lens_q=None,
    cu_seq_lens_k=None,
    **others,
):
    """transformers' attention interface: query `[batch, heads, length, head_dim]`, out
    `[batch, length, heads, head_dim]`."""
    require(dropout == 0, "dropout", dropout, "0: set the config's attention dropout to 0")
    for name in _NOT_OFFERED:
        require(others.get(name) is None, name, "given", "None: this model's attention is another")
    causal = module.is_causal if is_causal is None else is_causal
    kv_offsets, q_offsets, kv_lengths, q_lengths = _layout(
        query, key, attention_mask, causal, position_ids, cu_seq_lens_q, cu_seq_lens_k
    )
    head_dim, missing = value.shape[3], key.shape[3] - value.shape[3]
    if missing > 0:  # multi-head latent attention
        value = torch.nn.functional.pad(value, (0, missing))
    q, k, v = (t.transpose(1, 2).flatten(0, 1) for t in (query, key, value))
    left = -1 if sliding_window is None else sliding_window - 1
    out = attention(
        q,
        k,
        v,
        kv_offsets,
        q_offsets,
        q_lengths=q_lengths,
        kv_lengths=kv_lengths,
        causal=causal,
        window=(left, -1 if causal else left),
        softmax_scale=scaling,
        softcap=softcap or 0.0,
    )
    return out[..., :head_dim].unflatten(0, (query.shape[0], query.shape[2])), None


AttentionInterface.register("jfa", jfa_attention)
AttentionMaskInterface.register("jfa", padding_mask)
