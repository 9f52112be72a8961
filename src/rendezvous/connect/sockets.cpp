// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/connect/sockets.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include "base/data/text.hpp"
#include "base/os/text_file.hpp"

namespace unisono::rendezvous {
namespace {

constexpr int kFlags = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
constexpr int kBacklog = 1024;

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Result<AddressList> resolve(const std::string& host, int port, int type, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = type;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) {
    return Status(Code::unavailable,
                  cat("cannot resolve host ", host, ": ", ::gai_strerror(error)));
  }
  return AddressList(found, &::freeaddrinfo);
}

std::string numeric_host(const sockaddr* address, socklen_t length) {
  char host[NI_MAXHOST];
  if (::getnameinfo(address, length, host, sizeof host, nullptr, 0, NI_NUMERICHOST) != 0) return "";
  return host;
}

socklen_t abstract_address(const std::string& name, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  const std::size_t n = std::min(name.size(), sizeof address.sun_path - 1);
  std::memcpy(address.sun_path + 1, name.data(), n);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + n);
}

Status failure(const std::string& doing, int error) {
  return Status(Code::unavailable, cat(doing, ": ", std::strerror(error)));
}

}  // namespace

Result<HostPort> parse_address(std::string_view text) {
  const auto bad = [&] {
    return Status(Code::invalid_argument, cat("\"", text, "\" is not an address; write host:port"));
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return bad();
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  int port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc{} || end != digits.data() + digits.size() || port < 1 || port > 65535 ||
      host.empty()) {
    return bad();
  }
  return HostPort{std::string(host), port};
}

std::string address_text(const std::string& host, int port) {
  return host.find(':') == std::string::npos ? cat(host, ":", port) : cat("[", host, "]:", port);
}

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

Result<Fd> listen_tcp(const std::string& host, int port) {
  auto list = resolve(host, port, SOCK_STREAM, AI_PASSIVE);
  if (!list) return list.status();
  int error = 0;
  for (const addrinfo* at = list->get(); at != nullptr; at = at->ai_next) {
    Fd fd(::socket(at->ai_family, kFlags, 0));
    const int on = 1;
    if (port != 0) ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (fd.valid() && ::bind(fd.get(), at->ai_addr, at->ai_addrlen) == 0 &&
        ::listen(fd.get(), kBacklog) == 0) {
      return fd;
    }
    error = errno;
  }
  return failure(cat("cannot listen on ", address_text(host, port)), error);
}

Result<Fd> listen_everywhere(int port) {
  Fd fd(::socket(AF_INET6, kFlags, 0));
  const int on = 1, off = 0;
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  any.sin6_port = htons(static_cast<std::uint16_t>(port));
  if (fd.valid()) {
    ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (port != 0) ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0 &&
        ::listen(fd.get(), kBacklog) == 0) {
      return fd;
    }
  }
  return listen_tcp("0.0.0.0", port);       // a kernel without IPv6
}

Result<int> port_of(const Fd& listener) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&storage), &length) != 0) {
    return failure("cannot read the port of the listening socket", errno);
  }
  if (storage.ss_family == AF_INET) return ntohs(reinterpret_cast<sockaddr_in&>(storage).sin_port);
  if (storage.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<sockaddr_in6&>(storage).sin6_port);
  }
  return Status(Code::invalid_argument, "the listening socket is not a TCP socket");
}

Result<Fd> listen_unix(const std::string& name) {
  sockaddr_un address;
  const socklen_t length = abstract_address(name, address);
  Fd fd(::socket(AF_UNIX, kFlags, 0));
  if (!fd.valid() || ::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      ::listen(fd.get(), kBacklog) != 0) {
    return failure("cannot listen on a unix socket", errno);
  }
  return fd;
}

Result<Fd> start_tcp(const HostPort& to) {
  auto list = resolve(to.host, to.port, SOCK_STREAM, 0);
  if (!list) return list.status();
  int error = ECONNREFUSED;
  for (const addrinfo* at = list->get(); at != nullptr; at = at->ai_next) {
    Fd fd(::socket(at->ai_family, kFlags, 0));
    if (fd.valid() &&
        (::connect(fd.get(), at->ai_addr, at->ai_addrlen) == 0 || errno == EINPROGRESS)) {
      set_nodelay(fd);
      return fd;
    }
    error = errno;
  }
  return failure(cat("cannot connect to ", address_text(to.host, to.port)), error);
}

Result<Fd> start_unix(const std::string& name) {
  sockaddr_un address;
  const socklen_t length = abstract_address(name, address);
  Fd fd(::socket(AF_UNIX, kFlags, 0));
  if (!fd.valid() || ::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), length) != 0) {
    return failure("cannot connect to the peer's unix socket", errno);
  }
  return fd;
}

int connect_error(const Fd& socket) {
  int error = 0;
  socklen_t length = sizeof error;
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

void set_nodelay(const Fd& socket) {
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

bool set_congestion(const Fd& socket, const std::string& name) {
  if (name == "system") return true;
  return ::setsockopt(socket.get(), IPPROTO_TCP, TCP_CONGESTION, name.data(),
                      static_cast<socklen_t>(name.size())) == 0;
}

Result<std::string> local_address_towards(const HostPort& to) {
  auto list = resolve(to.host, to.port, SOCK_DGRAM, 0);
  if (!list) return list.status();
  const addrinfo* at = list->get();
  // Connecting a datagram socket sends nothing; it only asks the routing table.
  const Fd fd(::socket(at->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (!fd.valid() || ::connect(fd.get(), at->ai_addr, at->ai_addrlen) != 0 ||
      ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&storage), &length) != 0) {
    return failure(cat("no route to ", to.host), errno);
  }
  return numeric_host(reinterpret_cast<sockaddr*>(&storage), length);
}

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 && name[0] != '\0' ? name : "localhost";
}

std::string place_name() {
  const std::string boot = word_in_file("/proc/sys/kernel/random/boot_id");
  struct stat space {};
  if (boot.empty() || ::stat("/proc/self/ns/net", &space) != 0) return "";
  return cat(boot, ":", space.st_dev, ":", space.st_ino);
}

}  // namespace unisono::rendezvous
