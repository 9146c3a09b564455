#include "machine/emulator/finding.hpp"

#include <sstream>

namespace jfa::emulator {

const char* to_string(FindingKind kind) {
  switch (kind) {
    case FindingKind::None:
      return "nothing found";
    case FindingKind::UnorderedRead:
      return "read not ordered after its write";
    case FindingKind::UnorderedOverwrite:
      return "overwrite of what may still be read";
    case FindingKind::ProxyFence:
      return "no proxy fence between a generic and an async access";
    case FindingKind::MmaRegisters:
      return "MMA registers touched out of order";
    case FindingKind::BarrierBytes:
      return "barrier byte count";
    case FindingKind::Deadlock:
      return "deadlock";
    case FindingKind::Arrival:
      return "barrier arrival or phase";
    case FindingKind::Uninitialized:
      return "use of what is not initialized";
    case FindingKind::OutOfBounds:
      return "access out of bounds";
    case FindingKind::Divergence:
      return "divergent collective or budget exceeded";
    case FindingKind::TensorMemory:
      return "tensor memory";
    case FindingKind::CrossBlock:
      return "cross-block access unordered";
  }
  return "";
}

std::string report(const Finding& finding) {
  std::ostringstream out;
  if (!finding.found()) return "nothing found\n";
  out << "finding " << static_cast<int>(finding.kind) << ": " << to_string(finding.kind) << '\n';
  out << "  what     " << finding.what << '\n';
  out << "  site     " << to_string(finding.site) << '\n';
  out << "  by       " << finding.who;
  if (!finding.role.empty()) out << ", role \"" << finding.role << '"';
  out << '\n';
  if (!finding.other.empty()) {
    out << "  against  " << finding.other << '\n';
    out << "           at " << to_string(finding.other_site) << '\n';
  }
  const BarrierState& barrier = finding.barrier;
  if (!barrier.name.empty()) {
    out << "  barrier  " << barrier.name;
    if (barrier.stage >= 0) out << " stage " << barrier.stage;
    if (barrier.phase_wanted >= 0) out << ", phase wanted " << barrier.phase_wanted;
    if (barrier.phase_held >= 0) out << ", phase in progress " << barrier.phase_held;
    if (barrier.arrivals_missing >= 0) out << ", arrivals missing " << barrier.arrivals_missing;
    if (barrier.bytes_missing > 0) out << ", bytes missing " << barrier.bytes_missing;
    if (barrier.bytes_missing < 0) out << ", bytes too many " << -barrier.bytes_missing;
    out << '\n';
  }
  out << "  replay   schedule " << finding.schedule << ", seed " << finding.seed << '\n';
  for (const auto& line : finding.waiting) out << "  waiting  " << line << '\n';
  for (const auto& line : finding.last_events) out << "  event    " << line << '\n';
  return out.str();
}

}  // namespace jfa::emulator
