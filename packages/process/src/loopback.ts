const loopbackHostPattern = /^(localhost|127(\.\d+){3}|::1)$/

/** True if a host, without brackets, is a loopback name or address. */
export const isLoopback = (host: string): boolean => loopbackHostPattern.test(host)
