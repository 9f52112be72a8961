// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The requests of this rank that are not answered yet, and which of them may be sent.
//
// Groups leave whole. What is submitted after a join stays here until the join is answered, since
// until then this rank counts as having submitted everything.
// A request is stored once and moves into its answer; the storage of answered ones is used again,
// so that a steady state allocates nothing here. With a pool it lies there instead, where other
// members of the process have it too, and is copied into its answer.
// Thread: the owner's. Entries stay where they are until they are finished.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "model/response.hpp"
#include "order/messages/name_index.hpp"
#include "order/messages/request_pool.hpp"

namespace unisono::order {

class LocalQueue {
 public:
  class Entry {
   public:
    const Request& request() const { return *request_; }

    Time since;                         // when it was submitted
    std::uint64_t turn = 0;             // in order of submission
    std::uint64_t message = 0;          // in which it was sent; 0 = not yet
    Entry* next = nullptr;              // for the strategy: the next one of its group
    std::int64_t position = -1;         // for the strategy: where the response cache has it
    std::uint32_t number = 0;           // of the entry, while it lives and is used again
    bool waits = false;

   private:
    friend class LocalQueue;
    const Request* request_ = nullptr;  // while it waits
    std::unique_ptr<Request> own_;      // without a pool
  };

  // The pool may be null; it outlives this.
  explicit LocalQueue(int me, RequestPool* pool = nullptr)
      : me_(static_cast<std::uint32_t>(me)), pool_(pool) {}

  void submit(Request request, Time now);
  bool has_unsent() const { return !unsent_.empty(); }
  // Groups are whole and contiguous.
  const std::vector<Entry*>& unsent() const { return unsent_; }
  // What was unsent went out as this rank's next message; messages count from 1.
  void mark_sent();
  std::uint64_t messages() const { return messages_; }
  // An entry that has to go out once more.
  void send_again(Entry& entry);
  Entry* find(std::string_view name);
  // The entry is answered: returns its request.
  Request finish(Entry& entry);

  // Fills in tensors of which only the names came and finishes them; returns false when one is not
  // here or counted(entry) is false.
  template <typename Counted>
  bool complete(Response& response, Counted counted) {
    for (Request& tensor : response.tensors) {
      Entry* entry = find(tensor.name);
      if (entry == nullptr || !counted(*entry)) return false;
      tensor = finish(*entry);
    }
    return true;
  }
  // Finishes what a Response with everything in it answers. A failure does not concern requests
  // that were not counted(entry, index of the tensor): it spares those names, so that a request is
  // never failed here and run elsewhere. Returns this rank's own requests.
  template <typename Counted>
  std::vector<Request> answered(Response& response, Counted counted) {
    std::vector<Request> own;
    if (std::find(response.absent.begin(), response.absent.end(), me_) != response.absent.end()) {
      return own;
    }
    std::vector<bool> spared(response.tensors.size());
    for (std::size_t i = 0; i < response.tensors.size(); ++i) {
      Entry* entry = find(response.tensors[i].name);
      if (entry == nullptr) continue;
      if (counted(*entry, i)) {
        own.push_back(finish(*entry));
      } else {
        spared[i] = !response.error.ok();
      }
    }
    std::size_t i = 0;
    spare(response, [&](const Request&) { return spared[i++]; });
    return own;
  }

  // A failure is about to be given out; it does not concern what has been submitted since it was
  // decided.
  void drop_resubmitted(Response& response) {
    if (response.error.ok()) return;
    spare(response, [&](const Request& tensor) { return find(tensor.name) != nullptr; });
  }

  // Gives up everything; returns names and kinds of what waited, in order of name.
  std::vector<Request> abandon();
  // The same with everything the requests said, in order of submission.
  std::vector<Request> release();
  std::size_t waiting() const { return numbers_.size(); }

 private:
  template <typename Spared>
  static void spare(Response& response, Spared spared) {
    std::erase_if(response.tensors, [&](const Request& tensor) {
      const bool is_spared = spared(tensor);
      if (is_spared) response.spared.push_back(tensor.name);
      return is_spared;
    });
  }
  void route(Entry& entry);
  void clear();

  std::uint32_t me_;
  RequestPool* pool_;
  bool joining_ = false;
  std::vector<std::unique_ptr<Entry>> entries_;  // by number; those that do not wait are spare
  std::vector<std::uint32_t> spare_;    // the last one used first
  NameIndex numbers_;                   // of those that wait
  std::unordered_map<std::string, std::vector<Entry*>> partial_;  // groups not whole yet
  std::vector<Entry*> unsent_, held_;
  std::uint64_t messages_ = 0, submitted_ = 0;
};

}  // namespace unisono::order
