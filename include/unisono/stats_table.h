/* SPDX-FileCopyrightText: 2026 the unisono authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every number that an engine counts, listed once. The engine's counters, unisono::Stats,
 * unisono_stat_*() of C, Engine.stats() of Python and docs/STATISTICS.md are made of these rows.
 *   COUNT(name, about)  counted by the engine
 *   TIME(name, about)   nanoseconds counted by the engine, shown as seconds under name_s
 *   NOW_COUNT(name, about), NOW_SECONDS(name_s, about)  read when asked for
 */
#ifndef UNISONO_STATS_TABLE_H
#define UNISONO_STATS_TABLE_H

#define UNISONO_STATS(COUNT, TIME, NOW_COUNT, NOW_SECONDS)                                        \
  COUNT(control_messages, "messages of the negotiation")                                          \
  COUNT(control_bytes, "their bytes")                                                             \
  COUNT(data_bytes, "bytes of tensors sent, or written to shared memory")                         \
  COUNT(cycles, "negotiation rounds")                                                             \
  COUNT(buckets, "buckets that were moved")                                                       \
  COUNT(buckets_below_4k, "of them, those of less than 4 KiB")                                    \
  COUNT(buckets_below_64k, "from 4 KiB to less than 64 KiB")                                      \
  COUNT(buckets_below_1m, "from 64 KiB to less than 1 MiB")                                       \
  COUNT(buckets_below_16m, "from 1 MiB to less than 16 MiB")                                      \
  COUNT(buckets_from_16m, "of 16 MiB and more")                                                   \
  COUNT(buckets_at_once, "the most buckets of a process set that were on their way together")     \
  COUNT(buffers_allocated, "buffers for buckets that had to be allocated on the way")             \
  COUNT(buffer_bytes, "bytes of the buffers that were there from the beginning (buffer_bytes)")   \
  COUNT(operations, "operations that succeeded")                                                  \
  COUNT(operations_failed, "operations that failed")                                              \
  COUNT(sparse_operations, "of those that succeeded, sparse collectives")                         \
  COUNT(sparse_as_dense, "of them, those that algorithm dense moved")                             \
  COUNT(sparse_lossy, "those that may have left elements out (oktopk)")                           \
  COUNT(sparse_elements, "elements that this rank brought to them")                               \
  COUNT(sparse_result_elements, "elements of their results")                                      \
  COUNT(cache_hits, "requests that the response cache knew")                                      \
  COUNT(cache_misses, "requests that it did not know")                                            \
  COUNT(strangers, "connections that failed authentication")                                      \
  COUNT(connections, "connections with other hosts or ranks that are open now")                   \
  COUNT(reconnections, "connections that were made again after they broke")                       \
  COUNT(wakeups, "how often the engine's thread woke up")                                         \
  COUNT(order_digest, "hash of the agreed order so far; equal on ranks that agree")               \
  NOW_COUNT(in_flight, "operations submitted and not done")                                       \
  NOW_SECONDS(engine_cpu_s, "processor time of the engine's thread")                              \
  TIME(spinning, "time that the engine's thread spun for other ranks (pacing cycle, gs)")         \
  TIME(exposed, "time that callers spent inside wait()")                                          \
  TIME(negotiation, "tensors: from submission until all ranks had agreed")                        \
  TIME(wait_tensors, "tensors: until the buckets before theirs were through")                     \
  TIME(pack, "buckets: packing")                                                                  \
  TIME(wait_data, "buckets: until the last rank was there (shared memory only)")                  \
  TIME(move, "buckets: moving")                                                                   \
  TIME(unpack, "buckets: unpacking and scaling")                                                  \
  NOW_SECONDS(slow_late_s, "how long after the median rank the tensors of the slow rank come")

#endif
