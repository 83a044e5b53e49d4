//! Safe wrappers over the host: epoll, stamped receive, clocks, threads, limits.
