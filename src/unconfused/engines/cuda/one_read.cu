// Loss and gradient of the likelihood, reading every row once; for compute capability 9 and later.
//
// A tile of rows is fetched into shared memory by one warp. Warps of a first kind multiply it by the
// weights and turn scores into pulls, the loss's derivatives by the scores; warps of a second kind
// multiply pulls by the same rows. The kinds work on different tiles at a time and wait for one
// another at barriers in shared memory.
//
// The tensor cores know numbers of 11 bits: every float is cut into two such, and three of the four
// products are summed, which leaves float32's accuracy. Their own sums are cut, not rounded, so they
// are kept short: over one tile. In a product lane 4 g + t holds entries of row g and of column t.
//
// Given by the compiler: COLUMNS (of a row, filled up to 64, 128, 192 or 256), GROUPS (of warps for
// scores), SCORE_WARPS and SLOPE_WARPS (in a group; for slopes), STAGES (tiles in shared memory),
// FLUSH (tiles summed in float32), TILES_OF_A_CODE (consecutive tiles of the same label code).
#define TILE 32
#define SCORERS (GROUPS * SCORE_WARPS)
#define THREADS (32 * (SCORERS + SLOPE_WARPS + 1))
#define STRIDE (COLUMNS + 4)  // so that lanes read from different banks
#define STEPS (COLUMNS / (8 * SCORE_WARPS))
#define BLOCKS ((COLUMNS + 16 * SLOPE_WARPS - 1) / (16 * SLOPE_WARPS))
#define CLASSES 16
#define PULL_STRIDE (CLASSES + 4)
#define PULLS (TILE * PULL_STRIDE)
#define ALL 0xffffffffu
#define NEGLIGIBLE 1e-30f  // below this chance of its label, logarithms are worth their price
#define FAR_BELOW -1e30f  // the score of a class that is only there to fill up: finite

typedef unsigned int u32;
typedef unsigned long long u64;

__device__ __forceinline__ u32 place(const void* pointer) {
    return (u32)__cvta_generic_to_shared(pointer);
}

__device__ __forceinline__ void set_up(u64* barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(place(barrier)), "r"(arrivals) : "memory");
}

__device__ __forceinline__ void arrive(u64* barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(place(barrier)) : "memory");
}

__device__ __forceinline__ void arrive_before(u64* barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(place(barrier)), "r"(bytes) : "memory");
}

__device__ __forceinline__ void wait_for(u64* barrier, int turn) {
    u32 done;
    do {
        asm volatile(
            "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
            : "=r"(done) : "r"(place(barrier)), "r"(turn & 1) : "memory");
    } while (!done);
}

__device__ __forceinline__ void fetch(float* to, const float* from, int bytes, u64* barrier) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
        ::"r"(place(to)), "l"(from), "r"(bytes), "r"(place(barrier)) : "memory");
}

__device__ __forceinline__ void cut(float x, u32& high, u32& low) {
    high = __float_as_uint(x) & 0xffffe000u;
    low = __float_as_uint(x - __uint_as_float(high));
}

__device__ __forceinline__ void multiply(float (&sum)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ float power_of_e(float x) {
    // __expf is as inexact as its product with log2(e): what that loses is put back.
    const float log2_e = 1.44269504f, rest_of_it = 1.92596303e-8f;
    const float two_to = x * log2_e;
    const float lost = fmaf(x, rest_of_it, fmaf(x, log2_e, -two_to));
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(two_to));
    return fmaf(power, 0.693147181f * lost, power);
}

