import type { Logger } from './logger.ts'

interface ShutdownStep {
  name: string
  stop(): PromiseLike<unknown>
}

/**
 * Runs the steps in order on SIGTERM or SIGINT, and then lets the process end. A failed step is logged, and the next
 * one runs. After `deadline` milliseconds, or at a second signal, the process exits immediately.
 */
export function stopOnSignal(
  logger: Logger,
  steps: readonly ShutdownStep[],
  deadline = 25_000,
): { stop(reason: string): Promise<void> } {
  let stopping: Promise<void> | undefined

  const stop = (reason: string): Promise<void> => {
    stopping ??= (async () => {
      logger.info({ reason }, 'stopping')
      setTimeout(() => {
        logger.error({ deadline }, 'stopping took too long; ending now')
        process.exit(1)
      }, deadline).unref()
      for (const { name, stop } of steps) {
        try {
          await stop()
        } catch (error) {
          logger.error({ err: error, step: name }, 'a part did not stop cleanly')
          process.exitCode = 1
        }
      }
      logger.info('stopped')
    })()
    return stopping
  }

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (stopping) process.exit(1)
      void stop(signal)
    })
  }
  return { stop }
}
