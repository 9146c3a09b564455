// What the forward kernels of all chips share: their arguments, how the queries of a batch are cut
// into tiles and a tile's keys into blocks, what stands around scores and outputs, and the role
// `schedule`: it takes items (runs of query tiles) from a plan and says in Smem::work, tile by
// tile, what is to be done. loads.hpp has what loads.
#pragma once

#include "kernels/forward/arguments.hpp"
#include "kernels/forward/gaps.hpp"
#include "kernels/forward/mask.hpp"
#include "kernels/forward/scores.hpp"
#include "kernels/items.hpp"
#include "plan/schedule.hpp"

namespace jfa::inline JFA_BACKEND {

struct ForwardConfig {
  int head_dim = 128;  // of the tiles; tensors may have less
  int groups = 2;      // warpgroups that attend, 64 rows of a tile each
  int keys = 128;      // a block
  int q_slots = 3;
  int kv_slots = 4;         // for a block of K or of V
  bool turns = false;       // warpgroups issue MMAs by turns
  bool half = false;        // fp16 instead of bf16
  int blocks = 1;           // that a multiprocessor has at once
  bool shares_keys = true;  // tiles of a run share keys and values, where the mask lets them
  int polynomial = 0;       // of so many exponentials one is a polynomial; 0: none
  bool draws_late = false;  // for tiles that take long, where a mask makes some take much longer
};

/// `Rows`: of a tile, for each warpgroup that attends.
template <class Machine, ForwardConfig Config, template <class> class MaskPolicy,
          template <class> class ScorePolicy, int Rows>
struct ForwardTiles {
  using M = Machine;
  static constexpr ForwardConfig C = Config;
  using Mask = MaskPolicy<M>;
  using Scores = ScorePolicy<M>;
  using T = std::conditional_t<C.half, fp16, bf16>;

  static constexpr int kClusterSize = 1;
  static constexpr int kBlocksPerProcessor = 1;
  static constexpr int kGroups = C.groups;
  static constexpr int kGroupRows = Rows;
  static constexpr int kTileRows = kGroups * kGroupRows;
  /// Blocks of lists are multiples of 64 rows: each part of a tile stands in one row of lists.
  static constexpr int kPartRows = 64;
  static constexpr int kParts = kTileRows / kPartRows;
  static constexpr int kGroupParts = kGroupRows / kPartRows;
  static constexpr bool kDrawsLate = C.draws_late && !Mask::kSharesKeys;
  static constexpr int kRunTiles = 8;  // of a run at most, so that long ones can be shared out

  /// One tile of queries: what every role needs to know of it.
  struct alignas(16) Work {
    Visits visits[kGroups];
    int blocks;  // of keys; 0: there is no more work
    int first_block;
    int first_of_run;  // its keys and values are loaded
    int last_of_run;   // ... and given back
    int q_head;        // the first of `pack` heads
    int kv_head;
    int q_row;  // first query of the tile, in its sequence
    int q_end;  // behind its last
    int q_begin;
    int q_length;
    int kv_begin;
    int kv_length;
    int out_begin;
    int block_row;  // of block-sparse lists: the sequence's first
    int sequence;   // its place in the batch
  };

  /// A block of keys and who visits it.
  struct ListedBlock {
    int place;  // from the tile's first block
    int flags;
  };
  static constexpr int kVisit = 1;         // times 2^group
  static constexpr int kMasked = 1 << 8;   // times 2^group, of which a window hides something
  static constexpr int kLast = 1 << 16;    // of the tile's blocks
  static constexpr int kFirst = 1 << 20;   // times 2^group, of the group's: Blackwell's kernel
  static constexpr int kHidden = 1 << 24;  // times 2^part, for which lists do not name the block

  using QTile = Tile<M, T, kGroupRows, C.head_dim>;
  using KvTile = Tile<M, T, C.keys, C.head_dim>;
  struct QSlot {
    QTile group[kGroups];
  };

