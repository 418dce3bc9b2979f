/**
 * Loaded before each service (node --import): when the process that started it is killed and cannot say so, the channel
 * between them closes, and the service ends as on SIGTERM instead of living on without an owner.
 */
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
process.channel?.unref()
