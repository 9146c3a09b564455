// Which calls draw items from which ticket of a plan.
#pragma once

#include <atomic>

#include "plan/schedule.hpp"

namespace jfa {

/// Calls with one workspace never run at once, so they may share a ticket, and no others may.
class TicketUsers {
 public:
  TicketUsers() = default;
  TicketUsers(const TicketUsers&) noexcept {}  // users do not go with a copy
  TicketUsers& operator=(const TicketUsers& other) noexcept {
    if (this == &other) return *this;
    for (auto& user : users_) user = nullptr;
    return *this;
  }

  /// The ticket of calls with `workspace`, from now on; kPlanTickets when others have them all.
  int of(const void* workspace) const noexcept {
    int ticket = 0;
    for (; ticket < kPlanTickets; ++ticket) {
      const void* user = nullptr;
      if (users_[ticket].compare_exchange_strong(user, workspace) || user == workspace) break;
    }
    return ticket;
  }

 private:
  mutable std::atomic<const void*> users_[kPlanTickets] = {};
};

}  // namespace jfa