  struct Params {
    typename M::TensorMap q;
    typename M::TensorMap k;
    typename M::TensorMap v;
    typename M::TensorMap out;
    OutputRows<T> outputs;
    const PlannedSequence* plan;
    DeviceRows q_rows;
    int batch;
    int* ticket;
    int packs;      // of query heads
    int pack_log2;  // heads of a pack: they share a tile, neighbours in its rows
    int kv_packs;   // packs that share a key/value head
    ItemShape shape;
    typename Mask::Params mask;
    typename Scores::Params scores;
  };

  /// The most neighbouring query heads that share keys, and lists, and fill a tile evenly.
  static int pack_of(int heads_q, int heads_kv, int list_heads) {
    int pack = 1;
    while (list_heads <= 1 && pack < kGroupRows && heads_q / heads_kv % (2 * pack) == 0) pack *= 2;
    return pack;
  }

  /// How the plan must cut sequences. Runs need tiles that see the same keys.
  static ItemShape item_shape(int heads_q, int heads_kv, int list_heads = 0) {
    return {kTileRows / pack_of(heads_q, heads_kv, list_heads), C.keys,
            Mask::kSharesKeys && C.shares_keys ? C.kv_slots / 2 * C.keys : 0, kRunTiles};
  }

  static Params make_params(const ForwardArguments<T>& a) {
    const int pack = pack_of(a.heads_q, a.heads_kv, a.lists.heads);
    int pack_log2 = 0;
    while (1 << pack_log2 < pack) ++pack_log2;
    return {a.template map<M, typename QTile::View>(a.q, a.heads_q, pack),
            a.template map<M, typename KvTile::View>(a.k, a.heads_kv),
            a.template map<M, typename KvTile::View>(a.v, a.heads_kv),
            a.template map<M, typename QTile::View>(a.out, a.heads_q, pack),
            {a.out.data, a.lse.data, a.out.row_stride, a.out.head_stride, a.lse.head_stride,
             a.heads_q, a.head_dim},
            a.plan,
            a.q_rows,
            a.batch,
            a.ticket,
            a.heads_q / pack,
            pack_log2,
            a.heads_q / a.heads_kv / pack,
            item_shape(a.heads_q, a.heads_kv, a.lists.heads),
            Mask::Params::of(a.window, a.lists),
            Scores::Params::of(a.softmax_scale, a.softcap)};
  }

  /// The first query of a warpgroup's part of a tile, counted from the tile's.
  static JFA_DEVICE int first_query(const Params& p, int group) {
    return group * kGroupRows >> p.pack_log2;
  }
  /// Whether a warpgroup has rows in a tile. Roles that skip a warpgroup's part ask this.
  static JFA_DEVICE bool has_rows(const Params& p, const Work& work, int group) {
    return work.q_row + first_query(p, group) < work.q_end;
  }

  /// Writes the natural-log log-sum-exp of row `row` of a tile in shared memory, if there is one.
  static JFA_DEVICE void store_lse(const Params& p, const Work& tile, int row, float lse) {
    const int query = M::load_shared(&tile.q_row) + (row >> p.pack_log2);
    if (query >= M::load_shared(&tile.q_length)) return;
    const int head = M::load_shared(&tile.q_head) + (row & ((1 << p.pack_log2) - 1));
    float* to = p.outputs.lse + head * p.outputs.lse_head_stride;
    M::store_global(to + M::load_shared(&tile.out_begin) + query, lse);
  }

  /// Hides from the scores of `block`, counted from the tile's first, what the mask hides from a
  /// group's rows. The tile is in shared memory.
  static JFA_DEVICE void hide(const Params& p, const Work& tile, int group, int block, auto& s) {
    const Mask mask{p.mask, TileRows{.first = M::load_shared(&tile.q_row) + first_query(p, group),
                                     .pack_log2 = p.pack_log2,
                                     .q_length = M::load_shared(&tile.q_length),
                                     .kv_length = M::load_shared(&tile.kv_length)}};
    const int first_key = (M::load_shared(&tile.first_block) + block) * C.keys;
    s.apply([&](int row, int col, float& value) {
      value = mask.sees(row, first_key + col) ? value : -__builtin_inff();
    });
  }

