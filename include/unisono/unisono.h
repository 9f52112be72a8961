/* SPDX-FileCopyrightText: 2026 the unisono authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * unisono for C: the stable interface. Opaque handles, integer status codes (0 is success), and
 * unisono_last_error() for the words. Every function may be called from any thread.
 *
 *   unisono_engine* engine;
 *   if (unisono_join(NULL, &engine)) { puts(unisono_last_error()); return 1; }
 *   unisono_call call = unisono_call_init();
 *   unisono_ticket* ticket;
 *   int64_t shape[] = {1024};
 *   unisono_allreduce(engine, "layer1.weight", UNISONO_F32, 1, shape, data, data, &call, &ticket);
 *   if (unisono_wait(ticket, -1)) puts(unisono_last_error());
 *   unisono_ticket_free(ticket);
 *   unisono_leave(engine);
 *
 * A null engine means the default engine of the process: unisono_init() and unisono_shutdown().
 */
#ifndef UNISONO_H
#define UNISONO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define UNISONO_C_API __attribute__((visibility("default")))

typedef struct unisono_engine unisono_engine;
typedef struct unisono_ticket unisono_ticket;
typedef struct unisono_world unisono_world;
typedef struct unisono_persistent unisono_persistent;
typedef struct unisono_block unisono_block;

/* Status codes; the same numbers as unisono::Code. */
enum {
  UNISONO_OK = 0,
  UNISONO_INVALID_ARGUMENT = 1,
  UNISONO_DUPLICATE_NAME = 2,
  UNISONO_MISMATCH = 3,
  UNISONO_PEER_LOST = 4,
  UNISONO_PEER_LEFT = 5,
  UNISONO_TIMED_OUT = 6,
  UNISONO_STALLED = 7,
  UNISONO_NOT_INITIALIZED = 8,
  UNISONO_SHUT_DOWN = 9,
  UNISONO_FORKED = 10,
  UNISONO_REFUSED = 11,
  UNISONO_UNAVAILABLE = 12,
  UNISONO_CORRUPTED = 13,
  UNISONO_OUT_OF_MEMORY = 14,
  UNISONO_INTERNAL = 15
};

typedef enum {
  UNISONO_F32 = 0, UNISONO_F64 = 1, UNISONO_F16 = 2, UNISONO_BF16 = 3, UNISONO_F8E4M3 = 4,
  UNISONO_F8E5M2 = 5, UNISONO_I8 = 6, UNISONO_I16 = 7, UNISONO_I32 = 8, UNISONO_I64 = 9,
  UNISONO_U8 = 10, UNISONO_U16 = 11, UNISONO_U32 = 12, UNISONO_U64 = 13, UNISONO_BOOL = 14
} unisono_dtype;

typedef enum {
  UNISONO_SUM = 0, UNISONO_AVERAGE = 1, UNISONO_MIN = 2, UNISONO_MAX = 3, UNISONO_PRODUCT = 4,
  UNISONO_AND = 5, UNISONO_OR = 6, UNISONO_ADASUM = 7
} unisono_op;

/* Called on the engine's thread when an operation ends, with its status code and message. The
 * message is valid during the call only. The callback must not wait on a ticket of the engine. */
typedef void (*unisono_callback)(int code, const char* message, void* context);

/* What every collective accepts. Start from unisono_call_init(): size lets the struct grow. A
 * library that is newer than this header reads only the fields below; an older one refuses fields
 * that it does not know unless they are zero. It ends without padding: new fields come in pairs of
 * 32 bits, or fill 64. */
typedef struct {
  size_t size;
  unisono_op op;
  double prescale;
  double postscale;
  uint32_t process_set;
  int32_t priority;
  const char* codec;         /* such as "bf16" or "ef|topk:512:4|qsgd:4"; NULL: the job's; read
                              * during the call only */
  unisono_callback on_done;  /* or NULL */
  void* context;             /* for on_done */
  int32_t keep_inputs;       /* not 0: a failure leaves the output as it was; else undefined */
  int32_t team;              /* which of the option teams, from 1; 0: any */
} unisono_call;