__device__ __forceinline__ float over_rows(float x) {  // sum over the rows that a warp's lanes have
#pragma unroll
    for (int width = 16; width >= 4; width >>= 1) x += __shfl_xor_sync(ALL, x, width);
    return x;
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) one_read(
    const float* __restrict__ X, const float* __restrict__ by_class, const float* __restrict__ offsets,
    const long long* __restrict__ order, const long long* __restrict__ tile_codes,
    const double* __restrict__ row_weights, const float* __restrict__ chances, const float* __restrict__ counted,
    double* __restrict__ loss, double* __restrict__ slope, double* __restrict__ offset_slope,
    double* __restrict__ table, int n_tiles, int n_columns, int n_classes) {
    extern __shared__ __align__(128) float shared[];
    float* tiles = shared;                                    // STAGES tiles
    float* parts = tiles + STAGES * TILE * STRIDE;            // of scores: 2 for each group, by warp
    float* pulls = parts + 2 * SCORERS * PULLS;               // 2, each cut in two
    float* own_weights = pulls + 4 * PULLS;                   // STAGES x TILE
    uint4* cut_weights = (uint4*)(own_weights + STAGES * TILE);  // as lanes need them
    u64* full = (u64*)(cut_weights + 8 * COLUMNS);            // STAGES: the tile is there
    u64* empty = full + STAGES;                               // STAGES: nobody needs it any more
    u64* pulled = empty + STAGES;                             // 2: pulls are there
    u64* taken = pulled + 2;                                  // 2: nobody needs them any more
    const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5, g = lane >> 2, t = lane & 3;
    const int share_of_block = (n_tiles + gridDim.x - 1) / gridDim.x, first = blockIdx.x * share_of_block;
    const int count = min(share_of_block, n_tiles - first);
    if (count <= 0) return;
    if (tid == 0) {
        for (int s = 0; s < STAGES; ++s) set_up(full + s, 1), set_up(empty + s, SLOPE_WARPS);
        for (int b = 0; b < 2; ++b) set_up(pulled + b, SCORE_WARPS), set_up(taken + b, SLOPE_WARPS);
    }
    // Rows and columns that are only there to fill up must not be NaN.
    for (int at = tid; at < STAGES * TILE * STRIDE; at += THREADS) tiles[at] = 0.f;
    for (int at = tid; at < 8 * COLUMNS; at += THREADS) {
        const int column = 8 * (at >> 6) + (at & 3), q = (at >> 2 & 7) + 8 * (at >> 5 & 1);
        const float* own = by_class + q * n_columns;
        uint4 w;
        cut(q < n_classes && column < n_columns ? own[column] : 0.f, w.x, w.z);
        cut(q < n_classes && column + 4 < n_columns ? own[column + 4] : 0.f, w.y, w.w);
        cut_weights[at] = w;
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();

    if (warp == SCORERS + SLOPE_WARPS) {
        // Fetch rows. What comes next is asked for one tile ahead, as it takes its time.
        const long long* list = order + (long long)first * TILE + lane;
        long long row = list[0], next = count > 1 ? list[TILE] : -1;
        double weight = row >= 0 ? row_weights[row] : 0.0;
        for (int i = 0; i < count; ++i) {
            const int stage = i % STAGES;
            const long long after = i + 2 < count ? list[(long long)(i + 2) * TILE] : -1;
            const double next_weight = next >= 0 ? row_weights[next] : 0.0;
            if (i >= STAGES) wait_for(empty + stage, i / STAGES - 1);
            own_weights[stage * TILE + lane] = (float)weight;
            const u32 there = __ballot_sync(ALL, row >= 0);
            __syncwarp();
            if (lane == 0) arrive_before(full + stage, 4 * n_columns * __popc(there));
            __syncwarp();
            if (row >= 0) fetch(tiles + (stage * TILE + lane) * STRIDE, X + row * n_columns, 4 * n_columns, full + stage);
            row = next, next = after, weight = next_weight;
        }
    } else if (warp < SCORERS) {
        // Scores and pulls. Each warp of a group multiplies a part of the columns; then four lanes
        // have one row, and each of them four classes.
        const int group = warp / SCORE_WARPS, quarter = warp % SCORE_WARPS;
        const int own_row = (tid >> 2) % TILE, own_class = 4 * t;
        const uint4* own_cut_weights = cut_weights + quarter * STEPS * 64 + lane;
        float offset[4], chance[4], posteriors[4], offset_pulls[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            offset[j] = own_class + j < n_classes ? offsets[own_class + j] : FAR_BELOW;
            posteriors[j] = 0.f, offset_pulls[j] = 0.f, chance[j] = 0.f;
        }
        double lost = 0.0;
        int code = -1, next_code = group < count ? (int)tile_codes[(first + group) / TILES_OF_A_CODE] : 0;
        float factor = 0.f;
        auto flush = [&]() {
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                const float seen = over_rows(posteriors[j]), pulled_by = over_rows(offset_pulls[j]);
                if (code >= 0 && g == 0 && own_class + j < n_classes) {
                    atomicAdd(table + code * n_classes + own_class + j, (double)seen);
                    atomicAdd(offset_slope + own_class + j, (double)pulled_by);
                }
                posteriors[j] = 0.f, offset_pulls[j] = 0.f;
            }
        };
        for (int i = group, turn = 0; i < count; i += GROUPS, ++turn) {
            const int stage = i % STAGES, buffer = i & 1;
            float* own_parts = parts + (2 * group + (turn & 1)) * SCORE_WARPS * PULLS;
            if (next_code != code || turn % FLUSH == 0) {
                flush();
                code = next_code, factor = counted[code];
#pragma unroll
                for (int j = 0; j < 4; ++j)
                    chance[j] = own_class + j < n_classes ? chances[code * n_classes + own_class + j] : 0.f;
            }
            if (i + GROUPS < count) next_code = (int)tile_codes[(first + i + GROUPS) / TILES_OF_A_CODE];
            wait_for(full + stage, i / STAGES);
            const float own = factor * own_weights[stage * TILE + own_row];
            float big[2][2][4] = {}, small[2][2][4] = {};
            const float* from = tiles + (stage * TILE + g) * STRIDE + quarter * 8 * STEPS + t;
#pragma unroll
            for (int k = 0; k < STEPS; ++k) {
                const uint4 w[2] = {own_cut_weights[64 * k], own_cut_weights[64 * k + 32]};
#pragma unroll
                for (int m = 0; m < 2; ++m) {
                    const float* x = from + 16 * m * STRIDE + 8 * k;
                    u32 high[4], low[4];
                    cut(x[0], high[0], low[0]);
                    cut(x[8 * STRIDE], high[1], low[1]);
                    cut(x[4], high[2], low[2]);
                    cut(x[8 * STRIDE + 4], high[3], low[3]);
#pragma unroll
                    for (int n = 0; n < 2; ++n) {
                        multiply(big[m][n], high, w[n].x, w[n].y);
                        multiply(small[m][n], high, w[n].z, w[n].w);
                        multiply(small[m][n], low, w[n].x, w[n].y);
                    }
                }
            }
#pragma unroll
            for (int m = 0; m < 2; ++m)
#pragma unroll
                for (int n = 0; n < 2; ++n) {
                    const float (&a)[4] = big[m][n], (&b)[4] = small[m][n];
                    float* to = own_parts + quarter * PULLS + (16 * m + g) * PULL_STRIDE + 8 * n + 2 * t;
                    *(float2*)to = make_float2(a[0] + b[0], a[1] + b[1]);
                    *(float2*)(to + 8 * PULL_STRIDE) = make_float2(a[2] + b[2], a[3] + b[3]);
                }
            asm volatile("bar.sync %0, %1;" ::"r"(1 + group), "n"(32 * SCORE_WARPS) : "memory");
            float score[4] = {offset[0], offset[1], offset[2], offset[3]};
#pragma unroll
            for (int p = 0; p < SCORE_WARPS; ++p) {
                const float4 part = *(float4*)(own_parts + p * PULLS + own_row * PULL_STRIDE + own_class);
                score[0] += part.x, score[1] += part.y, score[2] += part.z, score[3] += part.w;
            }
            float highest = fmaxf(fmaxf(score[0], score[1]), fmaxf(score[2], score[3]));
            highest = fmaxf(highest, __shfl_xor_sync(ALL, highest, 1));
            highest = fmaxf(highest, __shfl_xor_sync(ALL, highest, 2));
            float share[4], joint[4], total = 0.f, seen = 0.f;
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                score[j] -= highest;
                share[j] = power_of_e(score[j]);
                joint[j] = chance[j] * share[j];
                total += share[j], seen += joint[j];
            }
#pragma unroll
            for (int width = 1; width <= 2; width <<= 1) {
                total += __shfl_xor_sync(ALL, total, width);
                seen += __shfl_xor_sync(ALL, seen, width);
            }
            const bool likely = seen > NEGLIGIBLE;
            const float over_seen = likely ? __fdividef(1.f, seen) : 0.f;
            float level = likely ? __logf(seen) : 0.f;
#pragma unroll
            for (int j = 0; j < 4; ++j) joint[j] *= over_seen;
            if (!__all_sync(ALL, likely)) {
                float levels[4], best = FAR_BELOW, among = 0.f;
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    levels[j] = chance[j] > 0.f ? score[j] + __logf(chance[j]) : FAR_BELOW;
                    best = fmaxf(best, levels[j]);
                }
                best = fmaxf(best, __shfl_xor_sync(ALL, best, 1));
                best = fmaxf(best, __shfl_xor_sync(ALL, best, 2));
#pragma unroll
                for (int j = 0; j < 4; ++j) among += power_of_e(levels[j] - best);
                among += __shfl_xor_sync(ALL, among, 1);
                among += __shfl_xor_sync(ALL, among, 2);
#pragma unroll
                for (int j = 0; j < 4; ++j) joint[j] = likely ? joint[j] : __fdividef(power_of_e(levels[j] - best), among);
                level = likely ? level : best + __logf(among);
            }
            if (t == 0 && own != 0.f) lost += (double)(own * (__logf(total) - level));
            const float over_total = __fdividef(1.f, total);
            u32 high[4], low[4];
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                const float pull = own * (share[j] * over_total - joint[j]);
                posteriors[j] += own * joint[j];
                offset_pulls[j] += pull;
                cut(pull, high[j], low[j]);
            }
            if (i >= 2) wait_for(taken + buffer, i / 2 - 1);
            float* to = pulls + 2 * buffer * PULLS + own_row * PULL_STRIDE + own_class;
            *(uint4*)to = make_uint4(high[0], high[1], high[2], high[3]);
            *(uint4*)(to + PULLS) = make_uint4(low[0], low[1], low[2], low[3]);
            __syncwarp();
            if (lane == 0) arrive(pulled + buffer);
        }
        flush();