  /// fn(work) in a role, by all its threads, for each tile.
  static JFA_DEVICE void for_each_work(auto& smem, auto fn, Site site = Site::here()) {
    auto r = smem.work.reader();
    for (;;) {
      const Work work = M::load_shared(&smem.work.wait(r, site), site);
      smem.work.release(r, site);
      if (work.blocks == 0) break;
      fn(work);
    }
  }

  /// A block's share of the outputs' rows of no sequence, by a warp. Broadcast queries leave none.
  static JFA_DEVICE void fill_gaps(const Params& p) {
    if (p.q_rows.offsets.data == nullptr) return;
    FillGaps<M, T>{p.outputs, M::lane(), 32}.run(p.q_rows, p.batch);
  }

  /// Copies a group's part of O out, on one thread.
  static JFA_DEVICE void store_part(const Params& p, const Work& work, int group, QTile& part) {
    const RaggedRows rows{work.out_begin, work.q_length};
    const int row = work.q_row + first_query(p, group);
    tma_store(p.out, {0, work.q_head, rows.at(row), rows.end(), kRaggedRows}, part);
    M::bulk_commit();
  }

  // ---- schedule

  /// Blocks begin .. end - 1 of a sequence.
  struct Blocks {
    int begin;
    int end;
  };

  /// The blocks that hold visible keys of `queries`. Queries that see no key visit one block,
  /// masked whole: they have outputs to write.
  static JFA_DEVICE Blocks blocks_of(const Params& p, Range queries, Extent extent) {
    const Range keys = Mask::some_keys(p.mask, queries, extent);
    const int begin = keys.begin < 0 ? 0 : static_cast<int>(keys.begin);
    if (keys.end <= begin) return {0, 1};
    return {begin / C.keys, (static_cast<int>(keys.end) + C.keys - 1) / C.keys};
  }

  /// What `group` visits of a tile's blocks.
  static JFA_DEVICE Visits visits_of(const Params& p, int group, Range tile, Extent extent,
                                     Blocks blocks) {
    const std::int64_t first = tile.begin + first_query(p, group);
    const std::int64_t last = tile.begin + first_query(p, group + 1);
    const Range queries{first, last < tile.end ? last : tile.end};
    if (queries.begin >= queries.end) return {};
    const Blocks own = blocks_of(p, queries, extent);
    const Range plain = Mask::all_keys(p.mask, queries, extent);
    const int plain_begin = plain.begin < 0 ? 0 : static_cast<int>(plain.begin);
    const int plain_end = plain.end < 0 ? 0 : static_cast<int>(plain.end);
    // Rows that see no key may stand beside rows whose blocks begin later; any block will do.
    const bool inside = own.begin >= blocks.begin && own.end <= blocks.end;
    return {inside ? own.begin - blocks.begin : 0, inside ? own.end - blocks.begin : 1,
            (plain_begin + C.keys - 1) / C.keys - blocks.begin, plain_end / C.keys - blocks.begin};
  }

  /// Queries of one of a sequence's `tiles` tiles. Warpgroups' parts are dealt out evenly: two
  /// tiles of two take less time than one of three and one of one.
  static JFA_DEVICE Range queries_of(const Params& p, int q_length, int tiles, int tile) {
    const int part = first_query(p, 1);
    const int parts = (q_length + part - 1) / part;
    const int each = parts / tiles;
    const int larger = parts % tiles;  // tiles with one part more
    const int begin = each * tile + (tile < larger ? tile : larger);
    const int end = (begin + each + (tile < larger ? 1 : 0)) * part;
    return {begin * part, end < q_length ? end : q_length};
  }