static inline unisono_call unisono_call_init(void) {
  unisono_call call = {sizeof(unisono_call), UNISONO_AVERAGE, 1.0, 1.0, 0, 0, NULL, NULL, NULL, 0, 0};
  return call;
}

UNISONO_C_API const char* unisono_version(void);
/* The last error of this thread: who, what, why and how to fix it; "" when there was none. */
UNISONO_C_API const char* unisono_last_error(void);
/* The rank blamed for the last error of this thread, or -1. */
UNISONO_C_API int unisono_last_culprit(void);

/* options: "key=value" lines that override the environment's, or NULL. */
UNISONO_C_API int unisono_join(const char* options, unisono_engine** engine);
UNISONO_C_API void unisono_leave(unisono_engine* engine);
UNISONO_C_API int unisono_init(void);
UNISONO_C_API int unisono_shutdown(void);
UNISONO_C_API int unisono_is_initialized(void);

/* Ranks as threads of this process. */
UNISONO_C_API unisono_world* unisono_world_create(int size);
UNISONO_C_API void unisono_world_free(unisono_world* world);
UNISONO_C_API int unisono_join_world(unisono_world* world, int rank, const char* options,
                                     unisono_engine** engine);

/* Returns -1 and sets unisono_last_error() when there is no engine. */
UNISONO_C_API int unisono_rank(unisono_engine* engine);
UNISONO_C_API int unisono_size(unisono_engine* engine);
UNISONO_C_API int unisono_local_rank(unisono_engine* engine);
UNISONO_C_API int unisono_local_size(unisono_engine* engine);

/* output may equal input. The buffers must stay valid until the ticket is done. After a failure the
 * output is undefined, unless keep_inputs was asked for. A call that fails at once has written
 * nothing and also returns its error. */
UNISONO_C_API int unisono_allreduce(unisono_engine* engine, const char* name, unisono_dtype dtype,
                                    int dims, const int64_t* shape, const void* input,
                                    void* output, const unisono_call* call,
                                    unisono_ticket** ticket);
/* All or nothing: count tensors of any shapes are ready and run as one unit. tickets has count
 * slots; all are NULL when the call fails at once. */
UNISONO_C_API int unisono_grouped_allreduce(unisono_engine* engine, const char* group, int count,
                                            const char* const* names, unisono_dtype dtype,
                                            const int* dims, const int64_t* const* shapes,
                                            const void* const* inputs, void* const* outputs,
                                            const unisono_call* call, unisono_ticket** tickets);
UNISONO_C_API int unisono_broadcast(unisono_engine* engine, const char* name, unisono_dtype dtype,
                                    int dims, const int64_t* shape, const void* input,
                                    void* output, int root, const unisono_call* call,
                                    unisono_ticket** ticket);
/* The results of these are read with unisono_output_*. */
UNISONO_C_API int unisono_allgather(unisono_engine* engine, const char* name, unisono_dtype dtype,
                                    int dims, const int64_t* shape, const void* input,
                                    const unisono_call* call, unisono_ticket** ticket);
UNISONO_C_API int unisono_reducescatter(unisono_engine* engine, const char* name,
                                        unisono_dtype dtype, int dims, const int64_t* shape,
                                        const void* input, const unisono_call* call,
                                        unisono_ticket** ticket);
/* splits: rows for each member, or NULL for equal parts. */
UNISONO_C_API int unisono_alltoall(unisono_engine* engine, const char* name, unisono_dtype dtype,
                                   int dims, const int64_t* shape, const void* input,
                                   const int64_t* splits, int split_count,
                                   const unisono_call* call, unisono_ticket** ticket);

/* An operator of the caller's, instead of op: associative, applied in the order of ranks, with a
 * neutral element, which is what absent elements count as. Ranks must mean the same by its name.
 * The functions are called from any thread of the engine while the operation is under way. */
typedef struct {
  const char* name;
  void (*combine)(void* accumulator, const void* other, size_t count, void* context);
  void (*fill_neutral)(void* out, size_t count, void* context);
  void* context;
} unisono_sparse_operator;

/* What sparse collectives accept besides unisono_call, of which codec and keep_inputs do not count.
 * Start from unisono_sparse_call_init(). Must be the same on all ranks. */
