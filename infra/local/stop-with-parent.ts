/**
 * Loaded before each service (`node --import`). If the parent process is killed, the channel to it closes, and the
 * service stops as on SIGTERM.
 */
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
process.channel?.unref()