  /// The tile's work, all but its place in a run. `tile` counts from the sequence's first.
  static JFA_DEVICE Work describe(const Params& p, const PlannedSequence& s, int pack, int tiles,
                                  int tile) {
    const Range queries = queries_of(p, s.q_length, tiles, tile);
    const Extent extent{s.q_length, s.kv_length};
    const Blocks blocks = blocks_of(p, queries, extent);
    Work work{.visits = {},
              .blocks = blocks.end - blocks.begin,
              .first_block = blocks.begin,
              .first_of_run = 1,
              .last_of_run = 1,
              .q_head = pack << p.pack_log2,
              .kv_head = pack / p.kv_packs,
              .q_row = static_cast<int>(queries.begin),
              .q_end = static_cast<int>(queries.end),
              .q_begin = s.q_begin,
              .q_length = s.q_length,
              .kv_begin = s.kv_begin,
              .kv_length = s.kv_length,
              .out_begin = s.out_begin,
              .block_row = 0,
              .sequence = s.index};
    if constexpr (Mask::kListed) {
      const int* first_rows = p.mask.lists.first_rows;
      if (first_rows != nullptr) work.block_row = M::load_global(first_rows + s.index);
    }
    JFA_UNROLL
    for (int group = 0; group < kGroups; ++group) {
      work.visits[group] = visits_of(p, group, queries, extent, blocks);
    }
    return work;
  }

  struct Place {
    int pack;
    int run;
  };

  /// The pack of heads and the run of a sequence's item `i`. Where a mask gives runs different
  /// costs, the last, most expensive under causal masks, come first, over as many packs as have
  /// their keys and values in L2 together; but the cheaper half of runs after the dearer half of
  /// all packs, and so on: what comes last of a sequence must be cheap, or few blocks work at the
  /// end.
  static JFA_DEVICE Place place_of(const Params& p, const PlannedSequence& s, int i) {
    constexpr int kCachedBytes = 24 << 20;
    int together = 1;
    int begin = 0;
    int end = s.items;
    if constexpr (!Mask::kSharesKeys) {
      const int row_bytes = 2 * C.head_dim * static_cast<int>(sizeof(T));
      const int fitting = kCachedBytes / row_bytes / (s.kv_length + 1);
      together = fitting < 1 ? 1 : fitting < p.packs ? fitting : p.packs;
      for (begin = end / 2; i >= (end - begin) * p.packs; begin = end / 2) {
        i -= (end - begin) * p.packs;
        end = begin;
      }
    }
    const int runs = end - begin;
    const int before = i / (runs * together) * together;
    const int size = before + together < p.packs ? together : p.packs - before;
    const int within = i - before * runs;
    return {before + within % size, end - 1 - within / size};
  }

  static JFA_DEVICE void schedule(const Params& p, auto& smem) {
    auto w = smem.work.writer();
    const auto found = [&](const Work& work) { publish<M>(smem.work, w, work); };
    const int items = M::load_global(&p.plan[p.batch].first_item) * p.packs;
    int at = 0;
    for (int item = M::block_index(); item < items;) {
      at = find_item<M>(p.plan, p.batch, p.packs, at, item);
      const PlannedSequence s = M::load_global(&p.plan[at]);
      const Place place = place_of(p, s, item - s.first_item * p.packs);
      const int run_tiles = p.shape.tiles_of_item(s.kv_length);
      const int tiles = p.shape.tiles(s.q_length);
      const int first = place.run * run_tiles;
      const int last = first + run_tiles < tiles ? first + run_tiles : tiles;
      int ticket = kDrawsLate ? 0 : draw<M>(p.ticket);
      for (int tile = first; tile < last; ++tile) {
        Work work = describe(p, s, place.pack, tiles, tile);
        work.first_of_run = tile == first ? 1 : 0;
        work.last_of_run = tile == last - 1 ? 1 : 0;
        found(work);
      }
      if (kDrawsLate) ticket = draw_late<M>(smem.work, w, p.ticket);
      const int drawn = M::shuffle(ticket, 0);
      // One draw an item: this was the last of the launch.
      if (drawn == items - 1 && M::lane() == 0) M::atomic_add(p.ticket, -items);
      item = M::grid_size() + drawn;
    }
    found({});
  }
};

}  // namespace jfa::inline JFA_BACKEND