typedef struct {
  size_t size;
  const char* algorithm;     /* NULL: chosen from how many elements the ranks have */
  uint64_t expected_nnz;     /* elements on each rank, for the choice; 0: what the ranks say */
  uint64_t top_k;            /* oktopk: elements of the result; 0: the most of any rank */
  int32_t allow_loss;        /* not 0: "oktopk" may be chosen, which leaves elements out */
  int32_t same_indices;      /* not 0: ranks most likely have the same indices */
  int32_t refuse_overlap;    /* not 0, allgather: an index on two ranks is an error */
  int32_t gather_bits;       /* 2, 4 or 8: of each sum that dsar_split_allgather gathers; 0: all */
  const unisono_sparse_operator* user_operator; /* or NULL; read during the call only */
} unisono_sparse_call;

static inline unisono_sparse_call unisono_sparse_call_init(void) {
  unisono_sparse_call call = {sizeof(unisono_sparse_call), NULL, 0, 0, 0, 0, 0, 0, NULL};
  return call;
}

/* Some elements of a vector of `length`: count indices of index_dtype (I32, I64, U32 or U64) in any
 * order, and as many values. Both are copied before the call returns. What is absent counts as the
 * operator's neutral element. Read the result with the two calls below. */
UNISONO_C_API int unisono_sparse_allreduce(unisono_engine* engine, const char* name,
                                           unisono_dtype dtype, int64_t length, size_t count,
                                           unisono_dtype index_dtype, const void* indices,
                                           const void* values, const unisono_call* call,
                                           const unisono_sparse_call* sparse,
                                           unisono_ticket** ticket);
/* Everybody's elements together; those with the same index are combined in the order of ranks. */
UNISONO_C_API int unisono_sparse_allgather(unisono_engine* engine, const char* name,
                                           unisono_dtype dtype, int64_t length, size_t count,
                                           unisono_dtype index_dtype, const void* indices,
                                           const void* values, const unisono_call* call,
                                           const unisono_sparse_call* sparse,
                                           unisono_ticket** ticket);
/* After unisono_wait(): how many elements the result has, and whether it is dense: then it has all
 * of them. Either place may be NULL. */
UNISONO_C_API int unisono_sparse_count(unisono_ticket* ticket, size_t* count, int* dense);
/* Copies them; capacity is the room for elements in each array, and either array may be NULL. */
UNISONO_C_API int unisono_sparse_copy(unisono_ticket* ticket, int64_t* indices, void* values,
                                      size_t capacity);
/* The name of the algorithm that ran; "" while there is no result. */
UNISONO_C_API const char* unisono_sparse_algorithm(unisono_ticket* ticket);
/* An allreduce agreed on once and run again and again: no name to look up, nothing to negotiate.
 * Every member of the process set prepares it under the same name. */
UNISONO_C_API int unisono_prepare_allreduce(unisono_engine* engine, const char* name,
                                            unisono_dtype dtype, int dims, const int64_t* shape,
                                            const void* input, void* output,
                                            const unisono_call* call,
                                            unisono_persistent** persistent);
/* Runs it on what the input holds now. The ticket of the previous run must be done. */
UNISONO_C_API int unisono_start(unisono_persistent* persistent, unisono_ticket** ticket);
/* Collective: every member releases it. The handle is invalid afterwards, even after an error. */
UNISONO_C_API int unisono_release(unisono_persistent* persistent);
UNISONO_C_API int unisono_barrier(unisono_engine* engine, uint32_t process_set);
/* Waits until every rank has joined; last_rank receives the last one. */
UNISONO_C_API int unisono_join_ranks(unisono_engine* engine, int* last_rank);

/* All ranks agree on another ordering strategy; nothing in flight is lost. Collective. */
UNISONO_C_API int unisono_switch_order(unisono_engine* engine, const char* strategy,
                                       uint32_t process_set);

/* A node of the graph of a step. One with sum is an allreduce, submitted under the node's name. */
typedef struct {
  const char* name;
  const uint32_t* inputs;    /* nodes that end before this one begins */
  size_t input_count;
  int32_t sum;               /* 0: it computes, and the rest is not read */
  unisono_dtype dtype;
  int dims;
  const int64_t* shape;
  const unisono_call* call;  /* or NULL */
} unisono_graph_node;