#pragma unroll
        for (int width = 16; width >= 1; width >>= 1) lost += __shfl_xor_sync(ALL, lost, width);
        if (lane == 0) atomicAdd(loss, lost);
    } else {
        // Sums of pull times row. A step takes eight rows; lane t has rows 2 t and 2 t + 1 of them,
        // so that lanes read from different banks.
        const int begin = (warp - SCORERS) * BLOCKS * 16;
        float sum[BLOCKS][2][4] = {};
        for (int i = 0; i < count; ++i) {
            const int stage = i % STAGES, buffer = i & 1;
            float big[BLOCKS][2][4] = {}, small[BLOCKS][2][4] = {};
            wait_for(full + stage, i / STAGES);
            wait_for(pulled + buffer, i / 2);
            if (begin < COLUMNS) {
                const u32* pull = (const u32*)pulls + 2 * buffer * PULLS + g;
                const float* from = tiles + stage * TILE * STRIDE + begin + g;
#pragma unroll
                for (int k = 0; k < TILE / 8; ++k) {
                    u32 high_pull[2][2], low_pull[2][2];
#pragma unroll
                    for (int n = 0; n < 2; ++n)
#pragma unroll
                        for (int b = 0; b < 2; ++b) {
                            const u32* at = pull + (8 * k + 2 * t + b) * PULL_STRIDE + 8 * n;
                            high_pull[n][b] = at[0], low_pull[n][b] = at[PULLS];
                        }
#pragma unroll
                    for (int m = 0; m < BLOCKS; ++m) {
                        const float* x = from + (8 * k + 2 * t) * STRIDE + 16 * m;
                        u32 high[4], low[4];
                        cut(x[0], high[0], low[0]);
                        cut(x[8], high[1], low[1]);
                        cut(x[STRIDE], high[2], low[2]);
                        cut(x[STRIDE + 8], high[3], low[3]);
#pragma unroll
                        for (int n = 0; n < 2; ++n) {
                            multiply(big[m][n], high, high_pull[n][0], high_pull[n][1]);
                            multiply(small[m][n], high, low_pull[n][0], low_pull[n][1]);
                            multiply(small[m][n], low, high_pull[n][0], high_pull[n][1]);
                        }
                    }
                }
            }
            __syncwarp();
            if (lane == 0) arrive(taken + buffer), arrive(empty + stage);
            const bool now = i % FLUSH == FLUSH - 1 || i + 1 == count;
#pragma unroll
            for (int m = 0; m < BLOCKS; ++m)
#pragma unroll
                for (int n = 0; n < 2; ++n)
#pragma unroll
                    for (int e = 0; e < 4; ++e) {
                        sum[m][n][e] += big[m][n][e] + small[m][n][e];
                        const int column = begin + 16 * m + g + 8 * (e >> 1), q = 8 * n + 2 * t + (e & 1);
                        if (now && column < n_columns && q < n_classes)
                            atomicAdd(slope + q * n_columns + column, (double)sum[m][n][e]);
                        if (now) sum[m][n][e] = 0.f;
                    }
        }
    }
}
