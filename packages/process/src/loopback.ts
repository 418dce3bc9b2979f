const loopback = /^(localhost|127(\.\d+){3}|::1)$/

/** Whether a host, as connections take it (without brackets), is this machine by its name alone. */
export const isLoopback = (host: string): boolean => loopback.test(host)