/* The order of collectives follows from this graph and the nodes that are fetched, from the first
 * step on and without a message. All ranks give the same graph, or all get an error. Collective. */
UNISONO_C_API int unisono_follow_graph(unisono_engine* engine, const unisono_graph_node* nodes,
                                       size_t count, const uint32_t* fetches, size_t fetch_count,
                                       uint32_t process_set);

/* Memory that all ranks of the host map: tensors in it are reduced in place. It is zero and aligned
 * to 4 KiB. A tensor that is being reduced when a rank dies is left undefined. A block may outlive
 * its engine. */
UNISONO_C_API int unisono_arena_allocate(unisono_engine* engine, size_t bytes,
                                         unisono_block** block);
UNISONO_C_API void* unisono_block_data(unisono_block* block);
UNISONO_C_API size_t unisono_block_size(unisono_block* block);
UNISONO_C_API void unisono_block_free(unisono_block* block);
/* In bytes; 0 when there is no engine. */
UNISONO_C_API size_t unisono_arena_used(unisono_engine* engine);
UNISONO_C_API size_t unisono_arena_capacity(unisono_engine* engine);

/* What the engine has counted since it joined, by the names in unisono/stats_table.h. The first
 * function is for counts, the second for the names that end in _s. */
UNISONO_C_API int unisono_stat_count(unisono_engine* engine, const char* name, uint64_t* value);
UNISONO_C_API int unisono_stat_seconds(unisono_engine* engine, const char* name, double* value);
/* All names; the list ends with NULL and lives as long as the process. */
UNISONO_C_API const char* const* unisono_stat_names(void);
/* Names the slow rank in a sentence: writes at most size - 1 bytes of it and a zero to text.
 * slow_rank, unless NULL, receives the rank, or -1 when no rank stands out. */
UNISONO_C_API int unisono_verdict(unisono_engine* engine, char* text, size_t size, int* slow_rank);

/* Says which algorithms allreduces over messages run, and why: writes at most size - 1 bytes of it and
 * a zero to text. needed, unless NULL, receives how many bytes all of it takes, the zero included. */
UNISONO_C_API int unisono_explain(unisono_engine* engine, char* text, size_t size, size_t* needed);

/* Writes a timeline for chrome://tracing or Perfetto until it is stopped; rank 3 of run.json writes
   run.3.json. */
UNISONO_C_API int unisono_start_timeline(unisono_engine* engine, const char* path, int mark_cycles);
UNISONO_C_API int unisono_stop_timeline(unisono_engine* engine);

/* What codecs have not sent yet and need besides, of this rank, for a checkpoint: writes it to state
 * where it fits into size bytes. needed, unless NULL, receives how many bytes it takes. Loading it
 * gives the same bits from there on. Both fail while an allreduce with a codec is on its way. */
UNISONO_C_API int unisono_codec_state(unisono_engine* engine, void* state, size_t size,
                                      size_t* needed);
UNISONO_C_API int unisono_load_codec_state(unisono_engine* engine, const void* state, size_t size);

UNISONO_C_API int unisono_add_process_set(unisono_engine* engine, const int* ranks, int count,
                                          uint32_t* id);
UNISONO_C_API int unisono_remove_process_set(unisono_engine* engine, uint32_t id);

/* timeout_s < 0 waits without limit. The ticket stays valid until freed. */
UNISONO_C_API int unisono_wait(unisono_ticket* ticket, double timeout_s);
UNISONO_C_API int unisono_done(unisono_ticket* ticket);
UNISONO_C_API const void* unisono_output_data(unisono_ticket* ticket, size_t* bytes);
UNISONO_C_API int unisono_output_dims(unisono_ticket* ticket);
UNISONO_C_API const int64_t* unisono_output_shape(unisono_ticket* ticket);
UNISONO_C_API const int64_t* unisono_output_splits(unisono_ticket* ticket, int* count);
UNISONO_C_API void unisono_ticket_free(unisono_ticket* ticket);

#ifdef __cplusplus
}
#endif

#endif
